"""Derivatives of the dynamics along states, and along inertias."""
