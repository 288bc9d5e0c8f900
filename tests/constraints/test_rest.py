"""Rest postures of constrained systems: closed forms, SciPy's minima, and what reactions mean."""

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq, minimize, minimize_scalar, root

import dalembert as dl

WEIGHT = 9.81


def particle():
    return dl.load("pendulum_constrained").system


def test_a_particle_on_a_rod():
    """λ = m g/l² · l with h = ½(r² − l²): the rod pulls below and pushes above; ω² = ±g/l."""
    closed = dl.load("pendulum_constrained")
    below, above = dl.equilibria(closed)
    np.testing.assert_allclose(below.q, [0.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(above.q, [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose([below.lam, above.lam], [[WEIGHT], [-WEIGHT]], rtol=1e-12)
    np.testing.assert_allclose([below.curvatures, above.curvatures], [[WEIGHT], [-WEIGHT]])
    assert (below.stability, above.stability) == ("stable", "unstable")
    np.testing.assert_allclose([below.potential_energy, above.potential_energy], [-9.81, 9.81])


def test_forces_across_turn_the_rod():
    """tan θ = F / m g, and the rod bears the resultant."""
    rest = dl.equilibrium(dl.load("pendulum_constrained"), [0.1, -1.0], tau=[4.0, 0.0])
    total = np.hypot(4.0, WEIGHT)
    np.testing.assert_allclose(rest.q, [4.0 / total, -WEIGHT / total], rtol=1e-10)
    np.testing.assert_allclose(rest.lam, [total], rtol=1e-10)


def test_redundant_rods_share_the_load():
    rod = [dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name=name) for name in ("one", "other")]
    closed = dl.Constrained(particle(), rod, guess=[0.0, -1.0])
    rest = dl.equilibrium(closed, [0.3, -0.8])
    np.testing.assert_allclose(rest.q, [0.0, -1.0], atol=1e-10)
    np.testing.assert_allclose(rest.lam, [WEIGHT / 2, WEIGHT / 2], rtol=1e-9)
    np.testing.assert_allclose(rest.curvatures, [WEIGHT], rtol=1e-9)


def test_nothing_is_left_to_move():
    fixed = dl.Holonomic(lambda q: q - np.array([0.2, 0.3]), name="glue")
    rest = dl.equilibrium(dl.Constrained(particle(), [fixed]))
    np.testing.assert_allclose(rest.lam, [0.0, -WEIGHT], atol=1e-12)
    assert rest.curvatures.shape == (0,) and rest.stability == "stable"


def ladder(length=4.0, mass=10.0):
    """A uniform rod, its foot on the floor and its head on a wall; both smooth."""
    q = x, y, angle = sympy.symbols("x y theta")
    qd = sympy.symbols("xd yd thetad")
    K = mass / 2 * (qd[0] ** 2 + qd[1] ** 2 + length**2 / 12 * qd[2] ** 2)
    rod = dl.Lagrangian(q, K, mass * sympy.Float(WEIGHT) * y, qd=qd, name="ladder")
    floor = dl.Holonomic(y - length / 2 * sympy.sin(angle), name="floor")
    wall = dl.Holonomic(x - length / 2 * sympy.cos(angle), name="wall")
    return dl.Constrained(rod, [floor, wall], guess=[1.0, 1.7, 1.0])


def test_a_ladder_against_a_wall():
    """Pushed to the wall with F at its middle: tan θ = m g / F, a maximum of the energy."""
    push = 60.0
    rest = dl.equilibrium(ladder(), [1.0, 1.7, 1.0], tau=[-push, 0.0, 0.0])
    angle = np.arctan2(10.0 * WEIGHT, push)
    np.testing.assert_allclose(rest.q, [2 * np.cos(angle), 2 * np.sin(angle), angle], rtol=1e-10)
    # the floor carries the weight, the wall the push: b receives −λ
    np.testing.assert_allclose(rest.lam, [-10.0 * WEIGHT, -push], rtol=1e-10)
    # (1/12 + 1/4) m l² θ̈ = ½ l √(m²g² + F²) δθ
    inertia = 10.0 * 16.0 / 3.0
    np.testing.assert_allclose(
        rest.curvatures, [-2.0 * np.hypot(10.0 * WEIGHT, push) / inertia], rtol=1e-10
    )
    assert rest.stability == "unstable"


def reduced(closed, crank, near):
    """The posture of a linkage at a crank angle, by SciPy."""
    others = root(lambda x: closed.residual([crank, *x]), near[1:], tol=1e-13).x
    return np.array([crank, *others])


def test_a_four_bar_rests_where_its_energy_is_least():
    closed = dl.load("four_bar")
    low, *_ = result = dl.equilibria(closed)
    assert [rest.stability for rest in result].count("stable") == 2  # one for each way to close it

    def energy(crank):
        return float(closed.potential_energy(reduced(closed, crank, low.q)))

    best = minimize_scalar(energy, bracket=(low.q[0] - 0.3, low.q[0] + 0.2), options={"xtol": 1e-9})
    np.testing.assert_allclose(low.q, reduced(closed, best.x, low.q), atol=1e-6)
    # ω² = U''(θ) / M(θ) along the crank, by differences
    step = 1e-4
    sides = [reduced(closed, low.q[0] + s, low.q) for s in (-step, 0.0, step)]
    U = [float(closed.potential_energy(q)) for q in sides]
    along = (sides[2] - sides[0]) / (2 * step)
    inertia = along @ closed.mass_matrix(low.q) @ along
    expected = (U[0] - 2 * U[1] + U[2]) / step**2 / inertia
    np.testing.assert_allclose(low.curvatures, [expected], rtol=1e-5)


def test_reactions_are_slopes_of_the_least_energy():
    """Where h = ε is asked for, the least energy changes with −λ."""
    closed = dl.load("four_bar")
    low = dl.equilibria(closed)[0]

    def least(gap):
        constrained = {"type": "eq", "fun": lambda q: closed.residual(q) - gap}
        result = minimize(
            closed.potential_energy, low.q, method="SLSQP", constraints=[constrained], tol=1e-14
        )
        return result.fun

    for k, gap in enumerate(1e-3 * np.eye(2)):
        derivative = (least(gap) - least(-gap)) / 2e-3
        np.testing.assert_allclose(derivative, -low.lam[k], rtol=1e-4)


def test_motors_hold_a_posture_that_forward_dynamics_keeps():
    """At rest under τ nothing accelerates, and λ is that of the motion."""
    closed = dl.load("four_bar")
    rest = dl.equilibrium(closed, closed.neutral(), tau=[0.8, 0.0, 0.0])
    qdd, lam = closed.forward_dynamics(rest.q, np.zeros(3), rest.tau)
    np.testing.assert_allclose(qdd, 0.0, atol=1e-8)
    np.testing.assert_allclose(lam, rest.lam, rtol=1e-6)


def test_a_blade_on_a_slope_rests_across_it():
    """Nonholonomic: the blade bears the pull of the slope wherever it stands across."""
    closed = dl.load("knife_edge")
    start = np.array([0.4, -0.7, 1.2])
    rest = dl.equilibrium(closed, start)
    np.testing.assert_allclose(np.cos(rest.q[2]), 0.0, atol=1e-10)
    np.testing.assert_allclose(rest.q[:2], start[:2], atol=0.5)  # of the family, one nearby
    A = closed.jacobian(rest.q)
    force = closed.bias(rest.q, np.zeros(3))
    np.testing.assert_allclose(force + A.T @ rest.lam, 0.0, atol=1e-9)
    assert abs(rest.lam[0]) > 1.0
    assert rest.stability == "neutral"


def test_a_body_on_a_string():
    """Seven coordinates: a free body hangs with its centre under the eye, the string bears it."""
    body = {"name": "body", "joint": {"type": "free"}, "mass": 2.0, "inertia": 0.1 * np.eye(3)}
    eye = np.eye(4)
    eye[2, 3] = 0.3
    robot = dl.Robot.from_links([body])
    string = dl.Distance("base", "body", 0.5, pose_b=eye, name="string")
    tilted = robot.integrate(robot.neutral(), [0.1, 0.0, -0.7, 0.2, 0.1, 0.0])
    closed = dl.Constrained(robot, [string], guess=tilted)
    rest = dl.equilibrium(closed, closed.neutral())
    np.testing.assert_allclose(robot.center_of_mass(rest.q), [0.0, 0.0, -0.8], atol=1e-9)
    np.testing.assert_allclose(rest.lam * 0.5, [2.0 * WEIGHT], rtol=1e-9)
    # each plane is a double pendulum; turning about the string is free
    M = 2.0 * np.array([[0.25, 0.15], [0.15, 0.09 + 0.05]])
    K = 2.0 * WEIGHT * np.diag([0.5, 0.3])
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)))
    np.testing.assert_allclose(rest.curvatures, [0.0, *np.repeat(squares, 2)], atol=1e-6)
    assert rest.stability == "neutral"


