"""Anything with M, bias and potential: a robot, a Lagrangian, particles."""

from dalembert.systems.lagrangian import Lagrangian
from dalembert.systems.particles import Particles
from dalembert.systems.statics import Equilibrium, equilibria, equilibrium, virtual_work
from dalembert.systems.system import Dynamics, System, dynamics

__all__ = [
    "Dynamics",
    "Equilibrium",
    "Lagrangian",
    "Particles",
    "System",
    "dynamics",
    "equilibria",
    "equilibrium",
    "virtual_work",
]
