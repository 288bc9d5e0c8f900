"""What a page computes: the quantities and the motion of a system as one WebAssembly module."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from dalembert.constraints.projection import closer
from dalembert.errors import FormulationError
from dalembert.report.live_part import kernel_of
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.friction import rise, rubs
from dalembert.systems.lightest import lightest
from dalembert.systems.system import System
from dalembert.tracing.program import Port, Program

# quantities that a page shows, the more important first; a system has those of its catalogue
QUANTITIES = {
    "gravity_torque": "gravity torques",
    "mass_matrix": "the mass matrix",
    "manipulability": "manipulability",
    "forward_dynamics": "accelerations",
    "bias": "Coriolis forces",
    "inverse_dynamics": "inverse dynamics",
}


OF_TREES = ("inverse_dynamics",)  # of closed chains it is large, and no page asks for it


class Group(NamedTuple):
    """Functions that a page has all of or none, and what it has by them."""

    says: str
    kernels: Mapping[str, Any]


def page_kernels(
    system: System,
    tool: str | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> bytes:
    """Dynamics, energies, poses of all frames, and steps of 4th order: `rollout`.

    Under constraints each step is followed by `close`, one of Newton's, and `project_velocity`. Of the
    frame `tool` come the Jacobian, and steps toward a position or a pose; `more` are entries as
    `System.wasm` takes them.
    """
    wanted = {
        name: entry for group in page_groups(system, tool) for name, entry in group.kernels.items()
    }
    return system.wasm({**wanted, **more}, batch=False)


def page_groups(system: System, tool: str | None = None) -> list[Group]:
    """The functions of a page, the more important first; without the first it does not compute."""
    seen = system.compiled.dynamics
    if not seen.traces:
        raise FormulationError(
            f"{seen.name} is solved sparsely, on numbers: its page cannot compute its motion"
        )
    when = {"t": True} if seen.moving else {}
    found = [Group("motion", _motion(system, when))]
    if seen.rows:
        names = ("velocity_residual", *(["residual"] if held(seen) else []))
        found.append(Group("errors of the constraints", {name: dict(when) for name in names}))
    for name, says in QUANTITIES.items():
        if name in seen.catalogue and not (seen.rows and name in OF_TREES):
            takes = "t" in seen.catalogue[name].optional
            found.append(Group(says, {name: dict(when) if takes else {}}))
    if seen.frames:
        found.append(Group("poses of frames", {"poses": {}}))
    if tool is not None:
        found += _of_tool(seen, tool)
    return found


def _motion(system: System, when: Mapping[str, Any]) -> dict[str, Any]:
    """Steps, what goes back to constraints after each, and energies."""
    seen = system.compiled.dynamics
    wanted: dict[str, Any] = {"rollout": {"method": "rk4", "projected": False}}
    if held(seen):
        wanted["close"] = close(system)
    if seen.rows:
        wanted["project_velocity"] = dict(when)
    if seen.parameters and rubs(seen):  # by the defaults it is in what is said of `rollout`
        light = lightest(system.compiled)
        wanted["rise"] = kernel_of(system, lambda here: {"rise": rise(here, light)}, "rise", ())
    energies = ["kinetic_energy", "potential_energy"]
    energies += ["kinetic_energy_parts"] if seen.has_chart_energy else []
    return wanted | {
        name: dict(when) if "t" in seen.quantity(name).optional else {} for name in energies
    }


def _of_tool(seen: Dynamics, tool: str) -> list[Group]:
    """Steps toward a position; of a tree also the Jacobian, and steps toward a pose."""
    found = [Group("dragging of the tool", {"reach": {"frame": tool}})]
    if seen.rows:
        return found
    choices = {"frame": tool, "expressed_in": "world"}
    turned = {"quantity": "reach", "frame": tool, "task": "pose"}
    return [
        *found,
        Group("the tool's Jacobian", {"jacobian": choices}),
        Group("turning of the tool", {"reach_pose": turned}),
    ]


def held(seen: Dynamics) -> int:
    """Number of constraints on positions."""
    return len(seen.bound().at(seen.neutral()).h) if seen.rows else 0


def close(system: System) -> Program:
    """q after one of Newton's steps to h = 0, which `stiff` velocities hardly take part in."""
    seen = system.compiled.dynamics

    def function(here: Any, q: Any, stiff: Any, t: Any = None) -> dict[str, Any]:
        return {"q": closer(here, q, t, stiff)}

    ports: list[str | Port] = [
        "q",
        Port("stiff", (seen.nv,)),
        *([Port("t", ())] if seen.moving else []),
    ]
    return kernel_of(system, function, "close", ports)
