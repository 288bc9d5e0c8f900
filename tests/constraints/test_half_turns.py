"""A loop is closed only where it is closed: not with the body turned by half a turn."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Loop
from dalembert.zoo.constrained_spatial import ARM
from tests.constraints.states import ROUTES, consistent_states

BALL = {
    "name": "ball",
    "joint": {"type": "spherical"},
    "mass": 1.0,
    "inertia": np.diag([1, 2, 3.0]),
}
HALF_TURNS = np.eye(4)[:3]
TURNS = [("rx", "ry", "rz"), ("rx", "ry"), ("ry", "rz"), ("rx", "rz"), ("rx",), ("ry",), ("rz",)]


def held_ball(directions) -> Constrained:
    robot = dl.Robot.from_links([BALL], name="ball")
    return Constrained(robot, [Loop("base", "ball", directions, name="hold")])


def off(directions, q) -> float:
    """How far the ball's turn q is from what the loop means: its free axis, or its twist."""
    R = dl.spatial.matrix_from_quaternion(q)
    if len(directions) == 3:
        return np.abs(R - np.eye(3)).max()
    if len(directions) == 2:
        free = next(k for k in range(3) if f"r{'xyz'[k]}" not in directions)
        return np.linalg.norm(R[:, free] - np.eye(3)[free])
    return abs(q["xyz".index(directions[0][1])])


@pytest.mark.parametrize("directions", TURNS)
def test_half_turns_are_not_closed(directions):
    closed = held_ball(directions)
    for q in HALF_TURNS:
        open_by = np.abs(closed.residual(q)).max()
        assert open_by == 0.0 if off(directions, q) == 0.0 else open_by > 3.0


@pytest.mark.parametrize("directions", TURNS)
def test_assembly_finds_the_closed_side_from_anywhere(directions):
    """By Newton's method alone, half turns among the guesses."""
    closed, rng = held_ball(directions), np.random.default_rng(0)
    for guess in (*HALF_TURNS, *rng.normal(size=(40, 4))):
        q = closed.assemble(guess / np.linalg.norm(guess), starts=0)
        assert off(directions, q) < 1e-9


@pytest.mark.parametrize("directions", TURNS)
def test_rows_are_the_rates_of_the_residual_where_it_is_closed(directions):
    closed, rng = held_ball(directions), np.random.default_rng(1)
    q, step = closed.assemble(rng.normal(size=4) / 2), 1e-6
    derivatives = [
        (closed.residual(closed.integrate(q, v)) - closed.residual(closed.integrate(q, -v)))
        / (2 * step)
        for v in step * np.eye(3)
    ]
    np.testing.assert_allclose(closed.jacobian(q), np.stack(derivatives, axis=-1), atol=1e-9)
    assert closed.mobility(q).rank == len(directions)


def arm_at_a_hinge() -> Constrained:
    """A six-joint arm whose finger grips the handle of a panel on a vertical hinge."""
    links, before = [], None
    turn = ("turn", (1.0, 0.0, 0.0), (0.0, 0.0, 0.1), 0.4, (0.0, 0.0, 0.0))
    for name, axis, origin, mass, com in (*ARM, turn):
        joint = {"name": name, "type": "revolute", "axis": axis, "origin_xyz": origin}
        own = {"mass": mass, "com": com, "inertia": 0.02 * mass * np.eye(3)}
        links.append({"name": f"{name}_link", "parent": before, "joint": joint, **own})
        before = f"{name}_link"
    hinge = {"name": "hinge", "type": "revolute", "origin_xyz": (0.7, -0.5, 0.0)}
    links.append({"name": "door", "joint": hinge, "mass": 5.0, "inertia": np.eye(3)})
    handle = np.eye(4)
    handle[:3, :3] = dl.spatial.rotation_from_rpy((0.0, np.pi / 2, 0.0))
    handle[:3, 3] = [-0.1, 0.5, 0.5]
    robot = dl.Robot.from_links(links, frames={"handle": ("door", handle)}, name="door")
    return Constrained(robot, [Loop("handle", "turn_link", "weld", name="grip")])


def test_the_hand_at_a_hinge_is_never_flipped():
    closed, rng = arm_at_a_hinge(), np.random.default_rng(0)
    assert closed.freedoms == 1
    for _ in range(25):
        q = closed.assemble(rng.uniform(-np.pi, np.pi, 7))
        hand, handle = (closed.system.pose(q, frame=f) for f in ("turn_link", "handle"))
        np.testing.assert_allclose(hand, handle, atol=1e-9)
    q, qd, tau = consistent_states(closed, rng, 4, spread=0.1)
    expected, _ = closed.forward_dynamics(q, qd, tau)
    for route in ROUTES[1:]:
        result, _ = closed.forward_dynamics(q, qd, tau, formulation=route)
        np.testing.assert_allclose(result, expected, atol=1e-8 * np.abs(expected).max())
