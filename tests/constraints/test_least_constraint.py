"""Gauss's Z as a number, and its least under equalities and inequalities."""

from itertools import combinations

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.errors import ConstraintError, ShapeError, SingularMassMatrixError
from dalembert.linalg.least_distance import Infeasible, least_distance
from tests.constraints.states import load_states
from tests.constraints.test_udwadia_kalaba import two_masses

G = 9.81


def particle():
    return dl.load("spherical_pendulum_constrained").system  # m = 1, weight along −z


def box(width=0.4, height=0.2, mass=2.0, inertia=0.3):
    """A box in the plane, (x, y, φ) of its centre, and the heights of points of its lower side."""
    q, qd = sympy.symbols("x y phi"), sympy.symbols("xd yd phid")
    kinetic = mass * (qd[0] ** 2 + qd[1] ** 2) / 2 + inertia * qd[2] ** 2 / 2
    body = dl.Lagrangian(list(q), kinetic, mass * G * q[1], qd=list(qd), name="box")

    def corner(x, name):
        below = -0.5 * height
        return dl.Holonomic(lambda q: q[1] + np.sin(q[2]) * x + np.cos(q[2]) * below, name=name)

    return body, corner


def assert_optimal(system, q, qd, tau, result, rows, t=None):
    """Karush, Kuhn and Tucker: balance of forces, signs, and λ only where q̈ touches."""
    M = system.mass_matrix(q)
    f = tau + system.generalized_forces(q, qd) - system.bias(q, qd)
    balance = M @ result.qdd - f
    if system.dynamics.rows:
        A = system.jacobian(q)
        balance = balance + A.T @ result.lam
        np.testing.assert_allclose(A @ result.qdd, system.drift(q, qd), atol=1e-10)
    size = 1.0 + np.abs(f).max()
    for name, (row, least) in rows.items():
        beyond, force = row @ result.qdd - least, result.one_sided[name]
        assert beyond > -1e-11 * size and force <= 0.0
        assert abs(beyond * force) < 1e-10 * size
        assert (name in result.active) == (beyond < 1e-8)
        balance = balance + row * force
    assert np.abs(balance).max() < 1e-11 * size


@pytest.mark.parametrize("name", ["rolling_disk", "chaplygin_sleigh", "four_bar", "parallel_3rr"])
def test_the_motion_has_the_least_z(name):
    """Z grows by ½ δᵀM δ beside the motion, along all that the rows permit; ∂Z/∂q̈ = −Aᵀλ there."""
    closed, q, qd, tau = load_states(name, count=4)
    rng = np.random.default_rng(5)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    least = closed.gauss_constraint(q, qd, qdd, tau)
    along = closed.project_velocity(q, rng.normal(size=qd.shape))
    along = along - closed.project_velocity(q, 0.0 * qd)  # of A v = 0, also where b ≠ 0
    other = closed.gauss_constraint(q, qd, qdd + along, tau)
    M = closed.mass_matrix(q)
    grown = 0.5 * np.einsum("ni,nij,nj->n", along, M, along)
    np.testing.assert_allclose(other - least, grown, rtol=1e-9, atol=1e-10 * (1.0 + other.max()))
    for k in range(4):
        gradient = closed.derivative("gauss_constraint", (q[k], qd[k], qdd[k], tau[k]), wrt="qdd")
        expected = closed.constraint_force(q[k], lam[k])
        np.testing.assert_allclose(
            gradient, expected, atol=1e-10 * (1.0 + np.abs(tau[k]).max() * 100)
        )
    result = dl.gauss_least_constraint(closed, q[0], qd[0], tau[0])
    np.testing.assert_allclose(result.qdd, qdd[0], atol=1e-10 * (1.0 + np.abs(qdd[0]).max()))
    np.testing.assert_allclose(result.lam, lam[0], atol=1e-10 * (1.0 + np.abs(lam[0]).max()))
    assert pytest.approx(least[0], rel=1e-9, abs=1e-12) == result.Z


