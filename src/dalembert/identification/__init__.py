"""Identification: inertias, friction and rotors of a robot, with deviations, from a log."""
