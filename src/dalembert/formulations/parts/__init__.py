"""Shared parts of formulations: sweeps over the tree, one body, elements, base motion, tables."""
