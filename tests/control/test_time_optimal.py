"""Time-optimal motion along a path: closed forms, a linear program, limits between grid points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog

import dalembert as dl
from dalembert.control import ComputedTorque, through, time_optimal
from dalembert.errors import ShapeError, TrajectoryError
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret

UR5 = (60.0, 70.0, 30.0, 4.0, 2.0, 1.0)  # N m
PUMA = (97.6, 186.4, 89.4, 24.2, 20.1, 21.3)  # N m


def random_path(seed: int, size: int = 6, points: int = 5, degree: int = 3):
    rng = np.random.default_rng(seed)
    return through(rng.uniform(-1.5, 1.5, (points, size)), degree)


def largest(fast, count: int = 10) -> float:
    """The largest use of any limit, on a grid that is finer by `count`."""
    return max(float(x.max()) for x in fast.used(fast.inner_times(count)).values())


def test_a_line_under_acceleration_alone_is_bang_bang() -> None:
    fast = time_optimal(through([[0.0], [3.0]]), acceleration=2.0)
    assert fast.duration == pytest.approx(2.0 * np.sqrt(3.0 / 2.0), rel=1e-12)


def test_a_line_with_a_cruise_takes_its_trapezoid() -> None:
    fast = time_optimal(through([[0.0, 0.0], [3.0, 1.0]]), velocity=1.0, acceleration=1.0, grid=99)
    assert fast.duration == pytest.approx(4.0, rel=1e-3)  # the grid does not have the corners
    exact = time_optimal(
        through([[0.0, 0.0], [3.0, 1.0]]),
        velocity=1.0,
        acceleration=1.0,
        grid=np.linspace(0, 1, 13),
    )
    assert exact.duration == pytest.approx(4.0, rel=1e-12)


def test_torque_without_gravity_is_bang_bang() -> None:
    robot = dl.load("pendulum").with_gravity([0.0, 0.0, 0.0])
    inertia = float(robot.mass_matrix([0.0])[0, 0])
    fast = time_optimal(through([[0.0], [2.0]]), robot, torque=3.0)
    assert fast.duration == pytest.approx(2.0 * np.sqrt(2.0 * inertia / 3.0), rel=1e-9)


def wheel(**friction: float):
    """One joint with an inertia of 1 kg m², without gravity."""
    joint = {"type": "revolute", **friction}
    link = {"name": "axle", "joint": joint, "mass": 1.0, "inertia": np.eye(3)}
    return dl.Robot.from_links([link], gravity=(0.0, 0.0, 0.0))


def viscous_time(distance: float, inertia: float, tau: float, viscous: float) -> float:
    """I q̈ = ±τ − B q̇ from rest to rest: speed up to the v from which braking ends at the goal."""

    def ends(v: float) -> tuple[float, float]:
        up = -inertia / viscous * np.log(1.0 - viscous * v / tau)
        down = inertia / viscous * np.log(1.0 + viscous * v / tau)
        return up + down, (tau * up - inertia * v + inertia * v - tau * down) / viscous

    v = brentq(lambda v: ends(v)[1] - distance, 1e-9, tau / viscous * (1.0 - 1e-12))
    return ends(v)[0]


def test_viscous_friction_is_exact_as_the_grid_grows_finer() -> None:
    """s̈ is constant in an interval and no limit is passed in it: an error of first order, above."""
    exact, robot = viscous_time(2.0, 1.0, 3.0, 0.5), wheel(viscous=0.5)
    runs = [time_optimal(through([[0.0], [2.0]]), robot, torque=3.0, grid=n) for n in (500, 2000)]
    coarse, fine = (fast.duration / exact - 1.0 for fast in runs)
    assert 0.0 < fine < 5e-4
    assert 3.0 < coarse / fine < 4.5
    assert largest(runs[0]) < 1.0 + 1e-6


# random paths of the PUMA do not keep to the ranges of its joints
anywhere = pytest.mark.filterwarnings("ignore:the path takes:dalembert.PathWarning")


@anywhere
def test_what_can_be_held_can_be_followed_slowly_in_spite_of_friction() -> None:
    """Torques a tenth above weight and Coulomb friction: friction grows with the speed from nothing."""
    robot = dl.load("puma560")
    path = through(np.random.default_rng(0).uniform(-1.5, 1.5, (4, 6)))
    weight = np.abs(robot.gravity_torque(path(np.linspace(0.0, 1.0, 300)).q)).max(axis=0)
    tau = 1.1 * (weight + np.abs(robot.dynamics.bound().coulomb).max(axis=0)) + 1.0
    fast = time_optimal(path, robot, velocity=20.0, torque=tau)
    assert largest(fast) < 1.001
    assert {limit.kind for limit in fast.active} == {"torque"}


def test_coulomb_friction_is_exact() -> None:
    """Speeding up with τ − T, braking with τ + T."""
    robot = wheel(coulomb=(1.0, -1.0))
    fast = time_optimal(through([[0.0], [2.0]]), robot, torque=3.0, grid=np.linspace(0, 1, 4))
    v = np.sqrt(2.0 * 2.0 * 2.0 * 4.0 / (2.0 + 4.0))
    assert fast.duration == pytest.approx(v / 2.0 + v / 4.0, rel=1e-9)


def test_it_is_the_optimum_of_a_linear_program() -> None:
    """The largest Σ ṡ² under the same limits, put together from M and h by another program."""
    robot, path, grid = dl.load("ur5"), random_path(3), np.linspace(0.0, 1.0, 25)
    fast = time_optimal(path, robot, velocity=2.0, acceleration=9.0, torque=UR5, grid=grid)
    grid, count = fast.grid, len(fast.grid)
    A, b = [], []
    for i, step in enumerate(np.diff(grid)):
        q, dq, ddq = path([grid[i] + 1e-12, grid[i + 1] - 1e-12])
        M, g = robot.mass_matrix(q), robot.gravity_torque(q)
        c = np.einsum("kij,kj->ki", M, ddq) + robot.bias(q, dq) - g
        m = np.einsum("kij,kj->ki", M, dq)
        for end in (0, 1):
            joints = (dq[end], ddq[end], np.zeros(6), np.full(6, 9.0))
            for derivative, curve, rest, most in (joints, (m[end], c[end], g[end], np.array(UR5))):
                for sign in (1.0, -1.0):
                    row = np.zeros((6, count))
                    row[:, i] -= sign * derivative / (2 * step)
                    row[:, i + 1] += sign * derivative / (2 * step)
                    row[:, i + end] += sign * curve
                    A.append(row)
                    b.append(most - sign * rest)
    top = ((2.0 / np.abs(path(grid).dq)) ** 2).min(axis=1)
    top[[0, -1]] = 0.0
    bounds = [(0.0, x) for x in top]
    result = linprog(-np.ones(count), np.concatenate(A), np.concatenate(b), bounds=bounds)
    # next to points without inertia the largest next speed is not quite the best of all
    speed = np.sqrt(result.x)
    best = float((2.0 * np.diff(grid) / (speed[1:] + speed[:-1])).sum())
    assert fast.duration == pytest.approx(best, rel=2e-3)
    same = np.isclose(fast.speed**2, result.x, rtol=1e-6, atol=1e-6)
    assert same.mean() > 0.6
    assert {limit.kind for limit in fast.active} == {"velocity", "acceleration", "torque"}


@anywhere
@pytest.mark.parametrize("seed", range(5))
def test_torque_limits_hold_between_grid_points(seed: int) -> None:
    """With the friction of the PUMA's motors, on a grid ten times as fine."""
    robot = dl.load("puma560")
    fast = time_optimal(random_path(seed), robot, velocity=np.inf, torque=PUMA)
    assert largest(fast) < 1.001
    assert fast.used(fast.inner_times(10))["torque"].max() > 0.999


