"""Constrained systems keep their constraints; drivers do work; long ladders stay closed."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.zoo.constrained_loops import build

NAMES = (
    *("pendulum_constrained", "spherical_pendulum_constrained", "rolling_disk", "knife_edge"),
    *("chaplygin_sleigh", "snakeboard", "four_bar", "slider_crank", "parallel_3rr"),
)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
@pytest.mark.parametrize("name", NAMES)
def test_constraints_and_energy_are_kept(name: str, method: str) -> None:
    system = dl.load(name)
    qd0 = system.project_velocity(system.neutral(), np.random.default_rng(0).normal(size=system.nv))
    run = dl.simulate(system, None, qd0, duration=1.0, dt=1e-3, save_every=50, method=method)
    assert float(run.residual.max()) < 1e-12
    assert float(run.velocity_residual.max()) < 1e-12
    assert float(np.abs(run.balance).max()) < 1e-8
    assert run["lambda"].dims == ("time", "row") and run.sizes["row"] == system.rows


def test_generalised_alpha_ends_its_steps_on_redundant_constraints() -> None:
    """Rows that repeat others do so on the constraints only: beside them they contradict."""
    system = dl.load("bennett")
    run = dl.simulate(system, duration=0.2, dt=0.01, method="generalized_alpha")
    _, lam = system.forward_dynamics(run.q, run.qd, np.zeros(system.nv))
    np.testing.assert_allclose(lam, run["lambda"], atol=1e-9 * np.abs(lam).max())


def test_a_constrained_particle_is_the_pendulum() -> None:
    particle, pendulum = dl.load("pendulum_constrained"), dl.load("pendulum")
    angle = dl.simulate(pendulum, [0.5], [0.0], duration=1.0, dt=0.1).q.values[:, 0]
    q0 = [np.sin(0.5), -np.cos(0.5)]
    run = dl.simulate(particle, q0, [0.0, 0.0], duration=1.0, dt=0.1)
    np.testing.assert_allclose(run.q, np.stack([np.sin(angle), -np.cos(angle)], 1), atol=1e-9)


def driven_arm() -> tuple[dl.Constrained, float, float]:
    """004's arm: the proximal joint is driven by a sine, the distal one hangs."""
    arm, swing, f = dl.load("two_bar_arm"), 0.4, 0.5
    first = arm.joints[0].name

    def driver(q, t):
        return q[0] - swing * np.sin(2.0 * np.pi * f * t)

    return dl.Constrained(arm, [dl.Driver(driver, name=first)]), swing, f


def test_a_driven_arm_for_ten_seconds() -> None:
    system, swing, f = driven_arm()
    q0 = np.zeros(2)
    qd0 = system.project_velocity(q0, np.zeros(2), t=0.0)
    run = dl.simulate(system, q0, qd0, duration=10.0, dt=0.01)
    assert float(run.residual.max()) < 1e-9
    driven = swing * np.sin(2.0 * np.pi * f * run.time.values)
    np.testing.assert_allclose(run.q[:, 0], driven, atol=1e-12)
    # the driver's work is all that changes the energy
    assert float(np.abs(run.work).max()) > 0.1
    assert float(np.abs(run.balance).max()) < 1e-7


def test_a_ladder_of_forty_loops_for_ten_seconds() -> None:
    ladder = build(40)
    qd0 = ladder.project_velocity(np.zeros(ladder.nv), np.eye(ladder.nv)[0])
    run = dl.simulate(ladder, None, qd0, duration=10.0, dt=0.1, rtol=1e-8, atol=1e-9)
    assert run.attrs["status"] == "complete"
    assert float(run.residual.max()) < 1e-9
    energy = run.kinetic + run.potential
    assert float(np.ptp(energy.values)) < 1e-4 * float(np.abs(energy).max())


def test_a_start_off_the_constraints_is_refused() -> None:
    system = dl.load("pendulum_constrained")
    with pytest.raises(dl.SimulationError, match=r"assemble\(q0\)"):
        dl.simulate(system, [0.5, 0.5], [0.0, 0.0], duration=0.1)
    with pytest.raises(dl.SimulationError, match="project_velocity"):
        dl.simulate(system, [0.0, -1.0], [0.0, 1.0], duration=0.1)
    for method in ("variational", "LSODA"):
        with pytest.raises(dl.DalembertError, match="constraints"):
            dl.simulate(system, duration=0.1, method=method)


