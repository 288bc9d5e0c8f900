"""Every formulation of a system's motion at one state: results, operations and disagreement.

The formulations are those of the catalogue: of a tree those of forward and of inverse dynamics, of a
constrained system the routes to (q̈, λ). They run as plain NumPy, each by its own derivation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints.geometry import weighed
from dalembert.errors import DalembertError
from dalembert.kernels.program.count import Count
from dalembert.linalg.rank import singular_values
from dalembert.report.comparison import GROWING, LARGE
from dalembert.report.sections import error_html, table
from dalembert.systems.system import System
from dalembert.text import html, require_known

if TYPE_CHECKING:
    import pandas

QUANTITIES = ("forward_dynamics", "inverse_dynamics")
HEADS = ("quantity", "formulation", "×", "+", "÷ √", "sin, cos", "other", "difference", "result")
FEW = 6  # entries of a vector


@dataclass(frozen=True)
class Entry:
    """One formulation at the state; `values` are None where it has no result, as `note` says."""

    quantity: str
    formulation: str
    citation: str
    values: np.ndarray | None  # (nv,) q̈ of forward dynamics, τ of inverse dynamics
    lam: np.ndarray | None  # λ (rows,), of least norm where constraints are redundant
    force: np.ndarray | None  # Aᵀλ (nv,), which is unique
    operations: Count | None  # for this system; None where they are not counted
    difference: float | None  # largest relative one from any other of the quantity
    note: str = ""

    @property
    def vectors(self) -> tuple[np.ndarray, ...]:
        """The results that are compared, none where there are none."""
        return () if self.values is None or self.force is None else (self.values, self.force)

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts of its row."""
        count = self.operations
        numbers: tuple[str, ...] = ("–",) * 5
        if count is not None:
            kinds = (count.multiplications, count.additions, count.divisions + count.square_roots)
            numbers = tuple(f"{x:,}" for x in (*kinds, count.trigonometric, count.other))
        apart = "–" if self.difference is None else f"{self.difference:.1e}"
        result = "–" if self.values is None else _vector(self.values)
        if self.values is not None and self.force is not None and self.force.size:
            result += f"  Aᵀλ = {_vector(self.force)}"
        return (self.quantity.replace("_", " "), self.formulation, *numbers, apart, result)


@dataclass(frozen=True)
class Comparison:
    """All formulations of a system at one state, as `compare` returns them."""

    system: str
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    qdd: np.ndarray  # of inverse dynamics
    entries: tuple[Entry, ...]
    # of M over √(M_ii M_jj), and of A without units; None without constraints
    condition: tuple[float, float | None]

    @property
    def disagreement(self) -> float:
        """The largest relative difference of any two formulations of one quantity."""
        return max((x.difference for x in self.entries if x.difference is not None), default=0.0)

    def __getitem__(self, formulation: str) -> Entry:
        """The first entry of that formulation: of one in both quantities, forward dynamics."""
        names = [x.formulation for x in self.entries]
        require_known(formulation, names, f"{self.system} was not compared by")
        return next(x for x in self.entries if x.formulation == formulation)

    def to_dataframe(self) -> pandas.DataFrame:
        """A row for every formulation: quantity, formulation, operations, difference and results."""
        import pandas

        kinds = [field.name for field in fields(Count)]
        rows = []
        for entry in self.entries:
            row = {**vars(entry)}
            count = row.pop("operations")
            row |= {kind: None if count is None else getattr(count, kind) for kind in kinds}
            row["total"] = None if count is None else count.total
            rows.append(row)
        return pandas.DataFrame(rows).set_index(["quantity", "formulation"])

    @property
    def summary(self) -> str:
        """One sentence: conditions and the largest disagreement."""
        mass, constraint = self.condition
        text = f"{self.system}: cond M = {mass:.1e}"
        if constraint is not None:
            text += f", cond A = {constraint:.1e}"
        return f"{text}, largest disagreement {self.disagreement:.1e}"

    @property
    def notes(self) -> list[str]:
        """Why formulations have no result, each reason once."""
        reasons: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.note:
                reasons.setdefault(entry.note, []).append(entry.formulation)
        return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]

    def __str__(self) -> str:
        rows = [HEADS, *(entry.cells for entry in self.entries)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(HEADS) - 1)]
        lines = []
        for row in rows:
            cells = [
                cell.ljust(width) if k < 2 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row[:-1], widths, strict=True))
            ]
            lines.append("  ".join([*cells, row[-1]]).rstrip())
        return "\n".join([*lines, *self.notes, self.summary])

    def _repr_html_(self) -> str:
        rows = []
        for entry in self.entries:
            cells = [html(cell) for cell in entry.cells]
            if entry.difference is not None:
                cells[-2] = error_html(entry.difference)
            rows.append(cells)
        lines = "<br>".join(map(html, [*self.notes, self.summary]))
        return f"<div>{table(HEADS, rows, left=2)}<p>{lines}</p></div>"


