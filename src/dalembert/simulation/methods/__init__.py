"""The methods of `simulate`: adaptive ones of SciPy, and those of a fixed step, one file each."""

from __future__ import annotations

from dalembert.simulation.methods import canonical, explicit, generalized_alpha, variational
from dalembert.simulation.methods.method import AdaptiveMethod, FixedMethod, Method
from dalembert.text import require_known

_SCIPY = (
    AdaptiveMethod("DOP853", 8, "Dormand and Prince, order 8 (Hairer et al. 1993)", True, False),
    AdaptiveMethod("RK45", 5, "Dormand and Prince 1980", True, False),
    AdaptiveMethod("RK23", 3, "Bogacki and Shampine 1989", True, False),
    AdaptiveMethod("Radau", 5, "Radau IIA (Hairer and Wanner 1996)", True, True),
    AdaptiveMethod("BDF", 5, "backward differences (Shampine and Reichelt 1997)", False, True),
    AdaptiveMethod("LSODA", 12, "Adams or backward differences (Petzold 1983)", False, True),
)
_FILES = (explicit, variational, generalized_alpha, canonical)

METHODS: dict[str, Method] = {
    method.name: method for methods in (_SCIPY, *(x.METHODS for x in _FILES)) for method in methods
}
ADAPTIVE = tuple(name for name, m in METHODS.items() if isinstance(m, AdaptiveMethod))
FIXED = tuple(name for name, m in METHODS.items() if isinstance(m, FixedMethod))


def find(name: str | Method) -> Method:
    """The method of that name; a `Method` is returned as it is.

    >>> find("rk4").order
    4
    """
    if not isinstance(name, str):
        return name
    require_known(name, METHODS, "no method")
    return METHODS[name]
