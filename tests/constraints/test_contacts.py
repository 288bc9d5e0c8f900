"""Montana's contact equations against the geometry they come from; rolling, sliding, growth."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import dalembert as dl
from dalembert.constraints import Constrained, PointOnSurface, Rolling, is_holonomic, surfaces
from dalembert.constraints.contact_systems import ContactBody
from dalembert.constraints.surfaces import Cylinder, Ellipsoid, Plane, Sphere, Surface, Torus
from dalembert.errors import ConstraintError
from dalembert.spatial import se3

SKEW = Surface(lambda a: np.stack([a[0] + 0.4 * a[1], a[1], 0.2 * a[0] * a[1]]), name="saddle")
SURFACES = {
    "sphere": Sphere(0.7),
    "plane": Plane(),
    "cylinder": Cylinder(0.4),
    "ellipsoid": Ellipsoid(0.5, 0.8, 0.6),
    "torus": Torus(1.0, 0.3),
    "saddle": SKEW,
}
cos, sin = sympy.cos, sympy.sin
CHARTS = {
    "ellipsoid": (
        SURFACES["ellipsoid"],
        lambda u, v: [0.5 * cos(u) * cos(v), -0.8 * cos(u) * sin(v), 0.6 * sin(u)],
    ),
    "torus": (
        SURFACES["torus"],
        lambda u, v: [(1 + 0.3 * cos(v)) * cos(u), (1 + 0.3 * cos(v)) * sin(u), 0.3 * sin(v)],
    ),
    "saddle": (SKEW, lambda u, v: [u + 0.4 * v, v, 0.2 * u * v]),
}
points = st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))


def derivative(function, x, step=1e-6):
    """∂f/∂x by central differences, the last axis over x."""
    columns = []
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = step
        columns.append((function(x + e) - function(x - e)) / (2 * step))
    return np.stack(columns, axis=-1)


def test_closed_forms_of_the_named_surfaces():
    u, v, r = 0.4, 0.7, 0.7
    sphere = SURFACES["sphere"].at(np.array([u, v]))
    np.testing.assert_allclose(sphere.metric, r * np.diag([1.0, np.cos(u)]), atol=1e-14)
    np.testing.assert_allclose(sphere.curvature, np.eye(2) / r, atol=1e-14)
    np.testing.assert_allclose(sphere.torsion, [0.0, -np.tan(u) / r], atol=1e-14)
    np.testing.assert_allclose(sphere.frame[:, 2], sphere.point / r, atol=1e-14)
    plane = SURFACES["plane"].at(np.array([u, v]))
    np.testing.assert_allclose(plane.metric, np.eye(2))
    assert not plane.curvature.any() and not plane.torsion.any()
    cylinder = SURFACES["cylinder"].at(np.array([u, v]))
    np.testing.assert_allclose(cylinder.curvature, np.diag([1 / 0.4, 0.0]), atol=1e-14)
    np.testing.assert_allclose(cylinder.torsion, 0.0, atol=1e-14)


def sympy_forms(chart, *at):
    """First and second fundamental form at (u, v), from slopes that SymPy derives.

    Normals turn by n_i · c_j = −n · c_ij.
    """
    u, v = sympy.symbols("u v")
    c = sympy.Matrix(chart(u, v))
    C, *second = (
        np.array(x.subs({u: at[0], v: at[1]}), dtype=float)
        for x in (c.jacobian([u, v]), *(c.diff(a, b) for a in (u, v) for b in (u, v)))
    )
    n = np.cross(C[:, 0], C[:, 1])
    bent = [-n @ x[:, 0] / np.linalg.norm(n) for x in second]
    return C.T @ C, np.array(bent).reshape(2, 2)


@pytest.mark.parametrize("name", CHARTS)
def test_forms_of_any_chart_are_those_of_differential_geometry(name):
    """MᵀM, MᵀKM, det K and tr K are the fundamental forms and curvatures that SymPy derives."""
    surface, chart = CHARTS[name]
    first, second = sympy_forms(chart, 0.4, 0.7)
    shape = np.linalg.solve(first, second)
    patch = surface.at(np.array([0.4, 0.7]))
    M, K = patch.metric, patch.curvature
    np.testing.assert_allclose(M.T @ M, first, atol=1e-13)
    np.testing.assert_allclose(M.T @ K @ M, second, atol=1e-13)
    np.testing.assert_allclose(np.linalg.det(K), np.linalg.det(shape), rtol=1e-12)
    np.testing.assert_allclose(np.trace(K), np.trace(shape), rtol=1e-12)
    # the chart and its inverse
    if surface.coordinates is not None:
        np.testing.assert_allclose(surface.coordinates(patch.point), [0.4, 0.7], atol=1e-14)


@pytest.mark.parametrize("name", SURFACES)
@given(alpha=points)
def test_metric_curvature_torsion_are_the_motion_of_the_frame(name, alpha):
    """A Gauss frame moved by α̇ has the body twist v = M α̇, ω from K M α̇ and T M α̇."""
    surface, a = SURFACES[name], np.array(alpha)
    patch = surface.at(a)
    np.testing.assert_allclose(patch.frame.T @ patch.frame, np.eye(3), atol=1e-12)
    moved = np.einsum("ij,jkl->ikl", patch.frame.T, derivative(lambda x: surface.at(x).frame, a))
    np.testing.assert_allclose(
        patch.frame.T @ derivative(lambda x: surface.at(x).point, a),
        np.vstack([patch.metric, np.zeros(2)]),
        atol=1e-8,
    )
    KM, TM = patch.curvature @ patch.metric, patch.torsion @ patch.metric
    np.testing.assert_allclose(moved[:2, 2], KM, atol=1e-7)
    np.testing.assert_allclose(moved[1, 0], TM, atol=1e-7)


@pytest.mark.parametrize(
    ("obj", "finger"),
    [
        ("sphere", "sphere"),
        ("plane", "ellipsoid"),
        ("torus", "sphere"),
        ("saddle", "ellipsoid"),
        ("cylinder", "sphere"),
    ],
)
@given(a=points, b=points, psi=st.floats(-3.0, 3.0))
def test_the_contact_map_is_the_derivative_of_the_relative_pose(obj, finger, a, b, psi):
    """The 6×5 matrix of p.76, with Ad_{g_{f l_f}} in front, gives V_of."""
    o, f = SURFACES[obj], SURFACES[finger]
    eta = np.array([*a, *b, psi])
    g = surfaces.relative_pose(o, f, eta)
    rates = derivative(lambda x: surfaces.relative_pose(o, f, x), eta)
    expected = np.stack([se3.vee_se3(np.linalg.inv(g) @ rates[..., k]) for k in range(5)], axis=-1)
    np.testing.assert_allclose(surfaces.body_map(o, f, eta), expected, atol=1e-6)
    # and Montana's equations invert it
    rate = np.array([0.3, -0.2, 0.5, 0.4, -0.6])
    twist = surfaces.contact_map(o, f, eta) @ rate
    assert twist[2] == 0.0
    if abs(np.linalg.det(surfaces.relative_curvature(o, f, eta))) > 1e-2:
        np.testing.assert_allclose(surfaces.contact_rates(o, f, eta, twist), rate, atol=1e-9)


def test_the_rolling_map():
    """J_f of p.78 is the twist of the motion that Montana's equations give when it rolls."""
    o, f = Sphere(1.0), Ellipsoid(0.3, 0.4, 0.5)
    eta = np.array([0.2, -0.4, 0.3, 0.5, 0.8])
    J = surfaces.contact_map(o, f, eta)
    rows = surfaces.rolling_rows(o, f, eta)
    alpha_f = np.array([0.7, -0.3])
    # the four rows on η̇ = (α̇_o, α̇_f, ψ̇) leave α̇_f free and give the rest
    rest = np.linalg.solve(rows[:, [0, 1, 4]], -rows[:, [2, 3]] @ alpha_f)
    rate = np.array([rest[0], rest[1], *alpha_f, rest[2]])
    twist = J @ rate
    np.testing.assert_allclose(twist[[0, 1, 2, 5]], 0.0, atol=1e-14)
    V = surfaces.rolling_map(o, f, eta) @ alpha_f
    np.testing.assert_allclose(V, surfaces.body_map(o, f, eta) @ rate, atol=1e-12)
    np.testing.assert_allclose(se3.Ad_inv(surfaces.finger_pose(f, eta[2:4])) @ V, twist, atol=1e-12)


