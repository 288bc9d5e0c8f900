"""Tables of numbers: read from text, Parquet, NumPy, netCDF, Zarr or arrays; written as CSV.

Files are untrusted: nothing in them is executed (no pickles), and a cell that is not a number is an
error with file, line and column.
"""

from __future__ import annotations

import csv
import errno
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from dalembert.errors import DalembertError, SimulationError, TrajectoryError
from dalembert.files import atomic_file, require_regular
from dalembert.logs.units import field_units
from dalembert.progress import on_terminal, progress_bar
from dalembert.text import csv_cell, short

if TYPE_CHECKING:
    import xarray

MAX_TEXT = 2**32  # bytes of a text file
MAX_UNPACKED = 2**33  # bytes that an archive of arrays may unpack to
OPEN_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # of this process, which have a writer
DELIMITERS = (",", ";", "\t")
LARGEST = 1e60  # magnitude beyond which squares would overflow later, without a line to name
MISSING = ("", "nan", "-nan", "na", "n/a", "null", "none", "<na>", "#n/a")
MAX_COMMENTS = 200  # lines above the names
FIRST_LINE = 2  # line of the first row of a text file; line 1 has the names
QUANTITIES = ("q", "qd", "qdd", "tau")
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
TIME_OF_DAY = re.compile(r"\d{1,3}:\d\d:\d\d(\.\d+)?")
DAY = 86_400.0  # s
SECONDS, NANOSECONDS = ("secs", "sec"), ("nsecs", "nsec", "nanosecs", "nanosec")
CHUNK = 50_000  # rows written at a time
PREFIXES = {"q": "", "qd": "qd_", "qdd": "qdd_", "tau": "tau_"}
Source = Any  # a path, DataFrame, Dataset, array, or mapping of names to arrays


class Table(NamedTuple):
    """Named columns of numbers; missing cells are NaN."""

    names: list[str]
    values: np.ndarray  # (rows, columns)
    source: str  # name in errors
    invalid: Mapping[int, str] = MappingProxyType({})  # messages for columns that are not numbers
    row_word: str = "row"  # "line" for text files
    first_row: int = 1  # number of the first row
    units: Mapping[int, str] = MappingProxyType({})  # by column, where the file has units

    def row_label(self, k: int) -> str:
        """Position of row k for messages, "line 12" for example."""
        return f"{self.row_word} {k + self.first_row}"

    def select(self, indices: Sequence[int]) -> Table:
        """The table with these columns, in this order."""
        invalid, units = (
            {i: own[k] for i, k in enumerate(indices) if k in own}
            for own in (self.invalid, self.units)
        )
        names, values = [self.names[k] for k in indices], self.values[:, indices]
        return self._replace(names=names, values=values, invalid=invalid, units=units)


def read_columns(path: str | PathLike[str]) -> tuple[list[str], np.ndarray]:
    """(names, numbers (rows, columns)) of a text file; empty cells are NaN.

    Cells are separated by commas, semicolons, tabs or blanks, whichever the line of names has.
    """
    table = _read_csv(Path(path))
    for message in table.invalid.values():
        raise TrajectoryError(f"{table.source}, {message}")
    return table.names, table.values


def line_label(row: int) -> str:
    """Position of a row of a text file for messages, "line 2" for the first."""
    return f"line {row + FIRST_LINE}"


def require_finite(
    names: Sequence[str], values: np.ndarray, row_label: Callable[[int], str] = line_label
) -> None:
    """Raise TrajectoryError at the first number (rows, columns) that is missing or too large."""
    bad = ~(np.abs(values) <= LARGEST)  # NaN included
    if bad.any():
        row, column = np.argwhere(bad)[0]
        value = values[row, column]
        what = "is empty or not a number" if np.isnan(value) else f"is {value}"
        raise TrajectoryError(f"{row_label(row)}, column {names[column]!r} {what}")


