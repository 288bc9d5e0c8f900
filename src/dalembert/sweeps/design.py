"""Designs: which values the runs of a study have, a grid, a list, or points spread over intervals."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from dalembert.errors import SettingError, UnknownNameError
from dalembert.formulations.registry import suggest

SPREAD = ("random", "sobol", "halton", "latin")
DESIGNS = ("grid", "list", *SPREAD)


@dataclass(frozen=True)
class Design:
    """The values of every run: columns (runs, ...) by name."""

    kind: str
    columns: Mapping[str, np.ndarray]

    @property
    def runs(self) -> int:
        """How many simulations there are."""
        return len(next(iter(self.columns.values())))

    def rows(self, chosen: Any) -> dict[str, np.ndarray]:
        """The columns of some of the runs."""
        return {name: column[chosen] for name, column in self.columns.items()}


def design(
    over: Mapping[str, Any], kind: str = "grid", runs: int | None = None, seed: int = 0
) -> Design:
    """The design over values by name.

    "grid" takes every combination of the values, the last name fastest; "list" takes them row by
    row. "random", "sobol", "halton" and "latin" take `runs` points of intervals (low, high), whose ends
    are numbers or arrays, or of distributions of SciPy; the same `seed` gives the same points.

    >>> made = design({"load": [0.0, 1.0], "kp": [10.0, 20.0, 30.0]})
    >>> made.runs, made.columns["kp"].tolist()
    (6, [10.0, 20.0, 30.0, 10.0, 20.0, 30.0])
    """
    if kind not in DESIGNS:
        raise UnknownNameError(f"there is no design {kind!r}{suggest(kind, list(DESIGNS))}")
    if not over:
        raise SettingError("over={} names nothing to vary; give values by name")
    if kind in SPREAD:
        return Design(kind, _spread(over, kind, runs, seed))
    if runs is not None:
        raise SettingError(
            f"runs= is for the designs {', '.join(SPREAD)}; a {kind} counts by itself"
        )
    values = {name: _values(name, given) for name, given in over.items()}
    lengths = {name: len(value) for name, value in values.items()}
    if kind == "list":
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise SettingError(f"a list needs equally many values of everything, not {said}")
        return Design(kind, values)
    places = np.unravel_index(np.arange(prod(lengths.values())), tuple(lengths.values()))
    columns = {n: v[k] for (n, v), k in zip(values.items(), places, strict=True)}
    return Design(kind, columns)


def _values(name: str, given: Any) -> np.ndarray:
    """Values (count, ...) of one name."""
    try:
        single = getattr(given, "dtype", None) == np.float32  # which q0 hands on to its runs
        value = np.atleast_1d(np.asarray(given, dtype=np.float32 if single else float))
    except (TypeError, ValueError):
        raise SettingError(f"over={{{name!r}: …}} must be numbers, not {given!r}") from None
    if not len(value) or not np.isfinite(value).all():
        raise SettingError(f"over={{{name!r}: …}} needs at least one value, and only finite ones")
    return value


def _spread(
    over: Mapping[str, Any], kind: str, runs: int | None, seed: int
) -> dict[str, np.ndarray]:
    """Points of the unit cube, stretched over the intervals."""
    if runs is None or int(runs) != runs or runs < 1:
        raise SettingError(
            f"the design {kind!r} needs runs=, a positive whole number, not {runs!r}"
        )
    ends = {name: _interval(name, given) for name, given in over.items()}
    sizes = {name: 1 if callable(e) else prod(e[0].shape) for name, e in ends.items()}
    points = _points(kind, sum(sizes.values()), int(runs), seed)
    columns, start = {}, 0
    for name, found in ends.items():
        part = points[:, start : start + sizes[name]]
        start += sizes[name]
        if callable(found):
            columns[name] = np.asarray(found(part[:, 0]), dtype=float)
        else:
            low, high = found
            columns[name] = low + (high - low) * part.reshape(len(part), *low.shape)
        if not np.isfinite(columns[name]).all():
            raise SettingError(f"over={{{name!r}: …}} gives values that are not finite")
    return columns


def _interval(name: str, given: Any) -> Any:
    """(low, high) as arrays of one shape, or a distribution's inverse."""
    if callable(getattr(given, "ppf", None)):
        return given.ppf
    try:
        low, high = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in given))
    except (TypeError, ValueError):
        raise SettingError(
            f"over={{{name!r}: …}} must be (low, high) or a distribution of scipy.stats here, "
            f"not {given!r}"
        ) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise SettingError(f"over={{{name!r}: …}}: both ends must be finite")
    return low, high


def _points(kind: str, dimensions: int, runs: int, seed: int) -> np.ndarray:
    """(runs, dimensions) in the unit cube."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        return rng.random((runs, dimensions))
    from scipy.stats import qmc

    makers = {"sobol": qmc.Sobol, "halton": qmc.Halton, "latin": qmc.LatinHypercube}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # of numbers of points that are no power of two
        return makers[kind](dimensions, seed=rng).random(runs)