@pytest.mark.parametrize(("radius", "growth"), [(0.5, (2, 3, 5)), (1.0, (2, 2))])
def test_growth_of_a_sphere_rolling_on_a_sphere(radius, growth):
    """Everything can be reached unless the radii are equal; then rolling is integrable."""
    body = ContactBody(Sphere(1.0), Sphere(radius), 1.0, np.eye(3))
    closed = Constrained(body, [body.rolling()], guess=[0.2, 0.1, 0.3, -0.2, 0.4])
    result = is_holonomic(closed, [0.2, 0.1, 0.3, -0.2, 0.4])
    assert result.growth == growth
    assert result.holonomic == (radius == 1.0) and result.accessible == (radius != 1.0)


def ball_on_sphere(kind, **more):
    """A free ball of radius 0.3 outside a fixed one of radius 1: the finger of p.76."""
    inertia = 0.4 * 2.0 * 0.3**2 * np.eye(3)
    ball = {
        "name": "ball",
        "joint": {"name": "fly", "type": "free"},
        "mass": 2.0,
        "inertia": inertia,
    }
    robot = dl.Robot.from_links([ball], gravity=(0, 0, -9.81), name="ball")
    contact = kind("ball", Sphere(1.0), radius=0.3, name="contact", **more)
    return Constrained(robot, [contact], guess=[0.5, 0.1, 1.2, 0, 0, 0, 1])


