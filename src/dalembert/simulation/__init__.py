"""Simulation: integrators, events, batches, and results with names and units."""

from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.simulation.engine import simulate
from dalembert.simulation.provenance import system_of
from dalembert.simulation.results import peaks, torques_along
from dalembert.simulation.torques import Samples

__all__ = ["Samples", "SimulationWarning", "peaks", "simulate", "system_of", "torques_along"]