def compare(
    system: System,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    t: float | None = None,
    operations: bool = True,
) -> Comparison:
    """Compare all formulations of a system's motion at one state.

    Forward dynamics gives q̈ under `tau`, of a constrained system by every route and with λ; inverse
    dynamics, where there are several formulations of it, τ of `qdd`. λ is compared as Aᵀλ, which is
    unique where constraints are redundant.

    Parameters
    ----------
    system : System
        A robot, a Lagrangian, a constrained system.
    q, qd : array_like
        Configuration (nq,) and velocity (nv,).
    tau : array_like, optional
        Generalised forces (nv,), N m or N; default zero.
    qdd : array_like, optional
        Acceleration (nv,) of inverse dynamics; default the one of forward dynamics.
    t : float, optional
        Time, for systems that depend on it, s.
    operations : bool
        Whether operations are counted, which takes most of the time: each formulation is traced.

    Returns
    -------
    Comparison
        A table: printed, shown in notebooks, and as `to_dataframe()`; `disagreement` is the largest
        relative difference. A formulation without a result at the state says why.

    Examples
    --------
    >>> import dalembert as dl
    >>> linkage = dl.load("four_bar")
    >>> result = dl.compare(linkage, linkage.neutral(), [0.0, 0.0, 0.0])
    >>> [entry.formulation for entry in result.entries][:3]
    ['multiplier', 'elimination', 'projection']
    >>> result.disagreement < 1e-12
    True
    """
    system = system.compiled
    system.dynamics.quantity(QUANTITIES[0])  # a sparse system says that it has no formulations
    dynamics: Any = system.dynamics.bound().at_time(t)
    inputs = {"q": q, "qd": qd, "tau": np.zeros(system.nv) if tau is None else tau}
    inputs |= {} if qdd is None else {"qdd": qdd}
    inputs = dynamics.one_state(system.name, **inputs)
    M = np.asarray(dynamics.mass_matrix(inputs["q"]), dtype=float)
    A = np.asarray(dynamics.at(inputs["q"], inputs["qd"]).A, dtype=float)
    entries: list[Entry] = []
    for name in QUANTITIES:
        listed = system.dynamics.catalogue.get(name)
        if listed is None or (entries and len(listed.formulations) < 2):
            continue
        own = list(_results(system, name, inputs, A, t, operations))
        if "qdd" not in inputs:
            known = [x.values for x in own if x.values is not None]
            inputs["qdd"] = known[0] if known else np.zeros(system.nv)
        entries += _compared(own, _sizes(dynamics, M, inputs)[name])
    size = np.sqrt(np.diag(M))
    with np.errstate(all="ignore"):
        mass = float(np.linalg.cond(M / np.outer(size, size))) if size.all() else np.inf
    constraint = None
    if system.dynamics.rows:
        sizes = singular_values(weighed(dynamics, inputs["q"]))[: dynamics.rank]
        constraint = float(sizes[0] / sizes[-1]) if sizes.size and sizes[-1] else np.inf
    return Comparison(system.name, **inputs, entries=tuple(entries), condition=(mass, constraint))


def _results(
    system: System,
    name: str,
    inputs: dict[str, np.ndarray],
    A: np.ndarray,
    t: float | None,
    is_counted: bool,
) -> Iterator[Entry]:
    """Every formulation of a quantity, not compared yet."""
    listed = system.dynamics.quantity(name)
    options: dict[str, Any] = {"t": t} if t is not None and "t" in listed.optional else {}
    arrays = [inputs[key] for key in listed.inputs]
    for f in listed.formulations:
        values = lam = force = count = None
        note = ""
        try:
            if listed.inverts_mass and f.inverts_mass:
                system.dynamics.require_regular()
            with np.errstate(all="ignore"):
                result = system.reference(name, *arrays, formulation=f.name, **options)
            whole = result if isinstance(result, tuple) else (result, np.zeros(0))
            if all(np.isfinite(x).all() for x in whole):
                values, lam = whole
                force = A.T @ lam if lam.size else np.zeros(0)
            else:
                note = "no result at this state"
            is_short = A.size or system.nv <= LARGE or f.name not in GROWING
            if is_counted and system.dynamics.traces and is_short:
                count = system.operation_count(name, f.name, **dict.fromkeys(options, True))
        except DalembertError as error:  # it does not treat these joints, or a singular M
            note = str(error)
        yield Entry(name, f.name, f.citation, values, lam, force, count, None, note)


def _sizes(
    dynamics: Any, M: np.ndarray, inputs: dict[str, np.ndarray]
) -> dict[str, tuple[float, float]]:
    """Of every quantity, the sizes of accelerations or forces before they cancel, and of forces."""
    h = np.asarray(dynamics.bias(inputs["q"], inputs["qd"]), dtype=float)
    forces = (inputs["tau"], h, M @ inputs["qdd"])
    force = max(float(np.abs(x).max(initial=0.0)) for x in forces)
    parts = (*(np.linalg.lstsq(M, f, rcond=None)[0] for f in forces), inputs["qdd"])
    acceleration = max(float(np.abs(x).max(initial=0.0)) for x in parts)
    return {"forward_dynamics": (acceleration, force), "inverse_dynamics": (force, force)}


def _compared(entries: list[Entry], sizes: tuple[float, float]) -> list[Entry]:
    """The entries with their largest differences from the others, beside these sizes."""
    compared = []
    for entry in entries:
        apart = [
            float(np.abs(a - b).max(initial=0.0)) / max(size, np.finfo(float).tiny)
            for other in entries
            if other is not entry
            for a, b, size in zip(entry.vectors, other.vectors, sizes, strict=False)
        ]
        compared.append(replace(entry, difference=max(apart, default=None)))
    return compared


def _vector(x: np.ndarray) -> str:
    """Its first entries with five digits; rounding beside the largest is zero."""
    floor = 1e-14 * float(np.abs(x).max(initial=0.0))
    cells = [f"{0.0 if abs(v) <= floor else v:.5g}" for v in x[:FEW]]
    return f"[{', '.join(cells)}{', …' if len(x) > FEW else ''}]"
