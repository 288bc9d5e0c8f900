"""Closed chains and floating bases: torques of some joints only, identified against truth."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import IdentificationError
from dalembert.identification import linear_fit
from dalembert.identification.record import Record
from dalembert.identification.regressor import base_parameters, build_regressor
from dalembert.logs.read import close_chain as closed_rows
from dalembert.simulation.results import labelled
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model
from tests.identification import chains
from tests.identification.logs import other_robot, with_drive


def crank_motion(t, seed=0, harmonics=7):
    """x, ẋ, ẍ (n,) of a periodic motion of the crank."""
    rng = np.random.default_rng(seed)
    k = np.arange(1, harmonics + 1)
    a, phase = rng.normal(size=harmonics) / np.sqrt(k), rng.uniform(0.0, 6.0, harmonics)
    w = 2.0 * np.pi * k / t[-1]
    s, c = (a * f(np.outer(t, w) + phase) for f in (np.sin, np.cos))
    return 1.2 + s.sum(axis=1), (w * c).sum(axis=1), -(w**2 * s).sum(axis=1)


def driven(truth, t):
    """q, q̇, q̈ (n, 3) of a motion of the crank, and the torque that it takes there."""
    x, xd, xdd = crank_motion(t)
    q = closed_rows(truth, {0: x}, t)
    qd = np.outer(xd, [1.0, 0.0, 0.0])
    reduced = truth.reduced(q, qd, ["crank"])
    qd = reduced.N[..., 0] * xd[:, None]
    tau = np.zeros_like(q)
    lost = (reduced.N[..., 0] * truth.generalized_forces(q, qd)).sum(axis=1)
    tau[:, 0] = reduced.M_r[:, 0, 0] * xdd + reduced.h_r[:, 0] - lost
    return q, qd, truth.forward_dynamics(q, qd, tau)[0], tau


@pytest.fixture(scope="module")
def linkage():
    return dl.load("four_bar")


@pytest.fixture(scope="module")
def truth(linkage):
    other = other_robot(linkage.robot, seed=1)
    return linkage.with_robot(with_drive(other, [0.05, 0.02, 0.03], [0.1, 0.03, 0.05]))


def test_a_four_bar_with_friction_is_found_to_the_last_digits(linkage, truth):
    """Only the crank's torque is known; those of the passive pins were not measured."""
    t = np.arange(0.0, 10.0, 0.01)
    q, qd, qdd, tau = driven(truth, t)
    none = np.zeros(3)
    log = Record(t, q, qd, qdd, np.where([True, False, False], tau, np.nan), none, none)
    everywhere = dict.fromkeys(("crank", "coupler", "rocker"), ("viscous", "coulomb", "offset"))
    fit = dl.identify(linkage, log, friction=everywhere, consistent=False)
    true = fit.grouping.matrix @ build_regressor(truth).values
    assert len(true) == 17 and not fit.unseen
    np.testing.assert_allclose(fit.base.value, true, atol=1e-8)
    assert fit.robot.rows == linkage.rows  # a closed chain again
    lost = fit.robot.robot.model.drive
    # inertias of real bodies are near the prior as far as ten digits of torque allow, and one equation
    # for eighteen numbers is badly conditioned
    np.testing.assert_allclose(lost.viscous, [0.05, 0.02, 0.03], atol=1e-5)
    np.testing.assert_allclose(lost.coulomb_positive, [0.1, 0.03, 0.05], atol=1e-5)


def test_a_log_of_crank_and_motor_alone_is_enough(linkage, truth, tmp_path):
    """Encoder of 18 bits, 1 % of noise in the torque: all base parameters within 3 deviations."""
    t = np.arange(0.0, 20.0, 0.01)
    q, _, _, tau = driven(truth, t)
    noise = 0.01 * np.abs(tau).max() * np.random.default_rng(0).normal(size=len(t))
    step = 2.0 * np.pi / 2**18
    rows = np.column_stack([t, step * np.round(q[:, 0] / step), tau[:, 0] + noise])
    path = tmp_path / "crank.csv"
    np.savetxt(path, rows, "%.9g", ",", header="time,crank_position,crank_torque", comments="")
    everywhere = dict.fromkeys(("crank", "coupler", "rocker"), ("viscous", "coulomb"))
    fit = dl.identify(linkage, path, friction=everywhere, rotor=False)
    fitted, true = (
        fit.base,
        fit.grouping.matrix @ build_regressor(truth).values[: len(fit.regressor.names)],
    )
    assert (np.abs(fitted["value"] - true) < 3.0 * fitted["std"]).all()
    frictional = [name for name in fitted.index if name.endswith(("viscous", "coulomb"))]
    assert len(frictional) == 6 and (fitted["std"][frictional] < 0.1).all()
    errors = fit.errors().loc["held_out"].loc["crank"]
    assert errors["consistent"] < 1.2 * noise.std() < 0.3 * errors["prior"]


