"""The doors for robot files: mutated URDF and MJCF."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

from dalembert.systems.robot import Robot
from tests.fuzz.mutate import mutated
from tests.fuzz.sound import faults, slips, sound_robot

CORPUS = Path(__file__).parent / "corpus"


@cache
def corpus(kind: str) -> list[bytes]:
    """Our own files, and the smaller ones of example-robot-data where it is installed."""
    ending = {"urdf": "*.urdf", "mjcf": "*.xml"}[kind]
    found = [path.read_bytes() for path in sorted(CORPUS.glob(ending))]
    if kind == "urdf":
        try:
            shipped = [f for f in files("example-robot-data") or () if f.suffix == ".urdf"]
        except PackageNotFoundError:
            shipped = []
        texts = [Path(str(f.locate())).read_bytes() for f in sorted(shipped)]
        found += [text for text in texts if len(text) < 20_000]
    return found


def urdf(rng: np.random.Generator) -> bytes:
    """A mutated URDF."""
    return _mutated("urdf", rng)


def mjcf(rng: np.random.Generator) -> bytes:
    """A mutated MJCF."""
    return _mutated("mjcf", rng)


def _mutated(kind: str, rng: np.random.Generator) -> bytes:
    seeds = corpus(kind)
    return mutated(seeds[int(rng.integers(len(seeds)))], rng)


def read_urdf(data: bytes) -> str:
    """Accepted only if a second opinion finds no fault, and no slip that is not said."""
    robot = Robot.from_urdf(data)
    if found := faults(data):
        return f"accepted silently: {found[0]}"
    if (found := slips(data)) and not robot.notes.warnings:
        return f"accepted without a warning: {found[0]}"
    return sound_robot(robot)


def read_mjcf(data: bytes) -> str:
    """Accepted only with a sound mass matrix."""
    return sound_robot(Robot.from_mjcf(data))
