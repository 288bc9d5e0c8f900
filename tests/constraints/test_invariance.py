"""Freedoms, accelerations and constraint forces do not depend on how the world is described."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained
from tests.constraints.seen_otherwise import (
    Seen,
    closed_in_space,
    in_millimetres,
    reordered,
    turned,
)
from tests.constraints.states import ROUTES

SAME = 1e-9
PLANAR = ("four_bar", "slider_crank", "parallel_3rr")
SPATIAL = ("arm_on_sphere", "arm_rolling_on_sphere", "stewart_platform")
GIVEN = ("rolling_disk", "knife_edge", "chaplygin_sleigh", "snakeboard")


def rotation(rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def mechanism(name: str) -> Constrained:
    planar, _, directions = name.partition(" ")
    return closed_in_space(dl.load(planar), directions) if directions else dl.load(planar)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return np.abs(found - expected).max() / max(1.0, np.abs(expected).max())


def states(closed: Constrained, seed: int, count: int = 2) -> list[tuple[np.ndarray, ...]]:
    """(q, q̇, τ) that the constraints allow; everything here is evaluated, nothing compiled."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        step = rng.uniform(-0.2, 0.2, closed.nv)
        q = closed.assemble(closed.reference("integrate", closed.neutral(), step))
        qd = closed.reference("project_velocity", q, rng.normal(size=closed.nv))
        found.append((q, qd, rng.normal(size=closed.nv)))
    return found


def assert_same(closed: Constrained, seen: Seen, seed: int = 0) -> None:
    """Freedoms, redundant constraints, q̈ and Aᵀλ by four routes, and what is built on them."""
    there = seen.closed
    here, other = closed.mobility(), there.mobility()
    assert (other.freedoms, other.rank) == (here.freedoms, here.rank)
    assert there.freedoms == closed.freedoms
    assert len(other.redundant) == len(here.redundant)
    for state in states(closed, seed):
        q, qd, tau = seen.state(*state)
        assert relative(there.reference("project_velocity", q, qd) / seen.v, state[1]) < SAME
        qdd, lam = closed.reference("forward_dynamics", *state)
        force = closed.reference("constraint_force", state[0], lam)
        for route in ROUTES:
            found, multipliers = there.reference("forward_dynamics", q, qd, tau, formulation=route)
            assert relative(found / seen.v, qdd) < SAME, route
            carried = there.reference("constraint_force", q, multipliers) * seen.v / seen.force
            assert relative(carried, force) < SAME, route
        back, _ = there.reference("inverse_dynamics", q, qd, qdd * seen.v)
        again, _ = there.reference("forward_dynamics", q, qd, back)
        assert relative(again / seen.v, qdd) < SAME


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


@pytest.mark.parametrize("name", [*PLANAR, *LOOPED, *SPATIAL, *GIVEN])
def test_the_order_and_size_of_rows_change_nothing(name):
    closed = mechanism(name)
    assert_same(closed, reordered(closed, np.random.default_rng(2)))
