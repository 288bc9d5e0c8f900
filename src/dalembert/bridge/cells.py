"""CasADi's symbols one by one, as entries of NumPy's arrays, and its arrays made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.bridge import entries, views
from dalembert.bridge.primitives import (
    NO_VALUE,
    TRUTHS,
    Truth,
    Unrecorded,
    give_operators,
    is_truth,
)

functions: list[Any] = []  # CasADi's own way to call functions of NumPy


class Cell(entries.Entry):
    """One of CasADi's symbols, or an expression of them."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value  # casadi.SX (1, 1)

    @staticmethod
    def operation(ufunc: Any, args: tuple[Any, ...]) -> Any:
        import casadi

        known: Any = casadi.casadi
        made = known._NUMPY_UFUNC_DISPATCH[ufunc.__name__](*map(_value, args))
        return (TruthCell if ufunc in TRUTHS else Cell)(made)

    @staticmethod
    def by_casadi(function: Any, args: tuple[Any, ...]) -> Any:
        given = [*map(joined, args)]
        array = next(x for x in given if not isinstance(x, np.ndarray))
        return apart(functions[0](array, function, (), tuple(given), {}))

    def select(self, x: Any, y: Any) -> Any:
        import casadi

        return Cell(casadi.if_else(self.value, _value(x), _value(y)))

    def _known(self) -> float:
        """The value of a constant."""
        if not self.value.is_constant():
            raise Unrecorded(NO_VALUE)
        return float(self.value)

    __float__ = _known
    __hash__ = object.__hash__

    def __int__(self) -> int:
        return int(self._known())

    def __bool__(self) -> bool:
        return bool(self._known())

    def __neg__(self) -> Any:
        return Cell(-self.value)


_SIGNS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide}
_SIGNS |= {"pow": np.power, "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal}
give_operators(Cell, _SIGNS, Cell.operation)


class TruthCell(Truth, Cell):
    """One that is true or false."""

    __slots__ = ()

    def as_number(self) -> Cell:
        return Cell(self.value)

    __hash__ = object.__hash__


for _kind in (Cell, TruthCell):
    entries.PLAIN[_kind] = lambda value: entries.cell(value).view(np.ndarray)


def _value(x: Any) -> Any:
    """An entry, a number, or CasADi's array of one symbol, as casadi.SX (1, 1)."""
    import casadi

    if isinstance(x, Cell):
        return x.value
    return x._scalar() if hasattr(x, "to_casadi") else casadi.SX(float(x))


def apart(array: Any) -> Any:
    """CasADi's array as an array of entries."""
    from dalembert.bridge.arrays import column

    values, kind = column(array), TruthCell if getattr(array, "_truth", False) else Cell
    return entries.array([kind(values[k]) for k in range(values.numel())], tuple(array.shape))


def joined(value: Any) -> Any:
    """An array of entries, or a list of them, as CasADi's array; numbers as they are."""
    import casadi

    from dalembert.bridge.arrays import array

    plain = np.asarray(entries.plain(value))
    if plain.dtype != object:
        return plain
    given = plain.ravel().tolist()
    listed = [_value(x) for x in given]
    made = array(casadi.vertcat(*listed) if listed else casadi.SX(0, 1), *plain.shape)
    made._truth = bool(given) and all(map(is_truth, given))
    return made


def is_mixed(value: Any) -> bool:
    """Whether it is NumPy's own array of objects."""
    return isinstance(value, np.ndarray) and value.dtype == object


def back(value: Any, loan: views.Loan | None = None, moved: bool = False) -> Any:
    """What NumPy made of entries, as CasADi's arrays again; views are views of the same."""
    if isinstance(value, list | tuple):
        return type(value)(back(x, loan, moved) for x in value)
    if isinstance(value, Cell):
        return joined(value)
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return value
    if any(isinstance(x, Cell) or hasattr(x, "to_casadi") for x in value.ravel().tolist()):
        made = joined(value)
        return made if loan is None else loan.found(made, value, moved)
    return value.astype(float).view(np.ndarray)


def by_numpy(function: Any, *args: Any, moved: bool = False, **more: Any) -> Any:
    """What NumPy does with entries in place of the symbols, also what it writes into them."""
    with views.lending() as loan:
        made = function(*args, **more)
        loan.give_back(joined)
        return back(made, loan, moved)
