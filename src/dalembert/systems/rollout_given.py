"""What a rollout is given: steps that are numbers, and arrays whose batches fit together."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, ShapeError
from dalembert.kernels.call.whose import on_device
from dalembert.systems.lanes import finite, on_host

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics

LARGEST = 2**53  # up to here floating point counts


def whole(name: str, value: Any) -> int:
    """A positive whole number as an int; another value is refused by the name of its argument.

    >>> whole("steps", np.int64(4))
    4
    """
    value = _bare(value)
    counts = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not counts or not 1 <= value <= LARGEST:
        raise SettingError(f"{name} must be a positive whole number, not {_short(value)}")
    return int(value)


def real(name: str, value: Any) -> float:
    """A finite number as a float; another value is refused by the name of its argument."""
    value = _bare(value)
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not abs(value) <= np.finfo(float).max:
        raise SettingError(f"{name} must be a finite number, not {_short(value)}")
    return float(value)


def _bare(value: Any) -> Any:
    """A number that is wrapped into an array of no axes, without it."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _short(value: Any) -> str:
    said = type(value).__name__ if isinstance(value, int) and abs(value) > LARGEST else repr(value)
    return said if len(said) < 60 else f"{said[:60]}…"


def counted(steps: Any, every: Any, dt: Any, adaptive: bool) -> tuple[int, int, float]:
    """(steps, every, dt) of a rollout; steps of their own lengths go forward in time only."""
    steps, every, dt = whole("steps", steps), whole("every", every), real("dt", dt)
    if every > steps:
        raise ShapeError(f"steps={steps} and every={every}: need 1 <= every <= steps")
    if adaptive and not 0.0 < steps * dt < np.inf:
        raise SettingError(f"dt must be a positive time, not {dt!r}: states are saved by it")
    return steps, every, dt


def arrays(seen: Dynamics, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """The state as arrays of numbers that fit together, quaternions of length one.

    `state` is q, q̇, τ or controls (with a time in front, or nothing where a law is asked), w.
    """
    state = tuple(x if on_device((x,)) else _numbers(k, x) for k, x in named(state).items())
    q, qd, tau, *w = state
    moves = tau.ndim > max(q.ndim, qd.ndim)
    leads = [x.shape[:-1] for x in (q, qd, *w)] + [tau.shape[1 if moves else 0 : -1]]
    try:
        np.broadcast_shapes(*leads)
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in named(state).items())
        raise ShapeError(f"{shapes}: the axes before the last do not fit together") from None
    turning = seen.nq != seen.nv and q.shape[-1:] == (seen.nq,) and not on_device((q,))
    if turning:
        with np.errstate(all="ignore"):  # a quaternion of length zero is NaN, and said to be so
            q = np.asarray(seen.normalised(q))
    return q, qd, tau, *w


def named(state: tuple[Any, ...], controlled: bool = False) -> dict[str, Any]:
    """What a rollout starts from and is driven by, by the names of its arguments."""
    names = ("q", "qd", "controls" if controlled else "tau", "activation")
    return dict(zip(names, state, strict=False))


def driven(state: tuple[Any, ...]) -> Any:
    """Which runs (...) have torques or controls, and activations, that are finite throughout."""
    q, qd, tau, *w = state
    found: Any = on_host(finite(tau))
    if tau.ndim > max(q.ndim, qd.ndim):
        found = found.all(axis=0)
    return found & on_host(finite(w[0])) if w else found


def not_finite(seen: Dynamics, given: Mapping[str, Any]) -> str:
    """Which argument of which run has entries that are no numbers, in words; empty where none has.

    `given` are arrays by the names of their arguments; torques of all steps have those in front.
    """
    states = max(given[name].ndim for name in ("q", "qd"))
    for name, x in given.items():
        bad: Any = ~on_host(finite(x))
        bad = bad.any(axis=0) if x.ndim > states else bad
        if not bad.any():
            continue
        place, which, others = first_lost(bad)
        which = f" of {which}" if place else ""
        turns = name == "q" and seen.nq != seen.nv
        more = ", or a quaternion of length zero" if turns else ""
        return f"{seen.name}.rollout: {name}{which} has entries that are not finite{more}.{others}"
    return ""


def first_lost(lost: np.ndarray) -> tuple[tuple[int, ...], str, str]:
    """The first of the runs (...) that are lost: its place, and in words which, and how many more."""
    place, count = tuple(int(k) for k in np.argwhere(lost)[0]), int(lost.sum())
    which = f"run {place if len(place) > 1 else place[0]}" if place else "the run"
    return place, which, f" So it is with {count - 1} other runs." if count > 1 else ""


def _numbers(name: str, x: Any) -> np.ndarray:
    try:
        found = np.asarray(x)
    except ValueError:
        raise ShapeError(f"{name} has rows of different lengths") from None
    if found.dtype.kind not in "biuf":
        raise ShapeError(f"{name} must be real numbers, not {found.dtype}")
    return found
