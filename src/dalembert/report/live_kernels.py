"""WebAssembly kernels of a live page: dynamics, integration steps, and the coordinates with sliders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dalembert.constraints.projection import newton_step
from dalembert.errors import DalembertError, FormulationError
from dalembert.formulations.inverse_kinematics.branches import NAME
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.evaluator import traced
from dalembert.systems.friction import has_coulomb, lightest_postures, traced_smoothing_rate
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
OF_TREES = ("inverse_dynamics",)  # of closed chains it is large, and no page uses it


@dataclass(frozen=True)
class Part:
    """Kernels of one feature of a live page, and the data of its script.

    Where the kernels do not fit into the module, the page has neither, and names the `feature`.
    """

    kernels: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    feature: str = ""  # "Its page has no …"


def kernel_of(
    system: System,
    function: Callable[..., Mapping[str, np.ndarray]],
    name: str,
    inputs: Sequence[str | Port] = ("q",),
) -> Program:
    """The program of ``function(dynamics, **inputs)``; named parameters are bound to an input.

    `inputs` are those of the catalogue, "q", "qd", "tau" …, or ports of their own.
    """
    dynamics = system.compiled.dynamics
    ports = [
        x if isinstance(x, Port) else Port(x, dynamics.shape(dynamics.inputs[x])) for x in inputs
    ]
    if dynamics.parameters:
        ports.append(Port("parameters", (len(dynamics.parameters),)))

    def bound(
        parameters: np.ndarray | None = None, **arrays: np.ndarray
    ) -> Mapping[str, np.ndarray]:
        return function(dynamics if parameters is None else dynamics.bind(parameters), **arrays)

    return traced(bound, ports, name)


def page_kernels(
    system: System, tool: str | None = None, more: Mapping[str, Any] = MappingProxyType({})
) -> bytes:
    """A WebAssembly module: dynamics, energies, poses of all frames, and RK4 steps (`rollout`).

    Under constraints each step is followed by `close`, a Newton step, and `project_velocity`.

    Parameters
    ----------
    system : System
        The system whose kernels are compiled.
    tool : str, optional
        A frame; the module then has its Jacobian, and steps toward a position or a pose.
    more : mapping, optional
        Further entries, as `System.wasm` takes them.

    Returns
    -------
    bytes
        The module.

    Raises
    ------
    FormulationError
        If the system is solved on numbers only.
    """
    kernels = {
        name: entry for part in basic_parts(system, tool) for name, entry in part.kernels.items()
    }
    return system.wasm({**kernels, **more}, batch=False)


def basic_parts(system: System, tool: str | None = None) -> list[Part]:
    """The kernels of every page, the more important first; without the first it is not live."""
    dynamics = system.compiled.dynamics
    if not dynamics.traces:
        raise FormulationError(
            f"{dynamics.name} is solved sparsely, on numbers: its page cannot compute its motion"
        )
    time = {"t": True} if dynamics.moving else {}
    has_position_rows = bool(dynamics.rows and len(dynamics.bound().at(dynamics.neutral()).h))
    # integration steps, projection to the constraints after each, and energies
    motion: dict[str, Any] = {"rollout": {"method": "rk4", "projected": False}}
    if has_position_rows:
        # q after one Newton step to h = 0, in which `stiff` velocities hardly take part
        ports: list[str | Port] = ["q", Port("stiff", (dynamics.nv,))]
        ports += [Port("t", ())] if dynamics.moving else []
        motion["close"] = kernel_of(
            system,
            lambda bound, q, stiff, t=None: {"q": newton_step(bound.at_time(t), q, stiff)},
            "close",
            ports,
        )
    if dynamics.rows:
        motion["project_velocity"] = dict(time)
    if dynamics.parameters and has_coulomb(dynamics):  # by the defaults it is in `rollout`
        light = lightest_postures(system.compiled)
        motion["rise"] = kernel_of(
            system, lambda bound: {"rise": traced_smoothing_rate(bound, light)}, "rise", ()
        )
    energies = ["kinetic_energy", "potential_energy"]
    energies += ["kinetic_energy_parts"] if dynamics.has_chart_energy else []
    motion |= {name: time_choice(system, name) for name in energies}
    parts = [Part(motion, feature="motion")]
    if dynamics.rows:
        names = ("velocity_residual", "residual")[: 1 + has_position_rows]
        residuals = {name: dict(time) for name in names}
        parts.append(Part(residuals, feature="errors of the constraints"))
    for name, feature in QUANTITIES.items():
        if name in dynamics.catalogue and not (dynamics.rows and name in OF_TREES):
            parts.append(Part({name: time_choice(system, name)}, feature=feature))
    if dynamics.frames:
        parts.append(Part({"poses": {}}, feature="poses of frames"))
    if tool is not None:
        parts.append(Part({"reach": {"frame": tool}}, feature="dragging of the tool"))
        if not dynamics.rows:
            jacobian = {"frame": tool, "expressed_in": "world"}
            pose = {"quantity": "reach", "frame": tool, "task": "pose"}
            parts.append(Part({"jacobian": jacobian}, feature="the tool's Jacobian"))
            parts.append(Part({"reach_pose": pose}, feature="turning of the tool"))
    return parts


def time_choice(system: System, quantity: str) -> dict[str, Any]:
    """The choice that makes the time an input of a quantity, where it occurs in the equations."""
    dynamics = system.compiled.dynamics
    is_timed = dynamics.moving and "t" in dynamics.quantity(quantity).optional
    return {"t": True} if is_timed else {}


def solutions_part(system: System) -> Part:
    """The candidates of inverse kinematics of the tool's pose, for arms that subproblems solve."""
    choices = {"frame": "tool"}
    try:
        system.compiled.program(NAME, **choices)
    except DalembertError:  # more than six joints, loops, no special axes, no tool
        return Part()
    kernels = {"branches": {"quantity": NAME, **choices}}
    return Part(kernels, feature="other postures of the tool's pose")


