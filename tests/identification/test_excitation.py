"""Motions that show a robot's parameters: within their limits everywhere, at rest at both ends."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import qr

import dalembert as dl
from dalembert.errors import SettingError, ShapeError, TrajectoryError, UnknownNameError
from dalembert.identification.excitation import design
from dalembert.identification.excitation.limits import build_workspace
from dalembert.identification.excitation.search import (
    certify,
    feasible_configurations,
    random_motions,
)
from dalembert.spatial import pose, rotation_from_rpy
from tests.oracles.pinocchio_twin import twin

ROBOTS = Path(__file__).parents[1] / "robots"
FINE = 20_001  # ten times the grid that the limits were read from, both periods


@pytest.fixture(scope="module")
def ur5():
    return dl.load("ur5")


@pytest.fixture(scope="module")
def motion(ur5):
    """Torque limits low enough to matter, and a floor."""
    low = [60.0, 60.0, 30.0, 10.0, 5.0, 5.0]
    space = {"above": 0.05, "frames": ["wrist_3_link", "tool"]}
    return dl.excitation(ur5, 20, torque=low, acceleration=12.0, workspace=space, budget=300)


def test_limits_hold_on_a_finer_grid(ur5, motion):
    t = np.linspace(0.0, 20.0, FINE)
    q, qd, qdd = motion(t)
    assert (q > ur5.lower).all() and (q < ur5.upper).all()
    assert (np.abs(qd) < ur5.velocity_limit).all() and (np.abs(qdd) < 12.0).all()
    for frame in ("wrist_3_link", "tool"):
        assert (ur5.pose(q, frame)[:, 2, 3] > 0.05).all()
    table = motion.limits
    assert (table.margin > 0.0).all()
    used = table.loc["velocity"]
    assert (qd.max(axis=0) <= used.highest).all() and (qd.min(axis=0) >= used.lowest).all()
    # certified numbers are those of the motion, not bounds that are far away
    np.testing.assert_allclose(used.highest, qd.max(axis=0), rtol=1e-4)


def test_torque_limits_hold_by_pinocchio_too(ur5, motion):
    model = twin(ur5.dynamics.description)
    data = model.createData()
    states = zip(*motion(np.linspace(0.0, 10.0, 2_001)), strict=True)
    tau = np.array([pin.rnea(model, data, *state).copy() for state in states])
    table = motion.limits.loc["torque"]
    assert (tau < table.upper.values).all() and (tau > table.lower.values).all()
    np.testing.assert_allclose(tau.max(axis=0), table.highest, rtol=1e-3)


def test_coulomb_friction_is_taken_off_the_torque_limits():
    puma = dl.load("puma560")
    limit = np.array([100.0, 190.0, 90.0, 20.0, 20.0, 20.0])
    excitation = dl.excitation(puma, 10, velocity=1.0, torque=limit, budget=60)
    tau = puma.inverse_dynamics(*excitation(np.linspace(0.0, 10.0, 4_001)))
    assert (np.abs(tau) < limit).all()
    positive, _ = puma.dynamics.coulomb
    np.testing.assert_allclose(excitation.limits.loc["torque"].upper, limit - positive)


def test_it_is_periodic_and_at_rest_at_both_ends(motion):
    assert motion.duration == 20.0 and motion.trajectory.period == 10.0
    t = np.linspace(0.0, 9.9, 57)
    for now, later in zip(motion(t), motion(t + 10.0), strict=True):
        np.testing.assert_allclose(now, later, atol=1e-9)
    for end in (0.0, 10.0, 20.0 - 1e-12):
        q, qd, qdd = motion(end)
        assert np.abs(qd).max() < 1e-9 and np.abs(qdd).max() < 1e-9
        np.testing.assert_allclose(q, motion.q(0.0), atol=1e-9)


def test_the_condition_is_that_of_the_base_regressor(ur5):
    """By the robot's own regressor and NumPy, columns of unit length, rows by their noise."""
    excitation = dl.excitation(ur5, 10, friction=(), rotor=False, budget=120)
    t = np.linspace(0.0, 10.0, 4_000, endpoint=False)
    A = ur5.base_regressor(*excitation(t)) / (0.01 * ur5.effort_limit)[:, None]
    A = A.reshape(-1, A.shape[-1])
    assert excitation.condition == pytest.approx(
        np.linalg.cond(A / np.linalg.norm(A, axis=0)), rel=1e-6
    )
    information = np.linalg.slogdet(A.T @ A / len(t))[1]
    assert excitation.information == pytest.approx(information, rel=1e-6)


