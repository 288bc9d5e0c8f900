"""Lemmas 1 and 2, Properties 5–7, the gauge's projectors and its decoupled equations (000 p.65–87)."""

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.zoo.entry import pose_at
from tests.constraints.states import SMALL, consistent_states, load_states
from tests.constraints.transformed_mechanisms import closed_in_space

TIGHT = 1e-10


@pytest.mark.parametrize("name", SMALL)
def test_lemmas_of_the_projections(name):
    closed, q, _, _ = load_states(name, count=8)
    P_w, P_T = closed.projectors(q)
    M, A = closed.mass_matrix(q), closed.jacobian(q)
    one = np.eye(closed.nv)
    scale = np.abs(M).max()
    # Lemma 1: projections, that annihilate T*Q⊥ and fix it
    np.testing.assert_allclose(P_w @ P_w, P_w, atol=TIGHT)
    np.testing.assert_allclose(P_w @ A.mT, 0 * A.mT, atol=TIGHT)
    np.testing.assert_allclose((one - P_w) @ A.mT, A.mT, atol=TIGHT)
    # Lemma 2
    np.testing.assert_allclose(P_w @ M, M @ P_T, atol=TIGHT * scale)
    np.testing.assert_allclose(A @ P_T, 0 * A, atol=TIGHT)
    np.testing.assert_allclose(P_T, P_w.mT, atol=1e-15)
    assert np.round(np.trace(P_w, axis1=-2, axis2=-1)).astype(int).tolist() == [closed.freedoms] * 8


@pytest.mark.parametrize("name", ["chaplygin_sleigh", "four_bar", "parallel_3rr"])
def test_properties_of_the_metric(name):
    closed, q, qd, tau = load_states(name, count=5)
    P_w, P_T = closed.projectors(q)
    M, A = closed.mass_matrix(q), closed.jacobian(q)
    if name != "chaplygin_sleigh":  # which is held at velocities only
        np.testing.assert_allclose(closed.residual(q), 0.0, atol=1e-10)
    square = np.einsum("ki,kij,kj->k", qd, M, qd)
    np.testing.assert_allclose(closed.kinetic_energy(q, qd), 0.5 * square, rtol=1e-12)
    for k in range(5):
        sharp = np.linalg.inv(M[k])  # Property 5: M♯ is M⁻¹
        tangent, normal = P_T[k] @ qd[k], A[k].T @ np.ones(closed.rows)
        force = P_w[k] @ tau[k]
        # Property 6: M♯ takes T*Q to TQ and T*Q⊥ to TQ⊥, which is M-orthogonal to TQ
        np.testing.assert_allclose(A[k] @ (sharp @ force), 0.0, atol=1e-9)
        assert abs((sharp @ normal) @ M[k] @ tangent) < 1e-9
        # Property 7: ker h_* = TQ and h_* maps TQ⊥ onto R^k
        np.testing.assert_allclose(A[k] @ tangent, 0.0, atol=1e-10)
        assert np.linalg.matrix_rank(A[k] @ sharp @ A[k].T, tol=1e-6) == closed.nv - closed.freedoms


def require_second_equation(d, A):
    """Γ_o v_r + Λ_rᵀ λ = u_o and A W⁻ᵀ V = [Λ_r 0] (000 p.84–85), of the fields as they are."""
    left = d.Gamma_o @ d.v_r + d.Lambda_r.T @ d.lam
    np.testing.assert_allclose(left, d.u_o, atol=1e-9 * max(1.0, np.abs(d.u_o).max()))
    turned = A @ np.linalg.inv(d.W).T @ np.hstack([d.V1, d.V2])
    printed = np.hstack([d.Lambda_r, np.zeros((len(A), d.V2.shape[1]))])
    np.testing.assert_allclose(turned, printed, atol=1e-9 * max(1.0, np.abs(turned).max()))


