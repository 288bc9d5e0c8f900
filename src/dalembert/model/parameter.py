"""Named numbers of a model that stay symbolic: kernel inputs, and symbols in the equations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dalembert import tracing
from dalembert.errors import ParameterError
from dalembert.spatial.arrays import Array
from dalembert.text import short
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.tracing.table import Symbol

# one symbol per (name, value); `collect` looks parameters up here
_SYMBOLS: dict[tuple[str, float | None], Symbol] = {}


class Expression:
    """Arithmetic of parameters, numbers and arrays; it may stand wherever a model takes a number."""

    __slots__ = ("_value",)

    if TYPE_CHECKING:  # set below, one for each operator
        __add__: Callable[[Expression, object], Expression]
        __radd__: Callable[[Expression, object], Expression]
        __sub__: Callable[[Expression, object], Expression]
        __rsub__: Callable[[Expression, object], Expression]
        __mul__: Callable[[Expression, object], Expression]
        __rmul__: Callable[[Expression, object], Expression]
        __truediv__: Callable[[Expression, object], Expression]
        __rtruediv__: Callable[[Expression, object], Expression]
        __pow__: Callable[[Expression, object], Expression]
        __matmul__: Callable[[Expression, object], Expression]

    def __init__(self, value: Array) -> None:
        self._value = value

    def symbol(self) -> Array:
        """This expression as an array of symbols."""
        return self._value

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape as an array, () for a number."""
        return self.symbol().shape

    def __getitem__(self, index: Any) -> Expression:
        return Expression(self.symbol()[index])

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: object
    ) -> object:
        """NumPy's functions, so that np.cos(l) and array * l are expressions too."""
        if method != "__call__" or options:
            return NotImplemented
        return _wrapped(ufunc(*(expression(x) for x in inputs)), inputs)

    def __repr__(self) -> str:
        return f"Expression({self.symbol()})"

    def __neg__(self) -> Expression:
        return Expression(-self.symbol())

    def __pos__(self) -> Expression:
        return self


def _wrapped(value: Array, inputs: Sequence[object]) -> Array | Expression:
    """The value as an `Expression`; as an array where an input is an array of symbols."""
    return value if any(map(tracing.is_array, inputs)) else Expression(value)


Operator = Callable[[Expression, object], Array | Expression]


def _binary(function: Callable[[Array, Array], Array]) -> tuple[Operator, Operator]:
    def forward(self: Expression, other: object) -> Array | Expression:
        return _wrapped(function(self.symbol(), expression(other)), [other])

    def reflected(self: Expression, other: object) -> Array | Expression:
        return _wrapped(function(expression(other), self.symbol()), [other])

    return forward, reflected


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul"):
    _forward, _reflected = _binary(getattr(operator, _name))
    setattr(Expression, f"__{_name}__", _forward)
    setattr(Expression, f"__r{_name}__", _reflected)


class Parameter(Expression):
    """A number of a model that has a name; optionally with the value used when none is given.

    Arithmetic with parameters gives expressions, so ``2 * Parameter("l")`` may stand wherever a
    number may. Parameters of the same name are the same number.

    Parameters
    ----------
    name : str
        Its name.
    value : float, optional
        Used where none is passed.

    Examples
    --------
    >>> mass, length = Parameter("m", 2.0), Parameter("l", 0.5)
    >>> length
    Parameter('l', 0.5)
    >>> (mass * length * length + 1).shape
    ()
    """

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: float | None = None) -> None:
        if not str(name).isidentifier():
            raise ParameterError(f"parameter name {name!r} is not an identifier such as 'm1'")
        self.name, self.value = name, value
        if value is None:
            return
        raw: object = value
        try:
            self.value = np.nan if isinstance(raw, str | bytes) else float(value)
        except (TypeError, ValueError, OverflowError):
            self.value = np.nan
        if not np.isfinite(self.value):
            raise ParameterError(
                f"parameter {name!r} has the value {short(value)}; give a finite number"
            )

    def symbol(self) -> Array:
        """The symbol () of this parameter."""
        symbol = _SYMBOLS.get((self.name, self.value))
        if symbol is None:
            new = tracing.identity(tracing.symbol(self.name))
            symbol = _SYMBOLS.setdefault((self.name, self.value), new)
        return tracing.of_identities([symbol])

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and (self.name, self.value) == (other.name, other.value)

    def __hash__(self) -> int:
        return hash((self.name, self.value))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameter, (self.name, self.value)


NumberLike: TypeAlias = float | np.ndarray | Sequence[Any] | Expression  # one or an array of them
Number: TypeAlias = float | Expression  # one number, or a parameter


def expression(value: object) -> Any:
    """Numbers as they are, parameters as their symbols, nested sequences as one array."""
    if isinstance(value, Expression):
        return value.symbol()
    if is_symbolic(value):
        return tracing.adopted(value)
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim:
        return expression(value.tolist())  # NumPy's array of parameters
    if isinstance(value, (list, tuple)) and _contains_symbol(value):
        return np.stack([expression(item) for item in value])
    return np.asarray(value, dtype=float)


def _contains_symbol(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_contains_symbol(item) for item in value)
    return isinstance(value, Expression) or is_symbolic(value)


def collect(expressions: Array) -> tuple[dict[str, float | None], list[Array]]:
    """Parameters in an array of symbols: {name: default value}, and the symbols in their order."""
    known = {symbol: key for key, symbol in _SYMBOLS.items()}
    parameters: dict[str, float | None] = {}
    symbols = tracing.symbols_of(expressions)
    for symbol in symbols:
        name, value = known.get(tracing.identity(symbol), (None, None))
        if name is None:
            raise ParameterError(
                f"the model holds the symbol {symbol}, which is no dalembert.Parameter; "
                f"write dalembert.Parameter({str(symbol)!r}) instead"
            )
        if None not in (parameters.get(name), value) and parameters[name] != value:
            raise ParameterError(
                f"parameter {name!r} is given two values: {parameters[name]}, {value}"
            )
        parameters[name] = value if parameters.get(name) is None else parameters[name]
    return parameters, symbols


def parameter_vector(
    owner: str, defaults: Mapping[str, float | None], overrides: Mapping[str, float] | None = None
) -> np.ndarray:
    """Values (n_parameters,) of the parameters of `owner`: the defaults, or the `overrides`.

    >>> parameter_vector("arm", {"m": 1.0, "l": None}, {"l": 0.5})
    array([1. , 0.5])
    """
    overrides = dict(overrides or {})
    unknown = sorted(set(overrides) - set(defaults))
    if unknown:
        known = ", ".join(defaults) or "none"
        raise ParameterError(f"{owner} has no parameter {unknown[0]!r}; it has: {known}")
    values = {**defaults, **overrides}
    vector = np.zeros(len(values))
    for k, (name, value) in enumerate(values.items()):
        if value is None:
            raise ParameterError(
                f"{owner}: no value for parameter {name!r}; "
                f"give parameters={{{name!r}: number}} or a default in Parameter(...)"
            )
        try:
            vector[k] = float(value)
        except (TypeError, ValueError):
            raise ParameterError(
                f"{owner}: parameter {name!r} is {short(value)}; give a number"
            ) from None
    return vector
