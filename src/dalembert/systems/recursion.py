"""The recursion of a formulation as a table: every intermediate by name and link, and τ.

The formulation of inverse dynamics is run with a recorder, traced and compiled like any quantity, so
the table of a batch is one kernel, and the symbolic table comes from the same program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import EquationError, FormulationError, ShapeError
from dalembert.formulations.coupled import tree_inputs
from dalembert.formulations.parts.elements import outer_wrenches
from dalembert.formulations.parts.joint_wrenches import link_frames, without_outer
from dalembert.formulations.parts.recursion_table import TERMS, Link, Recorder, Term, stacked
from dalembert.kernels import Port
from dalembert.model import Model
from dalembert.spatial.arrays import Vector
from dalembert.spatial.se3 import IDENTITY, Force
from dalembert.systems.evaluator import Parameters, Ports, Variant, has_sympy, traced
from dalembert.text import html, require_known, visible
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    import sympy
    import xarray

    from dalembert.kernels import Program
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System


AXES = ("x", "y", "z")
LABELS = {
    "axis": AXES,
    "component": tuple(f"{part} {axis}" for part in ("linear", "angular") for axis in AXES),
}
DIMS: Mapping[tuple[int, ...], tuple[str, ...]] = {(): (), (3,): ("axis",), (6,): ("component",)}
TORQUE = "torque or force of the drives"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, eq=False)
class Recursion:
    """The intermediates of a formulation of inverse dynamics for every link, from the base to τ.

    ``table["omega"]`` is an array (..., links, 3), ``table["tau"]`` (..., nv). `terms` have name,
    symbol, shape, units and meaning; ``list(table)`` are their names. Values are in the link frames
    of `pose`, and wrenches through joints are those of `joint_wrenches`:
    about the joint's origin, in the link's axes. The bodies inside a joint of several degrees have
    no such frame; theirs has its z axis along their own axis. Values are numbers, or SymPy
    expressions, where `definitions` has the values of w1, w2, ….
    """

    name: str
    formulation: str
    citation: str
    links: tuple[str, ...]
    velocities: tuple[str, ...]
    terms: tuple[Term, ...]
    values: Mapping[str, Any]  # arrays of numbers, of SymPy expressions, or of CasADi symbols
    torque_units: tuple[str, ...]
    rates: Mapping[sympy.Symbol, sympy.Symbol] = field(default_factory=dict)
    definitions: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)

    @property
    def is_symbolic(self) -> bool:
        """Whether the values are SymPy expressions."""
        return isinstance(self["tau"], np.ndarray) and self["tau"].dtype == object

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for one state."""
        return tuple(self["tau"].shape[:-1])

    def __getitem__(self, name: str) -> Any:
        require_known(name, self.values, f"the recursion of {self.formulation} has no")
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        """The names of all terms, "tau" last."""
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def link(self, name: str) -> dict[str, Any]:
        """All terms of one link, each (..., *shape)."""
        require_known(name, self.links, f"{self.name} has no link")
        one = (*(slice(None) for _ in self.batch), self.links.index(name))
        return {t.name: self[t.name][one] for t in self.terms}

    def at(self, *index: int) -> Recursion:
        """The table of one state of a batch."""
        return replace(self, values={name: x[index] for name, x in self.values.items()})

    def to_xarray(self) -> xarray.Dataset:
        """The table as an `xarray.Dataset` over link and axis, with units and meanings."""
        import xarray

        several = len(self.batch) > 1
        batch = tuple(f"sample_{k}" if several else "sample" for k in range(len(self.batch)))
        coords: dict[str, Any] = {"link": list(self.links), "joint": list(self.velocities)}
        fields: dict[str, Any] = {}
        for term in self.terms:
            dims = DIMS.get(term.shape, ("row", "column")[: len(term.shape)])
            coords |= {dim: list(LABELS[dim]) for dim in dims if dim in LABELS}
            about = {"units": term.units, "long_name": term.meaning}
            fields[term.name] = ((*batch, "link", *dims), self[term.name], about)
        about = {"units": ", ".join(sorted(set(self.torque_units))), "long_name": TORQUE}
        fields["tau"] = ((*batch, "joint"), self["tau"], about)
        sources = {"robot": self.name, "formulation": self.formulation, "source": self.citation}
        return xarray.Dataset(fields, coords, sources)

    def text(self, width: int = 100) -> str:
        """Every term under its symbol and meaning, link by link; then τ."""
        from dalembert.symbolic.layout import TableEntry, entry_text

        table = self._one()
        blocks = [[visible(f"{table.name}: {table.formulation} ({table.citation})")]]
        for term in table.terms:
            if table.is_symbolic:
                rows = _written(table, term.symbol, map(_expressions, table[term.name]), width)
            else:
                longest = max(map(len, table.links))
                rows = [
                    f"  {visible(link):{longest}}" + "".join(f"{cell:>13}" for cell in cells)
                    for link, cells in _cells(table, term)
                ]
            blocks.append([f"{term.symbol}  {_heading(term)}", *rows])
        if table.is_symbolic:
            torques = _written(table, "τ", map(_expressions, table["tau"]), width)
        else:
            longest = max(map(len, table.velocities))
            listed = zip(table.velocities, table["tau"], table.torque_units, strict=True)
            torques = [f"  {visible(v):{longest}}{_digits(x):>13} {unit}" for v, x, unit in listed]
        blocks.append([f"τ  {TORQUE}", *torques])
        if table.definitions:
            named = [TableEntry(s.name, _expressions(e)) for s, e in table.definitions.items()]
            blocks.append(["with", *(entry_text(entry, table.rates, width) for entry in named)])
        return "\n\n".join("\n".join(lines) for lines in blocks)

    def latex(self, name: str | None = None) -> str:
        """LaTeX of one term, or of all of them and τ, as an `aligned` block."""
        from dalembert.symbolic.layout import TableEntry, entries_latex

        table = self._one()
        if name is not None:
            require_known(name, table.values, f"the recursion of {table.formulation} has no")
        entries = [
            TableEntry(term.latex.replace("#", str(k + 1)), value)
            for term in table.terms
            if name in (None, term.name)
            for k, value in enumerate(map(_expressions, table[term.name]))
        ]
        if name in (None, "tau"):
            entries.append(TableEntry(r"\tau", _expressions(table["tau"])))
        return entries_latex(entries, table.rates)

    def __str__(self) -> str:
        return repr(self) if self.batch or is_symbolic(self["tau"]) else self.text()

    def __repr__(self) -> str:
        names = ", ".join(t.name for t in self.terms)
        size = f"{len(self.links)} links" + (f", batch {self.batch}" if self.batch else "")
        return f"<Recursion of {self.name} by {self.formulation}: {names}; {size}>"

    def _repr_html_(self) -> str | None:
        """Tables of numbers for a notebook; symbolic ones are displayed by `_repr_latex_`."""
        if self.is_symbolic or self.batch or is_symbolic(self["tau"]):
            return None
        parts = [f"<b>{html(self.name)}</b>: {html(self.formulation)} ({html(self.citation)})"]
        for term in self.terms:
            rows = "".join(
                f"<tr><th>{html(link)}</th>{''.join(f'<td>{x}</td>' for x in cells)}</tr>"
                for link, cells in _cells(self, term)
            )
            caption = f"<caption>{term.symbol} &nbsp; {html(_heading(term))}</caption>"
            parts.append(f"<table>{caption}<tbody>{rows}</tbody></table>")
        return f"<div>{''.join(parts)}</div>"

    def _repr_latex_(self) -> str | None:
        return f"$\\displaystyle {self.latex()}$" if self.is_symbolic and not self.batch else None

    def _one(self) -> Recursion:
        """Itself, if it is the table of one state."""
        if self.batch:
            raise ShapeError(
                f"the table of a batch {self.batch} is not printed; take one state, table.at(0), or "
                "table.to_xarray()"
            )
        if is_symbolic(self["tau"]):
            raise EquationError(
                "a table of CasADi symbols is not printed; call it without a state, or with SymPy "
                "expressions"
            )
        return self


