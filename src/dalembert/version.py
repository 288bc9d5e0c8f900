"""The version, in a place of its own so that every layer may name it."""

__version__ = "0.1.0"