def read_table(source: Source, names: Sequence[str] | None = None) -> Table:
    """The table of a file or of arrays; `names` are for columns that have none."""
    if isinstance(source, (str, PathLike)):
        table = _from_file(Path(source), names)
    elif isinstance(source, np.ndarray):
        table = _from_array(source, "the array", names)
    elif hasattr(source, "data_vars"):
        table = _from_dataset(source, "the log")
    elif isinstance(source, Mapping):
        table = _from_mapping(source, "the log")
    elif hasattr(source, "iloc"):
        # an index of times is the column time where there is none
        columns = [np.asarray(source.iloc[:, k].to_numpy()) for k in range(source.shape[1])]
        labels = ["_".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in source.columns]
        index = np.asarray(source.index.to_numpy())
        is_time = str(source.index.name or "").casefold() in ("time", "t", "timestamp", "stamp")
        if is_time or index.dtype.kind in "mMf":
            labels, columns = ["time", *labels], [index, *columns]
        table = _numeric_table(labels, columns, "the log")
    else:
        raise TrajectoryError(
            f"a log is a file, Dataset, DataFrame, array or mapping of arrays, not {short(source)}"
        )
    # seconds and nanoseconds in two columns, as in ROS stamps, are added into one
    lower = [name.strip().casefold() for name in table.names]
    for s, name in enumerate(lower):
        word = next((w for w in SECONDS if re.search(rf"(^|[^a-z]){w}$", name)), None)
        if word is None:
            continue
        stem = name.removesuffix(word)
        n = next((lower.index(stem + w) for w in NANOSECONDS if stem + w in lower), None)
        if n is not None:
            values = np.array(table.values)
            values[:, s] += 1e-9 * values[:, n]
            return table._replace(values=values).select([k for k in range(len(lower)) if k != n])
    return table


def _from_file(path: Path, names: Sequence[str] | None) -> Table:
    kind = path.suffix.lower()
    if kind not in (".parquet", ".pq", ".npy", ".npz", ".nc", ".zarr"):
        return _read_csv(path, names)
    try:
        if not path.is_dir():  # a Zarr store is a folder
            require_regular(path)
        if kind in (".parquet", ".pq"):
            try:
                from pyarrow import parquet
            except ImportError:
                raise TrajectoryError(
                    f"{path}: pip install pyarrow (the extra [parquet])"
                ) from None
            stored = parquet.ParquetFile(path).read()
            columns = [stored.column(k).to_numpy() for k in range(stored.num_columns)]
            return _numeric_table(list(stored.column_names), columns, str(path))
        if kind == ".npy":
            # mapped: a header that promises more than the file has fails before memory is allocated
            mapped = np.load(path, allow_pickle=False, mmap_mode="r")
            return _from_array(np.array(mapped), str(path), names)
        if kind == ".npz":
            with ZipFile(path) as archive:
                size = sum(member.file_size for member in archive.infolist())
            if size > MAX_UNPACKED:
                raise TrajectoryError(
                    f"{path} would unpack to {size / 2**30:.1f} GiB; that is no log"
                )
            with np.load(path, allow_pickle=False) as members:
                arrays = {name: members[name] for name in members.files}
            return _from_mapping(arrays, str(path))
        import xarray

        if kind == ".zarr":
            return _from_dataset(xarray.open_zarr(path, decode_times=False), str(path))
        with xarray.open_dataset(path, decode_times=False) as dataset:
            return _from_dataset(dataset.load(), str(path))
    except DalembertError:
        raise
    except ImportError as error:
        raise TrajectoryError(f"{path}: {error}") from None
    except Exception as error:  # third-party readers raise many classes on damaged files
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = " ".join(str(reason).split())[:200]
        raise TrajectoryError(f"{path} cannot be read: {reason}") from None


def _from_array(values: np.ndarray, source: str, names: Sequence[str] | None) -> Table:
    if values.dtype.names is not None:  # structured array
        return _from_mapping({name: values[name] for name in values.dtype.names}, source)
    if values.ndim != 2:
        raise TrajectoryError(f"{source} has the shape {values.shape}; a log has rows and columns")
    if names is None or len(names) != values.shape[1]:
        count = "" if names is None else f", and columns= has {len(names)} names"
        raise TrajectoryError(
            f"{source} has {values.shape[1]} columns without names{count}; give "
            "columns=['time', 'q1', …], one for each"
        )
    return _numeric_table([str(name) for name in names], list(values.T), source)


