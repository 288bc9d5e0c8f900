"""Freedoms, accelerations and constraint forces do not depend on how the world is described."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Loop
from dalembert.control import Hybrid, RedundantActuation
from dalembert.zoo.entry import pinned, pose_at
from tests.constraints.pinocchio_loops import closed_twin
from tests.constraints.states import ROUTES
from tests.constraints.transformed_mechanisms import (
    TransformedMechanism,
    closed_in_space,
    in_millimetres,
    reordered,
    turned,
)

SAME = 1e-9
PLANAR = ("four_bar", "slider_crank", "parallel_3rr")
SPATIAL = ("arm_on_sphere", "arm_rolling_on_sphere", "stewart_platform")
TEXTBOOK = ("rolling_disk", "knife_edge", "chaplygin_sleigh", "snakeboard")


def rotation(rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def mechanism(name: str) -> Constrained:
    planar, _, directions = name.partition(" ")
    return closed_in_space(dl.load(planar), directions) if directions else dl.load(planar)


def relative(actual: np.ndarray, expected: np.ndarray) -> float:
    return np.abs(actual - expected).max() / max(1.0, np.abs(expected).max())


def states(closed: Constrained, seed: int, count: int = 2) -> list[tuple[np.ndarray, ...]]:
    """(q, q̇, τ) that the constraints allow; everything here is evaluated, nothing compiled."""
    rng, result = np.random.default_rng(seed), []
    for _ in range(count):
        step = rng.uniform(-0.2, 0.2, closed.nv)
        q = closed.assemble(closed.reference("integrate", closed.neutral(), step))
        qd = closed.reference("project_velocity", q, rng.normal(size=closed.nv))
        result.append((q, qd, rng.normal(size=closed.nv)))
    return result


def assert_same(closed: Constrained, view: TransformedMechanism, seed: int = 0) -> None:
    """Freedoms, redundant constraints, q̈ and Aᵀλ by all routes, and what is built on them."""
    there = view.closed
    here, other = closed.mobility(), there.mobility()
    assert (other.freedoms, other.rank) == (here.freedoms, here.rank)
    assert there.freedoms == closed.freedoms
    assert len(other.redundant) == len(here.redundant)
    for state in states(closed, seed):
        q, qd, tau = view.state(*state)
        assert relative(there.reference("project_velocity", q, qd) / view.v, state[1]) < SAME
        qdd, lam = closed.reference("forward_dynamics", *state)
        force = closed.reference("constraint_force", state[0], lam)
        for route in ROUTES:
            result, multipliers = there.reference("forward_dynamics", q, qd, tau, formulation=route)
            assert relative(result / view.v, qdd) < SAME, route
            reaction = there.reference("constraint_force", q, multipliers) * view.v / view.force
            assert relative(reaction, force) < SAME, route
        back, _ = there.reference("inverse_dynamics", q, qd, qdd * view.v)
        again, _ = there.reference("forward_dynamics", q, qd, back)
        assert relative(again / view.v, qdd) < SAME


LOOPED = [f"{name} {how}" for name in PLANAR for how in ("point", "revolute")]


@pytest.mark.parametrize("name", [*LOOPED, *SPATIAL])
def test_turning_the_world_changes_nothing(name):
    rng = np.random.default_rng(1)
    closed = mechanism(name)
    for _ in range(2):
        assert_same(closed, turned(closed, rotation(rng), rng.normal(size=3)))


@pytest.mark.parametrize("name", [*PLANAR, *LOOPED, *SPATIAL])
def test_metres_or_millimetres(name):
    closed = mechanism(name)
    assert_same(closed, in_millimetres(closed))


@pytest.mark.parametrize("name", [*PLANAR, *LOOPED, *SPATIAL, *TEXTBOOK])
def test_the_order_and_size_of_rows_change_nothing(name):
    closed = mechanism(name)
    assert_same(closed, reordered(closed, np.random.default_rng(2)))


def walker(rng: np.random.Generator) -> Constrained:
    """A floating body with two legs, each a planar four-bar in its own slanted plane, as Cassie's."""
    trunk = {"name": "trunk", "joint": {"name": "float", "type": "free"}, "mass": 5.0}
    links, frames, loops = [{**trunk, "inertia": np.diag([0.3, 0.4, 0.5])}], {}, []
    for side in "lr":
        plane = np.eye(4)
        plane[:3, :3], plane[:3, 3] = rotation(rng), rng.normal(size=3)
        bars = (
            pinned(f"crank_{side}", "trunk", (0.0, 0.0), 0.35, 0.35),
            pinned(f"coupler_{side}", f"crank_{side}_rod", (0.35, 0.0), 0.9, 0.9),
            pinned(f"rocker_{side}", "trunk", (1.0, 0.0), 0.8, 0.8),
        )
        for bar in bars:
            at = np.eye(4)
            at[:3, 3] = bar["joint"].pop("origin_xyz")
            bar["joint"]["origin"] = plane @ at if bar["parent"] == "trunk" else at
        links += bars
        frames[f"coupler_tip_{side}"] = (f"coupler_{side}_rod", pose_at((0.9, 0.0, 0.0)))
        frames[f"rocker_tip_{side}"] = (f"rocker_{side}_rod", pose_at((0.8, 0.0, 0.0)))
        loops.append(Loop(f"coupler_tip_{side}", f"rocker_tip_{side}", "point", name=side))
    robot = dl.Robot.from_links(links, frames=frames, name="walker")
    return Constrained(robot, loops, guess=[0, 0, 0, 0, 0, 0, 1, *([1.2, -0.9, 1.6] * 2)])


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_agrees_on_a_floating_body_with_slanted_planar_loops(seed):
    """Two of the six rows are implied by the others, in no coordinate plane: eight freedoms."""
    closed = walker(np.random.default_rng(seed))
    result = closed.mobility()
    assert (result.velocities, result.rank, result.freedoms) == (12, 4, 8)
    assert result.redundant == ("l", "r") and not result.singular
    twin = closed_twin(closed)
    for q, qd, tau in states(closed, seed):
        theirs = twin(q, qd, tau)
        for route in ROUTES:
            qdd, _ = closed.reference("forward_dynamics", q, qd, tau, formulation=route)
            np.testing.assert_allclose(qdd, theirs, atol=1e-9 * np.abs(theirs).max())


TASKS = {
    "four_bar point": ("crank",),
    "slider_crank revolute": ("crank",),
    "parallel_3rr point": ("theta1", "theta3"),
}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("kind", [Hybrid, RedundantActuation])
def test_controllers_give_the_same_motion(name, kind):
    """Not the same torques: the least ones, Σ τ², depend on the units of forces and torques."""
    rng = np.random.default_rng(3)
    closed, task = mechanism(name), TASKS[name]

    def moved(system: Constrained, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        built = kind(system, task, np.ones(len(task)), 36.0, 12.0)
        tau, _ = built.command(0.0, q, qd, np.zeros(0), built.constants)
        return system.reference("forward_dynamics", q, qd, tau)[0]

    whole_world = turned(closed, rotation(rng), rng.normal(size=3))
    for observed in (whole_world, in_millimetres(closed), reordered(closed, rng)):
        for q, qd, _ in states(closed, 3):
            there = moved(observed.closed, q * observed.q, qd * observed.v) / observed.v
            assert relative(there, moved(closed, q, qd)) < SAME
