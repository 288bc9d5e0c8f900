"""What a page computes: the quantities and the motion of a system as one WebAssembly module."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dalembert.errors import FormulationError
from dalembert.frameworks.step import step_operation
from dalembert.systems.system import System

# quantities that a page shows; a system has those of its catalogue
QUANTITIES = (
    *("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque"),
    *("kinetic_energy", "potential_energy", "manipulability"),
)


def page_kernels(
    system: System,
    tool: str | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> bytes:
    """Dynamics, energies, poses of all frames, and steps: `rollout`, or `step` where time counts.

    Under constraints every step of `rollout` is followed by `project`.

    Of the frame `tool` come the Jacobian, and steps toward a position or a pose; `more` are entries
    as `System.wasm` takes them.
    """
    system = system.compiled
    seen = system.dynamics
    if not seen.traces:
        raise FormulationError(
            f"{seen.name} is solved sparsely, on numbers: its page cannot compute its motion"
        )
    wanted: dict[str, Any] = {name: {} for name in QUANTITIES if name in seen.catalogue}
    if seen.frames:
        wanted["poses"] = {}
    if tool is not None:
        jacobian = "frame_jacobian" if "frame_jacobian" in seen.catalogue else "jacobian"
        wanted["jacobian"] = {"quantity": jacobian, "frame": tool, "expressed_in": "world"}
        wanted["reach"] = {"frame": tool}
        wanted["reach_pose"] = {"quantity": "reach", "frame": tool, "task": "pose"}
    if seen.moving:
        wanted["step"] = step_operation(system, "rk4", smooth=False).program
    elif seen.rows:  # a stage and a projection are less than half the code of a whole step
        wanted["rollout"] = {"method": "rk4", "friction": "plain", "projected": False}
        wanted["project"] = {}
    else:
        wanted["rollout"] = {"method": "rk4"}
    return system.wasm({**wanted, **more}, batch=False)
