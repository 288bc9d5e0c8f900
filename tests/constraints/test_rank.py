"""How many freedoms a mechanism has: the same from every guess, and at a singular posture in words."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Loop
from dalembert.errors import ConstraintError
from dalembert.zoo.entry import pinned, pose_at
from tests.constraints.states import ROUTES
from tests.constraints.transformed_mechanisms import closed_in_space, turned

ALONG = np.array([1.0, -1.0, 1.0, 1.0])  # the motion of three parallel cranks


def parallel_cranks(angle: float) -> Constrained:
    """Three equal cranks a metre apart with one coupler: the third only repeats what two hold."""
    links = [
        pinned("c0", None, (0.0, 0.0), 1.0, 1.0),
        pinned("coupler", "c0_rod", (1.0, 0.0), 2.0, 2.0),
        pinned("c1", None, (1.0, 0.0), 1.0, 1.0),
        pinned("c2", None, (2.0, 0.0), 1.0, 1.0),
    ]
    frames = {
        "middle": ("coupler_rod", pose_at((1.0, 0.0, 0.0))),
        "end": ("coupler_rod", pose_at((2.0, 0.0, 0.0))),
        "tip1": ("c1_rod", pose_at((1.0, 0.0, 0.0))),
        "tip2": ("c2_rod", pose_at((1.0, 0.0, 0.0))),
    }
    robot = dl.Robot.from_links(links, frames=frames, gravity=(0.0, -9.81, 0.0), name="cranks")
    pins = [Loop("middle", "tip1", "pin", name="p1"), Loop("end", "tip2", "pin", name="p2")]
    return Constrained(robot, pins, guess=angle * ALONG)


@pytest.mark.parametrize("angle", np.linspace(0.0, np.pi, 11))
def test_freedoms_do_not_depend_on_the_guess(angle):
    assert parallel_cranks(angle).freedoms == 1


@pytest.mark.parametrize("guess", [0.0, 0.6, np.pi])
def test_parallel_cranks_move_by_all_routes(guess):
    """Σ (J + m l²) θ̈ = −g cos θ Σ moments: three rods of 1 kg and a coupler of 2 kg carried along."""
    closed = parallel_cranks(guess)
    for angle in (0.0, 0.3, 1.2, 2.0, np.pi):
        expected = -9.81 * np.cos(angle) * (3 * 0.5 + 2.0) / (3 * (1.0 / 3.0) + 2.0)
        for route in ROUTES:
            for speed in (0.0, 1.0):
                state = angle * ALONG, speed * ALONG, np.zeros(4)
                qdd, _ = closed.forward_dynamics(*state, formulation=route)
                np.testing.assert_allclose(qdd, expected * ALONG, atol=1e-9)


@pytest.mark.parametrize("route", ROUTES)
def test_the_flat_posture_is_refused_by_name(route):
    """Flat, two branches cross, and a velocity between them has no acceleration."""
    closed = parallel_cranks(0.6)
    assert closed.mobility(np.zeros(4)).singular
    between = np.array([1.0, -2.0, 1.0, 1.0])
    with pytest.raises(ConstraintError, match=r"singular posture.*rank 2 of 3.*'p1', 'p2'"):
        closed.forward_dynamics(np.zeros(4), between, np.zeros(4), formulation=route)


def test_a_loop_that_holds_nothing_is_refused_in_any_orientation():
    """Axes of a planar linkage are parallel anyway: rows of rounding are no rows."""
    tilt = dl.spatial.rotation_from_rpy((0.3, -0.7, 1.1))
    robot = turned(closed_in_space(dl.load("four_bar")), tilt, np.ones(3)).closed.system
    axes = Loop("coupler_tip", "rocker_tip", "parallel", name="axes")
    with pytest.raises(ConstraintError, match="'axes', equation 0: it does not depend on q"):
        Constrained(robot, [axes])
