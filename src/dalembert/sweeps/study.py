"""A study: its runs in chunks, each one batch of `simulate`, and by what it is known again."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import (
    ConstraintError,
    ConvergenceError,
    SimulationError,
    SingularMassMatrixError,
)
from dalembert.simulation import SimulationWarning, simulate
from dalembert.simulation.drive import FAR
from dalembert.simulation.settings import Grid, whole_steps
from dalembert.sweeps.design import Design
from dalembert.sweeps.reductions import reduced
from dalembert.sweeps.varied import Varied
from dalembert.systems.identity import digest, function_digest
from dalembert.systems.law import law_digest
from dalembert.systems.system import System
from dalembert.travel import Portable
from dalembert.version import __version__

if TYPE_CHECKING:
    import xarray

FORMAT = 2
OK, DIVERGED, REFUSED = 0, 1, 2
MEANINGS = "ok diverged refused"
Rows = Mapping[str, np.ndarray]  # values (runs, ...) of some rows of a design
REFUSALS = (SimulationError, ConstraintError, ConvergenceError, SingularMassMatrixError)


@dataclass(frozen=True)
class Variable:
    """What is kept of every run under one name."""

    dims: tuple[str, ...]  # besides the run
    shape: tuple[int, ...]
    dtype: str
    attributes: Mapping[str, Any]


@dataclass
class Chunk:
    """Some runs of a study, done: arrays (runs, ...) by name, a status for each, reasons by number."""

    index: int
    arrays: dict[str, np.ndarray]
    status: np.ndarray
    reasons: dict[int, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    coordinates: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Work(Portable):
    """How rows of a design become a chunk: all that a worker has to know."""

    varied: Varied
    reduce: Mapping[str, Callable[[Any], Any]]

    @property
    def grid(self) -> Grid:
        """When the runs are saved."""
        given = self.varied.given
        steps = whole_steps(given["duration"], given.get("dt", 1e-3))
        return Grid(given.get("dt", 1e-3), int(given.get("save_every", 1)), steps)

    def run(self, index: int, rows: Rows) -> Chunk:
        """The chunk of this number, computed; runs that fail are flagged with a reason."""
        return _packed(index, *self._run(rows))

    def _run(self, rows: Rows) -> tuple[xarray.Dataset | None, np.ndarray, dict[int, str]]:
        """(what is kept, status, reasons); a batch that is refused is split until it is known why."""
        try:
            run = self.trajectories(rows)
        except REFUSALS as error:
            count = len(next(iter(rows.values())))
            if count == 1:
                return None, np.array([REFUSED], np.int8), {0: str(error)}
            halves = (slice(count // 2), slice(count // 2, count))
            return _joined(*(self._run({k: x[half] for k, x in rows.items()}) for half in halves))
        status, reasons = _diverged(run)
        kept = reduced(run, self.reduce)
        # of a motion that diverged its beginning is true, a number made of all of it is not
        return _emptied(kept, status != OK) if self.reduce and reasons else kept, status, reasons

    def trajectories(self, rows: Rows) -> xarray.Dataset:
        """These runs, as `simulate` gives a batch, NaN where all have ended early."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)  # each run says so by its status
            made = self.varied.inputs(rows)
            if "control_dt" in made:  # a digital law may remember: every chunk has one of its own
                made["tau"] = copy.deepcopy(made.get("tau"))
            run = simulate(self.varied.system, **made, progress=False)
        if run.attrs["status"] == "interrupted":
            raise KeyboardInterrupt
        if run.sizes["time"] == self.grid.saves:
            return run
        return run.reindex(time=[self.grid.time(k) for k in range(self.grid.saves)])


