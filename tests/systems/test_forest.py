"""A scene costs the sum of its trees, equal ones once, and computes what every tree does alone."""

from importlib import import_module

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.llvm.codegen import llvm_ir
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program import partition
from dalembert.kernels.program.count import count
from dalembert.model.topology import independent_trees
from dalembert.systems import evaluator
from dalembert.tracing.interpreter import interpret
from tests.oracles.test_mujoco_forces import written
from tests.systems.scenes import ARM, BALL, WALKER, arms, scene

QUANTITIES = {
    "mass_matrix": ("q",),
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "gravity_torque": ("q",),
}


def walkers(n):
    return dl.Robot.from_mjcf(scene(*[WALKER] * n))


def test_trees_of_a_scene_are_models_of_their_own():
    mixed = dl.Robot.from_mjcf(scene(WALKER, ARM, WALKER, BALL, ARM))
    result = independent_trees(mixed.model)
    assert [len(tree.v) for tree in result] == [10, 3, 10, 3, 3]
    contents = [tree.model.content for tree in result]
    assert contents[0] == contents[2]
    assert len(set(contents)) == 4  # arms stand at different places
    assert np.array_equal(np.concatenate([tree.v for tree in result]), np.arange(mixed.nv))
    assert len(independent_trees(walkers(1).model)) == 1


def test_elements_that_join_trees_keep_them_together():
    text = scene(ARM, ARM, BALL).replace(
        "</worldbody>",
        '</worldbody><tendon><fixed name="belt" stiffness="3">'
        '<joint joint="e0" coef="1"/><joint joint="e1" coef="-1"/></fixed></tendon>',
    )
    assert [len(tree.v) for tree in independent_trees(dl.Robot.from_mjcf(text).model)] == [6, 3]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_operations_grow_with_the_number_of_trees(quantity):
    """As many times the operations; a tree alone is traced as ever."""
    sizes = [count(walkers(n).program(quantity)) for n in (1, 5, 10)]
    flops = [size.multiplications + size.additions for size in sizes]
    assert flops[1] == pytest.approx(5 * flops[0], rel=0.1)
    assert flops[2] == 2 * flops[1]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_equal_trees_are_compiled_once(quantity, monkeypatch):
    """The text for LLVM grows by tables of the calls alone, not by operations."""
    monkeypatch.setattr(
        "dalembert.kernels.llvm.batch_loop.make_schedule",
        lambda p: partition.make_schedule(p, many=0, small=100),
    )
    result = []
    for n in (5, 10):
        text = "\n".join(llvm_ir(walkers(n).program(quantity), "float64", native()))
        result.append(text.count("fmul"))
    # what is not worth a call of its own is written for every tree
    assert 0 < result[0] <= result[1] <= 1.05 * result[0]


def test_different_trees_are_traced_once_each(monkeypatch):
    tracing, traced = import_module("dalembert.kernels.program.trace"), []
    plain = tracing.trace
    monkeypatch.setattr(tracing, "trace", lambda *a, **b: traced.append(1) or plain(*a, **b))
    dl.Robot.from_mjcf(scene(*[WALKER, BALL] * 4)).program("inverse_dynamics")
    assert len(traced) == 5  # the balls hang at different places


def test_a_scene_of_different_trees_is_mujocos():
    peer = written(scene(WALKER, ARM, WALKER, BALL, ARM, WALKER, ARM, WALKER, BALL))
    robot = peer.robot
    assert evaluator.is_separable(robot.dynamics, robot._variant("mass_matrix", None, {}))
    rng = np.random.default_rng(0)
    q = robot.integrate(robot.neutral(), rng.normal(size=(9, robot.nv)))
    qd, tau = rng.normal(size=(2, 9, robot.nv))
    qdd = robot.forward_dynamics(q, qd, tau)
    back = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(back, tau, rtol=0.0, atol=1e-10)
    for k in range(3):
        expected = peer.acceleration(q[k], qd[k], tau[k])
        np.testing.assert_allclose(qdd[k], expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_tree_by_tree_is_what_the_whole_gives(quantity):
    """Against the formulation itself, run on all bodies at once."""
    robot = dl.Robot.from_mjcf(scene(WALKER, ARM, WALKER, BALL, ARM, WALKER, ARM, WALKER, BALL))
    rng = np.random.default_rng(1)
    state = {name: rng.normal(size=robot.nv) for name in ("qd", "qdd", "tau")}
    state["q"] = robot.integrate(robot.neutral(), rng.normal(size=robot.nv))
    inputs = [state[name] for name in QUANTITIES[quantity]]
    result, expected = robot.evaluate(quantity, *inputs), robot.reference(quantity, *inputs)
    pairs = (
        zip(result, expected, strict=True) if isinstance(result, tuple) else [(result, expected)]
    )
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-11 * max(1.0, np.abs(b).max()))


@pytest.fixture
def taken_apart(monkeypatch):
    """Also small robots are traced tree by tree."""
    monkeypatch.setattr(evaluator, "MIN_VELOCITIES", 3)


def test_followers_keep_their_trees_together():
    robot = dl.Robot.from_urdf(arms(4, 3, mimic=(1,), across=(2,)))
    result = independent_trees(robot.model)
    assert [tree.v.tolist() for tree in result] == [[0, 1, 2, 5, 6], [3, 4], [7, 8, 9]]
    assert [len(tree.model.followers) for tree in result] == [1, 1, 0]
    assert all(tree.model.G.shape[1] == len(tree.v) for tree in result)


@pytest.mark.parametrize("followers", [{}, {"mimic": (0,), "across": (2,)}], ids=["", "mimic"])
def test_every_quantity_tree_by_tree(taken_apart, followers):
    """All quantities by all their formulations, also of a robot whose joints follow others."""
    robot = dl.Robot.from_urdf(arms(3, 2, **followers))
    rng = np.random.default_rng(2)
    names = ("q", "to", "qd", "qdd", "tau", "step", "p")
    state = dict(zip(names, rng.uniform(-1, 1, (len(names), robot.nv)), strict=True))
    apart = set()
    for name, quantity in robot.dynamics.catalogue.items():
        for formulation in quantity.formulations:
            variant = robot._variant(name, formulation.name, {})
            if not evaluator.is_separable(robot.dynamics, variant):
                continue
            inputs = [state[each] for each in quantity.inputs]
            result = interpret(robot.program(name, formulation.name), *inputs)
            expected = robot.reference(name, *inputs, formulation=formulation.name)
            expected = expected if isinstance(expected, tuple) else (expected,)
            for a, b in zip(result, expected, strict=True):
                scale = max(1.0, np.abs(b).max())
                np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-11 * scale, err_msg=name)
            apart.add(name)
    assert {*QUANTITIES, "integrate", "difference", "square_root", "christoffel"} <= apart


def test_a_quantity_of_a_frame_is_not_taken_apart(taken_apart):
    """The tool hangs on one tree only."""
    robot = dl.Robot.from_urdf(arms(2, 7))
    q = np.random.default_rng(3).uniform(-1, 1, robot.nv)
    expected = robot.reference("manipulability_gradient", q)
    assert np.abs(expected).max() > 1e-3
    (result,) = interpret(robot.program("manipulability_gradient"), q)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=1e-12)