def _from_mapping(mapping: Mapping[Any, Any], source: str) -> Table:
    """Table of arrays by name; an array (rows, n) gives the columns name[0], name[1], …"""
    arrays: dict[str, np.ndarray] = {}
    for name, value in mapping.items():
        try:
            array = np.asarray(value)
        except ValueError:
            raise TrajectoryError(f"{source}: {name!r} is no array: its rows differ") from None
        if array.dtype == object:
            raise TrajectoryError(f"{source}: {name!r} holds objects; a log is made of numbers")
        if array.ndim > 2:
            raise TrajectoryError(f"{source}: {name!r} has the shape {array.shape}, not (rows, n)")
        if array.ndim:  # scalars are metadata
            arrays[str(name)] = array
    if not arrays:
        raise TrajectoryError(f"{source} holds no arrays")
    rows = Counter(len(x) for x in arrays.values()).most_common(1)[0][0]
    names, columns = [], []
    for name, x in arrays.items():
        is_matrix = x.ndim == 2
        if len(x) != rows:
            hint = "; rows are times, turn it" if is_matrix and x.shape[1] == rows else ""
            raise TrajectoryError(
                f"{source}: {name!r} has {len(x)} rows where others have {rows}{hint}"
            )
        names += [f"{name}[{k}]" for k in range(x.shape[1])] if is_matrix else [name]
        columns += list(x.T) if is_matrix else [x]
    return _numeric_table(names, columns, source)


def _from_dataset(dataset: xarray.Dataset, source: str) -> Table:
    """Table of the fields over time; fields with labelled joints give columns quantity_joint."""
    if "time" not in dataset.dims or "time" not in dataset.coords:
        dims = ", ".join(map(str, dataset.dims))
        raise TrajectoryError(f"{source} has no dimension 'time'; its: {dims}")
    names, columns = ["time"], [np.asarray(dataset["time"].values)]
    units = field_units(dataset["time"])
    fields = [str(name) for name in dataset.data_vars if dataset[name].dims[:1] == ("time",)]
    for name in [x for x in fields if x in QUANTITIES] or fields:  # only the motion of a run
        field = dataset[name]
        if field.ndim > 2:
            raise TrajectoryError(
                f"{source}: {name!r} has the dimensions {', '.join(map(str, field.dims))}; a log is "
                "one motion: choose it by .isel(sample=0)"
            )
        units += field_units(field)
        if field.ndim == 1:
            names.append(name)
            columns.append(field.values)
            continue
        along = field.dims[1]
        labels = dataset[along].values if along in dataset.coords else range(field.shape[1])
        for k, label in enumerate(labels):
            is_number = isinstance(label, (int, np.integer))
            names.append(f"{name}[{label}]" if is_number else f"{name}_{label}")
            columns.append(field.values[:, k])
    by_column = {k: x for k, x in enumerate(units) if x and columns[k].dtype.kind in "fiu"}
    return _numeric_table(names, columns, source)._replace(units=by_column)


def _numeric_table(names: list[str], columns: Sequence[np.ndarray], source: str) -> Table:
    """Columns as floats; those that hold something else are in `Table.invalid`."""
    rows = len(columns[0]) if columns else 0
    if not rows:
        raise TrajectoryError(f"{source} has no rows")
    values, invalid = np.full((rows, len(columns)), np.nan), {}
    for k, column in enumerate(columns):
        if column.dtype.kind in "mM":  # dates, or times since a start
            stamps = column.astype(f"{column.dtype.kind}8[ns]")
            values[:, k] = np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) * 1e-9)
        elif column.dtype.kind in "fiub":
            values[:, k] = column
        elif column.dtype.kind == "c":
            invalid[k] = f"column {names[k]!r} holds complex numbers"
        else:
            scalars = (str, float, int, np.number, type(None))
            cells = [x if isinstance(x, scalars) else "?" for x in column]
            values[:, k], bad = _parse_numbers(cells)
            if bad is not None:
                invalid[k] = (
                    f"column {names[k]!r} holds {short(column[bad])}, which is not a number"
                )
    return Table(names, values, source, invalid)


