"""Controllers and trajectories, which trace into the same kernel as the dynamics."""

from dalembert.control.adaptive import Adaptive
from dalembert.control.cartesian import CartesianPath, Line
from dalembert.control.gauge_invariant import GaugeInvariant, geometric_gains
from dalembert.control.hybrid import Hybrid, HybridVelocity, RedundantActuation
from dalembert.control.jerk import jerk_limited, jerk_limited_duration
from dalembert.control.joint_space import PID, ComputedTorque, FeedForward, PDGravity, SlidingMode
from dalembert.control.lqr import LQR
from dalembert.control.operational_space import Admittance, Impedance, OperationalSpace
from dalembert.control.optimal_time import time_optimal
from dalembert.control.path import Path, through
from dalembert.control.timed_path import TimedPath
from dalembert.control.trajectory import (
    Fourier,
    Trajectory,
    fourier,
    hold,
    quintic,
    trapezoidal,
    via_points,
    within_limits,
)

__all__ = [
    "LQR",
    "PID",
    "Adaptive",
    "Admittance",
    "CartesianPath",
    "ComputedTorque",
    "FeedForward",
    "Fourier",
    "GaugeInvariant",
    "Hybrid",
    "HybridVelocity",
    "Impedance",
    "Line",
    "OperationalSpace",
    "PDGravity",
    "Path",
    "RedundantActuation",
    "SlidingMode",
    "TimedPath",
    "Trajectory",
    "fourier",
    "geometric_gains",
    "hold",
    "jerk_limited",
    "jerk_limited_duration",
    "quintic",
    "through",
    "time_optimal",
    "trapezoidal",
    "via_points",
    "within_limits",
]