@pytest.mark.parametrize("name", ["four_bar", "parallel_3rr"])
def test_acceleration_along_and_across_the_constraints(name):
    """∇_q̇ q̇ = q̈ + M⁻¹ C q̇ = ∇̃_q̇ q̇ + S(q̇, q̇), where M depends on q and so C is not zero."""
    closed, q, qd, tau = load_states(name, count=5)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    _, P_T = closed.projectors(q)
    C = closed.system.coriolis_matrix(q, qd)
    coriolis = np.linalg.solve(closed.mass_matrix(q), C @ qd[..., None])[..., 0]
    assert np.abs(coriolis).max() > 0.1
    whole = qdd + coriolis
    along = closed.covariant_derivative(q, qd, qdd)
    second, force = closed.second_fundamental_form(q, qd)
    across = whole - along
    np.testing.assert_allclose(along, (P_T @ whole[..., None])[..., 0], atol=1e-9)
    np.testing.assert_allclose(second, across, atol=1e-9)
    inertia = closed.mass_matrix(q) @ across[..., None]
    np.testing.assert_allclose(force, inertia[..., 0], atol=1e-9)


@pytest.mark.parametrize("root", ["cholesky", "articulated", "symmetric"])
@pytest.mark.parametrize("name", ["pendulum_constrained", "chaplygin_sleigh", "parallel_3rr"])
def test_decoupled_equations(name, root):
    closed, q, qd, tau = load_states(name, count=4)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    P_w, _ = closed.projectors(q)
    A = closed.jacobian(q)
    for k in range(4):
        d = closed.decoupled(q[k], qd[k], tau[k], root=root)
        W_inverse = np.linalg.inv(d.W)
        np.testing.assert_allclose(d.W @ d.W.T, closed.mass_matrix(q[k]), atol=1e-12)
        V = np.hstack([d.V1, d.V2])
        np.testing.assert_allclose(V.T @ V, np.eye(closed.nv), atol=1e-12)
        # P_ω = W V₂ V₂ᵀ W⁻¹ (000 p.87)
        np.testing.assert_allclose(d.W @ d.V2 @ d.V2.T @ W_inverse, P_w[k], atol=TIGHT)
        # Γ_r is skew, so ½|v_r|² is the kinetic energy and Γ does no work
        np.testing.assert_allclose(d.Gamma_r, -d.Gamma_r.T, atol=1e-9)
        np.testing.assert_allclose(
            0.5 * d.v_r @ d.v_r, closed.kinetic_energy(q[k], qd[k]), rtol=1e-10
        )
        np.testing.assert_allclose(d.lam, lam[k], atol=1e-9 * max(1.0, np.abs(lam[k]).max()))
        require_second_equation(d, A[k])
        # v̇_r + Γ_r v_r = u_r, with v̇_r by differences along the motion (Kane's form, p.85)
        step = 1e-5
        after, before = (
            closed.decoupled(
                closed.integrate(q[k], s * qd[k] + 0.5 * s * s * qdd[k]),
                qd[k] + s * qdd[k],
                tau[k],
                root,
            ).v_r
            for s in (step, -step)
        )
        rate = (after - before) / (2 * step)
        np.testing.assert_allclose(
            rate + d.Gamma_r @ d.v_r, d.u_r, atol=1e-6 * (1 + np.abs(rate).max())
        )


def test_the_gamma_of_the_lecture_is_the_same_on_v():
    """Γ = W⁻¹ (Ẇ − ∂vᵀ/∂q) of p.82 and ours differ as matrices, not as Γ v."""
    closed, q, qd, _ = load_states("chaplygin_sleigh", count=1)
    M = closed.mass_matrix
    q, qd, step = q[0], qd[0], 1e-6

    def W(x):
        return np.linalg.cholesky(M(x))

    v = W(q).T @ qd
    units = np.eye(3) * step
    derivatives = np.stack(
        [(W(q + e).T @ qd - W(q - e).T @ qd) / (2 * step) for e in units]
    )  # ∂v_j/∂q_i
    W_dot = (W(q + step * qd) - W(q - step * qd)) / (2 * step)
    lecture = np.linalg.solve(W(q), (W_dot - derivatives) @ v)
    C = closed.system.coriolis_matrix(q, qd)
    ours = np.linalg.solve(W(q), C @ qd) - W_dot.T @ qd
    np.testing.assert_allclose(lecture, ours, atol=1e-8)