@pytest.mark.parametrize("name", ["ur5", "two_bars", "robotiq_2f85", "particle"])
def test_z_is_the_distance_from_the_free_motion_and_follows_from_appells_s(name):
    system = dl.load(name)
    system = system.constrained() if name == "two_bars" else system
    rng = np.random.default_rng(6)
    q, qd, first = system.random_state(rng)
    second, tau = rng.normal(size=(2, system.nv))
    M = system.mass_matrix(q)
    Q = tau + system.generalized_forces(q, qd)
    a = np.linalg.solve(M, Q - system.bias(q, qd))
    Z = [system.gauss_constraint(q, qd, x, tau) for x in (first, second)]
    for value, x in zip(Z, (first, second), strict=True):
        assert value >= 0.0
        assert value == pytest.approx(0.5 * (x - a) @ M @ (x - a), rel=1e-10)
    # Z = S − Q·q̈ + …, Q with the weights
    S = [system.acceleration_energy(q, qd, x) for x in (first, second)]
    Q = Q - system.bias(q, np.zeros(system.nv))
    expected = S[0] - S[1] - Q @ (first - second)
    assert Z[0] - Z[1] == pytest.approx(expected, rel=1e-10, abs=1e-10 * max(Z))


def test_z_of_moving_and_loaded_systems():
    robot, rng = dl.load("ur5"), np.random.default_rng(7)
    q, qd, _ = robot.random_state(rng)
    tau, wrench = rng.normal(size=6), rng.normal(size=6)
    qdd = robot.forward_dynamics(q, qd, tau, tip_wrench=wrench)
    scale = robot.gauss_constraint(q, qd, qdd, tau)
    assert robot.gauss_constraint(q, qd, qdd, tau, tip_wrench=wrench) < 1e-20 * (1.0 + scale)
    x, v, t = sympy.symbols("x v t")
    cart = dl.Lagrangian([x], (v + t) ** 2 / 2, 0, qd=[v], time=t)  # ẍ = −1
    assert cart.gauss_constraint([0.3], [0.2], [1.0], [0.0], t=0.7) == pytest.approx(2.0)
    with pytest.raises(SingularMassMatrixError, match="carts"):
        two_masses(lambda q: q[0] - 0.1).gauss_constraint(*np.zeros((4, 3)))


@pytest.mark.parametrize("speed", [1.0, 2.0, 2.7, 2.72, 4.0])
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_a_bead_leaves_a_sphere_where_it_is_too_fast(angle, speed):
    """N = m (g cos θ − v²/R) as long as that is positive, free fall after."""
    R = 1.0
    q = R * np.array([np.sin(angle), 0.0, np.cos(angle)])
    qd = speed * np.array([np.cos(angle), 0.0, -np.sin(angle)])
    sphere = dl.Holonomic(lambda q: 0.5 * (q @ q - R**2), name="sphere")
    result = dl.gauss_least_constraint(particle(), q, qd, np.zeros(3), [sphere])
    N = max(G * np.cos(angle) - speed**2 / R, 0.0)
    np.testing.assert_allclose(result.qdd, [0.0, 0.0, -G] + N * q / R, atol=1e-12)
    assert result.one_sided["sphere"] == pytest.approx(-N / R, abs=1e-12)
    assert result.active == (("sphere",) if N else ())
    assert pytest.approx(0.5 * N**2, abs=1e-12) == result.Z
    assert_optimal(particle(), q, qd, 0 * q, result, {"sphere": (q, -qd @ qd)})


@pytest.mark.parametrize(("angle", "speed"), [(0.0, 0.0), (2.0, 3.0), (2.0, 1.0), (np.pi, 3.2)])
def test_a_rope_pulls_and_never_pushes(angle, speed):
    """The tension m (v²/l + g cos φ), φ from the bottom; where that is negative the rope is slack."""
    rope = dl.Holonomic(lambda q: 0.5 * (1.0 - q @ q), name="rope")
    q = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    qd = speed * np.array([np.cos(angle), 0.0, np.sin(angle)])
    result = dl.gauss_least_constraint(particle(), q, qd, np.zeros(3), [rope])
    tension = max(speed**2 + G * np.cos(angle), 0.0)
    assert result.one_sided["rope"] == pytest.approx(-tension, abs=1e-12)
    np.testing.assert_allclose(result.qdd, [0.0, 0.0, -G] - tension * q, atol=1e-12)
    # loose, or already moving inward: the rope plays no part
    for state in ((0.9 * q, qd), (q, qd - 0.5 * q)):
        free = dl.gauss_least_constraint(particle(), *state, np.zeros(3), [rope])
        np.testing.assert_allclose(free.qdd, [0.0, 0.0, -G], atol=1e-12)
        assert free.active == () and free.one_sided == {"rope": 0.0}


