"""W x is inverse dynamics for the system's own numbers, and for any others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.errors import IdentificationError
from dalembert.formulations.derivatives.regressor import with_inertial_parameters
from dalembert.formulations.parts.elements import friction
from dalembert.identification.regressor import build_regressor, expected_sign, random_record
from dalembert.model.coupling import Follow, couple
from dalembert.model.model import Drive
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, seeds, with_elements

ALL = ("viscous", "coulomb", "offset", "stribeck", "load")
EXACT = 1e-12


def moved(system, seed=0, n=5):
    """Random states with the torques of the system itself."""
    record = random_record(system, np.random.default_rng(seed), n)
    torques = system.inverse_dynamics(record.q, record.qd, record.qdd)
    return replace(record, tau=torques[0] if system.dynamics.rows else torques)


def relative(x, y):
    return np.abs(x - y).max() / max(1.0, np.abs(y).max())


@given(seeds)
@settings(max_examples=6, deadline=None)
def test_columns_times_the_systems_own_numbers_are_inverse_dynamics(seed):
    """Every kind of joint, friction that differs by direction, rotors, springs, tendons, drag."""
    rng = np.random.default_rng(seed)
    robot = Robot(with_elements(random_model(rng, n=int(rng.integers(1, 4))), rng))
    record = moved(robot, seed)
    columns = build_regressor(robot, friction=ALL)
    W, y = columns.evaluate(record), columns.observations(record)
    assert W.shape == (5, len(columns.rows), len(columns.names))
    assert relative(W @ columns.values, y) < EXACT


@given(seeds)
@settings(max_examples=4, deadline=None)
def test_joints_that_follow_have_friction_of_their_own(seed):
    rng = np.random.default_rng(seed)
    tree = random_model(rng, kinds=("revolute", "prismatic"), n=4)
    follow = {"joint2": Follow("joint0", -0.7, 0.3), "joint3": Follow("joint1", 1.5, 0.0)}
    robot = Robot(couple(tree, follow))
    record = moved(robot, seed)
    columns = build_regressor(robot)
    assert len(columns.rows) == 2 and "joint3:coulomb" in columns.names
    assert relative(columns.evaluate(record) @ columns.values, columns.observations(record)) < EXACT


def changed(robot, x, columns):
    """The robot with other inertias, friction and rotors."""
    parts = dict(
        zip(columns.kinds, x[columns.inertial :].reshape(len(columns.kinds), -1), strict=True)
    )
    drive = Drive(
        parts["viscous"],
        parts["coulomb"] + parts["offset"],
        parts["offset"] - parts["coulomb"],
        parts["rotor"],
    )
    model = with_inertial_parameters(robot.model, x[: columns.inertial])
    return Robot(replace(model, drive=drive))


@pytest.mark.parametrize("name", ["four_bar", "parallel_3rr", "slider_crank"])
def test_forces_of_closed_loops_fall_out_of_the_equations(name):
    """Nᵀ W x = Nᵀ τ for any x, though only some joints are driven."""
    closed = dl.load(name)
    columns = build_regressor(closed)
    x = np.random.default_rng(1).uniform(0.1, 1.0, len(columns.names))
    other = changed(closed.robot, x, columns)
    constraints = closed.dynamics.constraint_set
    again = dl.Constrained(other, constraints, guess=closed.neutral(), independent=columns.rows)
    record = random_record(closed, np.random.default_rng(2), 6)
    tau, _ = again.inverse_dynamics(record.q, record.qd, record.qdd, actuators=columns.rows)
    assert np.count_nonzero(np.abs(tau).max(axis=0)) == closed.freedoms
    record = replace(record, tau=np.where(tau == 0.0, np.nan, tau))
    W, y = columns.evaluate(record), columns.observations(record)
    assert relative(W @ x, y) < 1e-10


def test_a_free_base_has_neither_friction_nor_rotor():
    rng = np.random.default_rng(3)
    robot = Robot(random_model(rng, kinds=("free", "revolute"), n=3, tree=False))
    columns = build_regressor(robot)
    free = [j for j in robot.joints if j.kind == "free"]
    floating = {robot.dynamics.velocities[k] for j in free for k in range(j.v.start, j.v.stop)}
    assert floating
    for name, open_ in zip(
        columns.names[columns.inertial :], columns.free[columns.inertial :], strict=True
    ):
        assert open_ == (name.rsplit(":", 1)[0] not in floating)


def test_friction_of_a_drive_is_its_columns_times_its_numbers():
    """The law stands in formulations.parts.drive; columns are its slopes."""
    model = random_model(np.random.default_rng(4), kinds=("revolute",), n=3, tree=False)
    robot = Robot(model)
    columns = build_regressor(robot, rotor=False).with_widths(0.0)
    record = random_record(robot, np.random.default_rng(5), 4)
    W = columns.evaluate(record)[:, :, columns.inertial :]
    x = columns.values[columns.inertial :].copy()
    x[[name.endswith(":rotor") for name in columns.names[columns.inertial :]]] = 0.0
    for k in range(4):
        np.testing.assert_allclose(W[k] @ x, friction(model, record.qd[k]), atol=1e-14)


def test_the_sign_of_a_noisy_rate_is_its_expectation():
    rng = np.random.default_rng(6)
    drawn = np.sign(0.03 + 0.05 * rng.normal(size=200_000)).mean()
    assert abs(expected_sign(np.array([0.03]), np.array([0.05]))[0] - drawn) < 0.01


def test_links_leave_all_other_numbers_as_they_are():
    robot = dl.load("panda")
    columns = build_regressor(robot, links=["panda_link7"])
    assert [columns.names[k] for k in np.flatnonzero(columns.free)] == [
        f"panda_link7:{what}"
        for what in ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    ]
    with pytest.raises(IdentificationError, match="panda_link9"):
        build_regressor(robot, links=["panda_link9"])


def test_what_cannot_be_identified_is_refused_in_words():
    with pytest.raises(IdentificationError, match="kind 'viscos'"):
        build_regressor(dl.load("planar_2r"), friction=["viscos"])
    with pytest.raises(IdentificationError, match="no links in joint coordinates"):
        build_regressor(dl.load("pendulum_constrained"))


def test_a_closed_chain_of_another_robot_keeps_its_constraints():
    closed = dl.load("four_bar")
    doubled = closed.robot.with_parameters(2.0 * closed.robot.parameters)
    other = closed.with_robot(doubled)
    q = closed.neutral()
    assert other.constraints == closed.constraints
    np.testing.assert_allclose(other.mass_matrix(q), 2.0 * closed.mass_matrix(q))
