"""`simulate(formulation=…)`: every route, and Kane's variables, give the same motion."""

import numpy as np
import pytest

import dalembert as dl
from tests.constraints.states import ROUTES as CATALOGUE

ROUTES = (*CATALOGUE, "kane")


def over_the_top(formulation, method="DOP853", **options):
    """A particle on a rod that goes round: every coordinate is a bad one somewhere."""
    pendulum = dl.load("pendulum_constrained")
    start = ([0.0, -1.0], [7.0, 0.0])
    settings = {"duration": 2.0, "dt": 1e-3, "save_every": 10, "method": method, **options}
    return dl.simulate(pendulum, *start, formulation=formulation, **settings)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
@pytest.mark.parametrize("formulation", ROUTES)
def test_a_rod_that_goes_round_is_the_pendulum(formulation, method):
    """Against the pendulum in its angle: pivots are chosen again, the basis follows the motion."""
    run = over_the_top(formulation, method)
    angle = dl.simulate(dl.load("pendulum"), [0.0], [7.0], duration=2.0, dt=1e-3, save_every=10)
    theta, rate = angle.q.values[:, 0], angle.qd.values[:, 0]
    assert run.attrs["status"] == "complete" and run.attrs["formulation"] == formulation
    assert np.ptp(theta) > 2 * np.pi
    np.testing.assert_allclose(run.q, np.stack([np.sin(theta), -np.cos(theta)], 1), atol=1e-8)
    # the tension m (l θ̇² + g cos θ), whatever route the motion took
    np.testing.assert_allclose(run["lambda"][:, 0], rate**2 + 9.81 * np.cos(theta), atol=1e-7)
    if formulation == "kane":
        # v_r = √m l θ̇ all the way round, without a change of sign
        np.testing.assert_allclose(run.v_r[:, 0], rate, atol=1e-8)
        assert run.v_r.dims == ("time", "freedom") and run.v_r.attrs["units"] == "√J"


@pytest.mark.parametrize("formulation", ["elimination", "kane"])
def test_a_batch_takes_each_sample_from_its_own_pivots(formulation):
    pendulum = dl.load("pendulum_constrained")
    angles, rates = np.array([0.0, 1.5, 3.0]), np.array([7.0, -5.0, 2.0])
    q0 = np.stack([np.sin(angles), -np.cos(angles)], axis=-1)
    qd0 = rates[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    options = {"duration": 0.5, "dt": 1e-3, "save_every": 50}
    run = dl.simulate(pendulum, q0, qd0, formulation=formulation, **options)
    exact = dl.simulate(dl.load("pendulum"), angles[:, None], rates[:, None], **options)
    theta = exact.q.values[..., 0]
    np.testing.assert_allclose(run.q, np.stack([np.sin(theta), -np.cos(theta)], -1), atol=1e-9)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_kanes_form_takes_constraints_that_move_controllers_and_functions(method):
    """A particle on a wire that turns: r̈ = ω² r along it; the wire's work counts."""
    omega = 1.3
    wire = dl.Driver(lambda q, t: np.stack([q[0] * np.sin(omega * t) - q[1] * np.cos(omega * t)]))
    particle = dl.load("pendulum_constrained", g=0.0).system
    closed = dl.Constrained(particle, [wire], guess=[1.0, 0.0])
    settings = {"duration": 1.0, "dt": 1e-3, "save_every": 100, "method": method}
    run = dl.simulate(closed, [0.8, 0.0], [0.2, 0.8 * omega], formulation="kane", **settings)
    t = run.time.values
    r = 0.8 * np.cosh(omega * t) + 0.2 / omega * np.sinh(omega * t)
    expected = r[:, None] * np.stack([np.cos(omega * t), np.sin(omega * t)], axis=1)
    np.testing.assert_allclose(run.q, expected, atol=1e-9)
    assert float(abs(run.balance).max()) < 1e-8 and float(run.work[-1]) > 0.1

    def push(t, q, qd):
        return np.stack([0.3 * q[..., 1], -0.2 * qd[..., 0]], axis=-1)

    runs = [over_the_top(name, method, tau=push, duration=0.2) for name in (None, "kane")]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)


@pytest.mark.parametrize("formulation", ["elimination", "kane"])
def test_a_run_goes_on_from_its_checkpoint_to_the_same_bits(formulation, tmp_path):
    whole = over_the_top(formulation, checkpoint=tmp_path)
    for chunk in sorted(tmp_path.glob("*.npz"))[9:]:
        chunk.unlink()
    again = over_the_top(formulation, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.qd, whole.qd)
    with pytest.raises(dl.SimulationError, match="another run: formulation"):
        over_the_top("gauge", checkpoint=tmp_path)


def test_until_sees_velocities_in_kanes_variables():
    run = over_the_top("kane", until=lambda t, q, qd: qd[1] - 3.0)
    assert run.attrs["status"] == "event"
    np.testing.assert_allclose(run.qd[-1, 1], 3.0, atol=1e-9)