@pytest.mark.parametrize("torque", [0.0, 2.0, -3.9, -3.95, -8.0])
def test_a_box_stands_or_tips_over_a_corner(torque):
    """Corners carry mg/2 ± τ/2b; beyond τ = m g b it tips, φ̈ = (τ + m g x)/(J + m x²)."""
    body, corner = box()
    b, m, J = 0.2, 2.0, 0.3
    sides = [corner(b, "right"), corner(-b, "left")]
    q, tau = np.array([0.3, 0.1, 0.0]), np.array([0.5, 0.0, torque])
    result = dl.gauss_least_constraint(body, q, np.zeros(3), tau, sides)
    if abs(torque) < m * G * b:
        expected, alpha = (
            {"right": -0.5 * (m * G - torque / b), "left": -0.5 * (m * G + torque / b)},
            0.0,
        )
        assert set(result.active) == {"right", "left"}
    else:  # over the right corner
        alpha = (torque + m * G * b) / (J + m * b**2)
        expected = {"right": -(m * G - m * alpha * b), "left": 0.0}
        assert result.active == ("right",)
    for name, force in expected.items():
        assert result.one_sided[name] == pytest.approx(force, abs=1e-12)
    np.testing.assert_allclose(result.qdd, [0.5 / m, -alpha * b, alpha], atol=1e-12)


def test_redundant_and_degenerate_supports():
    """Five points on a line, two of them the same: λ is one of many, the motion is the one of two."""
    body, corner = box()
    q, tau = np.array([0.0, 0.1, 0.0]), np.array([0.0, 0.0, 1.0])
    offsets = {"a": -0.2, "b": -0.1, "c": 0.0, "d": 0.2, "e": 0.2}
    sides = [corner(x, name) for name, x in offsets.items()]
    result = dl.gauss_least_constraint(body, q, np.zeros(3), tau, sides)
    np.testing.assert_allclose(result.qdd, 0.0, atol=1e-12)
    forces = -np.array(list(result.one_sided.values()))
    assert forces.min() >= 0.0 and result.active == tuple(offsets)
    assert forces.sum() == pytest.approx(2.0 * G)
    assert forces @ np.array(list(offsets.values())) == pytest.approx(-1.0)
    # a corner that touches with no force: on the verge of tipping
    verge = np.array([0.0, 0.0, -2.0 * G * 0.2])
    result = dl.gauss_least_constraint(body, q, np.zeros(3), verge, [sides[0], sides[3]])
    assert result.active == ("a", "d") and abs(result.one_sided["a"]) < 1e-12


def test_stops_of_a_closed_chain():
    """Limits of all joints at once, at a random torque: only some of them push."""
    closed, q, _, tau = load_states("parallel_3rr", count=6)
    for k in range(6):
        signs = np.random.default_rng(k).choice([-1.0, 1.0], closed.nv)
        rows = {f"stop{i}": (s * np.eye(closed.nv)[i], 0.0) for i, s in enumerate(signs)}
        stops = [
            dl.Holonomic(lambda x, i=i, s=s, at=q[k, i]: s * (x[i] - at), name=f"stop{i}")
            for i, s in enumerate(signs)
        ]
        still = np.zeros(closed.nv)
        result = dl.gauss_least_constraint(closed, q[k], still, 5.0 * tau[k], stops)
        assert_optimal(closed, q[k], still, 5.0 * tau[k], result, rows)


def test_a_contact_gives_its_normal_force():
    """A contact has its own sign, λ ≥ 0: with force the constrained motion, else the free one."""
    closed = dl.load("arm_on_sphere")
    contact = closed.description.constraint_set
    q, still = closed.neutral(), np.zeros(closed.nv)
    rng, outcomes = np.random.default_rng(3), set()
    for _ in range(6):
        tau = closed.bias(q, still) + 5.0 * rng.normal(size=closed.nv)
        qdd, lam = closed.forward_dynamics(q, still, tau)
        result = dl.gauss_least_constraint(closed.system, q, still, tau, contact)
        (force,) = result.one_sided.values()
        pressed = bool(lam[0] > 0.0)
        expected = qdd if pressed else closed.system.forward_dynamics(q, still, tau)
        np.testing.assert_allclose(result.qdd, expected, atol=1e-9 * np.abs(expected).max())
        assert force == pytest.approx(max(lam[0], 0.0), rel=1e-9)
        outcomes.add(pressed)
    assert outcomes == {True, False}


