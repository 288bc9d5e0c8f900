"""Rows between two units of a network: h(q_a, q_b) = 0 with its Jacobians and drift, compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert import bridge
from dalembert.constraints.description import TRACED_FROM
from dalembert.constraints.posture import Posture
from dalembert.constraints.read import rows_of
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.evaluator import Evaluator
from dalembert.systems.system import System

Link = Callable[[Posture, Posture], Any]


@dataclass(frozen=True, eq=False)
class LinkRows(Dynamics):
    """One kind of link between two kinds of units; `function` is (q_a, v_a, q_b, v_b) → rows."""

    name: str
    function: bridge.Function
    na: int  # coordinates of a
    nb: int
    va: int  # velocities of a
    vb: int
    rows: int = 0
    parameters: Mapping[str, float | None] = field(default_factory=dict)

    traced_from: ClassVar = TRACED_FROM
    inputs: ClassVar = {"q_a": ("na",), "v_a": ("va",), "q_b": ("nb",), "v_b": ("vb",)}

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        """The rows alone."""
        return {ROWS.name: ROWS}

    @cached_property
    def content(self) -> str:
        """Digest of the function."""
        return hashlib.sha256(self.function.serialize().encode()).hexdigest()

    def bind(self, values: Any) -> LinkRows:
        """Nothing to bind: units of a network have numbers."""
        return self

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """None."""
        return np.zeros(0)


def _rows(link: LinkRows, q_a: Any, v_a: Any, q_b: Any, v_b: Any) -> tuple[Any, ...]:
    """(h, A_a, A_b, γ) of one link."""
    return link.function(q_a, v_a, q_b, v_b)


ROWS = Quantity(
    "rows",
    "h, both Jacobians and the drift of a link",
    ("q_a", "v_a", "q_b", "v_b"),
    {"h": ("rows",), "A": ("rows", "va"), "B": ("rows", "vb"), "gamma": ("rows",)},
    (Formulation("automatic", _rows, "000 §4.5", "by automatic differentiation"),),
)


class LinkEvaluator(Evaluator):
    """The compiled rows of all links of one kind."""

    def __init__(self, name: str, link: Link, a: System, b: System) -> None:
        super().__init__(_described(name, link, a, b))

    def __call__(self, q_a: Any, v_a: Any, q_b: Any, v_b: Any) -> tuple[np.ndarray, ...]:
        """(h (..., rows), A (..., rows, va), B (..., rows, vb), γ (..., rows))."""
        return self.evaluate("rows", q_a, v_a, q_b, v_b)


def _described(name: str, link: Link, a: System, b: System) -> LinkRows:
    units = [a.dynamics, b.dynamics]
    q = [bridge.symbol(f"q{k}", unit.nq) for k, unit in enumerate(units)]
    v = [bridge.symbol(f"v{k}", unit.nv) for k, unit in enumerate(units)]
    postures = [Posture(unit, x) for unit, x in zip(units, q, strict=True)]
    h = rows_of(lambda: link(*postures), (), {}, f"link {name!r}")
    rates = [unit.rate(x, y) for unit, x, y in zip(units, q, v, strict=True)]
    A, B = (
        bridge.jacobian(h, x) @ bridge.jacobian(rate, y)
        for x, y, rate in zip(q, v, rates, strict=True)
    )
    w = A @ v[0] + B @ v[1]
    gamma = -sum(bridge.directional(w, x, rate) for x, rate in zip(q, rates, strict=True))
    function = bridge.Function([q[0], v[0], q[1], v[1]], [h, A, B, gamma])
    first, second = units
    return LinkRows(name, function, first.nq, second.nq, first.nv, second.nv, h.size)
