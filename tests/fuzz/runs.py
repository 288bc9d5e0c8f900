"""Fuzz targets for stored runs: NetCDF files and Zarr folders, damaged in bytes or in meaning."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray

import dalembert as dl
from dalembert.model.serialization import model_from_text
from dalembert.report.runs import open_run, run_page
from tests.fuzz.mutate import delete_span, flip_byte, repeat_span, truncate
from tests.fuzz.names import name as hostile_name

WORD = re.compile(r'-?\d+\.?\d*(?:e-?\d+)?|"[^"]*"')
MODEL_WORDS = (
    *("0", "-1", "1", "7", "1e300", "NaN", "Infinity", '"x"', "null", "[]", "{}", "true", "[1,2]"),
    *('"Ball"', '"Free"', '"Screw"', '"array"', '"map"', '"slice"', '"Model"', '"base"', '"tool"'),
)
BLIND = (flip_byte, delete_span, repeat_span, truncate)


@dataclass(frozen=True)
class Damage:
    """How a run is stored, and what then happens to it."""

    form: str  # "scipy", "h5netcdf" or "zarr"
    kind: str  # "bytes" or "meaning"
    seed: int


def case(rng: np.random.Generator) -> Damage:
    """Half of the cases are damaged in their bytes, half hold something else than a run."""
    form = ("scipy", "h5netcdf", "zarr")[int(rng.integers(3))]
    kind = ("bytes", "meaning")[int(rng.integers(2))]
    return Damage(form, kind, int(rng.integers(2**31)))


def outcome(damage: Damage) -> str:
    """Open it and write its page."""
    rng = np.random.default_rng(damage.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("run.zarr" if damage.form == "zarr" else "run.nc")
        if damage.kind == "bytes":
            _copied(damage.form, path)
            for _ in range(int(rng.integers(1, 4))):
                _damage_bytes(path, rng)
        else:
            changed = original()
            for _ in range(int(rng.integers(1, 3))):
                changed = CHANGES[int(rng.integers(len(CHANGES)))](changed, rng)
            if not _stored(changed, damage.form, path):
                return "refused"
        run = open_run(path)
        text = run_page(run)
    return "accepted" if "</html>" in text else "accepted with half a page"


@cache
def original() -> xarray.Dataset:
    """A short run of a pendulum."""
    return dl.simulate(dl.load("pendulum"), [0.3], [0.0], duration=0.1, dt=0.02, method="rk4")


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    for form in ("scipy", "h5netcdf", "zarr"):
        _stored(original(), form, Path(folder.name) / form)
    return folder


def _copied(form: str, path: Path) -> None:
    source = Path(_home().name) / form
    if source.is_dir():
        shutil.copytree(source, path)
    else:
        shutil.copy(source, path)


def _stored(run: xarray.Dataset, form: str, path: Path) -> bool:
    """Whether xarray can write this at all."""
    try:
        if form == "zarr":
            run.to_zarr(path, zarr_format=2)
        else:
            run.to_netcdf(path, engine=form)
    except Exception:  # what cannot be stored never gets to the reader
        return False
    return True


def _damage_bytes(path: Path, rng: np.random.Generator) -> None:
    files = sorted(x for x in path.rglob("*") if x.is_file()) if path.is_dir() else [path]
    if not files:
        return
    file = files[int(rng.integers(len(files)))]
    if len(files) > 1 and rng.random() < 0.2:
        file.unlink()
        return
    data = file.read_bytes()
    if rng.random() < 0.2:
        data = rng.bytes(len(data))
    file.write_bytes(BLIND[int(rng.integers(len(BLIND)))](data, rng))


def _shape_changed(run: xarray.Dataset, rng: np.random.Generator) -> xarray.Dataset:
    name = str(rng.choice(["q", "qd", "tau", "kinetic"]))
    run = run.drop_vars(name, errors="ignore")
    size = tuple(int(n) for n in rng.integers(0, 4, size=int(rng.integers(0, 4))))
    return run.assign({name: ([f"{name}{k}" for k in range(len(size))], np.zeros(size))})


def _values_changed(run: xarray.Dataset, rng: np.random.Generator) -> xarray.Dataset:
    name = str(rng.choice(["q", "qd", "tau", "time"]))
    bad: list[Any] = [np.nan, np.inf, 1e300, -1.0, 0.0, "x", 2**62, True]
    if name not in run:
        return run
    values = np.full(run[name].shape, bad[int(rng.integers(len(bad)))])
    return run.assign({name: (run[name].dims, values)})


def _dropped(run: xarray.Dataset, rng: np.random.Generator) -> xarray.Dataset:
    names = [str(name) for name in run.variables]
    return run.drop_vars(names[int(rng.integers(len(names)))])


def _attribute(run: xarray.Dataset, rng: np.random.Generator) -> xarray.Dataset:
    key = str(rng.choice(["system", "model_digest", "status", "units"]))
    values = [hostile_name(rng), 3, [1.0, 2.0], "ur5", "/etc/passwd", "four_bar", "days since 2000"]
    value = values[int(rng.integers(len(values)))]
    if rng.random() < 0.3 and {"q", "time"} <= set(run.variables):
        changed = run.copy()
        changed["q"].attrs["units"] = value
        changed["time"].attrs["units"] = value
        return changed
    return run.assign_attrs({key: value})


def _named(run: xarray.Dataset, rng: np.random.Generator) -> xarray.Dataset:
    return run.assign_coords(joint=[hostile_name(rng)]) if "joint" in run.dims else run


def _cut(run: xarray.Dataset, rng: np.random.Generator) -> xarray.Dataset:
    if "time" not in run.dims:
        return run
    return run.isel(time=slice(0, int(rng.integers(3))))


def _model(run: xarray.Dataset, rng: np.random.Generator) -> xarray.Dataset:
    """Another model inside, with a digest that fits where one can be taken."""
    text = str(run.attrs.get("model", ""))
    for _ in range(int(rng.integers(1, 3))):
        matches = list(WORD.finditer(text))
        if matches:
            at = matches[int(rng.integers(len(matches)))]
            new = MODEL_WORDS[int(rng.integers(len(MODEL_WORDS)))]
            text = text[: at.start()] + new + text[at.end() :]
    try:
        content = model_from_text(text).content
    except Exception:  # the text is refused by the reader, or so strange that it has no digest
        content = ""
    return run.assign_attrs(model=text, model_content=content)


CHANGES = (_model, _model, _shape_changed, _values_changed, _dropped, _attribute, _named, _cut)
