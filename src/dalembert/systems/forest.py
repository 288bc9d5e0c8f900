"""Programs of a scene of many trees: each different tree is traced once, however often it occurs.

A quantity of one tree does not depend on the other trees where all inputs and results are counted by
coordinates and velocities: vectors are then concatenated, and matrices are block-diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from dalembert.formulations.registry import Size
from dalembert.kernels import Port, Program
from dalembert.model.topology import NONZERO_ENTRIES

if TYPE_CHECKING:
    from dalembert.model.topology import IndependentTree
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.evaluator import Variant


MIN_VELOCITIES = 48  # of a scene that is traced tree by tree
_COUNTED = {"nq", "nv", *NONZERO_ENTRIES}


def is_separable(dynamics: Dynamics, variant: Variant) -> bool:
    """Whether the quantity may be traced tree by tree."""
    chosen = dict(variant.static).keys() - {"out_layout"}
    if dynamics.nv < MIN_VELOCITIES or chosen or variant.optional or dynamics.parameters:
        return False
    if "frame" in variant.quantity.static:  # trees have no frames
        return False
    shapes = [dynamics.inputs[name] for name in variant.inputs]
    shapes += list(variant.quantity.outputs.values())
    return all(shape and _COUNTED.issuperset(shape) for shape in shapes) and bool(dynamics.trees)


def program(
    dynamics: Dynamics, variant: Variant, ports: tuple[Sequence[Port], Sequence[Port]], name: str
) -> Program:
    """The program of the whole, from those of its trees."""

    from dalembert.kernels.program.passes import Share, concatenate

    programs: dict[str, Program] = {}
    shares = []
    inputs = [(port, dynamics.inputs[port.name]) for port in ports[0]]
    results = list(zip(ports[1], variant.quantity.outputs.values(), strict=True))
    for tree in dynamics.trees:
        if tree.model.content not in programs:
            programs[tree.model.content] = _trace_tree(tree, variant, inputs, name)
        indices = [_indices(dynamics, tree, entries) for entries in (inputs, results)]
        shares.append(Share(programs[tree.model.content], *indices))
    return concatenate(name, *ports, shares)


def _trace_tree(
    tree: IndependentTree,
    variant: Variant,
    ports: Sequence[tuple[Port, tuple[Size, ...]]],
    name: str,
) -> Program:
    from dalembert.kernels.program.trace import trace

    own = {"nq": len(tree.q), "nv": len(tree.v)}

    def function(**inputs: np.ndarray) -> Mapping[str, np.ndarray]:
        return variant.outputs(tree.model, **inputs)

    shapes = {port.name: tuple(own[str(size)] for size in sizes) for port, sizes in ports}
    return trace(function, shapes, name=name)


def _indices(
    dynamics: Dynamics, tree: IndependentTree, ports: Sequence[tuple[Port, tuple[Size, ...]]]
) -> np.ndarray:
    """Indices of the entries of a tree among those of all ports of the whole."""
    indices, start = [np.zeros(0, dtype=int)], 0
    for port, sizes in ports:
        if sizes[0] in NONZERO_ENTRIES:
            # packed entries of matrices
            rows, columns = NONZERO_ENTRIES[str(sizes[0])](dynamics.description)
            own_rows, own_columns = (tree.v[k] for k in NONZERO_ENTRIES[str(sizes[0])](tree.model))
            keys = rows * dynamics.nv + columns
            order = np.argsort(keys)
            own = order[np.searchsorted(keys[order], own_rows * dynamics.nv + own_columns)]
        else:
            axes = np.ix_(*(tree.q if size == "nq" else tree.v for size in sizes))
            own = np.ravel_multi_index(axes, port.shape).ravel()
        indices.append(start + own)
        start += prod(port.shape)
    return np.concatenate(indices)
