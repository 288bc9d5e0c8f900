"""Files that commands write: checked before the work begins, and written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dalembert.cli.output import console, say
from dalembert.errors import DalembertError, SettingError, SimulationError
from dalembert.files import atomic_file, atomic_folder, write_files
from dalembert.logs.tables import write_log
from dalembert.simulation.results import zarr_files
from dalembert.systems.system import System
from dalembert.text import file_name

if TYPE_CHECKING:
    import xarray

    from dalembert.cli.app import ExciteOptions, PathOptions

FOLDER = Path("out")
MOTIONS = (".csv", ".nc", ".zarr")


def require_writable(
    path: Path | None, kinds: tuple[str, ...] = (".nc", ".zarr"), option: str = "--out"
) -> None:
    """Raise before a long run if its result could not be written to the path of the option."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise SimulationError(f"{option} {path}: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise SimulationError(f"{option} {path} is there already; remove it, or name another")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise SimulationError(f"{option} {path} cannot be written")
    if path.suffix not in kinds:
        raise SettingError(f"{option} {path}: the name must end in {' or '.join(kinds)}")


def write(run: xarray.Dataset, path: Path) -> None:
    """Write the result whole or not at all; if the disk refuses, to a temporary folder."""
    try:
        _write_run(run, path)
    except OSError as error:
        folder = Path(tempfile.mkdtemp(prefix="dalembert-"))
        try:
            _write_run(run, folder / path.name)
            rescue = f"the result is in {folder / path.name}"
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            rescue = f"nor could it be kept in {folder.parent}; make room and run it again"
        raise SimulationError(f"{path}: {error.strerror or error}; {rescue}") from None


def _write_run(run: xarray.Dataset, path: Path) -> None:
    if path.suffix == ".zarr":
        try:
            data = zarr_files(run)
        except ImportError:
            raise SimulationError("a .zarr result needs the package zarr; take .nc") from None
        with atomic_folder(path) as part:
            write_files(part, data)
        return
    # netCDF 4 where both packages it needs are installed, else netCDF 3, which SciPy writes;
    # as bytes, because libhdf5 ends the whole process where a disk refuses its own writing
    engine: Literal["h5netcdf", "scipy"] = "scipy"
    if all(map(find_spec, ("h5netcdf", "h5py"))):
        engine = "h5netcdf"
    content: bytes | memoryview
    try:
        content = run.to_netcdf(engine=engine)
    except ValueError:  # before 2025.9 xarray had no bytes of netCDF 4
        with tempfile.TemporaryDirectory(prefix="dalembert-") as folder:
            run.to_netcdf(Path(folder) / "run.nc", engine=engine)
            content = (Path(folder) / "run.nc").read_bytes()
    with atomic_file(path) as part:
        part.write_bytes(content)


def write_results(
    run: xarray.Dataset, system: System, options: PathOptions | ExciteOptions, name: str
) -> dict[str, Path]:
    """Write a motion and its page, where the options request them; the files by their options.

    As .csv the motion is a table that `read_log` understands, else all of it as netCDF or Zarr.
    """
    paths: dict[str, Path] = {}
    if options.out is not None:
        paths["out"] = options.out
        if options.out.suffix == ".csv":
            write_log(run, options.out)
        else:
            write(run, options.out)
    if options.report:
        paths["report"] = write_run_page(run, system, options.out, name)
    return paths


def write_text(path: Path, text: str) -> None:
    """Write a file of --out whole or not at all, making its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DalembertError(f"--out {path} cannot be written: {error.strerror}") from None


def write_run_page(run: xarray.Dataset, system: System | None, out: Path | None, name: str) -> Path:
    """Write the page of a run beside the file `out`, or to the folder for pages; return its path."""
    from dalembert.report.page import write_page
    from dalembert.report.runs import run_page

    path = out.with_suffix(".html") if out is not None else FOLDER / f"{file_name(name)}.html"
    with console().status("drawing …"):
        write_page(run_page(run, system), path)
    return path


def path_names(**paths: Path | None) -> dict[str, str]:
    """The files that were written, for JSON."""
    return {name: str(path) for name, path in paths.items() if path is not None}


def say_written(out: Path | None = None, report: Path | None = None) -> None:
    """Print the files that were written: of the result, and of its page."""
    screen = console()
    if out is not None:
        say(screen, f"written: {out}")
    if report is not None:
        lead = f"{report.stat().st_size / 1e6:.1f} MB, works without network. Now open "
        say(screen, lead, (str(report), "bold"), soft_wrap=True)
