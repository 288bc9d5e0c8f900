"""Changes of random trees with every type of joint equal rebuilding; closed chains change too."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as dl
from dalembert.errors import ModelError, UnknownNameError
from dalembert.model.joint import KINDS
from dalembert.spatial import pose, rotation_from_rpy
from tests.systems.test_changes import BOX, HERE, TIGHT, assert_same, weld, without_frame

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"
MOVING = [kind for kind in KINDS if kind != "fixed"]
IN_URDF = ["revolute", "prismatic", "continuous"]


def random_link(rng, name, parent, kind):
    """One link with numbers of its own; an axis that is no unit vector, an offset, friction."""
    joint = {
        "type": kind,
        "origin": pose(rotation_from_rpy(rng.uniform(-2, 2, 3)), rng.uniform(-1, 1, 3)),
    }
    if kind not in ("fixed", "free", "spherical"):
        joint["axis"] = rng.normal(size=3)
    if kind in ("revolute", "prismatic", "helical"):
        joint |= {"offset": rng.uniform(-1, 1), "limits": (-2.5, 2.5), "velocity_limit": 3.0}
    if kind == "helical":
        joint["pitch"] = 0.2
    if kind != "fixed":
        joint |= {"viscous": rng.uniform(0, 1), "rotor_inertia": rng.uniform(0, 0.1)}
    body = {"mass": rng.uniform(1, 2), "com": rng.uniform(-0.2, 0.2, 3)}
    return {
        "name": name,
        "parent": parent,
        "joint": joint,
        **body,
        "inertia": np.diag(rng.uniform(0.1, 0.12, 3)),
    }


@st.composite
def trees(draw, kinds=MOVING):
    """Rows of three to six links, each on one of the earlier ones, the last one moving."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows: list = []
    for k in range(draw(st.integers(3, 6))):
        # a free joint only at the base, where it has a meaning in every format
        known = [kind for kind in kinds if kind != "free" or k == 0]
        parent = None if k == 0 else rows[draw(st.integers(0, k - 1))]["name"]
        rows.append(random_link(rng, f"l{k}", parent, draw(st.sampled_from(known))))
    return rows


def build(rows, **options):
    return dl.Robot.from_links(rows, **{"tool": HERE, "tool_link": rows[-1]["name"], **options})


def assert_same_motion(robot, other):
    """As everywhere, and C as a matrix."""
    assert_same(robot, other)
    rng = np.random.default_rng(1)
    q = robot.model.integrate(robot.neutral(), rng.uniform(-1, 1, robot.nv))
    qd = rng.normal(size=robot.nv)
    by = {"formulation": "operator"}  # which takes twists
    a, b = (r.reference("coriolis_matrix", q, qd, **by) for r in (robot, other))
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(b).max()))


few = settings(max_examples=8, deadline=None)


@few
@given(trees(), st.data())
def test_loads_tools_bases_and_fields_equal_the_builder_s(rows, data):
    """A payload is a link on a fixed joint; tool, base and gravity are the builder's arguments."""
    at = data.draw(st.sampled_from([row["name"] for row in rows]))
    more = {"name": "box", "parent": at, "joint": {"type": "fixed"}, **BOX}
    base, field = pose(rotation_from_rpy([0.1, 0.5, 0.2]), [1.0, 2.0, 3.0]), (0.3, 1.0, -9.0)
    built = build(rows).with_payload(**BOX, frame=at).with_base(base).with_gravity(field)
    by_hand = build([*rows, more], base=base, gravity=field, tool_link=rows[-1]["name"])
    assert_same_motion(built, without_frame(by_hand, "box"))
    tooled = build([*rows, more], base=base, gravity=field, tool=base, tool_link=at)
    assert_same(built.with_tool(base, frame=at), tooled)


