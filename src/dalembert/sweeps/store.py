"""Stores for the chunks of a study: in memory, or in a Zarr folder that can be continued.

A chunk is written region by region, whole chunks of Zarr each, and its manifest last (`checksums`): one
that was cut short counts as missing. A new store is written under another name, then renamed. The last
studies of this process are remembered, so that their results can be continued.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, SimulationError
from dalembert.files import atomic_folder, remove_abandoned, require_regular, write_files
from dalembert.simulation.results import zarr_files
from dalembert.sweeps.checksums import FIRST, FOLDER, ChecksumManifest, chunk_name, file_checksums
from dalembert.sweeps.study import MEANINGS, Chunk, Study, missing_value

if TYPE_CHECKING:
    import xarray

STATUS = "status"
OLD = "chunk_done"  # a folder of stores without checksums, of older versions
RECENT = 8  # studies of this process that results can be continued with
FLAGS = {"long_name": "how the run ended", "flag_values": [0, 1, 2], "flag_meanings": MEANINGS}


class Memory:
    """Chunks in arrays of this process."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.arrays: dict[str, np.ndarray] = {}
        self.status = np.full(study.design.runs, -1, np.int8)
        self.reasons: dict[int, str] = {}
        self.labels: dict[str, list[Any]] = {}
        self.first: Mapping[Any, xarray.DataArray] = {}

    def missing(self) -> list[int]:
        """Numbers of the chunks that are not done."""
        return [k for k in range(self.study.chunks) if self.status[k * self.study.size] < 0]

    def begin(self, first: Chunk) -> None:
        """Allocate the variables that a first chunk has."""
        self.labels, self.first = _labels(first.results), first.results.data_vars
        for name, x in first.arrays.items():
            shape = self.study.design.runs, *x.shape[1:]
            self.arrays[name] = np.full(shape, missing_value(x.dtype), x.dtype)

    def write(self, chunk: Chunk) -> None:
        """Store a chunk."""
        rows = self.study.rows(chunk.index)
        _require_fit(chunk, self.labels, self.arrays)
        for name, array in chunk.arrays.items():
            self.arrays[name][rows] = array
        self.status[rows] = chunk.status
        self.reasons |= {int(rows[k]): text for k, text in chunk.reasons.items()}

    def dataset(self) -> xarray.Dataset:
        """The whole study."""
        import xarray

        variables: dict[Any, Any] = {
            name: (("run", *x.dims[1:]), self.arrays[name], x.attrs)
            for name, x in self.first.items()
        }
        variables[STATUS] = (("run",), self.status, FLAGS)
        coords = {**_design(self.study), **self.labels}
        result = xarray.Dataset(variables, coords, _attributes(self.study))
        return with_reasons(result, self.reasons)


