"""Mechanisms from a TOML file: the same calls as in Python, checked with line numbers.

name = "slider_crank"
kind = "planar"                      # or "spatial"
gravity = [0.0, -9.81]

[ground]
O = [0.0, 0.0]

[[body]]
name = "crank"
mass = 1.0
inertia = 0.01
at = [0.1, 0.0]
points = { A = [-0.1, 0.0], B = [0.1, 0.0] }

[[joint]]
name = "pin"
type = "revolute"
between = ["ground.O", "crank.A"]

[[driver]]
name = "motor"
on = "pin"
motion = "constant_speed"
start = 0.0
end = 6.28
duration = 1.0
"""

from __future__ import annotations

from pathlib import Path

from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.planar import PlanarMechanism
from dalembert.mechanisms.spatial import SpatialMechanism
from dalembert.mechanisms.tables import MAX_PARTS as MAX_PARTS
from dalembert.mechanisms.tables import build


def read_mechanism(source: str | Path) -> Mechanism:
    """The mechanism in a TOML file, or in a text that holds one.

    >>> text = '''
    ... name = "pendulum"
    ... [[body]]
    ... name = "bob"
    ... mass = 1.0
    ... inertia = 0.1
    ... at = [1.0, 0.0]
    ... [[joint]]
    ... name = "rod"
    ... type = "distance"
    ... between = ["ground", "bab"]
    ... '''
    >>> read_mechanism(text)
    Traceback (most recent call last):
    ...
    dalembert.errors.ImportFileError: line 11: joint 'rod': no body 'bab'; did you mean 'bob'? ...
    """
    return build(source, {"planar": PlanarMechanism, "spatial": SpatialMechanism})
