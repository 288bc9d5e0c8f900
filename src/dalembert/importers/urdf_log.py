"""What reading a URDF finds on the way and must say at the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches

from dalembert.importers.xml_read import Element, shown

# parts of other tools' URDF that hold or drive a mechanism, as their names say
MECHANICAL = re.compile(
    r"joint|loop|constraint|spring|damper|bushing|force|mass|inertia|motor", re.I
)


@dataclass
class Log:
    """What is found on the way and must be said at the end."""

    warnings: list[str] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)

    def warn(self, element: Element, message: str) -> None:
        """A warning that points at its line."""
        self.warnings.append(f"line {element.line}: {message}")

    def first(self, element: Element, tag: str, what: str) -> Element | None:
        """The child with this tag, if there is one; of several the first counts, as in urdfdom."""
        found = list(element.all(tag))
        if len(found) > 1:
            self.warn(found[1], f"{what}: a second <{tag}> is ignored; the first counts")
        return found[0] if found else None

    def unknown_parts(self, element: Element, known: Collection[str], what: str) -> None:
        """Count the tags of other tools; warn of one that looks misspelt."""
        for child in element.children:
            if child.tag not in known:
                self._unknown(child, child.tag, f"<{shown(child.tag)[1:-1]}>", known, what)

    def unknown_attributes(self, element: Element, known: str, what: str) -> None:
        """Count the attributes of other tools; a misspelt one would silently be its default."""
        for name in element.attributes:
            if name not in known.split():
                label = f"{element.tag} {shown(name)[1:-1]}="
                self._unknown(element, name, label, known.split(), what)

    def _unknown(
        self, element: Element, name: str, label: str, known: Collection[str], what: str
    ) -> None:
        if MECHANICAL.search(name):
            self.warn(element, f"{what}: {label} is ignored, though it may change the dynamics")
            return
        like = [word for word in known if abs(len(word) - len(name)) <= 2]
        near = get_close_matches(name, like, n=1, cutoff=0.65)
        if near:
            self.warn(element, f"{what}: {label} is ignored; is it meant to be {near[0]!r}?")
        else:
            self.ignored[label.strip("<>")] += 1