class Zarr:
    """Chunks in a folder; one that holds another study is refused."""

    def __init__(self, study: Study, path: str | os.PathLike[str]) -> None:
        _zarr()
        self.study, self.path = study, Path(path)
        self._group: Any = None
        if self.path.exists():
            self._open()

    def _open(self) -> None:
        try:
            self._manifest = ChecksumManifest(self.path, _study_text(self.path))
            differs = difference(json.loads(self._manifest.study), self.study)
        except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise SimulationError(
                f"{str(self.path)!r} is no store of a sweep ({error}); name another"
            ) from None
        if (self.path / OLD).exists():
            raise SimulationError(
                f"{str(self.path)!r}: an older version made it, without checksums; it is read by "
                "xarray.open_zarr and by dalembert report, but cannot be continued: name another store"
            )
        if differs:
            raise SimulationError(
                f"{str(self.path)!r} holds another study: {differs}; name another store"
            )
        with _disk_errors(self.path, "read"):
            _ = self._manifest.first
            self._group = _zarr().open_group(self.path, mode="r+")

    @cached_property
    def labels(self) -> dict[str, list[Any]]:
        """Names of the entries of every dimension in the store."""
        return _labels(self.dataset())

    def missing(self) -> list[int]:
        """Numbers of the chunks that are not done."""
        if self._group is None:
            return list(range(self.study.chunks))
        with _disk_errors(self.path, "read"):
            return [k for k in range(self.study.chunks) if not self._manifest.is_complete(k)]

    def begin(self, first: Chunk) -> None:
        """Create the store with the variables of a first chunk, unless it exists."""
        if self._group is not None:
            return
        import xarray

        coords = {**_design(self.study), **_labels(first.results)}
        arrays = {**first.results.data_vars, STATUS: xarray.DataArray(first.status, attrs=FLAGS)}
        order = json.dumps([*coords, *arrays])
        labels = xarray.Dataset({}, coords, _attributes(self.study) | {"order": order})
        rows, size = self.study.design.runs, self.study.size

        def allocate(group: Any) -> None:
            """Add the arrays, whose chunks are those of the study."""
            for name, x in arrays.items():
                group.create_array(
                    name,
                    shape=(rows, *x.shape[1:]),
                    chunks=(min(size, rows), *(max(1, n) for n in x.shape[1:])),
                    dtype=x.dtype,
                    fill_value=missing_value(x.dtype),
                    attributes={**x.attrs, "_ARRAY_DIMENSIONS": ["run", *x.dims[1:]]},
                )

        files = zarr_files(labels, allocate, consolidated=False)
        with _disk_errors(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_folder(self.path) as part:
                write_files(part, files)
                manifest = ChecksumManifest(part, identity_text(self.study))
                manifest.write(FIRST, file_checksums(files))
        self._open()

    def write(self, chunk: Chunk) -> None:
        """Store a chunk: its arrays, and last its manifest, which marks it as done."""
        rows, files = self.study.rows(chunk.index), {}
        own = slice(int(rows[0]), int(rows[-1]) + 1)
        reasons = {int(rows[k]): text for k, text in chunk.reasons.items()}
        with _disk_errors(self.path, "written"):
            _require_fit(chunk, self.labels, self._group)
            for name, array in {**chunk.arrays, STATUS: chunk.status}.items():
                # left by processes that were killed
                remove_abandoned((self.path / name).glob(f"{chunk.index}.*.partial"))
                self._group[name][own] = array
                # whole along all but the first dimension; no file where all is the fill value
                parts = [str(chunk.index), *["0"] * (self._group[name].ndim - 1)]
                file = self.path / name / ".".join(parts)
                if file.is_file():
                    files[file.relative_to(self.path).as_posix()] = file.read_bytes()
            self._manifest.write(chunk_name(chunk.index), file_checksums(files), reasons)

    def dataset(self) -> xarray.Dataset:
        """The whole study, opened lazily."""
        with _disk_errors(self.path, "read"):
            return opened(self.path)


def _study_text(path: Path) -> str:
    """The identity of the study in a store."""
    return str(json.loads((path / ".zattrs").read_bytes())["study"])


@contextmanager
def _disk_errors(path: Path, what: str) -> Iterator[None]:
    """Errors of the disk as a `SimulationError` with a remedy."""
    try:
        yield
    except OSError as error:
        remedy = "what is done is in it, and the same call goes on from there"
        if not path.exists():
            remedy = "nothing is kept yet; make room there, or name another store"
        message = f"{str(path)!r} cannot be {what}: {error.strerror or error}; {remedy}"
        raise SimulationError(message) from error


def opened(path: Path) -> xarray.Dataset:
    """The dataset of a store, read and checked lazily."""
    import xarray

    options: dict[str, Any] = {"engine": "zarr", "consolidated": False, "mask_and_scale": False}
    source: Any = path
    if (path / OLD / ".zarray").is_file() and not (path / FOLDER / f"{FIRST}.json").exists():
        reasons: dict[int, str] = {}  # of an older version, without checksums
        for file in sorted((path / STATUS).glob("reasons-*.json")):
            reasons |= {int(k): text for k, text in json.loads(file.read_text()).items()}
    else:
        _zarr()
        from dalembert.sweeps.checked_store import CheckedStore

        manifest = ChecksumManifest(path, _study_text(path))
        _ = manifest.first  # a missing array would not be noticed later
        source, reasons = CheckedStore(path, manifest=manifest), manifest.reasons()
    try:
        result = xarray.open_dataset(source, chunks={}, **options)
    except (ImportError, ValueError):  # without dask
        result = xarray.open_dataset(source, **options)
    order = json.loads(result.attrs.pop("order"))
    names = [name for name in order if name in result.data_vars]
    return with_reasons(result[names], reasons)


def with_reasons(result: xarray.Dataset, reasons: dict[int, str]) -> xarray.Dataset:
    """The dataset with a text for every run that failed, along the dimension "failure"."""
    numbers = sorted(reasons)
    return result.assign(
        failed_run=("failure", np.array(numbers, dtype=int)),
        reason=("failure", np.array([reasons[k] for k in numbers], dtype=object)),
    )


def _design(study: Study) -> dict[str, Any]:
    """The values of every run, as coordinates along "run"."""
    coords: dict[str, Any] = {"run": np.arange(study.design.runs)}
    for name, column in study.design.columns.items():
        dims = [f"{name}_{k}" for k in range(1, column.ndim)]
        coords[name] = (["run", *dims], column)
    return coords


def _attributes(study: Study) -> dict[str, str]:
    return {
        "system": study.work.varied.system.name,
        "design": study.design.kind,
        "study": identity_text(study),
    }


def identity_text(study: Study) -> str:
    """The identity of a study in the attributes of its results."""
    return json.dumps(study.identity())


def difference(identity: Any, study: Study) -> str:
    """A message with the first difference of a stored identity from the study's, or ""."""
    if not isinstance(identity, dict):
        raise ValueError("what it says of its study is no table")
    for key, mine in json.loads(identity_text(study)).items():
        if identity.get(key) != mine:
            return f"{key} was {identity.get(key)!r}, now {mine!r}"
    return ""


def _labels(results: xarray.Dataset) -> dict[str, list[Any]]:
    """Names of the entries of every dimension of a result that has names."""
    dims = {dim for x in results.data_vars.values() for dim in x.dims}
    return {str(name): x.tolist() for name, x in results.indexes.items() if name in dims}


def _require_fit(chunk: Chunk, known: Mapping[str, list[Any]], arrays: Any) -> None:
    """An error unless a chunk has the names and the kinds of arrays of the first runs."""
    for dim, names in _labels(chunk.results).items():
        if names != known.get(dim, names):
            raise SettingError(
                f"a reduction names the entries of {dim!r} {known[dim]} for the first runs, {names} "
                "for later ones; they must be the same for all"
            )
    for name, array in chunk.arrays.items():
        kind = arrays[name]
        if array.shape[1:] != kind.shape[1:] or not np.can_cast(array.dtype, kind.dtype):
            raise SettingError(
                f"the reduction {name!r} gave {kind.dtype}{kind.shape[1:]} for each of the first "
                f"runs, {array.dtype}{array.shape[1:]} for later ones; it must be the same for all"
            )


_recent: OrderedDict[str, Study] = OrderedDict()


def remember(study: Study) -> None:
    """Store the study by the identity in its results."""
    _recent[identity_text(study)] = study
    while len(_recent) > RECENT:
        _recent.popitem(last=False)


def study_of(result: xarray.Dataset) -> Study | None:
    """The study of a result that was computed or continued in this process, else None."""
    return _recent.get(str(result.attrs.get("study")))


def require_same(study: Study, result: xarray.Dataset) -> None:
    """An error with the difference unless the result is of this study."""
    if differs := difference(json.loads(str(result.attrs["study"])), study):
        raise SimulationError(f"the store holds another study: {differs}")


def is_study(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is the store of a sweep."""
    try:
        file = Path(path) / ".zattrs"
        require_regular(file)
        attributes = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(attributes, dict) and {"study", "order"} <= set(attributes)


def open_study(path: str | os.PathLike[str]) -> xarray.Dataset:
    """The dataset of a sweep's store, lazily; runs that are not done have the status −1."""
    try:
        result = opened(Path(path))
        if not isinstance(json.loads(result.attrs["study"]), dict):
            raise ValueError("what it says of its study is no table")
        if result[STATUS].dims != ("run",):
            raise ValueError("its status is not one number for each run")
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise SimulationError(f"{str(path)!r} cannot be read as a study: {error}") from None
    return result


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise SimulationError(
            "store=: pip install 'dask[distributed]' zarr (the extra [sweep])"
        ) from error
    return zarr
