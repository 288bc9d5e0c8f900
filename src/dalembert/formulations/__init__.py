"""One file per formulation, in the notation of its source; plain NumPy over the model.

The package itself may be called: ``dalembert.formulations("mass_matrix")`` names the formulations
of a quantity, each with its citation.
"""

import sys
from types import ModuleType

from dalembert.formulations.catalogue import QUANTITIES, names, quantity
from dalembert.formulations.registry import Formulation, Quantity

__all__ = ["QUANTITIES", "Formulation", "Quantity", "names", "quantity"]


class _Callable(ModuleType):
    """A package that answers a call: both `dl.formulations(…)` and the folder keep their name."""

    def __call__(self, quantity: str) -> dict[str, str]:
        return names(quantity)


sys.modules[__name__].__class__ = _Callable
