"""A fit as one file with its inputs, so that it can be repeated: no code, no pickle.

The file is NumPy's ``.npz``: arrays of the logs and of the results, and one text in JSON with the
prior's model, the options and the versions.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, IdentificationError, SettingError
from dalembert.files import atomic_file, require_regular
from dalembert.identification.preparation import Log
from dalembert.identification.pseudo_inertia import Shape, WithinBox, WithinEllipsoid
from dalembert.identification.record import Record
from dalembert.model.frozen import Frozen
from dalembert.simulation.provenance import model_attributes, system_of
from dalembert.systems.system import System
from dalembert.text import visible
from dalembert.version import __version__

if TYPE_CHECKING:
    from dalembert.identification.result import Fit

FORMAT = "dalembert fit 1"
MAX_BYTES = 4 * 2**30  # of all arrays in a file
SHAPES: Mapping[str, type[Shape]] = {c.__name__: c for c in (WithinBox, WithinEllipsoid)}
Facts = dict[str, Any]  # values of JSON


@dataclass(frozen=True, eq=False)
class Inputs(Frozen):
    """Arguments of `identify`: logs as Datasets or Records, and its options; copies of all."""

    logs: tuple[Log, ...]
    held_out: tuple[Log, ...] | float | None
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Copy the logs too, so that the caller may change theirs."""
        super().__post_init__()
        object.__setattr__(self, "logs", tuple(map(_read_only_copy, self.logs)))
        if isinstance(self.held_out, tuple):
            object.__setattr__(self, "held_out", tuple(map(_read_only_copy, self.held_out)))


def _read_only_copy(log: Log) -> Log:
    if isinstance(log, Record):  # read-only already
        return log
    copy = log.copy(deep=True)
    for field in copy.data_vars.values():
        if isinstance(field.data, np.ndarray):
            field.data.flags.writeable = False
    return copy


def save(fit: Fit, path: str | PathLike[str]) -> Path:
    """Write the fit's inputs and results, whole or not at all; the name must end in .npz."""
    path = Path(path)
    if path.suffix != ".npz":
        raise SettingError(f"{path}: the name of a stored fit must end in .npz")
    if fit.inputs is None:
        raise IdentificationError("this fit does not know its log: make it by dl.identify")
    arrays: dict[str, np.ndarray] = {}
    held_out: Any = fit.inputs.held_out
    if isinstance(held_out, tuple):
        held_out = [_store_log(x, f"held{k}", arrays) for k, x in enumerate(held_out)]
    facts: Facts = {
        "format": FORMAT,
        "versions": {"dalembert": __version__, "numpy": np.__version__},
        "system": {"system": fit.prior.name, **model_attributes(fit.prior, None)},
        "given": {k: _to_json(v) for k, v in fit.inputs.options.items()},
        "logs": [_store_log(x, f"log{k}", arrays) for k, x in enumerate(fit.inputs.logs)],
        "held_out": held_out,
        "models": list(fit.values),
    }
    arrays |= {f"values/{name}": x for name, x in fit.values.items()}
    arrays["beta"], arrays["covariance"] = fit.estimate.beta, fit.estimate.covariance
    arrays["facts"] = np.array(json.dumps(facts))
    try:
        with atomic_file(path) as part, part.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # arrays by name
    except OSError as error:
        raise IdentificationError(f"{path} cannot be written: {error.strerror}") from None
    return path