def test_time_converges_with_the_grid() -> None:
    """From above and with its distances: s̈ is constant where its limits are not."""
    path, most = random_path(7), {"velocity": 2.0, "acceleration": 5.0}
    times = [time_optimal(path, **most, grid=n).duration for n in (200, 400, 800, 1600)]
    steps = -np.diff(times)
    assert (steps > 0.0).all()
    order = np.log2(steps[0] / steps[-1]) / 2.0
    assert 0.7 < order < 1.3


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([1, 3, 5]), st.floats(-2.0, 2.0))
@settings(max_examples=25, deadline=None)
def test_limits_hold_and_some_are_met_on_any_path(
    seed: int, points: int, degree: int, size: float
) -> None:
    """Whatever the shape and the size of the path: within limits, at rest at its ends, not slower."""
    rng = np.random.default_rng(seed)
    path = through(10.0**size * rng.uniform(-1.0, 1.0, (points, 3)), degree)
    fast = time_optimal(path, velocity=[1.0, 2.0, 0.5], acceleration=[3.0, 1.0, 2.0])
    assert largest(fast) < 1.001
    t = np.linspace(0.0, fast.duration, 200)
    assert (np.diff(fast.s(t)) > 0.0).all()
    np.testing.assert_allclose(fast(t[[0, -1]]).q, path([0.0, 1.0]).q, rtol=1e-9, atol=1e-9)
    used = np.max([x.max(axis=(1, 2)) for x in fast.used(fast.inner_times(3)).values()], axis=0)
    share = np.diff(fast.breaks)[used > 0.9].sum() / fast.duration
    assert share > 0.9


