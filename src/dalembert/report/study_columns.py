"""A study as columns of numbers: what varied and what came out, for the runs that are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ParameterError

if TYPE_CHECKING:
    import xarray

DRAWN = 2000  # runs on a page
MOST = 24  # columns that varied, and as many that came out
SEED = 0
OTHERS = ("run", "status", "failed_run", "reason")


@dataclass(frozen=True)
class Column:
    """One number of every run."""

    name: str
    entry: str  # of a vector, "" for a single number
    unit: str
    varied: bool  # by the design; else it came out
    values: np.ndarray  # (runs,)


def columns(found: xarray.Dataset) -> tuple[list[Column], list[str]]:
    """The columns of all runs, and the names of those that are too many to be drawn.

    Of trajectories their last instant is taken; what came out of a run that failed is NaN.
    """
    made: list[Column] = []
    failed = np.asarray(found["status"].values) != 0
    varied = [name for name in found.coords if _is_column(found, name)]
    came = [name for name in found.data_vars if _is_column(found, name)]
    left = []
    for names, is_varied in ((varied, True), (came, False)):
        several = [c for name in names for c in _of_variable(found[name], is_varied, failed)]
        made += several[:MOST]
        left += [f"{c.name} {c.entry}".strip() for c in several[MOST:]]
    if not any(c.varied for c in made):
        raise ParameterError("the study has no columns of numbers over its runs to be drawn")
    return made, left


def _is_column(found: xarray.Dataset, name: Any) -> bool:
    field = found[name]
    return name not in OTHERS and field.dims[:1] == ("run",) and field.dtype.kind in "fiub"


def _of_variable(field: xarray.DataArray, varied: bool, failed: np.ndarray) -> Iterable[Column]:
    name = str(field.name)
    if "time" in field.dims:
        field, name = field.isel(time=-1), f"last {name}"
    inner = field.dims[1:]
    values = np.asarray(field.values, dtype=float).reshape(field.sizes["run"], -1)
    if not varied:
        values = np.where(failed[:, None], np.nan, values)
    labels = [str(k + 1) for k in range(values.shape[1])]
    if not inner:
        labels = [""]
    elif len(inner) == 1 and inner[0] in field.coords:
        labels = [str(x).removesuffix("_joint") for x in field[inner[0]].values]
    units = str(field.attrs.get("units", "")).split(", ")
    units = units if len(units) == len(labels) else [""] * len(labels)
    for label, unit, column in zip(labels, units, values.T, strict=True):
        yield Column(name, label, "" if unit == "1" else unit, varied, column)


def extremes(made: Iterable[Column]) -> list[int]:
    """Runs at which a column that came out is least or largest, in the order of the columns."""
    found: list[int] = []
    for column in made:
        fine = np.flatnonzero(np.isfinite(column.values))
        if not column.varied and fine.size:
            ends = (column.values[fine].argmin(), column.values[fine].argmax())
            found += [int(fine[k]) for k in ends]
    return list(dict.fromkeys(found))


def chosen(numbers: np.ndarray, most: int, first: Iterable[int] = ()) -> np.ndarray:
    """At most `most` of these run numbers, sorted: those in `first`, then others spread evenly.

    One is taken at random from each of equal stretches: a fixed stride could meet a grid's own
    period and see only some of its values.

    >>> chosen(np.arange(10), 20).tolist() == list(range(10))
    True
    >>> len(chosen(np.arange(10**6), 100, first=[7, 12]))
    100
    """
    if len(numbers) <= most:
        return np.sort(numbers)
    wanted = np.array(list(dict.fromkeys(first)), int)
    kept = wanted[np.isin(wanted, numbers)][:most]
    others = np.setdiff1d(numbers, kept)
    edges = np.linspace(0, len(others), most - len(kept) + 1).round().astype(int)
    places = np.random.default_rng(SEED).integers(edges[:-1], np.maximum(edges[1:], edges[:-1] + 1))
    return np.sort(np.concatenate([kept, others[places]]))
