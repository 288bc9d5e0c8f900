"""Fuzz targets for logs: tables of every kind with something wrong in them, as files and as arrays."""

from __future__ import annotations

import io
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.identification.preparation import prepare

NAMES = ("time", "t", "q1", "q2", "q[0]", "q[1]", "tau1", "tau2", "tau_J_1", "qd1", "dq_2", "", " ")
NAMES += ("link1_joint", "link2_joint", "link1_joint [deg]", "tau_link2_joint", "q_d_1", "x" * 3000)
NAMES += ("position_0", "a\x1b[2J", "{}", "*", "q{}", "time [ms]", "current_1", "9" * 40, "q٣")
NUMBERS = (np.nan, np.inf, -np.inf, 1e99, -1e308, 0.0, 1e-320, 1.7e18, -1.0)
KINDS = ("csv", "parquet", "npz", "npy", "nc", "mapping")
OPTIONS: dict[str, tuple[Any, ...]] = {
    "degrees": (True,),
    "dt": (0.01, 0.0, np.nan),
    "lowpass": (3.0, 1e9, -1.0),
    "columns": ({"q": "q*"}, {"tau": "tau_{}"}, {"q1": "link1_joint"}, {"q": 3}, ["time", "q1"]),
    "others": ("ignore", "refuse", "x"),
    "units": ({"q": "deg"}, {"tau": "mA"}, {"time": "ms"}, {"q": 0.0}, {"x": "m"}),
    "gear": (50.0, [1.0, 2.0], np.eye(2), 0.0, "x", {"a": 1}),
    "torque_constant": (0.1, np.inf, [1, 2, 3]),
    "gaps": ("repair", "refuse"),
    "start": (0.2, 1e9, np.nan),
    "stop": (0.8, -1.0),
    "rate": (50.0, 1e12, 0.0, 500.0),
}


@cache
def arm() -> Any:
    return dl.load("planar_2r")


def case(rng: np.random.Generator) -> tuple[str, Any, dict[str, Any]]:
    """(kind, bytes of a file or a mapping, options of `read_log`)."""
    names, values = _table(rng)
    kind = str(rng.choice(KINDS))
    data: Any = dict(zip(names, values.T, strict=True)) if kind == "mapping" else None
    if data is None:
        data = _bytes(kind, names, values)
        # bytes that are not what was written; HDF5 itself may never return from such a file
        if kind != "nc" and rng.random() < 0.4:
            data = bytearray(data)
            for _ in range(int(rng.integers(1, 6))):
                data[int(rng.integers(len(data)))] = int(rng.integers(256))
            data = bytes(
                data[: int(rng.integers(1, len(data) + 1))] if rng.random() < 0.3 else data
            )
    chosen = [name for name in OPTIONS if rng.random() < 0.08]
    options = {name: OPTIONS[name][int(rng.integers(len(OPTIONS[name])))] for name in chosen}
    return kind, data, options


def outcome(case: tuple[str, Any, dict[str, Any]]) -> str:
    """Accepted only with finite numbers at times that increase; so must be the record of them."""
    kind, data, options = case
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        source = data
        if kind != "mapping":
            source = Path(folder) / f"log.{kind}"
            source.write_bytes(data)
        log = dl.read_log(source, arm(), **options)
        if not all(np.isfinite(log[x]).all() for x in ("q", "qd", "qdd")):
            return "accepted what is not finite"
        if not (np.diff(log.time) > 0.0).all():
            return "accepted times that do not increase"
        try:
            records = prepare(arm(), log)
        except DalembertError:
            return "accepted"
        sound = all(np.isfinite(x).all() for r in records for x in (r.t, r.q, r.qd, r.qdd, r.tau))
        return "accepted" if sound else "a record is not finite"


def _table(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """A motion with torques in which something may be missing, repeated, swapped or huge."""
    t = np.arange(int(rng.choice([3, 40, 300]))) * 0.01
    q = np.column_stack([np.sin(3.0 * t), 0.5 * np.cos(2.0 * t)])
    values = np.column_stack([t, np.round(q, 4), q])
    names = ["time", "q1", "q2", "tau1", "tau2"]
    if rng.random() < 0.3:
        values[rng.random(values.shape) < 0.05] = np.nan
    if rng.random() < 0.3:
        values[int(rng.integers(len(t))), int(rng.integers(5))] = rng.choice(NUMBERS)
    if rng.random() < 0.3:
        values = values[np.sort(rng.integers(0, len(t), len(t)))]
    if rng.random() < 0.1:
        values = values[rng.permutation(len(values))]
    if rng.random() < 0.3:
        names[int(rng.integers(5))] = str(rng.choice(NAMES))
    if rng.random() < 0.1:
        values[:, 0] *= rng.choice([0.0, 1e-300, 1e9, -1.0])
    return names, values


def _bytes(kind: str, names: list[str], values: np.ndarray) -> bytes:
    file = io.BytesIO()
    if kind == "csv":
        rows = "\n".join(",".join("" if np.isnan(x) else repr(float(x)) for x in v) for v in values)
        return f"{','.join(names)}\n{rows}\n".encode()
    if kind == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(list(values.T), names=names), file)
    elif kind == "npy":
        np.save(file, values)
    elif kind == "npz":
        np.savez(file, time=values[:, 0], q=values[:, 1:3], tau=values[:, 3:])
    else:
        import xarray

        fields = {
            "q": (("time", "joint"), values[:, 1:3]),
            "tau": (("time", "joint"), values[:, 3:]),
        }
        data = xarray.Dataset(fields, {"time": values[:, 0]})
        with tempfile.TemporaryDirectory() as folder:
            data.to_netcdf(Path(folder) / "a.nc", engine="h5netcdf")
            return (Path(folder) / "a.nc").read_bytes()
    return file.getvalue()
