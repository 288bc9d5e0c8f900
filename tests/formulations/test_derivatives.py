"""Slopes of the dynamics: against Pinocchio, finite differences and automatic differentiation."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.formulations.derivatives import automatic as automatic_derivatives
from dalembert.formulations.derivatives.forward import forward_dynamics_derivatives
from dalembert.formulations.derivatives.inverse import inverse_dynamics_derivatives
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.linalg.factorisations import tree_inverse
from dalembert.model import Model
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, random_motion, random_state, seeds
from tests.oracles.pinocchio_twin import configuration, friction, twin


def close(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    """Equal to `tolerance`, relative to the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, abs(theirs).max()))


def contiguous(model: Model) -> bool:
    """Whether every subtree is a range of bodies, which Pinocchio's derivatives rely on."""
    return all(
        b.parent == -1 or b.parent in model.supports[i] for i, b in enumerate(model.bodies[1:])
    )


def mirrored(upper: np.ndarray) -> np.ndarray:
    """The symmetric matrix of which Pinocchio fills the upper half."""
    return np.triu(upper) + np.triu(upper, 1).T


@given(seeds)
@settings(max_examples=60)
def test_inverse_dynamics_as_pinocchio(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=int(rng.integers(1, 8)), tree=bool(rng.integers(2)))
    if not contiguous(model):
        return
    peer = twin(model)
    data = peer.createData()  # owns what the call returns
    q, qd, qdd = random_state(model, rng)
    dq, dqd, M = inverse_dynamics_derivatives(model, q, qd, qdd)
    theirs = pin.computeRNEADerivatives(peer, data, configuration(model, q), qd, qdd)
    close(dq, theirs[0], 1e-9)
    close(dqd - np.diag(model.drive.viscous), theirs[1], 1e-9)
    close(M, mirrored(theirs[2]), 1e-9)


@given(seeds)
@settings(max_examples=40)
def test_forward_dynamics_as_pinocchio(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=int(rng.integers(1, 6)), tree=False)
    peer, (q, qd, tau) = twin(model), random_state(model, rng)
    data, B = peer.createData(), np.diag(model.drive.viscous)
    ours = forward_dynamics_derivatives(model, q, qd, tau)
    pin.computeABADerivatives(peer, data, configuration(model, q), qd, tau - friction(model, qd))
    inverse = mirrored(data.Minv)
    theirs = (data.ddq_dq, data.ddq_dv - inverse @ B, inverse)
    # both lose the condition of M
    tolerance = max(1e-9, 1e-12 * np.linalg.cond(inverse))
    for mine, other in zip(ours, theirs, strict=True):
        close(mine, other, tolerance)


@given(seeds)
@settings(max_examples=60)
def test_inverse_dynamics_by_differences(seed):
    """Any tree of any joints, a moving base and a wrench at the tool; central differences."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=int(rng.integers(1, 7)))
    q, qd, qdd = random_state(model, rng)
    known = random_motion(rng)
    h = 1e-5  # the error of the difference is h² times a third derivative, and 1e-16/h of rounding

    def derivative(shifted) -> np.ndarray:
        columns = [(shifted(h * e) - shifted(-h * e)) / (2 * h) for e in np.eye(model.nv)]
        return np.stack(columns, axis=1)

    def tau(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return inverse_dynamics(model, x, v, qdd, **known) - friction_steps(model, v)

    dq, dqd, _ = inverse_dynamics_derivatives(model, q, qd, qdd, **known)
    close(dq, derivative(lambda e: tau(model.integrate(q, e), qd)), 1e-7)
    close(dqd, derivative(lambda e: tau(q, qd + e)), 1e-7)


def friction_steps(model: Model, qd: np.ndarray) -> np.ndarray:
    """Coulomb's friction, which jumps where a velocity changes sign."""
    return friction(model, qd) - model.drive.viscous * qd


