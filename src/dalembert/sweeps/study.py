"""A study: its runs in chunks, each one batch of `simulate`, and its identity."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import (
    ConstraintError,
    ConvergenceError,
    SimulationError,
    SingularMassMatrixError,
)
from dalembert.pickling import Portable
from dalembert.simulation import SimulationWarning, simulate
from dalembert.simulation.checkpoint import FAR
from dalembert.simulation.settings import Grid, whole_steps
from dalembert.sweeps.design import Design, Varied
from dalembert.sweeps.reductions import Reduction, reduced
from dalembert.systems.controller import controller_digest, digest, function_digest
from dalembert.version import __version__

if TYPE_CHECKING:
    import xarray

FORMAT = 2
OK, DIVERGED, REFUSED = 0, 1, 2
MEANINGS = "ok diverged refused"
Rows = Mapping[str, np.ndarray]  # values (runs, ...) of some rows of a design
Results = tuple["xarray.Dataset", np.ndarray, dict[int, str]]  # (sample, …), status, reasons
REFUSALS = (SimulationError, ConstraintError, ConvergenceError, SingularMassMatrixError)


@dataclass
class Chunk:
    """Results of some runs: a status for each, and reasons of failures by number."""

    index: int
    results: xarray.Dataset  # (sample, ...); empty where no run was possible
    status: np.ndarray
    reasons: dict[int, str]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Results (runs, ...) by name."""
        return {str(name): x.values for name, x in self.results.data_vars.items()}


@dataclass(frozen=True, eq=False)
class Work(Portable):
    """The computation of a chunk from rows of a design, as sent to workers."""

    varied: Varied
    reduce: Mapping[str, Reduction]

    @property
    def grid(self) -> Grid:
        """The saved times of the runs."""
        options = self.varied.fixed_inputs
        steps = whole_steps(options["duration"], options.get("dt", 1e-3))
        return Grid(options.get("dt", 1e-3), int(options.get("save_every", 1)), steps)

    def run(self, index: int, rows: Rows) -> Chunk:
        """The chunk of this number; runs that fail have a status and a reason."""
        results, status, reasons = self._run(rows)
        results = results.transpose("sample", ..., missing_dims="ignore")
        results.attrs.clear()
        return Chunk(index, results.drop_vars("sample", errors="ignore"), status, reasons)

    def _run(self, rows: Rows) -> Results:
        """Results of these rows; a batch that is refused is split until the run is found."""
        import xarray

        try:
            run = self.trajectories(rows)
        except REFUSALS as error:
            count = len(next(iter(rows.values())))
            if count == 1:
                return xarray.Dataset(), np.array([REFUSED], np.int8), {0: str(error)}
            halves = (slice(count // 2), slice(count // 2, count))
            first, second = (self._run({k: x[half] for k, x in rows.items()}) for half in halves)
            return _joined(first, second)
        # when every sample was last finite and within all bounds
        size = np.maximum(*(np.abs(run[x].values).max(axis=-1) for x in ("q", "qd")))
        with np.errstate(invalid="ignore"):
            fine = size <= FAR * np.maximum(size[0], 1.0)  # (time, sample)
        status = np.where(fine[-1], OK, DIVERGED).astype(np.int8)
        reasons = {}
        for k in np.flatnonzero(~fine[-1]).tolist():
            t = float(run.time[int(fine[:, k].nonzero()[0].max(initial=0))])
            reasons[k] = f"not finite or beyond all bounds after t = {t:g} s; take a smaller dt"
        result = reduced(run, self.reduce)
        if self.reduce and reasons:  # a reduction of a motion that diverged is wrong
            result = _without(result, status != OK)
        return result, status, reasons

    def trajectories(self, rows: Rows) -> xarray.Dataset:
        """These runs as a batch of `simulate`, NaN where all have ended early."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)  # in the status of each run
            options = self.varied.inputs(rows)
            if "control_dt" in options:  # a digital controller may have a memory: one per chunk
                options["tau"] = copy.deepcopy(options.get("tau"))
            run = simulate(self.varied.system, **options, progress=False)
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
        """Number of chunks."""
        return -(-self.design.runs // self.size)

    def rows(self, index: int) -> np.ndarray:
        """Numbers of the runs of a chunk."""
        first = index * self.size
        return np.arange(first, min(first + self.size, self.design.runs))

    def identity(self) -> dict[str, Any]:
        """Everything that decides the numbers, as text that is equal in other processes."""
        varied = self.work.varied
        options, system, controller = varied.fixed_inputs, varied.system, varied.controller
        separate = ("q0", "qd0", "tau", "parameters")
        others = {k: v for k, v in options.items() if k not in separate}
        start = {k: options[k] for k in ("q0", "qd0") if options.get(k) is not None}
        if controller is None:
            tau, gains = _text(options.get("tau")), {}
        else:
            sizes = (system.nq, system.nv, system.dynamics.rows)
            tau = f"{type(controller).__name__} {controller_digest(controller, *sizes)}"
            gains = {name: digest(value) for name, value in controller.constants.items()}
        return {
            "format": FORMAT,
            "dalembert": __version__,
            "system": system.name,
            "model": system.dynamics.content,
            "runs": self.design.runs,
            "design": {name: digest(column) for name, column in self.design.columns.items()},
            "start": {k: f"{np.asarray(x).dtype} {digest(x)}" for k, x in start.items()},
            "parameters": _text(options.get("parameters")),
            "tau": tau,
            "gains": gains,
            "simulate": {k: _text(v) for k, v in sorted(others.items())},
            "reduce": {name: function_digest(how) for name, how in self.work.reduce.items()},
            "chunk": self.size,
        }

    def piece(self, index: int) -> tuple[int, dict[str, np.ndarray]]:
        """(number, rows of the design) of a chunk."""
        return index, self.design.rows(self.rows(index))


def _text(value: Any) -> Any:
    """A keyword of `simulate`: short values unchanged, others as a digest."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return function_digest(value)


def missing_value(dtype: Any) -> Any:
    """The value of missing entries: NaN, −1 of integers, otherwise 0."""
    kind = np.dtype(dtype).kind
    return np.dtype(dtype).type(np.nan if kind in "fc" else -1 if kind == "i" else 0)


def _without(result: xarray.Dataset, lost: np.ndarray) -> xarray.Dataset:
    """The dataset with missing values for the runs that were lost (samples,)."""
    import xarray

    fine = xarray.DataArray(~lost, dims="sample")
    variables = {k: x.where(fine, missing_value(x.dtype)) for k, x in result.data_vars.items()}
    return result.assign(variables)


def _joined(first: Results, second: Results) -> Results:
    """Two halves of a chunk as one; a half without results has missing values."""
    import xarray

    (a, s, r), (b, t, u) = first, second
    reasons = {**r, **{k + len(s): text for k, text in u.items()}}
    known = a or b
    if not known:
        return known, np.concatenate([s, t]), reasons
    parts = [x or _without(known.isel(sample=[0] * len(n)), n != OK) for x, n in ((a, s), (b, t))]
    plain = [x.drop_vars("sample", errors="ignore") for x in parts]
    return xarray.concat(plain, "sample"), np.concatenate([s, t]), reasons
