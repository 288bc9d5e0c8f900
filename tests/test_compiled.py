"""Compiled = interpreted = plain NumPy, and forward ∘ inverse = identity."""

from collections.abc import Collection
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.systems.robot import Robot
from dalembert.tracing.interpreter import interpret
from dalembert.zoo import names
from tests.formulations.mechanisms import random_model, random_state, seeds

QUANTITIES = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "qdd"),
    "mass_matrix": ("q",),
}


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, relative to the largest entry."""
    return float(np.max(np.abs(a - b)) / max(1e-300, np.max(np.abs(b))))


def check(robot: Robot, states: tuple[np.ndarray, ...], compiled: Collection[str]) -> None:
    """Traced = plain for every quantity, and machine code = traced for those `compiled`.

    On a batch (q, q̇, q̈); a single state stands for the plain run.
    """
    state = dict(zip(("q", "qd", "qdd"), states, strict=True))
    functions = {name: partial(interpreted, robot, name) for name in QUANTITIES}
    condition = np.linalg.cond(functions["mass_matrix"](state["q"])).max()
    for quantity, inputs in QUANTITIES.items():
        # accelerations carry the rounding of M⁻¹
        tolerance = 1e-12 * (max(1.0, condition / 100) if quantity == "forward_dynamics" else 1.0)
        arrays = [state[name] for name in inputs]
        traced = functions[quantity](*arrays)
        plain = robot.reference(quantity, *(a[0] for a in arrays))
        assert relative(traced[0], plain) < tolerance
        if quantity in compiled:
            functions[quantity] = getattr(robot, quantity)
            assert relative(functions[quantity](*arrays), traced) < tolerance
    tau = functions["inverse_dynamics"](*states)
    again = functions["forward_dynamics"](state["q"], state["qd"], tau)
    assert relative(again, state["qdd"]) < 1e-12 * max(10.0, condition)


def interpreted(robot: Robot, quantity: str, *arrays: np.ndarray) -> np.ndarray:
    """What the program of a quantity computes, without machine code."""
    return interpret(robot.program(quantity), *arrays)[0]


@pytest.mark.parametrize("name", names())
def test_zoo(name):
    robot = dl.load(name)
    check(robot, robot.random_state(np.random.default_rng(1), size=19), QUANTITIES)


@pytest.mark.parametrize("part", range(4))
@given(seed=seeds)
@settings(max_examples=30)
def test_random_trees(part, seed):
    """A hundred and twenty trees of all joint types, in four parts that may run side by side.

    Each is traced for every quantity and compiled for one of them, in turn.
    """
    rng = np.random.default_rng([part, seed])
    model = random_model(rng, n=int(rng.integers(1, 5)))
    states = zip(*(random_state(model, rng) for _ in range(3)), strict=True)
    check(Robot(model), tuple(map(np.stack, states)), (rng.choice(list(QUANTITIES)),))


def test_a_plain_number_beside_float32_leaves_it_float32():
    f = dl.compile_function(lambda x, t: x * t, {"x": 3, "t": ()})
    x = np.array([1.0, 2.0, 3.0], np.float32)
    assert f(x, 0.5).dtype == np.float32
    assert f(np.ones(3, np.int8), 0.5).dtype == np.float64
    robot = dl.load("planar_2r")
    closed = dl.Constrained(robot, [dl.Holonomic(lambda q: q[0] + q[1] - 0.7)])
    q = np.array([0.3, 0.4], np.float32)
    assert closed.forward_dynamics(q, 0 * q, 0 * q, t=0.5)[0].dtype == np.float32
