"""A changed robot is the robot that would have been built so: M, gravity and poses to rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InertiaError, ModelError, UnknownNameError
from dalembert.model.elements import Anchor, Elements, Lift, Segment, Spring, Submerged, Tendon
from dalembert.spatial import pose, rotation_from_rpy

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
HERE = pose(rotation_from_rpy([0.3, -0.7, 1.1]), [0.2, -0.1, 0.4])
BOX = {"mass": 1.5, "com": (0.02, 0.03, -0.05), "inertia": np.diag([0.02, 0.03, 0.04])}


def link(name, parent, kind, k, **joint):
    """One link with numbers of its own."""
    rng = np.random.default_rng(k)
    turned = pose(rotation_from_rpy(rng.uniform(-1, 1, 3)), rng.uniform(-0.5, 0.5, 3))
    tensor = np.diag(rng.uniform(0.1, 0.12, 3))
    friction = {} if kind == "fixed" else {"viscous": 0.1 * k, "rotor_inertia": 0.01 * k}
    return {
        "name": name,
        "parent": parent,
        "joint": {"type": kind, "origin": turned, **friction, **joint},
        "mass": rng.uniform(1, 2),
        "com": rng.uniform(-0.2, 0.2, 3),
        "inertia": tensor,
    }


TREE = [
    link("a", None, "revolute", 1, axis=(0, 1, 0), offset=0.3),
    link("b", "a", "prismatic", 2, axis=(1, 0, 1)),
    link("c", "b", "universal", 3),
    link("d", "c", "revolute", 4, axis=(1, 2, 3), limits=(-1.0, 2.0)),
    link("e", "b", "spherical", 5),
    link("f", "e", "revolute", 6),
]


def build(links=TREE, **options):
    return dl.Robot.from_links(links, **{"tool": HERE, "tool_link": "d", **options})


def assert_same(robot, other):
    """Same coordinates, M, torques at rest and moving, and poses of all frames."""
    assert robot.coordinates == other.coordinates
    assert set(robot.frames) <= set(other.frames)  # a file may have more
    rng = np.random.default_rng(7)
    for _ in range(3):
        q = np.array([])
        for body in robot.model.bodies:
            step = rng.uniform(-2, 2, body.chart.nv)
            q = np.concatenate([q, body.chart.integrate(body.chart.neutral(), step)])
        q = q[robot.model.own[0]] if robot.model.followers else q
        qd = rng.normal(size=robot.nv)
        for name, state in (
            ("mass_matrix", (q,)),
            ("gravity_torque", (q,)),
            ("bias", (q, qd)),
            ("generalized_forces", (q, qd)),
        ):
            a, b = robot.reference(name, *state), other.reference(name, *state)
            np.testing.assert_allclose(a, b, **TIGHT, err_msg=name)
        for frame in robot.frames:
            a, b = (r.reference("pose", q, frame=frame) for r in (robot, other))
            np.testing.assert_allclose(a, b, **TIGHT, err_msg=frame)


def weld(links, name, moved):
    """The links with one joint fixed, its frame moved."""
    result = []
    for row in links:
        if row["name"] == name:
            joint = {"type": "fixed", "origin": row["joint"]["origin"] @ moved}
            row = {**row, "joint": joint}
        result.append(row)
    return result


@pytest.mark.parametrize("frame", ["tool", "b", "f"])
def test_payload_is_one_more_link(frame):
    """A load at a frame equals a link on a fixed joint there."""
    parent = {"tool": "d"}.get(frame, frame)
    origin = HERE if frame == "tool" else np.eye(4)
    more = {"name": "box", "parent": parent, "joint": {"type": "fixed", "origin": origin}, **BOX}
    built = build().with_payload(**BOX, frame=frame)
    by_hand = build([*TREE, more], tool_link="d")
    assert_same(built.with_tool(np.eye(4)), without_frame(by_hand, "box"))


def without_frame(robot, name):
    frames = {k: f for k, f in robot.model.frames.items() if k != name}
    return dl.Robot(replace(robot.model, frames=frames))


def test_tool_base_and_gravity_are_those_of_the_builder():
    """with_tool, with_base and with_gravity give what from_links does with the same numbers."""
    base, field = pose(rotation_from_rpy([0.1, 0.5, 0.2]), [1.0, 2.0, 3.0]), (0.3, 1.0, -9.0)
    built = build(base=HERE).with_base(base).with_gravity(field).with_tool(base, frame="f")
    assert_same(built, build(base=base, gravity=field, tool=base, tool_link="f"))
    assert_same(build().with_tool(base), build(tool=HERE @ base))


@pytest.mark.parametrize(
    ("name", "value"),
    [("a", 0.4), ("b", -0.2), ("c", (0.3, 0.8)), ("d", 1.0), ("e", (0.5, 0.5, 0.5, 0.5)), ("f", 2)],
)
def test_locked_joint_is_a_fixed_one(name, value):
    """A held joint of any kind equals a fixed joint at the frame it held."""
    robot = build()
    info = next(j for j in robot.joints if j.link == name)
    q = robot.neutral()
    q[info.q] = value
    parent = next(row["parent"] for row in TREE if row["name"] == name) or "base"
    origin = next(row["joint"]["origin"] for row in TREE if row["name"] == name)
    here, there = (robot.reference("pose", q, frame=f) for f in (parent, name))
    moved = np.linalg.inv(origin) @ np.linalg.inv(here) @ there
    assert_same(robot.with_joint_locked(info.name, value), build(weld(TREE, name, moved)))


def test_subtree_hangs_on_its_link():
    """The subtree of a link is the robot built of those links, the link being the world."""
    rows = [row | {"parent": None} if row["parent"] == "b" else row for row in TREE[2:]]
    built = build().subtree("b")
    by_hand = build(rows)
    assert {"b"} == set(built.frames) - set(by_hand.frames)
    assert_same(without_frame(built, "b"), by_hand)
    assert build().subtree("e").coordinates == ("f",)


def test_merged_robots_are_the_robot_of_all_links():
    """The second robot hangs at the frame, with its names prefixed and its drives its own."""
    arm, hand = TREE[:2], TREE[2:4]
    hand = [row | {"parent": row["parent"] if row["parent"] == "c" else None} for row in hand]
    first = build(arm, tool_link="b")
    built = first.merge(build(hand), at="tool", prefix="h_")
    joint = hand[0]["joint"] | {"origin": HERE @ hand[0]["joint"]["origin"]}
    rows = [hand[0] | {"name": "h_c", "parent": "b", "joint": joint}]
    rows.append(hand[1] | {"name": "h_d", "parent": "h_c"})
    frames = {"h_base": ("b", HERE), "h_tool": ("h_d", HERE)}
    assert_same(built, build([*arm, *rows], tool_link="b", frames=frames))
    assert first.merge(build(hand, name="hand")).frames[-2:] == ("d", "hand_tool")


def test_merging_names_that_both_have_names_the_clash():
    """Two arms of the same names need a prefix."""
    with pytest.raises(ModelError, match="both have frames called 'a'; give a prefix"):
        build().merge(build(), at="base")


def test_changes_hold_parameters():
    """Loads, poses, fields and held values may be parameters, and bind to the same numbers."""
    P = dl.Parameter
    turned = [[1.0, 0.0, 0.0, P("x", 0.1)], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    built = (
        build(TREE[:4])
        .with_payload(P("load", 2.0), (0.0, 0.0, P("h", 0.3)))
        .with_tool(turned)
        .with_base(turned)
        .with_gravity((0.0, 0.0, -P("g", 3.7)))
        .with_joint_locked("b", P("reach", 0.25))
    )
    assert set(built.named_parameters) == {"load", "h", "x", "g", "reach"}
    at = pose(p=[0.1, 0.0, 0.0])
    plain = build(TREE[:4]).with_payload(2.0, (0.0, 0.0, 0.3)).with_tool(at).with_base(at)
    assert_same(built, plain.with_gravity((0.0, 0.0, -3.7)).with_joint_locked("b", 0.25))
    assert build(gravity=(0, 0, P("g", -9.81))).with_gravity((0, 0, -9.81)).named_parameters == {}


def test_origin_xyz_takes_parameters():
    """A length of a joint's origin may be open."""
    joint = {"type": "revolute", "axis": (0, 1, 0), "origin_xyz": (dl.Parameter("l", 0.5), 0, 0)}
    rows = [{"name": "a", "joint": joint, "mass": 1.0, "com": (0.1, 0, 0), "inertia": np.eye(3)}]
    arm = dl.Robot.from_links(rows)
    assert arm.reference("pose", [0.0], frame="a")[0, 3] == 0.5
    assert list(arm.named_parameters) == ["l"]


