"""Constraints on any system: kinds, routes to motion and forces, closed chains, contacts."""

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.contact_body import ContactBody
from dalembert.constraints.geometry import Mobility
from dalembert.constraints.holonomy import Holonomy, growth_vector, is_holonomic
from dalembert.constraints.kinds import Constraint, Driver, Holonomic, Pfaffian
from dalembert.constraints.loops import Distance, JointCoupling, Loop, TendonCoupling
from dalembert.constraints.network import Network
from dalembert.constraints.rolling import PointOnSurface, Rolling
from dalembert.constraints.sliding import Sliding, SoftFinger
from dalembert.constraints.surfaces import Cylinder, Ellipsoid, Plane, Sphere, Surface, Torus
from dalembert.constraints.touching import Touching
from dalembert.constraints.trap import Trap, nonholonomic_trap
from dalembert.systems.status import Flagged, Status

__all__ = [
    "Constrained",
    "Constraint",
    "ContactBody",
    "Cylinder",
    "Distance",
    "Driver",
    "Ellipsoid",
    "Flagged",
    "Holonomic",
    "Holonomy",
    "JointCoupling",
    "Loop",
    "Mobility",
    "Network",
    "Pfaffian",
    "Plane",
    "PointOnSurface",
    "Rolling",
    "Sliding",
    "SoftFinger",
    "Sphere",
    "Status",
    "Surface",
    "TendonCoupling",
    "Torus",
    "Touching",
    "Trap",
    "growth_vector",
    "is_holonomic",
    "nonholonomic_trap",
]
