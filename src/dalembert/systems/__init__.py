"""Anything with M, bias and potential: a robot, a Lagrangian, particles."""