URDF = """<robot name="gripper"><link name="palm"/>
  <link name="left"><inertial><origin xyz="0.1 0 0.2"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <link name="right"><inertial><origin xyz="0.1 0 0.3"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <link name="tip"><inertial><origin xyz="0 0.1 0.3"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <joint name="l" type="revolute"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
  <joint name="r" type="revolute"><parent link="palm"/><child link="right"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/><mimic joint="l" multiplier="-2" offset="0.1"/>
    </joint>
  <joint name="t" type="continuous"><parent link="left"/><child link="tip"/><axis xyz="1 0 0"/></joint>
</robot>"""


def test_followers_keep_following():
    """A gripper with a joint that follows another can be loaded, merged, locked and cut."""
    gripper = dl.Robot.from_urdf(URDF)
    assert gripper.with_payload(1.0, frame="right").coordinates == ("l", "t")
    both = dl.load("planar_2r").merge(gripper)
    assert both.coordinates == ("link1_joint", "link2_joint", "l", "t")
    assert both.model.followers["r"].leader == "l"
    alone = both.subtree("tool")
    assert alone.coordinates == ("l", "t")
    assert set(alone.model.followers) == {"r"}
    q, other = np.array([0.4, 0.2]), gripper.with_joint_locked("l", 0.4)
    assert other.coordinates == ("t",)
    for frame in ("left", "right", "tip"):
        a = gripper.reference("pose", q, frame=frame)
        np.testing.assert_allclose(other.reference("pose", q[1:], frame=frame), a, **TIGHT)
    with pytest.raises(ModelError, match="joint 'r' follows 'l'; lock 'l' instead"):
        gripper.with_joint_locked("r", 0.1)


