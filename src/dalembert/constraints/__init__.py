"""Constraints on any system: kinds, routes to motion and forces, closed chains, contacts."""

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.constrained_lagrangian import EarlySubstitution, early_substitution
from dalembert.constraints.contact import PointOnSurface, Rolling, Sliding, SoftFinger
from dalembert.constraints.contact_systems import ContactBody, Touching
from dalembert.constraints.geometry import Mobility
from dalembert.constraints.holonomy import Holonomy, growth_vector, is_holonomic
from dalembert.constraints.kinds import Constraint, Driver, Holonomic, Pfaffian
from dalembert.constraints.loops import Distance, JointCoupling, Loop, TendonCoupling
from dalembert.constraints.quasi_velocities import QuasiVelocities
from dalembert.constraints.surfaces import Cylinder, Ellipsoid, Plane, Sphere, Surface, Torus
from dalembert.systems.status import Flagged, Status

__all__ = [
    "Constrained",
    "Constraint",
    "ContactBody",
    "Cylinder",
    "Distance",
    "Driver",
    "EarlySubstitution",
    "Ellipsoid",
    "Flagged",
    "Holonomic",
    "Holonomy",
    "JointCoupling",
    "Loop",
    "Mobility",
    "Pfaffian",
    "Plane",
    "PointOnSurface",
    "QuasiVelocities",
    "Rolling",
    "Sliding",
    "SoftFinger",
    "Sphere",
    "Status",
    "Surface",
    "TendonCoupling",
    "Torus",
    "Touching",
    "early_substitution",
    "growth_vector",
    "is_holonomic",
]
