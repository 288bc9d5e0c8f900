"""Single symbols: which ones stand in an array, what they are called, which are the same."""

from __future__ import annotations

from typing import Any

from dalembert.bridge.arrays import array, column


def symbols_of(value: Any) -> list[Any]:
    """The symbols () met in an array, in order of appearance.

    >>> from dalembert.bridge import symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> [name_of(s) for s in symbols_of(x * y + x)]
    ['x', 'y']
    """
    import casadi

    return [array(s) for s in casadi.symvar(column(value))]


def symbols_beyond(value: Any, known: Any) -> list[Any]:
    """The symbols () met in an array and not in another, in order of appearance.

    >>> from dalembert.bridge import symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> [name_of(s) for s in symbols_beyond(x * y, x)]
    ['y']
    """
    import casadi

    own = {s.element_hash() for s in casadi.symvar(column(known))}
    return [array(s) for s in casadi.symvar(column(value)) if s.element_hash() not in own]


def name_of(symbol: Any) -> str:
    """The name a symbol () was made with; not unique."""
    return str(column(symbol).name())


def identity(symbol: Any) -> int:
    """A number that two symbols () share only if they are the same one.

    >>> from dalembert.bridge import symbol
    >>> x, other = symbol("x"), symbol("x")
    >>> identity(x) == identity(symbols_of(2 * x)[0]), identity(x) == identity(other)
    (True, False)
    """
    return int(column(symbol).element_hash())
