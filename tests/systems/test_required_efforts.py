"""Which efforts and controls give a motion: passive joints, redundant drives, loops, statics."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ConstraintError
from dalembert.model.coupling import Follow, couple

ARM = dl.load("planar_2r")
Q, QD, QDD = np.array([0.4, -0.7]), np.array([0.3, 0.5]), np.array([1.0, -2.0])


def servos(*names, **more):
    return [
        dl.Actuator(n, n, gain=[30.0], bias=[1.0, -30.0, -2.0], gear=[2.0], **more) for n in names
    ]


def given_back(system, demand, q, qd, qdd):
    """The controls give the motion they were asked for."""
    more = {"activation": demand.activation} if system.activations else {}
    tau = system.actuator_forces(q, qd, demand.controls, **more)
    np.testing.assert_allclose(tau, demand.tau, rtol=0, atol=1e-9)
    result = system.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(result[0] if isinstance(result, tuple) else result, qdd, atol=1e-8)


@pytest.mark.parametrize("dynamics", ["none", "filter", "integrator"])
def test_controls_give_back_the_motion_they_were_asked_for(dynamics):
    robot = ARM.with_actuators(servos(*ARM.model.velocities, dynamics=dynamics))
    demand = robot.required_controls(Q, QD, QDD)
    given_back(robot, demand, Q, QD, QDD)
    np.testing.assert_allclose(demand.tau, robot.inverse_dynamics(Q, QD, QDD), atol=1e-12)
    if robot.activations:
        assert abs(robot.activation_rate(demand.controls, demand.activation)).max() < 1e-12


def test_batches_and_limits():
    robot = ARM.with_actuators(servos(*ARM.model.velocities, control_range=(-1.0, 1.0)))
    q = np.stack([Q, np.zeros(2), Q + 2.0])
    demand = robot.static_controls(q)
    assert demand.controls.shape == (3, 2) and demand.within.shape == (3, 2)
    np.testing.assert_array_equal(demand.within, abs(demand.controls) <= 1.0)
    assert demand.within.any() and not demand.within.all()


def test_redundant_actuators_share_by_weights_and_internal_efforts_move_nothing():
    names = ARM.model.velocities
    both = dl.Actuator("cable", "tool", transmission="site", gear=[1.0, 2.0])
    robot = ARM.with_actuators([*servos(*names), both])
    B = robot.transmission(Q)
    tau = robot.inverse_dynamics(Q, QD, QDD)
    f = robot.required_efforts(Q, QD, QDD)
    np.testing.assert_allclose(f, np.linalg.pinv(B.T) @ tau, atol=1e-10)
    weights = np.array([1.0, 4.0, 0.1])
    w = robot.required_efforts(Q, QD, QDD, weights=weights)
    np.testing.assert_allclose(w @ B, tau, atol=1e-10)
    inside = robot.internal_efforts(Q)
    assert inside.shape == (3, 1)
    np.testing.assert_allclose(inside.T @ B, 0.0, atol=1e-12)
    np.testing.assert_allclose(inside.T @ (weights * w), 0.0, atol=1e-10)  # stationary


def test_a_passive_joint_is_honoured_and_named():
    first, second = ARM.model.velocities
    robot = ARM.with_actuators(servos(first))
    with pytest.raises(ConstraintError, match=f"nothing exerts what '{second}' would need"):
        robot.required_efforts(Q, QD, QDD)
    # a motion that the passive joint makes by itself
    qdd = ARM.forward_dynamics(Q, QD, [3.0, 0.0])
    np.testing.assert_allclose(robot.required_efforts(Q, QD, qdd), [1.5], atol=1e-10)


def test_actuators_of_followers_drive_their_leaders():
    first, second = ARM.model.velocities
    tree = ARM.with_actuators(servos(second)).model
    robot = dl.Robot(couple(tree, {second: Follow(first, -2.0, 0.1)}))
    demand = robot.required_controls([0.4], [0.3], [1.0])
    given_back(robot, demand, np.array([0.4]), np.array([0.3]), [1.0])
    np.testing.assert_allclose(robot.transmission([0.4]), [[-4.0]])


def driven(name, joints):
    closed = dl.load(name)
    built = closed.robot.with_actuators(servos(*joints))
    return dl.Constrained(built, closed.dynamics.constraint_set, guess=closed.neutral())


def test_loops_are_held_by_one_actuator_with_the_forces_of_the_loop():
    linkage = dl.load("four_bar")
    closed = driven("four_bar", linkage.robot.model.velocities[:1])
    q, qd, qdd = closed.random_state(np.random.default_rng(0))
    demand = closed.required_controls(q, qd, qdd)
    given_back(closed, demand, q, qd, qdd)
    tau, lam = closed.inverse_dynamics(q, qd, qdd, actuators=closed.robot.model.velocities[:1])
    np.testing.assert_allclose(demand.tau, tau, atol=1e-9)
    np.testing.assert_allclose(demand.lam, lam, atol=1e-8)
    still = closed.static_controls(np.stack([q, q]))
    assert still.lam.shape == (2, closed.rows)
    qdd_still, _ = closed.forward_dynamics(q, 0 * q, still.tau[0])
    np.testing.assert_allclose(qdd_still, 0.0, atol=1e-9)


def test_redundant_drives_of_a_loop_have_internal_efforts():
    linkage = dl.load("four_bar")
    closed = driven("four_bar", linkage.robot.model.velocities)
    q, qd, qdd = closed.random_state(np.random.default_rng(1))
    f, lam = closed.required_efforts(q, qd, qdd)
    inside = closed.internal_efforts(q)
    assert inside.shape == (closed.nv, closed.nv - closed.freedoms)
    np.testing.assert_allclose(inside.T @ f, 0.0, atol=1e-9)
    B = closed.transmission(q)
    squeezed, _ = closed.forward_dynamics(q, qd, (f + inside @ np.ones(inside.shape[1])) @ B)
    np.testing.assert_allclose(squeezed, qdd, atol=1e-8)
    # the internal forces may be chosen by what the loop carries
    eased, least_lam = closed.required_efforts(q, qd, qdd, lam=np.zeros(closed.rows))
    assert np.linalg.norm(least_lam) < np.linalg.norm(lam) or np.linalg.norm(least_lam) < 1e-9
    np.testing.assert_allclose(closed.forward_dynamics(q, qd, eased @ B)[0], qdd, atol=1e-8)


def test_a_system_without_actuators_is_held_by_torques():
    np.testing.assert_allclose(ARM.static_controls(Q).tau, ARM.gravity_torque(Q), atol=1e-12)
    with pytest.warns(DeprecationWarning, match="static_controls"):
        assert np.array_equal(ARM.holding(Q).tau, ARM.static_controls(Q).tau)
    linkage = dl.load("four_bar")
    required = linkage.static_controls(linkage.neutral())
    qdd, _ = linkage.forward_dynamics(linkage.neutral(), np.zeros(linkage.nv), required.tau)
    np.testing.assert_allclose(qdd, 0.0, atol=1e-9)


def test_actuators_of_a_file_that_closes_a_chain_drive_the_closed_chain(tmp_path):
    """Two rods pinned at their ends, a motor at one: loaded closed, held, written, and shown."""
    text = """<mujoco model="pair"><worldbody>
      <body name="left"><joint name="a" axis="0 1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 .3 0 .4"/></body>
      <body name="right" pos=".6 0 0"><joint name="b" axis="0 1 0"/><joint name="s" type="slide"
        axis="0 0 1"/><geom type="capsule" size=".02" fromto="0 0 0 -.3 0 .4"/></body></worldbody>
      <equality><connect name="pin" body1="left" body2="right" anchor=".3 0 .4"/></equality>
      <actuator><motor name="drive" joint="a" gear="5"/></actuator></mujoco>"""
    path = tmp_path / "pair.xml"
    path.write_text(text)
    closed = dl.load(path)
    assert closed.actuators == ("drive",) and closed.freedoms == 1
    required = closed.static_controls(closed.neutral())
    qdd, _ = closed.forward_dynamics(closed.neutral(), np.zeros(3), required.tau)
    np.testing.assert_allclose(qdd, 0.0, atol=1e-9)
    np.testing.assert_allclose(required.tau[1:], 0.0)
    path.write_text(closed.to_mjcf())
    np.testing.assert_allclose(
        dl.load(path).static_controls(closed.neutral()).controls, required.controls
    )
    from dalembert.report.facts import describe

    assert describe(closed)["actuators"] == ["drive"]


def test_efforts_and_forces_on_arrays_of_jax():
    jax = pytest.importorskip("jax")
    robot = ARM.with_actuators(servos(*ARM.model.velocities))
    on = dl.jax(robot)
    u = np.array([0.1, 0.2])
    np.testing.assert_allclose(
        on.required_efforts(Q, QD, QDD), [*robot.required_efforts(Q, QD, QDD)], 1e-5
    )
    derivative = jax.jacobian(lambda u: on.actuator_forces(Q, QD, u))(u)
    np.testing.assert_allclose(derivative, np.diag([60.0, 60.0]), rtol=1e-5)
