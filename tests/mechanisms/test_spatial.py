"""Spatial mechanisms: robots as oracles, free bodies, and joints with known motions."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.mechanisms.motions import ConstantSpeed
from dalembert.mechanisms.to_robot import robot_with_loops
from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.spatial.quaternions import matrix_from_quaternion
from tests.mechanisms.robots_in_space import absolute_state


@pytest.mark.parametrize("name", ["ur5", "scara", "iiwa14"])
def test_a_robot_in_absolute_coordinates(name: str) -> None:
    """M q̈ + h = τ of the tree against the constrained bodies; and back."""
    robot, rng = dl.load(name), np.random.default_rng(5)
    mechanism = dl.SpatialMechanism.from_robot(robot)
    assert mechanism.mobility == robot.nv
    q, qd, tau = (s * rng.normal(size=robot.nv) for s in (0.5, 1.0, 5.0))
    at, moving = absolute_state(robot, q, qd)
    names = mechanism.description.actuators
    state = mechanism.forward_dynamics(at, moving, torques=dict(zip(names, tau, strict=True)))
    back = robot_with_loops(mechanism)
    q2, qd2, qdd2 = back.coordinates(state)
    expected = np.linalg.solve(robot.mass_matrix(q), tau - robot.bias(q, qd))
    np.testing.assert_allclose(q2, q, atol=1e-13)
    np.testing.assert_allclose(qd2, qd, atol=1e-12)
    # the wrists of these arms are light: M has a condition of up to 1e5
    np.testing.assert_allclose(qdd2, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(back.robot.mass_matrix(q), robot.mass_matrix(q), atol=1e-13)


def test_joint_wrenches_of_a_robot_are_the_reactions() -> None:
    robot, rng = dl.load("ur5"), np.random.default_rng(6)
    mechanism = dl.SpatialMechanism.from_robot(robot)
    q, qd, tau = (s * rng.normal(size=6) for s in (0.5, 1.0, 5.0))
    at, moving = absolute_state(robot, q, qd)
    torques = dict(zip(mechanism.description.actuators, tau, strict=True))
    state = mechanism.forward_dynamics(at, moving, torques=torques)
    qdd = robot_with_loops(mechanism).coordinates(state)[2]
    for k, joint in enumerate(robot.model.joints):
        body = robot.model.bodies[k]
        total = state.wrench(f"{joint.name} pin", body.name) + state.wrench(joint.name, body.name)
        R = robot.pose(q, frame=joint.link)[:3, :3]
        measured = np.concatenate([R.T @ total[:3], R.T @ total[3:]])
        expected = _wrench(robot, q, qd, qdd, k)
        np.testing.assert_allclose(measured, expected, atol=1e-8)


def _wrench(robot: dl.Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, k: int) -> np.ndarray:
    """Of Newton–Euler, in the link frame, which has its origin at the joint here."""
    return robot.joint_wrenches(q, qd, qdd)[k]


def test_a_free_body_keeps_energy_and_angular_momentum() -> None:
    """Dzhanibekov's spin about the middle axis, with no constraint on the quaternion."""
    inertia = np.diag([1.0, 2.0, 2.7])
    mechanism = dl.SpatialMechanism(gravity=(0, 0, 0)).body(
        "top", 1.0, inertia, velocity=(0.1, 0.2, 0.3, 1e-3, 4.0, 1e-3)
    )
    assert mechanism.description.rows == 0
    run = mechanism.simulate(20.0, 0.5, rtol=1e-11, atol=1e-12)
    q, v = run.q.values, run.qd.values
    momentum = np.array(
        [matrix_from_quaternion(a[3:7]) @ inertia @ b[3:] for a, b in zip(q, v, strict=True)]
    )
    np.testing.assert_allclose(momentum, momentum[:1].repeat(len(momentum), 0), atol=1e-8)
    assert np.ptp((run.kinetic + run.potential).values) < 1e-8
    assert np.abs(v[:, 4]).min() < 3.9  # it did tumble
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0, atol=1e-13)


