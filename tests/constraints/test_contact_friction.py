"""Coulomb friction at contacts: closed-form motions, saddle-point systems, published limits."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.constraints import Plane, PointOnSurface, Sliding, SoftFinger, Sphere
from dalembert.constraints.coulomb_friction import with_friction
from dalembert.errors import ConstraintError, FormulationError, SettingError
from tests.constraints.states import ROUTES, consistent_states

G, MU = 9.81, 0.3


def slider(axes="xyz", gravity=(0.0, 0.0, -G), mass=2.0):
    """A block that slides along world axes."""
    links = [
        {
            "name": f"to_{a}",
            "parent": f"to_{axes[k - 1]}" if k else None,
            "joint": {"name": a, "type": "prismatic", "axis": np.eye(3)["xyz".index(a)]},
            "mass": mass if k == len(axes) - 1 else 0.0,
            "inertia": np.zeros((3, 3)),
        }
        for k, a in enumerate(axes)
    ]
    return dl.Robot.from_links(links, gravity=gravity, name="block")


def ball(radius, mass=2.0, gravity=(0.0, 0.0, -G)):
    body = {"name": "ball", "joint": {"name": "fly", "type": "free"}, "mass": mass}
    body["inertia"] = 0.4 * mass * radius**2 * np.eye(3)
    return dl.Robot.from_links([body], gravity=gravity, name="ball")


def test_a_block_slides_to_rest():
    """It slows by μ g: (v₀ − w)/(μ g) to the width w, (v₀² + w²)/(2 μ g) in all, straight on."""
    width, v0 = 1e-3, np.array([1.2, -0.5, 0.0])
    block = dl.Constrained(slider(), [Sliding("to_z", Plane(), mu=MU, width=width, name="floor")])
    speed, slow = np.linalg.norm(v0), MU * G
    duration = 0.5  # the block stops after 0.442 s
    run = dl.simulate(block, np.zeros(3), v0, duration=duration, dt=0.01)
    t = run.time.values
    sliding = t < (speed - width) / slow
    along = (run.qd.values @ v0) / speed
    np.testing.assert_allclose(along[sliding], (speed - slow * t)[sliding], atol=1e-9)
    assert np.abs(along[-1]) < 1e-9
    stopped = (speed**2 + width**2) / (2 * slow)
    np.testing.assert_allclose(run.q.values[-1], stopped * v0 / speed, atol=1e-8)
    np.testing.assert_allclose(run["lambda"], 2.0 * G, rtol=1e-10)
    np.testing.assert_allclose(run.dissipated[-1], 0.5 * 2.0 * speed**2, rtol=1e-8)
    assert np.abs(run.balance).max() < 1e-8 and run["lambda"].attrs["units"] == "N"


def test_a_ball_passes_from_sliding_into_rolling():
    """A solid ball rolls with 5/7 v₀ after 2 v₀/(7 μ g) and 12 v₀²/(49 μ g)."""
    r, v0 = 0.1, 1.4
    kind = Sliding("ball", Plane(), radius=r, mu=MU, width=1e-4, name="floor")
    closed = dl.Constrained(ball(r), [kind], guess=[0, 0, r, 0, 0, 0, 1])
    rolls = 2 * v0 / (7 * MU * G)
    run = dl.simulate(
        closed, [0, 0, r, 0, 0, 0, 1], [v0, 0, 0, 0, 0, 0], duration=0.2, dt=0.01, rtol=1e-9
    )
    t = run.time.values
    R = np.stack([closed.system.pose(q, frame="ball")[:3, :3] for q in run.q.values])
    v = np.einsum("tij,tj->ti", R, run.qd.values[:, :3])
    omega = np.einsum("tij,tj->ti", R, run.qd.values[:, 3:])
    sliding = t < rolls - 1e-3
    np.testing.assert_allclose(v[sliding, 0], v0 - MU * G * t[sliding], atol=1e-8)
    np.testing.assert_allclose(omega[sliding, 1], 2.5 * MU * G / r * t[sliding], atol=1e-7)
    np.testing.assert_allclose(v[-1], [5 / 7 * v0, 0, 0], atol=1e-8)
    np.testing.assert_allclose(omega[-1] * r, [0, 5 / 7 * v0, 0], atol=1e-8)
    # the smoothed end of the slip moves the ball by less than width × time
    end = 12 * v0**2 / (49 * MU * G) + 5 / 7 * v0 * (t[-1] - rolls)
    np.testing.assert_allclose(run.q.values[-1, 0], end, atol=1e-6)


@pytest.mark.parametrize("tilt", [0.2, 0.5])
def test_on_a_slope_it_slides_or_creeps(tilt):
    """g (sin α − μ cos α) beyond tan α = μ; below, a creep of width · tan α/μ bears the load."""
    gravity = G * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    block = dl.Constrained(slider("xz", gravity), [Sliding("to_z", Plane(), mu=MU, name="slope")])
    q = np.zeros(2)
    if np.tan(tilt) > MU:
        qdd, lam = block.forward_dynamics(q, [0.4, 0.0], np.zeros(2))
        np.testing.assert_allclose(qdd[0], G * (np.sin(tilt) - MU * np.cos(tilt)), rtol=1e-12)
    else:
        creep = 1e-3 * np.tan(tilt) / MU
        qdd, lam = block.forward_dynamics(q, [creep, 0.0], np.zeros(2))
        np.testing.assert_allclose(qdd, 0.0, atol=1e-11)
    friction = block.contact_friction(q, [0.4, 0.0], lam)
    np.testing.assert_allclose(friction, [-MU * lam[0], 0, 0, 0, 0, 0], atol=1e-11)


def test_a_soft_finger_spins_down_and_couples_slip_with_spin():
    """I ω̇ = −γ m g while it only spins; with slip, both follow the limit ellipsoid (SciPy)."""
    r, mass, gamma = 0.1, 2.0, 0.02
    kind = SoftFinger("ball", Plane(), radius=r, mu=MU, torsion=gamma, width=1e-5, name="floor")
    closed = dl.Constrained(ball(r), [kind], guess=[0, 0, r, 0, 0, 0, 1])
    q = np.array([0, 0, r, 0, 0, 0, 1.0])
    inertia = 0.4 * mass * r**2
    qdd, lam = closed.forward_dynamics(q, [0, 0, 0, 0, 0, 3.0], np.zeros(6))
    np.testing.assert_allclose(qdd, [0, 0, 0, 0, 0, -gamma * mass * G / inertia], atol=1e-10)

    def planar(t, x):
        v, wy, wz = x  # centre, roll and spin; the contact slips with v − r ω_y
        slip = v - r * wy
        speed = np.hypot(MU * slip, gamma * wz)
        f, m = MU**2 * slip / speed, gamma**2 * wz / speed
        return np.array([-G * f, r * mass * G * f / inertia, -mass * G * m / inertia])

    duration = 0.1
    start = [1.0, 0.0, 8.0]
    expected = solve_ivp(planar, (0, duration), start, rtol=1e-11, atol=1e-12).y[:, -1]
    run = dl.simulate(closed, q, [1.0, 0, 0, 0, 0, 8.0], duration=duration, dt=duration)
    R = closed.system.pose(run.q.values[-1], frame="ball")[:3, :3]
    v, omega = R @ run.qd.values[-1, :3], R @ run.qd.values[-1, 3:]
    np.testing.assert_allclose([v[0], omega[1], omega[2]], expected, atol=1e-7)
    F = closed.contact_friction(q, [1.0, 0, 0, 0, 0, 8.0], lam)
    np.testing.assert_allclose(
        (F[:3] @ F[:3]) / MU**2 + (F[3:] @ F[3:]) / gamma**2, lam[0] ** 2, rtol=1e-12
    )


def two_balls():
    """Two balls joined at a distance, both rubbing on one sphere: normal forces that interact."""
    links = [
        {
            "name": name,
            "joint": {"name": f"fly_{name}", "type": "free"},
            "mass": m,
            "inertia": 0.4 * m * 0.04 * np.eye(3),
        }
        for name, m in (("a", 1.0), ("b", 2.0))
    ]
    robot = dl.Robot.from_links(links, name="balls")
    kinds = [
        Sliding("a", Sphere(1.0), radius=0.2, mu=0.4, name="first"),
        SoftFinger("b", Sphere(1.0), radius=0.2, mu=0.2, torsion=0.03, name="second"),
        dl.Distance("a", "b", 0.7, name="rod"),
    ]
    guess = [0.35, 0, 1.15, 0, 0, 0, 1, -0.35, 0.1, 1.15, 0, 0, 0, 1]
    return dl.Constrained(robot, kinds, guess=guess)


def saddle_point(closed, q, qd, tau, frictional):
    """(q̈, λ) from [M Dᵀ; A 0] by NumPy, friction in D from poses and velocities of the balls."""
    free, A = closed.system, closed.jacobian(q)
    D = A.copy()
    for k, (name, mu, gamma) in enumerate((("a", 0.4, 0.0), ("b", 0.2, 0.03))):
        J = free.jacobian(q, frame=name, expressed_in="world")
        n = free.pose(q, frame=name)[:3, 3] / 1.2
        V = J @ qd
        slip = V[:3] + np.cross(V[3:], -0.2 * n)
        slip = slip - (slip @ n) * n
        speed = np.sqrt(mu**2 * slip @ slip + gamma**2 * (V[3:] @ n) ** 2)
        force, moment = mu**2 * slip / speed, gamma**2 * (V[3:] @ n) * n / speed
        if name in frictional:
            D[k] += J.T @ np.concatenate([force, moment + np.cross(-0.2 * n, force)])
    K = np.block([[free.mass_matrix(q), D.T], [A, np.zeros((3, 3))]])
    x = np.linalg.solve(K, np.concatenate([tau - free.bias(q, qd), closed.drift(q, qd)]))
    return np.split(x, [closed.nv])


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_meets_the_equations_with_friction(route):
    closed = two_balls()
    q, qd, tau = consistent_states(closed, np.random.default_rng(5), 1, spread=0.1)
    q, qd, tau = q[0], qd[0], 0.5 * tau[0]
    result = closed.reference("forward_dynamics", q, qd, tau, formulation=route)
    expected = saddle_point(closed, q, qd, tau, "ab")
    assert (expected[1][:2] > 0.0).all()
    for x, y in zip(result, expected, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-8)


def test_of_two_contacts_only_the_pressed_one_has_friction():
    """The first ball is pulled off; the second's friction is what it is without the first's."""
    closed = two_balls()
    q, qd, tau = consistent_states(closed, np.random.default_rng(5), 1, spread=0.1)
    R = closed.system.pose(q[0], frame="a")[:3, :3]
    tau = np.concatenate([R.T @ [0.0, 0.0, 40.0], np.zeros(9)])
    result = closed.reference("forward_dynamics", q[0], qd[0], tau)
    expected = saddle_point(closed, q[0], qd[0], tau, "b")
    assert expected[1][0] < -10.0 and expected[1][1] > 0.0
    for x, y in zip(result, expected, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-8)


def rod(mu):
    """Painlevé's rod, half length 1, its lower end on the floor."""
    slender = np.diag([0.0, 1.0 / 3.0, 1.0 / 3.0])
    links = [
        {"name": "to_x", "joint": {"name": "x", "type": "prismatic", "axis": (1.0, 0.0, 0.0)}},
        {
            "name": "to_z",
            "parent": "to_x",
            "joint": {"name": "z", "type": "prismatic", "axis": (0.0, 0.0, 1.0)},
        },
        {
            "name": "rod",
            "parent": "to_z",
            "joint": {"name": "turn", "type": "revolute", "axis": (0.0, -1.0, 0.0)},
            "mass": 1.0,
            "inertia": slender,
        },
    ]
    end = dl.spatial.pose(p=[-1.0, 0.0, 0.0])
    robot = dl.Robot.from_links(links, frames={"end": ("rod", end)}, name="rod")
    return dl.Constrained(
        robot, [Sliding("end", Plane(), mu=mu, name="floor")], guess=[0, 0.9, 1.1]
    )