def test_sliding_presses_with_weight_less_centrifugal_force():
    closed = ball_on_sphere(PointOnSurface)
    assert closed.freedoms == 5
    rng = np.random.default_rng(0)
    q = np.stack(
        [closed.assemble(closed.integrate(closed.neutral(), rng.normal(size=6))) for _ in range(8)]
    )
    qd = closed.project_velocity(q, rng.normal(size=(8, 6)))
    qdd, lam = closed.forward_dynamics(q, qd, np.zeros(6))
    n = q[:, :3] / 1.3
    speed = (qd[:, :3] ** 2).sum(-1)  # of the centre, body axes
    np.testing.assert_allclose(lam[:, 0], 2.0 * (9.81 * n[:, 2] - speed / 1.3), atol=1e-9)
    result = closed.reactions(q, lam)["contact"]
    np.testing.assert_allclose(result["force"], lam * n, atol=1e-12)
    # φ₃ = m v²/R along the finger's normal, which points to the object; φ₃ + λ = weight along it
    for k in range(8):
        v, w = qd[k, :3], qd[k, 3:]
        R = closed.system.pose(q[k], frame="ball")[:3, :3]
        inertial = np.concatenate([2.0 * (qdd[k, :3] + np.cross(w, v)), 0.072 * qdd[k, 3:]])
        p = -0.3 * R.T @ n[k]
        alpha = np.array([np.arcsin(p[2] / 0.3), np.arctan2(-p[1], p[0])])
        phi = surfaces.normal_inertial_force(Sphere(0.3), alpha, inertial)
        np.testing.assert_allclose(phi, 2.0 * speed[k] / 1.3, atol=1e-9)
        np.testing.assert_allclose(phi + lam[k, 0], 2.0 * 9.81 * n[k, 2], atol=1e-9)


