"""Screws, stacked operators and Lagrange in coordinates: the routes of 000 §4.3–4.4."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.linalg import block_diag

from dalembert.errors import FormulationError, UnknownNameError
from dalembert.formulations.inverse import lagrange, newton_euler, operator, screw
from dalembert.formulations.kinematics import frames as kinematics
from dalembert.formulations.parts.base_motion import (
    GRAVITY,
    base_joint_accelerations,
    with_base_joints,
)
from dalembert.formulations.parts.inputs import Inputs
from dalembert.model import Joint, Link, build
from dalembert.spatial import se3
from tests.formulations.comparison import ZOO, assert_close, reframed, traced
from tests.formulations.mechanisms import (
    SCREW_KINDS,
    random_model,
    random_motion,
    random_pose,
    random_state,
    seeds,
)

TWISTS = (screw, operator)  # any joint
EVERY = (*TWISTS, lagrange)  # joints of one degree


def name(module):
    return module.__name__.rpartition(".")[2]


def compare(module, model, rng):
    """Against Newton–Euler, gravity both ways, at rest and with everything that can be given."""
    state = random_state(model, rng)
    for given_inputs in ({}, random_motion(rng)):
        expected = newton_euler.inverse_dynamics(model, *state, **given_inputs)
        for gravity in GRAVITY:
            tau = module.inverse_dynamics(model, *state, **given_inputs, gravity=gravity)
            assert_close(tau, expected)


@pytest.mark.parametrize("module", TWISTS, ids=name)
@settings(max_examples=25)
@given(seeds)
def test_any_tree(module, seed):
    rng = np.random.default_rng(seed)
    compare(module, random_model(rng, n=5, tree=bool(rng.integers(2))), rng)


@settings(max_examples=25)
@given(seeds)
def test_lagrange_on_trees_of_one_degree_joints(seed):
    rng = np.random.default_rng(seed)
    compare(lagrange, random_model(rng, SCREW_KINDS, n=5, tree=bool(rng.integers(2))), rng)


@pytest.mark.parametrize("module", EVERY, ids=name)
@pytest.mark.parametrize("robot", ZOO)
def test_zoo(module, robot):
    compare(module, ZOO[robot], np.random.default_rng(1))


@pytest.mark.parametrize("module", EVERY, ids=name)
@pytest.mark.parametrize("given_input", ["tip_wrench", "base_twist", "base_acceleration"])
def test_optional_inputs_one_by_one(module, given_input):
    rng = np.random.default_rng(3)
    model = random_model(rng, SCREW_KINDS)
    state, shifted = random_state(model, rng), {given_input: rng.normal(size=6)}
    expected = newton_euler.inverse_dynamics(model, *state, **shifted)
    assert_close(module.inverse_dynamics(model, *state, **shifted), expected)


@pytest.mark.parametrize("module", TWISTS, ids=name)
@settings(max_examples=25)
@given(seeds)
def test_joint_wrenches(module, seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=5)
    state, shifted = random_state(model, rng), random_motion(rng)
    expected = newton_euler.joint_wrenches(model, *state, **shifted)
    assert_close(module.joint_wrenches(model, *state, **shifted), expected)


@settings(max_examples=25)
@given(seeds)
def test_frames_do_not_matter(seed):
    """Other link frames and another base frame leave the torques as they are (000 p.36)."""
    rng = np.random.default_rng(seed)
    model, base = random_model(rng, SCREW_KINDS, n=4), random_pose(rng)
    other = reframed(model, rng, base)
    state, shifted = random_state(model, rng), random_motion(rng)
    observed = {key: se3.Ad(base) @ value for key, value in shifted.items()}
    observed["tip_wrench"] = shifted["tip_wrench"]  # given in the tool frame, which stays
    for module in (newton_euler, *EVERY):
        tau = module.inverse_dynamics(model, *state, **shifted)
        assert_close(module.inverse_dynamics(other, *state, **observed), tau)


@settings(max_examples=25)
@given(seeds)
def test_stacked_operators(seed):
    """Property 4 (000 p.47), and G as the sum of the powers of Γ."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4, tree=bool(rng.integers(2)))
    q, qd, _ = random_state(model, rng)
    op = operator.operators(model, q)
    n, unit = len(model.bodies), np.eye(op.G.shape[0])
    powers = [np.linalg.matrix_power(op.Gamma, k) for k in range(n + 1)]
    assert not powers[n].any()
    assert_close(op.G, sum(powers))
    assert_close(op.G @ (unit - op.Gamma), unit)
    assert_close(unit + op.Gamma @ op.G, op.G)
    # the twists V = G (ξ θ̇ + P_0 V_0) are those of the recursion
    V_0 = rng.normal(size=6)
    inputs = Inputs(model, q, qd, 0.0 * qd, base_twist=V_0)
    V = [V for V, _ in screw.twists(inputs, screw.adjoints(model, q))]
    assert_close(op.G @ (op.xi @ qd + op.P_0 @ V_0), np.concatenate(V))


