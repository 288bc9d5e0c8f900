"""Topology of a mechanism: nonzero entries of M and of ∂τ, and its independent trees.

Between branches M has no entries. Trees that only the base connects are independent: each is a model
of its own, with coordinates in the order they have in the whole. Its bodies, joints and frames are
numbered instead of named, so that equal trees are equal models. Trees of a model with followers are
models with followers too, also those that have none, so that they share its catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.model.actuators import Actuation
from dalembert.model.body import Fixed
from dalembert.model.build import Attachment
from dalembert.model.coupling import CoupledModel, coupled_model
from dalembert.model.elements import bodies_of
from dalembert.model.model import Frame, Model
from dalembert.model.notes import Notes
from dalembert.spatial.se3 import IDENTITY
from dalembert.tracing import is_symbolic


def mass_entries(description: Any) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the entries of M on and below its diagonal that are not always zero.

    In a tree M_ij is nonzero where the joint of j carries that of i. Row by row, columns ascending;
    the whole lower triangle where tendons with inertia may couple branches, and for a description
    that is no tree of bodies.

    >>> import dalembert as dl
    >>> rows, columns = mass_entries(dl.load("planar_2r").model)
    >>> list(zip(rows.tolist(), columns.tolist()))
    [(0, 0), (1, 0), (1, 1)]
    """
    tree = getattr(description, "tree", None)
    supports = getattr(tree, "supports", None)
    G = getattr(description, "G", None)
    if supports is None or tree is None or is_symbolic(G) or tree.elements.tendons_with_inertia:
        return np.tril_indices(description.nv)
    nonzero = np.zeros((tree.nv, tree.nv), dtype=int)
    for body, path in zip(tree.bodies, supports, strict=True):
        for carrier in path:
            nonzero[body.v, tree.bodies[carrier].v] = 1
    if G is not None:  # M = Gᵀ M_tree G
        G_nonzero = (np.asarray(G) != 0.0).astype(int)
        nonzero = G_nonzero.T @ (nonzero | nonzero.T) @ G_nonzero
    rows, columns = np.nonzero(np.tril(nonzero))
    return rows, columns


def derivative_entries(description: Any) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the entries of ∂τ/∂q and ∂τ/∂q̇ that are not always zero.

    Those of M, mirrored; all of them where elements, such as tendons, may act between branches. In the
    order in which they are computed: by the larger index, each row before the column, to the diagonal.
    """
    nv = description.nv
    nonzero = np.zeros((nv, nv), dtype=bool)
    nonzero[mass_entries(description)] = True
    tree = getattr(description, "tree", None)
    if tree is None or tree.elements:
        nonzero[:] = True
    rows, columns = np.nonzero(nonzero | nonzero.T)
    order = np.lexsort((columns > rows, np.minimum(rows, columns), np.maximum(rows, columns)))
    return rows[order], columns[order]


# by the size of what is packed
NONZERO_ENTRIES = {"packed": mass_entries, "packed_slopes": derivative_entries}


class IndependentTree(NamedTuple):
    """One tree, and the indices of its coordinates and velocities in those of the whole."""

    model: Model | CoupledModel
    q: np.ndarray  # (nq of the tree,)
    v: np.ndarray  # (nv of the tree,)


def independent_trees(model: Model | CoupledModel) -> list[IndependentTree]:
    """The independent trees, in the order of their first bodies; the model itself if it is one."""
    # bodies that are connected by joints, by elements, or as a follower and its leader
    root: list[int] = []
    for i, body in enumerate(model.bodies):
        root.append(i if body.parent < 0 else root[body.parent])
    first = {joint.name: joint.bodies[0] for joint in model.tree.joints}
    together = [(first[name], first[follow.leader]) for name, follow in model.followers.items()]
    every = [x for f in fields(model.elements) for x in getattr(model.elements, f.name)]
    for bodies in (*map(bodies_of, every), *together):
        roots = sorted({root[k] for k in bodies if k >= 0})
        root = [roots[0] if r in roots else r for r in root]
    groups: dict[int, list[int]] = {}
    for i, r in enumerate(root):
        groups.setdefault(r, []).append(i)
    if len(groups) < 2:
        return [IndependentTree(model, np.arange(model.nq), np.arange(model.nv))]
    trees = [_tree(model.tree, group) for group in groups.values()]
    return [_coupled(model, x) for x in trees] if isinstance(model, CoupledModel) else trees


def _tree(model: Model, group: Sequence[int]) -> IndependentTree:
    from dalembert.model.changes import Submodel, assemble

    number = {old: new for new, old in enumerate(group)}
    attached = {-1: Attachment(-1, IDENTITY), **{i: Attachment(number[i], IDENTITY) for i in group}}
    frames = {"tool": Frame(-1, np.eye(3), np.zeros(3))}
    # without what concerns the whole mechanism
    plain = replace(
        model, frames=frames, tool="tool", fixed=Fixed(), driven_by=Actuation(), notes=Notes()
    )
    own = assemble(plain, [Submodel(plain, attached, number)])
    joints = [
        replace(j, name=f"joint{j.bodies[0]}", link=f"body{j.bodies[-1]}") for j in own.joints
    ]
    tendons = [replace(tendon, name=f"tendons{i}") for i, tendon in enumerate(own.tendons)]
    tree = replace(
        own,
        name="tree",
        bodies=tuple(replace(body, name=f"body{i}") for i, body in enumerate(own.bodies)),
        joints=tuple(joints),
        frames=frames,
        elements=replace(own.elements, tendons=tuple(tendons)),
        parameters={},
        notes=Notes(),
    )
    q, v = (
        np.concatenate([np.arange(x.start, x.stop) for x in spans])
        for spans in zip(*((model.bodies[k].q, model.bodies[k].v) for k in group), strict=True)
    )
    return IndependentTree(tree, q, v)


def _coupled(model: CoupledModel, tree: IndependentTree) -> IndependentTree:
    """A tree with the followers it has in the model, and the coordinates that are left."""
    # joints of the tree in the order of those of the whole that have the same velocities
    starts = {joint.v.start: joint.name for joint in model.tree.joints}
    names = {starts[tree.v[joint.v.start]]: joint.name for joint in tree.model.joints}
    followers = {
        names[name]: replace(follow, leader=names[follow.leader])
        for name, follow in model.followers.items()
        if name in names
    }
    coupled = coupled_model(tree.model.tree, followers)
    pairs = zip(model.own, (tree.q, tree.v), coupled.own, strict=True)
    q, v = (np.searchsorted(independent, whole[own]) for independent, whole, own in pairs)
    return IndependentTree(coupled, q, v)