@few
@given(trees(), st.data())
def test_a_locked_joint_of_any_type_is_a_fixed_one(rows, data):
    """Locked where a random posture holds it."""
    row = data.draw(st.sampled_from(rows))
    robot = build(rows)
    if len(robot.joints) == 1:
        return
    info = next(j for j in robot.joints if j.link == row["name"])
    rng = np.random.default_rng(3)
    q = robot.model.integrate(robot.neutral(), rng.uniform(-1, 1, robot.nv))
    value = q[info.q] if info.q.stop - info.q.start > 1 else q[info.q][0]
    parent, origin = row["parent"] or "base", row["joint"]["origin"]
    here, there = (robot.reference("pose", q, frame=f) for f in (parent, row["name"]))
    moved = np.linalg.inv(origin) @ np.linalg.inv(here) @ there
    built = robot.with_joint_locked(info.name, value)
    assert_same_motion(built, build(weld(rows, row["name"], moved)))


@few
@given(trees(), trees(kinds=[k for k in MOVING if k != "free"]))
def test_merged_trees_are_one_tree(rows, others):
    """The second tree's links hang at the tool of the first, with their names prefixed."""
    built = build(rows).merge(build(others), prefix="b_")
    hung = []
    for row in others:
        parent = rows[-1]["name"] if row["parent"] is None else f"b_{row['parent']}"
        joint = dict(row["joint"])
        if row["parent"] is None:
            joint["origin"] = HERE @ joint["origin"]
        hung.append({**row, "name": f"b_{row['name']}", "parent": parent, "joint": joint})
    last = rows[-1]["name"]
    frames = {"b_base": (last, HERE), "b_tool": (hung[-1]["name"], HERE)}
    assert_same_motion(built, build([*rows, *hung], tool_link=last, frames=frames))


@few
@given(trees(), st.data())
def test_a_subtree_of_any_tree_is_its_links(rows, data):
    """What a link carries, with the link as the world."""
    root = data.draw(st.sampled_from([row["name"] for row in rows]))
    inside: list = []
    for row in rows:
        if row["parent"] == root:
            inside.append({**row, "parent": None})
        elif row["parent"] in {r["name"] for r in inside}:
            inside.append(row)
    if not inside:
        with pytest.raises(ModelError, match="nothing moves against"):
            build(rows).subtree(root)
        return
    built, by_hand = build(rows).subtree(root), build(inside, tool_link=inside[-1]["name"])
    shared = {k: f for k, f in built.model.frames.items() if k in by_hand.frames and k != "tool"}
    assert {row["name"] for row in inside} <= set(shared)
    q = by_hand.model.integrate(by_hand.neutral(), np.full(by_hand.nv, 0.3))
    for quantity in ("mass_matrix", "gravity_torque"):
        a, b = (r.reference(quantity, q) for r in (built, by_hand))
        np.testing.assert_allclose(a, b, **TIGHT)


@few
@given(trees(kinds=IN_URDF), st.data())
def test_every_change_round_trips_through_urdf(rows, data):
    """Load, tool, base, field, limits, a locked joint and a merged robot: all in one file."""
    robot = build(rows).with_payload(**BOX).with_tool(HERE).with_base(HERE)
    robot = robot.with_gravity((0.1, 0.2, -3.0)).merge(build(rows), prefix="second_")
    joint = data.draw(st.sampled_from(robot.joints))
    robot = robot.with_joint_locked(joint.name, 0.7)
    moving = robot.joints[0].name
    robot = robot.with_limits({moving: (-1.0, 2.0)}, {moving: 4.0}, {moving: 50.0})
    again = dl.Robot.from_urdf(robot.to_urdf())
    assert_same_motion(robot, again)
    for side in ("lower", "upper", "velocity_limit", "effort_limit"):
        np.testing.assert_array_equal(getattr(again, side), getattr(robot, side))


def test_a_robot_with_followers_round_trips_after_every_change():
    """The palletiser with a load, other limits and a locked leader is the same from its URDF."""
    robot = (
        dl.load(str(PALLETISER))
        .with_payload(60.0, com=(0, 0, -0.3))
        .with_limits(effort={"turn": 900.0})
    )
    again = dl.Robot.from_urdf(robot.to_urdf())
    assert_same(robot, again)
    assert again.model.followers == robot.model.followers
    assert again.effort_limit.tolist() == robot.effort_limit.tolist()
    locked = robot.with_joint_locked("forearm_pitch", 0.4)
    assert locked.coordinates == ("turn", "shoulder", "wrist")
    assert_same(locked, dl.Robot.from_urdf(locked.to_urdf()))
    # the flange is level wherever the palletiser goes
    for q in ([0.1, 0.5, 1.0, 0.0], [0.0, -0.3, 0.2, 0.0]):
        assert robot.pose(q, "flange")[2, 2] == pytest.approx(1.0, abs=1e-12)


