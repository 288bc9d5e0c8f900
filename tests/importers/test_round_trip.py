"""Written and read again, a robot is the same: the zoo, random trees, and files."""

import sys

import numpy as np
import pytest
from hypothesis import example, given, settings

from dalembert import zoo
from dalembert.errors import ModelError
from dalembert.model import Joint, Link
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, seeds

# numbers are printed in full; rotations pass through roll, pitch, yaw or a quaternion
EXACT = 1e-12

FORMATS = {
    "urdf": lambda robot: Robot.from_urdf(robot.to_urdf()),
    "mjcf": lambda robot: Robot.from_mjcf(robot.to_mjcf()),
}


def same(robot: Robot, again: Robot, rng: np.random.Generator) -> None:
    """Equal dynamics and equal poses of all frames, joints matched by name (files are depth first)."""
    there = {joint.name: joint for joint in again.joints}
    q, qd, qdd = np.zeros(robot.nq), *rng.normal(size=(2, robot.nv))
    q = robot.model.integrate(robot.neutral(), rng.uniform(-3, 3, robot.nv))
    order, poses = np.zeros(robot.nv, int), np.zeros(robot.nq, int)
    for joint in robot.joints:
        names = [joint.name] if len(joint.bodies) == 1 else _pieces(joint)
        order[joint.v] = np.concatenate([np.r_[there[name].v] for name in names])
        poses[joint.q] = np.concatenate([np.r_[there[name].q] for name in names])
    q2, qd2, qdd2 = np.zeros(again.nq), np.zeros(again.nv), np.zeros(again.nv)
    q2[poses], qd2[order], qdd2[order] = q, qd, qdd
    M, tau = robot.reference("mass_matrix", q), robot.reference("inverse_dynamics", q, qd, qdd)
    M2 = again.reference("mass_matrix", q2)[np.ix_(order, order)]
    tau2 = again.reference("inverse_dynamics", q2, qd2, qdd2)[order]
    np.testing.assert_allclose(M2, M, rtol=0, atol=EXACT * np.abs(M).max())
    np.testing.assert_allclose(tau2, tau, rtol=0, atol=EXACT * max(1.0, np.abs(tau).max()))
    for frame in robot.frames:
        here, then = (r.reference("pose", x, frame=frame) for r, x in ((robot, q), (again, q2)))
        np.testing.assert_allclose(then, here, rtol=0, atol=EXACT)


def _pieces(joint) -> list[str]:
    return [f"{joint.name}_{k + 1}" for k in range(len(joint.bodies))]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("name", zoo.names())
def test_zoo(name, file_format):
    robot = zoo.load(name)
    again = FORMATS[file_format](robot)
    assert [joint.name for joint in again.joints] == [joint.name for joint in robot.joints]
    for ours, theirs in zip(robot.joints, again.joints, strict=True):
        np.testing.assert_array_equal(ours.lower, theirs.lower)
        np.testing.assert_array_equal(ours.upper, theirs.upper)
    for seed in range(3):
        same(robot, again, np.random.default_rng(seed))


