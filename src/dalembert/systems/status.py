"""What became of each state of a batch, or of each run: a small number per state."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from dalembert.errors import DalembertError


class Status(IntEnum):
    """What a state or a run is: `OK`, or why there is no result for it."""

    OK = 0
    SINGULAR = 1  # fewer rows are independent than usual
    OFF_POSITION = 2  # h(q, t) is not zero
    OFF_VELOCITY = 3  # A q̇ is not b
    NOT_FINITE = 4  # NaN or infinity among the inputs
    CONTRADICTION = 5  # no acceleration meets all constraints
    JAMMED = 6  # friction presses a contact harder than it brakes it (Painlevé)
    NOT_DRIVEN = 7  # the actuators cannot give this motion
    LOST = 8  # a run that overflowed, or could not be brought back to its constraints
    UNFINISHED = 9  # a run with too many steps, or steps too short, for its time


class Flagged(tuple[Any, ...]):
    """Results by place and by name, and `status` (...), entries of `Status`, as the last.

    >>> found = Flagged(("qd", "status"), (1.0, 0))
    >>> found.qd, Status(found.status).name
    (1.0, 'OK')
    """

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[Any]) -> Flagged:
        made = super().__new__(cls, values)
        made.names = tuple(names)
        return made

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("names", ()):
            return self[self.names.index(name)]
        raise AttributeError(f"there is no {name!r}; there are: {', '.join(self.names)}")

    def __repr__(self) -> str:
        return f"Flagged({', '.join(f'{n}={x!r}' for n, x in zip(self.names, self, strict=True))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Flagged, (self.names, tuple(self))


def require_mode(errors: str) -> None:
    """Raise for a word that is neither "raise" nor "flag"."""
    if errors not in ("raise", "flag"):
        raise DalembertError(f'errors={errors!r} must be "raise" or "flag"')
