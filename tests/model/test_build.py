"""Building a model: checks, order of links, merged links."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InertiaError, ModelError, ParameterError, SingularMassMatrixError
from dalembert.model import Joint, Link, Parameter, build
from dalembert.spatial import exp_se3, parallel_axis, se3
from dalembert.systems.robot import Robot

BODY = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.2, 0.3, 0.4])}
BAD_LINKS = {
    "two links of one name": [Link("a", **BODY), Link("a", **BODY)],
    "2 joints are called": [
        Link("a", joint=Joint(name="j"), **BODY),
        Link("b", "a", Joint(name="j"), **BODY),
    ],
    "'ghost', which does not exist": [Link("a", "ghost", **BODY)],
    "cycle": [Link("a", "b", **BODY), Link("b", "a", **BODY)],
    "at least one link": [],
    "at least one that moves": [Link("a", joint=Joint("fixed"), **BODY)],
    "not all zero": [Link("a", joint=Joint(axis=(0.0, 0.0, 0.0)), **BODY)],
    "axis": [Link("a", joint=Joint(axis=(np.nan, 0.0, 1.0)), **BODY)],
    "unknown; known types": [Link("a", joint=Joint("hinge"), **BODY)],
    "4×4 pose": [Link("a", joint=Joint(origin=np.eye(3)), **BODY)],
    "not a rigid pose": [Link("a", joint=Joint(origin=np.diag([1.0, 1.0, -1.0, 1.0])), **BODY)],
    "three finite numbers": [Link("a", mass=1.0, com=(0.0, np.inf, 0.0))],
    "must be 3×3": [Link("a", mass=1.0, inertia=np.zeros(3))],
    "reversed": [Link("a", joint=Joint(limits=(1.0, -1.0)), **BODY)],
    "viscous is -1.0": [Link("a", joint=Joint(viscous=-1.0), **BODY)],
    "oppose the motion": [Link("a", joint=Joint(coulomb=(0.1, 0.2)), **BODY)],
    "gear_ratio must be": [Link("a", joint=Joint(gear_ratio=np.nan), **BODY)],
}
BAD_LINKS["2 links are called 'a'"] = BAD_LINKS.pop("two links of one name")


@pytest.mark.parametrize("message", BAD_LINKS)
def test_bad_descriptions(message):
    with pytest.raises(ModelError, match=message):
        build(BAD_LINKS[message])


@pytest.mark.parametrize(
    ("mass", "tensor", "message"),
    [
        (-1.0, np.eye(3), "negative"),
        (1.0, np.diag([1.0, 1.0, 3.0]), "triangle"),
        (1.0, np.diag([1.0, -1.0, 1.0]), "negative"),
        (np.nan, np.eye(3), "finite"),
    ],
)
def test_bad_inertia_names_the_link(mass, tensor, message):
    with pytest.raises(InertiaError, match=f"forearm.*{message}"):
        build([Link("forearm", mass=mass, inertia=tensor)])


def test_parents_come_first_and_order_is_kept():
    links = [
        Link("c", "b", **BODY),
        Link("a", **BODY),
        Link("b", "a", **BODY),
        Link("d", "a", **BODY),
    ]
    assert [joint.link for joint in build(links).joints] == ["a", "b", "c", "d"]


def test_fixed_joints_merge_exactly():
    """A load welded on is the same as one body with the summed inertia."""
    weld = exp_se3([0.1, 0.2, 0.3, 0.4, -0.5, 0.6])
    load = Link("load", "arm", Joint("fixed", origin=weld), mass=0.7, com=(0.1, 0.2, 0.0))
    merged = build([Link("arm", **BODY), load]).bodies[0]
    centre = weld[:3, :3] @ load.com + weld[:3, 3]
    com = (BODY["mass"] * np.array(BODY["com"]) + 0.7 * centre) / 1.7
    tensor = parallel_axis(BODY["inertia"], 1.0, BODY["com"] - com)
    tensor = tensor + parallel_axis(np.zeros((3, 3)), 0.7, centre - com)
    np.testing.assert_allclose(merged.mass, 1.7, rtol=1e-15)
    np.testing.assert_allclose(merged.center, com, rtol=1e-14)
    np.testing.assert_allclose(merged.inertia_about_center, tensor, rtol=1e-13)


def test_fixed_links_keep_their_frames():
    weld = exp_se3([0.1, 0.2, 0.3, 0.4, -0.5, 0.6])
    flange = Link("flange", "arm", Joint("fixed", origin=weld))
    robot = Robot(build([Link("arm", **BODY), flange]))
    np.testing.assert_allclose(robot.reference("pose", [0.0], frame="flange"), weld, atol=1e-15)


def test_frames_and_the_tool_may_hang_on_the_base():
    """ "base" is None there, unless a link has that name."""
    here = se3.pose(p=[0.0, 0.0, 0.4])
    for base in ("base", None):
        robot = dl.Robot.from_links([Link("a", **BODY)], frames={"camera": (base, here)})
        np.testing.assert_array_equal(robot.pose([0.3], frame="camera"), here)
    own = dl.Robot.from_links([Link("base", **BODY)], frames={"camera": ("base", here)})
    assert own.model.frames["camera"].body == 0
    tool = dl.Robot.from_links([Link("a", **BODY)], tool_link="base").model.frames["tool"]
    assert tool.body == -1
    with pytest.raises(ModelError, match="'bose', which is no link; did you mean 'base'"):
        dl.Robot.from_links([Link("a", **BODY)], frames={"camera": ("bose", here)})


def test_massless_links_are_legal_for_inverse_dynamics():
    robot = Robot(build([Link("arm", **BODY), Link("hand", "arm")]))
    assert np.isfinite(robot.inverse_dynamics([0.1, 0.2], [1.0, 2.0], [3.0, 4.0])).all()


def test_singular_mass_matrix_names_the_joint():
    robot = Robot(build([Link("arm", **BODY), Link("hand", "arm", Joint(name="wrist"))]))
    with pytest.raises(SingularMassMatrixError, match="wrist"):
        robot.forward_dynamics([0.1, 0.2], [1.0, 2.0], [3.0, 4.0])


def test_a_rotor_makes_it_regular_again():
    wrist = Joint(name="wrist", rotor_inertia=1e-3)
    robot = Robot(build([Link("arm", **BODY), Link("hand", "arm", wrist)]))
    assert np.isfinite(robot.forward_dynamics([0.1, 0.2], [1.0, 2.0], [3.0, 4.0])).all()


def test_unknown_keys_are_refused():
    with pytest.raises(ModelError, match="masss"):
        Robot.from_links([{"name": "a", "masss": 1.0}])
    with pytest.raises(ModelError, match="axes"):
        Robot.from_links([{"name": "a", "joint": {"axes": (0, 0, 1)}}])


def pendulum(length) -> Robot:
    rows = [{"a": 0.0, "mass": 2.0, "com": (length, 0.0, 0.0)}]
    return Robot.from_dh(rows, convention="modified", gravity=(0.0, -9.81, 0.0))


def test_parameters_are_kernel_inputs():
    symbolic, numeric = pendulum(Parameter("l", 0.5)), pendulum(0.7)
    state = [0.3], [0.0], [1.0]
    np.testing.assert_allclose(
        symbolic.inverse_dynamics(*state, parameters={"l": 0.7}),
        numeric.inverse_dynamics(*state),
        rtol=1e-14,
    )
    lengths = np.array([[0.5], [0.7]])
    batch = symbolic.inverse_dynamics(*state, parameters=lengths)
    np.testing.assert_allclose(batch[0], symbolic.inverse_dynamics(*state), rtol=1e-14)
    np.testing.assert_allclose(batch[1], numeric.inverse_dynamics(*state), rtol=1e-14)


def test_parameter_mistakes():
    robot = pendulum(Parameter("l"))
    with pytest.raises(ParameterError, match="no value for parameter 'l'"):
        robot.gravity_torque([0.1])
    with pytest.raises(ParameterError, match="no parameter 'k'"):
        robot.gravity_torque([0.1], parameters={"k": 1.0})
    with pytest.raises(ParameterError, match="no parameter 'l'"):
        pendulum(0.5).gravity_torque([0.1], parameters={"l": 1.0})
    with pytest.raises(ParameterError, match="identifier"):
        Parameter("not a name")
    with pytest.raises(ParameterError, match="finite"):
        Parameter("l", np.inf)


def test_robots_pickle_compare_and_hash_by_content():
    for robot in (dl.load("puma560"), pendulum(Parameter("l", 0.5))):
        copy = pickle.loads(pickle.dumps(robot))
        assert copy == robot and hash(copy) == hash(robot)
        assert np.array_equal(copy.mass_matrix(robot.neutral()), robot.mass_matrix(robot.neutral()))
    assert dl.load("ur5") == dl.load("ur5")
    assert dl.load("ur5") != dl.load("panda")
    assert pendulum(0.5) != pendulum(0.6)


def test_integration_stays_on_the_manifold():
    robot = Robot(
        build([Link("ball", joint=Joint("spherical"), **BODY), Link("arm", "ball", **BODY)])
    )
    q = robot.integrate(robot.neutral(), [0.3, -2.0, 1.0, 0.5])
    assert np.isclose(np.linalg.norm(q[:4]), 1.0, rtol=1e-15)
    assert q[4] == 0.5


def test_redundant_joints_are_not_called_massless():
    """Four slides on one body: each moves it, but one of them is too many."""
    axes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    joints = [Joint(kind="prismatic", name=f"slide{k}", axis=a) for k, a in enumerate(axes)]
    turn = Joint(name="turn", axis=(0, 0, 1))
    parents = (None, "l0", "l1", "l2")
    links = [Link(f"l{k}", parents[k], joints[k], **(BODY if k == 3 else {})) for k in range(4)]
    robot = Robot(build([*links, Link("tool", "l3", turn, **BODY)]))
    with pytest.raises(
        SingularMassMatrixError, match="joints 'slide0', 'slide1', 'slide3' are red"
    ):
        robot.forward_dynamics(np.zeros(5), np.zeros(5), np.zeros(5))
    again = Robot(
        build([*links[:3], Link("l3", "l2", replace(joints[3], rotor_inertia=1.0), **BODY)])
    )
    assert np.isfinite(again.forward_dynamics(np.zeros(4), np.zeros(4), np.zeros(4))).all()
