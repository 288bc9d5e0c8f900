"""Compiled = interpreted = plain NumPy, and forward ∘ inverse = identity."""

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.kernels.program.interpret import interpret
from dalembert.systems.robot import Robot
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


def check(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> None:
    """All three ways, on a batch; a single state stands for the plain run."""
    state = {"q": q, "qd": qd, "qdd": qdd}
    condition = np.linalg.cond(robot.mass_matrix(q)).max()
    for quantity, inputs in QUANTITIES.items():
        # accelerations carry the rounding of M⁻¹
        tolerance = 1e-12 * (max(1.0, condition / 100) if quantity == "forward_dynamics" else 1.0)
        arrays = [state[name] for name in inputs]
        compiled = getattr(robot, quantity)(*arrays)
        interpreted = interpret(robot.program(quantity), *arrays)[0]
        plain = robot.reference(quantity, *(a[0] for a in arrays))
        assert relative(compiled, interpreted) < tolerance
        assert relative(compiled[0], plain) < tolerance
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert relative(robot.forward_dynamics(q, qd, tau), qdd) < 1e-12 * max(10.0, condition)


@pytest.mark.parametrize("name", names())
def test_zoo(name):
    robot = dl.load(name)
    check(robot, *robot.random_state(np.random.default_rng(1), size=19))


@pytest.mark.parametrize("part", range(4))
@given(seed=seeds)
@settings(max_examples=50)
def test_random_trees(part, seed):
    """Two hundred trees of all joint types, in four parts that may run side by side."""
    rng = np.random.default_rng([part, seed])
    model = random_model(rng, n=int(rng.integers(1, 5)))
    states = [random_state(model, rng) for _ in range(3)]
    check(Robot(model), *(np.stack(column) for column in zip(*states, strict=True)))


def test_a_plain_number_beside_float32_leaves_it_float32():
    f = dl.compile_function(lambda x, t: x * t, {"x": 3, "t": ()})
    x = np.array([1.0, 2.0, 3.0], np.float32)
    assert f(x, 0.5).dtype == np.float32
    assert f(np.ones(3, np.int8), 0.5).dtype == np.float64
    robot = dl.load("planar_2r")
    closed = dl.Constrained(robot, [dl.Holonomic(lambda q: q[0] + q[1] - 0.7)])
    q = np.array([0.3, 0.4], np.float32)
    assert closed.forward_dynamics(q, 0 * q, 0 * q, t=0.5)[0].dtype == np.float32
