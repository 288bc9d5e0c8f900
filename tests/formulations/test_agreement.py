"""Every formulation the catalogue lists agrees with every other, on all robots and at random.

The list is data: a formulation added to the catalogue is compared here by itself.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

import dalembert as dl
from dalembert.errors import FormulationError
from dalembert.formulations import QUANTITIES
from dalembert.systems.robot import Robot
from dalembert.zoo import names
from tests.formulations.mechanisms import random_model, random_motion, random_state, seeds

# C, W and W⁻¹ are not unique: their laws are tested elsewhere
SEVERAL = ("coriolis_matrix", "square_root", "square_root_inverse")
UNIQUE = [
    name
    for name, quantity in QUANTITIES.items()
    if len(quantity.formulations) > 1 and name not in SEVERAL
]


def results(robot: Robot, quantity: str, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What each formulation gives, less those that say they cannot treat a joint."""
    actual = QUANTITIES[quantity]
    inputs = [state[name] for name in actual.inputs]
    extra = {name: state[name] for name in actual.optional}
    values = {}
    for formulation in actual.formulations:
        try:
            value = robot.reference(quantity, *inputs, formulation=formulation.name, **extra)
            several = value if isinstance(value, tuple) else (value,)
            values[formulation.name] = np.concatenate([part.ravel() for part in several])
        except FormulationError as error:
            assert "joint" in str(error)
    return values


def compare(robot: Robot, rng: np.random.Generator, tolerance: float = 1e-11) -> None:
    """Every pair, relative to the largest entry; accelerations also to the condition of M."""
    q, qd, qdd = random_state(robot.model, rng)
    state = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd, **random_motion(rng)}
    condition = np.linalg.cond(robot.reference("mass_matrix", q))
    for quantity in UNIQUE:
        values = results(robot, quantity, state)
        loss = max(1.0, condition / 1e3) if QUANTITIES[quantity].inverts_mass else 1.0
        for (first, a), (second, b) in combinations(values.items(), 2):
            # what vanishes identically is a difference of terms of order one
            scale = max(np.max(np.abs(a)), 1e-3)
            assert np.max(np.abs(a - b)) <= tolerance * loss * scale, (quantity, first, second)


def test_there_are_at_least_eight():
    assert len(dl.formulations("inverse_dynamics")) >= 8
    assert len(dl.formulations("mass_matrix")) >= 4
    assert len(dl.formulations("forward_dynamics")) >= 5


@pytest.mark.parametrize("name", names())
def test_zoo(name):
    robot = dl.load(name)
    if isinstance(robot, Robot):
        compare(robot, np.random.default_rng(2))


@given(seeds)
def test_random_mechanisms(seed):
    rng = np.random.default_rng(seed)
    compare(Robot(random_model(rng, n=int(rng.integers(1, 7)))), rng)


def test_a_wrench_on_the_base_moves_nothing():
    model = dl.load("elbow_3r").model
    compare(Robot(replace(model, tool="base")), np.random.default_rng(4))


@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_compiled_formulations(name):
    """The same, through compiled kernels, for an arm with six joints and all its drives."""
    robot = dl.load(name)
    q, qd, qdd = robot.random_state(np.random.default_rng(3), size=9)
    for quantity, inputs in (
        ("inverse_dynamics", (q, qd, qdd)),
        ("forward_dynamics", (q, qd, qdd)),
        ("mass_matrix", (q,)),
    ):
        values = [
            getattr(robot, quantity)(*inputs, formulation=formulation)
            for formulation in dl.formulations(quantity)
        ]
        for other in values[1:]:
            np.testing.assert_allclose(
                other, values[0], rtol=0, atol=1e-11 * np.abs(values[0]).max()
            )
