"""Inverse dynamics: ten derivations of the same torques."""
