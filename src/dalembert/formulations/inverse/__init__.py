"""Inverse dynamics: eleven derivations of the same torques."""
