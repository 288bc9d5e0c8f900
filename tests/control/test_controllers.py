"""Controllers of free systems: the errors they leave are those their laws promise."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import ComputedTorque, Line, OperationalSpace, PDGravity, quintic

Q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_computed_torque_has_the_poles_it_was_given(method: str) -> None:
    # ë + 2 ζω ė + ω² e = 0 from e(0) = 0.1, ė(0) = 0 in every joint
    robot = dl.load("ur5")
    controller = ComputedTorque(robot, Q0, kp=36.0, kd=12.0)
    run = dl.simulate(
        robot, Q0 + 0.1, None, controller, duration=1.0, dt=1e-3, save_every=20, method=method
    )
    t = run.time.values[:, None]
    promised = 0.1 * (1.0 + 6.0 * t) * np.exp(-6.0 * t) * np.ones(6)
    np.testing.assert_allclose(run.q - Q0, promised, atol=1e-8)


def test_computed_torque_tracks_a_moving_target() -> None:
    robot = dl.load("ur5")
    path = quintic(Q0, Q0 + 0.5, 1.0)
    run = dl.simulate(
        robot, Q0, None, ComputedTorque(robot, path, 100.0, 20.0), duration=1.2, dt=0.02
    )
    np.testing.assert_allclose(run.q, path(run.time.values).q, atol=1e-9)
    np.testing.assert_allclose(run.tau[10], robot.inverse_dynamics(*path(0.2)), atol=1e-6)


def test_integral_action_removes_the_error_of_an_unknown_payload() -> None:
    # the controller knows the arm, not the kilogram at its end
    def arm(payload: float) -> dl.Robot:
        rod = {"com": (-0.25, 0, 0), "inertia": 0.02 * np.eye(3)}
        rows = [{"a": 0.5, "mass": 2.0, **rod}, {"a": 0.5, "mass": 1.0, **rod}]
        rows += [{"mass": payload, "inertia": 1e-3 * np.eye(3)}]
        return dl.Robot.from_dh(rows, convention="standard", gravity=(0.0, -9.81, 0.0))

    known, loaded = arm(0.1), arm(0.4)
    q0 = np.array([0.5, 0.5, 0.1])
    errors = {}
    for ki in (None, 500.0):
        controller = ComputedTorque(known, q0, kp=400.0, kd=40.0, ki=ki)
        run = dl.simulate(loaded, q0, None, controller, duration=8.0, dt=0.05)
        errors[ki] = float(np.abs(run.q[-1] - q0).max())
    assert errors[None] > 5e-3
    assert errors[500.0] < 1e-4
    assert run.controller.shape[-1] == 3


def test_pd_with_gravity_comes_to_rest_at_its_target() -> None:
    robot = dl.load("elbow_3r")
    controller = PDGravity(robot, [0.4, 0.5, -0.6], kp=80.0, kd=40.0)
    run = dl.simulate(robot, [0.0, 0.0, 0.0], None, controller, duration=8.0, dt=0.1)
    np.testing.assert_allclose(run.q[-1], [0.4, 0.5, -0.6], atol=1e-5)


def test_gains_and_targets_are_inputs_of_one_kernel() -> None:
    from dalembert.simulation.engine import _cache

    robot = dl.load("planar_2r")
    before = None
    for kp in (10.0, 20.0):
        controller = ComputedTorque(robot, [kp / 100.0, 0.2], kp=kp, kd=5.0)
        dl.simulate(robot, [0.0, 0.0], None, controller, duration=0.1, dt=0.01)
        assert before is None or len(_cache) == before
        before = len(_cache)


# operational space


def pose_beside(robot: dl.Robot, shift: tuple, turn: float) -> tuple[np.ndarray, np.ndarray]:
    start = robot.pose(Q0[: robot.nv])
    goal = start.copy()
    goal[:3, 3] += shift
    c, s = np.cos(turn), np.sin(turn)
    goal[:3, :3] = start[:3, :3] @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return start, goal


@pytest.mark.parametrize("position_only", [True, False])
def test_the_tool_follows_its_line(position_only: bool) -> None:
    robot = dl.load("ur5")
    start, goal = pose_beside(robot, (0.1, 0.1, -0.1), 0.4)
    line = Line.quintic(start, goal, 1.0)
    controller = OperationalSpace(robot, line, kp=100.0, kd=20.0, position_only=position_only)
    run = dl.simulate(robot, Q0, None, controller, duration=1.2, dt=0.02)
    for t, q in zip(run.time.values, run.q.values, strict=True):
        desired, pose = line.at(t, line.constants), robot.pose(q)
        np.testing.assert_allclose(pose[:3, 3], desired.p, atol=1e-9)
        if not position_only:
            np.testing.assert_allclose(pose[:3, :3], desired.R, atol=1e-8)


def test_a_disturbed_tool_returns_with_the_poles_it_was_given() -> None:
    robot = dl.load("ur5")
    start, _ = pose_beside(robot, (0.0, 0.0, 0.0), 0.0)
    goal = start.copy()
    goal[:3, 3] += [0.02, -0.01, 0.03]
    line = Line(goal, goal, dl.control.hold([0.0]))
    controller = OperationalSpace(robot, line, kp=25.0, kd=10.0, position_only=True)
    run = dl.simulate(robot, Q0, None, controller, duration=1.0, dt=0.05)
    t = run.time.values[:, None]
    e = robot.pose(run.q.values)[:, :3, 3] - goal[:3, 3]
    np.testing.assert_allclose(e, e[0] * (1.0 + 5.0 * t) * np.exp(-5.0 * t), atol=1e-9)


def test_redundant_joints_are_damped_without_disturbing_the_task() -> None:
    robot = dl.load("panda")
    q0 = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.3])
    start = robot.pose(q0)
    controller = OperationalSpace(
        robot, Line(start, start, dl.control.hold([0.0])), 100.0, 20.0, damping=5.0
    )
    J = robot.jacobian(q0, expressed_in="world")
    idle = np.linalg.svd(J)[2][-1]  # a velocity that leaves the tool where it is
    run = dl.simulate(robot, q0, idle, controller, duration=1.0, dt=0.1)
    np.testing.assert_allclose(
        robot.pose(run.q.values), start[None] * np.ones((11, 1, 1)), atol=1e-6
    )
    assert float(np.linalg.norm(run.qd[-1])) < 0.02


# bad input


def test_what_does_not_fit_is_said() -> None:
    robot = dl.load("planar_2r")
    with pytest.raises(dl.DalembertError, match="3 joints, planar_2r has 2"):
        PDGravity(robot, [0.0, 0.0, 0.0], 1.0, 1.0)
    with pytest.raises(dl.DalembertError, match="kp must be a number"):
        PDGravity(robot, [0.0, 0.0], [1.0, 2.0, 3.0], 1.0)
    with pytest.raises(dl.DalembertError, match="position_only=True"):
        OperationalSpace(robot, Line.quintic(np.eye(4), np.eye(4), 1.0), 1.0, 1.0)
    ball = {"name": "ball", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}
    with pytest.raises(dl.DalembertError, match="spherical or free joints"):
        PDGravity(dl.Robot.from_links([ball]), [0.0, 0.0, 0.0], 1.0, 1.0)
    with pytest.raises(dl.DalembertError, match="spherical or free joints"):
        OperationalSpace(dl.Robot.from_links([ball]), np.eye(4), 1.0, 1.0, position_only=True)


def test_the_structure_of_a_controller_is_that_of_its_equations() -> None:
    robot = dl.load("elbow_3r")
    soft, stiff = (PDGravity(robot, np.zeros(3), kp, 10.0) for kp in (50.0, 100.0))
    assert soft.structure == stiff.structure
    assert soft.structure != PDGravity(robot, np.zeros(3), 50.0, 10.0, ki=1.0).structure
    assert soft.structure != ComputedTorque(robot, np.zeros(3), 50.0, 10.0).structure
    of_tool = OperationalSpace(robot, robot.pose(np.zeros(3)), 50.0, 10.0, position_only=True)
    assert of_tool.structure != soft.structure


def test_an_edited_law_is_not_the_old_one() -> None:
    """A class redefined under its old name, as in a notebook, runs its new law."""
    robot = dl.load("pendulum")

    def redefined(sign: float) -> type:
        class Push(ComputedTorque):
            def command(self, t, q, qd, z, constants):
                return sign * np.ones(1), np.zeros(0)

        return Push

    ends = []
    for sign in (1.0, -1.0):
        controller = redefined(sign)(robot, [0.0], kp=1.0, kd=1.0)
        ends.append(
            float(dl.simulate(robot, [0.0], None, controller, duration=0.1, dt=0.01).q[-1, 0])
        )
    assert ends[0] > 0.0 > ends[1]


def test_a_controller_of_a_closed_chain_knows_the_free_one():
    """Computed torque on a Constrained uses its unconstrained model, without Coulomb friction."""
    closed = dl.load("four_bar")
    controller = dl.control.ComputedTorque(closed, closed.neutral(), kp=1.0, kd=1.0)
    q, qd = closed.neutral(), np.zeros(closed.nv)
    tau, _ = controller.command(0.0, q, qd, np.zeros(0), controller.constants)
    np.testing.assert_allclose(tau, closed.system.gravity_torque(q), atol=1e-12)


SIGN = 1.0


def test_a_law_that_reads_a_changed_global_is_not_the_old_one(monkeypatch) -> None:
    class Push(ComputedTorque):
        def command(self, t, q, qd, z, constants):
            return SIGN * np.ones(1), np.zeros(0)

    robot = dl.load("pendulum")
    controller, ends = Push(robot, [0.0], kp=1.0, kd=1.0), []
    for sign in (1.0, -1.0):
        monkeypatch.setitem(globals(), "SIGN", sign)
        ends.append(
            float(dl.simulate(robot, [0.0], None, controller, duration=0.1, dt=0.01).q[-1, 0])
        )
    monkeypatch.setattr(Push, "command", lambda *settings: (2.0 * np.ones(1), np.zeros(0)))
    ends.append(float(dl.simulate(robot, [0.0], None, controller, duration=0.1, dt=0.01).q[-1, 0]))
    assert ends[1] < 0.0 < ends[0] < ends[2]


def test_a_frame_that_cannot_follow_a_task_is_said() -> None:
    arm = dl.load("ur5")
    with pytest.raises(dl.FormulationError, match="'forearm_link' moves in 2 of the task's 3"):
        OperationalSpace(arm, np.eye(4), 1.0, 1.0, frame="forearm_link", position_only=True)


def test_targets_and_gains_that_are_no_poses_or_numbers_are_said() -> None:
    arm, reflected = dl.load("ur5"), np.diag([-1.0, 1.0, 1.0, 1.0])
    with pytest.raises(dl.TrajectoryError, match="goal has no rotation"):
        Line.quintic(np.eye(4), reflected, 1.0)
    with pytest.raises(dl.ParameterError, match="kp must be finite"):
        PDGravity(arm, np.zeros(6), np.full(6, np.nan), 1.0)
    with pytest.raises(dl.ParameterError, match="q0 must be finite"):
        dl.control.LQR(arm, np.full(6, np.nan), Q=1.0, R=1.0)
