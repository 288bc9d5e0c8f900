"""Controllers and trajectories: laws that trace into the same kernel as the dynamics they drive."""

from dalembert.control.adaptive import Adaptive
from dalembert.control.cartesian import CartesianPath
from dalembert.control.fourier import Fourier, fourier
from dalembert.control.gauge_invariant import GaugeInvariant, geometric_gains
from dalembert.control.hybrid import Hybrid, HybridVelocity
from dalembert.control.impedance import Admittance, Impedance
from dalembert.control.jerk import jerk_limited, jerk_limited_duration
from dalembert.control.joint_space import ComputedTorque, FeedForward, PDGravity
from dalembert.control.line import Line
from dalembert.control.lqr import LQR
from dalembert.control.operational import OperationalSpace
from dalembert.control.optimal_time import time_optimal
from dalembert.control.path import Path, through
from dalembert.control.pid import PID
from dalembert.control.redundant import RedundantActuation
from dalembert.control.scaling import within_limits
from dalembert.control.sliding_mode import SlidingMode
from dalembert.control.timed_path import TimedPath
from dalembert.control.trajectory import Trajectory, hold, quintic, trapezoidal, via_points

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
