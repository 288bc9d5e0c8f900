"""Parameter sweeps: one simulation for every row of a design, in chunks that are stored."""

from dalembert.sweeps.sweeping import sweep

__all__ = ["sweep"]