def shafts(angle: float) -> dl.SpatialMechanism:
    """Two shafts in bearings, meeting at the origin under an angle, with a Cardan joint."""
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    side = np.cross(out, (0.0, 0.0, 1.0))
    R = np.stack([out, -side, (0.0, 0.0, 1.0)], axis=1)
    return (
        dl.SpatialMechanism("cardan", gravity=(0, 0, 0))
        .body("in", 1.0, (0.1, 0.2, 0.2), at=(-1.0, 0.0, 0.0))
        .body("out", 1.0, (0.1, 0.2, 0.2), at=out, rotation=R)
        .revolute("bearing_in", "ground", "in", axis=(1.0, 0.0, 0.0), at=(-1.0, 0.0, 0.0))
        .cylindrical("bearing_out", "ground", "out", axis=out, at=out)
        .universal("cross", "in", "out", axes=((0, 0, 1), -side), at=(0.0, 0.0, 0.0))
    )


def test_cardan_joint_has_its_uneven_ratio() -> None:
    """tan θ_out = tan θ_in cos β when θ is measured from the first yoke (or / cos β): ω swings."""
    beta = np.radians(30.0)
    mechanism = shafts(beta).drive("spin", "bearing_in", ConstantSpeed(0.0, 2 * np.pi, 1.0))
    ratios = []
    for t in np.linspace(0.0, 1.0, 41):
        state = mechanism.kinematics(float(t))
        ratios.append(state.v[9] / (2 * np.pi))  # ω of `out` about its own axis, x
    assert abs(max(ratios) - 1.0 / np.cos(beta)) < 1e-10
    assert abs(min(ratios) - np.cos(beta)) < 1e-10


def test_screw_over_many_turns() -> None:
    """A nut that falls along its thread: g pitch/2π against the inertia of turning."""
    mechanism = (
        dl.SpatialMechanism("screw")
        .body("nut", 2.0, (0.01, 0.01, 0.02))
        .screw("thread", "ground", "nut", pitch=0.1)
    )
    run = mechanism.simulate(2.0, 0.1, rtol=1e-10, atol=1e-12)
    lead = 0.1 / (2 * np.pi)
    a = -9.81 * 2.0 / (2.0 + 0.02 / lead**2)
    fallen = run.q.values[-1, 2]
    assert fallen < -0.4  # four turns
    np.testing.assert_allclose(fallen, 0.5 * a * 4.0, rtol=1e-9)
    assert float(run.residual.max()) < 1e-11


def test_spatial_gear_over_many_turns() -> None:
    mechanism = (
        dl.SpatialMechanism("gear", gravity=(0, 0, 0))
        .body("a", 1.0, (0.1, 0.1, 0.2))
        .body("b", 1.0, (0.2, 0.2, 0.3), at=(1.0, 0.0, 0.0))
        .revolute("A", "ground", "a", at=(0.0, 0.0, 0.0))
        .revolute("B", "ground", "b", at=(1.0, 0.0, 0.0))
        .gear("mesh", "A", "B", radii=(0.4, 0.6))
        .torque("push", "a", (0.0, 0.0, 5.0))
    )
    run = mechanism.simulate(2.0, 0.05, rtol=1e-10)
    alpha = 5.0 / (0.2 + 0.3 * (0.4 / 0.6) ** 2)
    np.testing.assert_allclose(run.qd.values[-1, 5], 2 * alpha, rtol=1e-8)
    np.testing.assert_allclose(run.qd.values[-1, 11], -2 * alpha * 0.4 / 0.6, rtol=1e-8)
    assert 0.5 * alpha * 4 > 4 * np.pi


def spatial_four_bar() -> dl.SpatialMechanism:
    """A planar four-bar built of spatial revolutes: three rows too many."""
    mechanism = dl.SpatialMechanism("overdetermined", gravity=(0.0, -9.81, 0.0))
    positions = {"crank": (0.0, 0.5), "coupler": (0.5, 1.0), "rocker": (1.0, 0.5)}
    for name, (x, y) in positions.items():
        mechanism.body(name, 1.0, (0.08, 0.08, 0.09), at=(x, y, 0.0))
    mechanism.revolute("A", "ground", "crank", at=(0, 0, 0)).revolute(
        "B", "crank", "coupler", at=(0, 1, 0)
    )
    return mechanism.revolute("C", "coupler", "rocker", at=(1, 1, 0)).revolute(
        "D", "ground", "rocker", at=(1, 0, 0)
    )


