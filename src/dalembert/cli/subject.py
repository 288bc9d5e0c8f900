"""What a command is about, where it must have links: the robot that a word names."""

from __future__ import annotations

import dalembert
from dalembert.errors import DalembertError
from dalembert.systems.robot import Robot


def load_robot(name: str) -> Robot:
    """The robot of the zoo or in a file, or the one that its constraints hold."""
    found = dalembert.load(name).robot
    if found is None:
        raise DalembertError(f"{name} has no links to draw; give a robot")
    return found