def test_what_has_no_answer_is_refused_by_name():
    body, corner = box()
    rest = np.array([0.0, 0.1, 0.0]), np.zeros(3), np.zeros(3)
    floor, ceiling = (
        corner(0.0, "floor"),
        dl.Driver(lambda q, t: 0.1 - 0.5 * t * t - q[1], name="press"),
    )
    with pytest.raises(
        ConstraintError, match=r"box: no acceleration meets .* 'floor', 'press' at q"
    ):
        dl.gauss_least_constraint(body, *rest, [floor, ceiling], t=0.0)
    pushed = dl.Constrained(
        body, [dl.Driver(lambda q, t: q[1] - 0.1 + t * t, name="push")], guess=rest[0]
    )
    with pytest.raises(
        ConstraintError, match="'floor' together with the constraints of the system"
    ):
        dl.gauss_least_constraint(pushed, *rest, [floor], t=0.0)
    with pytest.raises(ConstraintError, match=r"'floor': violated by 0\.05 at q"):
        dl.gauss_least_constraint(body, [0.0, 0.05, 0.0], *rest[1:], [floor])
    with pytest.raises(ConstraintError, match="'floor': bodies approach at ḣ = -1 and collide"):
        dl.gauss_least_constraint(body, rest[0], [0.0, -1.0, 0.0], rest[2], [floor])
    with pytest.raises(ConstraintError, match="expected one without friction, got Rolling"):
        rolling = dl.load("arm_rolling_on_sphere")
        sides = rolling.description.constraint_set
        state = rolling.neutral(), np.zeros(6), np.zeros(6)
        dl.gauss_least_constraint(rolling.system, *state, sides)
    with pytest.raises(ShapeError, match=r"box: qd must have shape \(3,\), one state, got \(2,\)"):
        dl.gauss_least_constraint(body, rest[0], [0.0, 0.0], rest[2], [floor])


def test_a_singular_mass_matrix():
    carts, q = two_masses(lambda q: q[1] - q[0] - 0.5), np.array([0.1, 0.6, 0.2])
    tau = np.array([0.3, -0.2, 0.4])
    expected, lam = carts.forward_dynamics(q, 0 * q, tau, formulation="udwadia_kalaba")
    result = dl.gauss_least_constraint(carts, q, 0 * q, tau)
    np.testing.assert_allclose(result.qdd, expected, atol=1e-12)
    np.testing.assert_allclose(result.lam, lam, atol=1e-12)
    assert result.Z is None
    stop = dl.Holonomic(lambda q: q[2] - 0.2, name="stop")
    result = dl.gauss_least_constraint(carts, q, 0 * q, tau, [stop])
    assert result.active == ("stop",) and abs(result.qdd[2]) < 1e-13
    # both carts as one, m₁ + m₂ = 3
    assert result.qdd[0] == pytest.approx((-3.0 * 0.1 + 0.3 - 0.2) / 3.0)
    with pytest.raises(SingularMassMatrixError, match="along q1 − x2"):
        dl.gauss_least_constraint(two_masses(lambda q: q[0] - 0.1), q, 0 * q, tau)


def test_the_shortest_vector_against_all_active_sets():
    rng = np.random.default_rng(8)
    for trial in range(60):
        n, m = rng.integers(1, 5), rng.integers(1, 7)
        rows = rng.normal(size=(m, n))
        if trial % 3 == 0 and m > 1:
            rows[-1] = 2.0 * rows[0]  # redundant, and of another length
        h = rng.normal(size=m) * 10.0 ** rng.integers(-3, 4)
        best = None
        for k in range(min(m, n) + 1):
            for chosen in map(list, combinations(range(m), k)):
                z = np.linalg.pinv(rows[chosen]) @ h[chosen] if k else np.zeros(n)
                scale = np.abs(h).max() + np.abs(z).max()
                is_met = (rows @ z >= h - 1e-9 * scale).all()
                if is_met and (best is None or z @ z < best @ best):
                    best = z
        if best is None:
            with pytest.raises(Infeasible) as error:
                least_distance(rows, h)
            w = error.value.weights
            assert w.min() >= 0.0 and w @ h > 0.0
            assert np.abs(w @ rows).max() < 1e-8 * np.abs(w[:, None] * rows).max()
            continue
        z, u = least_distance(rows, h)
        scale = max(np.abs(best).max(), np.abs(h).max())
        np.testing.assert_allclose(z, best, atol=1e-9 * scale)
        np.testing.assert_allclose(rows.T @ u, z, atol=1e-11 * scale)
        assert u.min() >= 0.0 and (rows @ z - h).min() > -1e-11 * scale
