"""No state of a batch is refused for another: each has its status, and NaN in its own lane only."""

import pickle

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Pfaffian
from dalembert.errors import ConstraintError, DalembertError
from tests.constraints.singular_batch import manipulator, mixed_batch
from tests.constraints.states import ROUTES, load_states
from tests.constraints.test_contact_friction import rod


@pytest.fixture(scope="module")
def four_bar():
    return load_states("four_bar", count=8)


@pytest.mark.parametrize("route", ROUTES)
def test_singular_states_are_flagged_and_all_others_right(route):
    closed = manipulator()
    regular, mixed, singular = mixed_batch(closed, 300, 30)
    qdd, lam = closed.forward_dynamics(*regular, formulation=route)
    result = closed.forward_dynamics(*mixed, formulation=route, errors="flag")
    np.testing.assert_array_equal(result.status == dl.Status.SINGULAR, singular)
    np.testing.assert_array_equal(result.status == dl.Status.OK, ~singular)
    np.testing.assert_allclose(result.qdd[~singular], qdd[~singular], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.lam[~singular], lam[~singular], rtol=1e-9, atol=1e-9)
    assert np.isnan(result.qdd[singular]).all() and np.isnan(result.lam[singular]).all()


def test_every_reason_has_its_number(four_bar):
    closed, q, qd, tau = four_bar
    q, qd, tau = q.copy(), qd.copy(), tau.copy()
    q[1] += 0.01
    qd[2] += 0.01
    q[3, 0], tau[4, 1], qd[5, 2] = np.nan, np.inf, -np.inf
    expected = np.array([0, 2, 3, 4, 4, 4, 0, 0])
    for result in (
        closed.forward_dynamics(q, qd, tau, errors="flag"),
        closed.inverse_dynamics(q, qd, tau, errors="flag"),
    ):
        np.testing.assert_array_equal(result.status, expected)
        np.testing.assert_array_equal(np.isnan(result[0]).all(axis=-1), expected > 0)
        assert result.status.dtype == np.int8
    loose = closed.forward_dynamics(q, qd, tau, errors="flag", tolerance=0.1)
    np.testing.assert_array_equal(loose.status, [0, 0, 0, 4, 4, 4, 0, 0])
    np.testing.assert_array_equal(
        closed.project_velocity(q, qd, errors="flag").status, [0, 2, 0, 4, 0, 4, 0, 0]
    )


def test_one_state_symbols_and_arrays_given(four_bar):
    closed, q, qd, tau = four_bar
    one = closed.forward_dynamics(q[0], qd[0], tau[0], errors="flag")
    assert one.status == dl.Status.OK and one.qdd.shape == (3,)
    out = np.empty((8, 3)), np.empty((8, 2))
    result = closed.forward_dynamics(q, qd, tau, errors="flag", out=out)
    assert result.qdd is out[0] and result.lam is out[1]
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.status, result.status)
    with pytest.raises(AttributeError, match="there are: qdd, lam, status"):
        _ = result.tau
    with pytest.raises(DalembertError, match='"raise" or "flag"'):
        closed.forward_dynamics(q, qd, tau, errors="ignore")


def test_single_precision_keeps_its_kind(four_bar):
    closed, *state = four_bar
    result = closed.forward_dynamics(*(x.astype(np.float32) for x in state), errors="flag")
    assert result.qdd.dtype == np.float32 and not result.status.any()


def test_contradictions_and_jams():
    particle = dl.load("pendulum_constrained").system
    pushes = [
        Pfaffian([[1.0, 0.0]], b=lambda q, t: np.stack([t * t]), name="slow"),
        Pfaffian([[1.0, 0.0]], b=lambda q, t: np.stack([3.0 * t * t]), name="fast"),
        Pfaffian([[0.0, 1.0]], name="floor"),
    ]
    closed = Constrained(particle, pushes)
    rest, times = np.zeros(2), np.array([0.0, 1e-4])
    # at both times velocities are met within the tolerance, accelerations at the first only
    result = closed.forward_dynamics(rest, rest, rest, t=times, errors="flag")
    assert [dl.Status(x).name for x in result.status] == ["OK", "CONTRADICTION"]
    theta = np.arctan(2.0)
    q, qd = np.array([0.0, np.sin(theta), theta]), np.array([-1.0, 0.0, 0.0])
    jammed = rod(1.4).forward_dynamics(q, qd, np.zeros(3), errors="flag")
    assert jammed.status == dl.Status.JAMMED


def test_motions_that_cannot_be_driven():
    closed, q, qd, tau = load_states("parallel_3rr", count=3)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    result = closed.inverse_dynamics(q, qd, qdd, actuators=["theta1"], errors="flag")
    assert (result.status == dl.Status.NOT_DRIVEN).all()


def test_a_refused_batch_says_how_many_states_are_bad():
    particle = dl.load("pendulum_constrained").system
    closed = Constrained(
        particle,
        [
            Pfaffian([[1.0, 0.0]], b=lambda q, t: np.stack([t]), name="slow"),
            Pfaffian([[1.0, 0.0]], b=lambda q, t: np.stack([3.0 * t]), name="fast"),
        ],
    )
    q = np.zeros((1000, 2))
    q[0] = np.nan  # not one of them: NaN in, NaN out
    with pytest.raises(ConstraintError, match="998 other states of the batch"):
        closed.forward_dynamics(q, np.zeros(2), np.zeros(2), t=1.0)
    three, q, qd, tau = load_states("parallel_3rr", count=2)
    qdd, _ = three.forward_dynamics(q, qd, tau)
    with pytest.raises(ConstraintError, match="another state of the batch"):
        three.inverse_dynamics(q, qd, qdd, actuators=["theta1"])


def test_poor_pivots_are_answered_by_the_multiplier_route_lane_by_lane():
    closed = dl.load("pendulum_constrained")
    angles = np.linspace(0.0, 2 * np.pi, 33)
    q = np.stack([np.sin(angles), -np.cos(angles)], axis=-1)
    qd = 2.0 * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    wrench = np.linspace(0.0, 1.0, 33)
    expected = closed.forward_dynamics(q, qd, np.zeros(2), t=wrench)
    for errors in ("raise", "flag"):
        result = closed.forward_dynamics(
            q, qd, np.zeros(2), t=wrench, formulation="elimination", errors=errors
        )
        np.testing.assert_allclose(result[0], expected[0], atol=1e-10)