def test_constraints_stand_as_they_are_at_a_time():
    """A rod that grows: at each time the particle hangs at its length then."""
    rod = dl.Driver(lambda q, t: np.stack([0.5 * (q @ q - (1.0 + t) ** 2)]), name="rod")
    closed = dl.Constrained(particle(), [rod], guess=[0.0, -1.0])
    rest = dl.equilibrium(closed, [0.2, -1.0], t=0.5)
    np.testing.assert_allclose(rest.q, [0.0, -1.5], atol=1e-10)
    np.testing.assert_allclose(rest.lam, [WEIGHT / 1.5], rtol=1e-10)


def test_virtual_work_of_a_constrained_system():
    """At rest it vanishes along what the rod permits; along the rod it is what λ bears."""
    closed = dl.load("pendulum_constrained")
    rest = dl.equilibrium(closed, [0.1, -1.0])
    applied = -closed.bias(rest.q, np.zeros(2))
    assert abs(dl.virtual_work(closed, rest.q, applied, [0.1, 0.0])) < 1e-12
    work = dl.virtual_work(closed, rest.q, applied, [0.0, -0.1])
    np.testing.assert_allclose(work, rest.lam @ closed.jacobian(rest.q) @ [0.0, -0.1])


def test_forces_that_cannot_be_held_are_named():
    with pytest.raises(dl.ConvergenceError, match=r"no rest posture .* along"):
        dl.equilibrium(dl.load("four_bar"), tau=[50.0, 0.0, 0.0], starts=2)
    closed = dl.load("four_bar")
    open_ = dl.Constrained(
        closed.system, [dl.Driver(lambda q, t: np.stack([np.sin(q[0]) - 2.0 * t]), name="d")]
    )
    with pytest.raises(dl.ConvergenceError, match=r"onto the constraints at t = 1\.0"):
        dl.equilibrium(open_, t=1.0, starts=2)


