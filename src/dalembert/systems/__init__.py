"""Anything with M, bias and potential: a robot, a Lagrangian, particles."""

from dalembert.systems.lagrangian import Lagrangian

__all__ = ["Lagrangian"]
