"""Frames, energies, momenta and weight."""
