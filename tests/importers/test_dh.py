"""DH tables: both conventions describe the same arm, and bad rows are named."""

import numpy as np
import pytest

from dalembert.errors import ModelError
from dalembert.spatial import compose, pose, rotation_x, rotation_z
from dalembert.systems.robot import Robot

BODY = {"mass": 1.0, "com": (0.1, 0.2, -0.1), "inertia": np.diag([0.2, 0.3, 0.4])}


def row(a, alpha, d, theta, kind, **more):
    return {"a": a, "alpha": alpha, "d": d, "theta": theta, "joint": kind, **BODY, **more}


ROWS = [
    row(0.1, 0.3, 0.2, 0.0, "revolute", offset=0.4),
    row(0.3, -np.pi / 2, 0.0, 0.7, "prismatic"),
    row(-0.2, np.pi / 2, 0.5, 0.0, "revolute", offset=np.pi / 2),
]


def translation(x, z):
    return pose(None, [x, 0.0, z])


def expected(rows, q, convention):
    """The product of the textbook's matrices."""
    g = np.eye(4)
    for r, value in zip(rows, q, strict=True):
        theta, d = r["theta"], r["d"]
        if r["joint"] == "revolute":
            theta = theta + value + r.get("offset", 0.0)
        else:
            d = d + value + r.get("offset", 0.0)
        turn, twist = pose(rotation_z(theta)), pose(rotation_x(r["alpha"]))
        along, across = translation(0.0, d), translation(r["a"], 0.0)
        parts = (
            (turn, along, across, twist)
            if convention == "standard"
            else (twist, across, turn, along)
        )
        g = compose(g, *parts)
    return g


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_forward_kinematics(convention):
    base, tool = translation(0.5, 0.1), pose(rotation_x(0.2), [0.1, 0.2, 0.3])
    robot = Robot.from_dh(ROWS, convention, base=base, tool=tool)
    q = np.array([0.3, 0.2, -1.1])
    np.testing.assert_allclose(
        robot.reference("pose", q), base @ expected(ROWS, q, convention) @ tool, atol=1e-14
    )


def test_both_conventions_describe_one_arm():
    """Standard frames, shifted by one, are modified frames: same inertias, same torques."""
    standard = [
        {
            "a": 0.4,
            "alpha": 0.3,
            "d": 0.2,
            "mass": 1.5,
            "com": (-0.4, -0.2 * np.sin(0.3), -0.2 * np.cos(0.3)),
        },
        {"a": 0.3, "alpha": 0.0, "d": 0.0, "mass": 1.0, "com": (-0.3, 0.0, 0.0)},
    ]
    # both masses sit at their joint's origin: of no moment about z₁, whatever the frames
    modified = [
        {"a": 0.0, "alpha": 0.0, "d": 0.0, "mass": 1.5},
        {"a": 0.4, "alpha": 0.3, "d": 0.0, "mass": 1.0},
    ]
    lifted = {**modified[1], "com": (0.0, 0.0, 0.0)}
    first = Robot.from_dh(standard, "standard")
    second = Robot.from_dh([modified[0], lifted], "modified")
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
    np.testing.assert_allclose(
        first.reference("inverse_dynamics", q, qd, qdd)[0],
        second.reference("inverse_dynamics", q, qd, qdd)[0],
        rtol=1e-13,
    )


def test_quarter_turn_offsets_cost_nothing():
    plain, turned = ({**ROWS[2], "offset": offset} for offset in (0.0, np.pi / 2))
    counts = [
        Robot.from_dh([r], "modified").operation_count("inverse_dynamics") for r in (plain, turned)
    ]
    assert counts[0] == counts[1]


def test_friction_is_reflected_through_the_gear():
    drive = {"viscous": 0.1, "viscous_motor": 0.01, "coulomb": 0.2, "coulomb_motor": (0.03, -0.02)}
    rows = [{**BODY, **drive, "gear_ratio": -5.0, "rotor_inertia": 1e-3}]
    robot = Robot.from_dh(rows, "modified", gravity=(0, 0, 0))
    inertia = 0.4 + 0.1**2 + 0.2**2 + 25e-3
    viscous = 0.1 + 25 * 0.01
    forward = robot.inverse_dynamics([0.0], [2.0], [3.0])
    backward = robot.inverse_dynamics([0.0], [-2.0], [3.0])
    np.testing.assert_allclose(forward, [3 * inertia + 2 * viscous + 0.2 + 5 * 0.03], rtol=1e-14)
    np.testing.assert_allclose(backward, [3 * inertia - 2 * viscous - 0.2 - 5 * 0.02], rtol=1e-14)
    np.testing.assert_allclose(robot.mass_matrix([0.0]), [[inertia]], rtol=1e-14)


@pytest.mark.parametrize(
    ("rows", "convention", "message"),
    [
        (ROWS, "craig", "'standard' or 'modified'"),
        ([{**ROWS[0], "alfa": 1.0}], "standard", "DH row 1: unknown key 'alfa'"),
        ([{**ROWS[0], "joint": "ball"}], "standard", "DH row 1: joint 'ball'"),
        ([{**ROWS[0], "a": np.nan}], "standard", "a must be one finite number"),
        ([{**ROWS[0], "d": (1.0, 2.0)}], "modified", "d must be one finite number"),
        ([], "modified", "at least one link"),
    ],
)
def test_bad_tables(rows, convention, message):
    with pytest.raises(ModelError, match=message):
        Robot.from_dh(rows, convention)