def test_painleves_rod_jams_beyond_four_thirds():
    """λ (1 + 3 cos θ (cos θ − μ sin θ)) = m (g − θ̇² sin θ): no solution beyond μ = 4/3 at tan θ = 2.

    The rod slides ahead of its lower end (Painlevé 1895; Génot and Brogliato 1999).
    """
    theta = np.arctan(2.0)
    q, qd = np.array([0.0, np.sin(theta), theta]), np.array([-1.0, 0.0, 0.0])
    c, s = np.cos(theta), np.sin(theta)
    for mu in (0.5, 1.3):
        _, lam = rod(mu).forward_dynamics(q, qd, np.zeros(3))
        np.testing.assert_allclose(lam[0], G / (1 + 3 * c * (c - mu * s)), rtol=1e-9)
    with pytest.raises(ConstraintError, match=r"friction jams .*'floor'.*Painlevé"):
        rod(1.4).forward_dynamics(q, qd, np.zeros(3))


def test_a_contact_that_pulls_does_not_rub():
    block = dl.Constrained(slider("xz"), [Sliding("to_z", Plane(), mu=MU, name="floor")])
    qdd, lam = block.forward_dynamics([0.0, 0.0], [0.5, 0.0], [0.0, 3.0 * 2.0 * G])
    np.testing.assert_allclose(lam, [-2.0 * 2.0 * G])
    np.testing.assert_allclose(qdd, 0.0, atol=1e-12)


