"""Seconds from a file to the first results of large models: scenes of humanoids, and a soft foot.

Run it from the top folder: ``python -m benchmarks.sizes``; nothing is cached. ``--model`` takes another
file of one robot, of which scenes are made.
"""

from __future__ import annotations

import argparse
import copy
import os
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from tests.constraints.soft_foot import soft_foot

COUNTS = (1, 2, 4, 8, 16)
_BESIDE = ("asset", "visual", "keyframe", "sensor", "contact", "actuator", "tendon")


def scene(path: Path, count: int) -> str:
    """The bodies of a file so many times, without what dynamics does not need."""
    root = ET.parse(path).getroot()
    for tag in _BESIDE:
        for element in root.findall(tag):
            root.remove(element)
    for element in root.iter():
        element.attrib.pop("material", None)
        for child in list(element):
            if child.tag in ("camera", "light"):
                element.remove(child)
    world = root.find("worldbody")
    assert world is not None, f"{path} has no worldbody"
    bodies = [child for child in world if child.tag == "body"]
    for child in list(world):
        world.remove(child)
    for k in range(count):
        for body in map(copy.deepcopy, bodies):
            for element in body.iter():
                if "name" in element.attrib:
                    element.attrib["name"] += f"_{k}"
            world.append(body)
    return ET.tostring(root, encoding="unicode")


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def scenes(path: Path) -> Table:
    """First results of more and more copies of a robot."""
    quantities = ("mass_matrix", "inverse_dynamics", "forward_dynamics")
    table = Table(title=f"{path.stem}: seconds to the first result")
    for column in ("robots", "coordinates", "load", *quantities):
        table.add_column(column, justify="right")
    for count in COUNTS:
        text = scene(path, count)
        start = time.perf_counter()
        robot = dl.Robot.from_mjcf(text)
        load = time.perf_counter() - start
        q, still = robot.neutral(), np.zeros(robot.nv)
        calls = (
            partial(robot.mass_matrix, q),
            partial(robot.inverse_dynamics, q, still, still),
            partial(robot.forward_dynamics, q, still, still),
        )
        times = [load, *map(seconds, calls)]
        table.add_row(str(count), str(robot.nv), *(f"{t:.2f}" for t in times))
    return table


def foot() -> Table:
    """A soft foot: loading it closed, then first and later results."""
    table = Table(title="soft foot: seconds")
    for column in ("", "first", "again"):
        table.add_column(column, justify="left" if not column else "right")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soft_foot.xml"
        path.write_text(soft_foot())
        start = time.perf_counter()
        closed = dl.load(str(path))
        table.add_row(f"load: {closed.nv} coordinates, {closed.rows} rows", *_row(start), "")
    q, rng = closed.neutral(), np.random.default_rng(0)
    qd, tau = np.zeros(closed.nv), rng.normal(size=closed.nv)
    calls = {
        "forward_dynamics": lambda: closed.forward_dynamics(q, qd, tau),
        "inverse_dynamics": lambda: closed.inverse_dynamics(q, qd, qd),
        "project_velocity": lambda: closed.project_velocity(q, tau),
    }
    for name, call in calls.items():
        table.add_row(name, f"{seconds(call):.2f}", f"{seconds(call):.4f}")
    return table


def _row(start: float) -> tuple[str]:
    return (f"{time.perf_counter() - start:.2f}",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    spec = find_spec("gymnasium")
    inside = "envs/mujoco/assets/humanoid.xml"
    default = Path(str(spec.origin)).parent / inside if spec else None
    parser.add_argument("--model", type=Path, default=default, help="an MJCF file of one robot")
    model = parser.parse_args().model
    os.environ["DALEMBERT_CACHE"] = "off"
    console = Console()
    if model is not None:
        console.print(scenes(model))
    console.print(foot())


if __name__ == "__main__":
    main()
