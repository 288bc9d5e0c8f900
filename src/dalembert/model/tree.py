"""The order of a tree: parents first, otherwise as given; and what can be wrong with one."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence

from dalembert.errors import ModelError
from dalembert.model.check import label
from dalembert.model.link import Joint, Link


def ordered(links: Sequence[Link]) -> list[Link]:
    """The links with every parent before its children, keeping the given order where it can."""
    if not isinstance(links, list | tuple) or not all(isinstance(link, Link) for link in links):
        raise ModelError("links must be a list of links")
    if not links:
        raise ModelError("a mechanism needs at least one link")
    for link in links:
        label(link.name, "a link")
        if not isinstance(link.joint, Joint):
            raise ModelError(f"link {link.name!r}: joint must be a Joint or a mapping")
        for what, name in (("parent", link.parent), ("joint", link.joint.name)):
            if name is not None:
                label(name, f"{what} of link {link.name!r}")
    _reject_duplicates([link.name for link in links], "links")
    _reject_duplicates([link.joint.name or link.name for link in links], "joints")
    known = {link.name for link in links}
    children: dict[str | None, list[int]] = defaultdict(list)
    for i, link in enumerate(links):
        if link.parent is not None and link.parent not in known:
            raise ModelError(f"link {link.name!r} hangs on {link.parent!r}, which does not exist")
        children[link.parent].append(i)
    ready, result = list(children[None]), []
    while ready:
        link = links[heapq.heappop(ready)]
        result.append(link)
        for child in children[link.name]:
            heapq.heappush(ready, child)
    if len(result) < len(links):
        placed = {link.name for link in result}
        stuck = ", ".join(link.name for link in links if link.name not in placed)
        raise ModelError(f"these links form a cycle and never reach the base: {stuck}")
    return result


def _reject_duplicates(names: Sequence[str], what: str) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ModelError(f"{times} {what} are called {name!r}; names must be unique")