def _heading(term: Term) -> str:
    return f"{term.meaning}, {term.units}" if term.units else term.meaning


def _cells(table: Recursion, term: Term) -> Iterator[tuple[str, list[str]]]:
    """Rows of numbers, the link's name at the first row of each of its matrices."""
    values = table[term.name]
    largest = float(np.abs(values).max(initial=0.0))
    for link, value in zip(table.links, values, strict=True):
        for k, row in enumerate(np.atleast_2d(value)):
            yield (link if k == 0 else ""), [_digits(x, largest) for x in row]


def _digits(x: float, largest: float = 0.0) -> str:
    """Six digits; zero for the rounding error of larger neighbours."""
    return f"{0.0 if abs(x) <= 1e-14 * largest or x == 0.0 else x:.6g}"


def _written(table: Recursion, symbol: str, values: Iterable[Any], width: int) -> list[str]:
    from dalembert.symbolic.layout import TableEntry, entry_text

    names = (symbol + str(k).translate(_SUBSCRIPTS) for k in count(1))
    entries = map(TableEntry, names, values)
    return [entry_text(entry, table.rates, width) for entry in entries]


def _expressions(values: Any) -> np.ndarray:
    """An array of SymPy expressions; numbers with six digits."""
    import sympy

    values = np.asarray(values, dtype=object)
    entries = [e if isinstance(e, sympy.Basic) else sympy.Float(f"{e:.6g}") for e in values.ravel()]
    filled = np.empty(values.shape, dtype=object)
    filled.ravel()[:] = entries
    return filled


