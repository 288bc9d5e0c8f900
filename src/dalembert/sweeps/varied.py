"""Where the values of a design go: parameters, first states, torques, controls, gains of a law."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.simulation.setup import is_single
from dalembert.systems.system import System
from dalembert.travel import Portable

VECTORS = ("q0", "qd0", "tau", "controls")
TABLES = ("parameters", "gains")


@dataclass(frozen=True, eq=False)
class Place(Portable):
    """What one name of a design stands for: an input of `simulate`, and an entry of it or all."""

    role: str
    entry: str | None


@dataclass(frozen=True, eq=False)
class Varied(Portable):
    """The inputs of `simulate` for runs that differ in the named values."""

    system: System
    given: Mapping[str, Any]  # keywords of `simulate`
    names: tuple[str, ...]

    @property
    def law(self) -> Any:
        """The controller, None where there is none."""
        tau = self.given.get("tau")
        return tau if hasattr(tau, "law") else None

    def _precision(self, rows: Mapping[str, np.ndarray]) -> type:
        """That of the first states, given or varied as a whole, in which the runs are made."""
        q0, qd0 = (rows.get(name, self.given.get(name)) for name in ("q0", "qd0"))
        return np.float32 if is_single((q0, qd0)) else np.float64

    @cached_property
    def places(self) -> dict[str, Place]:
        """Where every name goes; a name that the study does not have is an error."""
        places = {name: self._place(name) for name in self.names}
        for (a, x), (b, y) in combinations(places.items(), 2):
            if x.role == y.role and (x.entry == y.entry or None in (x.entry, y.entry)):
                raise SettingError(
                    f"over= varies the same thing as {a!r} and as {b!r}; name it once"
                )
        return places

    def _place(self, name: str) -> Place:
        head, _, rest = name.partition(".")
        known = {
            "parameters": tuple(self.system.named_parameters),
            "gains": tuple(self.law.constants) if self.law is not None else (),
        }
        if head in VECTORS:
            return Place(head, rest or None)
        if head in TABLES and rest in known[head]:
            return Place(head, rest)
        found = [role for role, names in known.items() if name in names]
        if len(found) > 1:
            raise UnknownNameError(
                f"{name!r} is a parameter of {self.system.name} and a constant of the law; write "
                f"'parameters.{name}' or 'gains.{name}'"
            )
        if found:
            return Place(found[0], name)
        every = [*known["parameters"], *known["gains"], *VECTORS]
        raise UnknownNameError(
            f"over={{{name!r}: …}}: {self.system.name} has no such parameter, nor its law such a "
            f"constant{suggest(name, every)}"
        )

    def inputs(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Keywords of `simulate` for these rows of the design, all as batches."""
        count = len(next(iter(rows.values())))
        made = dict(self.given)
        roles = {place.role for place in self.places.values()}
        for role in ("q0", *({"qd0"} & {*roles, *self.given})):
            made[role] = self._vector(role, rows, count).astype(self._precision(rows))
        for role in roles & {"tau", "controls"}:
            made[role] = self._vector(role, rows, count)
        if "parameters" in roles:
            made["parameters"] = self._parameters(rows, count)
        if "gains" in roles:
            made["tau"] = self._with_gains(rows, count)
        return made

    def _own(self, role: str, rows: Mapping[str, np.ndarray]) -> dict[str | None, np.ndarray]:
        return {p.entry: rows[name] for name, p in self.places.items() if p.role == role}

    def _entries(self, role: str) -> tuple[str, ...]:
        names = {
            "q0": self.system.coordinates,
            "controls": self.system.actuators,
        }
        return tuple(names.get(role, self.system.dynamics.velocities))

    def _vector(self, role: str, rows: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        """(count, n) of a first state, torques or controls; single entries may vary by name."""
        names, own = self._entries(role), self._own(role, rows)
        plain = self.system.neutral() if role == "q0" else np.zeros(len(names))
        given = self.given.get(role)
        if own and (callable(given) or hasattr(given, "law") or isinstance(given, Mapping)):
            raise SettingError(
                f"over= varies {role}, but simulate= gives it as {type(given).__name__}"
            )
        base = np.asarray(own.pop(None, plain if given is None else given), dtype=float)
        each = base.shape[1:] if len(base) == count and base.ndim > 1 else base.shape
        if each != (len(names),):
            raise ShapeError(
                f"{role} of {self.system.name} has the shape {each}, expected ({len(names)},) "
                "for each run"
            )
        found = np.array(np.broadcast_to(base, (count, len(names))))
        for entry, values in own.items():
            if entry not in names:
                raise UnknownNameError(
                    f"over={{'{role}.{entry}': …}}: there is no such entry"
                    f"{suggest(str(entry), list(names))}"
                )
            found[:, names.index(str(entry))] = _numbers(f"{role}.{entry}", values)
        return found

    def _parameters(self, rows: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        """(count, n_parameters)."""
        names, own = tuple(self.system.named_parameters), self._own("parameters", rows)
        base = self.given.get("parameters")
        if base is not None and not isinstance(base, Mapping):
            raise SettingError("parameters that do not vary are given by name, {'load': 1.0}")
        placeholders = {str(name): 0.0 for name in own}
        vector = self.system.dynamics.parameter_values({**dict(base or {}), **placeholders})
        found = np.array(np.broadcast_to(vector, (count, len(names))))
        for name, values in own.items():
            found[:, names.index(str(name))] = _numbers(str(name), values)
        return found

    def require_possible(self, columns: Mapping[str, np.ndarray]) -> None:
        """An error that names the run whose parameters no system can have."""
        if any(place.role == "parameters" for place in self.places.values()):
            count = len(next(iter(columns.values())))
            self.system.dynamics.possible_values(self._parameters(columns, count))

    def _with_gains(self, rows: Mapping[str, np.ndarray], count: int) -> Any:
        """The law with a row of constants (count, c) for every run."""
        own, parts = self._own("gains", rows), []
        for name, constant in self.law.constants.items():
            shape = np.shape(constant)
            value = own.get(name, np.broadcast_to(constant, (count, *shape)))
            if value.shape[1:] not in ((), shape):
                raise ShapeError(
                    f"over={{{name!r}: …}}: each value has the shape {value.shape[1:]}; the law's "
                    f"constant has {shape}"
                )
            each = value.reshape(count, *[1] * (len(shape) - value.ndim + 1), *value.shape[1:])
            parts.append(np.broadcast_to(each, (count, *shape)).reshape(count, -1))
        law = copy.copy(self.law)
        object.__setattr__(law, "lanes", np.concatenate(parts, axis=1))
        object.__setattr__(law, "varied_from", self.law)
        return law


def _numbers(name: str, values: np.ndarray) -> np.ndarray:
    """One number (count,) for each run."""
    if values.ndim != 1:
        raise ShapeError(
            f"over={{{name!r}: …}}: each value has the shape {values.shape[1:]}, expected a number"
        )
    return values
