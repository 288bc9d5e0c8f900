"""Factorisations in a fixed order of operations, so that they trace: NumPy has none that do."""
