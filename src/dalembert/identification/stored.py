"""A fit as one file with all it was made from, so that it can be made again: no code, no pickle.

The file is NumPy's ``.npz``: arrays of the logs and of the numbers found, and one text in JSON with
the prior's model, the settings and the versions.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, IdentificationError, SettingError
from dalembert.files import require_regular, whole
from dalembert.identification import shapes as kinds_of_shapes
from dalembert.identification.record import Record
from dalembert.model.frozen import Frozen
from dalembert.simulation.provenance import carried, system_of
from dalembert.systems.system import System
from dalembert.text import visible
from dalembert.version import __version__

if TYPE_CHECKING:
    from dalembert.identification.fit import Fit

FORMAT = "dalembert fit 1"
MAX_BYTES = 4 * 2**30  # of all arrays in a file
SHAPES = ("WithinBox", "WithinEllipsoid")


@dataclass(frozen=True, eq=False)
class Inputs(Frozen):
    """What `identify` was given: logs as Datasets or Records, and its keywords; copies of all."""

    logs: tuple[Any, ...]
    held_out: tuple[Any, ...] | float | None
    given: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Copy the logs too: a caller who goes on with theirs does not change the fit."""
        super().__post_init__()
        object.__setattr__(self, "logs", tuple(map(_own, self.logs)))
        if isinstance(self.held_out, tuple):
            object.__setattr__(self, "held_out", tuple(map(_own, self.held_out)))


def _own(log: Any) -> Any:
    """A read-only copy of a Dataset; a Record is one already."""
    if isinstance(log, Record):
        return log
    made = log.copy(deep=True)
    for field in made.data_vars.values():
        if isinstance(field.data, np.ndarray):
            field.data.flags.writeable = False
    return made


def save(fit: Fit, path: str | PathLike[str]) -> Path:
    """Write the fit's inputs and numbers, whole or not at all; the name must end in .npz."""
    where = Path(path)
    if where.suffix != ".npz":
        raise SettingError(f"{where}: the name of a stored fit must end in .npz")
    if fit.inputs is None:
        raise IdentificationError("this fit does not know its log: make it by dl.identify")
    arrays: dict[str, np.ndarray] = {}
    held = fit.inputs.held_out
    facts: dict[str, Any] = {
        "format": FORMAT,
        "versions": {"dalembert": __version__, "numpy": np.__version__},
        "system": {"system": fit.prior.name, **carried(fit.prior, None)},
        "given": {k: _plain(v) for k, v in fit.inputs.given.items()},
        "logs": [_stored(x, f"log{k}", arrays) for k, x in enumerate(fit.inputs.logs)],
        "held_out": [_stored(x, f"held{k}", arrays) for k, x in enumerate(held)]
        if isinstance(held, tuple)
        else held,
        "models": list(fit.values),
    }
    arrays |= {f"values/{name}": x for name, x in fit.values.items()}
    arrays["beta"], arrays["covariance"] = fit.estimate.beta, fit.estimate.covariance
    arrays["facts"] = np.array(json.dumps(facts))
    try:
        with whole(where) as part, part.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # arrays by name
    except OSError as error:
        raise IdentificationError(f"{where} cannot be written: {error.strerror}") from None
    return where


def load(
    path: str | PathLike[str], system: System | None = None
) -> tuple[System, list[Any], dict[str, Any], np.ndarray]:
    """(prior, logs, keywords of `identify`, base parameters β) of a file by `save`.

    `system` is the prior of a closed chain, which the file does not have.
    """
    where = Path(path)
    arrays, facts = _opened(where)
    try:
        return *_inputs(arrays, facts, system), arrays.get("beta", np.zeros(0))
    except DalembertError as error:
        raise IdentificationError(f"{where}: {error}") from None
    except Exception as error:  # a damaged file ends in any class of json, numpy and xarray
        raise damaged(where, error) from None


