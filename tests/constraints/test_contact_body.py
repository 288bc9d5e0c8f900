"""The normal force of a body in contact coordinates: read, as a multiplier, and controlled."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import (
    Constrained,
    ContactBody,
    Ellipsoid,
    Plane,
    Sphere,
    Torus,
    surfaces,
)
from dalembert.control import Hybrid
from dalembert.errors import ConstraintError
from dalembert.spatial import se3
from tests.constraints.states import ROUTES

GRAVITY = (0.0, 0.0, -9.81)
ETA = np.array([0.2, 0.4, 0.3, 0.5, 0.8])


def bodies(obj, finger, mass=2.0, inertia=None):
    """The same body with contact built in and with a gap."""
    inertia = 0.072 * np.eye(3) if inertia is None else inertia
    return [ContactBody(obj, finger, mass, inertia, GRAVITY, gap=gap) for gap in (False, True)]


def test_the_map_with_a_gap_is_the_derivative_of_the_pose():
    o, f = Torus(1.0, 0.3), Ellipsoid(0.2, 0.3, 0.15)
    eta = np.array([*ETA, 0.07])
    g = surfaces.relative_pose(o, f, eta)
    columns = []
    for e in 1e-6 * np.eye(6):
        ends = [surfaces.relative_pose(o, f, eta + s * e) for s in (1, -1)]
        columns.append(se3.vee_se3(np.linalg.inv(g) @ (ends[0] - ends[1]) / 2e-6))
    np.testing.assert_allclose(surfaces.body_map(o, f, eta), np.stack(columns, 1), atol=1e-8)
    rate = np.array([0.3, -0.2, 0.5, 0.4, -0.6, 0.1])
    twist = surfaces.contact_map(o, f, eta) @ rate
    np.testing.assert_allclose(surfaces.contact_rates(o, f, eta, twist), rate, atol=1e-12)


def test_the_multiplier_of_the_gap_is_the_normal_force():
    """m (g n_z − v²/(R + r)) for a ball on a ball, by λ and by φ₃ + λ = (F_m + G)₃ of p.77."""
    r, R = 0.3, 1.0
    plain, gapped = bodies(Sphere(R), Sphere(r))
    closed = Constrained(gapped, [gapped.contact()], guess=[*ETA, 0.0])
    assert closed.freedoms == 5 and closed.dynamics.row_units == ("N",)
    rate = np.random.default_rng(0).normal(size=5)
    eta_dd = plain.forward_dynamics(ETA, rate, np.zeros(5))
    qdd, lam = closed.forward_dynamics([*ETA, 0.0], [*rate, 0.0], np.zeros(6))
    np.testing.assert_allclose(qdd, [*eta_dd, 0.0], atol=1e-10)
    g = plain.pose_of_finger(ETA)
    v = g[:3, :3] @ (plain.body_map(ETA) @ rate)[:3]
    expected = 2.0 * (9.81 * g[2, 3] - v @ v) / (R + r)
    np.testing.assert_allclose(lam, expected, rtol=1e-10)
    np.testing.assert_allclose(plain.normal_force(ETA, rate, eta_dd), expected, rtol=1e-10)


@pytest.mark.parametrize("rolling", [False, True])
def test_an_ellipsoid_on_a_torus_as_newton_and_euler_have_it(rolling):
    """M V̇ − ad_Vᵀ M V = F_m + G + contact: V̇ by differences of g_of(η); the rest must be λ."""
    o, f = Torus(1.0, 0.3), Ellipsoid(0.2, 0.3, 0.15)
    inertia = np.diag([0.05, 0.02, 0.06])
    _, body = bodies(o, f, 2.0, inertia)
    constrained = body.rolling() if rolling else body.contact()
    eta = np.array([*ETA, 0.0])
    closed = Constrained(body, [constrained], guess=eta)
    rng = np.random.default_rng(1)
    F = rng.normal(size=6)
    rate = closed.project_velocity(eta, rng.normal(size=6))
    results = [
        closed.reference("forward_dynamics", eta, rate, body.finger_wrench(eta, F), formulation=r)
        for r in ROUTES
    ]
    for result in results[1:]:
        np.testing.assert_allclose(result[0], results[0][0], atol=1e-7)
    qdd, lam = results[0]

    def twist(t):
        now = eta + t * rate + 0.5 * t * t * qdd
        return body.body_map(now) @ (rate + t * qdd)

    V, V_dot = twist(0.0), (twist(1e-5) - twist(-1e-5)) / 2e-5
    M = np.diag([2.0] * 3 + list(np.diag(inertia)))
    R = body.pose_of_finger(eta)[:3, :3]
    G = np.concatenate([2.0 * R.T @ GRAVITY, np.zeros(3)])
    exerted = M @ V_dot - se3.ad(V).T @ M @ V - F - G
    at_contact = se3.Ad(surfaces.finger_pose(f, eta[2:4])).T @ exerted
    expected = np.zeros(6)
    expected[[2, 0, 1, 5] if rolling else [2]] = -lam
    np.testing.assert_allclose(at_contact, expected, atol=1e-6)


def test_the_normal_force_is_prescribed_while_eta_follows():
    """λ − λ_d = −K_I e^{−K_I t} from an integral that begins at one; η is critically damped."""
    _, body = bodies(Torus(1.0, 0.3), Ellipsoid(0.2, 0.3, 0.15))
    closed = Constrained(body, [body.contact("tip")], guess=[*ETA, 0.0])
    target = ETA + np.array([0.1, -0.1, 0.05, 0.1, 0.2])
    controller = Hybrid(
        closed, body.coordinates[:5], target, 36.0, 12.0, [6.0], ki=3.0, integral=[1.0]
    )
    run = dl.simulate(closed, [*ETA, 0.0], tau=controller, duration=0.5, dt=0.1)
    t = run.time.values
    decay = ((1.0 + 6.0 * t) * np.exp(-6.0 * t))[:, None]
    np.testing.assert_allclose(run.q.values[:, :5] - target, (ETA - target) * decay, atol=1e-8)
    np.testing.assert_allclose(
        run["lambda"].sel(row="tip"), 6.0 - 3.0 * np.exp(-3.0 * t), atol=1e-7
    )
    assert run["lambda"].attrs["units"] == "N"


def test_a_user_defined_chart_slides_with_friction():
    """A skew chart of the floor under a ball that starts to slide: μ g, and 5/2 of it as roll."""
    r, mu = 0.1, 0.3
    floor = dl.Surface(lambda a: np.stack([2.0 * a[0], a[0] + a[1], 0.0 * a[0]]), name="skew floor")
    body = ContactBody(floor, Sphere(r), 2.0, 0.4 * 2.0 * r**2 * np.eye(3), GRAVITY, gap=True)
    closed = Constrained(body, [body.sliding(mu, width=1e-5)], guess=np.zeros(6))
    eta = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.0])
    # the centre moves along x of the object without turning
    V = np.concatenate([body.pose_of_finger(eta)[:3, :3].T @ [0.7, 0.0, 0.0], np.zeros(3)])
    rate = np.linalg.solve(body.body_map(eta), V)
    rate_rate, lam = closed.reference("forward_dynamics", eta, rate, np.zeros(6))
    np.testing.assert_allclose(lam, 2.0 * 9.81, rtol=1e-10)
    F = closed.contact_friction(eta, rate, lam)
    np.testing.assert_allclose(F, [-mu * lam[0], 0, 0, 0, 0, 0], atol=1e-9)
    # it slows by μ g and gains μ g · 5/(2 r) of roll
    J, step = body.body_map(eta), 1e-6
    J_dot = (body.body_map(eta + step * rate) - body.body_map(eta - step * rate)) / (2 * step)
    R = body.pose_of_finger(eta)[:3, :3]
    V_dot = J @ rate_rate + J_dot @ rate
    np.testing.assert_allclose(R @ V_dot[:3], [-mu * 9.81, 0, 0], atol=1e-8)
    np.testing.assert_allclose(R @ V_dot[3:], [0, 2.5 * mu * 9.81 / r, 0], atol=1e-6)


def test_five_coordinates_have_no_multiplier_and_say_so():
    body, _ = bodies(Plane(), Sphere(0.1))
    with pytest.raises(ConstraintError, match="make it with gap=True"):
        body.contact()
