"""Tables from every kind of source: text, Parquet, NumPy, xarray and netCDF, pandas, mappings.

Files are somebody else's: nothing in them is run (no pickles), and what is no table of numbers is an
error that names file and column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from dalembert.errors import DalembertError, TrajectoryError
from dalembert.simulation.log_table import Table, read_csv
from dalembert.text import short

MOST_BYTES = 2**33  # that an archive of arrays may unpack to
QUANTITIES = ("q", "qd", "qdd", "tau")
Source = Any  # a path, DataFrame, Dataset, array, or mapping of names to arrays


def table_of(source: Source, names: Sequence[str] | None = None) -> Table:
    """The table of a file or of arrays; `names` are for columns that have none."""
    if isinstance(source, (str, PathLike)):
        return _of_file(Path(source), names)
    if isinstance(source, np.ndarray):
        return _of_array(source, "the array", names)
    if isinstance(source, Mapping) and not hasattr(source, "data_vars"):
        return _of_mapping(source, "the log")
    for own, read in (("data_vars", _of_dataset), ("iloc", _of_frame)):
        if hasattr(source, own):
            return read(source, "the log")
    raise TrajectoryError(
        f"a log is a file, an xarray.Dataset, a DataFrame, an array or a mapping of names to arrays; "
        f"this is {short(source)}"
    )


def _of_file(path: Path, names: Sequence[str] | None) -> Table:
    readers: dict[str, Callable[[Path], Table]] = {
        ".parquet": _of_parquet,
        ".pq": _of_parquet,
        ".npy": lambda p: _of_array(_loaded(p), str(p), names),
        ".npz": _of_archive,
        ".nc": _of_netcdf,
        ".zarr": _of_netcdf,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        return read_csv(path, names)
    try:
        return read(path)
    except DalembertError:
        raise
    except ImportError as error:
        raise TrajectoryError(f"{path}: {error}") from None
    except Exception as error:  # readers of others fail in many ways on files that are none
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        said = " ".join(str(reason).split())[:200]
        raise TrajectoryError(f"{path} cannot be read: {said}") from None


def _of_parquet(path: Path) -> Table:
    try:
        from pyarrow import parquet
    except ImportError:
        raise TrajectoryError(
            f"{path}: Parquet needs pyarrow: pip install 'dalembert[parquet]'"
        ) from None
    made = parquet.ParquetFile(path).read()
    columns = [made.column(k).to_numpy() for k in range(made.num_columns)]
    return _joined(list(made.column_names), columns, str(path))


def _loaded(path: Path) -> np.ndarray:
    # mapped: a header that promises more than the file has is an error before memory is asked for
    return np.array(np.load(path, allow_pickle=False, mmap_mode="r"))


def _of_archive(path: Path) -> Table:
    try:
        with ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except BadZipFile as error:
        raise TrajectoryError(f"{path} cannot be read: {error}") from None
    if size > MOST_BYTES:
        raise TrajectoryError(f"{path} would unpack to {size / 2**30:.1f} GiB; that is no log")
    with np.load(path, allow_pickle=False) as stored:
        return _of_mapping({name: stored[name] for name in stored.files}, str(path))


def _of_netcdf(path: Path) -> Table:
    import xarray

    if not path.exists():
        raise TrajectoryError(f"{path} cannot be read: No such file or directory")
    if path.suffix.lower() == ".zarr":
        return _of_dataset(xarray.open_zarr(path), str(path))
    with xarray.open_dataset(path, decode_times=False) as stored:
        return _of_dataset(stored.load(), str(path))


def _of_array(values: np.ndarray, source: str, names: Sequence[str] | None) -> Table:
    if values.dtype.names is not None:  # an array of records
        return _of_mapping({name: values[name] for name in values.dtype.names}, source)
    if values.ndim != 2:
        raise TrajectoryError(f"{source} has the shape {values.shape}; a log has rows and columns")
    if names is None or len(names) != values.shape[1]:
        given = "" if names is None else f", and columns= has {len(names)} names"
        raise TrajectoryError(
            f"{source} has {values.shape[1]} columns without names{given}; give "
            "columns=['time', 'q1', …], one for each"
        )
    return _joined([str(name) for name in names], list(values.T), source)


def _of_mapping(given: Mapping[Any, Any], source: str) -> Table:
    """Columns of arrays by name; an array (rows, n) is the columns name[0], name[1], …"""
    arrays: dict[str, np.ndarray] = {}
    for name, value in given.items():
        try:
            array = np.asarray(value)
        except ValueError:
            raise TrajectoryError(f"{source}: {name!r} is no array: its rows differ") from None
        if array.dtype == object:
            raise TrajectoryError(f"{source}: {name!r} holds objects; a log is made of numbers")
        if array.ndim > 2:
            raise TrajectoryError(f"{source}: {name!r} has the shape {array.shape}, not (rows, n)")
        if array.ndim:  # single numbers are notes beside the log
            arrays[str(name)] = array
    if not arrays:
        raise TrajectoryError(f"{source} holds no arrays")
    rows = Counter(len(x) for x in arrays.values()).most_common(1)[0][0]
    for name, x in arrays.items():
        if len(x) != rows:
            turned = "; rows are times, turn it" if x.ndim == 2 and x.shape[1] == rows else ""
            raise TrajectoryError(
                f"{source}: {name!r} has {len(x)} rows where others have {rows}{turned}"
            )
    names, columns = [], []
    for name, x in arrays.items():
        wide = x.ndim == 2
        names += [f"{name}[{k}]" for k in range(x.shape[1])] if wide else [name]
        columns += list(x.T) if wide else [x]
    return _joined(names, columns, source)


def _of_dataset(given: Any, source: str) -> Table:
    """Fields over time; those of labelled joints are columns quantity_joint."""
    if "time" not in given.dims or "time" not in given.coords:
        raise TrajectoryError(f"{source} has no dimension 'time'; its: {', '.join(given.dims)}")
    names, columns = ["time"], [np.asarray(given["time"].values)]
    own = [str(name) for name in given.data_vars if given[name].dims[:1] == ("time",)]
    for name in [x for x in own if x in QUANTITIES] or own:  # of a run only the motion
        field = given[name]
        if field.ndim > 2:
            raise TrajectoryError(
                f"{source}: {name!r} has the dimensions {', '.join(map(str, field.dims))}; a log is "
                "one motion: choose it by .isel(sample=0)"
            )
        if field.ndim == 1:
            names.append(name)
            columns.append(field.values)
            continue
        along = field.dims[1]
        labels = given[along].values if along in given.coords else range(field.shape[1])
        for k, label in enumerate(labels):
            numbered = isinstance(label, (int, np.integer))
            names.append(f"{name}[{label}]" if numbered else f"{name}_{label}")
            columns.append(field.values[:, k])
    return _joined(names, columns, source)


def _of_frame(given: Any, source: str) -> Table:
    """A pandas DataFrame; an index of times is the time where no column is."""
    names = ["_".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in given.columns]
    columns = [np.asarray(given.iloc[:, k].to_numpy()) for k in range(len(names))]
    index = np.asarray(given.index.to_numpy())
    named = str(given.index.name or "").casefold() in ("time", "t", "timestamp", "stamp")
    if named or index.dtype.kind in "mMf":
        names, columns = ["time", *names], [index, *columns]
    return _joined(names, columns, source)


def _joined(names: list[str], columns: Sequence[np.ndarray], source: str) -> Table:
    """Columns side by side as numbers; those that hold something else are faults."""
    rows = len(columns[0]) if columns else 0
    if not rows:
        raise TrajectoryError(f"{source} has no rows")
    values, faults = np.full((rows, len(columns)), np.nan), {}
    for k, column in enumerate(columns):
        if column.dtype.kind in "mM":  # times of a clock, or since a start
            moments = column.astype(f"{column.dtype.kind}8[ns]")
            values[:, k] = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) * 1e-9)
        elif column.dtype.kind in "fiub":
            values[:, k] = column
        else:
            values[:, k], said = _numbers(column)
            if said:
                faults[k] = f"column {names[k]!r} {said}"
    return Table(names, values, source, faults)


def _numbers(column: np.ndarray) -> tuple[np.ndarray, str]:
    """(numbers of a column of objects, what is wrong with it)."""
    if column.dtype.kind == "c":
        return np.full(len(column), np.nan), "holds complex numbers"
    import pandas

    plain = [x if isinstance(x, (str, float, int, np.number)) or x is None else "?" for x in column]
    found = np.asarray(
        pandas.to_numeric(pandas.Series(plain, dtype=object), errors="coerce"), float
    )
    bad = [x for x, y in zip(column, found, strict=True) if np.isnan(y) and _says_something(x)]
    return found, f"holds {short(bad[0])}, which is not a number" if bad else ""


def _says_something(x: Any) -> bool:
    """Whether a cell holds more than a mark of what is missing."""
    return not (
        x is None or x != x or str(x).strip().casefold() in ("", "nan", "na", "none", "<na>")
    )
