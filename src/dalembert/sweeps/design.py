"""Designs of a study: the values of its runs, and the inputs of `simulate` that they set."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.pickling import Portable
from dalembert.simulation.engine import is_single
from dalembert.systems.system import System
from dalembert.text import require_known, suggest

SPREAD = ("random", "sobol", "halton", "latin")
DESIGNS = ("grid", "list", *SPREAD)


@dataclass(frozen=True)
class Design:
    """The values of every run: columns (runs, ...) by name."""

    kind: str
    columns: Mapping[str, np.ndarray]

    @property
    def runs(self) -> int:
        """Number of simulations."""
        return len(next(iter(self.columns.values())))

    def rows(self, runs: slice | Sequence[int] | np.ndarray) -> dict[str, np.ndarray]:
        """The columns of some of the runs."""
        return {name: column[runs] for name, column in self.columns.items()}


def design(
    over: Mapping[str, Any], kind: str = "grid", runs: int | None = None, seed: int = 0
) -> Design:
    """The design over values by name.

    "grid" takes every combination of the values, the last name fastest; "list" takes them row by
    row. "random", "sobol", "halton" and "latin" take `runs` points of intervals (low, high), whose ends
    are numbers or arrays, or of distributions of SciPy; the same `seed` gives the same points.

    >>> grid = design({"load": [0.0, 1.0], "kp": [10.0, 20.0, 30.0]})
    >>> grid.runs, grid.columns["kp"].tolist()
    (6, [10.0, 20.0, 30.0, 10.0, 20.0, 30.0])
    """
    require_known(kind, DESIGNS, "there is no design")
    if not over:
        raise SettingError("over={} names nothing to vary; give values by name")
    if kind in SPREAD:
        return Design(kind, _spread(over, kind, runs, seed))
    if runs is not None:
        raise SettingError(f"runs= is for {', '.join(SPREAD)}; a {kind} counts by itself")
    values = {name: _values(name, value) for name, value in over.items()}
    lengths = {name: len(value) for name, value in values.items()}
    if kind == "list":
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise SettingError(f"a list needs equally many values of everything, not {counts}")
        return Design(kind, values)
    indices = np.unravel_index(np.arange(prod(lengths.values())), tuple(lengths.values()))
    columns = {n: v[k] for (n, v), k in zip(values.items(), indices, strict=True)}
    return Design(kind, columns)


def _values(name: str, values: Any) -> np.ndarray:
    """Values (count, ...) of one name."""
    try:
        single = getattr(values, "dtype", None) == np.float32  # the precision of runs from such q0
        array = np.atleast_1d(np.asarray(values, dtype=np.float32 if single else float))
    except (TypeError, ValueError):
        raise SettingError(f"over={{{name!r}: …}} must be numbers, not {values!r}") from None
    if not len(array) or not np.isfinite(array).all():
        raise SettingError(f"over={{{name!r}: …}} needs at least one value, and only finite ones")
    return array


def _spread(
    over: Mapping[str, Any], kind: str, runs: int | None, seed: int
) -> dict[str, np.ndarray]:
    """Points of the unit cube, stretched over the intervals."""
    if runs is None or int(runs) != runs or runs < 1:
        raise SettingError(f"design={kind!r} needs runs=, a positive whole number, not {runs!r}")
    intervals = {name: _interval(name, value) for name, value in over.items()}
    sizes = {name: 1 if callable(e) else prod(e[0].shape) for name, e in intervals.items()}
    rng, dimensions = np.random.default_rng(seed), sum(sizes.values())
    if kind == "random":
        points = rng.random((int(runs), dimensions))
    else:
        from scipy.stats import qmc

        samplers = {"sobol": qmc.Sobol, "halton": qmc.Halton, "latin": qmc.LatinHypercube}
        with warnings.catch_warnings():  # about numbers of points that are no power of two
            warnings.simplefilter("ignore", UserWarning)
            points = np.asarray(samplers[kind](dimensions, seed=rng).random(int(runs)))
    columns, start = {}, 0
    for name, interval in intervals.items():
        part = points[:, start : start + sizes[name]]
        start += sizes[name]
        if callable(interval):
            columns[name] = np.asarray(interval(part[:, 0]), dtype=float)
        else:
            low, high = interval
            columns[name] = low + (high - low) * part.reshape(len(part), *low.shape)
        if not np.isfinite(columns[name]).all():
            raise SettingError(f"over={{{name!r}: …}} gives values that are not finite")
    return columns


def _interval(name: str, ends: Any) -> Any:
    """(low, high) as arrays of one shape, or the inverse of a distribution."""
    if callable(getattr(ends, "ppf", None)):
        return ends.ppf
    try:
        low, high = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in ends))
    except (TypeError, ValueError):
        raise SettingError(
            f"over={{{name!r}: …}} must be (low, high) or a SciPy distribution, not {ends!r}"
        ) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise SettingError(f"over={{{name!r}: …}}: both ends must be finite")
    return low, high


VECTORS = ("q0", "qd0", "tau", "controls")
TABLES = ("parameters", "gains")


class Target(NamedTuple):
    """The input of `simulate` that one name of a design sets: an entry of it, or all."""

    role: str
    entry: str | None


@dataclass(frozen=True, eq=False)
class Varied(Portable):
    """The inputs of `simulate` for runs that differ in the named values."""

    system: System
    fixed_inputs: Mapping[str, Any]  # keywords of `simulate`
    names: tuple[str, ...]

    @property
    def controller(self) -> Any:
        """The controller, None where there is none."""
        tau = self.fixed_inputs.get("tau")
        return tau if hasattr(tau, "command") else None

    @cached_property
    def targets(self) -> dict[str, Target]:
        """The input that every name sets; an error for unknown names."""
        targets = {name: self._target(name) for name in self.names}
        for (a, x), (b, y) in combinations(targets.items(), 2):
            if x.role == y.role and (x.entry == y.entry or None in (x.entry, y.entry)):
                raise SettingError(f"over= varies the same as {a!r} and as {b!r}; name it once")
        return targets

    def _target(self, name: str) -> Target:
        head, _, rest = name.partition(".")
        known = {
            "parameters": tuple(self.system.named_parameters),
            "gains": () if self.controller is None else tuple(self.controller.constants),
        }
        if head in VECTORS:
            return Target(head, rest or None)
        if head in TABLES and rest in known[head]:
            return Target(head, rest)
        roles = [role for role, names in known.items() if name in names]
        if len(roles) > 1:
            raise UnknownNameError(
                f"{name!r} is a parameter and a gain; write 'parameters.{name}' or 'gains.{name}'"
            )
        if roles:
            return Target(roles[0], name)
        names = [*known["parameters"], *known["gains"], *VECTORS]
        raise UnknownNameError(
            f"over={{{name!r}: …}}: {self.system.name} has no such parameter, nor its controller "
            f"such a constant{suggest(name, names)}"
        )

    def inputs(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Keywords of `simulate` for these rows of the design, all as batches."""
        count = len(next(iter(rows.values())))
        inputs = dict(self.fixed_inputs)
        roles = {target.role for target in self.targets.values()}
        # the precision of the runs is that of their first states
        start = tuple(rows.get(name, self.fixed_inputs.get(name)) for name in ("q0", "qd0"))
        dtype = np.float32 if is_single((start[0], start[1])) else np.float64
        for role in ("q0", *({"qd0"} & {*roles, *self.fixed_inputs})):
            inputs[role] = self._vector(role, rows, count).astype(dtype)
        for role in roles & {"tau", "controls"}:
            inputs[role] = self._vector(role, rows, count)
        if "parameters" in roles:
            inputs["parameters"] = self._parameters(rows, count)
        if "gains" in roles:
            inputs["tau"] = self._with_gains(rows, count)
        return inputs

    def _own(self, role: str, rows: Mapping[str, np.ndarray]) -> dict[str | None, np.ndarray]:
        targets = self.targets.items()
        return {target.entry: rows[name] for name, target in targets if target.role == role}

    def _vector(self, role: str, rows: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        """(count, n) of a first state, torques or controls; single entries may vary by name."""
        entries = {"q0": self.system.coordinates, "controls": self.system.actuators}
        names = tuple(entries.get(role, self.system.dynamics.velocities))
        own = self._own(role, rows)
        value = self.fixed_inputs.get(role)
        if own and (callable(value) or hasattr(value, "command") or isinstance(value, Mapping)):
            raise SettingError(
                f"over= varies {role}, but simulate= gives it as {type(value).__name__}"
            )
        if value is None:
            value = self.system.neutral() if role == "q0" else np.zeros(len(names))
        base = np.asarray(own.pop(None, value), dtype=float)
        each = base.shape[1:] if len(base) == count and base.ndim > 1 else base.shape
        if each != (len(names),):
            shape = f"the shape {each}, expected ({len(names)},) for each run"
            raise ShapeError(f"{role} of {self.system.name} has {shape}")
        vectors = np.array(np.broadcast_to(base, (count, len(names))))
        for entry, values in own.items():
            if entry not in names:
                raise UnknownNameError(
                    f"over= has no entry '{role}.{entry}'{suggest(str(entry), names)}"
                )
            vectors[:, names.index(str(entry))] = _numbers(f"{role}.{entry}", values)
        return vectors

    def _parameters(self, rows: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        """(count, n_parameters)."""
        names, own = tuple(self.system.named_parameters), self._own("parameters", rows)
        base = self.fixed_inputs.get("parameters")
        if base is not None and not isinstance(base, Mapping):
            raise SettingError("parameters that do not vary are given by name, {'load': 1.0}")
        placeholders = {str(name): 0.0 for name in own}
        vector = self.system.dynamics.parameter_values({**dict(base or {}), **placeholders})
        parameters = np.array(np.broadcast_to(vector, (count, len(names))))
        for name, values in own.items():
            parameters[:, names.index(str(name))] = _numbers(str(name), values)
        return parameters

    def require_valid(self, columns: Mapping[str, np.ndarray]) -> None:
        """An error that names the first run with impossible parameters."""
        if any(target.role == "parameters" for target in self.targets.values()):
            count = len(next(iter(columns.values())))
            self.system.dynamics.possible_values(self._parameters(columns, count))

    def _with_gains(self, rows: Mapping[str, np.ndarray], count: int) -> Any:
        """The controller with a row of constants (count, c) for every run."""
        own, parts = self._own("gains", rows), []
        for name, constant in self.controller.constants.items():
            shape = np.shape(constant)
            value = own.get(name, np.broadcast_to(constant, (count, *shape)))
            if value.shape[1:] not in ((), shape):
                raise ShapeError(
                    f"over={{{name!r}: …}}: values have the shape {value.shape[1:]}, the gain {shape}"
                )
            each = value.reshape(count, *[1] * (len(shape) - value.ndim + 1), *value.shape[1:])
            parts.append(np.broadcast_to(each, (count, *shape)).reshape(count, -1))
        controller = copy.copy(self.controller)
        object.__setattr__(controller, "lanes", np.concatenate(parts, axis=1))
        object.__setattr__(controller, "varied_from", self.controller)
        return controller


def _numbers(name: str, values: np.ndarray) -> np.ndarray:
    """One number (count,) for each run."""
    if values.ndim != 1:
        shape = values.shape[1:]
        raise ShapeError(f"over={{{name!r}: …}}: each has the shape {shape}, expected a number")
    return values
