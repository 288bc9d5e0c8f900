"""Files that commands write: refused before the work where they cannot be, and written whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.cli.output import console, say
from dalembert.errors import DalembertError, SettingError, SimulationError
from dalembert.files import fill, whole, whole_folder
from dalembert.simulation.log_write import write_log, write_table
from dalembert.simulation.zarr_files import zarr_files
from dalembert.text import file_name

FOLDER = Path("out")
MOTIONS = (".csv", ".nc", ".zarr")


def require_writable(path: Path | None, kinds: tuple[str, ...] = (".nc", ".zarr")) -> None:
    """Say before a long run that its result could not be written."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise SimulationError(f"--out {path}: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise SimulationError(f"--out {path} is there already; remove it, or name another")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise SimulationError(f"--out {path} cannot be written")
    if path.suffix not in kinds:
        raise SettingError(f"--out {path}: the name must end in {' or '.join(kinds)}")


def write(run: Any, path: Path) -> None:
    """Write the result whole or not at all; where the disk refuses, it is kept elsewhere."""
    try:
        _written(run, path)
    except OSError as error:
        folder = Path(tempfile.mkdtemp(prefix="dalembert-"))
        try:
            _written(run, folder / path.name)
            kept = f"the result is in {folder / path.name}"
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            kept = f"nor could it be kept in {folder.parent}; make room and run it again"
        raise SimulationError(f"{path}: {error.strerror or error}; {kept}") from None


def _written(run: Any, path: Path) -> None:
    if path.suffix == ".zarr":
        try:
            data = zarr_files(run)
        except ImportError:
            raise SimulationError("a .zarr result needs the package zarr; take .nc") from None
        with whole_folder(path) as part:
            fill(part, data)
        return
    data = _netcdf(run)
    with whole(path) as part:
        part.write_bytes(data)


def _netcdf(run: Any) -> Any:
    """The bytes of the file: libhdf5 ends the whole process where a disk refuses its own writing."""
    try:
        return run.to_netcdf(engine=_engine())
    except ValueError:  # before 2025.9 xarray had no bytes of netCDF 4
        with tempfile.TemporaryDirectory(prefix="dalembert-") as folder:
            run.to_netcdf(Path(folder) / "run.nc", engine=_engine())
            return (Path(folder) / "run.nc").read_bytes()


def _engine() -> str:
    """netCDF 4 where both packages it needs are there, else netCDF 3, which SciPy writes."""
    return "h5netcdf" if all(map(find_spec, ("h5netcdf", "h5py"))) else "scipy"


def write_motion(run: Any, out: Path) -> None:
    """A table that `read_log` understands, or all of it as netCDF or Zarr."""
    if out.suffix != ".csv":
        write(run, out)
        return
    with writing(out):
        write_log(run, out)


def write_text(path: Path, text: str) -> None:
    """Write a file of --out whole or not at all."""
    with writing(path, DalembertError), whole(path) as part:
        part.write_text(text, encoding="utf-8")


def write_csv(path: Path, head: Sequence[str], rows: np.ndarray, forms: Sequence[str]) -> None:
    """A line of names, then rows (n, columns), each column in its form, ``%.16g`` say."""
    with writing(path):
        write_table(path, head, rows, forms)


@contextmanager
def writing(path: Path, kind: type[DalembertError] = SettingError) -> Iterator[None]:
    """A file of --out that cannot be written is an error in one line."""
    try:
        yield
    except OSError as error:
        raise kind(f"--out {path} cannot be written: {error.strerror}") from None


def write_run_page(run: Any, robot: Any, out: Path | None, name: str) -> Path:
    """The page of a run, beside the file `out` or in the folder for pages; its path."""
    from dalembert.report.page import write_page
    from dalembert.report.runs import run_page

    path = out.with_suffix(".html") if out is not None else FOLDER / f"{file_name(name)}.html"
    with console().status("drawing …"):
        write_page(run_page(run, robot), path)
    return path


def named(**paths: Path | None) -> dict[str, str]:
    """The files that were written, for JSON."""
    return {name: str(path) for name, path in paths.items() if path is not None}


def say_written(out: Path | None, page: Path | None = None) -> None:
    """Name the files that were written: of the result, and of its page."""
    screen = console()
    if out is not None:
        say(screen, f"written: {out}")
    if page is not None:
        lead = f"{page.stat().st_size / 1e6:.1f} MB, works without network. Now open "
        say(screen, lead, (str(page), "bold"), soft_wrap=True)