def test_points_without_inertia_do_not_shake() -> None:
    """Where a joint turns back, m = 0: s̈ does not alternate between its limits there."""
    path = through([[0.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
    fast = time_optimal(path, acceleration=1.0, grid=400)
    assert largest(fast) < 1.0 + 1e-3
    signs = np.sign(np.diff(fast.speed))
    assert np.count_nonzero(np.diff(signs[signs != 0.0])) <= 6


def test_the_largest_speed_that_leaves_none_is_not_taken() -> None:
    """At a point without inertia before the end, the largest ṡ would force a rest there for ever."""
    points = np.random.default_rng(613).uniform(-2.0, 2.0, (4, 3))
    tau, robot = [54.0, 54.0, 14.0], dl.load("elbow_3r")
    fast = time_optimal(through(points, 5), robot, velocity=20.0, torque=tau, grid=50)
    assert (fast.speed[1:-1] > 0.0).all()
    fine = time_optimal(through(points, 5), robot, velocity=20.0, torque=tau, grid=800)
    assert fast.duration == pytest.approx(fine.duration, rel=0.05)


def test_a_path_that_turns_back_ends() -> None:
    """Without a velocity limit and with q' = 0 in its middle, where the joint has to stop: 2 × 2 s."""
    fast = time_optimal(through([[0.0], [1.0], [0.0]]), acceleration=1.0)
    assert 4.0 < fast.duration < 4.05


def test_momentum_carries_over_what_cannot_be_held() -> None:
    """A pendulum with 9 N m passes 9.81 N m by its speed, and 4 N m do not get there from rest."""
    robot, path = dl.load("pendulum"), through([[0.0], [np.pi]])
    fast = time_optimal(path, robot, torque=9.0)
    assert largest(fast) < 1.001
    with pytest.raises(TrajectoryError, match=r"with ṡ = 0 at its start .* between 1\.\d+ and"):
        time_optimal(path, robot, torque=4.0)


def test_samples_are_labelled_like_a_run() -> None:
    robot = dl.load("planar_2r")
    fast = dl.time_optimal(through([[0.0, 0.5], [1.0, -0.5]]), robot, torque=30.0, velocity=3.0)
    run = fast.sampled(0.01)
    assert list(run.joint.values) == list(robot.dynamics.velocities)
    np.testing.assert_allclose(run.q[-1], [1.0, -0.5], atol=1e-12)
    np.testing.assert_allclose(run.tau, robot.inverse_dynamics(run.q, run.qd, run.qdd), atol=1e-9)
    assert len(run.dl.plot(["q", "tau"]).axes) == 2
    with pytest.raises(TrajectoryError, match="dt must be"):
        fast.sampled(0.0)
    with pytest.raises(TrajectoryError, match="need the system"):
        time_optimal(through([[0.0], [1.0]]), velocity=1.0).sampled()


def test_corners_are_stops() -> None:
    path = through([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], degree=1)
    fast = time_optimal(path, acceleration=1.0)
    assert fast.duration == pytest.approx(4.0, rel=1e-9)
    np.testing.assert_allclose(fast(2.0).qd, 0.0, atol=1e-9)
    rounded = time_optimal(through([[0, 0], [1, 0], [1, 1.0]], 1, blend=0.2), acceleration=1.0)
    assert rounded.duration < 3.7


def test_speeds_at_the_ends() -> None:
    fast = time_optimal(through([[0.0], [2.0]]), acceleration=1.0, start=0.5, end=0.25)
    assert fast.speed[0] == 0.5 and fast.speed[-1] == pytest.approx(0.25)
    np.testing.assert_allclose(fast(0.0).qd, [1.0])
    with pytest.raises(TrajectoryError, match=r"with ṡ = 3 at its start"):
        time_optimal(through([[0.0], [2.0]]), acceleration=1.0, start=3.0)


def test_traced_is_called() -> None:
    fast = time_optimal(random_path(1, 2, 3), velocity=1.0, acceleration=2.0, grid=20)
    shapes = {"t": (), **{k: v.shape for k, v in fast.constants.items()}}
    program = trace(lambda t, **c: tuple(fast.at(t, c)), shapes)
    for t in (-0.5, 0.0, 0.3, 0.77, fast.duration - 1e-9, 9.0):
        traced = interpret(program, np.array(t), *fast.constants.values())
        for a, b in zip(traced, fast(t), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10)


def test_s_and_q_belong_together() -> None:
    path = random_path(2)
    fast = time_optimal(path, velocity=1.0, acceleration=2.0, grid=50)
    t = np.linspace(0.0, fast.duration, 300)
    np.testing.assert_allclose(path(fast.s(t)).q, fast(t).q, atol=1e-9)


def test_a_law_follows_it() -> None:
    robot = dl.load("planar_2r")
    path = through([[0.0, 0.5], [1.0, -0.5], [0.5, 1.0]])
    fast = time_optimal(path, robot, torque=20.0, velocity=3.0, grid=20)
    controller = ComputedTorque(robot, target=fast, kp=400.0, kd=40.0)
    run = dl.simulate(robot, [0.0, 0.5], [0.0, 0.0], controller, duration=1.2, dt=0.01)
    np.testing.assert_allclose(run.q[-1], [0.5, 1.0], atol=2e-3)


def test_a_torque_too_small_to_hold_the_arm_is_said() -> None:
    with pytest.raises(TrajectoryError, match=r"'shoulder_lift_joint' needs .* torque .* at s = "):
        time_optimal(random_path(1), dl.load("ur5"), torque=10.0)


def test_limits_that_cannot_be_kept_together_are_named() -> None:
    """Too fast at the end for the curve before it."""
    path = through([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(TrajectoryError, match=r"at s = .*acceleration of 'joint 1'"):
        time_optimal(path, acceleration=1.0, end=50.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "at least one of"),
        ({"velocity": -1.0}, "velocity limits must be"),
        ({"velocity": [1.0, 2.0]}, "velocity limits must be"),
        ({"torque": 1.0}, "needs the system"),
        ({"velocity": 1.0, "grid": 1.5}, "whole number"),
        ({"velocity": 1.0, "grid": [0.0, 2.0]}, "between 0 and 1"),
        ({"velocity": 1.0, "grid": [0.5, 0.2]}, "increase"),
        ({"velocity": 1.0, "start": -1.0}, "start must be"),
        ({"velocity": 1.0, "end": np.nan}, "end must be"),
    ],
)
def test_mistakes_are_reported(options, message: str) -> None:
    with pytest.raises(TrajectoryError, match=message):
        time_optimal(through([[0.0], [1.0]]), **options)


def test_paths_of_another_size_or_kind_are_refused() -> None:
    with pytest.raises(ShapeError, match="has 1 joints, ur5 has 6"):
        time_optimal(through([[0.0], [1.0]]), dl.load("ur5"))
    with pytest.raises(TrajectoryError, match="no path of joints"):
        time_optimal([[0.0], [1.0]], velocity=1.0)


def test_toppra_takes_the_same_time() -> None:
    ta = pytest.importorskip("toppra", reason="the peer is not installed")
    rng = np.random.default_rng(5)
    for _ in range(5):
        points, s = rng.uniform(-2.0, 2.0, (5, 4)), np.linspace(0.0, 1.0, 5)
        fast = time_optimal(through(points, s=s), velocity=1.0, acceleration=3.0, grid=100)
        both = np.array([-1.0, 1.0]) * np.ones((4, 1))
        scheme = ta.constraint.DiscretizationType.Interpolation
        limits = [
            ta.constraint.JointVelocityConstraint(both),
            ta.constraint.JointAccelerationConstraint(3.0 * both, discretization_scheme=scheme),
        ]
        peer = ta.algorithm.TOPPRA(
            limits,
            ta.SplineInterpolator(s, points),
            gridpoints=fast.grid,
            parametrizer="ParametrizeConstAccel",
        )
        assert fast.duration == pytest.approx(peer.compute_trajectory().duration, rel=1e-3)


def test_a_limit_that_no_grid_keeps_is_told():
    """Where q' and q'' vanish together, s̈ has no bound and the grid can only come near."""
    cube = np.array([-0.125, 0.75, -1.5, 1.0])  # (s − ½)³
    path = dl.control.Path(np.array([0.0, 1.0]), cube[None, :, None])
    with pytest.warns(dl.PathWarning, match=r"acceleration of 'joint 1' is .* near s = 0\.5"):
        time_optimal(path, acceleration=10.0)


def test_a_path_outside_the_joints_ranges_is_told():
    """A spline may swing beyond way-points that are within them."""
    arm = dl.load("planar_2r").with_limits({"link2_joint": (-1.0, 1.0)})
    path = through([[0.0, 0.0], [0.3, 0.99], [0.9, 0.99], [1.2, 0.0]])
    with pytest.warns(
        dl.PathWarning, match=r"takes 'link2_joint' to 1\.\d+ at s = 0\.\d+, outside"
    ):
        time_optimal(path, arm, acceleration=10.0)


def test_friction_next_to_rest_keeps_the_torque_within_its_limit():
    """Viscous friction grows like √s there, faster than the intervals' inner points show."""
    rod = {"name": "rod", "mass": 9.0, "com": [0.0, 0.0, 0.0], "inertia": np.zeros((3, 3))}
    slide = {"name": "slide", "type": "prismatic", "axis": [0, 0, 1], "viscous": 30.0}
    robot = dl.Robot.from_links([{**rod, "joint": slide}])
    for middle, goal in ((0.2, 1.0), (1.0, 1.2)):
        path = through([[0.0], [middle], [goal]], s=[0.0, 0.5, 1.0])
        fast = time_optimal(path, robot, torque=150.0)
        near = np.geomspace(1e-6, fast.duration, 3000)[:-1]
        assert fast.used(near)["torque"].max() < 1.001


def test_a_motion_from_rest_to_rest_keeps_its_limits_at_all_times():
    """Also between the points of its grid, where `inverse` along the written motion looks."""
    robot = dl.load("ur5").with_limits(velocity=dict.fromkeys(dl.load("ur5").coordinates, 2.5))
    q = 0.5 * robot.random_state(np.random.default_rng(4), 5)[0]
    fast = time_optimal(through(q), robot, acceleration=40.0)
    t = np.linspace(0.0, fast.duration, 20_001)
    assert np.abs(fast(t).qd).max() <= 2.5
    assert largest(fast) <= 1.0 + 1e-9
    assert "limits_passed" not in dl.torques_along(robot, fast.sampled(1e-3)).attrs
