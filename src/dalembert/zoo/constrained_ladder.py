"""The N-four-bar ladder: N + 1 rods on the ground, each tip joined to the next by a coupler."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints import Constrained, Loop, Network
from dalembert.systems.robot import Robot
from dalembert.zoo.chain import place
from dalembert.zoo.entry import register
from dalembert.zoo.rods import pinned

DOWN = (0.0, -9.81, 0.0)


def _next_tip(a: Any, b: Any) -> Any:
    """The coupler's tip of a unit, seen from its ground, is one metre from the next rod's tip."""
    gap = a.pose("coupler_tip")[1] - b.pose("rod_tip")[1]
    return np.stack([gap[0] - 1.0, gap[1]])


@register(
    "n_four_bar",
    "Ladder of N four-bar loops",
    "González, Dopico, Lugrís and Cuadrado, Multibody System Dynamics 16 (2006)",
)
def build(N: int = 40) -> Network:
    """Rods and couplers of one metre and one kilogram in the x–y plane: one degree of freedom.

    Unit i is rod i with the coupler on its tip, its own ground as origin; the last is a rod alone.
    All angles zero is the upright ladder with its couplers level.
    """
    rod = pinned("rod", None, (0.0, 0.0), 1.0, 1.0)
    upright = np.eye(4)
    upright[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    rod["joint"] = {**rod["joint"], "origin": upright}
    del rod["joint"]["origin_xyz"]
    coupler = pinned("coupler", rod["name"], (1.0, 0.0), 1.0, 1.0)
    level = upright.T.copy()
    level[:3, 3] = [1.0, 0.0, 0.0]
    coupler["joint"] = {**coupler["joint"], "origin": level}
    del coupler["joint"]["origin_xyz"]
    tips = {
        "rod_tip": (rod["name"], place((1.0, 0.0, 0.0))),
        "coupler_tip": (coupler["name"], place((1.0, 0.0, 0.0))),
    }
    unit = Robot.from_links([rod, coupler], frames=tips, gravity=DOWN, name="rod_and_coupler")
    last = Robot.from_links(
        [rod], frames={"rod_tip": tips["rod_tip"]}, gravity=DOWN, name="last_rod"
    )
    links = [(k, k + 1, _next_tip) for k in range(N)]
    return Network([unit] * N + [last], links, name="n_four_bar")


def dense(N: int = 2) -> Constrained:
    """The same ladder as one robot closed by N pins; its cost grows as N³."""
    links, frames, loops = [], {}, []
    for k in range(N + 1):
        rod = pinned(f"rod{k}", None, (float(k), 0.0), 1.0, 1.0)
        links.append(rod)
        frames[f"rod_tip{k}"] = (rod["name"], place((1.0, 0.0, 0.0)))
        if k < N:
            coupler = pinned(f"coupler{k}", rod["name"], (1.0, 0.0), 1.0, 1.0)
            links.append(coupler)
            frames[f"coupler_tip{k}"] = (coupler["name"], place((1.0, 0.0, 0.0)))
            pins = (f"rod_tip{k + 1}", f"coupler_tip{k}")
            loops.append(Loop(*pins, "pin", along="world", name=f"pin{k}"))
    robot = Robot.from_links(links, frames=frames, gravity=DOWN, name="n_four_bar")
    guess = np.array([np.pi / 2, -np.pi / 2] * N + [np.pi / 2])
    return Constrained(robot, loops, guess=guess, independent=("rod0",))