def load(
    path: Path, system: System | None = None
) -> tuple[System, list[Log], dict[str, Any], np.ndarray]:
    """(prior, logs, options of `identify`, base parameters β) of a file by `save`.

    `system` is the prior of a closed chain, which the file does not contain.
    """
    import xarray

    try:
        arrays, facts = _open(path)
        prior = system_of(xarray.Dataset(attrs=facts["system"]), system)
        logs = [_restore_log(x, f"log{k}", arrays) for k, x in enumerate(facts["logs"])]
        options, held_out = dict(facts["given"]), facts["held_out"]
        if "doubts" in options:  # of earlier versions
            options["on_inconsistent"] = "warn" if options.pop("doubts") == "warn" else "raise"
        for link, stored in (options.get("shapes") or {}).items():
            kind = stored.pop("class")
            if kind not in SHAPES:
                raise IdentificationError(f"the class {visible(kind)[:40]!r} is not known")
            options["shapes"][link] = SHAPES[kind](**stored)
        if isinstance(held_out, list):
            held_out = [_restore_log(x, f"held{k}", arrays) for k, x in enumerate(held_out)]
        return prior, logs, {**options, "held_out": held_out}, arrays.get("beta", np.zeros(0))
    except DalembertError as error:
        raise IdentificationError(f"{path}: {error}") from None
    except (
        Exception
    ) as error:  # damaged files raise any class of zipfile, zlib, json, numpy and xarray
        raise unreadable(path, error) from None


def _store_log(log: Log, name: str, arrays: dict[str, np.ndarray]) -> Facts:
    """Facts of a log, whose arrays are added to `arrays`."""
    if isinstance(log, Record):
        values = {f.name: getattr(log, f.name) for f in fields(Record)}
        own = {k: np.asarray(v) for k, v in values.items() if k != "notes" and v is not None}
        arrays.update({f"{name}/{k}": v for k, v in own.items()})
        return {"kind": "record", "said": list(log.notes), "arrays": list(own)}
    stored = {}
    for key, field in log.variables.items():
        value = np.asarray(field.values)
        arrays[f"{name}/{key}"] = value.astype(str) if value.dtype.kind in "OU" else value
        stored[str(key)] = {"dims": list(field.dims), "coordinate": key in log.coords}
    scalars = {str(k): v for k, v in log.attrs.items() if isinstance(v, str | int | float | bool)}
    return {"kind": "dataset", "fields": stored, "attributes": scalars}


def _restore_log(facts: Facts, name: str, arrays: Mapping[str, np.ndarray]) -> Log:
    if facts["kind"] == "record":
        own: dict[str, Any] = {str(k): arrays[f"{name}/{k}"] for k in facts["arrays"]}
        own["cutoff"] = float(own["cutoff"])
        return Record(**own, notes=tuple(map(str, facts["said"])))
    import xarray

    parts: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    for key, field in facts["fields"].items():
        parts[bool(field["coordinate"])][key] = (tuple(field["dims"]), arrays[f"{name}/{key}"])
    return xarray.Dataset(parts[False], parts[True], facts["attributes"])


def _to_json(value: Any) -> Any:
    """The value for JSON; shapes by their class and fields."""
    if isinstance(value, Mapping):
        return {str(k): _to_json(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, WithinBox | WithinEllipsoid):
        own = {f.name: _to_json(getattr(value, f.name)) for f in fields(value)}
        return {"class": type(value).__name__, **own}
    return [_to_json(v) for v in value] if isinstance(value, list | tuple) else value


def _open(path: Path) -> tuple[dict[str, np.ndarray], Facts]:
    """(arrays, facts) of an untrusted file."""
    require_regular(path)
    with zipfile.ZipFile(path) as file:
        size = sum(entry.file_size for entry in file.infolist())
    if size > MAX_BYTES:
        raise IdentificationError(f"it holds {size / 2**30:.0f} GB; the limit is 4 GB")
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(str(arrays.pop("facts")))
    if facts["format"] != FORMAT:
        raise ValueError(f"its format is {facts['format']!r}, not {FORMAT!r}")
    return arrays, facts


def unreadable(path: Path, error: Exception) -> IdentificationError:
    """The error about a file that is no stored fit."""
    if isinstance(error, FileNotFoundError):
        return IdentificationError(f"there is no file {path}")
    reason = visible(getattr(error, "strerror", None) or error)[:200] or type(error).__name__
    return IdentificationError(f"{path} cannot be read as a fit: {reason}")