def test_other_base_columns_have_another_condition_and_the_same_torques(ur5):
    """Columns of the ten inertial numbers themselves, picked by QR with pivoting."""
    rng = np.random.default_rng(0)
    states = [s * rng.uniform(-1.0, 1.0, (100, 6)) for s in (3.0, 2.0, 5.0)]
    picked = np.sort(qr(ur5.regressor(*states).reshape(600, -1), pivoting=True)[2][:36])
    options = {"friction": (), "rotor": False, "scaled": False, "noise": 1.0, "budget": 40}
    excitation = dl.excitation(ur5, 10, combinations=np.eye(60)[:, picked], **options)
    W = ur5.regressor(*excitation(np.arange(0.0, 10.0, 0.005))).reshape(-1, 60)
    assert excitation.condition == pytest.approx(np.linalg.cond(W[:, picked]), rel=1e-6)
    beta = excitation.deviations()["prior"].to_numpy()
    np.testing.assert_allclose(W[:, picked] @ beta, W @ ur5.parameters, atol=1e-9)


@pytest.mark.parametrize("objective", ["condition", "information"])
def test_it_is_far_better_than_random_motions(ur5, objective):
    excitation = dl.excitation(ur5, 10, objective=objective, budget=300, seed=1)
    rng = np.random.default_rng(5)
    centres = feasible_configurations(excitation.problem, rng)
    z, rough = random_motions(excitation.problem, centres, 20, rng)
    random = [excitation.problem.quality(x) for x in z[np.isfinite(rough)]]
    if objective == "condition":
        assert excitation.condition < 0.5 * np.median([x.condition for x in random])
    else:
        assert excitation.information > np.max([x.information for x in random]) + 10.0


@pytest.mark.parametrize(
    ("objective", "scaled"), [("condition", True), ("condition", False), ("information", True)]
)
def test_slopes_are_those_of_finite_differences(ur5, objective, scaled):
    space = {"above": 0.0, "spheres": [((0.0, 0.0, 1.0), 0.1)], "frames": ["tool"]}
    excitation = dl.excitation(
        ur5, 10, objective=objective, scaled=scaled, workspace=space, budget=1
    )
    problem, rng = excitation.problem, np.random.default_rng(2)
    z, d = excitation.z, rng.normal(size=excitation.z.shape)
    step = 1e-6
    for p in (1.0, 8.0):
        gradient = problem.value(z, p)[1]
        # of fourth order: with steps of 1e-6 rounding of the condition number would be seen
        near, far = (
            (problem.value(z + s * d, p)[0] - problem.value(z - s * d, p)[0]) / (2.0 * s)
            for s in (1e-5, 2e-5)
        )
        assert gradient @ d == pytest.approx((4.0 * near - far) / 3.0, rel=1e-6)
    push, _ = problem.barrier_derivatives(z)
    ahead, behind = (problem.barrier(z + s * d) for s in (step, -step))
    assert push @ d == pytest.approx((ahead - behind) / (2.0 * step), rel=1e-6)


