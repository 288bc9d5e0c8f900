"""Names and units of a system's coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.systems.coordinates import UNITS
from dalembert.systems.system import System


@dataclass(frozen=True)
class Coordinate:
    """One entry of q, or of qd, qdd and tau."""

    name: str
    kind: str  # angle, length, quaternion or unknown

    def unit(self, quantity: str) -> str:
        """Its unit as an entry of q, qd, qdd or tau; empty for a number without one."""
        found = UNITS[quantity][self.kind]
        return "" if found == "1" else found


def coordinates(system: System, quantity: str) -> list[Coordinate]:
    """The entries of q (nq), or of qd, qdd and tau (nv).

    >>> import dalembert as dl
    >>> [(c.name, c.unit("tau")) for c in coordinates(dl.load("rp"), "tau")]
    [('link1_joint', 'N m'), ('link2_joint', 'N')]
    """
    made = system.dynamics
    place = quantity == "q"
    names = made.coordinates if place else made.velocities
    kinds = made.kinds.q if place else made.kinds.v
    return [Coordinate(name, kind) for name, kind in zip(names, kinds, strict=True)]
