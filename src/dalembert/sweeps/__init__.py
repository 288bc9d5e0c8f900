"""Studies: one simulation for every row of a design, in chunks that are computed once and kept."""

from dalembert.sweeps.sweeping import sweep

__all__ = ["sweep"]