def test_redundant_rows_leave_the_motion_alone() -> None:
    mechanism = spatial_four_bar()
    assert mechanism.mobility == -2 and mechanism.freedoms() == 1 and mechanism.redundant() == 3
    velocity = np.zeros(18)
    velocity[5] = velocity[17] = -1.0
    velocity[0] = velocity[12] = 0.5
    velocity[6] = 1.0
    run = mechanism.simulate(1.0, 0.1, v=velocity, rtol=1e-10, atol=1e-11)
    assert np.ptp((run.kinetic + run.potential).values) < 1e-7
    assert float(run.residual.max()) < 1e-10
    # the same rhombus by hand: (2(1/4 + 0.09) + 1) θ'' = −2 g cos θ
    from scipy.integrate import solve_ivp

    inertia = 2 * (0.25 + 0.09) + 1.0
    exact = solve_ivp(
        lambda t, y: [y[1], -2 * 9.81 * np.cos(y[0]) / inertia],
        (0, 1),
        [np.pi / 2, -1.0],
        rtol=1e-12,
        atol=1e-12,
    ).y[0, -1]
    np.testing.assert_allclose(run.q.values[-1, 0], 0.5 * np.cos(exact), atol=1e-7)


@pytest.mark.parametrize("kind", ["spherical", "planar", "prismatic", "fixed", "cylindrical"])
def test_joints_hold_while_the_body_moves(kind: str) -> None:
    mechanism = dl.SpatialMechanism(gravity=(1.0, 2.0, -9.81)).body(
        "b", 1.5, (0.3, 0.4, 0.5), at=(0.4, 0.1, 0.2), velocity=(0.3, -0.2, 0.1, 1.0, 0.5, 0.8)
    )
    getattr(mechanism, kind)("j", "ground", "b", at=(0.0, 0.0, 0.1))
    run = mechanism.simulate(0.5, 0.05, rtol=1e-10, atol=1e-12)
    assert float(run.residual.max()) < 1e-12
    assert np.ptp((run.kinetic + run.potential).values) < 1e-7


def test_reactions_in_any_frame_and_about_any_point() -> None:
    mechanism = dl.SpatialMechanism.from_robot(dl.load("ur5"))
    state = mechanism.forward_dynamics()
    name, body = mechanism.description.joints[1].name, mechanism.description.names[2]
    world = state.wrench(name, body)
    local = state.wrench(name, body, frame=body)
    R = state.rotation(body)
    np.testing.assert_allclose(R @ local[:3], world[:3], atol=1e-12)
    np.testing.assert_allclose(R @ local[3:], world[3:], atol=1e-12)
    elsewhere = state.wrench(name, body, at=(1.0, 2.0, 3.0))
    element = mechanism.description.element(name)
    joint = state.point((body, element.at[element.bodies.index(2)]))
    arm = joint - (1.0, 2.0, 3.0)
    np.testing.assert_allclose(elsewhere[3:], world[3:] + np.cross(arm, world[:3]), atol=1e-11)