@given(seeds)
@settings(max_examples=20)
def test_automatic_agrees(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4)
    state, known = random_state(model, rng), random_motion(rng)
    pairs = (
        (inverse_dynamics_derivatives, automatic_derivatives.inverse_dynamics_derivatives),
        (forward_dynamics_derivatives, automatic_derivatives.forward_dynamics_derivatives),
    )
    for recursive, automatic in pairs:
        results = zip(
            recursive(model, *state, **known), automatic(model, *state, **known), strict=True
        )
        for mine, other in results:
            close(mine, other, 1e-8)


@pytest.mark.parametrize("name", ["ur5", "panda", "stanford", "scara"])
def test_kernels(name):
    """Compiled, batched, and cheaper than forward AD of Newton–Euler."""
    robot = dl.load(name)
    state = robot.random_state(np.random.default_rng(0), 37)
    for quantity in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        results = getattr(robot, quantity)(*state)
        plain = robot.reference(quantity, *(x[5] for x in state))
        for mine, other in zip(results, plain, strict=True):
            close(mine[5], other, 1e-11)
        counts = [robot.operation_count(quantity, f).total for f in ("recursive", "automatic")]
        assert counts[0] < counts[1]


@given(seeds)
@settings(max_examples=20)
def test_tree_inverse(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 5))
    M = A @ A.T + 0.1 * np.eye(5)
    np.testing.assert_allclose(tree_inverse(M) @ M, np.eye(5), atol=1e-9 * np.linalg.cond(M))


@pytest.mark.parametrize("seed", range(3))
def test_products_with_derivatives(seed):
    """jvp, vjp and hvp on joints of every kind, against the dense derivatives and differences."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=3)
    robot = Robot(model)
    state = random_state(model, rng)
    derivatives = robot.inverse_dynamics_derivatives(*state)
    d = rng.normal(size=(3, model.nv))
    forward = robot.jvp("inverse_dynamics", state, d)
    close(forward, sum(J @ x for J, x in zip(derivatives, d, strict=True)), 1e-12)
    w = rng.normal(size=model.nv)
    for mine, J in zip(robot.vjp("inverse_dynamics", state, (w,)), derivatives, strict=True):
        close(mine, J.T @ w, 1e-12)
    second = robot.hvp("inverse_dynamics", state, (w,), d)
    h = 1e-5

    def gradient(s: float) -> list[np.ndarray]:
        q = model.integrate(state[0], s * d[0])
        return robot.vjp("inverse_dynamics", (q, state[1] + s * d[1], state[2] + s * d[2]), (w,))

    # rates along velocities and accelerations are plain derivatives also for quaternion joints
    for mine, up, down in zip(second[1:], gradient(h)[1:], gradient(-h)[1:], strict=True):
        close(mine, (up - down) / (2 * h), 1e-6)


def test_derivative_of_any_quantity():
    robot = dl.load("elbow_3r")
    q = np.array([0.3, -0.7, 0.4])
    M_q = robot.derivative("mass_matrix", (q,))
    h = 1e-6
    for k, e in enumerate(np.eye(3)):
        derivative = (robot.mass_matrix(q + h * e) - robot.mass_matrix(q - h * e)) / (2 * h)
        np.testing.assert_allclose(M_q[..., k], derivative, atol=1e-8)
    with pytest.raises(dl.DalembertError, match="does not depend on 'qd'"):
        robot.derivative("mass_matrix", (q,), wrt="qd")


def test_derivative_with_respect_to_named_parameters():
    """Of a pendulum with l open: ∂τ/∂l of m g l sin θ + m l² q̈."""
    l = dl.Parameter("l", 0.5)
    row = {"a": l, "mass": 2.0, "com": (0.0, 0.0, 0.0)}
    robot = dl.Robot.from_dh([row], convention="standard", gravity=(0.0, -9.81, 0.0))
    derivative = robot.derivative("inverse_dynamics", ([0.3], [0.0], [1.5]), wrt="parameters")
    np.testing.assert_allclose(
        derivative, [[2.0 * 9.81 * np.cos(0.3) + 4.0 * 0.5 * 1.5]], rtol=1e-12
    )