def test_a_slider_crank_hangs_symmetric():
    """Crank and rod below the line: the root of dU/dφ by SciPy."""
    closed = dl.load("slider_crank")
    low = dl.equilibria(closed)[0]

    def derivative(crank):
        sides = [
            float(closed.potential_energy(reduced(closed, crank + s, low.q))) for s in (-1e-5, 1e-5)
        ]
        return (sides[1] - sides[0]) / 2e-5

    level = brentq(derivative, low.q[0] - 0.2, low.q[0] + 0.3, xtol=1e-10)
    np.testing.assert_allclose(low.q[0], level, atol=1e-6)
    assert low.stability == "stable"


@pytest.mark.parametrize(("name", "postures"), [("two_bars", 4), ("four_bar_linkage", 4)])
def test_mechanisms_in_absolute_coordinates_rest_where_their_robots_do(name, postures):
    """The same bodies as a tree of joints: equal energies, curvatures and stability."""
    mechanism = dl.load(name)
    built = mechanism.to_robot()
    robot = dl.Constrained(built.robot, built.loops) if built.loops else built.robot
    result, expected = dl.equilibria(mechanism), dl.equilibria(robot)
    assert len(result) == len(expected) == postures
    for mine, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(mine.potential_energy, other.potential_energy, rtol=1e-9)
        np.testing.assert_allclose(mine.curvatures, other.curvatures, rtol=1e-7)
        assert mine.stability == other.stability and mine.lam.shape == (mechanism.dynamics.rows,)


def test_the_pins_of_hanging_bars_carry_what_hangs_below():
    low = dl.equilibria(dl.load("two_bars"))[0]
    np.testing.assert_allclose(np.abs(low.lam[1::2]), [3.0 * WEIGHT, 1.0 * WEIGHT], rtol=1e-9)
    np.testing.assert_allclose(low.lam[0::2], 0.0, atol=1e-9)


def test_a_network_says_that_it_has_no_slopes():
    with pytest.raises(dl.FormulationError, match=r"n_four_bar is evaluated on numbers only"):
        dl.equilibrium(dl.load("n_four_bar"))
