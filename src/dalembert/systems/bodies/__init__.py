"""Bodies in absolute coordinates: every body free, with its own coordinates and a constant M."""
