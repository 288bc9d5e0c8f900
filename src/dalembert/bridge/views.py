"""Views of CasADi's arrays of symbols, which have none of their own.

A row, a transpose or a diagonal of such an array is a copy to CasADi; here it remembers whose part it
is, and at which `places` (positions in C order) of the whole one. What is written into it goes there,
and it is read anew when the whole one has changed, as in NumPy. NumPy's own functions get arrays of
entries that lie in memory as the symbols would; what they write goes back, and which of their results
are views is seen from where these lie.

Whether `reshape` and `ravel` give views depends on the order in memory, which NumPy chooses for every
result and which is not followed here: these are only read, and not after the whole one was changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dalembert.bridge.primitives import Unrecorded

LOCKED = "an assignment into {}: make a copy first (y = x.copy()), or write y = y + x, not y += x"
GIVEN = "symbols that were given"
READ_ONLY = "a view that NumPy makes read-only"
UNSURE = "what reshape or ravel gave, which may be a view or a copy"
_Places = Callable[[], Any]


def whole(array: Any) -> Any:
    """The array that an array is part of; itself, if of none."""
    return array.__dict__.get("_whole", array)


def places(array: Any) -> Any:
    """Where the entries of an array are in the whole one, as an array of its shape."""
    if "_whole" not in array.__dict__:
        return np.arange(array.size).reshape(array.shape)
    return array.__dict__["_places"]()


def lock(array: Any, why: str) -> Any:
    """The array, into which nothing is assigned any more."""
    array.__dict__["_locked"] = why
    return array


def part(found: Any, of: Any, at: _Places | None, why: str | None = None) -> Any:
    """`found` as a view of an array: at these places, or, without any, only to be read."""
    if found is of:
        return found
    why = of.__dict__.get("_locked") if why is None else why
    at = None if of.__dict__.get("_places", places) is None else at  # nor do its parts know
    own = found.__dict__
    own["_whole"], own["_places"] = whole(of), at
    own["_seen"] = own["_whole"].__dict__.get("_changes", 0)
    own["_truth"] = getattr(of, "_truth", False)
    return found if why is None else lock(found, why)


def value(array: Any) -> Any:
    """CasADi's matrix behind an array, as it is now."""
    own = array.__dict__
    if "_whole" not in own or own["_seen"] == own["_whole"].__dict__.get("_changes", 0):
        return own["_v"]
    if own["_places"] is None:
        raise Unrecorded(f"{UNSURE}, after the array itself was changed: make a copy before")
    at, all_of_it = own["_places"](), own["_whole"]
    gathered = all_of_it._gather(all_of_it._flat(), at.ravel().tolist())
    own["_v"] = type(array)._wrap_nd(gathered, at.shape)._v
    own["_seen"] = all_of_it.__dict__["_changes"]
    return own["_v"]


def write(array: Any, index: Any, given: Any) -> None:
    """array[index] = given, an array of symbols or numbers, also in the array that it is part of."""
    from dalembert.bridge.arrays import column

    if "_locked" in array.__dict__:
        raise Unrecorded(LOCKED.format(array.__dict__["_locked"]))
    at = places(array)[index]
    shape = tuple(given.shape)
    shape = shape[max(len(shape) - np.ndim(at), 0) :]  # NumPy leaves out what is 1 in front
    source = np.broadcast_to(np.arange(given.size).reshape(shape), np.shape(at))
    changed = whole(array)
    entries = column(changed)
    if np.size(at):
        entries[np.ravel(at).tolist()] = array._gather(column(given), source.ravel().tolist())
    changed.__dict__["_v"] = type(array)._wrap_nd(entries, changed.shape)._v
    changed.__dict__["_changes"] = changed.__dict__.get("_changes", 0) + 1


class Loan:
    """Arrays of entries that NumPy works on in place of arrays of symbols, for one call."""

    def __init__(self) -> None:
        self.lent: dict[int, tuple[Any, Any, list[Any]]] = {}  # by id: the whole, its entries

    def of(self, array: Any, apart: Callable[[Any], Any]) -> Any:
        """NumPy's array of the entries, in the memory of those of the whole array."""
        own = array if array.__dict__.get("_places", places) is None else whole(array)
        if id(own) not in self.lent:
            entries = apart(own).view(np.ndarray).ravel()
            self.lent[id(own)] = (own, entries, entries.tolist())
        entries = self.lent[id(own)][1]
        at = np.arange(own.size).reshape(own.shape) if own is array else places(array)
        if not at.size:
            return np.empty(at.shape, dtype=object)
        seen = as_strided(entries[int(at.flat[0]) :], at.shape, at.strides)
        if "_locked" in array.__dict__:
            seen.flags.writeable = False
        return seen

    def give_back(self, joined: Callable[[Any], Any]) -> None:
        """What was written into the entries, as symbols."""
        for own, entries, before in self.lent.values():
            changed = [k for k, x in enumerate(entries.tolist()) if x is not before[k]]
            if changed:
                at = np.unravel_index(changed, own.shape)
                write(own, at, joined(entries[changed]))

    def found(self, made: Any, of: Any, moved: bool) -> Any:
        """`made`, symbols, as the view that NumPy's array `of` is; a copy where it is none.

        `moved` says that this depends on the order in memory.
        """
        of = of.view(np.ndarray)
        for own, entries, _ in self.lent.values():
            if moved and own.ndim > 1:
                return part(made, own, None, UNSURE)
            if not of.size or not np.may_share_memory(of, entries):
                continue
            start = of.__array_interface__["data"][0] - entries.__array_interface__["data"][0]
            at = np.ndarray(of.shape, np.intp, np.arange(entries.size), start, of.strides)
            if own.__dict__.get("_places", places) is None:
                return part(made, own, None, UNSURE)
            return part(
                made, own, partial(np.asarray, at), None if of.flags.writeable else READ_ONLY
            )
        return made


class _Open(threading.local):
    """The loans of this thread that are not given back, a call inside another last."""

    def __init__(self) -> None:
        self.loans: list[Loan] = []


_open = _Open()


def lent(array: Any, apart: Callable[[Any], Any]) -> Any:
    """NumPy's array of an array's entries, on loan where there is one."""
    if _open.loans:
        return _open.loans[-1].of(array, apart)
    return apart(array).view(np.ndarray)


@contextmanager
def lending() -> Iterator[Loan]:
    """A call in which NumPy works on arrays of entries."""
    loan = Loan()
    _open.loans.append(loan)
    try:
        yield loan
    finally:
        _open.loans.remove(loan)
