"""Units of columns: in brackets behind a name, stated for a quantity, written in a file, or SI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite, pi
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.text import short, suggest

UNITS = {
    "angle": {
        **{"rad": 1.0, "deg": pi / 180.0, "°": pi / 180.0, "mrad": 1e-3},
        **{"rev": 2.0 * pi, "turn": 2.0 * pi},
    },
    "length": {"m": 1.0, "cm": 1e-2, "mm": 1e-3},
}
EFFORTS = {
    "angle": {"Nm": 1.0, "Nmm": 1e-3, "mNm": 1e-3, "kNm": 1e3},
    "length": {"N": 1.0, "kN": 1e3},
}
CURRENTS = {"A": 1.0, "mA": 1e-3}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
PER = {"q": "", "qd": "s", "qdd": "s2"}  # what stands below the line of a unit
ALIASES = {
    **dict.fromkeys(("radian", "radians", "rads"), "rad"),
    **dict.fromkeys(("degree", "degrees"), "deg"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("usec", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("sec2", "ss"), "s2"),
    **dict.fromkeys(("NM", "nm"), "Nm"),
}
STATED = ("time", "q", "qd", "qdd", "tau")


class Units(NamedTuple):
    """What the caller says of units; a unit in brackets behind a column's name comes first."""

    degrees: bool = False  # angles without a unit are in degrees
    stated: Mapping[str, Any] = {}  # quantity → unit, or a factor
    currents: bool = False  # torques are currents of motors

    def factor(
        self, quantity: str, kind: str, unit: str | None, text: str, written: str | None = None
    ) -> float:
        """By what a column's numbers are multiplied; `text` is the column in errors.

        `written` is the unit that the file has for the column, where the caller states none.
        """
        if unit is None and quantity not in self.stated:
            unit = written
        if unit is None and quantity in self.stated:
            own = self.stated[quantity]
            if not isinstance(own, str):
                return _number(quantity, own)
            unit, text = own, f"units[{quantity!r}]"
        elif unit is None:
            turned = self.degrees and kind == "angle" and quantity in PER
            return pi / 180.0 if turned else 1.0
        plain = _spelled(unit)
        known = self._known(quantity, kind)
        if plain not in known:
            where = text if text.startswith("units[") else f"column {text!r}"
            raise TrajectoryError(f"{where}: unit {plain!r} is none of {', '.join(known)}")
        return known[plain]

    def _known(self, quantity: str, kind: str) -> Mapping[str, float]:
        if quantity == "time":
            return SECONDS
        if quantity == "tau":
            return CURRENTS if self.currents else EFFORTS.get(kind, {"1": 1.0})
        below, known = PER[quantity], UNITS.get(kind, {"1": 1.0})
        found = {f"{u}/{below}" if below else u: x for u, x in known.items()}
        return found | ({"rpm": pi / 30.0} if quantity == "qd" and kind == "angle" else {})


SI = Units()


def units_of(degrees: bool, stated: Mapping[str, Any] | None, currents: bool) -> Units:
    """The caller's units; a quantity that there is not is an error."""
    for quantity in stated or {}:
        if quantity not in STATED:
            raise SettingError(f"units: no quantity {quantity!r}{suggest(quantity, STATED)}")
    return Units(degrees, dict(stated or {}), currents)


def written_units(field: Any) -> list[str | None]:
    """The unit of each column of an xarray field by its attribute `units`, None where it has none.

    One for all, or one for each, as "rad, rad, m". Of a time "ms since 2020-01-01" is "ms".
    """
    count = field.shape[1] if field.ndim > 1 else 1
    units = [x.strip() for x in str(field.attrs.get("units", "")).split(" since ")[0].split(",")]
    if len(units) not in (1, count):
        raise TrajectoryError(
            f"{field.name!r} has {count} columns, and its attribute units has {len(units)}: "
            f"{short(field.attrs['units'])}"
        )
    return [x or None for x in (units if len(units) == count else units * count)]


def in_si(log: Any, kinds: Mapping[str, Mapping[str, str]]) -> Any:
    """A Dataset whose times and quantities are in SI units, from those in their attributes.

    `kinds` maps each quantity to the kinds of its columns, by their names in order.
    """
    made = {}
    for name, own in {"time": {"time": "time"}, **kinds}.items():
        if name not in log or log[name].dtype.kind not in "fiu":
            continue
        field, units = log[name], written_units(log[name])
        labels = list(own)
        if field.ndim > 1 and field.dims[1] in log.coords:
            labels = list(map(str, log[field.dims[1]].values))
        if len(units) != len(labels) or not set(labels) <= set(own):
            continue  # of another system, which is said where it is read
        pairs = zip(labels, units, strict=True)
        factors = np.array([SI.factor(name, own[x], unit, f"{name} {x}") for x, unit in pairs])
        if (factors != 1.0).any():
            made[name] = field.dims, field.values * (factors if field.ndim > 1 else factors[0])
    time = {"time": made.pop("time")} if "time" in made else {}
    return log.assign_coords(time).assign(made)


def split_unit(text: str) -> tuple[str, str | None]:
    """(name, unit in brackets behind it); a number in brackets is part of the name.

    >>> split_unit("elbow [deg]"), split_unit("position[0]")
    (('elbow', 'deg'), ('position[0]', None))
    """
    found = re.fullmatch(r"(.+?)\s*[\[(]([^\[\]()]*[^\d\s\[\]()][^\[\]()]*)[\])]\s*", text)
    return (text, None) if found is None else (found[1], found[2])


def _spelled(unit: str) -> str:
    """A unit without dots and blanks, and by its usual letters.

    >>> _spelled("degrees / sec^2"), _spelled("N·m"), _spelled("N.m")
    ('deg/s2', 'Nm', 'Nm')
    """
    parts = re.sub(r"[\s·*^.]", "", unit).replace("²", "2").split("/")
    return "/".join(ALIASES.get(part, part) for part in parts)


def _number(quantity: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number) or number == 0.0:
        raise SettingError(f"units[{quantity!r}] is {short(value)}: a unit, or a factor to SI")
    return number
