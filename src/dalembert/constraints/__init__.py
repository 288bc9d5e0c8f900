"""Constraints on any system: kinds, routes to motion and forces, closed chains, contacts."""

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.kinds import Constraint, Driver, Holonomic, Pfaffian
from dalembert.constraints.loops import Distance, JointCoupling, Loop

__all__ = [
    "Constrained",
    "Constraint",
    "Distance",
    "Driver",
    "Holonomic",
    "JointCoupling",
    "Loop",
    "Pfaffian",
]