def test_projected_velocity_is_the_nearest_one():
    closed, q, _, _ = load_states("four_bar", count=5)
    rng = np.random.default_rng(3)
    wild = rng.normal(size=(5, 3))
    result = closed.project_velocity(q, wild)
    np.testing.assert_allclose(closed.velocity_residual(q, result), 0.0, atol=1e-12)
    other = closed.project_velocity(q, rng.normal(size=(5, 3)))
    gap = np.einsum("ni,nij,nj->n", wild - result, closed.mass_matrix(q), other)
    np.testing.assert_allclose(gap, 0.0, atol=1e-12)


def redundant_four_bar():
    closed = closed_in_space(dl.load("four_bar"), "revolute")
    return closed, *(x[0] for x in consistent_states(closed, np.random.default_rng(0), 1)), None


def free_finger():
    closed = dl.load("arm_rolling_on_sphere", form="finger")
    states = consistent_states(closed, np.random.default_rng(1), 1, spread=0.1)
    return closed, *(x[0] for x in states), None


def ball_joints():
    """Two links in spherical joints from the ceiling, the last tip held at a point."""
    ball = {"type": "spherical"}
    body = {"mass": 1.0, "com": (0.2, 0.0, -0.5), "inertia": np.diag([0.1, 0.2, 0.15])}
    lower = {"name": "ball2", **ball, "origin_xyz": (0.0, 0.0, -1.0)}
    robot = dl.Robot.from_links(
        [
            {"name": "upper", "joint": {"name": "ball1", **ball}, **body},
            {"name": "lower", "parent": "upper", "joint": lower, **body},
        ],
        frames={
            "tip": ("lower", pose_at((0.0, 0.0, -1.0))),
            "pin": (None, pose_at((0.9, 0.2, -1.2))),
        },
    )
    closed = dl.Constrained(robot, [dl.Loop("tip", "pin", "point", along="world")])
    states = consistent_states(closed, np.random.default_rng(2), 1)
    return closed, *(x[0] for x in states), None


def turning_wire():
    """A particle on a wire through the origin that turns with 1.3 rad/s, pushed."""
    omega, t = 1.3, 0.4
    wire = dl.Driver(lambda q, t: np.stack([q[0] * np.sin(omega * t) - q[1] * np.cos(omega * t)]))
    particle = dl.load("pendulum_constrained").system
    closed = dl.Constrained(particle, [wire], guess=[1.0, 0.0])
    along = np.array([np.cos(omega * t), np.sin(omega * t)])
    across = np.array([-along[1], along[0]])
    return closed, 0.8 * along, 0.5 * along + 0.8 * omega * across, np.array([0.1, 0.2]), t


def driven_arm():
    arm, t = dl.load("planar_2r"), 0.4
    closed = dl.Constrained(arm, [dl.Driver(lambda q, t: np.stack([q[0] - np.sin(t)]))])
    q, qd = np.array([np.sin(t), 0.3]), np.array([np.cos(t), 0.8])
    return closed, q, qd, np.array([0.1, 0.2]), t


