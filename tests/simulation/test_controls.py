"""Runs under controls of actuators: activations beside q and q̇, every method, energies, MuJoCo."""

import mujoco
import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import FormulationError, SettingError, ShapeError, UnknownNameError
from dalembert.simulation.methods import ADAPTIVE, FIXED

ARM = """
<mujoco><option integrator="RK4" timestep="0.002"><flag constraint="disable"/></option><worldbody>
  <body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.3"/>
    <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.4"/>
    <body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" armature="0.01"/>
      <geom type="capsule" size=".04" fromto="0 0 0 0 0 -.3"/>
      <body name="hand" pos="0 0 -.3"><joint name="wrist" type="slide" axis="0 0 1"/>
        <geom type="sphere" size=".05"/></body></body></body></worldbody>
<actuator>
  <general name="servo" joint="shoulder" gainprm="30" biastype="affine" biasprm="0 -30 -2"
    dyntype="filter" dynprm="0.05"/>
  <motor name="motor" joint="elbow" gear="3" ctrlrange="-1 1"/>
  <intvelocity name="drift" joint="wrist" kp="200" kv="5" actrange="-0.5 0.5"/>
</actuator></mujoco>"""
KANE = {"formulation": "kane"}
Q, QD, U = np.array([0.3, -0.5, 0.02]), np.array([0.1, 0.2, -0.1]), np.array([0.8, 2.0, 0.1])


@pytest.fixture(scope="module")
def arm():
    return dl.Robot.from_mjcf(ARM)


def test_a_run_is_mujocos_rk4_to_rounding(arm):
    """One second by the same method and step; controls, damping and both activations included."""
    m = mujoco.MjModel.from_xml_string(ARM)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.ctrl[:], d.act[:] = Q, QD, U, [0.1, 0.2]
    for _ in range(500):
        mujoco.mj_step(m, d)
    start = {"servo": 0.1, "drift": 0.2}
    options = {"method": "rk4", "dt": 0.002, "duration": 1.0, "save_every": 100}
    run = dl.simulate(arm, Q, QD, controls=U, activation=start, **options)
    np.testing.assert_allclose(run.q[-1], d.qpos, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.qd[-1], d.qvel, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.activation[-1], d.act, rtol=0, atol=1e-12)
    assert list(run.actuator.values) == ["servo", "motor", "drift"]
    assert list(run.active.values) == ["servo", "drift"]
    np.testing.assert_array_equal(run.controls[3], U)
    expected = arm.actuator_forces(run.q.values, run.qd.values, U, run.activation.values)
    np.testing.assert_allclose(run.tau, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
def test_every_method_integrates_activations(arm, method):
    """Against the exact filter w = u (1 − e^{−t/T}), and the balance of energies with the motors."""
    if method == "baumgarte":
        pytest.skip("is for constraints")
    run = dl.simulate(arm, Q, QD, controls=U, duration=0.1, method=method, dt=1e-3, rtol=1e-8)
    coarse = method in ("euler", "semi_implicit", "generalized_alpha")  # first order in z
    exact = U[0] * (1.0 - np.exp(-run.time / 0.05))
    np.testing.assert_allclose(run.activation[:, 0], exact, atol=2e-2 if coarse else 2e-5)
    assert abs(run.balance).max() < (0.1 if coarse else 1e-4)


def test_the_balance_of_energies_counts_the_work_of_the_motors(arm):
    run = dl.simulate(arm, Q, QD, controls=U, duration=1.0, dt=0.01)
    assert abs(run.work).max() > 1.0 and abs(run.balance).max() < 1e-8


def test_controls_by_name_by_table_and_by_law_are_the_same_motion(arm):
    options = {"duration": 0.2, "method": "rk4", "dt": 1e-3}
    forms = [
        U,
        dict(zip(arm.actuators, U, strict=True)),
        dl.Samples([0.0, 1.0], [U, U]),
        lambda t, q, qd: U,
    ]
    runs = [dl.simulate(arm, Q, QD, controls=form, **options) for form in forms]
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, rtol=0, atol=1e-12)


def test_controls_and_activations_have_units(arm):
    """A servo is told a place, a motor a torque, an integrator how fast its place is to change."""
    run = dl.simulate(arm, Q, QD, controls=U, duration=0.01, dt=0.01, method="rk4")
    assert run.controls.attrs["units"] == "rad, N m, m/s"
    assert run.activation.attrs["units"] == "rad, m"
    controller = dl.simulate(
        arm, Q, QD, controls=lambda t, q, qd: U, duration=0.01, control_dt=0.005
    )
    assert controller.commanded.attrs["units"] == run.controls.attrs["units"]


