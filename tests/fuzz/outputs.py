"""Hostile names on their way out: every text we write must say them and obey none of them."""

from __future__ import annotations

import json
import re
import tempfile
from functools import cache
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import dalembert as dl
from dalembert.cli import output
from dalembert.errors import ImportFileError, ModelError
from dalembert.report.page import page
from dalembert.systems.export import export
from dalembert.text import c_identifier, file_name, latex, visible
from tests.fuzz.names import name as hostile_name

HARMLESS_LATEX = re.compile(r"(?:[^\\{}$&#%_^~<>|\"]|\\text[a-z]+\{\}|\\[{}$&#%_])*")


def case(rng: np.random.Generator) -> str:
    """A name."""
    return hostile_name(rng)


def outcome(name: str) -> str:
    """ "accepted" if every output is sound, "refused" by the reader, or the output that is not."""
    named = robot(name)
    for check in (sources, exports, robot_files, latex_text, html_text, console_text):
        if fault := check(named):
            return f"{check.__name__}: {fault}"
    return "accepted"


def robot(name: str) -> dl.Robot:
    """A robot whose joint and link have the name as well."""
    joint = {"type": "revolute", "name": f"j{name}", "axis": (0, 1, 0)}
    body = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.1, 0.2, 0.2])}
    return dl.Robot.from_links([{"name": f"l{name}", "joint": joint, **body}], name=name)


def code(text: str, function: str) -> str:
    """C without comments and spaces, with one name for the function; empty if it is none."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    if not text.isascii() or "/*" in bare or "*/" in bare:
        return ""
    return "".join(bare.replace(function, "F").replace(function.upper(), "F").split())


@cache
def plain_code(target: str) -> str:
    """The code of a robot with a harmless name."""
    return code(robot("plain").source("gravity_torque", target), "dalembert_plain_gravity_torque")


def sources(robot: dl.Robot) -> str:
    """The code of C and CUDA is the same for every name."""
    function = c_identifier(f"dalembert_{robot.name}_gravity_torque")
    for target in ("c", "h", "cuda"):
        if code(robot.source("gravity_torque", target), function) != plain_code(target):
            return f"{target} differs"
    return ""


def exports(robot: dl.Robot) -> str:
    """Files lie in their folder, and nowhere else."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "a" / "b"
        written = set(export(robot, "gravity_torque", "c", folder))
        files = {path for path in Path(top).rglob("*") if path.is_file()}
    name = file_name(robot.name)
    good = written == files and {p.parent for p in written} == {folder} and Path(name).name == name
    return "" if good else f"{sorted(map(str, files))}"


def robot_files(robot: dl.Robot) -> str:
    """URDF reads back the same names, or refuses to hold them."""
    try:
        again = dl.Robot.from_urdf(robot.to_urdf())
    except (ModelError, ImportFileError):
        return ""
    same = again.joints[0].name == robot.joints[0].name and again.name == (robot.name or "robot")
    return "" if same else f"reads back {again!r}"


def latex_text(robot: dl.Robot) -> str:
    """No command, no group, no comment."""
    return "" if HARMLESS_LATEX.fullmatch(latex(robot.name)) else latex(robot.name)


class Tags(HTMLParser):
    """Tags of a page in their order, its words, and what its data hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[Any] = []
        self.words: list[str] = []
        self.data, self.inside = "", None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(key for key, _ in attrs)))
        self.inside = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")
        self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside == "data":
            self.data += data
        else:
            self.words.append(data)


def small_page(name: str) -> Tags:
    """A page with the name wherever a name can stand."""
    charts = {"t": [0.0], "charts": [{"title": name}], "scene": None}
    return Tags(page(name, name, name, charts, [("model", name, "<p>x</p>")]))


@cache
def plain_tags() -> list[Any]:
    """The elements of the page of a harmless name."""
    return small_page("plain").tags


def html_text(robot: dl.Robot) -> str:
    """The same elements on every page, and the name as it is in the data."""
    page = small_page(robot.name)
    title = json.loads(page.data)["charts"][0]["title"] if page.data else None
    return "" if page.tags == plain_tags() and title == robot.name else "page differs"


def console_text(robot: dl.Robot) -> str:
    """Marks are words, and no terminal obeys them."""
    screen = Console(file=StringIO(), width=9000, highlight=False, emoji=False)
    output.show_table(screen, robot.name, (robot.name,), [(f"j{robot.name}|",)])
    output.say(screen, (f"k{robot.name}", "bold"), "|")
    text = screen.file.getvalue()
    expected = visible(robot.name)
    good = f"j{expected}|" in text and f"k{expected}|" in text and "\x1b" not in text
    return "" if good else text[:200]
