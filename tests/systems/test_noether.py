"""Momenta conserved by symmetry: which there are, and that motions conserve them."""

import numpy as np
import pytest

import dalembert as dl

BODY = {"mass": 2.0, "com": (0.1, 0.05, -0.2), "inertia": np.diag([0.1, 0.2, 0.25])}
FREE = {"type": "free", "name": "float"}


def walker(base=FREE, **options):
    """A base with an arm of a hinge and a slide and a leg on a ball joint."""
    arm = {"type": "revolute", "axis": (0.0, 1.0, 0.0), "name": "arm", "viscous": 0.1}
    hand = {"type": "prismatic", "axis": (1.0, 0.0, 0.0), "name": "hand"}
    leg = {"type": "spherical", "name": "leg"}
    small = {"mass": 0.5, "com": (0.0, 0.1, 0.3), "inertia": 1e-2 * np.eye(3)}
    links = [
        {"name": "base", "joint": base, **BODY},
        {"name": "arm", "parent": "base", "joint": arm, **small},
        {"name": "hand", "parent": "arm", "joint": hand, **small},
        {"name": "leg", "parent": "base", "joint": leg, **small},
    ]
    return dl.Robot.from_links(links, name="walker", **options)


def names(robot):
    q, qd, _ = robot.random_state(np.random.default_rng(1))
    return set(robot.noether_momenta(q, qd))


def test_names_of_a_floating_base():
    assert names(walker()) == {"linear_x", "linear_y", "angular_z"}
    assert names(walker(gravity=(0.0, -3.7, 0.0))) == {"linear_x", "linear_z", "angular_y"}
    every = {f"{kind}_{axis}" for kind in ("linear", "angular") for axis in "xyz"}
    assert names(walker(gravity=(0.0, 0.0, 0.0))) == every
    tilted = names(walker(gravity=(0.0, -3.0, -4.0)))
    assert tilted == {"linear_x", "linear_(0, 0.8, -0.6)", "angular_(0, 0.6, 0.8)"}


def test_momenta_along_a_motion_under_internal_torques():
    robot = walker()
    q, qd, _ = robot.random_state(np.random.default_rng(3))

    def drives(t, q, qd):
        tau = np.zeros(robot.nv)
        tau[6:] = 0.4 * np.sin(3.0 * t + np.arange(robot.nv - 6)) - 0.2 * qd[6:]
        return tau

    run = dl.simulate(robot, q, qd, drives, duration=1.0, dt=0.05, rtol=1e-11, atol=1e-12)
    momenta = robot.noether_momenta(run.q.values, run.qd.values)
    assert set(momenta) == {"linear_x", "linear_y", "angular_z"}
    for values in momenta.values():
        np.testing.assert_allclose(values, values[0], atol=1e-8)
    P = robot.momentum(run.q.values, run.qd.values)
    weight = 9.81 * (2.0 + 3 * 0.5)
    np.testing.assert_allclose(P[:, 2], P[0, 2] - weight * run.time, atol=1e-8)
    assert np.ptp(P[:, 3]) > 0.1 and np.ptp(P[:, 4]) > 0.1


def test_they_commute_with_the_hamiltonian():
    robot = walker()

    def moment(q, p):
        velocity = robot.canonical_equations(q, p, np.zeros(robot.nv))[0]
        return robot.momentum(q, velocity)[5]

    q, qd, _ = robot.random_state(np.random.default_rng(5))
    p = robot.generalized_momentum(q, qd)
    bracket = robot.poisson_bracket(moment, robot.hamiltonian)
    assert abs(bracket(q, p)) <= 1e-11 * (1.0 + abs(moment(q, p)))


def test_bases_that_the_ground_guides():
    turning = {"type": "revolute", "axis": (0.0, 0.0, 1.0), "name": "turn"}
    assert names(walker(turning)) == {"angular_z"}
    # about an axis that does not go through the origin
    origin = np.eye(4) + 0.5 * np.eye(4)[:, [0]] @ np.eye(4)[[3]]
    aside = walker({**turning, "origin": origin})
    assert names(aside) == {"angular_z about (0.5, 0, 0)"}
    assert names(walker({**turning, "axis": (1.0, 0.0, 0.0)})) == set()
    for element in (
        "viscous",
        "stiffness",
        "rotor_inertia",
    ):  # the rotor's momentum is not the bodies'
        assert names(walker({**turning, element: 0.1})) == set()
    assert names(walker({"type": "fixed", "name": "bolted"})) == set()


def test_a_base_in_the_plane_of_massless_carriages():
    rail = lambda name, axis: {"type": "prismatic", "axis": axis, "name": name}  # noqa: E731
    none = {"mass": 0.0, "com": (0, 0, 0), "inertia": np.zeros((3, 3))}
    links = [
        {"name": "x", "joint": rail("x", (1.0, 0.0, 0.0)), **none},
        {"name": "y", "parent": "x", "joint": rail("y", (0.0, 1.0, 0.0)), **none},
        {
            "name": "hull",
            "parent": "y",
            "joint": {"type": "revolute", "axis": (0.0, 0.0, 1.0), "name": "yaw"},
            **BODY,
        },
        {
            "name": "arm",
            "parent": "hull",
            "joint": {"type": "revolute", "axis": (0.0, 0.0, 1.0), "name": "arm"},
            **BODY,
        },
    ]
    robot = dl.Robot.from_links(links)
    assert names(robot) == {"linear_x", "linear_y", "angular_z"}


def test_bad_input():
    with pytest.raises(dl.ShapeError, match="q"):
        walker().noether_momenta([0.0], [0.0])