def test_a_batch_and_a_controller_beside_controls(arm):
    options = {"duration": 0.1, "method": "rk4", "dt": 1e-3}
    many = dl.simulate(arm, np.stack([Q, Q]), controls=np.stack([U, 0 * U]), **options)
    np.testing.assert_allclose(many.q[:, 0], dl.simulate(arm, Q, controls=U, **options).q)
    controller = dl.control.PDGravity(arm, target=Q, kp=1.0, kd=0.1)
    both = dl.simulate(arm, Q, QD, controller, controls=U, **options)
    alone = dl.simulate(arm, Q, QD, controller, **options)
    own = arm.actuator_forces(both.q.values, both.qd.values, U, both.activation.values)
    q, qd = both.q.values, both.qd.values
    pd = Q - q - 0.1 * qd + arm.gravity_torque(q)
    np.testing.assert_allclose(both.tau, own + pd, rtol=0, atol=1e-12)
    assert abs(alone.q - both.q).max() > 1e-3


def test_closed_chains_are_driven_by_their_robots_actuators():
    """A four-bar with a filtered servo at its crank: projected, by Kane, energies in balance."""
    linkage = dl.load("four_bar")
    robot, crank = linkage.robot, linkage.robot.joints[0].name
    servo = dl.Actuator(
        "crank", crank, gain=[5.0], bias=[0.0, -5.0, -0.5], dynamics="filter", time_constant=0.1
    )
    driven = dl.Constrained(
        robot.with_actuators([servo]), linkage.dynamics.constraint_set, guess=linkage.neutral()
    )
    assert driven.actuators == ("crank",) and driven.activations == ("crank",)
    q = driven.neutral()
    options = {"duration": 0.3, "dt": 0.01, "controls": {"crank": q[0] + 0.3}}
    runs = [dl.simulate(driven, q, activation=[q[0]], **options, **form) for form in ({}, KANE)]
    for run in runs:
        assert abs(run.balance).max() < 1e-7 and abs(run.residual).max() < 1e-9
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(runs[0].activation, runs[1].activation, rtol=0, atol=1e-7)


def test_wrong_controls_are_named(arm):
    with pytest.raises(UnknownNameError, match="did you mean 'servo'"):
        dl.simulate(arm, Q, controls={"sero": 1.0}, duration=0.1)
    with pytest.raises(SettingError, match="not both"):
        dl.simulate(arm, Q, tau=np.zeros(3), controls=U, duration=0.1)
    with pytest.raises(ShapeError, match="controls has the shape"):
        dl.simulate(arm, Q, controls=[1.0], duration=0.1)
    with pytest.raises(SettingError, match="activation of 'motor', which has none"):
        dl.simulate(arm, Q, controls=U, activation={"motor": 1.0}, duration=0.1)
    with pytest.raises(SettingError, match="activation= is for runs under controls="):
        dl.simulate(arm, Q, activation=[0.0, 0.0], duration=0.1)
    with pytest.raises(FormulationError, match="planar_2r has no actuators"):
        dl.simulate(dl.load("planar_2r"), controls=[1.0], duration=0.1)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_a_rollout_under_controls_is_the_run(arm, method):
    """Ten starts in one kernel, activations in registers beside q and q̇."""
    rng = np.random.default_rng(0)
    q, u = rng.normal(size=(10, 3)), rng.normal(size=(10, 3))
    options = {"method": method, "dt": 1e-3}
    states = arm.rollout(q, 0 * q, None, 50, every=50, controls=u, activation=[0.1, 0.2], **options)
    run = dl.simulate(arm, q, controls=u, activation=[0.1, 0.2], duration=0.05, **options)
    for result, name in zip(states, ("q", "qd", "activation"), strict=True):
        np.testing.assert_allclose(result[-1], run[name][-1], rtol=0, atol=1e-11)
    with pytest.raises(SettingError, match="tau=None with controls="):
        arm.rollout(q, q, q, 2, 1e-3, controls=u)
    with pytest.raises(SettingError, match="has no actuators"):
        dl.load("pendulum").rollout([0.0], [0.0], None, 2, 1e-3, controls=[1.0])
