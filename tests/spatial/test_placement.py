"""The change of frame against the adjoint of 000, and that nobody spells it a second time."""

import ast
from pathlib import Path

import numpy as np
import pytest

import dalembert
from dalembert.spatial import Ad, Ad_inv, exp_se3, pose
from dalembert.spatial.placement import IDENTITY, Placement, split

RNG = np.random.default_rng(0)


def placement(rng: np.random.Generator = RNG) -> Placement:
    g = exp_se3(rng.normal(size=6))
    return Placement(g[:3, :3], g[:3, 3])


def test_motions_and_forces_change_frame_by_the_adjoint():
    place, six = placement(), RNG.normal(size=6)
    g, pair = pose(*place), split(six)
    for moved, matrix in (
        (place.motion_to_child(pair), Ad_inv(g)),
        (place.motion_to_parent(pair), Ad(g)),
        (place.force_to_parent(pair), Ad_inv(g).T),
    ):
        np.testing.assert_allclose(np.concatenate(moved), matrix @ six, rtol=0, atol=1e-14)


def test_power_does_not_depend_on_the_frame():
    place = placement()
    motion, force = split(RNG.normal(size=6)), split(RNG.normal(size=6))
    here = np.concatenate(place.motion_to_child(motion)) @ np.concatenate(force)
    there = np.concatenate(motion) @ np.concatenate(place.force_to_parent(force))
    assert abs(here - there) < 1e-14 * max(1.0, abs(here))


def test_columns_of_forces_change_frame_like_each_of_them():
    place, columns = placement(), RNG.normal(size=(6, 4))
    f, n = place.force_to_parent((columns[:3], columns[3:]))
    for k in range(4):
        one = place.force_to_parent(split(columns[:, k]))
        both = np.concatenate([f[:, k], n[:, k]])
        np.testing.assert_allclose(np.concatenate(one), both, rtol=0, atol=1e-14)


def test_placements_compose_like_poses():
    first, second = placement(), placement()
    np.testing.assert_allclose(
        pose(*first.then(second)), pose(*first) @ pose(*second), rtol=0, atol=1e-14
    )
    np.testing.assert_array_equal(pose(*IDENTITY.then(first)), pose(*first))


def test_the_origin_of_a_child_accelerates_as_a_point_of_its_parent():
    """Against the second difference of its position along a screw motion of the parent."""
    place, xi, dt = placement(), RNG.normal(size=6), 1e-4
    path = [exp_se3(xi, t)[:3, :3] @ place.p + exp_se3(xi, t)[:3, 3] for t in (-dt, 0.0, dt)]
    W = np.array([[0, -xi[5], xi[4]], [xi[5], 0, -xi[3]], [-xi[4], xi[3], 0]])
    found = place.acceleration_to_child(W @ xi[:3], W @ W)
    expected = place.R.T @ (path[0] - 2.0 * path[1] + path[2]) / dt**2
    # the second difference is right to dt² and to rounding over dt²
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def spelled_changes(tree: ast.AST) -> list[int]:
    """Lines with Rᵀ(v + ω × p), Rᵀ(a + U p) or R n ± p × f."""

    def is_cross(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cross")

    def product(node: ast.AST) -> ast.BinOp | None:
        return node if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) else None

    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp):
            continue
        if product(node) and ast.unparse(node.left).endswith(".T"):
            inner = node.right
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add | ast.Sub):
                point = product(inner.right)
                if is_cross(inner.right) or (
                    point and ast.unparse(point.right).split(".")[-1] == "p"
                ):
                    lines.append(node.lineno)
        if isinstance(node.op, ast.Add | ast.Sub) and is_cross(node.right):
            left = node.left.right if isinstance(node.left, ast.BinOp) else None
            for turned in filter(None, (product(node.left), left and product(left))):
                if ast.unparse(turned.left).split(".")[-1] in ("R", "rotation"):
                    lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("room", ["model", "formulations"])
def test_the_change_of_frame_is_spelled_once(room):
    own = ast.parse((Path(dalembert.__file__).parent / "spatial/placement.py").read_text())
    assert len(spelled_changes(own)) == 4  # the reader of syntax trees sees it where it is
    for path in sorted((Path(dalembert.__file__).parent / room).rglob("*.py")):
        assert not spelled_changes(ast.parse(path.read_text())), path.name
