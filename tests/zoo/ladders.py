"""The ladder of N four-bars of the zoo as one robot, which costs N³."""

import numpy as np

from dalembert.constraints import Constrained, Loop
from dalembert.systems.robot import Robot
from dalembert.zoo.constrained_loops import DOWN
from dalembert.zoo.entry import pinned, pose_at


def dense(N: int = 2) -> Constrained:
    """The rods and couplers of `n_four_bar`, closed by N pins."""
    links, frames, loops = [], {}, []
    for k in range(N + 1):
        rod = pinned(f"rod{k}", None, (float(k), 0.0), 1.0, 1.0)
        links.append(rod)
        frames[f"rod_tip{k}"] = (rod["name"], pose_at((1.0, 0.0, 0.0)))
        if k < N:
            coupler = pinned(f"coupler{k}", rod["name"], (1.0, 0.0), 1.0, 1.0)
            links.append(coupler)
            frames[f"coupler_tip{k}"] = (coupler["name"], pose_at((1.0, 0.0, 0.0)))
            pins = (f"rod_tip{k + 1}", f"coupler_tip{k}")
            loops.append(Loop(*pins, "pin", along="world", name=f"pin{k}"))
    robot = Robot.from_links(links, frames=frames, gravity=DOWN, name="n_four_bar")
    guess = np.array([np.pi / 2, -np.pi / 2] * N + [np.pi / 2])
    return Constrained(robot, loops, guess=guess, independent=("rod0",))