CHANGED = {
    "payload": lambda arm: arm.with_payload(**BOX),
    "moved": lambda arm: arm.with_tool(HERE).with_base(HERE).with_gravity((0.0, 1.0, -9.0)),
    "locked": lambda arm: arm.with_joint_locked("joint3", 0.3),
    "cut": lambda arm: arm.subtree("link2").with_limits({"joint3": (-1, 1)}, {"joint3": 2.0}),
    "merged": lambda arm: arm.merge(dl.Robot.from_urdf(URDF), prefix="g_"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_changes_round_trip_through_urdf(change):
    """A changed robot written and read again is the same; limits too."""
    robot = CHANGED[change](dl.load("puma560"))
    again = dl.Robot.from_urdf(robot.to_urdf())
    assert_same(robot, again)
    for side in ("lower", "upper"):
        np.testing.assert_allclose(getattr(again, side), getattr(robot, side))


def test_limits_are_checked_and_named():
    """Limits go to the joint named; reversed or unknown ones are errors."""
    arm = dl.load("planar_2r")
    assert arm.with_limits({"link1_joint": None}).upper[0] == np.inf
    with pytest.raises(ModelError, match=r"link1_joint.*reversed"):
        arm.with_limits({"link1_joint": (1.0, -1.0)})
    with pytest.raises(UnknownNameError, match="has no joint 'elbow'; there are: link1_joint"):
        arm.with_limits(velocity={"elbow": 1.0})
    with pytest.raises(ModelError, match=r"effort limit -1\.0 is negative"):
        arm.with_limits(effort={"link1_joint": -1.0})


def test_loads_that_no_body_can_have_are_errors():
    """Negative mass, tensors without triangle inequality, frames that do not move, NaN."""
    arm = dl.load("planar_2r")
    for payload in ({"mass": -1.0}, {"mass": 1.0, "inertia": np.diag([1.0, 1.0, 9.0])}):
        with pytest.raises(InertiaError, match="payload at 'tool'"):
            arm.with_payload(**payload)
    with pytest.raises(ModelError, match=r"payload at 'base'.*does not move"):
        arm.with_payload(1.0, frame="base")
    with pytest.raises(InertiaError, match="com of the payload"):
        arm.with_payload(1.0, com=(np.nan, 0, 0))
    with pytest.raises(ModelError, match="last that moves"):
        dl.load("pendulum").with_joint_locked("link1_joint")
    with pytest.raises(ModelError, match="nothing moves against 'link6'"):
        dl.load("puma560").subtree("link6")


def sprung():
    """A tree with springs, a lifted weight, a tendon over joints and one through space."""
    over = Tendon("over", (3, 4), np.array([0.1, 0.2]), stiffness=np.array([5.0]))
    ends = Segment(Anchor(1, np.array([0.1, 0.2, 0.3])), Anchor(4, np.array([0.0, 0.1, 0.0])))
    through = Tendon("through", segments=(ends,), stiffness=np.array([5.0]))
    elements = Elements(
        springs=(Spring(0, np.array([3.0]), np.zeros(1)), Spring(4, np.array([2.0]), np.zeros(1))),
        lifts=(Lift(1, 0.5, np.array([0.1, 0.0, 0.2])),),
        tendons=(over, through),
    )
    robot = dl.Robot(replace(build().model, elements=elements))
    return robot.with_actuators(
        [
            dl.Actuator("motor", "d"),
            dl.Actuator("slide", "b"),
            dl.Actuator("pull", "over", "tendon"),
        ]
    )


def test_springs_tendons_and_actuators_come_along():
    """Lengths and springs of what is kept are the same; what would be cut is refused by name."""
    robot = sprung()
    locked = robot.with_joint_locked("b", 0.3)
    q = np.concatenate([[0.2, 0.3, 0.5, -0.4, 0.1], [0.5, 0.5, 0.5, 0.5], [0.7]])
    remaining = np.delete(q, 1)
    np.testing.assert_allclose(
        locked.reference("tendon_length", remaining), robot.reference("tendon_length", q), **TIGHT
    )
    assert [s.body for s in locked.model.elements.springs] == [0, 3]
    assert locked.model.driven_by.names == ("motor", "pull")
    (lift,) = locked.model.elements.lifts
    assert lift.body == 0 and lift.mass == 0.5
    with pytest.raises(ModelError, match="tendon 'over'"):
        robot.with_joint_locked("d", 0.1)
    with pytest.raises(ModelError, match="tendon 'over'"):
        robot.subtree("c")
    part = robot.subtree("b")
    assert [t.name for t in part.model.tendons] == ["over", "through"]
    assert part.model.driven_by.names == ("motor", "pull")
    two = robot.merge(robot, at="f", prefix="two_")
    assert two.model.driven_by.names[3:] == ("two_motor", "two_slide", "two_pull")
    both = two.reference("tendon_length", np.concatenate([q, q]))
    np.testing.assert_allclose(both[:2], both[2:], **TIGHT)


def test_shapes_in_a_fluid_come_along():
    """A box on a held body drags at the body it is now part of."""
    box = {"rotation": HERE[:3, :3], "center": HERE[:3, 3], "size": np.array([0.1, 0.2, 0.3])}
    shape = Submerged(1, density=1000.0, viscosity=0.1, **box)
    robot = dl.Robot(replace(build(TREE[:4]).model, elements=Elements(submerged=(shape,))))
    q, qd = np.array([0.2, 0.3, 0.5, -0.4, 0.1]), np.array([1.0, 0.0, 2.0, -1.0, 0.5])
    locked = robot.with_joint_locked("b", 0.3)
    before = robot.reference("generalized_forces", q, qd)
    after = locked.reference("generalized_forces", np.delete(q, 1), np.delete(qd, 1))
    np.testing.assert_allclose(after, np.delete(before, 1), **TIGHT)
    assert abs(before[0]) > 1.0


def test_positions_of_quaternions_have_no_limits():
    ball = {"name": "ball", "mass": 1.0, "inertia": np.eye(3)}
    robot = dl.Robot.from_links([{**ball, "joint": {"name": "b", "type": "spherical"}}])
    with pytest.raises(ModelError, match="joint 'b' turns freely"):
        robot.with_limits({"b": (-1.0, 1.0)})
    assert robot.with_limits({"b": None}, velocity={"b": 2.0}).velocity_limit.tolist() == [2.0] * 3


def test_a_leader_is_no_faster_than_its_followers_may_be():
    gripper = dl.Robot.from_urdf(URDF)
    assert gripper.velocity_limit.tolist() == [1.0, np.inf]  # r may turn with 2 rad/s, at −2 l
    quick = gripper.with_limits(velocity={"r": None})
    assert quick.velocity_limit.tolist() == [2.0, np.inf]


@pytest.mark.parametrize("value", [4.0, [4.0], np.array([4.0])])
def test_a_joint_is_locked_within_its_limits_only(value):
    arm = dl.load("panda")  # joint 4 goes from -3.07 to -0.07
    with pytest.raises(dl.ModelError, match=r"panda_joint4.*outside its limits"):
        arm.with_joint_locked("panda_joint4", value)
