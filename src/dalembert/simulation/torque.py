"""Torques as users give them: constant, sampled in time, or a function of time and state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dalembert.errors import SettingError, ShapeError
from dalembert.simulation.drive import Failed
from dalembert.systems.identity import digest, function_digest
from dalembert.systems.law import Controller, require_arguments

Function = Callable[[float, np.ndarray, np.ndarray], Any]
NUMBERS = "biuf"  # kinds of arrays that are real numbers


class Torques(Protocol):
    """τ (..., nv) at a time and state."""

    def at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray: ...
    @property
    def identity(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Constant:
    """The same torques all the time, (nv,) or one row for each sample (N, nv)."""

    value: np.ndarray

    def at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.value

    @property
    def identity(self) -> str:
        """A digest of the torques."""
        return f"constant {digest(self.value)}"


@dataclass(frozen=True, eq=False)
class Samples:
    """Torques `values` (K, nv) or (K, N, nv) at `times` (K,), linear in between, held outside.

    >>> Samples([0.0, 1.0], [[0.0], [2.0]]).at(0.25, None, None)
    array([0.5])
    """

    times: Any
    values: Any

    def __post_init__(self) -> None:
        times, values = np.asarray(self.times, dtype=float), np.asarray(self.values, dtype=float)
        if times.ndim != 1 or len(times) < 1 or len(times) != len(values):
            raise ShapeError(
                f"Samples needs one row of values for each time; got times {times.shape} and "
                f"values {values.shape}"
            )
        if not (np.isfinite(times).all() and np.isfinite(values).all()):
            raise ShapeError("Samples: times and values must be finite")
        if (np.diff(times) <= 0).any():
            raise ShapeError("Samples: times must increase")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def at(self, t: float, q: Any, qd: Any) -> np.ndarray:
        """The torques at time t."""
        if len(self.times) == 1:
            return self.values[0]
        last = int(np.clip(np.searchsorted(self.times, t), 1, len(self.times) - 1))
        begin, end = self.times[last - 1], self.times[last]
        share = min(max((t - begin) / (end - begin), 0.0), 1.0)
        return (1.0 - share) * self.values[last - 1] + share * self.values[last]

    @property
    def identity(self) -> str:
        """A digest of times and values."""
        return f"samples {digest(self.times, self.values)}"


@dataclass(eq=False)
class Computed:
    """A function of (t, q, q̇) that returns the torques of all samples it is given."""

    function: Function
    shape: tuple[int, ...]  # of one answer
    kind: str
    names: tuple[str, ...]  # of what it drives
    blamed: str = field(default="", init=False)  # its first answer that is not finite, in words

    def __post_init__(self) -> None:
        require_arguments(f"the {self.kind} function", self.function, "t, q, qd")

    def at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        returned = called(f"the {self.kind} function", self.function, t, q, qd)
        try:
            value = np.asarray(returned)
        except (TypeError, ValueError):  # of rows of different lengths
            value = np.asarray(None)
        if value.dtype.kind not in NUMBERS:
            raise self._failed(f"{returned!r} at t = {t:g} s: no real numbers")
        if value.shape != self.shape:
            what = f"an array of shape {value.shape} at t = {t:g} s"
            raise self._failed(f"{what}; it must be {self.shape}")
        value = np.array(value, dtype=float)  # its own: the law may write into its array again
        if not self.blamed and not np.isfinite(value).all():
            state = np.concatenate([q, qd], axis=-1)
            self.blamed = not_finite(self.kind, self.names, t, value, state)
        return value

    def _failed(self, returned: str) -> Failed:
        error = ShapeError(f"the {self.kind} function returned {returned}")
        return Failed(str(error), error)

    @property
    def identity(self) -> str:
        """By its name and what its code does."""
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return f"function {name} {function_digest(self.function)}"


def called(what: str, function: Callable[..., Any], t: float, q: Any, qd: Any) -> Any:
    """What a function of the user returns; it gets copies, so that the state stays the run's own."""
    try:
        return function(t, np.array(q), np.array(qd))
    except Exception as error:
        message = f"{what} raised {type(error).__name__} at t = {t:g} s: {error}"
        raise Failed(message, error) from error


def not_finite(
    kind: str, names: tuple[str, ...], t: float, value: np.ndarray, state: np.ndarray
) -> str:
    """Whose torque is not finite though its state (..., size) is, in words; else nothing."""
    bad = ~np.isfinite(value) & np.isfinite(state).all(axis=-1)[..., None]
    if not bad.any():
        return ""
    *sample, joint = (int(k) for k in np.argwhere(bad)[0])
    of = f" of sample {sample[0]}" if sample else ""
    return f"the {kind} of {names[joint]!r}{of} is not finite at t = {t:g} s"


def torques(
    tau: Any, shape: tuple[int, ...], names: tuple[str, ...], what: str = "tau"
) -> tuple[Torques, Controller | None]:
    """What `tau` means for states whose velocities (or controls) have this shape, (n,) or (N, n)."""
    if tau is None:
        return Constant(np.zeros(shape[-1])), None
    if hasattr(tau, "law"):
        return Constant(np.zeros(shape[-1])), tau
    if isinstance(tau, Samples):
        _require(tau.values.shape[1:], shape, f"{what}: each row of Samples")
        return tau, None
    if getattr(tau, "digital", False):
        raise SettingError(
            f"{type(tau).__name__} is a digital law, which is asked once a sample: give control_dt="
        )
    if callable(tau):
        return Computed(tau, shape, "torque" if what == "tau" else "control", names), None
    value = np.asarray(tau, dtype=float)
    _require(value.shape, shape, what)
    if not np.isfinite(value).all():
        raise ShapeError(f"{what} has entries that are not finite")
    return Constant(value), None


def saved_torques(
    wanted: Torques, times: np.ndarray, q: np.ndarray, qd: np.ndarray, size: int
) -> np.ndarray:
    """Torques or controls (K, ..., size) at saved states; NaN where the function cannot say them."""
    found = np.full((*qd.shape[:-1], size), np.nan)
    for row, t, q_k, qd_k in zip(found, times.tolist(), q, qd, strict=True):
        with suppress(Failed):
            row[...] = wanted.at(t, q_k, qd_k)
    return found


def _require(found: tuple[int, ...], shape: tuple[int, ...], what: str) -> None:
    if found not in (shape, shape[-1:]):
        each = f" or {shape}" if len(shape) > 1 else ""
        raise ShapeError(f"{what} has the shape {found}; it must be {shape[-1:]}{each}")
