"""A scenario of the two-bar arm from a TOML file, with one's own numbers.

scenario = "joint_interpolated"
lengths = [1.2, 0.9]                 # m
masses = [2.0, 1.5]                  # kg
phi_start = [0.0, 0.5]               # φ₂ and θ, rad
phi_end = [1.0, -0.5]
delta_t = 1.5                        # s
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError
from dalembert.mechanisms.tables import parsed, source_of
from dalembert.zoo.two_bar_scenarios import Scenario, scenario


def names_scenario(source: str | Path) -> bool:
    """Whether a TOML file is a scenario, not a mechanism of its own."""
    return "scenario" in parsed(source_of(source))


def read_scenario(source: str | Path, **numbers: Any) -> Scenario:
    """The scenario in a TOML file or text; `numbers` come before those of the file.

    >>> read_scenario("scenario = 'double_pendulum'\\ndelta_t = 0.5\\n").duration
    0.5
    """
    at = source_of(source)
    data = parsed(at)
    name = data.pop("scenario", None)
    if not isinstance(name, str):
        at.fail('a scenario file says scenario = "joint_interpolated", or another one')
    try:
        return scenario(name, **{**data, **numbers})
    except DalembertError as error:
        words = str(error)
        spoken = (key for key in data if re.search(rf"\b{re.escape(key)}\b", words))
        at.fail(words, None, 0, next(spoken, "scenario"))
