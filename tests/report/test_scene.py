"""Scenes of the viewer: parts in body frames, poses, and ellipsoids of inertia."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.report.figures import outline
from dalembert.report.motion import move
from dalembert.report.scene import (
    ellipsoid,
    motion_plane,
    numeric_model,
    poses_of,
    posture_parts,
    scene,
    thickness,
)
from dalembert.spatial.shapes import box_inertia

COUPLED = """<robot name="gripper"><link name="base"/>
<link name="left"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<link name="right"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="a" type="revolute"><parent link="base"/><child link="left"/>
<origin xyz="0.1 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="b" type="revolute"><parent link="base"/><child link="right"/>
<origin xyz="-0.1 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="a" multiplier="-1"/></joint>
</robot>"""


@pytest.mark.parametrize("name", ["puma560", "scara", "stanford", "pendulum"])
def test_the_viewer_and_the_picture_show_the_same_arm(name):
    robot = dl.load(name)
    q = np.linspace(0.3, 0.9, robot.nq)
    drawn = scene(robot, np.array([0.0, 1.0]), np.stack([robot.neutral(), q]))
    frames = poses_of(numeric_model(robot), q)
    poses = np.array(drawn["poses"][1]).reshape(-1, 7)
    # positions and quaternions are rounded to 1e-5
    np.testing.assert_allclose(poses[:, :3], frames[:, :3, 3], atol=1e-5)
    axes = Rotation.from_quat(poses[:, 3:]).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(axes, frames[:, :3, 2], atol=5e-5)
    tool = robot.pose(q)[:3, 3]
    np.testing.assert_allclose(drawn["tool_path"][1], tool, atol=1e-5)
    # in the picture joints turn about their axes, and the tip is the tool
    (parts,) = posture_parts(robot, q[None])
    for part in parts:
        if part.kind in ("drum", "rail") and part.body >= 0:
            middle, along = (
                (part.a + part.b) / 2,
                (part.b - part.a) / np.linalg.norm(part.b - part.a),
            )
            np.testing.assert_allclose(middle, frames[part.body, :3, 3], atol=3e-5)
            np.testing.assert_allclose(along, frames[part.body, :3, 2], atol=1e-3)
    np.testing.assert_allclose(next(x.a for x in parts if x.kind == "tip"), tool, atol=5e-5)


def test_joints_of_a_branched_robot_get_thinner_away_from_the_base():
    """Depths belong to joints, not to the polylines of links, of which a branch has more."""
    robot = dl.load("panda")
    drawn = scene(robot, np.array([0.0]), robot.neutral()[None])
    joints = [part for part in drawn["parts"] if part["kind"] == "drum" and part["body"] >= 0]
    depths = [len(robot.model.supports[part["body"]]) - 1 for part in joints]
    expected = [1.42 * thickness(drawn["radius"], depth) for depth in depths]
    np.testing.assert_allclose([part["r"] for part in joints], expected, rtol=1e-4)


def test_links_join_the_joints():
    """The parts of a body end where its children begin."""
    robot = dl.load("puma560")
    drawn = scene(robot, np.zeros(1), np.zeros((1, 6)))
    for body in robot.model.bodies:
        ends = [p["b"] for p in drawn["parts"] if p["body"] == body.parent and p["kind"] == "link"]
        offsets = [np.abs(np.array(end) - body.translation).max() for end in ends]
        assert min(offsets, default=0.0) < 1e-5 or np.abs(body.translation).max() < 1e-9


def test_sliding_joints_have_rods():
    drawn = scene(dl.load("scara"), np.zeros(1), np.zeros((1, 4)))
    assert [rod["child"] for rod in drawn["sliders"]] == [3]
    assert scene(dl.load("ur5"), np.zeros(1), np.zeros((1, 6)))["sliders"] == []


def test_joints_that_follow_others_move_with_them():
    robot = dl.Robot.from_urdf(COUPLED)
    assert robot.nq == 1
    drawn = scene(robot, np.array([0.0, 1.0]), np.array([[0.0], [0.5]]))
    turns = np.array(drawn["poses"][1]).reshape(2, 7)[:, 3:]
    angles = Rotation.from_quat(turns).as_rotvec()
    np.testing.assert_allclose(np.linalg.norm(angles, axis=1), 0.5, atol=1e-4)
    np.testing.assert_allclose(angles[0], -angles[1], atol=1e-4)


def test_ellipsoid_has_the_inertia_of_its_link():
    size, mass = np.array([0.3, 0.2, 0.1]), 4.0
    turn = Rotation.from_euler("xyz", [0.3, -0.8, 1.1]).as_matrix()
    inertia = turn @ box_inertia(mass, size) @ turn.T
    link = {"name": "box", "joint": {"type": "free"}, "mass": mass, "inertia": inertia}
    robot = dl.Robot.from_links([{**link, "com": (0.1, 0.2, 0.3)}])
    shape = ellipsoid(robot.model, 0)
    a2 = np.square(shape["axes"])
    axes = Rotation.from_quat(shape["turn"]).as_matrix()
    # a uniform ellipsoid has I_x = m (b² + c²)/5
    again = axes @ np.diag(mass / 5 * (a2.sum() - a2)) @ axes.T
    np.testing.assert_allclose(again, inertia, atol=1e-4)
    assert shape["centre"] == [0.1, 0.2, 0.3]


def test_massless_bodies_have_no_ellipsoid():
    solid = {"mass": 1.0, "inertia": np.eye(3)}
    links = [{"name": "arm", "joint": {"type": "universal"}, **solid}]
    model = dl.Robot.from_links(links).model
    assert [ellipsoid(model, i) is None for i in range(2)] == [True, False]


@pytest.mark.parametrize("joint", ["spherical", "free", "cylindrical", "universal", "planar"])
def test_every_joint_can_be_shown(joint):
    link = {"name": "a", "joint": {"type": joint}, "mass": 1.0, "inertia": np.eye(3)}
    robot = dl.Robot.from_links([link])
    motion = move(robot)
    drawn = scene(robot, motion.t[::400], motion.q[::400])
    json.dumps(drawn, allow_nan=False)
    assert drawn["parts"]
    assert len(drawn["poses"]) == len(drawn["t"])


def test_parameters_take_their_defaults():
    length = dl.Parameter("length", 0.7)
    rows = [{"a": length, "mass": 1.0, "inertia": np.eye(3)}]
    robot = dl.Robot.from_dh(rows, convention="standard")
    drawn = scene(robot, np.zeros(1), np.zeros((1, 1)))
    np.testing.assert_allclose(drawn["tool_path"][0], [0.7, 0, 0], atol=1e-5)


BOX = {"mass": 1.0, "inertia": np.eye(3)}
HIP = np.eye(4) + 0.3 * np.eye(4)[:, :1] @ np.eye(4)[3:]
LEG = {"name": "leg", "parent": "torso", "joint": {"type": "revolute", "origin": HIP}}
FLOATING = {
    "free": [{"name": "torso", "joint": {"type": "free"}, **BOX}],
    "slides": [
        {"name": "x", "joint": {"type": "prismatic", "axis": (1, 0, 0)}},
        {"name": "z", "parent": "x", "joint": {"type": "prismatic", "axis": (0, 0, 1)}},
        {"name": "torso", "parent": "z", "joint": {"type": "continuous", "axis": (0, 1, 0)}, **BOX},
    ],
}


@pytest.mark.parametrize("kind", FLOATING)
def test_nothing_ties_a_floating_robot_to_the_world_and_a_fall_does_not_swell_it(kind):
    robot = dl.Robot.from_links([*FLOATING[kind], {**LEG, **BOX}])
    fall = np.stack([robot.neutral(), robot.neutral()])
    fall[1, 2 if kind == "free" else 1] = -5.0
    drawn = scene(robot, np.array([0.0, 1.0]), fall)
    still = scene(robot, np.zeros(1), fall[:1])
    assert drawn["sliders"] == []
    torso = drawn["bodies"].index("torso")
    # a base would be fixed to the world, a link towards the torso to what carries it
    assert {part["body"] for part in drawn["parts"]} == {torso, torso + 1}
    assert drawn["radius"] == pytest.approx(still["radius"])
    assert (drawn["follow"], still["follow"]) == (torso, -1)
    (parts,) = posture_parts(robot, fall[[1]])
    assert max(np.abs(part.b - part.a).max() for part in parts) < 0.5


@pytest.mark.parametrize("name", ["planar_2r", "rp", "four_bar", "slider_crank", "parallel_3rr"])
def test_planar_robots_are_drawn_in_their_plane(name):
    """Bodies leave the plane nowhere; joints are circles, and links as long as they are."""
    system = dl.load(name)
    q = system.random_state(np.random.default_rng(0), size=3)[0]
    plane = motion_plane(system)
    normal = np.cross(*plane.axes)
    for x in q:
        poses = poses_of(numeric_model(system.robot), x)
        np.testing.assert_allclose(poses[:, :3, 3] @ normal, 0.0, atol=1e-12)
    (axes,) = system.plot(q).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x / m", "y / m") and axes.get_aspect() == 1.0
    assert len(axes.collections) == 3
    for part in posture_parts(system, q)[0]:
        points, ends = outline(part, plane), np.stack([part.a, part.b]) @ plane.axes.T
        length = np.linalg.norm(np.diff(ends, axis=0))
        if part.kind in ("drum", "ball", "tip") and length < 1e-9:
            np.testing.assert_allclose(np.linalg.norm(points - ends[0], axis=1), part.r, rtol=1e-9)
        elif part.kind == "link":
            widest = np.linalg.norm(points[:, None] - points, axis=2).max()
            np.testing.assert_allclose(widest, length + 2 * part.r, rtol=1e-3)


def test_the_plane_of_an_upright_robot_and_of_none():
    upright = dl.Robot.from_links(
        [{"name": "bar", "joint": {"name": "a", "axis": (0.0, -1.0, 0.0)}, "mass": 1.0}]
    )
    plane = motion_plane(upright)
    assert plane.names == ("x", "z")
    np.testing.assert_allclose(plane.axes, [[1, 0, 0], [0, 0, 1]], atol=1e-12)
    for name in ("elbow_3r", "scara", "stewart_platform", "bennett", "particle"):
        assert motion_plane(dl.load(name)) is None
    assert dl.load("elbow_3r").plot().axes[0].name == "3d"
    with pytest.raises(dl.DalembertError, match="no bodies to draw"):
        dl.load("particle").plot()
    with pytest.raises(dl.ShapeError, match=r"expected q of shape \(2,\) or \(samples, 2\)"):
        dl.load("planar_2r").plot([0.1, 0.2, 0.3])
