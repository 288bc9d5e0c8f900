"""Rank where rows cancel but for rounding, or but for the digits of a file."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report.facts import describe
from tests.constraints.states import ROUTES

OBLIQUE = np.array([0.3, -0.5, 0.7]) / np.linalg.norm([0.3, -0.5, 0.7])
STATE = [0.3], [0.5], [0.0]


def hinged_panel(axis):
    """One body on a hinge, its centre off the axis."""
    joint = {"type": "revolute", "axis": axis, "name": "hinge", "origin_xyz": (0.1, 0.2, 0.3)}
    body = {"name": "door", "joint": joint, "mass": 1.3, "com": (0.15, 0.05, -0.1)}
    return dl.Robot.from_links([body | {"inertia": 0.01 * np.eye(3)}])


def along(axis, distance):
    """A pose (4, 4) on the axis, with z along it."""
    x = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
    x = x / np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(axis, x), axis], axis=1)
    pose[:3, 3] = distance * axis
    return pose


def second_bearing(axis, directions):
    """The panel with another bearing on the axis of its hinge: it holds what is held already."""
    robot = hinged_panel(axis)
    pose = along(axis, 0.37)
    at = robot.pose([0.0], "door") @ pose
    loop = dl.Loop("base", "door", directions, pose_a=at, pose_b=pose, name="bearing")
    return dl.Constrained(robot, [loop]), robot


def connected(axis, tmp_path):
    """The same as an MJCF file, the bearing a `connect`."""
    pytest.importorskip("mujoco")
    words = " ".join(f"{x:.17g}" for x in axis)
    anchor = " ".join(f"{0.37 * x:.17g}" for x in axis)
    path = tmp_path / "door.xml"
    path.write_text(
        '<mujoco><worldbody><body name="door" pos="0.1 0.2 0.3">'
        f'<joint name="hinge" type="hinge" axis="{words}"/>'
        '<geom type="capsule" fromto="0 0 0 0.3 0.1 -0.2" size="0.03" mass="1.3"/>'
        "</body></worldbody><equality>"
        f'<connect name="bearing" body1="door" anchor="{anchor}"/></equality></mujoco>'
    )
    return dl.load(str(path)), dl.load(str(path), loops="ignore")


def require_the_motion_of(closed, robot):
    """One freedom, and the motion of the robot that has the hinge alone."""
    assert closed.freedoms == 1
    assert closed.redundant_constraints == closed.constraints
    assert f"redundant: {closed.constraints[0]}" in repr(closed)
    for route in ROUTES:
        qdd, _ = closed.forward_dynamics(*STATE, formulation=route)
        np.testing.assert_allclose(qdd, robot.forward_dynamics(*STATE), rtol=1e-9)
    runs = [dl.simulate(one, *STATE[:2], duration=0.2, dt=0.1) for one in (closed, robot)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=1e-8)


def test_a_connect_on_the_axis_of_its_hinge_holds_nothing_more(tmp_path):
    closed, robot = connected(OBLIQUE, tmp_path)
    require_the_motion_of(closed, robot)
    assert describe(closed)["redundant"] == ["bearing"]


@pytest.mark.parametrize("directions", ["point", "revolute", "pin"])
@pytest.mark.parametrize("axis", [OBLIQUE, np.array([1.0, 0.0, 0.0])], ids=["oblique", "x"])
def test_a_second_bearing_on_an_axis_holds_nothing_more(directions, axis):
    require_the_motion_of(*second_bearing(axis, directions))


def test_a_tendon_of_constant_length_holds_nothing(tmp_path):
    """Both sites on one body: the length does not depend on q."""
    pytest.importorskip("mujoco")
    path = tmp_path / "tendon.xml"
    path.write_text(
        '<mujoco><worldbody><body name="arm" pos="0.1 0.2 0.3">'
        '<joint name="hinge" type="hinge" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0.3 0.1 -0.2" size="0.03" mass="1.3"/>'
        '<site name="a" pos="0.1 0.2 0.3"/><site name="b" pos="0.31 -0.17 0.05"/>'
        '</body></worldbody><tendon><spatial name="string"><site site="a"/><site site="b"/>'
        '</spatial></tendon><equality><tendon tendon1="string"/></equality></mujoco>'
    )
    require_the_motion_of(dl.load(str(path)), dl.load(str(path), loops="ignore"))


def parallelogram(missing):
    """A crank, a coupler and two rods parallel to the crank, one of them `missing` metres off."""

    def link(name, z):
        joint = {"type": "revolute", "axis": (0, 1, 0), "name": name, "origin_xyz": (0, 0, z)}
        body = {"name": name, "joint": joint, "mass": 0.5, "com": (0.0, 0.0, 0.15)}
        return body | {"inertia": 0.01 * np.eye(3)}

    def at(x):
        pose = np.eye(4)
        pose[0, 3] = x
        return pose

    robot = dl.Robot.from_links([link("crank", 0.0), link("coupler", 0.3) | {"parent": "crank"}])
    rods = [
        dl.Distance("base", "coupler", 0.3, pose_a=at(x + off), pose_b=at(x), name=name)
        for name, x, off in (("rod", 0.4, 0.0), ("second rod", 0.2, missing))
    ]
    return dl.Constrained(robot, rods)


@pytest.mark.parametrize("missing", [0.0, 1e-9, 3e-8, 1e-7, 3e-7])
def test_a_parallelogram_moves_although_its_digits_miss(missing):
    """Files may miss by 1e-6 m: one freedom, where the crank stands, whatever the last digits are."""
    closed = parallelogram(missing)
    assert closed.freedoms == 1 and len(closed.redundant_constraints) == 1
    np.testing.assert_allclose(closed.neutral(), 0.0, atol=1e-6)
