"""Where the chunks of a study are kept: in memory, or in a Zarr store that can be gone on with.

A chunk is written region by region, whole chunks of Zarr each, and listed as done last (`seals`): one
that was cut short counts as missing. The store is made under another name, then moved into its place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, SimulationError
from dalembert.files import fill, remove_abandoned, whole_folder
from dalembert.simulation.zarr_files import zarr_files
from dalembert.sweeps.seals import FIRST, FOLDER, Seals, listed, name_of
from dalembert.sweeps.study import MEANINGS, Chunk, Study, Variable, unknown

if TYPE_CHECKING:
    import xarray

STATUS = "status"
OLD = "chunk_done"  # the mark of stores without lists, of older versions
FLAGS = {"long_name": "how the run ended", "flag_values": [0, 1, 2], "flag_meanings": MEANINGS}


class Memory:
    """Chunks in arrays of this process."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.arrays: dict[str, np.ndarray] = {}
        self.status = np.full(study.design.runs, -1, np.int8)
        self.reasons: dict[int, str] = {}
        self.known: Chunk | None = None

    def missing(self) -> list[int]:
        """Numbers of the chunks that are not done."""
        return [k for k in range(self.study.chunks) if self.status[k * self.study.size] < 0]

    def begin(self, known: Chunk) -> None:
        """Make room for what a first chunk shows to be kept of every run."""
        self.known, runs = known, self.study.design.runs
        for name, kind in known.variables.items():
            self.arrays[name] = _empty((runs, *kind.shape), kind.dtype)

    def write(self, chunk: Chunk) -> None:
        """Keep a chunk."""
        rows = self.study.rows(chunk.index)
        _require_labels(chunk, self.known.coordinates if self.known else {})
        for name, array in chunk.arrays.items():
            self.arrays[name][rows] = _alike(name, array, self.arrays[name])
        self.status[rows] = chunk.status
        self.reasons |= {int(rows[k]): text for k, text in chunk.reasons.items()}

    def dataset(self) -> xarray.Dataset:
        """All of it."""
        import xarray

        kinds = self.known.variables if self.known else {}
        kept = {
            name: (("run", *kind.dims), self.arrays[name], dict(kind.attributes))
            for name, kind in kinds.items()
        }
        kept[STATUS] = (("run",), self.status, FLAGS)
        coords = {**_design(self.study), **(self.known.coordinates if self.known else {})}
        found = xarray.Dataset(kept, coords, _attributes(self.study))
        return with_reasons(found, self.reasons)


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
            self._seals = Seals(self.path, _study_text(self.path))
            differs = difference(json.loads(self._seals.study), self.study)
        except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise SimulationError(
                f"{str(self.path)!r} is there, but is no store of a sweep ({error}); name another"
            ) from None
        if (self.path / OLD).exists():
            raise SimulationError(
                f"{str(self.path)!r}: an older version made it, without checksums; it is read by "
                "xarray.open_zarr and by dalembert report, not gone on with: name another store"
            )
        if differs:
            raise SimulationError(
                f"{str(self.path)!r} holds another study: {differs}; name another store, or delete it"
            )
        with _said(self.path, "read"):
            _ = self._seals.first
            self._group = _zarr().open_group(self.path, mode="r+")

    @cached_property
    def _labels(self) -> dict[str, list[Any]]:
        """Names of the entries of every dimension, as the store has them."""
        found = self.dataset()
        return {str(name): index.tolist() for name, index in found.indexes.items()}

    def missing(self) -> list[int]:
        """Numbers of the chunks that are not done."""
        if self._group is None:
            return list(range(self.study.chunks))
        with _said(self.path, "read"):
            return [k for k in range(self.study.chunks) if self._seals.chunk(k) is None]

    def begin(self, known: Chunk) -> None:
        """Make the store, as a first chunk shows what is kept; nothing where there is one."""
        if self._group is not None:
            return
        import xarray

        coords = {**_design(self.study), **known.coordinates}
        order = json.dumps([*coords, *known.variables, STATUS])
        labels = xarray.Dataset({}, coords, _attributes(self.study) | {"order": order})
        arrays = {**known.variables, STATUS: Variable((), (), "|i1", FLAGS)}
        files = zarr_files(labels, partial(self._create, arrays), consolidated=False)
        with _said(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with whole_folder(self.path) as part:
                fill(part, files)
                Seals(part, identity_text(self.study)).write(FIRST, listed(files))
        self._open()

    def _create(self, arrays: Mapping[str, Variable], group: Any) -> None:
        """Make room in a group, whole chunks of the study in each of Zarr's."""
        rows, size = self.study.design.runs, self.study.size
        for name, kind in arrays.items():
            group.create_array(
                name,
                shape=(rows, *kind.shape),
                chunks=(min(size, rows), *(max(1, n) for n in kind.shape)),
                dtype=kind.dtype,
                fill_value=unknown(kind.dtype),
                attributes={**kind.attributes, "_ARRAY_DIMENSIONS": ["run", *kind.dims]},
            )

    def write(self, chunk: Chunk) -> None:
        """Keep a chunk: its arrays, and last of all the list that says that it is done."""
        with _said(self.path, "written"):
            self._write(chunk)

    def _write(self, chunk: Chunk) -> None:
        rows = self.study.rows(chunk.index)
        own = slice(int(rows[0]), int(rows[-1]) + 1)
        _require_labels(chunk, self._labels)
        for name, array in {**chunk.arrays, STATUS: chunk.status}.items():
            remove_abandoned((self.path / name).glob(f"{chunk.index}.*.partial"))  # of the killed
            self._group[name][own] = _alike(name, array, self._group[name])
        places = (self._file(name, chunk.index) for name in (*chunk.arrays, STATUS))
        # Zarr writes no file for rows that all have the fill value
        found = {x.relative_to(self.path).as_posix(): x.read_bytes() for x in places if x.is_file()}
        written = listed(found)
        reasons = {int(rows[k]): text for k, text in chunk.reasons.items()}
        self._seals.write(name_of(chunk.index), written, reasons)

    def _file(self, name: str, index: int) -> Path:
        """Where Zarr keeps a chunk of an array, which is whole along all but the first dimension."""
        return self.path / name / ".".join([str(index), *["0"] * (self._group[name].ndim - 1)])

    def dataset(self) -> xarray.Dataset:
        """All of it, opened lazily."""
        with _said(self.path, "read"):
            return opened(self.path)


def _study_text(path: Path) -> str:
    """What a store says that it holds."""
    return str(json.loads((path / ".zattrs").read_bytes())["study"])


@contextmanager
def _said(path: Path, what: str) -> Iterator[None]:
    """A disk that refuses is an error of ours, which says how to go on."""
    try:
        yield
    except OSError as error:
        kept = "what is done is in it, and the same call goes on from there"
        if not path.exists():
            kept = "nothing is kept yet; make room there, or name another store"
        said = f"{str(path)!r} cannot be {what}: {error.strerror or error}; {kept}"
        raise SimulationError(said) from error


def opened(path: Path) -> xarray.Dataset:
    """What a store holds, read and checked when it is looked at."""
    import xarray

    options: dict[str, Any] = {"engine": "zarr", "consolidated": False, "mask_and_scale": False}
    source, reasons = _source(path)
    try:
        found = xarray.open_dataset(source, chunks={}, **options)
    except (ImportError, ValueError):  # without dask
        found = xarray.open_dataset(source, **options)
    order = json.loads(found.attrs.pop("order"))
    names = [name for name in order if name in found.data_vars]
    return with_reasons(found[names], reasons)


def _source(path: Path) -> tuple[Any, dict[int, str]]:
    """(what Zarr reads from, why runs failed); a store of an older version has no lists."""
    if (path / OLD / ".zarray").is_file() and not (path / FOLDER / f"{FIRST}.json").exists():
        told: dict[int, str] = {}
        for file in sorted((path / STATUS).glob("reasons-*.json")):
            told |= {int(k): text for k, text in json.loads(file.read_text()).items()}
        return path, told
    _zarr()
    from dalembert.sweeps.sealed import Sealed

    seals = Seals(path, _study_text(path))
    _ = seals.first  # what is lost as a whole would not be missed later
    return Sealed(path, seals=seals), seals.reasons()


def with_reasons(found: xarray.Dataset, reasons: dict[int, str]) -> xarray.Dataset:
    """The dataset with a text for every run that failed, along the dimension "failure"."""
    numbers = sorted(reasons)
    return found.assign(
        failed_run=("failure", np.array(numbers, dtype=int)),
        reason=("failure", np.array([reasons[k] for k in numbers], dtype=object)),
    )


def _design(study: Study) -> dict[str, Any]:
    """The values of every run, as coordinates along "run"."""
    found: dict[str, Any] = {"run": np.arange(study.design.runs)}
    for name, column in study.design.columns.items():
        dims = [f"{name}_{k}" for k in range(1, column.ndim)]
        found[name] = (["run", *dims], column)
    return found


def _attributes(study: Study) -> dict[str, str]:
    return {
        "system": study.work.varied.system.name,
        "design": study.design.kind,
        "study": identity_text(study),
    }


def identity_text(study: Study) -> str:
    """By what the results of a study are known."""
    return json.dumps(study.identity())


def difference(said: Any, study: Study) -> str:
    """What of a stored identity is not the study's, in words; nothing where all is."""
    if not isinstance(said, dict):
        raise ValueError("what it says of its study is no table")
    for key, mine in json.loads(identity_text(study)).items():
        if said.get(key) != mine:
            return f"{key} was {said.get(key)!r}, now {mine!r}"
    return ""


def _empty(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.full(shape, unknown(dtype), dtype)


def _alike(name: str, array: np.ndarray, kept: Any) -> np.ndarray:
    """Rows (n, ...) that fit the array in which they are kept."""
    if array.shape[1:] != kept.shape[1:] or not np.can_cast(array.dtype, kept.dtype):
        raise SettingError(
            f"the reduction {name!r} gave {kept.dtype}{kept.shape[1:]} for each of the first runs, "
            f"{array.dtype}{array.shape[1:]} for later ones; it must be the same for all"
        )
    return array


def _require_labels(chunk: Chunk, known: Mapping[str, list[Any]]) -> None:
    """The entries of a dimension have the names that those of the first runs have."""
    for dim, names in chunk.coordinates.items():
        if names != known.get(dim, names):
            raise SettingError(
                f"a reduction names the entries of {dim!r} {known[dim]} for the first runs, {names} "
                "for later ones; they must be the same for all"
            )


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise SimulationError(
            "store= needs zarr: pip install 'dask[distributed]' zarr (the extra [sweep])"
        ) from error
    return zarr
