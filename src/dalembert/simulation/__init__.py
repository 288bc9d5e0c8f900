"""Simulation: integrators, events, batches, and results with names and units."""

from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.simulation.provenance import system_of
from dalembert.simulation.run import simulate
from dalembert.simulation.torque import Samples

__all__ = ["Samples", "SimulationWarning", "simulate", "system_of"]