@pytest.mark.parametrize("formulation", ["elimination", "kane"])
def test_hybrid_control_has_its_poles_by_every_formulation(formulation):
    """The law keeps a state z of its own, ż = λ − λ_d: θ − θ_d and λ − λ_d decay as promised."""
    linkage = dl.load("four_bar")
    target, lam = linkage.neutral()[:1] + 0.05, np.linspace(1.0, 2.0, linkage.rows)
    integral = np.ones(linkage.rows)
    controller = dl.control.Hybrid(
        linkage, ("crank",), target, 36.0, 12.0, lam=lam, ki=3.0, integral=integral
    )
    settings = {"duration": 1.0, "dt": 0.05, "formulation": formulation}
    run = dl.simulate(linkage, None, None, controller, **settings)
    t = run.time.values[:, None]
    promised = -0.05 * (1.0 + 6.0 * t) * np.exp(-6.0 * t)
    np.testing.assert_allclose(run.q.values[:, :1] - target, promised, atol=1e-9)
    decay = np.exp(-3.0 * t) * integral
    np.testing.assert_allclose(run["lambda"] - lam, -3.0 * decay, atol=1e-7)
    np.testing.assert_allclose(run.controller, decay, atol=1e-7)


def test_friction_brakes_speeds_as_it_brakes_velocities():
    """Coulomb friction and a damper in geared joints, smoothed: they take the same energy."""
    frictional = [
        {"name": "crank", "type": "revolute", "axis": (0.0, 0.0, 1.0), "coulomb": 0.2},
        {"name": "rocker", "type": "revolute", "axis": (0.0, 0.0, 1.0), "viscous": 0.3},
    ]
    rod = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": np.eye(3) / 12.0}
    robot = dl.Robot.from_links(
        [
            {"name": "a", "joint": frictional[0], **rod},
            {"name": "b", "joint": {**frictional[1], "origin_xyz": (1.0, 0.0, 0.0)}, **rod},
        ],
        gravity=(0.0, -9.81, 0.0),
    )
    closed = dl.Constrained(robot, [dl.JointCoupling("rocker", "crank", ratio=-2.0)])
    settings = {"duration": 0.5, "dt": 0.01, "smoothing": 0.1}
    runs = [
        dl.simulate(closed, [0.2, -0.4], [2.0, -4.0], formulation=name, **settings)
        for name in (None, "kane")
    ]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-8)
    np.testing.assert_allclose(runs[1].dissipated, runs[0].dissipated, atol=1e-7)
    assert float(runs[1].dissipated[-1]) > 0.5 and float(abs(runs[1].balance).max()) < 1e-7


@pytest.mark.parametrize("formulation", ["elimination", "kane"])
def test_samples_may_have_their_own_parameters(formulation):
    """Falling through the top with other gravities: each sample is a run of its own."""
    pendulum = dl.load("pendulum_constrained", g=dl.Parameter("g", 9.81))
    values = np.array([[9.81], [1.62]])
    start = np.tile([0.0, -1.0], (2, 1)), np.tile([7.0, 0.0], (2, 1))
    settings = {"duration": 0.5, "dt": 1e-3, "save_every": 100, "formulation": formulation}
    both = dl.simulate(pendulum, *start, parameters=values, **settings)
    for k, g in enumerate(values[:, 0]):
        one = dl.simulate(pendulum, start[0][k], start[1][k], parameters={"g": g}, **settings)
        np.testing.assert_allclose(both.q[:, k], one.q, atol=1e-9)


def test_a_formulation_of_a_robot():
    arm = dl.load("planar_2r")
    settings = {"duration": 0.2, "dt": 0.01}
    runs = [
        dl.simulate(arm, [0.1, 0.2], [1.0, 0.0], formulation=name, **settings)
        for name in dl.formulations("forward_dynamics")
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-10)


def test_what_no_formulation_goes_with_is_said():
    pendulum, arm = dl.load("pendulum_constrained"), dl.load("planar_2r")
    with pytest.raises(dl.UnknownNameError, match="did you mean 'projection'"):
        dl.simulate(pendulum, duration=0.1, formulation="projections")
    with pytest.raises(dl.SettingError, match="generalized_alpha solves equations of its own"):
        dl.simulate(pendulum, duration=0.1, formulation="gauge", method="generalized_alpha")
    for system, method in ((pendulum, "semi_implicit"), (arm, "rk4")):
        with pytest.raises(dl.SettingError, match="by one of DOP853"):
            dl.simulate(system, duration=0.1, formulation="kane", method=method)
    driven = dl.Constrained(pendulum, [dl.Driver(lambda q, t: q[0] - 0.1 * t, name="drive")])
    with pytest.raises(dl.SettingError, match="leave no freedom"):
        dl.simulate(driven, duration=0.1, formulation="kane")
    with pytest.raises(dl.SettingError, match="solves equations of its own"):
        dl.simulate(dl.load("n_four_bar", N=3), duration=0.1, formulation="gauge")
