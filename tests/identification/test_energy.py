"""The balance of energy over windows: exact for the system's own numbers, without accelerations."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import IdentificationError
from dalembert.identification.energy import energy_columns, energy_equations, energy_rows
from dalembert.identification.least_squares import estimate
from dalembert.identification.record import Record
from dalembert.identification.regressor import base_parameters, build_regressor
from dalembert.model.model import Drive
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, with_elements
from tests.identification.logs import other_robot, with_drive


def waved(system, n, duration=2.0, seed=0):
    """A smooth motion with the torques that it takes."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, duration, n)
    a, w, c = (
        rng.uniform(0.2, 0.6, system.nv),
        rng.uniform(2, 5, system.nv),
        rng.uniform(0, 6, system.nv),
    )
    q = a * np.sin(w * t[:, None] + c)
    qd, qdd = a * w * np.cos(w * t[:, None] + c), -a * w**2 * np.sin(w * t[:, None] + c)
    tau, none = system.inverse_dynamics(q, qd, qdd), np.zeros(system.nv)
    return Record(t, q, qd, qdd, tau, none, none)


def sprung_arm():
    """Springs, drag, tendons, rotors and viscous friction; no sign of a velocity, so all is smooth."""
    rng = np.random.default_rng(1)
    model = with_elements(random_model(rng, kinds=("revolute", "prismatic"), n=3), rng)
    none = np.zeros(model.nv)
    drive = Drive(model.drive.viscous, none, none, model.drive.rotor)
    tendons = tuple(t for t in model.elements.tendons if t.name != "sling")
    elements = replace(model.elements, tendons=tendons[1:], drags=(), submerged=())
    return Robot(replace(model, drive=drive, elements=elements))


def test_the_balance_holds_and_its_quadrature_is_of_fourth_order():
    robot = sprung_arm()
    columns = build_regressor(robot, friction=["viscous"])
    wrong = []
    for n in (101, 201, 401):
        record = waved(robot, n)
        W, y = energy_rows(columns, replace(record, qdd=np.full_like(record.qd, np.nan)), n // 4)
        assert W.shape == (len(y), 1, len(columns.names))
        wrong.append(np.abs(W @ columns.values - y).max() / np.abs(y).max())
    assert wrong[-1] < 1e-6
    orders = np.log2(np.divide(wrong[:-1], wrong[1:]))
    assert (orders > 3.7).all(), orders


def test_energy_columns_are_the_energies():
    robot = sprung_arm()
    columns = build_regressor(robot, friction=["viscous"])
    record = waved(robot, 7)
    E, P, _, stored = energy_columns(columns, record)
    bare = columns.massless_robot
    assert stored.min() > 0.0  # of a tendon
    total = robot.kinetic_energy(record.q, record.qd) + robot.potential_energy(record.q)
    np.testing.assert_allclose(
        E @ columns.values + stored, total - bare.potential_energy(record.q), atol=1e-12
    )
    lost = (robot.model.drive.viscous * record.qd**2).sum(axis=1)
    np.testing.assert_allclose(P @ columns.values, lost, atol=1e-13)


def test_an_arm_is_found_from_its_power_alone():
    """Base parameters of other inertias and friction, by windows without accelerations."""
    robot = dl.load("puma560")
    columns = build_regressor(robot)
    parts = [waved(robot, 4001, 8.0, seed) for seed in range(3)]
    equations = [energy_rows(columns, part, 40) for part in parts]
    W, y = (np.concatenate(x)[:, 0] for x in zip(*equations, strict=True))
    full = np.concatenate([columns.evaluate(part) for part in parts])
    x = np.linalg.lstsq(W / np.linalg.norm(W, axis=0).clip(1e-9), y, rcond=1e-9)[0]
    x = x / np.linalg.norm(W, axis=0).clip(1e-9)
    tau = np.concatenate([part.tau for part in parts])
    assert np.abs(full @ x - tau).max() < 1e-3 * np.abs(tau).max()


def test_a_closed_chain_needs_no_projection():
    closed = dl.load("four_bar")
    columns = build_regressor(closed, friction=["viscous"])
    run = dl.simulate(closed, duration=1.0, dt=1e-3, method="rk4")
    none = np.zeros((len(run.time), 3))
    record = Record(run.time.values, run.q.values, run.qd.values, none, none, none[0], none[0])
    W, y = energy_rows(columns, record, 100)
    assert not y.any()
    assert np.abs(W @ columns.values).max() < 1e-6 * np.abs(W * columns.values).max()


def test_what_power_cannot_see_is_refused_in_words():
    robot = dl.load("planar_2r")
    with pytest.raises(IdentificationError, match="needs accelerations"):
        energy_rows(build_regressor(robot, friction=["load"]), waved(robot, 50), 10)
    with pytest.raises(IdentificationError, match="longer than the record"):
        energy_rows(build_regressor(robot), waved(robot, 50), 60)


def test_rows_that_rest_only_at_the_reference_do_work_elsewhere():
    """q̇₂ = q₁: b vanishes at the neutral configuration and nowhere else."""
    row = dl.Pfaffian(lambda q: np.array([[0.0, 1.0]]), b=lambda q, t: q[:1], name="carried")
    closed = dl.Constrained(dl.load("planar_2r"), [row])
    with pytest.raises(IdentificationError, match="constraints move and do work"):
        energy_columns(build_regressor(closed), waved(dl.load("planar_2r"), 50))


def test_the_fit_takes_balances_as_it_takes_torques():
    """Base parameters of a robot with other inertias and friction, those held as they are."""
    prior = dl.load("planar_2r")
    truth = with_drive(other_robot(prior, seed=2), [0.3, 0.2], [0.0, 0.0])
    columns = build_regressor(prior, friction=["viscous"])
    base = base_parameters(columns)
    record = replace(waved(truth, 8001, 8.0), qdd=np.full((8001, 2), np.nan), cutoff=5.0)
    fit = estimate(energy_equations(columns, base, [record]), base.matrix @ columns.values)
    true = base.matrix @ build_regressor(truth, friction=["viscous"]).values
    np.testing.assert_allclose(fit.beta, true, atol=1e-5)


def test_too_few_windows_are_refused_in_words():
    robot = dl.load("planar_2r")
    columns = build_regressor(robot)
    record = replace(waved(robot, 101), cutoff=5.0)
    with pytest.raises(IdentificationError, match="too few for 11 base parameters"):
        energy_equations(columns, base_parameters(columns), [record])
