"""The classical routes to inverse dynamics agree with Newton–Euler, on every kind of mechanism."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.errors import FormulationError, UnknownNameError
from dalembert.formulations.inverse import (
    craig,
    hollerbach_3x3,
    hollerbach_4x4,
    newton_euler,
    newton_euler_base,
    newton_euler_mixed,
    silver,
    uicker_kahn,
)
from dalembert.formulations.parts import rigid_body
from dalembert.formulations.parts.base_motion import GRAVITY
from dalembert.kernels.program.count import count
from dalembert.kernels.program.trace import trace
from dalembert.model import Joint, Link, build
from dalembert.model.joint import Screw
from dalembert.tracing.interpreter import interpret
from tests.formulations.comparison import ZOO
from tests.formulations.mechanisms import (
    KINDS,
    SCREW_KINDS,
    random_model,
    random_motion,
    random_pose,
    random_state,
    seeds,
)

NEWTON_EULER = (newton_euler, newton_euler_base, newton_euler_mixed)
LAGRANGE = (uicker_kahn, hollerbach_4x4, hollerbach_3x3, silver)
WRENCHES = (newton_euler_base, newton_euler_mixed, silver, craig)
EVERY = (*NEWTON_EULER, craig, *LAGRANGE)
ONE_AXIS = [
    arm for arm, model in ZOO.items() if all(isinstance(b.chart, Screw) for b in model.bodies)
]


def kinds(module):
    """Joints that a formulation has: the printed one only those of one axis each."""
    return SCREW_KINDS if module is craig else KINDS


def name(module):
    return module.__name__.rpartition(".")[2]


def assert_close(actual, expected):
    """Equal to 1e-11 of the largest entry; rounding stays a thousandth of that."""
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("module", EVERY, ids=name)
@settings(max_examples=15)
@given(seeds)
def test_agrees_with_newton_euler(module, seed):
    """Trees and chains of every joint; gravity in both forms; tool wrench, moving base, drives."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, kinds(module), n=5, tree=bool(rng.integers(2)))
    state, shifted = random_state(model, rng), random_motion(rng)
    for given_inputs in ({}, shifted):
        expected = newton_euler.inverse_dynamics(model, *state, **given_inputs)
        for gravity in GRAVITY:
            tau = module.inverse_dynamics(model, *state, **given_inputs, gravity=gravity)
            assert_close(tau, expected)


@pytest.mark.parametrize("module", EVERY, ids=name)
@pytest.mark.parametrize("given_input", ["tip_wrench", "base_twist", "base_acceleration"])
def test_optional_inputs_one_by_one(module, given_input):
    rng = np.random.default_rng(3)
    model = random_model(rng, kinds(module))
    state, shifted = random_state(model, rng), {given_input: rng.normal(size=6)}
    expected = newton_euler.inverse_dynamics(model, *state, **shifted)
    assert_close(module.inverse_dynamics(model, *state, **shifted), expected)


@pytest.mark.parametrize("module", EVERY, ids=name)
def test_gravity_is_an_acceleration_of_the_base(module):
    """Weights, and a base that accelerates with −g where there is no gravity."""
    rng = np.random.default_rng(4)
    model = random_model(rng, kinds(module))
    state = random_state(model, rng)
    lifted = np.concatenate([-model.gravity, np.zeros(3)])
    weightless = replace(model, gravity=np.zeros(3))
    expected = module.inverse_dynamics(model, *state, gravity="potential")
    tau = module.inverse_dynamics(weightless, *state, base_acceleration=lifted)
    assert_close(tau, expected)


@given(seeds)
def test_the_tip_as_a_fictitious_link(seed):
    """001 §3.2: a link that moves so as to need the wrench stands for the wrench."""
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    state, shifted = random_state(model, rng), random_motion(rng)
    expected = silver.inverse_dynamics(model, *state, **shifted, tip="term")
    assert_close(silver.inverse_dynamics(model, *state, **shifted, tip="link"), expected)


@pytest.mark.parametrize("module", WRENCHES, ids=name)
@given(seeds)
def test_joint_wrenches(module, seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, kinds(module))
    state, shifted = random_state(model, rng), random_motion(rng)
    expected = newton_euler.joint_wrenches(model, *state, **shifted)
    assert expected.shape == (len(model.joints), 6)
    assert_close(module.joint_wrenches(model, *state, **shifted), expected)


@pytest.mark.parametrize("gravity", GRAVITY)
@pytest.mark.parametrize("module", EVERY, ids=name)
def test_traced_equals_plain(module, gravity):
    rng = np.random.default_rng(5)
    model = random_model(rng, kinds(module), n=5)
    state, shifted = random_state(model, rng), random_motion(rng)
    inputs = dict(zip(("q", "qd", "qdd"), state, strict=True)) | shifted
    shapes = {key: value.shape for key, value in inputs.items()}
    program = trace(
        lambda **symbols: module.inverse_dynamics(model, **symbols, gravity=gravity), shapes
    )
    (traced,) = interpret(program, *inputs.values())
    assert_close(traced, module.inverse_dynamics(model, *state, **shifted, gravity=gravity))


