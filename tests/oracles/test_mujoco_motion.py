"""One second of motion of files under controls is MuJoCo's, by the same method and the same step."""

import mujoco
import numpy as np
import pytest

import dalembert as dl
from tests.oracles.test_mujoco_forces import Filed, path_of

STEP = 0.002  # s


def ends(package, name, step):
    """(qpos, qvel) of MuJoCo and of ours after a second, both as MuJoCo's."""
    path = path_of(package, name)
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.integrator, m.opt.timestep = int(mujoco.mjtIntegrator.mjINT_RK4), step
    # MuJoCo solves Coulomb friction as a constraint, and constraints are off
    robot = dl.Robot(dl.Robot.from_mjcf(path).model.without_coulomb())
    peer, rng = Filed(m, robot), np.random.default_rng(3)
    q = robot.model.integrate(robot.neutral(), rng.uniform(-0.3, 0.3, robot.nv))
    qd, limits = 0.3 * rng.normal(size=robot.nv), np.clip(robot.control_limits, -1.0, 1.0)
    u, steps = rng.uniform(*limits.T), round(1.0 / step)
    peer.set(q, qd)
    peer.d.ctrl[:] = u
    for _ in range(steps):
        mujoco.mj_step(m, peer.d)
    theirs = np.concatenate([peer.d.qpos, peer.d.qvel])
    options = {"method": "rk4", "dt": step, "duration": 1.0, "save_every": steps}
    run = dl.simulate(robot, q, qd, controls=u, **options)
    peer.set(run.q.values[-1], run.qd.values[-1])
    return theirs, np.concatenate([peer.d.qpos, peer.d.qvel])


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("dm_control", "cheetah"),  # springs
        ("dm_control", "finger"),
        ("dm_control", "hopper"),
        ("dm_control", "ball_in_cup"),  # tendon
        ("gymnasium", "pusher"),
        ("gymnasium", "inverted_double_pendulum"),
    ],
)
def test_joints_of_one_degree_move_as_in_mujoco_to_rounding(package, name):
    """The same Runge–Kutta steps of the same equations; the tail is how motions drift apart."""
    theirs, ours = ends(package, name, STEP)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * max(1.0, np.abs(theirs).max()))


def test_free_bodies_agree_within_the_error_of_integration():
    """Both methods are of fourth order on SO(3), not the same: halving the step divides by 16."""
    errors = [np.abs(np.subtract(*ends("gymnasium", "ant", h))).max() for h in (STEP, STEP / 2)]
    assert errors[0] < 1e-4  # of velocities up to 90 m/s and rad/s
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)
