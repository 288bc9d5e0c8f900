"""The mass matrix as its nonzero lower entries: where they are, and the same numbers everywhere."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import DalembertError, ShapeError, UnknownNameError
from dalembert.systems.evaluator import is_separable
from dalembert.tracing.interpreter import interpret
from tests.formulations.mechanisms import random_model, with_elements
from tests.systems.examples import planar_2r


@pytest.fixture(scope="module")
def tree():
    return dl.Robot(random_model(np.random.default_rng(5), n=7))


def test_packed_entries_are_those_of_the_dense_matrix(tree):
    q, _, _ = tree.random_state(np.random.default_rng(0), 9)
    M = tree.mass_matrix(q)
    rows, columns = tree.packed_indices("mass_matrix")
    packed = tree.mass_matrix(q, out_layout="packed")
    assert packed.shape == (9, len(rows))
    # another rounding at most: what is fused depends on how results move out
    np.testing.assert_allclose(packed, M[:, rows, columns], rtol=0, atol=1e-14 * np.abs(M).max())
    assert np.array_equal(tree.unpacked(packed)[:, rows, columns], packed)
    np.testing.assert_allclose(tree.unpacked(packed), M, rtol=0, atol=1e-14 * np.abs(M).max())
    assert np.array_equal(tree.mass_matrix(q, out_layout="dense"), M)
    kernel = tree.kernel("mass_matrix", out_layout="packed")
    assert np.array_equal(kernel(q), packed)


def test_what_is_left_out_is_zero_at_every_posture(tree):
    M = tree.mass_matrix(tree.random_state(np.random.default_rng(1), 50)[0])
    there = np.zeros((tree.nv, tree.nv), dtype=bool)
    there[tree.packed_indices()] = True
    assert not abs(M).max(axis=0)[~there & ~there.T].any()


@pytest.mark.parametrize("formulation", ["composite_body", "jacobian", "operator"])
def test_every_formulation_packs(tree, formulation):
    q = tree.random_state(np.random.default_rng(2))[0]
    dense = tree.mass_matrix(q, formulation)
    packed = tree.mass_matrix(q, formulation, out_layout="packed")
    assert np.allclose(tree.unpacked(packed), dense, rtol=1e-12, atol=1e-12 * abs(dense).max())


def test_joints_that_follow_others_have_their_entries():
    def link(name: str) -> str:
        tensor = '<inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/>'
        return f'<link name="{name}"><inertial><mass value="1"/>{tensor}</inertial></link>'

    def joint(parent: str, child: str, more: str = "") -> str:
        ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/>{more}'
        return f'<joint name="to_{child}" type="continuous">{ends}<origin xyz="1 0 0"/></joint>'

    joints = [joint("base", "a"), joint("a", "b"), joint("base", "d")]
    joints.append(joint("base", "c", '<mimic joint="to_b"/>'))
    links = map(link, ("base", "a", "b", "c", "d"))
    robot = dl.Robot.from_urdf(f'<robot name="r">{"".join(links)}{"".join(joints)}</robot>')
    q = robot.random_state(np.random.default_rng(3), 5)[0]
    packed = robot.mass_matrix(q, out_layout="packed")
    assert packed.shape == (5, 4)  # a, b with a, b, and d; c moves with b
    assert np.array_equal(robot.unpacked(packed), robot.mass_matrix(q))


def test_a_lagrangian_has_the_whole_lower_triangle():
    system = planar_2r()
    q = system.random_state(np.random.default_rng(4))[0]
    packed = system.evaluate("mass_matrix", q, out_layout="packed")
    assert np.array_equal(system.unpacked(packed), system.mass_matrix(q))


def test_a_scene_is_traced_tree_by_tree_and_grows_with_the_trees():
    arm = dl.load("ur5")
    scene = arm
    for k in range(8):
        scene = scene.merge(arm, at="base", prefix=f"arm{k}_")
    variant = scene._variant("mass_matrix", None, {"out_layout": "packed"})
    assert is_separable(scene.dynamics, variant)
    assert len(scene.packed_indices()[0]) == 9 * 21
    q = scene.random_state(np.random.default_rng(6), 3)[0]
    assert np.array_equal(
        scene.unpacked(scene.mass_matrix(q, out_layout="packed")), scene.mass_matrix(q)
    )


def test_text_and_numbers_of_the_packed_program_agree(tree):
    q = tree.random_state(np.random.default_rng(7))[0]
    program = tree.program("mass_matrix", out_layout="packed")
    (value,) = interpret(program, q)
    assert np.allclose(value, tree.mass_matrix(q, out_layout="packed"), rtol=1e-13)
    for target in ("c", "cuda"):
        text = tree.source("mass_matrix", target=target, out_layout="packed")
        assert str(len(value)) in text


def test_other_layouts_and_quantities_are_refused(tree):
    q = tree.neutral()
    with pytest.raises(UnknownNameError, match="is unknown; there are"):
        tree.mass_matrix(q, out_layout="upper")
    with pytest.raises(DalembertError, match="only mass_matrix and inverse"):
        tree.kernel("bias", out_layout="packed")
    with pytest.raises(ShapeError, match="packed entries"):
        tree.unpacked(np.zeros(2))


def test_slopes_are_packed_without_the_zeros_between_branches(tree):
    name = "inverse_dynamics_derivatives"
    state = tree.random_state(np.random.default_rng(8), 5)
    dense = tree.inverse_dynamics_derivatives(*state)
    packed = tree.inverse_dynamics_derivatives(*state, out_layout="packed")
    for A, values in zip(dense[:2], packed[:2], strict=True):
        np.testing.assert_allclose(tree.unpacked(values, name), A, atol=1e-13 * abs(A).max())
        assert values.shape[-1] < tree.nv**2
    np.testing.assert_allclose(tree.unpacked(packed[2]), dense[2], rtol=1e-13)
    rows, columns = tree.packed_indices(name)
    assert packed[0].shape == (5, len(rows))
    assert (np.diff(np.maximum(rows, columns)) >= 0).all()
    np.testing.assert_allclose(packed[0], dense[0][:, rows, columns], rtol=1e-10, atol=1e-10)


def test_elements_that_act_between_branches_leave_no_entry_of_a_slope_out():
    model = with_elements(random_model(np.random.default_rng(5), n=4), np.random.default_rng(6))
    robot = dl.Robot(model)
    rows, _ = robot.packed_indices("inverse_dynamics_derivatives")
    assert len(rows) == robot.nv**2