def _inputs(
    arrays: Mapping[str, np.ndarray], facts: Any, system: System | None
) -> tuple[System, list[Any], dict[str, Any]]:
    import xarray

    prior = system_of(xarray.Dataset(attrs=facts["system"]), system)
    logs = [_restored(x, f"log{k}", arrays) for k, x in enumerate(facts["logs"])]
    given = dict(facts["given"])
    given["shapes"] = _shapes(given.get("shapes"))
    held = facts["held_out"]
    if isinstance(held, list):
        held = [_restored(x, f"held{k}", arrays) for k, x in enumerate(held)]
    return prior, logs, {**given, "held_out": held}


def _stored(log: Any, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Facts of a log, whose arrays are put among the others."""
    if isinstance(log, Record):
        kept = {f.name: getattr(log, f.name) for f in fields(Record)}
        own = {k: np.asarray(v) for k, v in kept.items() if k != "said" and v is not None}
        arrays.update({f"{name}/{k}": v for k, v in own.items()})
        return {"kind": "record", "said": list(log.said), "arrays": list(own)}
    found = {}
    for key, field in log.variables.items():
        value = np.asarray(field.values)
        arrays[f"{name}/{key}"] = value.astype(str) if value.dtype.kind in "OU" else value
        found[str(key)] = {"dims": list(field.dims), "coordinate": key in log.coords}
    said = {str(k): v for k, v in log.attrs.items() if isinstance(v, str | int | float | bool)}
    return {"kind": "dataset", "fields": found, "attributes": said}


def _restored(facts: Mapping[str, Any], name: str, arrays: Mapping[str, np.ndarray]) -> Any:
    if facts["kind"] == "record":
        own: dict[str, Any] = {str(k): arrays[f"{name}/{k}"] for k in facts["arrays"]}
        own["cutoff"] = float(own["cutoff"])
        return Record(**own, said=tuple(map(str, facts["said"])))
    import xarray

    parts: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    for key, field in facts["fields"].items():
        parts[bool(field["coordinate"])][key] = (tuple(field["dims"]), arrays[f"{name}/{key}"])
    return xarray.Dataset(parts[False], parts[True], facts["attributes"])


def _plain(value: Any) -> Any:
    """For JSON; shapes by their class and fields."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if type(value).__name__ in SHAPES:
        own = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {"class": type(value).__name__, **own}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _shapes(stored: Any) -> dict[str, Any] | None:
    if stored is None:
        return None
    made = {}
    for link, facts in stored.items():
        own = dict(facts)
        kind = own.pop("class")
        if kind not in SHAPES:
            raise IdentificationError(f"a shape of the class {visible(kind)[:40]!r} is not known")
        made[str(link)] = getattr(kinds_of_shapes, kind)(**own)
    return made


def _opened(where: Path) -> tuple[dict[str, np.ndarray], Any]:
    """(arrays, facts) of a file that somebody else may have written."""
    try:
        require_regular(where)
        with zipfile.ZipFile(where) as file:
            size = sum(entry.file_size for entry in file.infolist())
        if size > MAX_BYTES:
            raise IdentificationError(f"{where} holds {size / 2**30:.0f} GB; the limit is 4 GB")
        with np.load(where, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(str(arrays.pop("facts")))
        if facts["format"] != FORMAT:
            raise ValueError(f"its format is {facts['format']!r}, not {FORMAT!r}")
    except IdentificationError:
        raise
    except Exception as error:  # any class of zipfile, zlib, numpy and json
        raise damaged(where, error) from None
    return arrays, facts


def damaged(where: Path, error: Exception) -> IdentificationError:
    """The error of a file that is no stored fit."""
    if isinstance(error, FileNotFoundError):
        return IdentificationError(f"there is no file {where}")
    said = getattr(error, "strerror", None) or error
    reason: Sequence[str] = visible(said)[:200] or type(error).__name__
    return IdentificationError(f"{where} cannot be read as a fit: {reason}")
