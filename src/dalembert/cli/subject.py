"""What a command is about: the robot that a word names."""

from __future__ import annotations

from typing import Any

import dalembert
from dalembert.errors import DalembertError
from dalembert.systems.robot import Robot


def load_robot(name: str, **options: Any) -> Robot:
    """The robot of the zoo, or in a file; a system of another kind is an error that says which."""
    found = dalembert.load(name, **options)
    if not isinstance(found, Robot):
        raise DalembertError(
            f"{name} is no robot but a {type(found).__name__}; this command is for robots"
        )
    return found