class RecordedDynamics:
    """Inverse dynamics of a robot by one formulation, with all intermediates."""

    def __init__(self, robot: System, formulation: str | None, choices: Mapping[str, Any]):
        self.robot = robot
        self.links = tuple(body.name for body in robot.description.bodies)
        self.variant: Variant = robot._variant("inverse_dynamics", formulation, choices)
        chosen = self.variant.formulation
        if chosen.name not in TERMS:
            able = [f.name for f in self.variant.quantity.formulations if f.name in TERMS]
            raise FormulationError(
                f"{chosen.name} has no recursion over the links; choose one of {', '.join(able)}"
            )
        default = signature(chosen.function).parameters["gravity"].default
        gravity = dict(self.variant.static).get("gravity", default)
        self.terms = tuple(term for term in TERMS[chosen.name] if term.gravity in ("", gravity))

    @property
    def ports(self) -> Ports:
        """Inputs, and for every term (links, *shape); the torques last."""
        inputs, torques = self.robot.evaluator.ports(self.variant)
        noted = (Port(term.name, (len(self.links), *term.shape)) for term in self.terms)
        return inputs, (*noted, *torques)

    def program(self) -> Program:
        """The straight-line program of the whole table, without the jumps of Coulomb friction."""
        smooth = partial(self.function, dynamics=self.robot.dynamics.without_coulomb())
        return traced(smooth, self.ports[0], f"recursion_{self.variant.formulation.name}")

    def function(
        self, parameters: Any = None, dynamics: Dynamics | None = None, **inputs: Any
    ) -> dict[str, Any]:
        """One state: the values of every term, and τ."""
        dynamics = self.robot.dynamics if dynamics is None else dynamics
        dynamics = dynamics if parameters is None else dynamics.bind(parameters)
        model, record, static = dynamics.description, Recorder(), dict(self.variant.static)
        tau = self.variant.formulation.function(model, **inputs, **static, record=record)
        state = tree_inputs(model, {name: inputs[name] for name in ("q", "qd", "qdd")})
        recorded_links = links(model.tree, record, **state)
        terms = {
            term.name: stacked(
                [term.in_link_frame(x, x.own[term.name]) for x in recorded_links], term.shape
            )
            for term in self.terms
        }
        return {**terms, "tau": tau}

    def values(self, arguments: tuple[Any, ...]) -> dict[str, np.ndarray]:
        """The table at numbers, batches included, compiled."""
        evaluator, name, ports = self.robot.evaluator, self.variant.formulation.name, self.ports
        kernel = evaluator.build(
            ("recursion", *self.variant.key),
            self.function,
            ports,
            f"recursion_{name}",
            f"every intermediate of inverse dynamics by {name}",
            numeric=True,
        )
        results = evaluator.call(kernel, f"recursion by {name}", arguments)
        return dict(zip([port.name for port in ports[1]], results, strict=True))

    def table(self, values: Mapping[str, Any], **written: Any) -> Recursion:
        """The values with their names."""
        formulation = self.variant.formulation
        return Recursion(
            name=self.robot.dynamics.name,
            formulation=formulation.name,
            citation=formulation.citation,
            links=self.links,
            velocities=tuple(self.robot.dynamics.velocities),
            terms=self.terms,
            values=values,
            torque_units=tuple(self.robot.dynamics.units("tau")),
            **written,
        )


def recursion(
    robot: System,
    state: tuple[Any, Any, Any],
    formulation: str | None,
    parameters: Parameters,
    choices: Mapping[str, Any],
    timeout: float | None = 10.0,
) -> Recursion:
    """The table at a state of numbers, CasADi symbols or SymPy expressions, or in own symbols."""
    chosen = {name: value for name, value in choices.items() if value is not None}
    recorded = RecordedDynamics(robot, formulation, chosen)
    arguments = (*state, *(chosen[name] for name in recorded.variant.optional))
    if all(x is None for x in state) or has_sympy(arguments):
        from dalembert.systems.equations import symbolic_recursion

        return symbolic_recursion(recorded, arguments, timeout)
    if any(x is None for x in state):
        raise ShapeError(f"{robot.dynamics.name}.recursion takes q, qd and qdd, or none of them")
    if any(map(is_symbolic, arguments)):
        inputs, _ = recorded.ports
        return recorded.table(
            robot.evaluator.at_symbols(recorded.function, inputs, arguments, parameters)
        )
    if robot.dynamics.parameters:
        arguments = (*arguments, robot.parameter_array(parameters))
    return recorded.table(recorded.values(arguments))


def links(model: Model, record: Recorder, q: Vector, qd: Vector, qdd: Vector) -> list[Link]:
    """The links of a tree, in its order."""
    frames = [*link_frames(model), IDENTITY]  # that of parent −1 last
    outer: list[Any] = [None] * len(model.bodies)
    if exerted := list(outer_wrenches(model, q, qd, qdd).items()):
        outer = without_outer(model, q, [Force.zero()] * len(model.bodies), exerted)
    return [
        Link(frames[i], frames[b.parent], record.of(i), record.of(b.parent), outer[i])
        for i, b in enumerate(model.bodies)
    ]
