"""Operations of the package that leave files on disk, with their results where nothing fails.

An operation fills a folder, or goes on with what it finds there, and returns bytes by which its
result is known. The files of its folder are known by their names: none of them is ever half there.
"""

from __future__ import annotations

import gc
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

import dalembert as dl
from dalembert.files import output_file
from dalembert.logs.tables import write_log
from dalembert.report.page import write_page
from dalembert.report.studio.files import EditedFile
from dalembert.systems.export import export

STATE = ([0.3], [0.1], [0.2])


@cache
def run() -> Any:
    """A short run of a pendulum."""
    return dl.simulate(dl.load("pendulum"), [0.3], [0.0], duration=0.1, dt=0.02, method="rk4")


def cached(folder: Path) -> bytes:
    """A kernel from the cache, or compiled and left there."""
    with patch.dict(os.environ, {"DALEMBERT_CACHE": str(folder / "cache")}):
        robot = dl.Robot(replace(dl.load("pendulum").model, name="mine"))
        gc.collect()  # kernels of the same program are shared as long as one is held
        return np.asarray(robot.inverse_dynamics(*STATE)).tobytes()


def checkpoint(folder: Path) -> bytes:
    """A run that leaves checkpoints, and is gone on with where they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.SimulationWarning)
        run = dl.simulate(
            dl.load("pendulum"),
            *([0.3], [0.0]),
            duration=0.04,
            dt=0.02,
            method="rk4",
            checkpoint=folder / "points",
        )
    return b"".join(run[name].values.tobytes() for name in ("time", "q", "qd"))


def exported(target: str) -> Callable[[Path], bytes]:
    """Source text or a module in files."""

    def operation(folder: Path) -> bytes:
        export(dl.load("pendulum"), "gravity_torque", target, folder / "out")
        return b""

    return operation


def page(folder: Path) -> bytes:
    """A page."""
    write_page("<html>" + "x" * 5000 + "</html>", folder / "new" / "page.html")
    return b""


def table(folder: Path) -> bytes:
    """A log as CSV."""
    write_log(run(), folder / "log.csv")
    return b""


def command(*words: str) -> Callable[[Path], bytes]:
    """A line of the command, with the folder for {}."""

    def operation(folder: Path) -> bytes:
        from typer.testing import CliRunner

        from dalembert.cli.app import app

        result = CliRunner().invoke(app, [word.replace("{}", str(folder)) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if result.exit_code:
            raise dl.DalembertError(result.stderr)
        return b""

    return operation


@cache
def _fit() -> Any:
    from tests.identification.logs import CLEAN, other_robot, ugly_log

    prior = dl.load("pendulum")
    log = ugly_log(prior, replace(CLEAN, rate=50.0, duration=4.0), other_robot(prior, 1, 0.3))
    return dl.identify(prior, log.log, consistent=False)


def fit(folder: Path) -> bytes:
    """A fit in a file."""
    _fit().save(folder / "fit.npz")
    return b""


def sweep(folder: Path) -> bytes:
    """A study in a store, gone on with where it is."""
    from tests.sweeps.studies import arm, settings

    over, store = {"load": [0.0, 1.0]}, folder / "store"
    study = dl.sweep(arm(), over, settings(), "peak_torque", store, chunk=1, progress=False)
    read = study.compute(scheduler="synchronous")  # the threads of Dask's own pool survive no fork
    return b"".join(np.asarray(read[name].values).tobytes() for name in sorted(read.data_vars))


def robot_file(ending: str) -> Callable[[Path], bytes]:
    """A robot, as `identify --out` writes it."""

    def operation(folder: Path) -> bytes:
        from dalembert.cli.results import write_text

        arm = dl.load("pendulum")
        write_text(folder / f"arm.{ending}", arm.to_urdf() if ending == "urdf" else arm.to_mjcf())
        return b""

    return operation


def stored_run(ending: str) -> Callable[[Path], bytes]:
    """A run, as `simulate --out` writes it; where the disk refuses, it is kept elsewhere."""

    def operation(folder: Path) -> bytes:
        from dalembert.cli.results import write

        with TemporaryDirectory() as other, patch.object(tempfile, "tempdir", other):
            write(run(), folder / f"run.{ending}")
        return b""

    return operation


@cache
def _images() -> list[Any]:
    from PIL import Image

    return [Image.new("P", (40, 30), k) for k in range(3)]


def animation(folder: Path) -> bytes:
    """A GIF."""
    from dalembert.report.figures import _save

    _save(_images(), folder / "new" / "motion.gif", 50.0)
    return b""


def plot(folder: Path) -> bytes:
    """A picture of curves."""
    from dalembert.report.growth import plot_growth

    plot_growth([], folder / "counts.png", 4)
    return b""


def studio(folder: Path) -> bytes:
    """The file of the studio, saved over what is there."""
    path = folder / "arm.urdf"
    if not path.exists():
        with output_file(path) as part:
            part.write_text("<robot name='a'/>" * 100)
    file = EditedFile(path)
    file.save("<robot name='b'/>" * 100, file.read()[1])
    return b""


OPERATIONS: dict[str, Callable[[Path], bytes]] = {
    "cache": cached,
    "checkpoint": checkpoint,
    "export to C": exported("c"),
    "export to CUDA": exported("cuda"),
    "export to WebAssembly": exported("wasm"),
    "page": page,
    "log": table,
    "equations": command("equations", "pendulum", "--latex", "--out", "{}/a.tex"),
    "fit": fit,
    "sweep": sweep,
    "export to CasADi": exported("casadi"),
    "identified URDF": robot_file("urdf"),
    "identified MJCF": robot_file("xml"),
    "run as NetCDF": stored_run("nc"),
    "run as Zarr": stored_run("zarr"),
    "animation": animation,
    "plot": plot,
    "studio": studio,
}
