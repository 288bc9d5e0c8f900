"""Programs of a scene tree by tree: each different tree is traced once, however often it stands there.

What a quantity gives for one tree does not depend on the others where everything that goes in and comes
out is counted by coordinates and velocities: vectors then stand side by side, and matrices are
block-diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.registry import Size
from dalembert.kernels import Port, Program
from dalembert.model.entries import ENTRIES
from dalembert.systems.variant import Variant

if TYPE_CHECKING:
    from dalembert.model.forest import Tree
    from dalembert.systems.dynamics import Dynamics

MANY = 48  # velocities of a scene from which on it is taken apart
_COUNTED = {"nq", "nv", *ENTRIES}


def is_separable(dynamics: Dynamics, variant: Variant) -> bool:
    """Whether the quantity may be traced tree by tree."""
    chosen = dict(variant.static).keys() - {"out_layout"}
    if dynamics.nv < MANY or chosen or variant.optional or dynamics.parameters:
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

    from dalembert.kernels.program.rewrite import Share, joined

    made: dict[str, Program] = {}
    shares = []
    given = [(port, dynamics.inputs[port.name]) for port in ports[0]]
    results = list(zip(ports[1], variant.quantity.outputs.values(), strict=True))
    for tree in dynamics.trees:
        if tree.model.content not in made:
            made[tree.model.content] = _traced(tree, variant, given, name)
        places = [_places(dynamics, tree, some) for some in (given, results)]
        shares.append(Share(made[tree.model.content], *places))
    return joined(name, *ports, shares)


def _traced(
    tree: Tree, variant: Variant, given: Sequence[tuple[Port, tuple[Size, ...]]], name: str
) -> Program:
    from dalembert.kernels.program.trace import trace

    own = {"nq": len(tree.q), "nv": len(tree.v)}

    def function(**inputs: Any) -> Mapping[str, Any]:
        return variant.outputs(tree.model, **inputs)

    shapes = {port.name: tuple(own[str(size)] for size in sizes) for port, sizes in given}
    return trace(function, shapes, name=name)


def _places(
    dynamics: Dynamics, tree: Tree, ports: Sequence[tuple[Port, tuple[Size, ...]]]
) -> np.ndarray:
    """Where the entries of a tree stand among those of all ports of the whole."""
    places, start = [np.zeros(0, dtype=int)], 0
    for port, sizes in ports:
        if sizes[0] in ENTRIES:
            own = _packed_places(dynamics, tree, str(sizes[0]))
        else:
            axes = np.ix_(*(tree.q if size == "nq" else tree.v for size in sizes))
            own = np.ravel_multi_index(axes, port.shape).ravel()
        places.append(start + own)
        start += prod(port.shape)
    return np.concatenate(places)


def _packed_places(dynamics: Dynamics, tree: Tree, size: str) -> np.ndarray:
    """Where the packed entries of a tree stand among those of the whole."""
    rows, columns = ENTRIES[size](dynamics.description)
    own = [tree.v[k] for k in ENTRIES[size](tree.model)]
    keys = rows * dynamics.nv + columns
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], own[0] * dynamics.nv + own[1])]
