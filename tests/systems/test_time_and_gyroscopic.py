"""Lagrangians with time and with parts linear in the velocity, against SymPy's own derivation."""

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from tests.constraints.states import ROUTES

T = dynamicsymbols._t
X, Y = dynamicsymbols("x y")
TH = dynamicsymbols("theta")


def rotating_plane(omega=1.3, m=0.7, k=2.0):
    """A particle on a turntable, in coordinates that turn with it: Coriolis and centrifugal terms."""
    vx, vy = X.diff() - omega * Y, Y.diff() + omega * X
    return [X, Y], m * (vx**2 + vy**2) / 2, k * (X**2 + Y**2) / 2


def magnetic(m=0.5, e=1.6, B=2.0):
    """A charge in a field B e_z, with the vector potential ½ B (−y, x)."""
    K = m * (X.diff() ** 2 + Y.diff() ** 2) / 2
    return [X, Y], K + e * B * (X * Y.diff() - Y * X.diff()) / 2, e * 0.3 * X


def generalised_potential(m=0.5):
    """The same kind of term on the side of U."""
    K = m * (X.diff() ** 2 + 2 * Y.diff() ** 2) / 2
    return [X, Y], K, X**2 * Y.diff() + cos(Y) - sin(T) * X * X.diff()


def shaken_pendulum(m=1.2, l=0.8, g=9.81):
    """A pendulum whose pivot moves by (0.3 sin 2t, 0.1 cos 3t)."""
    position = sympy.Matrix([0.3 * sin(2 * T) + l * sin(TH), 0.1 * cos(3 * T) - l * cos(TH)])
    v = position.diff(T)
    return [TH], m * v.dot(v) / 2, m * g * position[1]


def everything():
    """M, a and U of q and t, all at once."""
    M = [[2 + sin(X) * cos(T), Y * sin(T) / 4], [Y * sin(T) / 4, 3 + T**2 + X**2]]
    rates = sympy.Matrix([X.diff(), Y.diff()])
    a = sympy.Matrix([X * Y * cos(T), sin(X) + T * Y])
    K = (rates.T * sympy.Matrix(M) * rates)[0] / 2 + a.dot(rates) + cos(T) * X**2
    return [X, Y], K, T * X * Y + cos(X - Y)


SYSTEMS = {
    f.__name__: f
    for f in (rotating_plane, magnetic, generalised_potential, shaken_pendulum, everything)
}


def by_sympy(q, K, U):
    """(τ, M, p) as functions of (q, qd, qdd, t), by SymPy's differentiation of L alone."""
    L = K - U
    qd, qdd = [x.diff(T) for x in q], [x.diff(T, 2) for x in q]
    tau = [(L.diff(v).diff(T) - L.diff(x)).doit() for x, v in zip(q, qd, strict=True)]
    M = sympy.Matrix([[L.diff(a).diff(b) for a in qd] for b in qd])
    p = sympy.Matrix([L.diff(v) for v in qd])
    E = p.dot(sympy.Matrix(qd)) - L
    plain = [sympy.symbols(f"{s}0:{len(q)}") for s in ("q", "v", "a")]
    table = [
        pair
        for old, new in zip((qdd, qd, q), plain[::-1], strict=True)
        for pair in zip(old, new, strict=True)
    ]
    result = [sympy.Matrix([e]).subs(table) for e in (sympy.Matrix(tau), M, p, sympy.Matrix([E]))]
    compiled = sympy.lambdify([*plain, T], result, "numpy")
    return lambda *state: [np.asarray(x, dtype=float) for x in compiled(*state)]


def energies_of(q, K, U):
    """(T, V) as functions of (q, q̇, t), as they are given."""
    names = sympy.symbols(f"q0:{len(q)}"), sympy.symbols(f"v0:{len(q)}")
    table = [*zip([x.diff(T) for x in q], names[1], strict=True), *zip(q, names[0], strict=True)]
    return sympy.lambdify([*names, T], [sympy.sympify(e).subs(table) for e in (K, U)], "numpy")


