"""What to do about joints that a log does not have, fingers mostly: words for errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dalembert.systems.system import System

NUMBER = re.compile(r"\d+(?=\D*$)")


def lock_hint(system: System, missing: Sequence[str]) -> str:
    """How to go on without some joints, where the system can hold them; else nothing."""
    joints = [name for name in missing if name in system.dynamics.velocities]
    if not joints or len(joints) < len(missing) or not hasattr(system, "with_joint_locked"):
        return ""
    calls = "".join(f".with_joint_locked({name!r}, 0.0)" for name in joints)
    words = " ".join(f"--lock {name}=0" for name in joints)
    return f"; joints that stood still may be held where they were: robot{calls}, or {words}"


def too_few(name: str, names: Iterable[str], system: System) -> str:
    """Why numbered columns like this one were not taken, where they are fewer than the joints."""
    style = NUMBER.sub("#", name)
    count = sum(NUMBER.sub("#", other) == style for other in names)
    joints = system.dynamics.coordinates
    if style == name or not 1 < count < len(joints):
        return ""
    hint = lock_hint(system, joints[count:])
    return f"; {count} columns like it are too few for its {len(joints)} joints{hint}"