def test_limits_that_are_outside_or_unknown_are_refused_with_the_nearest_name():
    arm = dl.load("ur5")
    with pytest.raises(ModelError, match=r"'elbow_joint', 100, is outside its limits -3\.14"):
        arm.with_joint_locked("elbow_joint", 100.0)
    with pytest.raises(UnknownNameError, match="did you mean 'elbow_joint'"):
        arm.with_joint_locked("elbow_jont")
    with pytest.raises(UnknownNameError, match="no frame 'tol'; did you mean 'tool'"):
        arm.with_payload(1.0, frame="tol")
    with pytest.raises(ModelError, match="prefix: the name 3 must be text"):
        arm.merge(arm, prefix=3)
    with pytest.raises(ModelError, match="its rotation is mirrored"):
        arm.with_tool(np.diag([1.0, 1.0, -1.0, 1.0]))
    assert arm.with_limits(velocity={"elbow_joint": None}).velocity_limit[2] == np.inf


ARGUMENTS = {
    "origin_rpy": {"joint": {"origin_rpy": (dl.Parameter("x", 0.3), 0, 0)}},
    "gear_ratio": {"joint": {"gear_ratio": dl.Parameter("x", 5.0), "rotor_inertia": 0.1}},
    "stiffness": {"joint": {"stiffness": dl.Parameter("x", 5.0), "rest": 0.3}},
    "pitch": {"joint": {"type": "helical", "pitch": dl.Parameter("x", 0.3)}},
    "axis": {"joint": {"axis": (dl.Parameter("x", 0.3), -0.5, -0.4)}},
    "axis2": {
        "joint": {"type": "universal", "axis": (0, 0, 1), "axis2": (1, dl.Parameter("x", 0.3), 0)}
    },
    "planar": {"joint": {"type": "planar", "axis": (dl.Parameter("x", 0.3), 0.2, 0.7)}},
    "frame": {"frame": pose(p=[dl.Parameter("x", 0.3), 0.0, 0.0])},
    "inertia": {"inertia": dl.Parameter("x", 0.3) * np.eye(3)},
}


