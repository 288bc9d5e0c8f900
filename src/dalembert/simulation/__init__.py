"""Simulation: integrators, events, batches, and results with names and units."""

from dalembert.simulation.along import peaks, torques_along
from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.simulation.log import read_log
from dalembert.simulation.provenance import system_of
from dalembert.simulation.run import simulate
from dalembert.simulation.torque import Samples

__all__ = [
    "Samples",
    "SimulationWarning",
    "peaks",
    "read_log",
    "simulate",
    "system_of",
    "torques_along",
]
