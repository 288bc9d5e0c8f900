"""Located events: stick and slip, stops, and runs that end where a function changes sign."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.simulation.events import Joints, impact

G = 9.81


def slider(coulomb: object = 0.0, tilt: float = 0.0, limits: object = None) -> dl.Robot:
    """A block of 2 kg that slides along x, on a plane tilted by `tilt`."""
    joint = {"type": "prismatic", "axis": (1.0, 0.0, 0.0), "name": "slide", "coulomb": coulomb}
    if limits is not None:
        joint["limits"] = limits
    block = {"name": "block", "joint": joint, "mass": 2.0, "inertia": np.eye(3)}
    gravity = (G * np.sin(tilt), 0.0, -G * np.cos(tilt))
    return dl.Robot.from_links([block], gravity=gravity)


def test_a_sliding_block_stops_and_stays() -> None:
    # q̈ = −c/m: it stands still after v m / c seconds and v² m / 2c metres
    run = dl.simulate(slider(coulomb=4.0), [0.0], [1.0], duration=1.0, dt=0.01)
    assert run.event_time.values == pytest.approx([0.5], abs=1e-10)
    assert float(run.q[-1, 0]) == pytest.approx(0.25, abs=1e-10)
    assert np.all(run.qd[51:] == 0.0)
    assert float(run.dissipated[-1]) == pytest.approx(1.0, abs=1e-10)


def test_a_tilted_block_sticks_below_the_angle_of_friction() -> None:
    c = 4.0
    angle = np.arcsin(c / (2.0 * G))
    still = dl.simulate(slider(c, 0.99 * angle), [0.0], [0.0], duration=1.0, dt=0.1)
    slides = dl.simulate(slider(c, 1.01 * angle), [0.0], [0.0], duration=1.0, dt=0.1)
    assert np.all(still.q == 0.0)
    a = G * np.sin(1.01 * angle) - c / 2.0
    assert float(slides.q[-1, 0]) == pytest.approx(0.5 * a, rel=1e-8)


def test_stiction_gives_way_when_the_force_has_risen() -> None:
    # a force of 8 t N overcomes 4 N at half a second
    ramp = dl.Samples([0.0, 2.0], [[0.0], [16.0]])
    run = dl.simulate(slider(4.0), [0.0], [0.0], ramp, duration=1.0, dt=0.01)
    assert list(run.event_kind.values) == ["slip"]
    assert run.event_time.values == pytest.approx([0.5], abs=1e-9)
    # m q̈ = 8 t − 4 from there on: q̇ = (4 t² − 4 t + 1) / 2
    assert float(run.qd[-1, 0]) == pytest.approx(0.5, rel=1e-8)


def test_friction_differs_with_direction() -> None:
    robot = slider(coulomb=(2.0, -8.0))
    forward = dl.simulate(robot, [0.0], [1.0], duration=2.0, dt=0.1)
    back = dl.simulate(robot, [0.0], [-1.0], duration=2.0, dt=0.1)
    assert float(forward.q[-1, 0]) == pytest.approx(0.5, abs=1e-9)
    assert float(back.q[-1, 0]) == pytest.approx(-0.125, abs=1e-9)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "LSODA"])
def test_stick_and_slip_of_a_driven_oscillation(method: str) -> None:
    # the force turns round again and again; the block follows, sticks and slips
    robot = slider(coulomb=3.0)

    def push(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.array([5.0 * np.sin(2.0 * np.pi * t)])

    run = dl.simulate(
        robot, [0.0], [0.0], push, duration=3.0, dt=0.01, method=method, rtol=1e-9, atol=1e-11
    )
    kinds = list(run.event_kind.values)
    assert (
        kinds.count("slip") == 6 and kinds.count("stick_or_turn") == 5
    )  # the last one comes later
    assert run.event_time.values[0] == pytest.approx(np.arcsin(0.6) / (2.0 * np.pi), abs=1e-7)
    assert float(np.abs(run.balance).max()) < 1e-7


def test_smoothed_friction_comes_near_the_events() -> None:
    located = dl.simulate(slider(coulomb=4.0), [0.0], [1.0], duration=1.0, dt=0.01)
    smooth = dl.simulate(slider(coulomb=4.0), [0.0], [1.0], duration=1.0, dt=1e-3, method="rk4")
    assert float(smooth.attrs["smoothing"]) == pytest.approx(1e-3)
    assert float(smooth.q[-1, 0]) == pytest.approx(float(located.q[-1, 0]), abs=1e-5)


def test_plain_friction_is_refused_where_it_would_get_stuck() -> None:
    with pytest.raises(dl.DalembertError, match="gets stuck"):
        dl.simulate(slider(4.0), [0.0], [1.0], duration=1.0, friction="plain")


# stops


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_block_between_two_walls(e: float) -> None:
    robot = slider(limits=(-1.0, 1.0))
    run = dl.simulate(robot, [0.0], [1.0], duration=2.5, dt=0.01, restitution=e)
    after = run.qd.sel(time=1.5, method="nearest").item()
    assert after == pytest.approx(-e, abs=1e-9)
    assert float(run.dissipated.sel(time=1.5, method="nearest")) == pytest.approx(1.0 - e * e)
    assert float(np.abs(run.q).max()) <= 1.0 + 1e-12


def test_a_falling_block_bounces_to_rest_on_its_stop() -> None:
    robot = slider(tilt=np.pi / 2, limits=(-1.0, 1.0))  # it falls along +x
    run = dl.simulate(robot, [0.0], [0.0], duration=5.0, dt=0.01, restitution=0.5)
    first = np.sqrt(2.0 / G)
    assert run.event_time.values[0] == pytest.approx(first, abs=1e-9)
    # every bounce lasts half as long as the one before
    gaps = np.diff(run.event_time.values[:6])
    np.testing.assert_allclose(gaps[1:] / gaps[:-1], 0.5, rtol=1e-6)
    assert float(run.q[-1, 0]) == 1.0 and float(run.qd[-1, 0]) == 0.0
    assert float(np.abs(run.balance).max()) < 1e-8 * 2.0 * G


def test_an_arm_hits_its_stop_and_every_joint_feels_it() -> None:
    # impulse along the joint alone: the momentum of the other joint is what it was
    rows = [
        {"a": 1.0, "mass": 1.0, "com": (-0.5, 0, 0), "inertia": 0.1 * np.eye(3), "name": "upper"},
        {
            "a": 1.0,
            "mass": 1.0,
            "com": (-0.5, 0, 0),
            "inertia": 0.1 * np.eye(3),
            "name": "fore",
            "limits": (-0.5, 0.5),
        },
    ]
    robot = dl.Robot.from_dh(rows, convention="standard", gravity=(0.0, 0.0, 0.0))
    run = dl.simulate(robot, [0.0, 0.0], [0.2, 1.0], duration=1.0, dt=1e-3, restitution=0.7)
    hit = run.event_time.values[0]
    before, after = (run.sel(time=t, method="nearest") for t in (hit - 1e-3, hit + 1e-3))
    momentum = [robot.generalized_momentum(s.q.values, s.qd.values)[0] for s in (before, after)]
    assert momentum[0] == pytest.approx(momentum[1], rel=1e-9)
    assert float(after.qd[1]) == pytest.approx(-0.7 * float(before.qd[1]), rel=2e-2)


def test_a_start_outside_the_limits_is_refused() -> None:
    with pytest.raises(dl.DalembertError, match="'slide' starts at 2"):
        dl.simulate(slider(limits=(-1.0, 1.0)), [2.0], [0.0], duration=1.0, restitution=0.0)


# terminal events


def test_until_ends_the_run_at_its_event() -> None:
    robot = dl.load("pendulum")
    run = dl.simulate(robot, [0.5], [0.0], duration=5.0, dt=0.1, until=lambda t, q, qd: float(q[0]))
    assert run.attrs["status"] == "event"
    assert float(run.q[-1, 0]) == pytest.approx(0.0, abs=1e-10)
    # a quarter of the period 4 K(sin θ₀/2) / ω
    from scipy.special import ellipk

    quarter = ellipk(np.sin(0.25) ** 2) / np.sqrt(G)
    assert float(run.time[-1]) == pytest.approx(quarter, abs=1e-9)


@pytest.mark.parametrize("coulomb", [0.0, 0.5])
def test_stops_and_friction_of_a_floating_robot_are_its_joints(coulomb: float) -> None:
    # q of the base holds a quaternion, so a joint's place in q is not its place in q̇
    slide = {"type": "prismatic", "axis": (1.0, 0.0, 0.0), "name": "slide", "coulomb": coulomb}
    links = [
        {
            "name": "hull",
            "joint": {"type": "free", "name": "base"},
            "mass": 3.0,
            "inertia": np.eye(3),
        },
        {
            "name": "block",
            "parent": "hull",
            "joint": {**slide, "limits": (-0.2, 0.1)},
            "mass": 1.0,
            "inertia": np.eye(3),
        },
    ]
    robot = dl.Robot.from_links(links, gravity=(0.0, 0.0, 0.0))
    start, speed = robot.neutral(), np.zeros(7)
    speed[6] = 1.0
    run = dl.simulate(robot, start, speed, duration=0.5, dt=0.01, restitution=1.0)
    # hull and block, whose reduced mass is 0.75 kg, meet at 0.1 m and part as fast as they met
    meets = (
        0.1 if coulomb == 0.0 else (1.0 - np.sqrt(1.0 - 0.2 * coulomb / 0.75)) / (coulomb / 0.75)
    )
    assert run.event_time.values[0] == pytest.approx(meets, abs=1e-9)
    assert float(run.q[:, 7].max()) <= 0.1 + 1e-9
    momentum = 3.0 * run.qd[:, 0] + (run.qd[:, 0] + run.qd[:, 6])
    if coulomb == 0.0:
        assert float(run.qd[30, 6]) == pytest.approx(-1.0, abs=1e-9)
    assert abs(momentum - momentum[0]).max() < 1e-9
    with pytest.raises(dl.DalembertError, match=r"'slide' starts at 0\.3"):
        dl.simulate(robot, [*start[:7], 0.3], speed, duration=0.1, restitution=0.0)


def test_an_impact_passes_on_to_a_joint_that_lies_on_its_stop():
    """The first stop's impulse drives the second joint into its own, which gives one in turn.

    That drives the first into its stop again, each time with a sixth of the velocity.
    """
    joints = Joints(np.zeros((2, 2)), np.array([-1.0, -1.0]), np.array([1.0, 0.5]), 0.0)
    M, q, qd = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 0.5]), np.array([1.0, 0.0])
    after, _ = impact(joints, M, q, qd, 0, 1.0)
    # stopping the first alone would give q̇₂ = M₁₂ / M₂₂ = 1/3, out of its limits
    np.testing.assert_allclose(after, 0.0, atol=1e-12)
    free, modes = impact(joints, M, np.array([1.0, 0.0]), qd, 0, 1.0)
    np.testing.assert_allclose(free, [0.0, 1.0 / 3.0], rtol=1e-14)
    assert modes[2].tolist() == [1.0, 0.0]  # stops


def test_a_stop_holds_against_any_torque_into_it_and_friction_against_the_other():
    joints = Joints(np.array([[2.0] * 3, [-1.0] * 3]), np.full(3, -1.0), np.ones(3), 0.0)
    least, largest = joints.bounds(np.array([np.zeros(3), np.ones(3), [-1.0, 0.0, 1.0]]))
    assert least.tolist() == [-np.inf, -1.0, -1.0] and largest.tolist() == [2.0, 2.0, np.inf]