def random_states(n, count=6):
    rng = np.random.default_rng(3)
    return [(*rng.normal(size=(3, n)), float(rng.uniform(0.0, 3.0))) for _ in range(count)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_equations_are_those_of_sympy(name):
    q, K, U = SYSTEMS[name]()
    system, oracle = dl.Lagrangian(q, K, U), by_sympy(q, K, U)
    moving = system.dynamics.moving
    energies = energies_of(q, K, U)
    for x, v, a, t in random_states(len(q)):
        then = {"t": t} if moving else {}
        tau, M, p, E = oracle(x, v, a, t)
        for formulation in ("euler_lagrange", "christoffel"):
            result = system.inverse_dynamics(x, v, a, formulation=formulation, **then)
            np.testing.assert_allclose(result, tau.ravel(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(system.mass_matrix(x, **then), M, rtol=1e-13)
        np.testing.assert_allclose(system.generalized_momentum(x, v, **then), p.ravel(), atol=1e-13)
        # T and V are those that were given, but for what V has with q̇; T₂ is ½ q̇ᵀM q̇
        T, V = energies(x, v, t), energies(x, 0 * v, t)[1]
        kinetic, parts = (
            system.kinetic_energy(x, v, **then),
            system.kinetic_energy_parts(x, v, **then),
        )
        np.testing.assert_allclose(kinetic, T[0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(sum(parts), T[0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(parts.T2, 0.5 * v @ M @ v, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(parts.T0, energies(x, 0 * v, t)[0], rtol=1e-12, atol=1e-13)
        potential = system.potential_energy(x, **then)
        np.testing.assert_allclose(potential, V, rtol=1e-12, atol=1e-13)
        # T₂ − T₀ + V is Jacobi's energy q̇·∂L/∂q̇ − L
        total = parts.T2 - parts.T0 + potential
        np.testing.assert_allclose(total, E.item(), rtol=1e-12, atol=1e-12)
        bias = oracle(x, v, 0 * a, t)[0].ravel()
        np.testing.assert_allclose(system.bias(x, v, **then), bias, rtol=1e-12, atol=1e-12)
        for formulation in ("ldl", "cholesky", "hamilton"):
            back = system.forward_dynamics(x, v, tau.ravel(), formulation=formulation, **then)
            np.testing.assert_allclose(back, a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", SYSTEMS)
def test_matrices_add_up_to_the_bias(name):
    """h = C q̇ + G q̇ + N + e with G skew."""
    q, K, U = SYSTEMS[name]()
    system = dl.Lagrangian(q, K, U)
    for x, v, _, t in random_states(len(q)):
        then = {"t": t} if system.dynamics.moving else {}
        C, G = system.coriolis_matrix(x, v, **then), system.gyroscopic_matrix(x, **then)
        np.testing.assert_allclose(G, -G.T, atol=1e-14)
        parts = (C + G) @ v + system.gravity_torque(x, **then) + system.chart_force(x, v, **then)
        np.testing.assert_allclose(parts, system.bias(x, v, **then), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SYSTEMS)
def test_simulation_follows_sympys_equations(name):
    q, K, U = SYSTEMS[name]()
    n = len(q)
    system, oracle = dl.Lagrangian(q, K, U), by_sympy(q, K, U)
    start = np.linspace(0.3, 0.5, n), np.linspace(0.2, -0.4, n)

    def rate(t, state):
        x, v = state[:n], state[n:]
        tau, M, *_ = oracle(x, v, np.zeros(n), t)
        return np.concatenate([v, np.linalg.solve(M, -tau.ravel())])

    expected = solve_ivp(rate, (0.0, 1.0), np.concatenate(start), "DOP853", rtol=1e-11, atol=1e-12)
    run = dl.simulate(system, *start, duration=1.0, method="DOP853", rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run.q[-1], expected.y[:n, -1], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(run.qd[-1], expected.y[n:, -1], rtol=1e-8, atol=1e-9)
    # d(T₂ − T₀ + V)/dt = −∂L/∂t: what moves the coordinates is counted as work
    assert abs(run.balance).max() < 1e-8
    kinetic, potential = energies_of(q, K, U)(run.q.values.T, run.qd.values.T, run.time.values)
    np.testing.assert_allclose(run.kinetic, kinetic, rtol=1e-12, atol=1e-12)
    if name != "generalised_potential":  # of which V has a part with q̇
        np.testing.assert_allclose(run.potential, potential, rtol=1e-12, atol=1e-12)
    gained = (run.work - run.dissipated).values
    energy = (run.jacobi if "jacobi" in run else run.kinetic + run.potential).values
    np.testing.assert_allclose(energy - energy[0], gained, atol=1e-8)
    if not system.dynamics.moving:
        assert abs(run.work).max() == 0.0


def test_cyclotron_motion():
    """A charge circles with e B/m, whatever its speed."""
    m, e, B = 0.5, 1.6, 2.0
    q, K, _ = magnetic(m, e, B)
    period = 2.0 * np.pi * m / (e * B)
    run = dl.simulate(dl.Lagrangian(q, K), [0.1, 0.2], [1.0, 0.0], duration=period, dt=period / 400)
    np.testing.assert_allclose(run.q[-1], [0.1, 0.2], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(run.qd, axis=-1), 1.0, atol=1e-8)


def test_bead_on_a_rotating_hoop():
    """Its rest postures: the bottom, and cos θ = g/(ω² R) once the hoop turns fast enough."""
    R, g, omega, m = 0.5, 9.81, 6.0, 0.2
    K = m * R**2 * (TH.diff() ** 2 + omega**2 * sin(TH) ** 2) / 2
    bead = dl.Lagrangian([TH], K, -m * g * R * cos(TH))
    result = dl.equilibrium(bead, guess=[1.0])
    np.testing.assert_allclose(np.cos(result.q[0]), g / (omega**2 * R), atol=1e-9)
    assert result.stability == "stable"
    assert dl.equilibrium(bead, guess=[0.0]).stability == "unstable"


def test_particles_in_moving_places_are_the_lagrangian():
    """r(q, t): d'Alembert's principle term by term, against L."""
    m, l, g = 1.2, 0.8, 9.81
    position = [0.3 * sin(2 * T) + l * sin(TH), 0.1 * cos(3 * T) - l * cos(TH)]
    points = dl.Particles([m], [position], [TH], gravity=[0.0, -g])
    system = dl.Lagrangian(*shaken_pendulum(m, l, g))
    for x, v, a, t in random_states(1):
        tau = system.inverse_dynamics(x, v, a, t=t)
        np.testing.assert_allclose(points.inverse_dynamics(x, v, a, t=t), tau, atol=1e-12)
        np.testing.assert_allclose(points.dalembert(x, v, a, t=t), -tau, atol=1e-12)


def test_time_of_casadi_and_plain_symbols(casadi):
    """`time` names the symbol where coordinates are no functions of one."""
    x, v, t = casadi.SX.sym("x"), casadi.SX.sym("v"), casadi.SX.sym("t")
    one = dl.Lagrangian([x], (1 + t) * v**2 / 2 + t * x * v, casadi.sin(t) * x, qd=[v], time=t)
    sx, sv, st = sympy.symbols("x v t")
    K = (1 + st) * sv**2 / 2 + st * sx * sv
    two = dl.Lagrangian([sx], K, sin(st) * sx, qd=[sv], time=st, forces=[-st * sv])
    tau = one.inverse_dynamics([0.3], [0.5], [0.7], t=0.9)
    # d/dt ((1 + t) v + t x) − t v + sin t = (1 + t) a + v + x + sin t
    np.testing.assert_allclose(tau, [1.9 * 0.7 + 0.5 + 0.3 + np.sin(0.9)], rtol=1e-13)
    np.testing.assert_allclose(
        two.inverse_dynamics([0.3], [0.5], [0.7], t=0.9), tau + 0.9 * 0.5, rtol=1e-13
    )
    batch = one.mass_matrix(np.zeros((3, 1)), t=np.array([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(batch[:, 0, 0], [1.0, 2.0, 3.0])


def test_held_by_constraints_while_coordinates_turn():
    """A bead on a rod that is fixed on a turntable, by all routes, against SymPy's equations."""
    omega, m, k = 1.3, 0.7, 2.0
    q, K, U = rotating_plane(omega, m, k)
    # seen from a hoop of radius that grows with time, so that the constraint moves too
    hoop = dl.Driver(lambda q, t: 0.5 * (q @ q - (1.0 + 0.1 * t) ** 2), name="hoop")
    closed = dl.Constrained(dl.Lagrangian(q, K, U), [hoop], guess=[1.0, 0.0])
    oracle = by_sympy(q, K, U)
    t = 0.4
    x = (1.0 + 0.1 * t) * np.array([np.cos(0.5), np.sin(0.5)])
    v = closed.project_velocity(x, [0.3, 0.8], t)
    bias, M, *_ = oracle(x, v, np.zeros(2), t)
    A, gamma = x[None], np.array([0.1**2 - v @ v])
    matrix = np.block([[M, A.T], [A, np.zeros((1, 1))]])
    expected = np.linalg.solve(matrix, np.concatenate([-bias.ravel(), gamma]))
    for route in ROUTES:
        qdd, lam = closed.forward_dynamics(x, v, [0.0, 0.0], t=t, formulation=route)
        np.testing.assert_allclose([*qdd, *lam], expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(closed.decoupled(x, v, [0.0, 0.0], t=t).lam, expected[2:], rtol=1e-9)


def test_a_moving_system_under_constraints():
    """M, a and U of time, and a rod: the same by all routes and by SymPy."""
    q, K, U = everything()
    rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    closed = dl.Constrained(dl.Lagrangian(q, K, U), [rod], guess=[1.0, 0.0])
    t, x, tau = 1.1, np.array([0.6, 0.8]), np.array([0.4, -0.2])
    v = closed.project_velocity(x, [0.5, 0.1], t)
    bias, M, *_ = by_sympy(q, K, U)(x, v, np.zeros(2), t)
    matrix = np.block([[M, x[:, None]], [x[None], np.zeros((1, 1))]])
    expected = np.linalg.solve(matrix, np.concatenate([tau - bias.ravel(), [-v @ v]]))
    for route in ROUTES:
        qdd, lam = closed.forward_dynamics(x, v, tau, t=t, formulation=route)
        np.testing.assert_allclose([*qdd, *lam], expected, rtol=1e-9, atol=1e-10)
    result = closed.decoupled(x, v, tau, t=t)
    np.testing.assert_allclose(result.lam, expected[2:], rtol=1e-8)
    required, lam = closed.inverse_dynamics(x, v, expected[:2], t=t, lam=expected[2:])
    np.testing.assert_allclose(required, tau, atol=1e-8)
    run = dl.simulate(closed, x, v, duration=0.5, dt=1e-3)
    assert abs(run.residual).max() < 1e-10 and abs(run.balance).max() < 1e-7


def test_computed_torque_knows_the_time():
    q, K, U = shaken_pendulum()
    system = dl.Lagrangian(q, K, U)
    controller = dl.control.ComputedTorque(system, target=[0.4], kp=25.0, kd=10.0)
    run = dl.simulate(system, [0.4], [0.0], controller, duration=1.0, dt=1e-2)
    np.testing.assert_allclose(run.q, 0.4, atol=1e-6)


def test_what_has_no_meaning_is_refused():
    turning, shaken = dl.Lagrangian(*rotating_plane()), dl.Lagrangian(*shaken_pendulum())
    for system in (turning, shaken):
        n = system.nv
        with pytest.raises(dl.DalembertError, match=r"variational.*quadratic"):
            dl.simulate(system, [0.1] * n, [0.0] * n, duration=0.1, dt=0.01, method="variational")
    with pytest.raises(dl.DalembertError, match="takes no 't'"):
        turning.mass_matrix([0.0, 0.0], t=1.0)
    q, _ = turning.rollout([0.3, 0.5], [0.2, -0.4], [0.0, 0.0], steps=200, dt=1e-3)
    run = dl.simulate(turning, [0.3, 0.5], [0.2, -0.4], duration=0.2, dt=1e-3)
    np.testing.assert_allclose(q[-1], run.q[-1], atol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_rollouts_count_the_time(method):
    shaken = dl.Lagrangian(*shaken_pendulum())
    q, qd = shaken.rollout([0.1], [0.0], [0.0], steps=100, dt=0.01, every=50, method=method)
    run = dl.simulate(shaken, [0.1], [0.0], duration=1.0, dt=0.01, save_every=50, method=method)
    np.testing.assert_allclose(q, run.q[1:], atol=1e-13)
    np.testing.assert_allclose(qd, run.qd[1:], atol=1e-12)


def test_pickles_and_digests_keep_the_time():
    import pickle

    q, K, U = everything()
    system = dl.Lagrangian(q, K, U)
    again = pickle.loads(pickle.dumps(system))
    assert again == system and again.dynamics.moving and again.dynamics.gyroscopic
    x, v = np.array([0.2, 0.3]), np.array([0.1, 0.5])
    assert (again.bias(x, v, t=0.7) == system.bias(x, v, t=0.7)).all()


def test_energies_of_a_hoop_are_those_that_were_given():
    """T has the hoop's ½ m R² ω² sin²θ, V only the weight; Jacobi's energy is conserved, T + V not."""
    R, g, omega, m = 0.5, 9.81, 6.0, 0.2
    K = m * R**2 * (TH.diff() ** 2 + omega**2 * sin(TH) ** 2) / 2
    bead = dl.Lagrangian([TH], K, -m * g * R * cos(TH))
    x, v = np.array([0.7]), np.array([1.3])
    parts = bead.kinetic_energy_parts(x, v)
    T0 = m * R**2 * omega**2 * np.sin(0.7) ** 2 / 2
    np.testing.assert_allclose(parts, [m * R**2 * 1.3**2 / 2, 0.0, T0], rtol=1e-14)
    np.testing.assert_allclose(bead.kinetic_energy(x, v), sum(parts), rtol=1e-14)
    np.testing.assert_allclose(bead.potential_energy(x), -m * g * R * np.cos(0.7), rtol=1e-14)
    assert dl.equilibrium(bead, guess=[0.0]).potential_energy == pytest.approx(-m * g * R)
    rod = dl.Holonomic(lambda q: np.stack([np.sin(q[0]) - np.sin(0.7)]), name="rod")
    closed = dl.Constrained(bead, [rod], guess=x)
    assert closed.kinetic_energy_parts(x, v) == parts
    run = dl.simulate(bead, x, v, duration=0.5, dt=0.05)
    assert abs(run.balance).max() < 1e-9 and np.ptp(run.jacobi.values) < 1e-9
    assert np.ptp((run.kinetic + run.potential).values) > 0.1


def test_a_robot_has_all_of_its_kinetic_energy_in_the_second_degree():
    arm = dl.load("planar_2r")
    parts = arm.kinetic_energy_parts([0.1, 0.2], [0.3, 0.4])
    assert arm.kinetic_energy([0.1, 0.2], [0.3, 0.4]) == parts.T2 and parts.T1 == parts.T0 == 0.0
