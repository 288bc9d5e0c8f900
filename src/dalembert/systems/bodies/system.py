"""`Bodies`: rigid bodies that move freely, as a system like any other."""

from __future__ import annotations

from dalembert.systems.system import System


class Bodies(System):
    """Free bodies with springs, dampers and loads between them; joints are constraints on them.

    >>> from dalembert.zoo.absolute import two_bars
    >>> bars = two_bars().system
    >>> bars.coordinates[:3], bars.mass_matrix(bars.neutral()).diagonal()[:3].round(3)
    (('bar2.x', 'bar2.y', 'bar2.phi'), array([2.   , 2.   , 0.167]))
    """

    def __repr__(self) -> str:
        return f"<Bodies {self.name}: {len(self.dynamics.coordinates)} coordinates>"
