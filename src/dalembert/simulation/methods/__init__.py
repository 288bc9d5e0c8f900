"""The methods of `simulate`: one file each, one line in the list below."""

from __future__ import annotations

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.simulation.methods import (
    adaptive,
    baumgarte,
    generalized_alpha,
    runge_kutta,
    semi_implicit,
    variational,
)
from dalembert.simulation.methods.method import AdaptiveMethod, FixedMethod, Method

_FILES = (adaptive, runge_kutta, semi_implicit, variational, baumgarte, generalized_alpha)

METHODS: dict[str, Method] = {method.name: method for file in _FILES for method in file.METHODS}
ADAPTIVE = tuple(name for name, m in METHODS.items() if isinstance(m, AdaptiveMethod))
FIXED = tuple(name for name, m in METHODS.items() if isinstance(m, FixedMethod))


def find(name: str | Method) -> Method:
    """The method of that name; one that is a method already, with numbers of its own, stays.

    >>> find("rk4").order
    4
    """
    if not isinstance(name, str):
        return name
    if name not in METHODS:
        raise UnknownNameError(f"no method {name!r}{suggest(name, list(METHODS))}")
    return METHODS[name]