def test_long_spatial_chain_is_banded_and_keeps_its_energy() -> None:
    mechanism = dl.SpatialMechanism("chain")
    ends = {"A": (-0.05, 0.0, 0.0), "B": (0.05, 0.0, 0.0)}
    # no principal axis along the rods, so that M^{-1/2} has full blocks
    tensor = np.array([[2.0, 0.2, 0.1], [0.2, 2.5, 0.3], [0.1, 0.3, 3.0]]) * 1e-4
    for k in range(25):
        mechanism.body(f"b{k}", 0.1, tensor, at=(0.1 * k + 0.05, 0.0, 0.0), points=ends)
        first = "ground" if k == 0 else f"b{k - 1}.B"
        mechanism.spherical(f"s{k}", first, f"b{k}.A")
    state = mechanism.forward_dynamics()
    assert mechanism.description.rows == 75 and mechanism._solver.linear.band <= 8
    a = mechanism.description.batch
    M = np.zeros((150, 150))
    for k in range(25):
        M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = a.mass[k]
    J = np.zeros((75, 150))
    for element in mechanism.description.elements:
        rows = mechanism.description.rows_of(element.name)
        blocks = state.measured(element)[1]
        for body, block in zip(element.bodies, blocks.transpose(1, 0, 2), strict=True):
            if body:
                J[rows, 6 * body - 6 : 6 * body] += block
    full = np.block([[M, J.T], [J, np.zeros((75, 75))]])
    right = np.concatenate([a.applied(0.0, state.q, state.v), np.zeros(75)])
    solved = np.linalg.solve(full, right)
    np.testing.assert_allclose(state.a, solved[:150], atol=1e-8)
    np.testing.assert_allclose(state.multipliers, solved[150:], atol=1e-9)
    run = mechanism.simulate(0.1, 1e-3, method="rk4", every=20)
    assert np.ptp((run.kinetic + run.potential).values) < 1e-6
    assert float(run.residual.max()) < 1e-12


def test_compiled_step_of_a_spatial_mechanism() -> None:
    mechanism = dl.SpatialMechanism("two").body(
        "a", 1.0, (0.02, 0.1, 0.1), at=(0.5, 0, 0), velocity=(0, 0, 0, 0, 1.0, 0)
    )
    mechanism.body("b", 1.0, (0.02, 0.1, 0.1), at=(1.5, 0, 0))
    mechanism.revolute("A", "ground", "a", at=(0, 0, 0), axis=(0, 1, 0))
    mechanism.spherical("B", "a", "b", at=(1, 0, 0)).force("f", "b", (0, 0.3, 0), (0, 0, 0.1), True)
    slow, quick = (mechanism.simulate(0.2, 2e-3, method="rk4", compiled=c) for c in (False, True))
    # projections differ by whether a correction turns by exp or to first order
    np.testing.assert_allclose(quick.q.values, slow.q.values, atol=1e-10)
    np.testing.assert_allclose(quick.qd.values, slow.qd.values, atol=1e-9)


def test_points_move_as_their_bodies_say() -> None:
    mechanism = shafts(0.5).drive("spin", "bearing_in", ConstantSpeed(0.0, 3.0, 1.0))
    end, h = ("out", (0.2, 0.1, -0.3)), 1e-4
    positions = [mechanism.kinematics(0.4 + s).point(end) for s in (-h, 0.0, h)]
    state = mechanism.kinematics(0.4)
    np.testing.assert_allclose(
        state.velocity(end), (positions[2] - positions[0]) / (2 * h), atol=1e-6
    )
    second = (positions[2] - 2 * positions[1] + positions[0]) / h**2
    np.testing.assert_allclose(state.acceleration(end), second, atol=1e-5)


def test_driven_angles_are_followed_over_turns_in_any_order() -> None:
    mechanism = shafts(0.5).drive("spin", "bearing_in", ConstantSpeed(0.0, 2 * np.pi, 1.0))
    late, early, later = (mechanism.kinematics(t) for t in (3.25, 0.25, 5.25))
    assert mechanism.freedoms() == 0
    again = mechanism.kinematics(4.25)
    for state in (late, later, again):
        np.testing.assert_allclose(state.rotation("out"), early.rotation("out"), atol=1e-11)
        np.testing.assert_allclose(state.v, early.v, atol=1e-9)


def test_a_torsion_spring_in_space_is_not_wound_past_half_a_turn_in_silence() -> None:
    mechanism = dl.SpatialMechanism("wound", gravity=(0, 0, 0)).body("b", 1.0, (0.1, 0.1, 0.2))
    mechanism.revolute("pin", "ground", "b").spring("k", "pin", stiffness=0.01)
    with pytest.warns(SimulationWarning, match=r"spring 'k' is wound by half a turn"):
        run = mechanism.simulate(5.0, 0.1, v=[0, 0, 0, 0, 0, 2.0])
    assert run.attrs["status"] == "stalled" and 1.3 < float(run.time[-1]) < 1.7
