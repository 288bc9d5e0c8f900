"""Energy: its balance in every robot of the zoo, and its drift over a million steps."""

import time

import numpy as np
import pytest

import dalembert as dl
from dalembert.zoo import names
from dalembert.zoo.six_joint_arms import puma_rows


@pytest.mark.parametrize("name", names())
def test_balance_of_adaptive_runs(name: str) -> None:
    robot = dl.load(name)
    rng = np.random.default_rng(1)
    q0, qd0, _ = robot.random_state(rng)
    run = dl.simulate(robot, q0, qd0, rng.normal(size=robot.nv), duration=1.0, dt=0.05)
    largest = max(1.0, float(np.abs(run.kinetic).max()), float(np.abs(run.dissipated).max()))
    assert float(np.abs(run.balance).max()) < 1e-8 * largest
    assert float(run.dissipated[-1]) >= 0.0


def frictionless_puma(rotors: bool) -> dl.Robot:
    rows = [dict(row) for row in puma_rows()]
    for row in rows:
        del row["viscous_motor"], row["coulomb_motor"]
        row["rotor_inertia"] *= rotors
    return dl.Robot.from_dh(rows, convention="standard", name="frictionless")


@pytest.mark.parametrize("rotors", [True, False])
def test_variational_energy_does_not_drift(rotors: bool) -> None:
    robot = frictionless_puma(rotors)
    q0, qd0 = np.array([0.0, 0.3, 0.2, 0.1, 0.4, 0.5]), np.full(6, 0.3)
    begin = time.process_time()
    run = dl.simulate(
        robot, q0, qd0, duration=1000.0, dt=1e-3, save_every=100, method="variational"
    )
    seconds = time.process_time() - begin
    energy = (run.kinetic + run.potential).values
    line = np.polynomial.Polynomial.fit(run.time.values, energy, 1)
    trend = abs(line(1000.0) - line(0.0))
    if rotors:
        assert trend < 1e-7 * float(run.kinetic.max())
    else:
        assert trend < np.std(energy - line(run.time.values))
    assert seconds < 10.0  # of one core: about 3 s where nothing else runs


def test_explicit_methods_do_drift() -> None:
    # the same test can tell: heun at the same step gains energy steadily
    robot = frictionless_puma(True)
    q0, qd0 = np.array([0.0, 0.3, 0.2, 0.1, 0.4, 0.5]), np.full(6, 0.3)
    drift = {}
    for method in ("heun", "variational"):
        run = dl.simulate(robot, q0, qd0, duration=40.0, dt=1e-2, save_every=100, method=method)
        drift[method] = abs(float(run.balance[-1]))
    assert drift["variational"] < 0.1 * drift["heun"]


def test_balance_of_fixed_steps_shrinks_with_the_step() -> None:
    # an error of order four: half the step, a sixteenth of the imbalance
    robot = dl.load("ur5")
    q0, qd0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2]), np.ones(6)
    runs = [dl.simulate(robot, q0, qd0, duration=0.2, dt=h, method="rk4") for h in (4e-3, 2e-3)]
    coarse, fine = (float(np.abs(run.balance).max()) for run in runs)
    assert 10.0 < coarse / fine < 25.0


def test_viscous_friction_takes_what_it_should() -> None:
    # one wheel, J q̈ = −b q̇: q̇ = exp(−b t / J), heat ½ J (1 − exp(−2 b t / J))
    wheel = {
        "name": "wheel",
        "joint": {"type": "revolute", "viscous": 0.5},
        "mass": 1.0,
        "inertia": np.eye(3),
    }
    robot = dl.Robot.from_links([wheel])
    run = dl.simulate(robot, [0.0], [1.0], duration=2.0, dt=0.1)
    np.testing.assert_allclose(run.qd[:, 0], np.exp(-0.5 * run.time), rtol=1e-8)
    np.testing.assert_allclose(run.dissipated, 0.5 * (1.0 - np.exp(-run.time)), atol=1e-9)