@pytest.mark.parametrize("module", EVERY, ids=name)
def test_named_parameters(module):
    """A model with symbols for mass, centre, inertia and length, bound while it is traced."""
    m, l, I = (dl.Parameter(key, value) for key, value in {"m": 2.0, "l": 0.3, "I": 0.1}.items())
    tensor = [[I, 0.0, 0.0], [0.0, 2 * I, 0.0], [0.0, 0.0, 1.5 * I]]
    origin = [[1.0, 0, 0, l], [0, 0, -1.0, 0], [0, 1.0, 0, 0], [0, 0, 0, 1.0]]
    joints = [Joint("revolute"), Joint("prismatic", origin=origin), Joint("helical", pitch=l)]
    links = [
        Link(f"link{i}", f"link{i - 1}" if i else None, joint, m, (l, 0.0, 0.1), tensor)
        for i, joint in enumerate(joints)
    ]
    model = build(links)
    state = np.random.default_rng(6).normal(size=(3, 3))
    values = model.parameter_values()
    shapes = {"parameters": values.shape, "q": (3,), "qd": (3,), "qdd": (3,)}
    program = trace(
        lambda parameters, **symbols: module.inverse_dynamics(model.bind(parameters), **symbols),
        shapes,
    )
    (traced,) = interpret(program, values, *state)
    assert_close(traced, newton_euler.inverse_dynamics(model.bind(values), *state))


def operations(module, model, optional=(), **choices):
    """Multiplications and additions of a traced program."""
    shapes = {"q": (model.nq,), "qd": (model.nv,), "qdd": (model.nv,)}
    shapes |= dict.fromkeys(optional, (6,))
    program = trace(lambda **x: module.inverse_dynamics(model, **x, **choices), shapes)
    counted = count(program)
    return counted.multiplications, counted.additions


@pytest.mark.parametrize("arm", ONE_AXIS)
@pytest.mark.parametrize("optional", [(), ("tip_wrench", "base_twist", "base_acceleration")])
def test_silver_and_the_printed_newton_euler_do_the_same_arithmetic(arm, optional):
    """001 §3.2: "exactly the computation specified by Luh"."""
    model = ZOO[arm]
    for gravity in GRAVITY:
        ours = operations(silver, model, optional, gravity=gravity)
        assert ours == operations(craig, model, optional, gravity=gravity)


def test_silver_shares_no_code_of_a_newton_euler_formulation():
    """Equal counts say something only where no line is shared."""
    used = {getattr(value, "__module__", "") for value in vars(silver).values()}
    assert not used & {craig.__name__, *(module.__name__ for module in NEWTON_EULER)}
    assert rigid_body.__name__ not in used


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_the_printed_recursion_names_a_joint_without_a_single_axis(kind):
    model = build([Link("ball", None, Joint(kind, name="hip"), 1.0, (0, 0, 0.1), np.eye(3))])
    state = model.neutral(), np.zeros(model.nv), np.zeros(model.nv)
    with pytest.raises(FormulationError, match=r"joint 'hip' is .*newton_euler"):
        craig.inverse_dynamics(model, *state)


def test_arithmetic_falls_with_recursion_and_representation():
    """The history of 001 §1: each step costs less, and so does gravity as a base acceleration."""
    rng = np.random.default_rng(7)
    inertia = {"mass": 1.0, "com": rng.normal(size=3), "inertia": np.eye(3) + 0.1}
    links = [
        Link(f"l{i}", f"l{i - 1}" if i else None, Joint(origin=random_pose(rng)), **inertia)
        for i in range(6)
    ]
    model = build(links, gravity=rng.normal(size=3))
    steps = (uicker_kahn, hollerbach_3x3, newton_euler_base, newton_euler_mixed, newton_euler)
    totals = [sum(operations(module, model, gravity="base")) for module in steps]
    assert totals == sorted(totals, reverse=True)
    for module in EVERY:
        counts = [sum(operations(module, model, gravity=gravity)) for gravity in GRAVITY]
        # in (1.2) both are gᵀ ∂W_j/∂q_i m_j r_j for each pair of links: nothing is won there
        assert counts[0] == counts[1] if module is uicker_kahn else counts[0] < counts[1]


@pytest.mark.parametrize("module", EVERY, ids=name)
def test_unknown_choices_are_named(module):
    model = dl.load("pendulum").model
    still = (np.zeros(1),) * 3
    with pytest.raises(UnknownNameError, match="gravity='moon' must be one of"):
        module.inverse_dynamics(model, *still, gravity="moon")
    with pytest.raises(UnknownNameError, match="tip='rope' must be one of"):
        silver.inverse_dynamics(model, *still, tip="rope")