@dataclass(frozen=True, eq=False)
class Study:
    """The runs of a design, `size` of them in a chunk."""

    work: Work
    design: Design
    size: int

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.design.runs // self.size)

    def rows(self, index: int) -> np.ndarray:
        """Numbers of the runs of a chunk."""
        first = index * self.size
        return np.arange(first, min(first + self.size, self.design.runs))

    def identity(self) -> dict[str, Any]:
        """What decides every number of it, as text that is the same in another process."""
        varied = self.work.varied
        given, system, law = varied.given, varied.system, varied.law
        asked = {k: v for k, v in given.items() if k not in ("q0", "qd0", "tau", "parameters")}
        return {
            "format": FORMAT,
            "dalembert": __version__,
            "system": system.name,
            "model": system.dynamics.content,
            "runs": self.design.runs,
            "design": {name: digest(column) for name, column in self.design.columns.items()},
            "start": {k: _start(given[k]) for k in ("q0", "qd0") if given.get(k) is not None},
            "parameters": _said(given.get("parameters")),
            "tau": _said(given.get("tau")) if law is None else _law(system, law),
            "gains": {} if law is None else {k: digest(v) for k, v in law.constants.items()},
            "simulate": {k: _said(v) for k, v in sorted(asked.items())},
            "reduce": {name: function_digest(how) for name, how in self.work.reduce.items()},
            "chunk": self.size,
        }

    def piece(self, index: int) -> tuple[int, dict[str, np.ndarray]]:
        """What is computed of a chunk: its number, and its rows of the design."""
        return index, self.design.rows(self.rows(index))


def _start(value: Any) -> str:
    """A first state with its precision, which is that of the runs."""
    return f"{np.asarray(value).dtype} {digest(value)}"


def _law(system: System, law: Any) -> str:
    """What a law computes, whatever its constants are."""
    return f"{type(law).__name__} {law_digest(law, system.nq, system.nv, system.dynamics.rows)}"


def _said(value: Any) -> Any:
    """A keyword of `simulate` as text: short values as they are, others by a digest."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return function_digest(value)


def _diverged(run: xarray.Dataset) -> tuple[np.ndarray, dict[int, str]]:
    """Status of every sample, and when it was last finite and within all bounds."""
    size = np.maximum(*(np.abs(x.values).max(axis=-1) for x in (run.q, run.qd)))  # (time, sample)
    with np.errstate(invalid="ignore"):
        fine = size <= FAR * np.maximum(size[0], 1.0)
    lost = ~fine[-1]
    reasons = {}
    for k in np.flatnonzero(lost).tolist():
        last = int(fine[:, k].nonzero()[0].max(initial=0))
        t = float(run.time[last])
        reasons[k] = f"not finite or beyond all bounds after t = {t:g} s; take a smaller dt"
    return np.where(lost, DIVERGED, OK).astype(np.int8), reasons


def unknown(dtype: Any) -> Any:
    """What stands where nothing is known: NaN, −1 of whole numbers, otherwise 0."""
    kind = np.dtype(dtype).kind
    return np.dtype(dtype).type(np.nan if kind in "fc" else -1 if kind == "i" else 0)


def _emptied(kept: xarray.Dataset, lost: np.ndarray) -> xarray.Dataset:
    """The same with nothing known of the runs that were lost (samples,)."""
    import xarray

    fine = xarray.DataArray(~lost, dims="sample")
    return kept.assign({k: x.where(fine, unknown(x.dtype)) for k, x in kept.data_vars.items()})


def _joined(first: Any, second: Any) -> Any:
    """Two halves of a chunk as one; of a half without results the entries are NaN."""
    import xarray

    (a, s, r), (b, t, u) = first, second
    reasons = {**r, **{k + len(s): text for k, text in u.items()}}
    known = a if a is not None else b
    if known is None:
        return None, np.concatenate([s, t]), reasons
    parts = [
        x if x is not None else _emptied(known.isel(sample=[0] * len(n)), n != OK)
        for x, n in ((a, s), (b, t))
    ]
    plain = [x.drop_vars("sample", errors="ignore") for x in parts]
    return xarray.concat(plain, "sample"), np.concatenate([s, t]), reasons


def _packed(
    index: int, found: xarray.Dataset | None, status: np.ndarray, reasons: dict[int, str]
) -> Chunk:
    if found is None:
        return Chunk(index, {}, status, reasons)
    arrays, variables = {}, {}
    coordinates: dict[str, list[Any]] = {}
    for name, value in found.data_vars.items():
        value = value.transpose("sample", ...)
        dims = tuple(map(str, value.dims[1:]))
        array = np.ascontiguousarray(value.values)
        arrays[str(name)] = array
        kept = Variable(dims, array.shape[1:], array.dtype.str, dict(value.attrs))
        variables[str(name)] = kept
        coordinates |= {d: value.indexes[d].tolist() for d in dims if d in value.indexes}
    return Chunk(index, arrays, status, reasons, variables, coordinates)