# coordinates with sliders, and those that follow them

SEED = 1
RANK_TOLERANCE = 1e-3  # of singular values of the scaled constraint Jacobian
STIFF = 1e12  # of a coordinate set by its slider, relative to the largest inertia


def slider_coordinates(dynamics: Dynamics) -> list[tuple[int, int]]:
    """(entry of q, entry of q̇) of coordinates whose rate is a velocity; not of balls, free bodies."""
    bound, offset = dynamics.bound(), np.random.default_rng(SEED).normal(size=dynamics.nv)
    q = bound.integrate(np.asarray(dynamics.neutral(), dtype=float), offset)
    units = np.eye(dynamics.nv)
    rates = np.stack([np.asarray(bound.rate(q, unit), dtype=float) for unit in units]).T
    pairs = []
    for k, row in enumerate(rates):
        v = int(row.argmax())
        if np.abs(row - units[v]).max() < 1e-12:
            pairs.append((k, v))
    return pairs


def independent_velocities(system: System) -> list[int]:
    """Velocities whose coordinates determine a posture; in a closed chain the others follow.

    Preferred are the independent ones that the system names, then slides of joints, which are drives
    as a rule, and angles of bodies in absolute coordinates.
    """
    dynamics, q = system.dynamics, system.neutral()
    candidates = [v for _, v in slider_coordinates(dynamics)]
    A = np.asarray(dynamics.bound().closing(q)[1], dtype=float)
    if not len(A):
        return candidates
    sizes = np.sqrt(np.diag(dynamics.bound().mass_matrix(q)))
    A = A / np.maximum(sizes, 1e-9 * sizes.max())  # without units
    A /= np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
    preferred = getattr(system, "preferred_independent", ())

    def order(v: int) -> tuple[bool, bool, int]:
        is_length, is_absolute = dynamics.kinds.v[v] == "length", system.robot is None
        return dynamics.velocities[v] not in preferred, is_length == is_absolute, v

    independent: list[int] = []
    rank = np.linalg.matrix_rank(A, RANK_TOLERANCE)
    for v in sorted(candidates, key=order):
        rest = [k for k in range(dynamics.nv) if k not in (*independent, v)]
        if np.linalg.matrix_rank(A[:, rest], RANK_TOLERANCE) == rank:
            independent.append(v)
    return independent
