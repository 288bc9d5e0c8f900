"""Where values wait that find no register: shared memory first, the memory of the device last.

Tiles of results stand empty until their entries are computed, those of inputs are free after the last
use; only what does not fit there takes shared memory of its own. If that is too little, the longest
waits are spent in the memory of the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dalembert.kernels.cuda.text import LANES
from dalembert.kernels.cuda.waiting import Do, Step

_NEVER = 1 << 60
Span = tuple[int, int]  # from one step of the program to another, both included


@dataclass
class Place:
    """A number of one state in memory, as C spells it, and when it is taken."""

    name: str
    taken: list[Span] = field(default_factory=list)

    def is_free(self, span: Span) -> bool:
        """Whether nobody is there meanwhile."""
        return all(end < span[0] or span[1] < start for start, end in self.taken)

    def left(self, span: Span) -> int:
        """Steps from the end of a span until somebody else comes."""
        return min((start for start, _ in self.taken if start > span[1]), default=_NEVER)


@dataclass(frozen=True)
class Rooms:
    """The place of every value that waits, and how many more numbers per state these take."""

    of: dict[int, Place]
    shared: int
    local: int


def rooms(
    walked: Iterable[Step],
    tiles: list[Place],
    most: int,
    own: Callable[[int], str],
    far: Callable[[int], str],
) -> Rooms:
    """Places for all values that are put away.

    `own(k)` spells number k of shared memory beyond the tiles, of which there are `most`; `far(k)`
    that of the memory of the device.
    """
    spans: dict[int, Span] = {}
    for time, (do, value) in enumerate(walked):
        if do is Do.SAVE:
            spans[value] = (time, time)
        elif do is Do.LOAD and value in spans:
            spans[value] = (spans[value][0], time)
    packed = _packed(spans, tiles, most, own, far, lambda v: (spans[v][0], v))
    if packed.local:
        for place in tiles:
            place.taken = [span for span in place.taken if span not in spans.values()]
        packed = _packed(spans, tiles, most, own, far, lambda v: (spans[v][1] - spans[v][0], v))
    return packed


def _packed(
    spans: dict[int, Span],
    tiles: list[Place],
    most: int,
    own: Callable[[int], str],
    far: Callable[[int], str],
    order: Callable[[int], tuple[int, int]],
) -> Rooms:
    """One value after the other into the free place that fits it best."""
    found: dict[int, Place] = {}
    more: list[Place] = []
    beyond: list[Place] = []
    for value in sorted(spans, key=order):
        span = spans[value]
        free = [x for x in (*tiles, *more) if x.is_free(span)]
        free = free or [x for x in beyond if x.is_free(span)]
        if not free or (free[0] in beyond and len(more) < most):
            group, spelled = (more, own) if len(more) < most else (beyond, far)
            free = [Place(spelled(len(group)))]
            group.append(free[0])
        place = min(free, key=lambda x: x.left(span))
        place.taken.append(span)
        found[value] = place
    return Rooms(found, len(more), len(beyond))


def own_place(offset: int) -> Callable[[int], str]:
    """Numbers behind the tiles, those of all lanes side by side."""
    return lambda k: f"at1[{offset + LANES * k}]"
