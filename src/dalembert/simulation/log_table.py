"""Tables of numbers from any source: text, Parquet, NumPy, xarray, netCDF, Zarr, pandas, mappings.

Files are somebody else's: nothing in them is run (no pickles), and what is no table of numbers is an
error that names file, line and column.
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
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

from dalembert.errors import DalembertError, TrajectoryError
from dalembert.files import require_regular
from dalembert.simulation.log_units import written_units
from dalembert.text import short

MAX_TEXT = 2**32  # bytes of a text file
MAX_UNPACKED = 2**33  # bytes that an archive of arrays may unpack to
OPEN = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # pipes of this process, which have a writer
DELIMITERS = (",", ";", "\t")
LARGEST = 1e60  # beyond which squares would overflow where nobody knows their line any more
MISSING = ("", "nan", "-nan", "na", "n/a", "null", "none", "<na>", "#n/a")  # no number is there
REMARKS = 200  # lines above the names, at most
FIRST = 2  # the line of the first row; line 1 holds the names
QUANTITIES = ("q", "qd", "qdd", "tau")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
OF_DAY = re.compile(r"\d{1,3}:\d\d:\d\d(\.\d+)?")
DAY = 86_400.0  # s
SECONDS, NANOSECONDS = ("secs", "sec"), ("nsecs", "nsec", "nanosecs", "nanosec")
Source = Any  # a path, DataFrame, Dataset, array, or mapping of names to arrays


class Table(NamedTuple):
    """Columns of numbers with names, from wherever they came; what is missing is NaN."""

    names: list[str]
    values: np.ndarray  # (rows, columns)
    source: str  # what errors call it
    faults: Mapping[int, str] = MappingProxyType({})  # of columns that hold something else
    word: str = "row"  # in messages
    first: int = 1  # the number of the first row
    units: Mapping[int, str] = MappingProxyType({})  # of columns, where the file says them

    def row(self, k: int) -> str:
        """Where row k is, in words."""
        return f"{self.word} {k + self.first}"

    def refuse_faults(self, used: Sequence[int]) -> None:
        """An error at the first column in use that holds something else than numbers."""
        for place in used:
            if place in self.faults:
                raise TrajectoryError(self.faults[place])

    def only(self, places: Sequence[int]) -> Table:
        """The columns at these places, in this order."""
        faults, units = (
            {i: own[k] for i, k in enumerate(places) if k in own}
            for own in (self.faults, self.units)
        )
        names, values = [self.names[k] for k in places], self.values[:, places]
        return self._replace(names=names, values=values, faults=faults, units=units)


def table_of(source: Source, names: Sequence[str] | None = None) -> Table:
    """The table of a file or of arrays; `names` are for columns that have none."""
    return _with_whole_stamps(_table_of(source, names))


def read_table(path: str | PathLike[str]) -> tuple[list[str], np.ndarray]:
    """(names, numbers (rows, columns)) of a text file; cells that are empty are NaN.

    Separated by commas, semicolons, tabs or blanks, whichever the line of names has.
    """
    table = read_csv(path)
    for fault in table.faults.values():
        raise TrajectoryError(f"{table.source}, {fault}")
    return table.names, table.values


def line(row: int) -> str:
    """Where a row of a text file is, in words."""
    return f"line {row + FIRST}"


def refuse_gaps(
    names: Sequence[str], values: np.ndarray, row_in_words: Callable[[int], str] = line
) -> None:
    """An error at the first number (rows, columns) that is missing, not finite, or no quantity."""
    bad = ~(np.abs(values) <= LARGEST)  # NaN among them
    if bad.any():
        row, column = np.argwhere(bad)[0]
        found = values[row, column]
        what = "is empty or not a number" if np.isnan(found) else f"is {found}"
        raise TrajectoryError(f"{row_in_words(row)}, column {names[column]!r} {what}")


def _table_of(source: Source, names: Sequence[str] | None) -> Table:
    if isinstance(source, (str, PathLike)):
        return _of_file(Path(source), names)
    if isinstance(source, np.ndarray):
        return _of_array(source, "the array", names)
    if hasattr(source, "data_vars"):
        return _of_dataset(source, "the log")
    if isinstance(source, Mapping):
        return _of_mapping(source, "the log")
    if hasattr(source, "iloc"):
        return _of_frame(source, "the log")
    raise TrajectoryError(
        f"a log is a file, an xarray.Dataset, a DataFrame, an array or a mapping of names to arrays; "
        f"this is {short(source)}"
    )


def _of_file(path: Path, names: Sequence[str] | None) -> Table:
    readers: dict[str, Callable[[Path], Table]] = {
        ".parquet": _of_parquet,
        ".pq": _of_parquet,
        # mapped: a header that promises more than the file has is an error before memory is asked for
        ".npy": lambda p: _of_array(
            np.array(np.load(p, allow_pickle=False, mmap_mode="r")), str(p), names
        ),
        ".npz": _of_archive,
        ".nc": _of_netcdf,
        ".zarr": _of_netcdf,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        return read_csv(path, names)
    try:
        if not path.is_dir():  # as Zarr's are
            require_regular(path)
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
            f"{path}: Parquet needs pyarrow: pip install pyarrow (the extra [parquet])"
        ) from None
    made = parquet.ParquetFile(path).read()
    columns = [made.column(k).to_numpy() for k in range(made.num_columns)]
    return _joined(list(made.column_names), columns, str(path))


def _of_archive(path: Path) -> Table:
    try:
        with ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except BadZipFile as error:
        raise TrajectoryError(f"{path} cannot be read: {error}") from None
    if size > MAX_UNPACKED:
        raise TrajectoryError(f"{path} would unpack to {size / 2**30:.1f} GiB; that is no log")
    with np.load(path, allow_pickle=False) as stored:
        return _of_mapping({name: stored[name] for name in stored.files}, str(path))


def _of_netcdf(path: Path) -> Table:
    import xarray

    if path.suffix.lower() == ".zarr":
        return _of_dataset(xarray.open_zarr(path, decode_times=False), str(path))
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
    names, columns = [], []
    for name, x in arrays.items():
        wide = x.ndim == 2
        if len(x) != rows:
            turned = "; rows are times, turn it" if wide and x.shape[1] == rows else ""
            raise TrajectoryError(
                f"{source}: {name!r} has {len(x)} rows where others have {rows}{turned}"
            )
        names += [f"{name}[{k}]" for k in range(x.shape[1])] if wide else [name]
        columns += list(x.T) if wide else [x]
    return _joined(names, columns, source)


def _of_dataset(given: Any, source: str) -> Table:
    """Fields over time; those of labelled joints are columns quantity_joint."""
    if "time" not in given.dims or "time" not in given.coords:
        raise TrajectoryError(f"{source} has no dimension 'time'; its: {', '.join(given.dims)}")
    names, columns = ["time"], [np.asarray(given["time"].values)]
    units = written_units(given["time"])
    own = [str(name) for name in given.data_vars if given[name].dims[:1] == ("time",)]
    for name in [x for x in own if x in QUANTITIES] or own:  # of a run only the motion
        field = given[name]
        if field.ndim > 2:
            raise TrajectoryError(
                f"{source}: {name!r} has the dimensions {', '.join(map(str, field.dims))}; a log is "
                "one motion: choose it by .isel(sample=0)"
            )
        units += written_units(field)
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
    numbers = {k: x for k, x in enumerate(units) if x and columns[k].dtype.kind in "fiu"}
    return _joined(names, columns, source)._replace(units=numbers)


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
        elif column.dtype.kind == "c":
            faults[k] = f"column {names[k]!r} holds complex numbers"
        else:
            known = (str, float, int, np.number, type(None))
            values[:, k], bad = _numbers([x if isinstance(x, known) else "?" for x in column])
            if bad is not None:
                faults[k] = f"column {names[k]!r} holds {short(column[bad])}, which is not a number"
    return Table(names, values, source, faults)


def _numbers(cells: Any) -> tuple[np.ndarray, int | None]:
    """(numbers (rows,) of cells, the first of them that is neither a number nor missing)."""
    import pandas

    found = np.asarray(
        pandas.to_numeric(pandas.Series(cells, dtype=object), errors="coerce"), float
    )
    for row in np.flatnonzero(np.isnan(found)):
        if str(cells[row]).strip().casefold() not in MISSING:
            return found, int(row)
    return found, None


def read_csv(path: str | PathLike[str], names: Sequence[str] | None = None) -> Table:
    """The table of a text file; columns that hold words are NaN, and their faults say where.

    Remarks behind # or % may stand above the names; `names` are for files that have none, or others.
    """
    where = Path(path)
    try:
        data = _bytes_of(where)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TrajectoryError(f"{where} cannot be read: {reason}") from None
    own, delimiter, skipped = _header(where, data, names)
    faults: dict[int, str] = {}
    try:
        values = _cells_below(data, delimiter, skipped, len(own), float)
    except (ValueError, Warning) as error:
        try:
            cells = _cells_below(data, delimiter, skipped, len(own), str)
        except (ValueError, Warning):
            text = " ".join(str(error).split())[:200]
            said = "rows have more cells" if isinstance(error, Warning) else text
            raise TrajectoryError(f"{where}: {said}; line 1 has {len(own)} names") from None
        values = np.full(cells.shape, np.nan)
        for k, name in enumerate(own):
            clock = _clock_seconds(cells[:, k])
            if clock is not None:
                values[:, k] = clock
                continue
            values[:, k], bad = _numbers(cells[:, k])
            if bad is not None:
                text = str(cells[bad, k]).strip()
                hint = "; write decimals with a point" if "," in text else ""
                place = f"line {bad + skipped + 1}, column {name!r}"
                faults[k] = f"{place}: {short(text)} is not a number{hint}"
    filled = ~np.isnan(values).all(axis=1)
    last = int(np.flatnonzero(filled)[-1]) + 1 if filled.any() else 0  # blank lines at the end
    if not last and not faults:
        raise TrajectoryError(f"{where} has no rows below its names")
    # a comma too many makes an empty column
    empty = np.isnan(values).all(axis=0)
    used = [k for k, name in enumerate(own) if name or k in faults or not empty[k]]
    return Table(own, values[:last], str(where), faults, "line", skipped + 1).only(used)


def _bytes_of(path: Path) -> bytes:
    """All of a regular file, or of a pipe that this process has open, as the shell's <(…) gives it."""
    if not (path.is_fifo() and str(path).startswith(OPEN)):
        require_regular(path, MAX_TEXT)
    with path.open("rb") as stream:
        data = stream.read(MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise OSError(errno.EFBIG, f"it has more than {MAX_TEXT / 2**30:.3g} GiB")
    return data


def _header(path: Path, data: bytes, given: Sequence[str] | None) -> tuple[list[str], str, int]:
    """(names, from the file or given, what separates cells, lines above the first row).

    Remarks are lines behind # or % above something else than rows.
    """
    try:
        texts = [x.decode("utf-8-sig").strip("\r\n ") for x in data.split(b"\n", REMARKS)[:REMARKS]]
    except UnicodeDecodeError:
        raise TrajectoryError(f"{path} cannot be read: it is not text") from None
    skipped = 0
    while skipped < len(texts) - 1 and texts[skipped].startswith(("#", "%")):
        if all(map(_is_number, _cells(texts[skipped + 1])[0])):
            break  # the last line above the rows has the names
        skipped += 1
    text = texts[skipped].lstrip("#%").strip()
    names, delimiter = _cells(text)
    if given is not None:
        if len(given) != len(names):
            raise TrajectoryError(
                f"{path} has {len(names)} columns, and columns= has {len(given)} names"
            )
        numbers = bool(names) and all(map(_is_number, names))
        return [str(x) for x in given], delimiter, skipped + (0 if numbers else 1)
    if not any(names) or any(map(_is_number, names)):
        raise TrajectoryError(
            f"{path}, line {skipped + 1} must name the columns, 'time' and the joints (or "
            f"columns=['time', …] does); it is {short(text)}"
        )
    return names, delimiter, skipped + 1


def _cells(text: str) -> tuple[list[str], str]:
    """(cells of a line, what separates them)."""
    delimiter = max(DELIMITERS, key=text.count)
    if not text.count(delimiter) and len(text.split()) > 1:
        return text.split(), r"\s+"
    cells = next(csv.reader([text], delimiter=delimiter), [])
    return [cell.strip() for cell in cells], delimiter


def _cells_below(data: bytes, delimiter: str, skipped: int, count: int, kind: Any) -> np.ndarray:
    """Cells (rows, count) below the names, as numbers or as text."""
    import pandas

    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # of rows cut short
        table = pandas.read_csv(
            BytesIO(data),
            sep=delimiter,
            header=None,
            names=range(count),
            skiprows=skipped,
            dtype=kind,
            index_col=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            **_exact(pandas.__version__),
            **({"keep_default_na": False} if kind is str else {}),
        )
    return table.to_numpy()


def _exact(version: str) -> dict[str, Any]:
    """What lets pandas read the nearest number; from 3.1 on it does, and asks not to be told.

    >>> _exact("3.0.6"), _exact("3.1.1")
    ({'float_precision': 'round_trip'}, {})
    """
    first, second = version.split(".")[:2]
    return {} if (int(first), int(second)) >= (3, 1) else {"float_precision": "round_trip"}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _clock_seconds(cells: np.ndarray) -> np.ndarray | None:
    """Seconds (rows,) of texts that are times of a clock; None where they are not.

    A time of day goes on after midnight; what is no time among them is NaN.
    """
    import pandas

    texts = pandas.Series(cells).astype(str).str.strip()
    first = next((text for text in texts if text), "")
    if MOMENT.fullmatch(first):
        moments = pandas.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
        whole = moments.dt.tz_localize(None).to_numpy("datetime64[ns]")
        return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) * 1e-9)
    if OF_DAY.fullmatch(first):
        t = pandas.to_timedelta(texts, errors="coerce").dt.total_seconds().to_numpy()
        return np.asarray(t + DAY * np.cumsum(np.diff(t, prepend=t[:1]) < -0.5 * DAY))
    return None


def _with_whole_stamps(table: Table) -> Table:
    """The table whose seconds and nanoseconds in two columns, as in stamps of ROS, are one."""
    lower = [name.strip().casefold() for name in table.names]
    for s, name in enumerate(lower):
        word = next((w for w in SECONDS if re.search(rf"(^|[^a-z]){w}$", name)), None)
        if word is None:
            continue
        rest = name.removesuffix(word)
        n = next((lower.index(rest + w) for w in NANOSECONDS if rest + w in lower), None)
        if n is not None:
            values = np.array(table.values)
            values[:, s] += 1e-9 * values[:, n]
            return table._replace(values=values).only([k for k in range(len(lower)) if k != n])
    return table
