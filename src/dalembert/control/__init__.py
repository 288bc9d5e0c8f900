"""Controllers and trajectories: laws that trace into the same kernel as the dynamics they drive."""

from dalembert.control.gauge_invariant import GaugeInvariant, geometric_gains
from dalembert.control.hybrid import Hybrid, HybridVelocity
from dalembert.control.joint_space import ComputedTorque, PDGravity
from dalembert.control.line import Line
from dalembert.control.operational import OperationalSpace
from dalembert.control.redundant import RedundantActuation
from dalembert.control.scaling import within_limits
from dalembert.control.trajectory import Trajectory, hold, quintic, trapezoidal, via_points

__all__ = [
    "ComputedTorque",
    "GaugeInvariant",
    "Hybrid",
    "HybridVelocity",
    "Line",
    "OperationalSpace",
    "PDGravity",
    "RedundantActuation",
    "Trajectory",
    "geometric_gains",
    "hold",
    "quintic",
    "trapezoidal",
    "via_points",
    "within_limits",
]