@given(seeds)
@settings(max_examples=40)
def test_random_trees_as_urdf(seed):
    """Every joint that URDF has, or that is made of such; friction may depend on the direction."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "cylindrical", "universal", "planar", "fixed")
    robot = Robot(random_model(rng, kinds=kinds, n=int(rng.integers(1, 8))))
    same(robot, Robot.from_urdf(robot.to_urdf()), rng)


@example(255)  # its tool is on the base
@given(seeds)
@settings(max_examples=40)
def test_random_trees_as_mjcf(seed):
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "cylindrical", "universal", "planar", "spherical", "fixed")
    robot = Robot(random_model(rng, kinds=kinds, n=int(rng.integers(1, 8))))
    same(robot, Robot.from_mjcf(robot.to_mjcf()), rng)


def test_a_free_body_keeps_its_coordinates():
    mass, tensor = 2.0, np.diag([0.2, 0.3, 0.4])
    trunk = Link("trunk", joint=Joint("free", "root"), mass=mass, inertia=tensor)
    arm = Link("arm", "trunk", Joint("revolute", "shoulder"), 1.0, (0.1, 0.0, 0.2), tensor)
    robot = Robot.from_links([trunk, arm])
    for file_format in FORMATS.values():
        same(robot, file_format(robot), np.random.default_rng(0))


def test_what_a_format_lacks_is_an_error_that_names_the_joint():
    body = {"mass": 1.0, "inertia": np.eye(3)}
    helical = Robot.from_links([Link("a", joint=Joint("helical", "screw", pitch=0.1), **body)])
    with pytest.raises(ModelError, match="'screw': URDF has no helical joint"):
        helical.to_urdf()
    with pytest.raises(ModelError, match="'screw': MuJoCo has no helical joint"):
        helical.to_mjcf()
    ball = Robot.from_links([Link("a", joint=Joint("spherical", "ball"), **body)])
    with pytest.raises(ModelError, match="'ball': URDF has no spherical joint"):
        ball.to_urdf()
    named = Robot.from_links([Link(" a", joint=Joint("revolute", "j"), **body)])
    with pytest.raises(ModelError, match="XML cannot hold"):
        named.to_urdf()


def test_names_are_escaped():
    robot = Robot.from_links([Link('<a & "b">', joint=Joint("revolute", "j<"), mass=1.0)])
    for file_format in FORMATS.values():
        assert '<a & "b">' in file_format(robot).frames


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_link_may_be_called_world(file_format):
    """MuJoCo's own body has that name: there the link's frame keeps it, as a site."""
    links = [
        Link(name, parent, Joint(axis=[0, 1, 0], name=f"at {name}"), 1.0, [0.1, 0, 0.2], np.eye(3))
        for name, parent in (("world", None), ("hand", "world"))
    ]
    robot = Robot.from_links(links)
    same(robot, FORMATS[file_format](robot), np.random.default_rng(0))


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_pieces_of_a_joint_have_names_of_their_own(file_format):
    kinds = {"axes_2": "revolute", "axes": "cylindrical"}
    links = [
        Link(f"link of {name}", None, Joint(kind=kind, name=name), 1.0, [0.1, 0, 0.2], np.eye(3))
        for name, kind in kinds.items()
    ]
    again = FORMATS[file_format](Robot.from_links(links))
    assert {joint.name for joint in again.joints} == {"axes_2", "axes_1", "axes_2_2"}


def test_unnamed_parts_of_an_mjcf_do_not_take_names_that_are_there():
    over = '<joint joint="j" coef="1"/>'
    text = f"""<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1" pos="1 0 0"/></body>
      </worldbody><tendon><fixed name="tendon1">{over}</fixed><fixed>{over}</fixed></tendon>
      <equality><joint joint1="j" active="false"/><joint name="equality0" joint1="j" active="false"/>
      </equality><actuator><motor name="actuator1" joint="j"/><motor joint="j"/></actuator></mujoco>"""
    robot = Robot.from_mjcf(text)
    back = Robot.from_mjcf(robot.to_mjcf())
    for read in (robot, back):
        assert [tendon.name for tendon in read.model.tendons] == ["tendon1", "tendon1_"]
        assert read.actuators == ("actuator1", "actuator1_")
    assert [e.name for e in robot.notes.equalities] == ["equality0_", "equality0"]


def test_parameters_are_written_at_their_values():
    import dalembert as dl

    robot = zoo.entry("pendulum").build(l=dl.Parameter("l", 0.5))
    assert Robot.from_urdf(robot.to_urdf()).reference("mass_matrix", [0.0]) == pytest.approx(0.25)


@pytest.mark.skipif(sys.platform == "win32", reason="the files come with Pinocchio")
@pytest.mark.parametrize("name", ["panda/panda", "tiago_pro/tiago_pro", "solo/solo12", "z1/z1"])
def test_what_was_read_is_written_back(name):
    """Followers, drives and frames of files; the second time the text is the same but for bits."""
    from tests.oracles.pinocchio_urdf import described

    robot = Robot.from_urdf(described()[name])
    again = Robot.from_urdf(robot.to_urdf())
    same(robot, again, np.random.default_rng(0))
    assert robot.notes.merged != () and again.nv == robot.nv