def test_torques_of_a_motion_bear_its_friction():
    """Pulled along, m a + μ m g; free to lift, least of all at the angle of friction, tan β = μ."""
    block = dl.Constrained(slider("xz"), [Sliding("to_z", Plane(), mu=MU, name="floor")])
    state, a = ([0.0, 0.0], [0.5, 0.0], [0.7, 0.0]), 0.7
    tau, lam = block.inverse_dynamics(*state, actuators=["x"])
    np.testing.assert_allclose(tau, [2.0 * (a + MU * G), 0.0], rtol=1e-9)
    np.testing.assert_allclose(lam, 2.0 * G, rtol=1e-9)
    tau, lam = block.inverse_dynamics(*state)
    pull = 2.0 * (a + MU * G) / (1.0 + MU**2)
    np.testing.assert_allclose(tau, [pull, MU * pull], rtol=1e-9)
    np.testing.assert_allclose(lam, 2.0 * G - MU * pull, rtol=1e-9)
    with pytest.raises(ConstraintError, match="would pull at a contact with friction"):
        block.inverse_dynamics([0.0, 0.0], [0.5, 0.0], [60.0, 0.0])


def test_what_has_no_meaning_with_friction_is_refused():
    block = dl.Constrained(slider("xz"), [Sliding("to_z", Plane(), mu=MU, name="floor")])
    smooth = dl.Constrained(slider("xz"), [PointOnSurface("to_z", Plane(), name="floor")])
    with pytest.raises(FormulationError, match="the decoupled form is for constraints without"):
        block.decoupled([0.0, 0.0], [0.5, 0.0], [0.0, 0.0])
    with pytest.raises(SettingError, match="Kane's equations are for constraints without friction"):
        dl.simulate(block, duration=0.1, formulation="kane")
    with pytest.raises(ConstraintError, match="no contact with friction"):
        smooth.contact_friction([0.0, 0.0], [0.5, 0.0], [1.0])
    with pytest.raises(ConstraintError, match="give mu a positive value"):
        Sliding("to_z", Plane(), name="floor")
    with pytest.raises(ConstraintError, match="give torsion a positive value"):
        SoftFinger("to_z", Plane(), mu=0.3, torsion=-1.0, name="floor")


