"""Actuators as MJCF: each a <general>, which says everything the shorthands do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.write import numbers
from dalembert.model.actuators import Actuator, Range
from dalembert.model.model import Model

FAR = 1e30  # for MuJoCo a range has two ends
_TARGETS = {
    "joint": ("joint", ""),
    "joint_in_parent": ("jointinparent", ""),
    "tendon": ("tendon", ""),
    "site": ("site", "refsite"),
    "crank": ("cranksite", "slidersite"),
}


def actuator_lines(model: Model, quoted: Callable[[str], str]) -> list[str]:
    """The <actuator> element; none where there are no actuators."""
    lines = [f"    <general {_words(a, quoted)}/>" for a in model.driven_by.actuators]
    return ["  <actuator>", *lines, "  </actuator>"] if lines else []


def joint_range(model: Model, joint: str, effort: float = np.inf) -> str:
    """Limits of what all actuators exert on a joint, as attributes.

    Without actuators, whose own limits say it, they are the joint's effort limit.
    """
    found = model.driven_by.joint_ranges.get(joint)
    if found is None and not model.driven_by.actuators and 0.0 < effort < np.inf:
        found = (-effort, effort)
    return "" if found is None else " " + _range("actuatorfrc", found, f"joint {joint!r}")


def tendon_range(model: Model, tendon: str) -> str:
    """Limits of what all actuators exert through a tendon, as attributes."""
    found = model.driven_by.tendon_ranges.get(tendon)
    return "" if found is None else " " + _range("actuatorfrc", found, f"tendon {tendon!r}")


def timestep(model: Model) -> str:
    """The step by which MuJoCo takes activations early, as an attribute of <option>."""
    leads = {a.lead for a in model.driven_by.actuators if a.lead}
    if len(leads) > 1:
        raise ModelError(
            f"{model.name}: MuJoCo has one lead for all actuators, not {sorted(leads)}"
        )
    return f' timestep="{numbers(leads)}"' if leads else ""


def sites(model: Model, written: set[str]) -> list[str]:
    """Frames that actuators pull at and that are no sites yet."""
    ends = [
        name
        for a in model.driven_by.actuators
        if a.transmission in ("site", "crank")
        for name in (a.target, a.reference)
    ]
    return [name for name in dict.fromkeys(ends) if name is not None and name not in written]


def _words(a: Actuator, quoted: Callable[[str], str]) -> str:
    target, reference = _TARGETS[a.transmission]
    what = f"actuator {a.name!r}"
    words = [f"name={quoted(a.name)} {target}={quoted(a.target)}"]
    if a.reference is not None:
        words.append(f"{reference}={quoted(a.reference)}")
    if a.transmission == "crank":
        words.append(f'cranklength="{numbers([a.rod])}"')
    gain = "affine" if np.any(a.gain[1:]) else "fixed"
    words.append(f'gear="{numbers(a.gear)}" gaintype="{gain}" gainprm="{numbers(a.gain)}"')
    words.append(f'biastype="affine" biasprm="{numbers(a.bias)}"' if np.any(a.bias) else "")
    if a.active:
        words.append(f'dyntype="{a.dynamics}" dynprm="{numbers([a.time_constant])}"')
        words.append('actearly="true"' if a.lead else "")
    ranges = {"ctrl": a.control_range, "force": a.force_range, "act": a.activation_range}
    words += [_range(key, pair, what) for key, pair in ranges.items()]
    return " ".join(word for word in words if word)


def _range(key: str, pair: Range, what: str) -> str:
    if not np.isfinite(pair).any():
        return ""
    low, high = np.clip(pair, -FAR, FAR)
    if not low < high:
        raise ModelError(f"{what}: MuJoCo takes no range from {low:g} to {high:g}")
    return f'{key}limited="true" {key}range="{numbers((low, high))}"'
