"""Fuzz targets for robot files: URDF and MJCF, mutated or made by a grammar."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

from dalembert.systems.robot import Robot
from tests.fuzz import grammar
from tests.fuzz.mutate import mutated
from tests.fuzz.peers import like_mujoco, like_pinocchio
from tests.fuzz.sound import faults, slips, sound_robot

CORPUS = Path(__file__).parent / "corpus"
BY_GRAMMAR = 0.3  # share of cases


@cache
def corpus(kind: str) -> list[bytes]:
    """Our own files, and the smaller ones of example-robot-data where it is installed."""
    ending = {"urdf": "*.urdf", "mjcf": "*.xml"}[kind]
    files_read = [path.read_bytes() for path in sorted(CORPUS.glob(ending))]
    if kind == "urdf":
        try:
            shipped = [f for f in files("example-robot-data") or () if f.suffix == ".urdf"]
        except PackageNotFoundError:
            shipped = []
        texts = [Path(str(f.locate())).read_bytes() for f in sorted(shipped)]
        files_read += [text for text in texts if len(text) < 20_000]
    return files_read


def urdf(rng: np.random.Generator, earlier: bytes | None = None) -> bytes:
    """A mutated URDF, or one of the grammar's."""
    return _case("urdf", rng, earlier)


def mjcf(rng: np.random.Generator, earlier: bytes | None = None) -> bytes:
    """A mutated MJCF, or one of the grammar's."""
    return _case("mjcf", rng, earlier)


def _case(kind: str, rng: np.random.Generator, earlier: bytes | None) -> bytes:
    if earlier is not None:
        return mutated(earlier, rng)
    if rng.random() < BY_GRAMMAR:
        return {"urdf": grammar.urdf, "mjcf": grammar.mjcf}[kind](rng)
    seeds = corpus(kind)
    return mutated(seeds[int(rng.integers(len(seeds)))], rng)


def read_urdf(data: bytes) -> str:
    """Accepted only if a second opinion finds no fault and no slip that is not said.

    Where nothing is to be said of a file, its torques are Pinocchio's.
    """
    robot = Robot.from_urdf(data)
    if problems := faults(data):
        return f"accepted silently: {problems[0]}"
    if (problems := slips(data)) and not robot.notes.warnings:
        return f"accepted without a warning: {problems[0]}"
    differs = "" if robot.notes.warnings else like_pinocchio(robot, data)
    return differs or sound_robot(robot)


def read_mjcf(data: bytes) -> str:
    """Accepted only with MuJoCo's torques and a sound mass matrix."""
    robot = Robot.from_mjcf(data)
    return like_mujoco(robot, data) or sound_robot(robot)
