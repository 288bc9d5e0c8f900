"""From constraints as they are given to the data of a constrained system: rows, Jacobians, drift."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.posture import Posture
from dalembert.errors import ConstraintError
from dalembert.model.parameter import collect
from dalembert.systems.dynamics import Dynamics

_MANY = 100  # entries of A, from which on the drift is not derived from A


def describe(name: str, system: Dynamics, constraints: Sequence[Constraint]) -> ConstrainedDynamics:
    """The description, with Jacobians and drift derived; shapes and dependence are checked."""
    q, v = bridge.symbol("q", system.nq), bridge.symbol("v", system.nv)
    t, p = bridge.symbol("t"), bridge.symbol("p", len(system.parameters))
    letters = dict(zip(system.parameters, p, strict=True))
    names = dict(zip(system.coordinates, q, strict=True)) | letters | {"t": t}
    at = Posture(system, q, t, names)
    named = _named(constraints)
    rate = system.rate(q, v)
    parts, slices, start = [], {}, 0
    for label, constraint in named.items():
        part = _rows(label, constraint, at, bridge.jacobian(rate, v))
        parts.append(part)
        slices[label] = slice(start, start + part[1].shape[0])
        start += part[1].shape[0]
    held, matrices, speeds = zip(*parts, strict=True)
    h, A, b = bridge.flat(held), np.concatenate(matrices), bridge.flat(speeds)
    positions = [
        rows.start + k
        for rows, part in zip(slices.values(), parts, strict=True)
        for k in range(part[0].shape[0])
    ]
    # w = A v − b stays zero: A v̇ = γ = −(∂w/∂q q̇ + ∂w/∂t)
    w = A @ v - b if A.size <= _MANY else _speeds(named.values(), parts, at, v, rate)
    drift = -(bridge.directional(w, q, rate) + bridge.jacobian(w, t))
    rubbing = [kind.rubbing(at, v) for kind in named.values() if kind.rubs]
    every = [h, A, b, drift]
    if rubbing:
        every += [np.stack([F @ J for F, J in rubbing]), np.stack([F for F, _ in rubbing])]
    outputs, parameters, p = _parameters(system, every, [q, v, t], letters, p)
    function = bridge.Function([q, v, t, p], outputs)
    moving = system.moving or bridge.depends_on(bridge.flat([h, A, b]), t)
    return ConstrainedDynamics(
        name, system, named, slices, len(positions), tuple(positions), function, parameters, moving
    )


def _rows(label: str, constraint: Constraint, at: Posture, flow: Any) -> tuple[Any, Any, Any]:
    """(h, A, b) of one constraint; `flow` is ∂q̇/∂v (nq, nv)."""
    n = at.system.nv
    held, rolled = constraint.position(at), constraint.velocity(at)
    h = bridge.flat([] if held is None else [held])
    # ḣ = ∂h/∂q q̇ + ∂h/∂t with q̇ = (∂q̇/∂v) v
    A, b = bridge.jacobian(h, at.q) @ flow, -bridge.jacobian(h, at.t)
    turning = constraint.turning(at)
    if turning:
        A = np.stack([turning.get(k, A[k]) for k in range(A.shape[0])])
    if rolled is not None:
        shape, b2 = bridge.shape_of(rolled[0]), bridge.flat(rolled[1:])
        if shape[1:] != (n,) or b2.shape != shape[:1]:
            raise ConstraintError(
                f"constraint {label!r}: A has shape {shape} and b {b2.size} entries; "
                f"expected (k, {n}) and k"
            )
        A, b = np.concatenate([A, bridge.flat(rolled[:1]).reshape(shape)]), bridge.flat([b, b2])
    empty = bridge.zero_rows(A)
    if constraint.every_row_counts or len(empty) == A.shape[0]:
        for k in empty:
            what = "h does not depend on q" if k < h.size else "its row of A is zero"
            raise ConstraintError(
                f"constraint {label!r}, equation {k}: {what}, so it holds nothing"
            )
    return h, A, b


def _speeds(
    constraints: Iterable[Constraint], parts: Sequence[Any], at: Posture, v: Any, rate: Any
) -> Any:
    """w (rows,) = dh/dt along q̇, or A v − b of rows that are no ∂h/∂q: the same, without all of A."""
    found = []
    for constraint, (h, A, b) in zip(constraints, parts, strict=True):
        slopes = h.shape[0] == A.shape[0] and not constraint.turning(at)
        plain = (
            bridge.directional(h, at.q, rate) + bridge.jacobian(h, at.t) if slopes else A @ v - b
        )
        found.append(plain)
    return bridge.flat(found)


def _named(constraints: Sequence[Constraint]) -> dict[str, Constraint]:
    """Constraints by name; unnamed ones are numbered by kind."""
    if not constraints:
        raise ConstraintError("there is no constraint; use the system itself")
    named: dict[str, Constraint] = {}
    for given in constraints:
        if not isinstance(given, Constraint):
            raise ConstraintError(f"{given!r} is no constraint such as dl.Holonomic(h)")
        constraint, label = given, given.label
        if getattr(constraint, "name", None) is None:
            number = sum(type(other) is type(constraint) for other in named.values()) + 1
            label = f"{label}{number}"
            constraint = replace(constraint, name=label)  # type: ignore[call-arg]  # every kind has one
        if label in named:
            raise ConstraintError(
                f"two constraints are called {label!r}; give them different names"
            )
        named[label] = constraint
    return named


def _parameters(
    system: Dynamics, outputs: list[Any], own: list[Any], letters: Mapping[str, Any], p: Any
) -> tuple[list[Any], dict[str, float | None], Any]:
    """`Parameter` symbols met in the rows become entries of one vector, the system's first."""
    loose = bridge.symbols_beyond(bridge.flat(outputs), bridge.flat([*own, p]))
    parameters = dict(system.parameters)
    targets, more = [], []
    for symbol in loose:
        ((name, value),) = collect(symbol)[0].items()
        if name not in parameters:
            parameters[name] = value
            letters = {**letters, name: bridge.symbol(name)}
            more.append(letters[name])
        targets.append(letters[name])
    if loose:
        outputs = list(bridge.at(outputs, loose, targets))
    return outputs, parameters, bridge.flat([p, *more])
