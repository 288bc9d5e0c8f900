"""Mechanisms in absolute coordinates: every body free, every joint a constraint, λ the answer."""

from dalembert.mechanisms.file import read_mechanism
from dalembert.mechanisms.motions import (
    ConstantAcceleration,
    ConstantSpeed,
    Quintic,
    Sine,
    Spline,
    Trapezoid,
)
from dalembert.mechanisms.newtonian import FreeBodies, free_bodies
from dalembert.mechanisms.planar import PlanarMechanism
from dalembert.mechanisms.spatial import SpatialMechanism
from dalembert.mechanisms.state import State

__all__ = [
    "ConstantAcceleration",
    "ConstantSpeed",
    "FreeBodies",
    "PlanarMechanism",
    "Quintic",
    "Sine",
    "SpatialMechanism",
    "Spline",
    "State",
    "Trapezoid",
    "free_bodies",
    "read_mechanism",
]