def test_a_floating_robot_is_found_from_its_joints_torques():
    """In the air nothing pushes the base: its six equations have no torque, measured or not."""
    rng = np.random.default_rng(9)
    robot = Robot(random_model(rng, kinds=("free", "revolute"), n=3, tree=False, drives=False))
    assert [joint.kind for joint in robot.joints] == ["free", "revolute", "revolute"]
    truth = robot.with_parameters(1.3 * robot.parameters)
    t = np.arange(0.0, 8.0, 0.02)
    tau = rng.normal(size=robot.nv) * np.sin(np.outer(t, rng.uniform(2.0, 8.0, robot.nv)))
    tau[:, :6] = 0.0
    q, qd = [robot.neutral()], [rng.normal(size=robot.nv)]
    for k in range(len(t) - 1):
        after = truth.rollout(q[k], qd[k], tau[k], steps=1, dt=0.02)
        q.append(after[0][0])
        qd.append(after[1][0])
    q, qd = np.array(q), np.array(qd)
    qdd = truth.forward_dynamics(q, qd, tau)
    tau[:, :6] = np.nan
    log = Record(t, q, qd, qdd, tau, np.zeros(robot.nv), np.zeros(robot.nv))
    fit = dl.identify(
        robot, log, friction=(), rotor=False, consistent=False, on_inconsistent="warn"
    )
    true = fit.grouping.matrix @ build_regressor(truth, friction=(), rotor=False).values
    np.testing.assert_allclose(fit.base.value, true, atol=1e-8 * np.abs(true).max())


def test_a_torque_that_nobody_measured_is_asked_for_by_name():
    arm = dl.load("planar_2r")
    values = {
        "q": np.zeros((100, 2)),
        "tau": np.where([True, False], 1.0, np.full((100, 2), np.nan)),
    }
    log = labelled(arm.dynamics, np.arange(100) * 0.01, values, {})
    with pytest.raises(IdentificationError, match="no torque of link2_joint"):
        dl.identify(arm, log)


# chain, driven joints, by how much they move (rad or m), freedoms of its base parameters
CHAINS = {
    "delta": (("motor0", "motor1", "motor2"), 0.4, 34),
    "stewart_platform": (tuple(f"leg{k}" for k in range(6)), 0.1, 82),
    "slider_crank": (("crank",), 0.6, 6),
}


@pytest.fixture(scope="module", params=CHAINS)
def chain(request):
    """(prior, truth, exact record) of a closed chain; the Delta carries 0.4 kg more."""
    joints, amplitude, count = CHAINS[request.param]
    if request.param == "delta":
        prior, true = chains.delta(), chains.delta(0.4)
    else:
        prior = dl.load(request.param)
        true = prior.with_robot(other_robot(prior.robot, seed=1))
    return (
        prior,
        true,
        chains.driven(true, joints, np.arange(0.0, 4.0, 0.01), amplitude),
        joints,
        count,
    )


@pytest.mark.parametrize("has_friction", [False, True])
def test_an_exact_log_of_a_closed_chain_is_explained_to_rounding(chain, has_friction):
    prior, truth, log, joints, count = chain
    options = {} if has_friction else {"friction": (), "rotor": False}
    fit = dl.identify(prior, log, **options)
    assert not fit.warnings and fit.regressor.rows == joints
    errors = fit.errors().xs("all", level="joint")
    assert (errors["unconstrained"] < 1e-10 * errors["torque"]).all()
    assert (errors["consistent"] < 1e-6 * errors["torque"]).all()
    assert (errors["consistent"] < 1e-4 * errors["prior"]).all()
    frictional = [name for name in fit.base.index if name.partition(":")[2][:1] not in "mS"]
    assert len(fit.base) == count + len(frictional) and len(frictional) in (
        0,
        3 * len(joints),
        4 * len(joints),
    )
    true = fit.grouping.matrix @ build_regressor(truth, **options).values
    observed = np.isfinite(fit.deviations) & fit.base["seen"]
    np.testing.assert_allclose(
        fit.base["value"][observed], true[observed], atol=1e-6 * np.abs(true).max()
    )


