"""The quantities of a robot as methods, by theme; `Robot` inherits them all."""