def _parse_numbers(cells: Sequence[Any] | np.ndarray) -> tuple[np.ndarray, int | None]:
    """(numbers (rows,), index of the first cell that is neither a number nor missing)."""
    import pandas

    numbers = pandas.to_numeric(pandas.Series(cells, dtype=object), errors="coerce")
    values = np.asarray(numbers, float)
    for row in np.flatnonzero(np.isnan(values)).tolist():
        if str(cells[row]).strip().casefold() not in MISSING:
            return values, row
    return values, None


def _read_csv(path: Path, names: Sequence[str] | None = None) -> Table:
    """The table of a text file; columns that hold words are NaN and in `Table.invalid`.

    Comments behind # or % may stand above the names; `names` are for files that have none.
    """
    try:
        # a regular file, or a pipe of this process, as the shell's <(…) gives it
        if not (path.is_fifo() and str(path).startswith(OPEN_PIPES)):
            require_regular(path, MAX_TEXT)
        with path.open("rb") as stream:
            data = stream.read(MAX_TEXT + 1)
        if len(data) > MAX_TEXT:
            raise OSError(errno.EFBIG, f"it has more than {MAX_TEXT / 2**30:.3g} GiB")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TrajectoryError(f"{path} cannot be read: {reason}") from None
    header, delimiter, skipped = _parse_header(path, data, names)
    invalid: dict[int, str] = {}
    try:
        values = _parse_cells(data, delimiter, skipped, len(header), float)
    except (ValueError, Warning) as error:
        try:
            cells = _parse_cells(data, delimiter, skipped, len(header), str)
        except (ValueError, Warning):
            text = " ".join(str(error).split())[:200]
            reason = "rows have more cells" if isinstance(error, Warning) else text
            raise TrajectoryError(f"{path}: {reason}; line 1 has {len(header)} names") from None
        values = np.full(cells.shape, np.nan)
        for k, name in enumerate(header):
            seconds = _parse_clock(cells[:, k])
            if seconds is not None:
                values[:, k] = seconds
                continue
            values[:, k], bad = _parse_numbers(cells[:, k])
            if bad is not None:
                text = str(cells[bad, k]).strip()
                hint = "; write decimals with a point" if "," in text else ""
                where = f"line {bad + skipped + 1}, column {name!r}"
                invalid[k] = f"{where}: {short(text)} is not a number{hint}"
    filled = np.flatnonzero(~np.isnan(values).all(axis=1))
    last = int(filled[-1]) + 1 if len(filled) else 0  # blank lines at the end
    if not last and not invalid:
        raise TrajectoryError(f"{path} has no rows below its names")
    # a trailing comma makes an empty column
    empty = np.isnan(values).all(axis=0)
    used = [k for k, name in enumerate(header) if name or k in invalid or not empty[k]]
    return Table(header, values[:last], str(path), invalid, "line", skipped + 1).select(used)


def _parse_header(
    path: Path, data: bytes, columns: Sequence[str] | None
) -> tuple[list[str], str, int]:
    """(names, from `columns` or the file; delimiter; number of lines above the first row).

    Lines behind # or % are comments, except the last one above the rows, which has the names.
    """
    lines = data.split(b"\n", MAX_COMMENTS)[:MAX_COMMENTS]
    try:
        texts = [line.decode("utf-8-sig").strip("\r\n ") for line in lines]
    except UnicodeDecodeError:
        raise TrajectoryError(f"{path} cannot be read: it is not text") from None
    skipped = 0
    while skipped < len(texts) - 1 and texts[skipped].startswith(("#", "%")):
        if all(map(_is_number, _split_cells(texts[skipped + 1])[0])):
            break
        skipped += 1
    text = texts[skipped].lstrip("#%").strip()
    names, delimiter = _split_cells(text)
    if columns is not None:
        if len(columns) != len(names):
            raise TrajectoryError(
                f"{path}: {len(names)} columns, and columns= has {len(columns)} names"
            )
        is_row = bool(names) and all(map(_is_number, names))
        return [str(x) for x in columns], delimiter, skipped + (0 if is_row else 1)
    if not any(names) or any(map(_is_number, names)):
        raise TrajectoryError(
            f"{path}, line {skipped + 1} must name the columns, 'time' and the joints (or "
            f"columns=['time', …] does); it is {short(text)}"
        )
    return names, delimiter, skipped + 1


