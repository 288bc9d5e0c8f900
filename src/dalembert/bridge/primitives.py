"""What entries without a value can do by themselves, whoever writes it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import CompileError

PRIMITIVE = frozenset(
    {np.sin, np.cos, np.tan, np.sqrt, np.absolute, np.arcsin, np.arccos, np.arctan, np.sign}
    | {np.sinh, np.cosh, np.tanh, np.exp, np.log, np.arcsinh, np.arccosh, np.arctanh, np.expm1}
    | {np.log1p, np.floor, np.ceil, np.square, np.logical_not, np.maximum, np.minimum, np.arctan2}
    | {np.hypot, np.copysign, np.fmod, np.logical_and, np.logical_or, np.less, np.less_equal}
    | {np.equal, np.not_equal, np.power, np.add, np.subtract, np.multiply, np.divide, np.negative}
)
"""Operations that every kind of entry knows."""

TRUTHS = frozenset(
    {np.less, np.less_equal, np.equal, np.not_equal}
    | {np.logical_not, np.logical_and, np.logical_or}
)
"""Those whose results are true or false."""

NO_VALUE = (
    "a symbol has no value yet: use NumPy's functions (np.sin, not math.sin), np.where in place of "
    "a branch on it, and np.stack, np.array or np.zeros_like(q) for arrays of symbols, in place of "
    "np.zeros"
)


class Unrecorded(CompileError, TypeError):
    """Something that cannot be done before there are numbers."""


class Unknown:
    """A number that has no value yet."""

    __slots__ = ()

    @staticmethod
    def operation(ufunc: Any, args: tuple[Any, ...]) -> Any:
        """A primitive operation on entries of this kind and numbers."""
        raise NotImplementedError


class Truth(Unknown):
    """What an entry that is true or false does otherwise, as NumPy's arrays of booleans do."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        if is_truth(other):
            return self.operation(np.logical_or, (self, other))
        return super().__add__(other)  # type: ignore[misc]

    def __mul__(self, other: Any) -> Any:
        if is_truth(other):
            return self.operation(np.logical_and, (self, other))
        return super().__mul__(other)  # type: ignore[misc]

    def __sub__(self, other: Any) -> Any:
        if is_truth(other):
            raise Unrecorded("the difference of booleans, which NumPy refuses: use np.logical_xor")
        return super().__sub__(other)  # type: ignore[misc]

    def __neg__(self) -> Any:
        raise Unrecorded("the negative of a boolean, which NumPy refuses: use np.logical_not")

    __radd__, __rmul__, __rsub__ = __add__, __mul__, lambda self, other: -(self - other)


def is_truth(value: Any) -> bool:
    """Whether it is true or false, and not a number."""
    return isinstance(value, Truth | bool | np.bool_)


def number_of(value: Any) -> Any:
    if isinstance(value, Truth):
        return value.as_number()  # type: ignore[attr-defined]
    return float(value) if is_truth(value) else value


numbers_of = np.frompyfunc(number_of, 1, 1)


METHODS: tuple[str, ...] = (
    "all",
    "any",
    "astype",
    "clip",
    "copy",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "fill",
)
METHODS += ("flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round")
METHODS += ("squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var")
METHODS += ("argmax", "argmin", "argsort", "choose", "compress", "sort")
UFUNCS = [x for x in vars(np).values() if isinstance(x, np.ufunc) and not x.signature]


def give_methods(kind: Any, parted: Callable[[Any], Any], back: Callable[[Any], Any]) -> None:
    """Methods of NumPy's arrays, and those by which NumPy computes with objects, as `x.sin()`."""

    def method(name: str) -> Any:
        return lambda self, *args, **more: back(getattr(parted(self), name)(*args, **more))

    def computed(ufunc: Any) -> Any:
        return lambda self, *others: ufunc(self, *others)

    for name in METHODS:
        if not hasattr(kind, name):
            setattr(kind, name, method(name))
    for ufunc in UFUNCS:
        if not hasattr(kind, ufunc.__name__):
            setattr(kind, ufunc.__name__, computed(ufunc))


def give_operators(
    kind: Any, signs: Mapping[str, Any], apply: Callable[[Any, tuple[Any, ...]], Any]
) -> None:
    """Python's operators of single entries, by the ufuncs they stand for."""

    def forward(ufunc: Any) -> Any:
        def operator(self: Any, *other: Any) -> Any:
            if other and isinstance(other[0], np.ndarray):
                return NotImplemented  # NumPy asks again, entry by entry
            return apply(ufunc, (self, *other))

        return operator

    def backward(ufunc: Any) -> Any:
        def operator(self: Any, other: Any) -> Any:
            return NotImplemented if isinstance(other, np.ndarray) else apply(ufunc, (other, self))

        return operator

    for name, ufunc in signs.items():
        setattr(kind, f"__{name}__", forward(ufunc))
        if ufunc.nin == 2:
            setattr(
                kind, {"lt": "__gt__", "le": "__ge__"}.get(name, f"__r{name}__"), backward(ufunc)
            )
