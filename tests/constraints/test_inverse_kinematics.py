"""Inverse kinematics of closed chains: the loops hold, whatever is asked of the frame."""

import numpy as np
import pytest
from scipy.optimize import minimize

import dalembert as dl
from dalembert.errors import SettingError

# a crank and a rocker with a coupler between them, and a slide on top, as a file states it
MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<body name="crank"><joint name="crank" axis="0 1 0" range="-3 3" limited="true"/>
  <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
  <body name="coupler" pos="0.25 0 0"><joint name="coupler" axis="0 1 0"/>
    <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
    <site name="end" pos="0.7 0 0"/>
    <body name="slide" pos="0.3 0 0.1"><joint name="slide" type="slide" axis="0 1 0"
      range="-0.2 0.3" limited="true"/>
      <inertial pos="0 0 0" mass="0.2" diaginertia="0.001 0.001 0.001"/>
    </body></body></body>
<body name="rocker" pos="0.6 0 0"><joint name="rocker" axis="0 1 0" range="-3 1" limited="true"/>
  <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
  <site name="pin" pos="0.5 0 0"/></body></worldbody>
<equality><connect name="pin" site1="end" site2="pin"/></equality></mujoco>"""


@pytest.fixture
def rocker(tmp_path):
    (tmp_path / "rocker.xml").write_text(MJCF)
    return dl.load(tmp_path / "rocker.xml")


def postures(system, count, seed=0):
    """Assembled ones, from random guesses."""
    rng, result = np.random.default_rng(seed), []
    while len(result) < count:
        q = system.assemble(rng.uniform(-1.0, 1.0, system.nq) + system.neutral())
        result.append(q)
    return np.array(result)


def pose(system, q, frame):
    return np.array([system.dynamics.pose(x, frame) for x in np.atleast_2d(q)])


@pytest.mark.parametrize(
    ("name", "frame"), [("four_bar", "coupler_tip"), ("parallel_3rr", "tip_a")]
)
def test_closed_chains_reach_what_they_can(name, frame):
    """Pose and position of a frame in the loop; the loop stays closed to 1e-9."""
    system = dl.load(name)
    T = pose(system, postures(system, 12), frame)
    for task in ("pose", "position"):
        q, result = system.inverse_kinematics(T, frame=frame, task=task)
        assert result.all()
        assert abs(system.residual(q)).max() <= 1e-9
        here = pose(system, q, frame)
        np.testing.assert_allclose(here[:, :3, 3], T[:, :3, 3], atol=1e-9)
    # two assemblies of the four-bar for a point of its coupler, eight of the three arms
    number = system.all_postures(T[:3], frame=frame, task="position").number
    assert (number == {"four_bar": 2, "parallel_3rr": 8}[name]).all()


def test_goals_of_closed_chains():
    """Three arms carry a point with two freedoms: nothing is left; manipulability is refused."""
    system, frame = dl.load("parallel_3rr"), "tip_a"
    q0 = system.neutral()
    T = pose(system, q0, frame)[0]
    near = system.inverse_kinematics(T, frame=frame, task="position", q0=q0 + 0.05, goal="near")
    assert near.found and abs(system.residual(near.q)).max() <= 1e-9
    with pytest.raises(SettingError, match="'manipulability' is for open chains"):
        system.inverse_kinematics(T, frame=frame, goal="manipulability")


def test_out_of_reach_is_the_nearest_closed_posture():
    """The same distance as an optimiser with the loop as its constraint finds."""
    system, frame = dl.load("four_bar"), "coupler_tip"
    away = pose(system, system.neutral(), frame)[0, :3, 3] + np.array([1.5, 0.4, 0.0])
    q, is_solved = system.inverse_kinematics(away, frame=frame, task="position", max_restarts=30)
    assert not is_solved and abs(system.residual(q)).max() < 1e-9

    def distance(x):
        return 0.5 * np.sum((system.dynamics.pose(x, frame)[:3, 3] - away) ** 2)

    loop = {"type": "eq", "fun": system.residual}
    best = min(
        (
            minimize(distance, start, constraints=loop, method="SLSQP", options={"ftol": 1e-14})
            for start in postures(system, 6)
        ),
        key=lambda result: result.fun if abs(system.residual(result.x)).max() < 1e-8 else np.inf,
    )
    assert distance(q) == pytest.approx(best.fun, rel=1e-6)


def test_a_file_with_a_loop_and_limits(rocker):
    """Reached within the limits of the file; random states are assembled and within them too."""
    system = rocker
    assert isinstance(system, dl.Constrained) and system.freedoms == 2
    q, qd, qdd = system.random_state(np.random.default_rng(0), 30)
    assert (
        abs(system.residual(q)).max() < 1e-9 and abs(system.velocity_residual(q, qd)).max() < 1e-9
    )
    assert np.ptp(q[:, 0]) > 0.5 and np.isfinite(qdd).all()
    for x in (q, system.inverse_kinematics(pose(system, q, "slide"), frame="slide").q):
        assert (x >= system.lower).all() and (x <= system.upper).all()
    solved = system.inverse_kinematics(pose(system, q, "slide"), frame="slide")
    assert solved.found.all() and abs(system.residual(solved.q)).max() <= 1e-9
    # a path along the slide, which is not in the loop
    start = np.where(np.array(system.coordinates) == "slide", 0.0, q[0])
    method = np.stack([pose(system, start, "slide")[0]] * 20)
    method[:, 1, 3] += np.linspace(0.0, 0.1, 20)
    followed = system.inverse_kinematics(method, frame="slide", q0=start, continuous=True)
    assert followed.found.all() and abs(np.diff(followed.q, axis=0)).max() < 0.02


def test_random_velocities_of_closed_chains_respect_their_limits(rocker):
    """Scaled down as a whole, so that the constraints still allow them; the old way by name."""
    system = rocker
    limited = system.system.with_limits(velocity={"crank": 0.1, "rocker": 0.5})
    slow = dl.Constrained(limited, system.dynamics.constraint_set, guess=system.neutral())
    _, qd, _ = slow.random_state(np.random.default_rng(0), 20)
    assert (abs(qd) <= slow.velocity_limit * (1 + 1e-12)).all() and abs(qd[:, 0]).max() > 0.09
    q, _, _ = system.random_state(np.random.default_rng(0), 3, within_limits=False)
    np.testing.assert_array_equal(q, np.broadcast_to(system.neutral(), q.shape))