def test_the_same_seed_finds_the_same_and_another_one_another():
    robot = dl.load("planar_2r")
    sums = [
        dl.excitation(robot, 5, velocity=2.0, torque=60.0, budget=60, seed=seed).trajectory.sums
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(sums[0], sums[1])
    assert not np.allclose(sums[0], sums[2])


def test_a_larger_budget_is_never_worse():
    robot = dl.load("planar_2r")
    conditions = [
        dl.excitation(robot, 5, velocity=2.0, torque=60.0, budget=budget).condition
        for budget in (40, 400)
    ]
    assert conditions[1] < conditions[0]


def test_csv_comes_back_by_read_log(motion, tmp_path):
    file = motion.csv(tmp_path / "motion.csv", rate=50.0)
    log = dl.read_log(file, motion.robot)
    t = log.time.values
    np.testing.assert_allclose(np.diff(t), 0.02, atol=1e-9)
    for name, expected in zip(("q", "qd", "qdd"), motion(t), strict=True):
        np.testing.assert_allclose(log[name].values[:-1], expected[:-1], atol=1e-9)
    tau = motion.robot.inverse_dynamics(*motion(t))
    np.testing.assert_allclose(log.tau.values, tau, atol=1e-9)


def test_a_controller_follows_it_in_a_simulation():
    robot = dl.load("planar_2r")
    excitation = dl.excitation(robot, 4, velocity=2.0, torque=60.0, budget=40)
    controller = dl.control.ComputedTorque(robot, excitation.trajectory, 100.0, 20.0)
    run = dl.simulate(robot, excitation.q(0.0), [0.0, 0.0], controller, duration=4.0)
    np.testing.assert_allclose(run.q.values[:-1], excitation.q(run.time.values)[:-1], atol=1e-8)


def test_expected_deviations_are_those_of_least_squares(ur5, motion):
    """Torques with the noise of the settings, fitted many times, spread as was said."""
    expected = motion.deviations(rate=20.0)["std"].values
    t = np.arange(0.0, 20.0, 1.0 / 20.0)
    W = motion.problem.columns(motion(t))
    A = motion.problem.objective.weighted(W)
    solve = np.linalg.pinv(A)
    std = np.linalg.norm(solve, axis=1)
    np.testing.assert_allclose(expected, std, rtol=0.02)


def test_identify_finds_parameters_as_well_as_was_promised():
    """Torques with white noise: deviations of the fit are those expected of the motion."""
    robot = dl.load("planar_2r")
    excitation = dl.excitation(robot, 20, velocity=3.0, torque=60.0, noise=0.05, budget=60)
    log, rng = excitation.sampled(rate=200.0), np.random.default_rng(1)
    log["tau"] = log.tau + 0.05 * rng.normal(size=log.tau.shape)
    fit = dl.identify(robot, log, held_out=None, consistent=False)
    expected = excitation.deviations(rate=200.0)
    assert list(expected.index) == list(fit.base.index)
    np.testing.assert_allclose(fit.base["std"], expected["std"], rtol=0.15)
    assert (np.abs(fit.base["value"] - expected["prior"]) < 4.0 * expected["std"]).all()
    assert fit.condition == pytest.approx(excitation.condition, rel=0.1)


def test_a_time_limit_ends_the_search(ur5, monkeypatch):
    """On a clock that goes on by a second whenever it is looked at, so the search ends by count."""
    looked = count()
    monkeypatch.setattr(design.time, "monotonic", lambda: next(looked))
    excitation = dl.excitation(ur5, 10, budget=10**6, time_limit=20.0)
    assert np.isfinite(excitation.condition) and (excitation.limits.margin > 0.0).all()
    assert 20 < next(looked) < 100


def test_axes_that_a_file_has_rounded_do_not_spoil_the_motion():
    """π/2 as 1.5708 makes parameters that nothing shows; they are named and left to others."""
    links: list[dl.Link] = []
    for k, angle in enumerate((np.pi, np.pi / 2, 0.0, np.pi / 2)):
        origin = pose(rotation_from_rpy([round(angle, 4), 0.0, 0.0]), [0.3 * (k == 2), 0.0, 0.0])
        body = {"mass": 1.0, "com": [0.01, 0.02, 0.1], "inertia": 0.05 * np.eye(3)}
        parent = links[-1].name if links else None
        joint = dl.Joint(origin=origin, name=f"j{k}")
        links.append(dl.Link(f"l{k}", parent, joint, **body))
    arm = dl.Robot.from_links(links)
    excitation = dl.excitation(arm, 10, velocity=2.0, friction=(), rotor=False, budget=60)
    assert excitation.condition < 30.0
    assert len(excitation.parameters) < len(arm.base_parameters.kept)
    assert any("hardly show" in sentence for sentence in excitation.notes)
    beta = excitation.deviations()["prior"].to_numpy()
    t = np.linspace(0.0, 10.0, 200)
    tau = excitation.problem.columns(excitation(t)) @ beta
    np.testing.assert_allclose(tau, arm.inverse_dynamics(*excitation(t)), atol=1e-3)


def test_joints_that_follow_others_are_moved_by_their_leaders():
    """The base columns are those of the reduced coordinates."""
    arm = dl.load(str(ROBOTS / "palletiser.urdf"))
    excitation = dl.excitation(arm, 10, velocity=1.0, friction=(), rotor=False, budget=40)
    W = (
        arm.regressor(*excitation(np.arange(0.0, 10.0, 0.005)))
        @ excitation.problem.columns.base.selection
    )
    W = (W / excitation.settings["noise"][:, None]).reshape(-1, len(excitation.parameters))
    assert excitation.trajectory.size == arm.nv == 4
    scaled = W / np.linalg.norm(W, axis=0)
    assert excitation.condition == pytest.approx(np.linalg.cond(scaled), rel=1e-6)


def test_a_start_is_where_it_begins(ur5):
    start = np.array([0.3, -1.2, 1.0, -0.5, 0.4, 0.1])
    excitation = dl.excitation(ur5, 10, start=start, budget=60)
    np.testing.assert_allclose(excitation.q([0.0, 10.0]), [start, start], atol=1e-9)
    assert np.abs(excitation.qd(0.0)).max() < 1e-9 and (excitation.limits.margin > 0.0).all()


def test_payload_only_shows_ten_numbers_of_one_link(ur5):
    link = ur5.dynamics.description.bodies[-1].name
    excitation = dl.excitation(ur5, 10, friction=(), rotor=False, links=[link], budget=40)
    assert len(excitation.parameters) == 10 and excitation.condition < 50.0


def test_a_motion_that_leaves_its_limits_between_samples_is_made_smaller(motion):
    """The limits of the whole problem put just inside of what the motion uses."""
    problem, used = motion.problem, motion.limits.loc["velocity"]
    most = 0.99 * np.maximum(used.highest, -used.lowest).to_numpy()
    tight = replace(
        problem,
        limits=[
            x._replace(lower=-most, upper=most) if x.kind == "velocity" else x
            for x in problem.limits
        ],
    )
    z, pull = certify(tight, motion.z)
    assert pull > 0.0
    fastest = np.abs(tight.motion(z, tight.basis.shapes(5_000))[1]).max(axis=0)
    assert (fastest < most).all()


def test_a_descent_that_comes_to_the_boundary_ends_there():
    """Torque limits so low that the barrier's curvature loses all other digits."""
    excitation = dl.excitation(dl.load("planar_2r"), 10, velocity=2.0, torque=1.0)
    assert np.isfinite(excitation.condition) and (excitation.limits.margin > 0.0).all()


def test_what_a_notebook_shows_is_harmless(motion):
    text = motion._repr_html_()
    assert "condition" in text and "shoulder_pan_joint" in text and "<script" not in text
    assert "condition" in repr(motion)


# bad input


@pytest.mark.parametrize(
    ("name", "settings", "error", "words"),
    [
        ("puma560", {}, TrajectoryError, "needs a velocity limit for 'joint1', .*velocity="),
        ("ur5", {"torque": 1.0}, TrajectoryError, "'shoulder_lift_joint' has torque .* beyond"),
        ("ur5", {"position": (1.0, 1.0)}, TrajectoryError, "'shoulder_pan_joint' cannot move"),
        ("ur5", {"position": (1.0,)}, ShapeError, "lower, upper"),
        ("ur5", {"workspace": {"above": 5.0}}, TrajectoryError, "distance .* at best, beyond"),
        ("ur5", {"workspace": {"abov": 0.0}}, SettingError, "did you mean 'above'"),
        ("ur5", {"workspace": {"clearance": 0.1}}, SettingError, "what to keep away from"),
        ("ur5", {"workspace": {"above": 0.0, "frames": ["tol"]}}, UnknownNameError, "tool"),
        ("ur5", {"workspace": {"inside": ((0, 0, 0), (0, 1, 1))}}, SettingError, "corner"),
        ("ur5", {"workspace": {"planes": [(0, 0, 1)]}}, SettingError, "normal, distance"),
        ("ur5", {"start": [0.0]}, ShapeError, "start must be a number, or 6"),
        ("ur5", {"start": [9.0] * 6}, TrajectoryError, "the start: joint 'elbow_joint'"),
        ("ur5", {"objective": "cond"}, SettingError, "did you mean 'condition'"),
        ("ur5", {"friction": ["load"]}, UnknownNameError, "viscous, coulomb, offset"),
        ("ur5", {"combinations": np.eye(3)}, ShapeError, "as many as there are base parameters"),
        ("ur5", {"combinations": np.ones((84, 58))}, SettingError, "dependent"),
        ("ur5", {"harmonics": 1}, SettingError, "at least 2"),
        ("ur5", {"margin": 0.7}, SettingError, "margin"),
        ("ur5", {"noise": -1.0}, SettingError, "noise"),
        ("ur5", {"velocity": [1.0, 2.0]}, ShapeError, "6 of them"),
        ("ur5", {"velocity": "fast"}, ShapeError, "velocity='fast' must be a number"),
        (
            "ur5",
            {"torque": [9, 9, 0, 9, 9, 9]},
            TrajectoryError,
            "'elbow_joint', which has 0: give",
        ),
        ("ur5", {"workspace": 5}, SettingError, "must be a dictionary"),
        ("ur5", {"budget": 2.5}, SettingError, "budget=2.5"),
        ("four_bar", {}, TrajectoryError, "closed chain"),
        ("scara", {"velocity": 1.0}, TrajectoryError, "slides and has no limits.*position="),
    ],
)
def test_what_cannot_be_done_is_said(name, settings, error, words):
    with pytest.raises(error, match=words):
        dl.excitation(dl.load(name), 10, **settings)


def test_a_duration_that_is_none_is_refused(ur5):
    with pytest.raises(TrajectoryError, match="takes a robot"):
        dl.excitation("ur5", 10)
    for duration in (0.0, -1.0, np.nan, "long"):
        with pytest.raises(SettingError, match="duration"):
            dl.excitation(ur5, duration)


def test_quaternions_are_refused_by_name():
    ball = dl.Link("ball", mass=1.0, inertia=np.eye(3), joint=dl.Joint("spherical", name="hip"))
    with pytest.raises(TrajectoryError, match=r"hip.* is a quaternion"):
        dl.excitation(dl.Robot.from_links([ball]), 10)


def test_a_box_may_be_open_on_some_sides(ur5):
    """An infinite side is no obstacle, and leaves the other sides where they are."""
    space = build_workspace(
        ur5, {"inside": ((-2, -3, -np.inf), (4, 5, np.inf)), "frames": ["tool"]}
    )
    assert space.names == ("tool to x = -2", "tool to x = 4", "tool to y = -3", "tool to y = 5")