def _split_cells(text: str) -> tuple[list[str], str]:
    """(cells of a line, delimiter)."""
    delimiter = max(DELIMITERS, key=text.count)
    if not text.count(delimiter) and len(text.split()) > 1:
        return text.split(), r"\s+"
    cells = next(csv.reader([text], delimiter=delimiter), [])
    return [cell.strip() for cell in cells], delimiter


def _parse_cells(data: bytes, delimiter: str, skipped: int, count: int, dtype: type) -> np.ndarray:
    """Cells (rows, count) below the names, as floats or as text."""
    import pandas

    options: dict[str, Any] = {"keep_default_na": False} if dtype is str else {}
    major, minor = pandas.__version__.split(".")[:2]
    if (int(major), int(minor)) < (3, 1):  # the nearest number, which is the default from 3.1 on
        options["float_precision"] = "round_trip"
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # rows with too many cells
        table = pandas.read_csv(
            BytesIO(data),
            sep=delimiter,
            header=None,
            names=range(count),
            skiprows=skipped,
            dtype=dtype,
            index_col=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            **options,
        )
    return np.asarray(table.to_numpy())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parse_clock(cells: np.ndarray) -> np.ndarray | None:
    """Seconds (rows,) of dates or times of day; None where the cells are neither.

    Times of day continue after midnight; cells that are no time are NaN.
    """
    import pandas

    texts = pandas.Series(cells).astype(str).str.strip()
    first = next((text for text in texts if text), "")
    if DATE_TIME.fullmatch(first):
        dates = pandas.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
        stamps = dates.dt.tz_localize(None).to_numpy("datetime64[ns]")
        return np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) * 1e-9)
    if TIME_OF_DAY.fullmatch(first):
        t = pandas.to_timedelta(texts, errors="coerce").dt.total_seconds().to_numpy()
        return np.asarray(t + DAY * np.cumsum(np.diff(t, prepend=t[:1]) < -0.5 * DAY))
    return None


def write_log(run: xarray.Dataset, path: Path) -> None:
    """Write times and q, q̇, q̈, τ where the run has them as CSV with names and units.

    All digits are written; `read_log` reads the file.
    """
    names = run_header(run)
    columns = [run.time.values, *(run[name].values for name in PREFIXES if name in run)]
    write_table(path, names, np.column_stack(columns), ["%.16g"] * len(names))


def run_header(run: xarray.Dataset, velocities: Sequence[str] | None = None) -> list[str]:
    """Names with units of the columns time, q, q̇, q̈, τ of a run.

    `velocities` are names of the velocities, where they are not those of the coordinates.
    """
    names = ["time [s]"]
    for name, prefix in PREFIXES.items():
        if name in run:
            names += field_header(run[name], prefix, None if name == "q" else velocities)
    return names


def field_header(
    field: xarray.DataArray, prefix: str, names: Sequence[str] | None = None
) -> list[str]:
    """Names with units of the columns of a vector over time."""
    names = [str(x) for x in field[field.dims[-1]].values] if names is None else names
    units = str(field.attrs["units"]).split(", ")
    units = units if len(units) == len(names) else units * len(names)
    brackets = [f" [{unit}]" if unit not in ("", "1") else "" for unit in units]
    return [f"{prefix}{name}{unit}" for name, unit in zip(names, brackets, strict=True)]


def write_table(path: Path, names: Sequence[str], rows: np.ndarray, formats: Sequence[str]) -> None:
    """Write a line of names, then rows (n, columns), each column in its format, ``%.16g`` say."""
    try:
        with atomic_file(path) as part, part.open("w", encoding="utf-8") as file:
            file.write(",".join(map(csv_cell, names)) + "\n")
            with progress_bar("writing", on_terminal()) as report:
                for start in range(0, len(rows), CHUNK):
                    np.savetxt(file, rows[start : start + CHUNK], fmt=list(formats), delimiter=",")
                    report(start / len(rows))
    except OSError as error:
        raise SimulationError(f"{path} cannot be written: {error.strerror or error}") from None