@settings(max_examples=25)
@given(seeds)
def test_stacked_equations(seed):
    """V̇, F and τ of all links at once (000 p.44–46), with the base's motion and a tool wrench."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, SCREW_KINDS, n=4, tree=bool(rng.integers(2)), drives=False)
    (q, qd, qdd), F_t = random_state(model, rng), rng.normal(size=6)
    V_0, V_dot_0 = rng.normal(size=6), rng.normal(size=6)
    op, felt = operator.operators(model, q), V_dot_0 - [*model.gravity, 0.0, 0.0, 0.0]
    V = op.G @ (op.xi @ qd + op.P_0 @ V_0)
    ad_rate, ad_V = (block_diag(*map(se3.ad, x.reshape(-1, 6))) for x in (op.xi @ qd, V))
    inner = op.Gamma @ V + op.P_0 @ V_0
    V_dot = op.G @ (op.xi @ qdd + op.P_0 @ felt - ad_rate @ inner)
    inputs = Inputs(model, q, qd, qdd, base_twist=V_0, base_acceleration=V_dot_0)
    expected = [V_dot for _, V_dot in screw.twists(inputs, screw.adjoints(model, q))]
    assert_close(V_dot, np.concatenate(expected))
    F = op.G.T @ (op.M @ V_dot + op.P_t.T @ F_t - ad_V.T @ op.M @ V)
    motion = {"base_twist": V_0, "base_acceleration": V_dot_0, "tip_wrench": F_t}
    assert_close(op.xi.T @ F, newton_euler.inverse_dynamics(model, q, qd, qdd, **motion))


@settings(max_examples=25)
@given(seeds)
def test_tool_jacobian(seed):
    """J_t = P_t G ξ is the tool's body Jacobian (000 p.47)."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=5)
    q, _, _ = random_state(model, rng)
    op = operator.operators(model, q)
    assert_close(op.P_t @ (op.G @ op.xi), kinematics.jacobian(model, q))


@settings(max_examples=25)
@given(seeds)
def test_base_joints_give_the_base_its_motion(seed):
    """Six joints at zero with these accelerations move the base with exactly V_0 and V̇_0."""
    rng = np.random.default_rng(seed)
    model = with_base_joints(random_model(rng, SCREW_KINDS, n=1))
    V_0, V_dot_0 = rng.normal(size=6), rng.normal(size=6)
    q, rest = rng.normal(size=model.nq - 6), np.zeros(model.nv - 6)
    rates = np.concatenate([V_0, rest])
    accelerations = np.concatenate([base_joint_accelerations(V_0, V_dot_0), rest])
    q = np.concatenate([np.zeros(6), q])
    inputs = Inputs(model, q, rates, accelerations, gravity="potential")
    base = screw.twists(inputs, screw.adjoints(model, q))[5]
    assert_close(base[0], V_0)
    assert_close(base[1], V_dot_0)


@pytest.mark.parametrize("module", EVERY, ids=name)
def test_traced_equals_plain(module):
    rng = np.random.default_rng(5)
    model = random_model(rng, SCREW_KINDS, n=4)
    inputs = dict(zip(("q", "qd", "qdd"), random_state(model, rng), strict=True))
    inputs |= random_motion(rng)
    (tau,) = traced(module.inverse_dynamics, model, **inputs)
    assert_close(tau, module.inverse_dynamics(model, **inputs), 1e-13)


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_lagrange_names_the_joint_it_cannot_take(kind):
    body = {"mass": 1.0, "inertia": np.eye(3)}
    links = [
        Link(name="arm", **body),
        Link(name="hand", parent="arm", joint=Joint(kind=kind, name="wrist"), **body),
    ]
    model = build(links)
    state = random_state(model, np.random.default_rng(6))
    with pytest.raises(FormulationError, match=rf"joint 'wrist' is {kind}.*'newton_euler'"):
        lagrange.inverse_dynamics(model, *state)


@pytest.mark.parametrize("module", EVERY, ids=name)
def test_unknown_way_of_gravity(module):
    model = ZOO["planar_2r"]
    with pytest.raises(UnknownNameError, match=r"gravity='down' must be one of"):
        module.inverse_dynamics(model, *np.zeros((3, 2)), gravity="down")
