"""Frozen dataclasses that are quick to define, for what a first result imports.

Python writes and compiles six functions for each frozen dataclass, half a millisecond in all, and a
first result needs fifty such classes. Here only `__init__` is written; the others are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import (
    MISSING,
    Field,
    FrozenInstanceError,
    dataclass,
    field,
    fields,
    is_dataclass,
)
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...


@overload
def record(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, eq: bool = True) -> Any:
    """What `dataclass(frozen=True, eq=eq)` makes of a class; all fields are arguments, in their order.

    >>> @record
    ... class Port:
    ...     name: str
    ...     size: int = 1
    >>> Port("q", 6) == Port("q", 6), Port("q")
    (True, Port(name='q', size=1))
    >>> Port("q").size = 2
    Traceback (most recent call last):
    ...
    dataclasses.FrozenInstanceError: cannot assign to field 'size'
    """
    return partial(_made, eq=eq) if cls is None else _made(cls, eq)


def _made(cls: type[T], eq: bool) -> type[T]:
    below = any(is_dataclass(base) for base in cls.__bases__)  # Python asks it to be frozen at once
    made: Any = dataclass(init=False, repr=False, eq=False, frozen=below)(cls)
    made.__dataclass_params__.frozen = True  # so that frozen dataclasses may inherit from it
    given = fields(made)
    for f in given:
        if not f.init or f.kw_only:
            raise TypeError(
                f"{cls.__qualname__}.{f.name}: a record takes all its fields as arguments in their "
                "order; use dataclass(frozen=True) for one with init=False or kw_only=True"
            )
    added = {"__init__": _init(made, given), "__repr__": _repr(given), **_unchanging(made, given)}
    for name, function in (added | (_by_value(given) if eq else {})).items():
        if name not in cls.__dict__ or cls.__dict__[name] is None:
            function.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, function)
    return cls


def _init(cls: Any, given: tuple[Field[Any], ...]) -> Callable[..., None]:
    """`__init__`, which takes the fields in their order and then asks `__post_init__`.

    Its own names begin with two underscores: Python gives such a name in a class another one.
    """
    known: dict[str, Any] = {"__set": object.__setattr__, "__missing": MISSING}
    me = "__self" if any(f.name == "self" for f in given) else "self"
    arguments, lines = [me], []
    for k, f in enumerate(given):
        value = f.name
        if f.default_factory is not MISSING:
            known[f"__new{k}"] = f.default_factory
            value = f"__new{k}() if {f.name} is __missing else {f.name}"
            arguments.append(f"{f.name}=__missing")
        elif f.default is not MISSING:
            known[f"__default{k}"] = f.default
            arguments.append(f"{f.name}=__default{k}")
        else:
            arguments.append(f.name)
        lines.append(f" __set({me}, {f.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(f" {me}.__post_init__()")
    exec(f"def __init__({', '.join(arguments)}):\n" + "\n".join(lines or [" pass"]), known)
    known["__init__"].__annotations__ = {**{f.name: f.type for f in given}, "return": None}
    return known["__init__"]


def _repr(given: tuple[Field[Any], ...]) -> Callable[[Any], str]:
    shown = [f.name for f in given if f.repr]

    def __repr__(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    return __repr__


def _unchanging(cls: Any, given: tuple[Field[Any], ...]) -> dict[str, Callable[..., Any]]:
    """What refuses to write to a record; a plain class below one may have more attributes."""
    own = {f.name for f in given}

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in own:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in own:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _by_value(given: tuple[Field[Any], ...]) -> dict[str, Callable[..., Any]]:
    """Equal where the class and all fields are."""
    compared = [f.name for f in given if f.compare]
    several = attrgetter(*compared) if len(compared) > 1 else None

    def values(self: Any) -> Any:
        """A tuple, which compares a value with itself as equal even where it is an array."""
        return several(self) if several else tuple(getattr(self, name) for name in compared)

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__}
