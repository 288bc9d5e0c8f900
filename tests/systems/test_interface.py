"""The interface every system fulfils: manifold, friction, limits, frames, rows, motion."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import FormulationError
from tests.systems.examples import double_pendulum
from tests.systems.test_system import ball, gear


def floating():
    link = {"name": "hull", "joint": {"type": "free"}, "mass": 2.0, "inertia": np.eye(3)}
    arm = {"name": "arm", "parent": "hull", "mass": 1.0, "com": (0.1, 0, 0), "inertia": np.eye(3)}
    limits = {"type": "revolute", "limits": (-1.0, 2.0), "coulomb": (0.4, -0.3), "viscous": 0.2}
    return dl.Robot.from_links([link, {**arm, "joint": limits}])


SYSTEMS = {
    "puma560": lambda: dl.load("puma560"),
    "ball": ball,
    "floating": floating,
    "gear": gear,
    "double_pendulum": double_pendulum,
    "four_bar": lambda: dl.load("four_bar"),
    "sleigh": lambda: dl.load("chaplygin_sleigh"),
}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]()


def state(system):
    rng = np.random.default_rng(3)
    q = system.integrate(system.neutral(), 0.1 * rng.normal(size=system.nv))
    return q, rng.normal(size=system.nv), rng.normal(size=system.nv)


def test_difference_is_the_inverse_of_integrate(system):
    dynamics, (q, step, _) = system.dynamics, state(system)
    there = dynamics.integrate(q, step)
    np.testing.assert_allclose(dynamics.difference(q, there), step, atol=1e-12)
    many = system.integrate(np.stack([q, q]), step)
    np.testing.assert_allclose(system.difference(q, many), np.stack([step, step]), atol=1e-12)


def test_pull_back_is_the_rate_of_the_step(system):
    """d/dt integrate(q, Ω) = rate(·, v) for Ω̇ = pull_back(Ω, v), to fourth order in Ω."""
    dynamics, (q, v, step) = system.dynamics, state(system)
    step, h = 0.01 * step, 1e-6
    turned = dynamics.pull_back(step, v)
    ends = [dynamics.integrate(q, step + sign * h * turned) for sign in (1.0, -1.0)]
    derivative = (ends[0] - ends[1]) / (2.0 * h)
    np.testing.assert_allclose(derivative, dynamics.rate(dynamics.integrate(q, step), v), atol=1e-7)


def test_normalised_brings_quaternions_back(system):
    dynamics, (q, *_) = system.dynamics, state(system)
    kinds = np.array(dynamics.kinds.q)
    off = np.where(kinds == "quaternion", 1.7 * q, q)
    np.testing.assert_allclose(
        dynamics.normalised(np.stack([off, off])), np.stack([q, q]), atol=1e-15
    )
    assert len(dynamics.kinds.v) == dynamics.nv == len(dynamics.units("tau"))


def test_motion_obeys_the_equation_with_and_without_constraints(system):
    """M q̈ + h + Aᵀλ = τ + ψ and A q̈ = γ; no rows for a free system."""
    dynamics, (q, qd, tau) = system.dynamics.bound(), state(system)
    q, qd = dynamics.project(q, qd, 0.0)
    rows = dynamics.at(q, qd, 0.0)
    qdd, lam = dynamics.motion(0.0, q, qd, tau)
    assert lam.shape == (dynamics.rows,) == (len(dynamics.row_names),) == rows.b.shape
    left = dynamics.mass_matrix(q) @ qdd + dynamics.bias(q, qd) + rows.A.T @ lam
    np.testing.assert_allclose(left, tau + dynamics.generalized_forces(q, qd), atol=1e-9)
    np.testing.assert_allclose(rows.A @ qdd, rows.drift, atol=1e-9)


def test_project_ends_on_the_constraints(system):
    dynamics, (q, qd, _) = system.dynamics.bound(), state(system)
    at, moving = q, qd
    for _ in range(4):  # each halves the exponent of the error
        at, moving = dynamics.project(at, moving, 0.0)
    rows = dynamics.at(at, moving, 0.0)
    np.testing.assert_allclose(rows.h, np.zeros_like(rows.h), atol=1e-12)
    np.testing.assert_allclose(rows.A @ moving, rows.b, atol=1e-12)
    if not dynamics.rows:
        assert at is q and moving is qd


def test_coulomb_is_what_without_coulomb_leaves_out(system):
    dynamics, (q, qd, _) = system.dynamics.bound(), state(system)
    positive, negative = dynamics.coulomb
    friction = np.where(qd > 0, positive, negative)
    bare = dynamics.without_coulomb()
    without = bare.generalized_forces(q, qd)
    np.testing.assert_allclose(dynamics.generalized_forces(q, qd), without - friction, atol=1e-13)
    np.testing.assert_array_equal(bare.coulomb, np.zeros((2, dynamics.nv)))


def test_limits_belong_to_velocities():
    robot = floating()
    assert robot.lower.tolist() == [-np.inf] * 6 + [-1.0]
    assert robot.upper.tolist() == [np.inf] * 6 + [2.0]
    assert robot.kinds.q == ("length",) * 3 + ("quaternion",) * 4 + ("angle",)
    assert double_pendulum().upper.tolist() == [np.inf, np.inf]


def test_frames_are_those_of_the_bodies():
    robot = floating()
    q, *_ = state(robot)
    dynamics = robot.dynamics
    for frame in dynamics.frames:
        np.testing.assert_allclose(dynamics.pose(q, frame), robot.pose(q, frame=frame), atol=1e-15)
        np.testing.assert_allclose(dynamics.poses(q)[frame], dynamics.pose(q, frame), atol=1e-15)
        J = robot.jacobian(q, frame=frame, expressed_in="world")
        np.testing.assert_allclose(dynamics.frame_jacobian(q, frame), J, atol=1e-15)
    other = double_pendulum().dynamics
    assert other.frames == ()
    with pytest.raises(FormulationError, match="has no frames"):
        other.pose(np.zeros(2), "tool")
