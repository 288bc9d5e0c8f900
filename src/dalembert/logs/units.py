"""Units of columns: in brackets behind a name, stated by the caller, written in a file, or SI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite, pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.text import short

if TYPE_CHECKING:
    import xarray

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
DENOMINATORS = {"q": "", "qd": "/s", "qdd": "/s2"}
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


class Units(NamedTuple):
    """Units stated by the caller; a unit in brackets behind a column's name has precedence."""

    degrees: bool = False  # angles without a unit are in degrees
    stated: Mapping[str, str | float] = {}  # quantity → unit, or factor to SI
    currents: bool = False  # torques are motor currents

    def factor(
        self, quantity: str, kind: str, unit: str | None, label: str, file_unit: str | None = None
    ) -> float:
        """Factor from a column's numbers to SI.

        Parameters
        ----------
        quantity : {"time", "q", "qd", "qdd", "tau"}
        kind : str
            Kind of the coordinate, "angle" or "length" for example.
        unit : str or None
            Unit in brackets behind the column's name.
        label : str
            Name of the column in errors.
        file_unit : str or None
            Unit that the file stores for the column; used where the caller states none.
        """
        where, stated = f"column {label!r}", unit or self.stated.get(quantity, file_unit)
        if unit is None and quantity in self.stated:
            where = f"units[{quantity!r}]"
        if stated is None:
            in_degrees = self.degrees and kind == "angle" and quantity in DENOMINATORS
            return pi / 180.0 if in_degrees else 1.0
        if not isinstance(stated, str):
            try:
                factor = float(stated)
            except (TypeError, ValueError):
                factor = float("nan")
            if not isfinite(factor) or factor == 0.0:
                raise SettingError(f"{where} is {short(stated)}: a unit, or a factor to SI")
            return factor
        # without dots and blanks, in its usual spelling: "degrees / sec^2" is "deg/s2"
        parts = re.sub(r"[\s·*^.]", "", stated).replace("²", "2").split("/")
        spelling = "/".join(ALIASES.get(part, part) for part in parts)
        if quantity == "time":
            known = SECONDS
        elif quantity == "tau":
            known = CURRENTS if self.currents else EFFORTS.get(kind, {"1": 1.0})
        else:
            known = {x + DENOMINATORS[quantity]: f for x, f in UNITS.get(kind, {"1": 1.0}).items()}
            if quantity == "qd" and kind == "angle":
                known["rpm"] = pi / 30.0
        if spelling not in known:
            raise TrajectoryError(f"{where}: unit {spelling!r} is none of {', '.join(known)}")
        return known[spelling]


SI = Units()


def field_units(field: xarray.DataArray) -> list[str | None]:
    """Unit of each column of an xarray field by its attribute `units`; None where it has none.

    The attribute has one unit for all columns, or one for each, "rad, rad, m". Of a time
    "ms since 2020-01-01" is "ms".
    """
    count = field.shape[1] if field.ndim > 1 else 1
    units = [x.strip() for x in str(field.attrs.get("units", "")).split(" since ")[0].split(",")]
    if len(units) not in (1, count):
        raise TrajectoryError(
            f"{field.name!r} has {count} columns, and its attribute units has {len(units)}: "
            f"{short(field.attrs['units'])}"
        )
    return [x or None for x in (units if len(units) == count else units * count)]


def to_si(log: xarray.Dataset, kinds: Mapping[str, Mapping[str, str]]) -> xarray.Dataset:
    """The log with times and quantities in SI units, converted by their attributes `units`.

    `kinds` maps each quantity to the kinds of its columns, by their names in order. Fields whose
    columns have other names are returned as they are.
    """
    converted = {}
    for name, own in {"time": {"time": "time"}, **kinds}.items():
        if name not in log or log[name].dtype.kind not in "fiu":
            continue
        field, units = log[name], field_units(log[name])
        labels = list(own)
        if field.ndim > 1 and field.dims[1] in log.coords:
            labels = list(map(str, log[field.dims[1]].values))
        if len(units) != len(labels) or not set(labels) <= set(own):
            continue
        pairs = zip(labels, units, strict=True)
        factors = np.array([SI.factor(name, own[x], unit, f"{name} {x}") for x, unit in pairs])
        if (factors != 1.0).any():
            values = field.values * (factors if field.ndim > 1 else factors[0])
            converted[name] = field.dims, values
    time = {"time": converted.pop("time")} if "time" in converted else {}
    return log.assign_coords(time).assign(converted)