def test_friction_may_be_a_parameter():
    mu = dl.Parameter("mu", 0.3)
    block = dl.Constrained(slider("xz"), [Sliding("to_z", Plane(), mu=mu, name="floor")])
    for value in (0.3, 0.6):
        qdd, _ = block.forward_dynamics(
            [0.0, 0.0], [0.5, 0.0], np.zeros(2), parameters={"mu": value}
        )
        np.testing.assert_allclose(qdd[0], -value * G, rtol=1e-12)
        F = block.contact_friction([0.0, 0.0], [0.5, 0.0], [10.0], parameters={"mu": value})
        np.testing.assert_allclose(F, [-10.0 * value, 0, 0, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("jammed", [(0,), (1,), (2,), (0, 2), ()])
def test_any_contact_that_jams_gives_nan(jammed):
    """Each normal force grows with its own friction: the pivot 1 − R_kk of any contact decides."""
    count = 3
    R = np.diag([1.5 if k in jammed else 0.25 for k in range(count)])

    def route(system, q, qd, tau):
        return tau, 4.0 - R @ tau  # λ by a force −e is λ⁰ + R e

    system = SimpleNamespace(
        frictional_rows=tuple(range(count)), friction_rows=lambda q, qd: (np.eye(count), None)
    )
    result = with_friction(route)(system, np.zeros(3), np.zeros(3), np.zeros(count))
    for array in result:
        assert np.isnan(array).all() if jammed else np.isfinite(array).all()