@pytest.mark.parametrize(
    "build", [redundant_four_bar, free_finger, ball_joints, turning_wire, driven_arm]
)
def test_decoupled_equations_are_those_of_the_motion(build):
    """With redundant rows, free joints and constraints that move: its λ and v̇_r are the motion's."""
    closed, q, qd, tau, t = build()
    qdd, lam = closed.forward_dynamics(q, qd, tau, t=t)
    d, step = closed.decoupled(q, qd, tau, t=t), 1e-5
    np.testing.assert_allclose(d.lam, lam, atol=1e-9 * max(1.0, np.abs(lam).max()))
    require_second_equation(d, closed.jacobian(q, t=t))
    np.testing.assert_allclose(d.Gamma_r, -d.Gamma_r.T, atol=1e-9)
    steps = np.array([step, -step])[:, None]
    nearby = closed.decoupled(
        closed.integrate(q, steps * qd + 0.5 * steps**2 * qdd),
        qd + steps * qdd,
        tau,
        t=(0.0 if t is None else t) + steps[:, 0],
    )
    rate = (nearby.v_r[0] - nearby.v_r[1]) / (2 * step)
    np.testing.assert_allclose(
        rate + d.Gamma_r @ d.v_r, d.u_r, atol=1e-6 * (1 + np.abs(rate).max())
    )


def parametrised():
    """A particle with a mass and an inertia that changes, on a rod whose length is a parameter."""
    x, y = dynamicsymbols("x y")
    m, k = sympy.symbols("m k")
    K = m * (x.diff() ** 2 + (2 + sympy.cos(x)) * y.diff() ** 2) / 2
    free = dl.Lagrangian([x, y], K, k * y**2 / 2, parameters={m: 2.0, k: 3.0})
    length = dl.Parameter("length", 1.0)
    rod = dl.Holonomic(lambda q: np.stack([q @ q / length**2 - 1.0]), name="rod")
    return dl.Constrained(free, [rod], guess=[0.6, 0.8])


def test_named_parameters_enter_every_gauge_quantity():
    """`decoupled` and Γ of a system whose numbers are named are those with the numbers in it."""
    closed = parametrised()
    assert dict(closed.named_parameters) == {"m": 2.0, "k": 3.0, "length": 1.0}
    inputs = {"m": 5.0, "length": 2.0}
    q, tau = np.array([1.2, 1.6]), np.array([0.1, 0.2])
    qd = closed.project_velocity(q, [0.3, 0.4], parameters=inputs)
    qdd, lam = closed.forward_dynamics(q, qd, tau, parameters=inputs)
    d = closed.decoupled(q, qd, tau, parameters=inputs)
    np.testing.assert_allclose(d.lam, lam, rtol=1e-10)
    require_second_equation(d, closed.jacobian(q, parameters=inputs))
    # v = Wᵀ q̇ has v̇ + Γ v = u: along the motion v̇ = Wᵀ q̈ + Ẇᵀ q̇
    M = closed.mass_matrix(q, parameters=inputs)
    W, h = np.linalg.cholesky(M), 1e-6
    near = [np.linalg.cholesky(closed.mass_matrix(q + s * qd, parameters=inputs)) for s in (h, -h)]
    v_dot = W.T @ qdd + ((near[0] - near[1]) / (2 * h)).T @ qd
    N = closed.system.gravity_torque(q, parameters={"m": 5.0})
    u = np.linalg.solve(W, tau - N - closed.jacobian(q, parameters=inputs).T @ lam)
    for method in ("skew", "printed"):
        Gamma = closed.gauge_matrix(q, qd, formulation=method, parameters=inputs)
        np.testing.assert_allclose(v_dot + Gamma @ (W.T @ qd), u, atol=1e-8)


def test_sympy_inside_a_function_is_refused_by_name():
    free, radius = dl.load("pendulum_constrained").system, sympy.Symbol("radius")
    for h in (
        lambda q: np.stack([q @ q - radius**2]),
        lambda q: [radius - q[0]],
        lambda q: [sympy.cos(q[0])],
    ):
        with pytest.raises(dl.ConstraintError, match=r"h\(q\) cannot be traced: SymPy's"):
            dl.Constrained(free, [dl.Holonomic(h)], guess=[0.0, -1.0])
