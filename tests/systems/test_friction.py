"""Over which velocity smoothed friction rises, and that it is the friction of the parameters given.

That the energy balance then holds, also where arms get lighter than they were at their start, is what
`examples/simulate_batch.py` asserts.
"""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report.live_kernels import kernel_of
from dalembert.systems.friction import (
    LIGHTER,
    coulomb_of,
    lightest_postures,
    mobilities,
    smoothing_rate,
    smoothing_width,
    traced_smoothing_rate,
)
from dalembert.tracing.interpreter import interpret

STILL = {"duration": 1.0, "dt": 1e-2, "progress": False}


ROUND, POINT = 0.02 * np.eye(3), np.zeros((3, 3))  # kg m² about the centre


def arm(coulomb, mass=1.0, inertia=ROUND):
    joint = {"type": "revolute", "axis": (0, 1, 0), "coulomb": coulomb}
    body = {"mass": mass, "com": (0.3, 0, 0), "inertia": inertia}
    return dl.Robot.from_links([{"name": "arm", "joint": joint, **body}], name="arm")


def whirling():
    """A point mass on a rod that turns and lifts: upright, its first joint has no inertia at all."""
    turn = {"type": "revolute", "axis": (0, 0, 1), "coulomb": 0.1}
    lift = {"type": "revolute", "axis": (0, 1, 0), "coulomb": 0.1}
    none = {"mass": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    point = {"mass": 1.0, "com": (1.0, 0, 0), "inertia": np.zeros((3, 3))}
    links = [
        {"name": "post", "joint": turn, **none},
        {"name": "rod", "parent": "post", "joint": lift, **point},
    ]
    return dl.Robot.from_links(links, name="whirling")


@pytest.mark.parametrize("name", ["puma560", "ur5"])
def test_joints_are_hardly_lighter_than_in_their_lightest_posture(name):
    robot = dl.load(name)
    q = robot.random_state(np.random.default_rng(1), 4000)[0]
    result = np.linalg.inv(robot.mass_matrix(q)).diagonal(axis1=1, axis2=2)
    assert (mobilities(robot) > 0.9 * result.max(axis=0)).all()
    inside = lightest_postures(robot).postures
    assert (inside >= robot.lower).all() and (inside <= robot.upper).all()


def test_a_posture_without_inertia_does_not_make_all_others_slide():
    robot = whirling()
    q = robot.random_state(np.random.default_rng(1), 4000)[0]
    usual = np.median(1.0 / np.cos(q[:, 1]) ** 2)
    result = mobilities(robot)
    assert 1.0 < result[0] < 1.1 * LIGHTER * usual and result[1] == pytest.approx(1.0)


def test_the_rule_is_one_for_settings_and_for_symbols():
    """Traced for a page, evaluated for a batch of settings, and for a robot of these numbers."""
    open_ = arm(dl.Parameter("c", 0.4), dl.Parameter("m", 2.0))
    assert list(open_.named_parameters) == ["m", "c"]
    settings = np.array([[2.0, 0.4], [0.5, 3.0]])
    result = smoothing_rate(open_, settings)
    traced = kernel_of(
        open_,
        lambda dynamics: {"rise": traced_smoothing_rate(dynamics, lightest_postures(open_))},
        "rise",
        (),
    )
    np.testing.assert_allclose(interpret(traced, settings)[0], result, rtol=1e-11)
    for row, (m, c) in zip(result, settings, strict=True):
        np.testing.assert_allclose(row, smoothing_rate(arm(c, m)), rtol=1e-14)
        np.testing.assert_allclose(row, c / (0.02 + 0.09 * m) / 2.0, rtol=1e-11)
    widths = smoothing_width(open_, 1e-2, parameters=settings[::-1].reshape(2, 1, 2))
    np.testing.assert_array_equal(widths, np.maximum(1e-3, 1e-2 * result[::-1, None]))
    for batch in ((0,), (3, 0)):
        none = smoothing_width(open_, 1e-2, parameters=np.zeros((*batch, 2)))
        assert none.shape == (*batch, open_.nv)


def test_the_stronger_direction_of_friction_decides_the_width():
    """Of 0.4 Nm forward and 3 Nm backward, on numbers and with a symbol for the mass."""
    open_ = arm((0.4, -3.0), dl.Parameter("m", 2.0))
    traced = kernel_of(
        open_,
        lambda dynamics: {"rise": traced_smoothing_rate(dynamics, lightest_postures(open_))},
        "rise",
        (),
    )
    expected = [[3.0 / (0.02 + 0.09 * m) / 2.0] for m in (2.0, 0.5)]
    settings = np.array([[2.0], [0.5]])
    np.testing.assert_allclose(interpret(traced, settings)[0], expected, rtol=1e-11)
    np.testing.assert_allclose(smoothing_rate(open_, settings), expected, rtol=1e-11)


def test_steps_that_choose_themselves_take_no_width_from_the_times_saved():
    start = {"method": "RK45", "friction": "smooth", "rtol": 1e-9, "progress": False}
    runs = [dl.simulate(arm(2.0), [0.3], duration=0.3, dt=dt, **start) for dt in (0.01, 0.1)]
    assert [run.attrs["smoothing"] for run in runs] == ["0.001", "0.001"]
    np.testing.assert_allclose(runs[0].q[::10], runs[1].q, atol=1e-12)
    peer = arm(2.0).rollout([0.3], [0.0], [0.0], 3, 0.1, method="RK45", rtol=1e-9)
    np.testing.assert_allclose(peer[0], runs[1].q[1:], atol=1e-8)


@pytest.mark.parametrize(
    ("coulomb", "mass", "values"),
    [
        (("c", 0.0), 1.0, {"c": 2.0}),
        (("c",), 1.0, {"c": 2.0}),
        (2.0, ("m",), {"m": 1.0}),
        (2.0, ("m", 0.0), {"m": 1.0}),
    ],
)
def test_friction_is_that_of_the_parameters_given(coulomb, mass, values):
    """It was left out where a parameter had no default, or where the default of friction was zero."""
    built = [dl.Parameter(*x) if isinstance(x, tuple) else x for x in (coulomb, mass)]
    run = dl.simulate(arm(*built, POINT), [0.3], parameters=values, method="rk4", **STILL)
    peer = dl.simulate(arm(2.0, 1.0, POINT), [0.3], method="rk4", **STILL)
    assert float(peer.dissipated[-1]) > 1.0
    np.testing.assert_allclose(run.q, peer.q, atol=1e-9)
    assert run.attrs["friction"] == peer.attrs["friction"]


def test_a_joint_sticks_by_the_friction_given():
    """2.5 N m of gravity move a joint of 1 N m friction, the default, but not one of 3 N m."""
    robot = arm(dl.Parameter("c", 1.0))
    run = dl.simulate(robot, [0.3], parameters={"c": 3.0}, **STILL)
    assert float(np.abs(run.q - 0.3).max()) == 0.0
    assert coulomb_of(robot.dynamics).tolist() == [[1.0], [-1.0]]
