"""Springs, drag, lifted weights and tendons: one law for all formulations, energy and slopes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.errors import ModelError
from dalembert.mechanisms import SpatialMechanism
from dalembert.model.coupling import Follow, couple
from dalembert.model.elements import Elements
from dalembert.model.serialization import model_from_text, model_text
from dalembert.systems.robot import Robot
from dalembert.zoo.symbolic_models import with_symbols
from tests.formulations.mechanisms import (
    SCREW_KINDS,
    random_model,
    random_state,
    seeds,
    with_elements,
)
from tests.formulations.test_agreement import compare
from tests.kernels.test_c_source import COMPILERS, call, compiled, needs_compiler
from tests.kernels.test_cuda_source import run as run_cuda

SMALL = 1e-6


def sprung(seed, **choices):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4, **choices)
    return Robot(with_elements(model, rng)), rng


def derivative(function, model, q):
    """∂f/∂q (nv,) by central differences along the joints' own manifolds."""
    steps = SMALL * np.eye(model.nv)
    ahead, behind = (
        np.array([function(model.integrate(q, sign * step)) for step in steps]) for sign in (1, -1)
    )
    return (ahead - behind) / (2 * SMALL)


@given(seeds)
@settings(max_examples=3, deadline=None)
def test_formulations_agree_with_elements_of_every_kind(seed):
    robot, rng = sprung(seed, kinds=("revolute", "prismatic", "spherical", "free", "universal"))
    compare(robot, rng)


@given(seeds)
@settings(max_examples=2, deadline=None)
def test_formulations_in_coordinates_agree_too(seed):
    robot, rng = sprung(seed, kinds=SCREW_KINDS)
    compare(robot, rng)


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_what_holds_the_mechanism_is_the_slope_of_its_potential(seed):
    robot, rng = sprung(seed)
    q, _, _ = random_state(robot.model, rng)
    N = robot.reference("gravity_torque", q)
    actual = derivative(lambda x: robot.reference("potential_energy", x), robot.model, q)
    np.testing.assert_allclose(actual, N, rtol=1e-6, atol=1e-6 * np.abs(N).max())


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_the_power_of_all_forces_is_the_rate_of_energy(seed):
    """d(K + U)/dt = (τ + ψ)·q̇, with ψ·q̇ ≤ 0."""
    robot, rng = sprung(seed)
    q, qd, qdd = random_state(robot.model, rng)

    def energy(t):
        at, rate = robot.model.integrate(q, t * qd + 0.5 * t * t * qdd), qd + t * qdd
        return robot.reference("kinetic_energy", at, rate) + robot.reference("potential_energy", at)

    change = (energy(SMALL) - energy(-SMALL)) / (2 * SMALL)
    tau = robot.reference("inverse_dynamics", q, qd, qdd)
    psi = robot.reference("generalized_forces", q, qd)
    M, h = robot.reference("mass_matrix", q), robot.reference("bias", q, qd)
    np.testing.assert_allclose(M @ qdd + h, tau + psi, rtol=1e-10, atol=1e-9)
    scale = np.abs(tau * qd).sum() + abs(energy(0.0))
    assert abs((tau + psi) @ qd - change) < 1e-6 * scale
    assert psi @ qd <= 0.0


def test_tendons_and_lifts_relieve_the_joints_they_act_beyond():
    """Along its axis, the wrench through a joint is the torque that tendons and lifts leave."""
    rng = np.random.default_rng(8)
    whole = with_elements(random_model(rng, ("revolute", "prismatic", "spherical"), 5), rng)
    spatial = tuple(tendon for tendon in whole.tendons if tendon.segments)
    remaining = Elements(lifts=whole.elements.lifts, tendons=spatial)
    model = replace(whole, elements=remaining)
    drive = {name: np.zeros(model.nv) for name in vars(model.drive)}
    robot = Robot(replace(model, drive=replace(model.drive, **drive)))
    q, qd, qdd = random_state(model, rng)
    tau = robot.reference("inverse_dynamics", q, qd, qdd)
    for formulation in dl.formulations("joint_wrenches"):
        if formulation == "craig":
            continue  # joints about one axis only
        F = robot.reference("joint_wrenches", q, qd, qdd, formulation=formulation)
        for joint, row in zip(model.joints, F, strict=True):
            body, axes = model.bodies[joint.bodies[-1]], model.frames[joint.link].rotation
            rotated = np.concatenate([axes @ row[:3], axes @ row[3:]])
            np.testing.assert_allclose(body.subspace.T @ rotated, tau[body.v], atol=1e-9)


def two_sprung_links():
    arm = {"mass": 1.0, "com": [0.3, 0.0, 0.0], "inertia": 0.02 * np.eye(3)}
    joint = {"axis": [0, 1, 0], "stiffness": 5.0, "rest": 0.3}
    rows = [
        {"name": "a", **arm, "joint": joint},
        {"name": "b", "parent": "a", **arm, "joint": {**joint, "origin_xyz": [0.6, 0, 0]}},
    ]
    return dl.Robot.from_links(rows)


def test_runs_and_rollouts_of_a_sprung_robot_keep_its_energy():
    robot = two_sprung_links()
    q, qd = np.array([0.5, -0.4]), np.array([0.3, 0.2])

    def energy(q, qd):
        return robot.kinetic_energy(q, qd) + robot.potential_energy(q)

    end = robot.rollout(q, qd, np.zeros(2), steps=1000, dt=1e-3, every=1000)
    np.testing.assert_allclose(energy(*(x[-1] for x in end)), energy(q, qd), atol=1e-9)
    run = dl.simulate(robot, q, qd, duration=1.0, method="rk4", dt=1e-3)
    np.testing.assert_allclose(run.q.values[-1], end[0][-1], atol=1e-10)


