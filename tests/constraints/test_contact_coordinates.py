"""Contact coordinates of a finger that an arm carries: geometry, rates, rolling velocity."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import surfaces
from dalembert.constraints.surfaces import Cylinder, Plane, Sphere, Torus
from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.zoo.constrained_spatial import BALL, CENTRE, OBJECT, POLE
from tests.constraints.states import consistent_states

R_O = np.array([[0.0, -1.0], [1.0, 0.0]])


def slope_along(closed, q, qd, function, step=1e-6):
    """d/dt of a function of q by central differences along q̇."""
    ends = [function(closed.integrate(q, s * step * qd)) for s in (1.0, -1.0)]
    return (ends[0] - ends[1]) / (2 * step)


def test_eta_puts_the_finger_where_the_arm_puts_it():
    """Both charts meet at one point with opposite normals, turned by ψ: g_of from η and from q."""
    arm = dl.load("arm_on_sphere")
    q, *_ = consistent_states(arm, np.random.default_rng(0), 8, spread=0.3)
    for here, eta in zip(q, arm.contact_coordinates(q), strict=True):
        g = arm.system.pose(here, frame="finger")
        centre = g[:3, 3] - CENTRE
        # the object's point and normal by elementary geometry
        point, n = OBJECT * centre / np.linalg.norm(centre), centre / np.linalg.norm(centre)
        o, f = Sphere(OBJECT, POLE).at(eta[0:2]), Sphere(BALL, "x").at(eta[2:4])
        np.testing.assert_allclose(o.point, point, atol=1e-12)
        np.testing.assert_allclose(g[:3, :3] @ f.point, -BALL * n, atol=1e-12)
        c, s = np.cos(eta[4]), np.sin(eta[4])
        turned = o.frame @ np.array([[c, -s, 0], [-s, -c, 0], [0, 0, -1]])
        np.testing.assert_allclose(g[:3, :3] @ f.frame, turned, atol=1e-12)


@pytest.mark.parametrize("name", ["arm_on_sphere", "arm_rolling_on_sphere"])
def test_rates_are_the_derivatives_of_the_coordinates(name):
    arm = dl.load(name)
    q, qd, _ = consistent_states(arm, np.random.default_rng(1), 8, spread=0.3)
    result = arm.contact_rates(q, qd)
    expected = slope_along(arm, q, qd, arm.contact_coordinates)
    np.testing.assert_allclose(result, expected, atol=1e-6 * np.abs(expected).max())
    J = arm.contact_jacobian(q)
    np.testing.assert_allclose((J @ qd[..., None])[..., 0], result, atol=1e-12)


@pytest.mark.parametrize("surface", [Plane(), Cylinder(0.4), Torus(0.9, 0.3)])
def test_a_ball_on_other_surfaces(surface):
    body = {
        "name": "ball",
        "joint": {"name": "fly", "type": "free"},
        "mass": 1.0,
        "inertia": 0.004 * np.eye(3),
    }
    robot = dl.Robot.from_links([body], name="ball")
    kind = dl.PointOnSurface("ball", surface, radius=0.1, name="touch")
    # the guess is the ball outside of the surface at the middle of its chart
    patch = surface.at(np.array([0.3, 0.2]))
    start = [*(patch.point + 0.1 * patch.frame[:, 2]), 0.1, 0.2, 0.3, 0.9]
    closed = dl.Constrained(robot, [kind], guess=start)
    q, qd, _ = consistent_states(closed, np.random.default_rng(2), 4, spread=0.2)
    eta = closed.contact_coordinates(q)
    expected = slope_along(closed, q, qd, closed.contact_coordinates)
    np.testing.assert_allclose(closed.contact_rates(q, qd), expected, atol=1e-6)
    for here, at in zip(q, eta, strict=True):
        g = surfaces.relative_pose(surface, Sphere(0.1, "x"), at)
        np.testing.assert_allclose(robot.pose(here, frame="ball"), g, atol=1e-10)


def test_the_rolling_velocity_of_the_arm():
    """No slip, no approach, no spin; (ω_x, ω_y) = −R_o (K_f + R_ψ K_o R_ψ) M_f α̇_f (p.78)."""
    arm = dl.load("arm_rolling_on_sphere")
    q, qd, _ = consistent_states(arm, np.random.default_rng(3), 8, spread=0.3)
    V = arm.contact_twist(q, qd)
    np.testing.assert_allclose(V[:, [0, 1, 2, 5]], 0.0, atol=1e-12)
    rates = slope_along(arm, q, qd, arm.contact_coordinates)
    u_f = arm.contact_coordinates(q)[:, 2]
    for k in range(8):
        # of two spheres all curvatures are 1/ρ, and M_f = ρ diag(1, cos u)
        K, M = 1 / BALL + 1 / OBJECT, BALL * np.diag([1.0, np.cos(u_f[k])])
        np.testing.assert_allclose(V[k, 3:5], -R_O @ (K * M @ rates[k, 2:4]), atol=2e-5)
    # the same angular velocity from the arm's own Jacobian
    omega = (arm.system.jacobian(q, frame="finger", expressed_in="world") @ qd[..., None])[:, 3:, 0]
    np.testing.assert_allclose(np.linalg.norm(V[:, 3:5], axis=1), np.linalg.norm(omega, axis=1))


def test_a_run_holds_the_contact_coordinates_and_the_unit_of_every_force():
    finger = dl.load("arm_rolling_on_sphere", form="finger")
    q, qd, _ = consistent_states(finger, np.random.default_rng(4), 1, spread=0.1)
    run = dl.simulate(finger, q[0], 0.2 * qd[0], duration=0.05, dt=0.01)
    assert list(run.contact.values[:2]) == ["contact.u_o", "contact.v_o"]
    q, qd = run.q.values, run.qd.values
    np.testing.assert_allclose(run.eta, finger.contact_coordinates(q), atol=1e-12)
    np.testing.assert_allclose(run.eta_dot, finger.contact_rates(q, qd), atol=1e-10)
    assert run["lambda"].attrs["units"] == "N, N, N, N m"


def test_what_has_no_contact_coordinates_says_so():
    arm, linkage = dl.load("arm_on_sphere"), dl.load("four_bar")
    with pytest.raises(ConstraintError, match="has no contact of two surfaces"):
        linkage.contact_coordinates(linkage.neutral())
    with pytest.raises(UnknownNameError, match="no contact 'contct'; did you mean 'contact'"):
        arm.contact_coordinates(arm.neutral(), contact="contct")
    point = dl.PointOnSurface("tool", Plane(), name="pen")
    robot = dl.load("ur5")
    drawing = dl.Constrained(robot, [point], guess=[0, -1, 1.5, 0, 1, 0])
    with pytest.raises(ConstraintError, match="'pen' has no contact coordinates"):
        drawing.contact_coordinates(drawing.neutral(), contact="pen")
