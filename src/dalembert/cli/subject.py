"""What a command is about: the system or robot that a word names."""

from __future__ import annotations

from typing import Any

import dalembert
from dalembert.cli.options import TRUSTED
from dalembert.errors import DalembertError
from dalembert.systems.robot import Robot


def load(name: str, **options: Any) -> Any:
    """The system of the zoo or in a file, which may open what ``dalembert --trust`` names."""
    if TRUSTED:
        options["trust"] = TRUSTED
    return dalembert.load(name, **options)


def load_robot(name: str) -> Robot:
    """The robot of the zoo or in a file, or the one that its constraints hold."""
    found = load(name).robot
    if found is None:
        raise DalembertError(f"{name} has no links to draw; give a robot")
    return found