def test_a_noisy_log_of_a_closed_chain_is_explained_to_its_noise(chain):
    prior, truth, record, joints, _ = chain
    log = chains.noisy(truth, record)
    fit = dl.identify(prior, log, friction=(), rotor=False)
    assert not fit.warnings
    noise = 0.01 * np.abs(record.tau).max(axis=0)[np.isfinite(record.tau[0])]
    errors = fit.errors()
    for data, most in (("fit", 1.1), ("held_out", 1.6)):
        own = errors.loc[data].loc[list(joints)]
        assert (own["consistent"] < most * noise).all() and (own["consistent"] < own["prior"]).all()
    fitted, true = (
        fit.base,
        fit.grouping.matrix @ build_regressor(truth, friction=(), rotor=False).values,
    )
    assert (np.abs(fitted["value"] - true) < 4.0 * fitted["std"])[fitted["seen"]].all()


def test_friction_is_asked_of_joints_that_move_and_are_driven():
    """Pins of a linkage have none unless they are named, nor have joints that stand still."""
    chain = dl.load("four_bar")
    joints = ("viscous", "coulomb", "offset", "rotor")
    regressor = build_regressor(chain, driven=np.array([True, False, False]))
    free = [name for name, own in zip(regressor.names, regressor.free, strict=True) if own]
    assert [name for name in free if name.endswith(joints)] == [f"crank:{kind}" for kind in joints]
    named = build_regressor(chain, {"rocker": "viscous", "crank": ["coulomb"]}, rotor=False)
    free = [name for name, own in zip(named.names, named.free, strict=True) if own]
    assert [n for n in free if n.endswith(joints)] == ["rocker:viscous", "crank:coulomb"]
    with pytest.raises(IdentificationError, match="no joint 'roker'; did you mean 'rocker'"):
        build_regressor(chain, {"roker": "viscous"})


def test_a_joint_that_stands_still_has_no_friction_to_find():
    arm = dl.load("elbow_3r")
    t = np.arange(0.0, 8.0, 0.01)
    q = np.stack([np.sin(2.0 * t) + 0.3 * np.sin(5.1 * t), 0.7 * np.cos(3.0 * t), 0.4 + 0 * t], 1)
    tau = arm.inverse_dynamics(
        q, np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    )
    log = labelled(arm.dynamics, t, {"q": q, "tau": tau}, {})
    with pytest.warns(dl.IdentificationWarning, match="never moves"):
        fit = dl.identify(arm, log, consistent=False)
    assert not [n for n in fit.base.index if n.startswith("joint3:") and n.endswith("coulomb")]


def test_a_fit_that_is_worse_than_its_prior_is_reported(linkage, truth, monkeypatch):
    """Base parameters that leave out what the torques depend on, as a wrong rank makes them."""
    from dataclasses import replace

    t = np.arange(0.0, 4.0, 0.01)
    q, qd, qdd, tau = driven(truth, t)
    none = np.zeros(3)
    log = Record(t, q, qd, qdd, np.where([True, False, False], tau, np.nan), none, none)
    columns = build_regressor(linkage, (), rotor=False)
    whole = base_parameters(columns)
    linear_fit.solve(columns, whole, [log])
    fewer = [0, 1, 2, 3]
    part = replace(
        whole,
        names=tuple(whole.names[k] for k in fewer),
        explained=tuple(whole.explained[k] for k in fewer),
        matrix=whole.matrix[fewer] + 0.3 * whole.matrix[4:8],
        selection=whole.selection[:, fewer],
        nonzero=whole.nonzero[:, fewer],
    )
    with pytest.raises(IdentificationError, match="internal error: least squares predicts"):
        linear_fit.solve(columns, part, [log])
