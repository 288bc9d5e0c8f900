"""The default tool frame of a tree, chosen by names and structure.

The order in which a file lists its links does not matter. A link called tcp, tool0, ee or alike is
the tool. Otherwise it is at the end of the arm: from the base along the longest chains of joints,
until branches are no longer than the chain so far (fingers), and there the frame that is fixed
farthest out. Joints that follow others branch off, but do not make a chain longer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.model.notes import Notes
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.model import Model

# what tools are called, the best first; also behind a prefix, as in "left_tcp"
NAMES: tuple[frozenset[str], ...] = (
    frozenset({"tcp", "tcp_link", "tcp_frame"}),
    frozenset({"tool0", "tool", "tool_link", "tool_frame"}),
    frozenset({"ee", "eef", "ee_link", "ee_frame", "end_effector", "end_effector_link"}),
)


class Mount(NamedTuple):
    """How a link hangs in the tree."""

    parent: str | None  # None: the base
    moves: bool  # against its parent
    follows: bool = False  # its joint follows another


class Tool(NamedTuple):
    """The link, body or site whose frame is the tool, why, and what else it could be."""

    name: str
    reason: str
    others: tuple[str, ...] = ()

    def noted(self, notes: Notes) -> Notes:
        """The notes with the reason of the choice, and a warning where it is ambiguous."""
        if not self.others:
            return replace(notes, tool=self.reason)
        named = ", ".join(repr(name) for name in self.others[:4])
        more = f" and {len(self.others) - 4} more" if len(self.others) > 4 else ""
        warning = (
            f"the tool is the frame of {self.name!r}, {self.reason}; it could as well be "
            f"{named}{more}. Say which with tip="
        )
        return replace(notes, tool=self.reason, warnings=(*notes.warnings, warning))


def default_tool(links: Mapping[str, Mount], sites: Mapping[str, str] | None = None) -> Tool | None:
    """The tool of a tree of links; None where nothing moves.

    `sites`, further frames by name with the link they are on, are chosen for their names only.
    """
    tree = _Tree(links)
    if not tree.ends:
        return None
    end, tied = tree.end()
    on = {**{name: name for name in tree.moving}, **(sites or {})}
    moving = set(tree.moving)
    names = sorted(name for name, link in on.items() if link in moving)
    for known in NAMES:
        endings = tuple(f"_{word}" for word in known)
        candidates = [x for x in names if x.lower() in known or x.lower().endswith(endings)]
        if not candidates:
            continue
        # the one at the end of the arm, else beyond most joints and links
        ranks = {}
        for name in candidates:
            seat = tree.seat(on[name])
            ranks[name] = seat in {end, *tied}, tree.passed(seat), len(tree.path(on[name]))
        best = max(ranks.values())
        first, *equals = (name for name in candidates if ranks[name] == best)
        return Tool(first, "its name", tuple(equals))
    frame, others = tree.outermost(end)
    reason = "the end of the longest chain of joints"
    return Tool(frame, reason, tuple(sorted({*others, *(tree.outermost(k)[0] for k in tied)})))


class _Tree:
    """Links by their parents; a seat is a link that moves, with all that is fixed to it."""

    def __init__(self, links: Mapping[str, Mount]) -> None:
        self.links = links
        self.own = {k: int(x.moves and not x.follows) for k, x in links.items()}  # joints
        # how many links move against each seat, those that follow others included
        self.branches = Counter(self.seat(x.parent) for x in links.values() if x.moves)
        # links that move against the base, and the seats that each seat carries
        self.moving = sorted(name for name in links if self.seat(name) is not None)
        self.ends: dict[str | None, list[str]] = {}
        for name in self.moving:
            if links[name].moves:
                self.ends.setdefault(self.seat(links[name].parent), []).append(name)
        # joints of their own in the longest chain that starts with each seat
        self.length = {k: self.own[k] for k in self.moving if links[k].moves}
        for seat in sorted(self.length, key=lambda k: len(self.path(k)), reverse=True):
            before = self.seat(links[seat].parent)
            if before is not None:
                chain = self.own[before] + self.length[seat]
                self.length[before] = max(self.length[before], chain)

    def path(self, name: str | None) -> list[str]:
        """The link and its ancestors, down to the base."""
        path = []
        link = name if name in self.links else None
        while link is not None:
            path.append(link)
            link = self.links[link].parent
        return path

    def seat(self, name: str | None) -> str | None:
        """The link that moves to which this one is fixed; None for the base."""
        return next((k for k in self.path(name) if self.links[k].moves), None)

    def passed(self, seat: str | None) -> int:
        """Joints of their own between the base and a seat."""
        return sum(self.own[k] for k in self.path(seat))

    def end(self, start: str | None = None) -> tuple[str, list[str]]:
        """The seat at the end of the arm from here on, and the ends it could be as well."""
        at, tied = start, []
        while at in self.ends:
            beyond = self.ends[at]
            longest = max(self.length[k] for k in beyond)
            if at is not None and self.branches[at] > 1 and longest <= self.passed(at):
                break  # fingers
            at, *others = (k for k in beyond if self.length[k] == longest)
            tied += [self.end(k)[0] for k in others]
        assert at is not None  # something moves
        return at, tied

    def outermost(self, seat: str) -> tuple[str, list[str]]:
        """The frame fixed farthest out on a seat, and others that are fixed to it at their ends."""
        carriers = [self.links[k].parent for k in self.ends.get(seat, [])]
        paths = [self.path(k)[::-1] for k in carriers if k is not None]
        shared = [steps[0] for steps in zip(*paths, strict=False) if len(set(steps)) == 1]
        # the link of the seat on which all that it carries hangs
        root = shared[-1] if shared and seat in shared else seat
        fixed: dict[str | None, list[str]] = defaultdict(list)
        for name in self.moving:
            if not self.links[name].moves:
                fixed[self.links[name].parent].append(name)
        leaves, stack = [], [(root, 0)]
        while stack:
            name, steps = stack.pop()
            stack += [(k, steps + 1) for k in fixed[name]]
            if not fixed[name]:
                leaves.append((-steps, name))
        (_, first), *others = sorted(leaves)
        return first, [name for _, name in others]


def tool_location(model: Model) -> str:
    """Where the tool of a model is: "at" a frame of another name, or "on" a link.

    >>> import dalembert as dl
    >>> tool_location(dl.load("planar_2r").model)
    "on 'link2'"
    """
    tool = model.frame(model.tool)
    for name, frame in reversed(list(model.frames.items())):
        if name == model.tool or frame.body != tool.body:
            continue
        pairs = ((frame.rotation, tool.rotation), (frame.translation, tool.translation))
        has_numbers = not any(is_symbolic(x) for pair in pairs for x in pair)
        if has_numbers and all(np.array_equal(a, b) for a, b in pairs):
            return f"at {name!r}"
    return f"on {model.bodies[tool.body].name!r}" if tool.body >= 0 else "on the base"
