"""Inertias as numbers: the regressor, base parameters and equivalent robots."""

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.formulations.derivatives.base_parameters import (
    from_moments,
    grouping,
    moments,
    reduced,
)
from dalembert.formulations.derivatives.regressor import (
    inertial_parameters,
    regressor,
    with_inertial_parameters,
)
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.model import Model
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, random_state, seeds

RNG = np.random.default_rng(0)


def close(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    """Equal to `tolerance`, relative to the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, abs(theirs).max()))


def with_general_inertias(model: Model) -> Model:
    """The geometry with no inertial entry zero, as operation counts of the literature assume."""
    theta = []
    for _ in model.bodies:
        points = RNG.normal(scale=0.2, size=(6, 3)) + 0.1
        mass = RNG.uniform(0.5, 1.0, 6)
        tensor = sum(
            m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(mass, points, strict=True)
        )
        theta += [mass.sum(), *(mass @ points), *tensor[np.triu_indices(3)]]
    return with_inertial_parameters(model, np.array(theta))


@given(seeds)
@settings(max_examples=40)
def test_torques_are_linear_in_the_parameters(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=int(rng.integers(1, 7)), drives=False)
    state = random_state(model, rng)
    close(
        regressor(model, *state) @ inertial_parameters(model),
        inverse_dynamics(model, *state),
        1e-12,
    )


@given(seeds)
@settings(max_examples=20)
def test_other_parameters(seed):
    """Also parameters that no body has, with first moments but no mass."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4, drives=False)
    theta = rng.normal(size=10 * len(model.bodies))
    theta[0] = 0.0
    changed = with_inertial_parameters(model, theta)
    state = random_state(model, rng)
    close(inverse_dynamics(changed, *state), regressor(model, *state) @ theta, 1e-12)
    np.testing.assert_array_equal(inertial_parameters(changed), theta)


@given(seeds)
@settings(max_examples=12)
def test_reduced_changes_no_torque(seed):
    """Any joints, any tree, drives included."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4)
    fewer = reduced(model)
    assert np.count_nonzero(moments(fewer)) <= np.count_nonzero(moments(model))
    for _ in range(5):
        state = random_state(model, rng)
        # the regressor's random motions decide B to 1e-12 of its condition
        close(inverse_dynamics(fewer, *state), inverse_dynamics(model, *state), 1e-10)


def test_rounding_is_no_moment_of_a_reduced_body():
    """A regrouped Σ_zz of zero came back as −1e-17 from the inertia it was written into."""
    model = random_model(np.random.default_rng(470), n=4)
    fewer = reduced(model)
    assert np.count_nonzero(moments(fewer)) <= np.count_nonzero(moments(model))
    for body in fewer.bodies:
        sizes = abs(body.second_moment[body.second_moment != 0.0])
        assert (sizes > 1e-14 * abs(body.inertia).max()).all()


@pytest.mark.parametrize("name", ["ur5", "panda", "puma560", "rx90", "stanford", "scara", "iiwa14"])
def test_reduced_arms(name):
    robot = dl.load(name)
    fewer = robot.reduced()
    state = robot.random_state(np.random.default_rng(1), 200)
    for quantity, last in (("inverse_dynamics", state[2]), ("forward_dynamics", state[2])):
        a, b = (getattr(r, quantity)(*state[:2], last) for r in (robot, fewer))
        close(b, a, 1e-12 if quantity == "inverse_dynamics" else 1e-10)
    # of the links as they are; the default formulation groups inertias by itself
    as_they_are = "inverse_dynamics", "newton_euler_mixed"
    before, after = (r.operation_count(*as_they_are).total for r in (robot, fewer))
    assert after < before


@pytest.mark.parametrize(("name", "most"), [("puma560", (261, 242)), ("rx90", (253, 238))])
def test_counts_of_khalil_and_kleinfinger(name, most):
    """Their customised Newton–Euler with base parameters, general inertias, no drives."""
    model = with_general_inertias(dl.load(name).model)
    still = {key: np.zeros(model.nv) for key in vars(model.drive)}
    from dataclasses import replace

    model = replace(model, drive=replace(model.drive, **still))
    count = Robot(reduced(model)).operation_count("inverse_dynamics")
    assert (count.multiplications, count.additions) <= most
    assert count.additions <= most[1]


def test_count_of_symmetric_links():
    """The RX-90 with diagonal tensors and one first moment per link."""
    model = dl.load("rx90").model
    theta = []
    for along, m in zip(
        ([0] * 3, [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]), range(2, 8), strict=True
    ):
        theta += [m, *(0.1 * m * np.array(along)), 0.5 + m, 0.0, 0.0, 0.6 + m, 0.0, 0.7 + m]
    count = Robot(
        reduced(with_inertial_parameters(model, np.array(theta, dtype=float)))
    ).operation_count("inverse_dynamics")
    assert count.multiplications <= 160
    assert count.additions <= 113


def test_base_parameters_of_a_planar_arm():
    """Two links in a plane without gravity: I₁ + m₂ l², I₂, and the two first moments of link 2."""
    robot = dl.load("planar_2r")
    actual = robot.base_parameters
    names = [actual.names[k].split(":")[1] for k in actual.kept]
    assert len(names) == 4
    assert names.count("Sxx") == 2
    explained = actual.explained()
    assert any("Syy" in line for line in explained)


def test_base_regressor():
    robot = dl.load("rx90")
    state = robot.random_state(np.random.default_rng(2), 10)
    Y, beta = robot.base_regressor(*state), robot.base_values()
    assert Y.shape == (
        10,
        6,
        36,
    )  # 36 base parameters, as in Gautier and Khalil 1990 with 40 − 4 drives
    close(Y @ beta, robot.inverse_dynamics(*state), 1e-12)
    assert (
        np.linalg.matrix_rank(robot.base_regressor(*robot.random_state(RNG, 100)).reshape(-1, 36))
        == 36
    )


def test_grouping_is_exact():
    """Y_φ = Y_φ[:, kept] G for motions it was not found from."""
    model = dl.load("panda").model
    actual = grouping(model)
    back = from_moments(len(model.bodies))
    state = random_state(model, np.random.default_rng(99))
    Y = regressor(model, *state) @ back
    close(Y[:, list(actual.kept)] @ actual.matrix, Y, 1e-12)


def test_compiled_regressor_and_slope():
    robot = dl.load("ur5")
    state = robot.random_state(np.random.default_rng(3), 5)
    Y = robot.regressor(*state)
    close(Y @ robot.parameters, robot.inverse_dynamics(*state), 1e-13)
    close(robot.derivative("inverse_dynamics", state, wrt="inertia"), Y, 1e-13)
    # ∂q̈/∂θ = −M⁻¹ Y at the resulting motion
    qdd = robot.forward_dynamics(*state)
    derivative = robot.derivative("forward_dynamics", state, wrt="inertia")
    implied = -np.linalg.solve(
        robot.mass_matrix(state[0]), robot.regressor(state[0], state[1], qdd)
    )
    close(derivative, implied, 1e-10)


def test_with_parameters():
    robot = dl.load("ur5")
    same = robot.with_parameters(robot.parameters)
    state = robot.random_state(np.random.default_rng(4), 5)
    close(same.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-13)
    with pytest.raises(dl.ShapeError, match="60 inertial parameters"):
        robot.with_parameters(np.zeros(10))
    assert robot.parameter_names[10] == "upper_arm_link:m"