def test_followers_and_constraints_take_springs_along():
    robot = two_sprung_links()
    q, qd = np.array([0.5]), np.array([0.7])
    led = Robot(couple(robot.model, {"b": Follow("a", -1.0, 0.1)}))
    expected = derivative(lambda x: led.reference("potential_energy", x), led.model, q)
    np.testing.assert_allclose(led.gravity_torque(q), expected, atol=1e-6)
    loop = dl.Holonomic(lambda q: q[0] + q[1] - 0.1, name="geared")
    closed = dl.Constrained(robot, [loop], guess=[0.5, -0.4])
    both, rates = np.array([0.5, -0.4]), np.array([0.7, -0.7])
    free = led.forward_dynamics(q, qd, [0.0])
    qdd, _ = closed.forward_dynamics(both, rates, [0.0, 0.0])
    np.testing.assert_allclose(qdd, [free[0], -free[0]], atol=1e-10)


@needs_compiler
def test_kernels_c_cuda_and_the_reference_compute_the_same(tmp_path):
    robot, rng = sprung(5)
    q, qd, qdd = random_state(robot.model, rng)
    tau = robot.reference("inverse_dynamics", q, qd, qdd)
    scale = np.abs(tau).max()
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), tau, atol=1e-12 * scale)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-9)
    library = compiled(robot.source("inverse_dynamics"), tmp_path, COMPILERS[0])
    function = library["dalembert_random_inverse_dynamics"]
    (written,) = call(function, robot.program("inverse_dynamics"), [q, qd, qdd])
    np.testing.assert_allclose(written, tau, atol=1e-12 * scale)
    program = robot.program("inverse_dynamics")
    (lanes,) = run_cuda(tmp_path, program, "float64", "row", [x[None] for x in (q, qd, qdd)])
    np.testing.assert_allclose(lanes[0], tau, atol=1e-12 * scale)


def test_elements_survive_pickles_stored_text_and_parameters():
    robot, rng = sprung(6)
    model = robot.model
    assert pickle.loads(pickle.dumps(robot)) == robot
    assert model_from_text(model_text(model)).content == model.content
    bare = replace(model, elements=Elements())
    assert bare.content != model.content
    q, _, _ = random_state(model, rng)
    assert np.any(
        Robot(bare).reference("gravity_torque", q) != robot.reference("gravity_torque", q)
    )


def pendulum(**joint):
    link = {"name": "bob", "mass": 2.0, "com": [0.0, 0.0, -0.5]}
    return dl.Robot.from_links([{**link, "joint": {"axis": [0, 1, 0], **joint}}])


def test_a_spring_of_a_link_is_k_times_the_deflection():
    bare, sprung = pendulum(), pendulum(stiffness=3.0, rest=0.2)
    q = np.array([0.7])
    np.testing.assert_allclose(sprung.gravity_torque(q) - bare.gravity_torque(q), [1.5], rtol=1e-13)
    np.testing.assert_allclose(
        sprung.potential_energy(q) - bare.potential_energy(q), 0.375, rtol=1e-13
    )
    curved = pendulum(stiffness=[3.0, 0.5, 0.1], rest=0.2)
    extra = curved.gravity_torque(q) - bare.gravity_torque(q)
    np.testing.assert_allclose(extra, [1.5 + 0.5 * 0.25 + 0.1 * 0.125], rtol=1e-13)


def test_springs_may_be_parameters_and_are_printed():
    k, r = dl.Parameter("k", 3.0), dl.Parameter("r", 0.2)
    robot = pendulum(stiffness=k, rest=r)
    numbers = pendulum(stiffness=4.0, rest=0.2)
    actual = robot.gravity_torque([0.7], parameters={"k": 4.0})
    np.testing.assert_allclose(actual, numbers.gravity_torque([0.7]))
    assert "k (θ − r)" in str(robot.equations(["g"]))


def test_symbolic_models_have_springs_and_absolute_coordinates_refuse_them():
    robot = two_sprung_links()
    assert {"k1", "k2", "r1"} <= set(with_symbols(robot).model.parameters)
    with pytest.raises(ModelError, match="springs, tendons, drag and lifted weights"):
        SpatialMechanism.from_robot(robot)


def test_a_lifted_link_weighs_nothing():
    row = {"name": "bob", "mass": 2.0, "com": [0.3, 0.0, -0.5], "lifted": 1.0}
    robot = dl.Robot.from_links([{**row, "joint": {"axis": [0, 1, 0]}}])
    np.testing.assert_allclose(robot.gravity_torque([0.4]), [0.0], atol=1e-15)
    assert robot.mass_matrix([0.4])[0, 0] > 0.0


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ({"stiffness": "hard"}, "joint 'bob': stiffness"),
        ({"stiffness": 1.0, "rest": [0.0, 1.0]}, "joint 'bob': rest"),
        ({"type": "spherical", "stiffness": 1.0, "rest": [0, 0, 0, 2.0]}, "unit length"),
        ({"drag": [np.nan]}, "joint 'bob': drag"),
    ],
)
def test_springs_that_make_no_sense_are_refused_by_name(joint, message):
    with pytest.raises(ModelError, match=message):
        pendulum(**joint)


def test_without_elements_programs_are_what_they_were():
    """Elements of no joint, no tendon and no link leave every operation where it was."""
    robot = dl.load("puma560")
    same = Robot(replace(robot.model, elements=Elements()))
    assert same == robot
    assert same.operation_count("inverse_dynamics") == robot.operation_count("inverse_dynamics")
