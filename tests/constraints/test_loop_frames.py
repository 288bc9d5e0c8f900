"""Loops seen from the nearest body that carries both ends: where that body is plays no part."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Distance, Loop
from dalembert.spatial.se3 import pose
from tests.constraints.states import consistent_states


@pytest.fixture(scope="module")
def cassie():
    return dl.load("cassie")


def with_loops(closed, **changes):
    """The same robot with its loops changed."""
    kinds = [replace(kind, **changes) for kind in closed.dynamics.constraint_set]
    return Constrained(closed.system, kinds, guess=closed.neutral())


def tilted(closed, count):
    """States with a turned, moving pelvis."""
    return consistent_states(closed, np.random.default_rng(3), count, spread=0.2)


@pytest.mark.parametrize("along", ["carrier", "frame"])
def test_columns_of_the_carrying_body_are_zero_and_not_rounding(cassie, along):
    closed = with_loops(cassie, along=along)
    q, _, _ = (x[0] for x in tilted(cassie, 1))
    A = closed.reference("jacobian", q)
    assert (A[:, :9] == 0.0).all()  # pelvis and left hip
    assert (A[0:3, :16] == 0.0).all()  # both ends of the plantar rod hang on the tarsus
    assert np.abs(A[0:3, 16:19]).max() > 0.01


def test_a_rod_within_a_leg_does_not_see_the_pelvis(cassie):
    rod = Distance("left_hip_pitch", "left_foot", 0.9, name="rod")
    closed = Constrained(cassie.system, [rod], guess=cassie.neutral())
    A = closed.reference("jacobian", tilted(cassie, 1)[0][0])
    assert (A[:, :9] == 0.0).all() and np.abs(A).max() > 0.01


def test_the_axes_of_the_rows_change_no_motion_and_no_force(cassie):
    others = [with_loops(cassie, along=along) for along in ("world", "frame")]
    for q, qd, tau in zip(*tilted(cassie, 2), strict=True):
        qdd, lam = cassie.reference("forward_dynamics", q, qd, tau)
        forces = reactions(cassie, q, lam)
        for other in others:
            result, turned = other.reference("forward_dynamics", q, qd, tau)
            np.testing.assert_allclose(result, qdd, atol=1e-9 * np.abs(qdd).max())
            np.testing.assert_allclose(
                reactions(other, q, turned), forces, atol=1e-9 * np.abs(forces).max()
            )


def reactions(closed, q, lam):
    """Forces (loops, 3) along world axes on the second bodies."""
    kinds, slices = closed.description.constraints, closed.description.slices
    own = np.zeros((len(kinds), len(lam)))
    for row, rows in zip(own, slices.values(), strict=True):
        row[rows] = lam[rows]
    return np.stack(
        [
            closed.reference("wrench", q, x, constraint=name)[:3]
            for name, x in zip(kinds, own, strict=True)
        ]
    )


def test_a_loop_to_the_world_is_carried_by_the_world():
    arm, q = dl.load("planar_2r"), np.array([0.3, 0.8])
    pin = pose(p=arm.reference("pose", q, frame="tool")[:3, 3])
    result = [
        Constrained(arm, [Loop("base", "tool", "pin", pin, along=along)], guess=q).jacobian(q)
        for along in ("world", "carrier")
    ]
    np.testing.assert_array_equal(*result)


def test_turns_are_held_along_a_frame_only(cassie):
    ends = ("left_foot", "right_foot")
    with pytest.raises(dl.ConstraintError, match="'frame', or for points 'world' or 'carrier'"):
        Constrained(cassie.system, [Loop(*ends, "weld", along="carrier")])