def ladder(gravity: float = 9.81, coulomb: float = 0.0) -> tuple[dl.Network, np.ndarray]:
    """Two pendulums of equal length whose tips are joined by a coupler, level all the time."""
    axis = {"type": "revolute", "axis": (0.0, 0.0, 1.0), "coulomb": coulomb}
    rod = {"name": "rod", "joint": axis, "mass": 1.0, "com": (0.5, 0.0, 0.0)}
    unit = dl.Robot.from_links(
        [{**rod, "inertia": np.eye(3) / 12.0}],
        frames={"tip": ("rod", np.eye(4) + np.eye(4, k=3) * 1.0)},
        gravity=(0.0, -gravity, 0.0),
    )

    def level(a, b):
        return np.stack([(a.pose("tip")[1] - b.pose("tip")[1])[1]])

    return dl.Network([unit, unit], [(0, 1, level)], name="two_rods"), np.full(2, 0.3)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_a_network_has_the_schema_of_every_system(method: str) -> None:
    network, q0 = ladder()
    run = dl.simulate(network, q0, None, [0.1, 0.1], duration=0.5, dt=0.01, method=method)
    fields = {"q", "qd", "tau", "lambda", "kinetic", "potential", "work", "dissipated", "balance"}
    assert set(run) == fields | {"residual", "velocity_residual"}
    assert run.q.attrs["units"] == "rad" and list(run.joint.values)[1].endswith("[1]")
    # the error of rk4 at steps of 10 ms; the adaptive method keeps 1e-9
    error = 1e-6 if method == "rk4" else 1e-9
    assert float(np.abs(run.balance).max()) < error and float(run.work[-1]) != 0.0
    pendulum = dl.simulate(network.units[0], q0[:1], None, [0.1], duration=0.5, dt=0.01)
    np.testing.assert_allclose(run.q[:, 0], pendulum.q[:, 0], atol=error)


def test_friction_of_a_network_is_smoothed() -> None:
    network, q0 = ladder(coulomb=0.2)
    run = dl.simulate(network, q0, [1.0, 1.0], duration=0.5, dt=0.01, smoothing=0.01, rtol=1e-7)
    assert run.attrs["status"] == "complete" and float(run.dissipated[-1]) > 0.1
    assert float(np.abs(run.balance).max()) < 1e-5


def test_another_gravity_in_a_network_is_another_run(tmp_path) -> None:
    options = {"duration": 0.2, "dt": 0.01, "checkpoint": tmp_path}
    for gravity in (9.81, 9.81):
        network, q0 = ladder(gravity)
        dl.simulate(network, q0, **options)
    network, q0 = ladder(1.62)
    with pytest.raises(dl.SimulationError, match="another run: model_digest"):
        dl.simulate(network, q0, **options)


def parallelogram(mismatch: float) -> dl.Constrained:
    """A crank, a coupler and two rods parallel to the crank; the second is `mismatch` m off."""

    def link(name: str, z: float) -> dict:
        joint = {"type": "revolute", "axis": (0, 1, 0), "name": name, "origin_xyz": (0, 0, z)}
        body = {"name": name, "joint": joint, "mass": 0.5, "com": (0.0, 0.0, 0.15)}
        return body | {"inertia": 0.01 * np.eye(3)}

    def at(x: float) -> np.ndarray:
        pose = np.eye(4)
        pose[0, 3] = x
        return pose

    robot = dl.Robot.from_links([link("crank", 0.0), link("coupler", 0.3) | {"parent": "crank"}])
    rods = [("rod", 0.4, 0.0), ("second rod", 0.2, mismatch)]
    distances = [
        dl.Distance("base", "coupler", 0.3, pose_a=at(x + off), pose_b=at(x), name=name)
        for name, x, off in rods
    ]
    return dl.Constrained(robot, distances)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
@pytest.mark.parametrize(("mismatch", "speed"), [(1e-5, 1.0), (1e-6, 5.0)])
def test_a_projected_velocity_is_accepted_where_rows_are_dependent(
    mismatch: float, speed: float, method: str
) -> None:
    """No projection closes rows that repeat others but for their digits (decision 26)."""
    system = parallelogram(mismatch)
    assert system.dynamics.dependent
    q0 = system.neutral()
    qd0 = system.project_velocity(q0, [speed, -speed])
    assert np.abs(system.jacobian(q0) @ qd0).max() > 1e-6
    run = dl.simulate(system, q0, qd0, duration=0.05, dt=0.01, method=method)
    assert run.attrs["status"] == "complete"
    batch = dl.simulate(system, [q0, q0], [qd0, 0.0 * qd0], duration=0.02, dt=0.01)
    np.testing.assert_allclose(batch.q[:, 0], run.q[:3], atol=1e-6)
    with pytest.raises(dl.SimulationError, match="qd0 misses the constraints"):
        dl.simulate(system, q0, [speed, -0.999 * speed], duration=0.05, dt=0.01)
    with pytest.raises(dl.SimulationError, match="q0 misses the constraints"):
        dl.simulate(system, q0 + np.array([0.0, 1e-3]), duration=0.05, dt=0.01)