def test_rolling_on_a_plane_is_a_hoop_down_a_slope():
    """A solid ball rolls down a slope with a = 5/7 g sin α, held by friction 2/7 m g sin α."""
    tilt, m, r = 0.4, 1.5, 0.2
    gravity = 9.81 * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    ball = {
        "name": "ball",
        "joint": {"name": "fly", "type": "free"},
        "mass": m,
        "inertia": 0.4 * m * r**2 * np.eye(3),
    }
    robot = dl.Robot.from_links([ball], gravity=gravity, name="ball")
    contact = Rolling("ball", Plane(), radius=r, name="contact", spin=True)
    closed = Constrained(robot, [contact], guess=[0, 0, r, 0, 0, 0, 1])
    q = np.array([0.3, -0.2, r, 0, 0, 0, 1.0])
    qd = closed.project_velocity(q, [0.4, 0.1, 0.0, 0.2, 0.1, 0.5])
    qdd, lam = closed.forward_dynamics(q, qd, np.zeros(6))
    a = qdd[:3] + np.cross(qd[3:], qd[:3])
    np.testing.assert_allclose(a, [5 / 7 * 9.81 * np.sin(tilt), 0, 0], atol=1e-10)
    result = closed.reactions(q, lam)["contact"]
    np.testing.assert_allclose(result["normal"], m * 9.81 * np.cos(tilt), rtol=1e-10)
    np.testing.assert_allclose(result["friction"], 2 / 7 * m * 9.81 * np.sin(tilt), rtol=1e-9)
    np.testing.assert_allclose(
        result["force"], [-result["friction"], 0, result["normal"]], atol=1e-9
    )


@pytest.mark.parametrize("rolling", [False, True])
def test_contact_coordinates_and_the_free_ball_move_alike(rolling):
    """The finger of p.76–78 in η and as a free body with constraint rows: the same acceleration."""
    inertia = 0.4 * 2.0 * 0.3**2
    finger = Sphere(0.3)
    body = ContactBody(Sphere(1.0), finger, 2.0, inertia * np.eye(3), gravity=(0, 0, -9.81))
    kind = Rolling if rolling else PointOnSurface
    closed = ball_on_sphere(kind, **({"pole": "z"} if rolling else {}))
    rng = np.random.default_rng(2)
    for _ in range(4):
        eta = rng.uniform(-0.6, 0.6, 5)
        F = rng.normal(size=6)
        force = body.finger_wrench(eta, F)
        if rolling:
            small = Constrained(body, [body.rolling()], guess=eta)
            rate = small.project_velocity(eta, rng.normal(size=5))
            eta_dd, _ = small.forward_dynamics(eta, rate, force)
        else:
            rate = rng.normal(size=5)
            eta_dd = body.forward_dynamics(eta, rate, force)
        step = 1e-5
        J = body.body_map(eta)
        J_dot = (body.body_map(eta + step * rate) - body.body_map(eta - step * rate)) / (2 * step)
        g = body.pose_of_finger(eta)
        q = np.concatenate([g[:3, 3], dl.spatial.quaternion_from_matrix(g[:3, :3])])
        V = J @ rate
        np.testing.assert_allclose(closed.residual(q), 0.0, atol=1e-12)
        np.testing.assert_allclose(closed.velocity_residual(q, V), 0.0, atol=1e-12)
        V_dot, lam = closed.forward_dynamics(q, V, F)
        np.testing.assert_allclose(V_dot, J @ eta_dd + J_dot @ rate, atol=1e-7)
        if rolling:
            # the four rows of p.78, in the finger's own contact frame
            twist = se3.Ad_inv(surfaces.finger_pose(finger, eta[2:4]))
            np.testing.assert_allclose(closed.jacobian(q), twist[[2, 0, 1, 5]], atol=1e-12)
        assert np.isfinite(lam).all()


def test_what_cannot_touch_is_named():
    robot = dl.load("ur5")
    with pytest.raises(ConstraintError, match="a ball on this ellipsoid needs its distance"):
        Constrained(robot, [PointOnSurface("tool", Ellipsoid(1, 2, 3), radius=0.1)])
    with pytest.raises(ConstraintError, match="positive radius"):
        Rolling("tool", Plane())
    with pytest.raises(ConstraintError, match="radius -1"):
        Sphere(-1)
    point = Constrained(
        robot,
        [PointOnSurface("tool", Ellipsoid(0.5, 0.6, 0.7), name="skin")],
        guess=[0, -1, 1.5, 0, 1, 0],
    )
    assert abs(point.residual(point.neutral())[0]) < 1e-12 and point.freedoms == 5