def numbers_for(value):
    """The same description with the parameter's number in its place."""
    if isinstance(value, dl.Parameter):
        return value.value
    if isinstance(value, dict):
        return {k: numbers_for(v) for k, v in value.items()}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array(numbers_for(value.tolist()), dtype=float)
    return type(value)(map(numbers_for, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("key", ARGUMENTS)
def test_a_parameter_stands_wherever_a_number_does(key):
    row = {"name": "a", "mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.eye(3), **ARGUMENTS[key]}
    joint = {"axis": (0, 1, 0), **row.get("joint", {})}
    opened = dl.Robot.from_links([{**row, "joint": joint}])
    if key == "inertia":
        row = {**row, "inertia": 0.3 * np.eye(3)}
    plain = dl.Robot.from_links([numbers_for({**row, "joint": joint})])
    assert opened.named_parameters == {"x": GIVEN_VALUES[key]}
    state = [np.linspace(0.4, 0.6, plain.nv) + k for k in range(3)]
    a, b = (r.reference("inverse_dynamics", *state) for r in (opened, plain))
    np.testing.assert_allclose(a, b, **TIGHT)
    at = {"x": 0.7 * opened.named_parameters["x"]}
    assert abs(opened.inverse_dynamics(*state, parameters=at) - b).max() > 1e-3


GIVEN_VALUES = {key: 5.0 if key in ("gear_ratio", "stiffness") else 0.3 for key in ARGUMENTS}


def test_a_parameter_that_falls_out_leaves_numbers():
    """A gear ratio without a rotor behind it changes nothing, and is no parameter."""
    joint = {"gear_ratio": dl.Parameter("G", 100.0)}
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.eye(3)}
    arm = dl.Robot.from_links([{"name": "a", "joint": joint, **body}])
    assert arm.named_parameters == {}
    assert np.isfinite(arm.inverse_dynamics([0.1], [0.2], [0.3])).all()


def test_actuators_hold_parameters():
    """Gains, gears and time constants are inputs of the kernels."""
    P = dl.Parameter
    servo = dl.Actuator(
        "servo", "link1_joint", gain=[P("k", 20.0)], bias=[0.0, -P("k", 20.0), P("d", -1.0)]
    )
    arm = dl.load("planar_2r").with_actuators([servo])
    assert arm.named_parameters == {"k": 20.0, "d": -1.0}
    stiff = arm.actuator_forces([0.0, 0.0], [0.0, 0.0], {"servo": 0.1}, parameters={"k": 50.0})
    assert stiff[0] == pytest.approx(5.0)


def test_limits_that_are_parameters_are_refused_with_a_way_out():
    x = dl.Parameter("x", 0.1)
    with pytest.raises(ModelError, match="limits are not in the equations"):
        dl.load("planar_2r").with_limits({"link1_joint": (x, 1.0)})


def test_closed_chains_change_with_the_robot_in_them():
    """A load and a field are those of the robot, held by the same constraints."""
    closed = dl.load("four_bar")
    built = closed.with_payload(2.0, frame="rocker_rod").with_gravity((0.0, -3.0, 0.0))
    by_hand = dl.Constrained(
        closed.system.with_payload(2.0, frame="rocker_rod").with_gravity((0.0, -3.0, 0.0)),
        closed.dynamics.constraint_set,
        guess=closed.neutral(),
    )
    q, qd, _ = closed.random_state(np.random.default_rng(2))
    for a, b in zip(
        built.forward_dynamics(q, qd, [1.0, 0, 0]),
        by_hand.forward_dynamics(q, qd, [1.0, 0, 0]),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, **TIGHT)
    assert built.constraints == closed.constraints and built.name == "four_bar"
    assert closed.with_limits({"crank": (-1.0, 1.0)}).upper[0] == 1.0
    moved = closed.with_base(pose(p=[1.0, 0.0, 0.0]))
    np.testing.assert_allclose(moved.residual(q), closed.residual(q), atol=1e-12)


def test_changed_closed_chains_round_trip_through_urdf(tmp_path):
    """Load, field and limits of a four-bar and a gripper, and the loops that hold them."""
    for name in ("four_bar", "robotiq_2f85"):
        closed = dl.load(name)
        frame, joint = closed.system.frames[-2], closed.system.joints[-1].name
        built = closed.with_payload(0.5, com=(0.01, 0.02, 0.03), frame=frame)
        built = built.with_gravity((0.0, 0.1, -5.0)).with_limits(effort={joint: 7.0})
        (tmp_path / "closed.urdf").write_text(built.to_urdf())
        again = dl.load(str(tmp_path / "closed.urdf"))
        assert again.coordinates == built.coordinates
        q = built.neutral()
        for quantity in ("mass_matrix", "gravity_torque"):
            a, b = (c.system.reference(quantity, q) for c in (built, again))
            np.testing.assert_allclose(a, b, **TIGHT)
        np.testing.assert_allclose(again.residual(q), built.residual(q), atol=1e-12)
        np.testing.assert_array_equal(again.effort_limit, built.effort_limit)


def test_closed_chains_refuse_what_has_no_meaning_for_them():
    closed = dl.load("four_bar")
    with pytest.raises(ModelError, match=r"one more constraint: .*Holonomic\(lambda q: q\[0\]"):
        closed.with_joint_locked("crank", 0.3)
    with pytest.raises(ModelError, match="merge the trees first"):
        closed.merge(dl.load("ur5"))
    with pytest.raises(ModelError, match=r"\.system\.subtree\('coupler'\)"):
        closed.subtree("coupler")
    with pytest.raises(ModelError, match="no links that could be changed"):
        dl.load("rolling_disk").with_gravity((0.0, 0.0, -1.0))
    arm = dl.load("planar_2r")
    pinned = dl.Constrained(arm, [dl.Loop("tool", "base", ("x",), along="world")], guess=[0.3, 2.0])
    with pytest.raises(ModelError, match="is fixed to the tool"):
        pinned.with_tool(pose(p=[0.1, 0.0, 0.0]))
