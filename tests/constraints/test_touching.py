"""A finger of any chart on any chart, carried by an arm or free."""

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
    Touching,
    surfaces,
)
from dalembert.control import Hybrid
from dalembert.errors import ConstraintError, FormulationError, ShapeError
from dalembert.spatial import quaternion_from_matrix
from dalembert.zoo.constrained_spatial import BALL, OBJECT, POLE

TORUS, EGG = Torus(1.0, 0.3), Ellipsoid(0.2, 0.3, 0.15)
MASS, INERTIA = 2.0, np.diag([0.05, 0.02, 0.06])
ETA = np.array([0.2, 0.4, 0.3, 0.5, 0.8])


def egg():
    """An ellipsoid that flies, and the same in contact coordinates on a torus at the origin."""
    body = {"name": "egg", "joint": {"name": "fly", "type": "free"}, "mass": MASS}
    robot = dl.Robot.from_links([{**body, "inertia": INERTIA}], name="egg")
    minimal = ContactBody(TORUS, EGG, MASS, INERTIA, (0.0, 0.0, -9.81))
    g = minimal.pose_of_finger(ETA)
    q = np.concatenate([g[:3, 3], quaternion_from_matrix(g[:3, :3])])
    return Touching(robot, "egg", EGG, TORUS, q=q, start=ETA[:4]), minimal, q


def test_the_contact_is_found_and_carried_along():
    """η after a finite step is the η of the pose there, and its rate Montana's."""
    touching, _, q = egg()
    x = touching.configuration(q)
    np.testing.assert_allclose(x[7:], [*ETA, 0.0], atol=1e-12)
    assert touching.coordinates[7:9] == ("contact.u_o", "contact.v_o") and touching.nv == 6
    step = np.random.default_rng(0).normal(size=6)
    moved = touching.integrate(x, 0.05 * step)
    g = touching.system.pose(moved[:7], frame="egg")
    np.testing.assert_allclose(surfaces.relative_pose(TORUS, EGG, moved[7:]), g, atol=1e-12)
    assert abs(moved[12]) > 1e-3  # it has left the surface
    rate = touching.dynamics.rate(moved, step)
    ends = [touching.integrate(moved, s * 1e-6 * step)[7:] for s in (1, -1)]
    np.testing.assert_allclose(rate[7:], (ends[0] - ends[1]) / 2e-6, atol=1e-7)


RATE = np.array([0.4, -0.3, 0.5, 0.2, 0.3])


def test_a_rolling_egg_moves_on_a_torus_as_in_minimal_coordinates():
    """The free body with carried η against Lagrange's equations in η alone."""
    touching, minimal, _ = egg()
    x = touching.neutral()
    closed = Constrained(touching, [touching.rolling()])
    other = Constrained(minimal, [minimal.rolling()], guess=ETA)
    rate = other.project_velocity(ETA, RATE)
    V = minimal.body_map(ETA) @ rate
    np.testing.assert_allclose(closed.velocity_residual(x, V), 0.0, atol=1e-12)
    duration = 0.2
    result = dl.simulate(closed, x, V, duration=duration, dt=duration)
    expected = dl.simulate(other, ETA, rate, duration=duration, dt=duration)
    np.testing.assert_allclose(result.q[-1, 7:12], expected.q[-1], atol=1e-8)
    np.testing.assert_allclose(result.q[-1, 12], 0.0, atol=1e-12)
    np.testing.assert_allclose(result.eta_dot[-1], expected.qd[-1], atol=1e-7)
    assert np.abs(result.balance).max() < 1e-9 and result["lambda"].attrs["units"][:1] == "N"


def test_a_sliding_egg_presses_as_newton_and_euler_say():
    """V̇ = J η̈ + J̇ η̇ of the minimal coordinates, and the normal force that p.77 reads off them."""
    touching, minimal, _ = egg()
    closed = Constrained(touching, [touching.contact()])
    J, step = minimal.body_map(ETA), 1e-5
    J_dot = (minimal.body_map(ETA + step * RATE) - minimal.body_map(ETA - step * RATE)) / (2 * step)
    acceleration = minimal.forward_dynamics(ETA, RATE, np.zeros(5))
    V_dot, lam = closed.reference("forward_dynamics", touching.neutral(), J @ RATE, np.zeros(6))
    np.testing.assert_allclose(V_dot, J @ acceleration + J_dot @ RATE, atol=1e-7)
    np.testing.assert_allclose(lam, minimal.normal_force(ETA, RATE, acceleration), rtol=1e-9)


def test_a_ball_on_an_arm_is_the_contact_with_a_formula():
    """Two spheres by carried coordinates and by the distance of their centres."""
    known = dl.load("arm_rolling_on_sphere")
    q = known.neutral()
    ball, obj = Sphere(BALL, "x"), Sphere(OBJECT, POLE)
    touching = Touching(known.system, "finger", ball, obj, on="object", q=q)
    x = touching.neutral()
    np.testing.assert_allclose(x[6:11], known.contact_coordinates(q), atol=1e-10)
    closed = Constrained(touching, [touching.rolling()], guess=x)
    rng = np.random.default_rng(1)
    qd, tau = known.project_velocity(q, rng.normal(size=6)), rng.normal(size=6)
    result = closed.reference("forward_dynamics", x, qd, tau)
    for a, b in zip(result, known.forward_dynamics(q, qd, tau), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8 * np.abs(b).max())
    np.testing.assert_allclose(closed.contact_rates(x, qd), known.contact_rates(q, qd), atol=1e-9)


def test_hybrid_control_of_an_egg_along_a_torus():
    """η̈ = −K_v ė − K_p e and λ = λ_d under the controller, in the presence of friction."""
    touching, minimal, _ = egg()
    x = touching.neutral()
    closed = Constrained(touching, [touching.sliding(0.3, torsion=0.02)])
    target = ETA + np.array([0.1, -0.1, 0.05, 0.1, 0.2])
    controller = Hybrid(closed, touching.coordinates[7:12], target, kp=36.0, kd=12.0, lam=[8.0])
    V = minimal.body_map(ETA) @ RATE
    tau, _ = controller.command(0.0, x, V, np.zeros(0), controller.constants)
    V_dot, lam = closed.reference("forward_dynamics", x, V, tau)
    np.testing.assert_allclose(lam, 8.0, atol=1e-9)
    # along this acceleration, V of the minimal coordinates
    desired = -12.0 * RATE - 36.0 * (ETA - target)
    J, step = minimal.body_map(ETA), 1e-5
    J_dot = (minimal.body_map(ETA + step * RATE) - minimal.body_map(ETA - step * RATE)) / (2 * step)
    np.testing.assert_allclose(V_dot, J @ desired + J_dot @ RATE, atol=1e-7)


def test_what_does_not_fit_is_named():
    touching, *_ = egg()
    with pytest.raises(ShapeError, match=r"q has shape \(3,\), expected \(7,\)"):
        touching.configuration([0.0, 0.0, 1.0])
    with pytest.raises(dl.UnknownNameError, match="no frame 'eg'; did you mean 'egg'"):
        Touching(touching.system, "eg", EGG, TORUS)
    closed = Constrained(touching, [touching.contact()])
    with pytest.raises(FormulationError, match="held by constraints already"):
        Touching(closed, "egg", EGG, TORUS)
    with pytest.raises(ConstraintError, match=r"do not meet .* give another q"):
        Touching(touching.system, "egg", Plane(), Plane())
