"""Parameters of real bodies: against another solver, optimal, and always real."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import dalembert as dl
from dalembert.formulations.derivatives.regressor import (
    log_cholesky_parameters,
    physical_parameters,
)
from dalembert.identification import consistency
from dalembert.identification.consistency import consistent_parameters
from dalembert.identification.pseudo_inertia import (
    DISTANCES,
    WithinBox,
    WithinEllipsoid,
    admissible,
    inertial_parameters,
    pseudo_inertias,
    transformed_forms,
)

ARM = dl.load("panda")
LINKS = tuple(body.name for body in ARM.model.bodies)
RNG = np.random.default_rng(7)


def near(theta: np.ndarray, amount: float, rng: np.random.Generator = RNG) -> np.ndarray:
    """Inertias of real bodies that differ from θ by about `amount` in the logarithm."""
    x = log_cholesky_parameters(theta).reshape(-1, 10)
    size = np.array([1, 0.5, 0.5, 0.5, 0.02, 0.02, 0.02, 0.05, 0.05, 0.05])
    return physical_parameters((x + amount * size * rng.normal(size=x.shape)).ravel())


def columns(arm: dl.Robot, count: int, rng: np.random.Generator) -> np.ndarray:
    """Regressor with viscous, Coulomb and rotor columns at random states (count, nv, p)."""
    n = arm.nv
    q, qd = rng.uniform(-2, 2, (count, n)), rng.normal(size=(count, n))
    qdd = 2.0 * rng.normal(size=(count, n))
    others = [v[..., None] * np.eye(n) for v in (qd, np.tanh(qd / 0.05), qdd)]
    return np.concatenate([arm.regressor(q, qd, qdd), *others], axis=-1)


def data(W: np.ndarray, x: np.ndarray, noise: float, rng: np.random.Generator) -> tuple:
    """(A, b) of unit noise, and the standard deviation of the torques."""
    tau = W @ x
    sigma = noise * np.abs(tau).max()
    b = tau + sigma * rng.normal(size=tau.shape)
    return W.reshape(-1, W.shape[-1]) / sigma, b.ravel() / sigma, sigma


def is_real(theta: np.ndarray) -> bool:
    return bool((np.linalg.eigvalsh(pseudo_inertias(theta)) > 0.0).all())


@pytest.mark.parametrize("distance", ["entropic", "geodesic"])
def test_it_finds_what_a_general_solver_finds_on_free_numbers(distance):
    # SciPy's BFGS in log-Cholesky numbers and log friction: another formulation, another method
    rng = np.random.default_rng(3)
    prior = np.append(near(np.tile([2.0, 0, 0, 0, 3, 0, 0, 3, 0, 3.0], 1), 0.3, rng), 0.5)
    truth = np.append(near(prior[:10], 0.5, rng), 0.8)
    A = rng.normal(size=(8, 11)) * 20.0  # fewer rows than unknowns
    b = A @ truth + rng.normal(size=8)
    fit = consistent_parameters(A, b, prior, ["link"], gamma=0.7, distance=distance)
    L = np.linalg.cholesky(pseudo_inertias(prior[:10])[0])
    scale = np.linalg.norm(b) / np.linalg.norm(A[:, 10])

    def objective(z: np.ndarray) -> float:
        x = np.append(physical_parameters(z[:10]), np.exp(z[10]))
        X = np.linalg.solve(L, np.linalg.solve(L, pseudo_inertias(x[:10])[0]).T)
        D = DISTANCES[distance].value(X[None]) + 0.5 * ((x[10] - prior[10]) / scale) ** 2
        return 0.5 * np.sum((A @ x - b) ** 2) + 0.7 * D

    z = np.append(log_cholesky_parameters(prior[:10]), np.log(prior[10]))
    for _ in range(3):  # its differences are coarse: again from where it stopped
        other = minimize(objective, z, method="BFGS", jac="3-point", options={"gtol": 1e-8})
        z = other.x
    x = np.append(physical_parameters(other.x[:10]), np.exp(other.x[10]))
    ours = np.append(log_cholesky_parameters(fit.x[:10]), np.log(fit.x[10]))
    assert objective(ours) <= other.fun + 1e-7
    np.testing.assert_allclose(fit.x, x, rtol=1e-3, atol=1e-4)


def test_optimality_conditions_hold_with_friction_at_its_bound():
    rng = np.random.default_rng(5)
    prior = np.append(
        near(np.tile([2.0, 0, 0, 0, 3, 0, 0, 3, 0, 3.0], 1), 0.3, rng), [0.1, 0.2, 0.3]
    )
    A = rng.normal(size=(30, 13)) * 10.0
    b = A @ np.append(near(prior[:10], 0.3, rng), [-1.0, 0.5, -0.2]) + rng.normal(size=30)
    names = ["m"] * 10 + ["viscous", "coulomb", "offset"]
    low = np.array([0.0, 0.0, -np.inf])
    fit = consistent_parameters(A, b, prior, ["link"], names=names, lower=low, gamma=0.1)
    assert fit.x[10] == 0.0 and fit.x[12] < 0.0
    assert set(fit.active) == {"viscous ≥ 0"} and fit.gap < 1e-9
    # ∇f is the multiplier of the bound, and zero otherwise
    X0 = np.linalg.inv(pseudo_inertias(prior[:10])[0])
    P = pseudo_inertias(fit.x[:10])[0]
    scale = np.linalg.norm(b) / np.linalg.norm(A[:, 10:], axis=0)
    gradient = A.T @ (A @ fit.x - b)
    units = pseudo_inertias(np.eye(10).ravel())
    gradient[:10] += 0.1 * np.tensordot(units, X0 - np.linalg.inv(P), 2)
    gradient[10:] += 0.1 * (fit.x[10:] - prior[10:]) / scale**2
    size = np.abs(A).sum() * np.linalg.norm(b)
    assert gradient[10] == pytest.approx(fit.active["viscous ≥ 0"], rel=1e-6)
    assert np.abs(np.delete(gradient, 10)).max() < 1e-9 * size


def _moved(theta: np.ndarray, pose: np.ndarray, mass: float) -> np.ndarray:
    """θ of the same bodies in frames moved by a pose, in another unit of mass."""
    G = np.linalg.inv(pose)
    return mass * inertial_parameters(G @ pseudo_inertias(theta) @ G.T)


@pytest.mark.parametrize("distance", ["entropic", "geodesic"])
def test_frames_and_units_do_not_matter(distance):
    rng = np.random.default_rng(11)
    prior = ARM.parameters[:20]
    truth = near(prior, 0.3, rng)
    A = rng.normal(size=(12, 20)) * 30.0
    b = A @ truth + rng.normal(size=12)
    pose = dl.spatial.pose(
        dl.spatial.rotation_x(0.7) @ dl.spatial.rotation_z(1.9), [0.3, -1.0, 2.0]
    )
    change = np.stack([_moved(e, pose, 1000.0) for e in np.eye(20)], axis=1)  # grams
    one = consistent_parameters(A, b, prior, ["a", "b"], distance=distance)
    two = consistent_parameters(
        A @ np.linalg.inv(change), b, change @ prior, ["a", "b"], distance=distance
    )
    assert two.gamma == pytest.approx(one.gamma, rel=1e-6)
    np.testing.assert_allclose(np.linalg.solve(change, two.x), one.x, rtol=1e-6, atol=1e-7)


def test_what_the_data_do_not_see_keeps_the_value_of_the_prior():
    rng = np.random.default_rng(2)
    prior = np.append(ARM.parameters, np.tile(0.3, 7))
    truth = np.append(near(ARM.parameters, 0.2, rng), np.tile(0.5, 7))
    A = rng.normal(size=(200, 77)) * 50.0
    unseen = np.r_[20:30, 50:60, 73]
    A[:, unseen] = 0.0
    fit = consistent_parameters(A, A @ truth + rng.normal(size=200), prior, LINKS)
    np.testing.assert_allclose(fit.x[unseen], prior[unseen], rtol=1e-6)
    assert np.abs(fit.x[:20] - truth[:20]).max() < np.abs(prior[:20] - truth[:20]).max()
    # a prior that is already true stays as it is
    same = consistent_parameters(A, A @ prior, prior, LINKS)
    np.testing.assert_allclose(same.x, prior, rtol=1e-9, atol=1e-12)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), noise=st.floats(0.0, 3.0), wrong=st.floats(0.0, 3.0))
def test_the_result_is_always_real_whatever_the_noise(seed, noise, wrong):
    rng = np.random.default_rng(seed)
    prior = ARM.parameters[:20]
    truth = near(prior, wrong, rng)
    A = rng.normal(size=(25, 24)) * 10.0 ** rng.uniform(-2, 2, 24)
    b = A @ np.append(truth, rng.normal(size=4))
    b = b + noise * np.abs(b).max() * rng.normal(size=25)
    fit = consistent_parameters(A, b, np.append(prior, np.zeros(4)), ["a", "b"])
    assert is_real(fit.x[:20]) and (fit.x[20:] >= 0.0).all()
    assert fit.misfit <= np.sum((A @ np.append(prior, np.zeros(4)) - b) ** 2) * (1 + 1e-9) + 1e-9


def test_held_out_torques_are_as_good_as_those_of_unconstrained_least_squares():
    rng = np.random.default_rng(1)
    truth = np.concatenate([near(ARM.parameters, 0.2, rng), rng.uniform(0.2, 1.0, 14), np.zeros(7)])
    prior = np.append(ARM.parameters, np.zeros(21))
    A, b, sigma = data(columns(ARM, 400, rng), truth, 0.01, rng)
    fit = consistent_parameters(A, b, prior, LINKS)
    plain = np.linalg.lstsq(A, b, rcond=None)[0]
    W, fresh = columns(ARM, 200, rng), rng.normal(size=(200, 7))
    noisy = W @ truth / sigma + fresh

    def rms(x: np.ndarray) -> float:
        return float(np.sqrt(np.mean((W @ x / sigma - noisy) ** 2)))

    assert rms(fit.x) < 1.02 * rms(plain) < 1.1 < rms(prior)
    assert not fit.conflict and is_real(fit.x[:70]) and fit.gap < 1e-6
    # nothing real: torques of a robot with negative masses
    denied = consistent_parameters(A, -b, prior, LINKS)
    assert denied.conflict and is_real(denied.x[:70])
    assert "no real bodies" in denied.warnings(2800)[0] and not fit.warnings(2800)
    assert not replace(fit, misfit=fit.least_misfit + 150.0).warnings(
        100_000
    )  # 0.1 %: said nowhere


def test_total_mass_is_kept_exactly_and_shapes_hold_the_mass():
    rng = np.random.default_rng(4)
    prior = ARM.parameters[:20]
    truth = near(prior, 0.3, rng)
    A = rng.normal(size=(30, 20)) * 10.0
    b = A @ truth + rng.normal(size=30)
    pose = dl.spatial.pose(dl.spatial.rotation_y(0.4), [0.1, 0.0, 0.05])
    shapes = {
        "a": transformed_forms(WithinBox([-0.05] * 3, [0.05] * 3).forms(), pose),
        "b": WithinEllipsoid([0.1, 0.1, 0.3], center=[0.0, 0.02, 0.0]).forms(),
    }
    fit = consistent_parameters(A, b, prior, ["a", "b"], total_mass=6.5, shapes=shapes)
    P = pseudo_inertias(fit.x)
    assert fit.x[0] + fit.x[10] == pytest.approx(6.5, rel=1e-12)
    for k, link in enumerate("ab"):
        assert np.tensordot(shapes[link], P[k], 2).min() > -1e-10
    inside = np.linalg.inv(pose) @ np.append(fit.x[1:4] / fit.x[0], 1.0)
    assert (np.abs(inside[:3]) < 0.05).all() and fit.active
    assert fit.gap < 1e-8 and is_real(fit.x)
    _no_allowed_step_is_better(fit, A, b, prior, shapes)


def _no_allowed_step_is_better(fit, A, b, prior, shapes):
    """Of many small steps that keep the total mass and the shapes none lowers the objective."""
    roots = np.linalg.cholesky(pseudo_inertias(prior))
    rng = np.random.default_rng(0)

    def objective(x: np.ndarray) -> float:
        half = np.linalg.solve(roots, pseudo_inertias(x))
        X = np.linalg.solve(roots, half.swapaxes(1, 2))
        return 0.5 * np.sum((A @ x - b) ** 2) + fit.gamma * DISTANCES["entropic"].value(X)

    def allowed(x: np.ndarray) -> bool:
        P = pseudo_inertias(x)
        return all(np.tensordot(shapes[k], P["ab".index(k)], 2).min() >= 0.0 for k in shapes)

    least, tried = objective(fit.x), 0
    for _ in range(3000):
        step = 10.0 ** rng.uniform(-5, -2) * rng.normal(size=20) * np.abs(fit.x)
        step[10] = -step[0]
        if allowed(fit.x + step):
            tried += 1
            assert objective(fit.x + step) >= least - 1e-9
    assert tried > 100


def test_payload_only_is_found_with_and_without_unknown_friction():
    rng = np.random.default_rng(6)
    friction = rng.uniform(0.2, 1.0, 21)
    load = ARM.with_payload(2.0, [0.03, -0.02, 0.08], np.diag([0.01, 0.012, 0.008]))
    truth, prior = np.append(load.parameters, friction), np.append(ARM.parameters, friction)
    A, b, _ = data(columns(ARM, 400, rng), truth, 0.002, rng)
    for friction_known in (True, False):
        free = np.zeros(91, bool)
        free[60:70] = True
        free[70:] = not friction_known
        start = prior if friction_known else np.append(prior[:70], np.zeros(21))
        fit = consistent_parameters(A, b, start, LINKS, free=free)
        assert np.array_equal(fit.x[~free], start[~free])
        mass = fit.x[60] - ARM.parameters[60]
        moment = (fit.x[61:64] - ARM.parameters[61:64]) / 2.0
        added = (load.parameters - ARM.parameters)[61:64] / 2.0
        assert mass == pytest.approx(2.0, abs=0.02)
        np.testing.assert_allclose(moment, added, atol=3e-3)


def test_hard_cases_converge():
    rng = np.random.default_rng(8)
    prior = ARM.parameters[:20]
    U, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    bad = U @ np.diag(np.logspace(6, -6, 20)) @ U.T  # condition number 1e12
    far = np.concatenate([100.0 * prior[:10], 0.01 * prior[10:]])
    for A, truth in ((bad, near(prior, 0.3, rng)), (rng.normal(size=(40, 20)) * 1e3, far)):
        fit = consistent_parameters(A, A @ truth + rng.normal(size=len(A)), prior, ["a", "b"])
        assert is_real(fit.x) and not fit.conflict
    # a rod, noise-free: at the border of what is real
    rod = np.array([1.0, 0, 0, 0.5, 1 / 3, 0, 0, 1 / 3, 0, 0])
    A = rng.normal(size=(40, 10)) * 1e6
    fit = consistent_parameters(
        A, A @ rod, near(np.array([2.0, 0, 0, 0, 3, 0, 0, 3, 0, 3.0]), 0.1), ["rod"]
    )
    assert is_real(fit.x) and not fit.conflict
    np.testing.assert_allclose(fit.x, rod, atol=1e-5)


def test_a_hopeless_problem_still_begins_where_the_prior_rules(monkeypatch):
    tried = []

    def reluctant(problem, state, gamma):
        tried.append(gamma)
        if len(tried) < 3:
            raise dl.ConvergenceError("too far")
        return solve(problem, state, gamma)

    solve = consistency._solve
    monkeypatch.setattr(consistency, "_solve", reluctant)
    A = np.random.default_rng(0).normal(size=(12, 10))
    fit = consistent_parameters(A, A @ near(ARM.parameters[:10], 0.2), ARM.parameters[:10], ["a"])
    assert is_real(fit.x) and tried[2] == pytest.approx(1e4 * tried[0])


def test_priors_on_the_border_or_beyond_it_are_made_real_and_said():
    point = [2.0, 0.2, 0, 0, 0, 0, 0, 0.02, 0, 0.02]
    plate = [1.0, 0, 0, 0, 0.1, 0, 0, 0.2, 0, 0.3]
    impossible = [1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.9]
    flywheel = [0.0, 0, 0, 0, 0, 0, 0, 0, 0, 0.4]
    fine = ARM.parameters[:10]
    theta = np.concatenate([point, plate, impossible, flywheel, np.zeros(10), fine])
    corrected, notes = admissible(theta, list("abcdef"))
    P = pseudo_inertias(corrected)
    assert is_real(corrected[:40]) and not P[4].any()
    np.testing.assert_allclose(corrected[50:], fine, rtol=1e-12)
    assert len(notes) == 5 and "point mass" in notes[0] and "'e' has no mass" in notes[4]
    np.testing.assert_allclose(corrected[:4], point[:4], rtol=1e-12)
    # a link without mass stays so in a fit
    A = RNG.normal(size=(30, 60))
    fit = consistent_parameters(A, A @ corrected + RNG.normal(size=30), theta, list("abcdef"))
    assert not fit.x[40:50].any() and is_real(fit.x[:40])
    with pytest.raises(dl.IdentificationError, match="link 'arm'"):
        admissible(np.append(-1.0, np.ones(9)), ["arm"])


def test_what_cannot_be_asked_is_refused_by_name():
    A, prior = np.eye(10), ARM.parameters[:10]
    with pytest.raises(dl.IdentificationError, match="entropic"):
        consistent_parameters(A, prior, prior, ["a"], distance="entropy")
    with pytest.raises(dl.IdentificationError, match="total_mass=-1"):
        consistent_parameters(A, prior, prior, ["a"], total_mass=-1.0)
    with pytest.raises(dl.IdentificationError, match="no mass in any of a"):
        consistent_parameters(A, prior, np.zeros(10), ["a"])
    with pytest.raises(dl.IdentificationError, match="not finite"):
        consistent_parameters(A * np.nan, prior, prior, ["a"])
    for make in (lambda: WithinBox([0, 0, 0], [1, 0, 1]), lambda: WithinEllipsoid([1, -1, 1])):
        with pytest.raises(dl.IdentificationError):
            make()
