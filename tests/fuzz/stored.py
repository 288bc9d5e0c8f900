"""Fuzz targets for what the package itself has left on disk: checkpoints, cached kernels, stores of
sweeps, stored fits. Damaged in any way, they give the numbers they gave before, or are refused.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dalembert as dl
from dalembert.kernels.call import cache as kernels
from tests.fuzz.mutate import delete_span, flip_byte, repeat_span, truncate

BLIND = (flip_byte, delete_span, repeat_span, truncate)
STATE = ([0.3], [0.1], [0.2])


class Damage(NamedTuple):
    """What happens to the files of a folder, by the seed that decides it."""

    seed: int


def damage(rng: np.random.Generator, earlier: Damage | None = None) -> Damage:
    """One to three files are changed, lost, or exchanged for each other."""
    return Damage(int(rng.integers(2**31)))


checkpoint = cached = store = fit = damage


def damaged(folder: Path, rng: np.random.Generator) -> None:
    """Change some of the files below a folder; now and then none."""
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if not files:
            return
        file, other = (files[int(rng.integers(len(files)))] for _ in range(2))
        kind = rng.choice(["bytes", "bytes", "bytes", "lost", "noise", "exchanged"])
        if kind == "lost":
            file.unlink()
        elif kind == "noise":
            file.write_bytes(rng.bytes(len(file.read_bytes())))
        elif kind == "exchanged":
            file.write_bytes(other.read_bytes())
        else:
            blind = BLIND[int(rng.integers(len(BLIND)))]
            file.write_bytes(blind(file.read_bytes(), rng))


@cache
def _original(make: Callable[[Path], Any]) -> tuple[tempfile.TemporaryDirectory[str], Any]:
    """A folder that `make` has filled, and what it returned."""
    folder = tempfile.TemporaryDirectory()
    return folder, make(Path(folder.name) / "kept")


@contextmanager
def _copy(make: Callable[[Path], Any], case: Damage) -> Iterator[tuple[Path, Any]]:
    """A damaged copy of the folder, and what the whole one gave."""
    original, expected = _original(make)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(Path(original.name) / "kept", Path(folder) / "kept"))
        damaged(copy, np.random.default_rng(case.seed))
        yield copy, expected


def _run(folder: Path) -> tuple[bytes, ...]:
    """A run that is left in the folder, or gone on with."""
    run = dl.simulate(
        dl.load("pendulum"), [0.3], [0.0], duration=0.4, dt=0.01, method="rk4", checkpoint=folder
    )
    return tuple(run[name].values.tobytes() for name in ("time", "q", "qd", "work"))


def resumed(case: Damage) -> str:
    """The run, gone on with from a damaged checkpoint."""
    with _copy(_run, case) as (folder, expected):
        return "accepted" if _run(folder) == expected else "accepted with other numbers"


@contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    before = os.environ.get("DALEMBERT_CACHE")
    os.environ["DALEMBERT_CACHE"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["DALEMBERT_CACHE"]
        else:
            os.environ["DALEMBERT_CACHE"] = before


def _kernels(folder: Path) -> bytes:
    """Torques by kernels of the folder, which are compiled where they are not there."""
    with _cache_in(folder):
        robot = dl.Robot(dl.load("pendulum").model)  # with no kernel yet
        values = robot.inverse_dynamics(*STATE), robot.mass_matrix(STATE[0])
        return b"".join(np.asarray(x).tobytes() for x in values)


def served(case: Damage) -> str:
    """Kernels from a damaged cache: "refused" where an entry is not whole, and compiled anew."""
    with _copy(_kernels, case) as (folder, expected):
        folder.chmod(0o700)
        with _cache_in(folder):
            whole = len(kernels.entries()) == sum(one.intact for one in kernels.entries())
        if _kernels(folder) != expected:
            return "other numbers"
        return "accepted" if whole else "refused"


def _sweep(folder: Path) -> dict[str, bytes]:
    """A study that is kept in the folder, or gone on with."""
    from tests.sweeps.studies import REDUCE, arm, settings

    over = {"load": [0.0, 1.0], "friction": [0.1, 0.5]}
    study = dl.sweep(arm(), over, settings(), REDUCE, folder, chunk=2, progress=False)
    return {str(name): np.asarray(x.values).tobytes() for name, x in study.data_vars.items()}


def continued(case: Damage) -> str:
    """The study, read again from a damaged store."""
    with _copy(_sweep, case) as (folder, expected):
        return "accepted" if _sweep(folder) == expected else "accepted with other numbers"


def _fit(folder: Path) -> bytes:
    """Numbers of a fit in the folder, which is made where there is none."""
    from tests.identification.logs import CLEAN, other_robot, replace, ugly_log

    path = folder / "fit.npz"
    if not folder.exists():
        folder.mkdir()
        prior = dl.load("pendulum")
        log = ugly_log(prior, replace(CLEAN, rate=50.0, duration=4.0), other_robot(prior, 1, 0.3))
        dl.identify(prior, log.log, consistent=False).save(path)
    return dl.refit(path).estimate.beta.tobytes()


def refitted(case: Damage) -> str:
    """The fit, made again from a damaged file."""
    with _copy(_fit, case) as (folder, expected):
        return "accepted" if _fit(folder) == expected else "accepted with other numbers"
