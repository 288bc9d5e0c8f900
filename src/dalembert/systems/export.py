"""Quantities of a system as text for other machines, functions for other libraries, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError
from dalembert.files import atomic_file
from dalembert.systems.evaluator import Variant
from dalembert.text import file_name, require_known

if TYPE_CHECKING:
    from dalembert.kernels import Program
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System

TARGETS = ("c", "cuda", "wasm", "casadi")
# units of the numbers of a port
UNITS = {
    "q": "rad or m, quaternions x, y, z, w",
    "qd": "rad/s or m/s",
    "qdd": "rad/s^2 or m/s^2",
    "tau": "N m or N",
    "tip_wrench": "N and N m, what the tool exerts on its environment, in the tool frame",
    "wrenches": "N and N m, what each frame's body exerts on its environment, in that frame",
    "lam": "forces of the constraints, M qdd + h + A^T lam = tau",
    "t": "s",
    "base_twist": "m/s and rad/s, in the base frame",
    "base_acceleration": "m/s^2 and rad/s^2, in the base frame",
    "M": "kg m^2, kg m or kg",
    "M_inverse": "inverse of the mass matrix",
    "dtau_dq": "N m/rad, row i for tau_i",
    "dtau_dqd": "N m s/rad, row i for tau_i",
    "dqdd_dq": "1/s^2, row i for qdd_i",
    "dqdd_dqd": "1/s, row i for qdd_i",
    "T": "pose in the world, m",
    "F": "force N and moment N m on each link, in its frame",
    "K": "J",
    "U": "J",
    "residual": "of a candidate: rad, and m in parts of the size of the arm; a solution is below 1e-6",
    "margin": "of a candidate: near 0 another is close to it",
    "parameters": "named parameters, in the order of the model",
}


def source_text(
    dynamics: Dynamics, variant: Variant, program: Program, target: str, dtype: str, layout: str
) -> str | bytes:
    """The program of a variant as C, its header or CUDA, with a comment on top."""
    from dalembert.kernels.source import source

    owner, quantity, formulation = dynamics.name, variant.quantity, variant.formulation
    about = [
        f"{quantity.name} of {owner}: {quantity.summary}",
        f"Formulation {formulation.name} ({formulation.citation}).",
        *(f"Choices: {name}={value}" for name, value in variant.static),
        "SI units and radians; twists and wrenches are (linear, angular).",
        *_entries(dynamics, variant),
    ]
    name = f"dalembert_{owner}_{quantity.name}"
    return source(program, target, name, dtype, layout, about, UNITS)


def _entries(dynamics: Dynamics, variant: Variant) -> list[str]:
    """Names and units of the entries of its arrays, in order."""
    shapes = [dynamics.inputs[name] for name in variant.inputs]
    sizes = {size for shape in (*shapes, *variant.quantity.outputs.values()) for size in shape}
    lines: list[str] = []

    def table(title: str, rows: Iterable[tuple[str, ...]]) -> None:
        numbered = [f"  [{k}] {', '.join(filter(None, row))}" for k, row in enumerate(rows)]
        lines.extend([title, *numbered] if numbered else [])

    if "nq" in sizes:
        table("Entries of q:", zip(dynamics.coordinates, dynamics.units("q"), strict=True))
    if "nv" in sizes:
        units = (dynamics.units(name) for name in ("qd", "qdd", "tau"))
        table("Entries of qd, qdd, tau:", zip(dynamics.velocities, *units, strict=True))
    if "nu" in sizes:
        actuators = dynamics.driven_by.actuators
        table("Entries of u, by actuator:", ((each.name,) for each in actuators))
    if "lam" in (*variant.inputs, *variant.quantity.outputs):
        table("Entries of lam:", zip(dynamics.row_names, dynamics.row_units, strict=False))
    names, values = dynamics.parameters.keys(), dynamics.parameters.values()
    defaults = ("no default" if x is None else f"default {x:.17g}" for x in values)
    table("Entries of parameters, SI units:", zip(names, defaults, strict=True))
    return lines


def export(
    system: System,
    quantity: str,
    target: str,
    folder: str | Path,
    dtype: str = "float64",
    layout: str = "row",
    formulation: str | None = None,
    **choices: Any,
) -> list[Path]:
    """Write a quantity into a folder, and return the files; none is written outside of it.

    "c" makes a .c and a .h file, "cuda" a .cu file with one state per thread, "wasm" a WebAssembly
    module, "casadi" a function that `casadi.Function.load` reads.
    """
    require_known(target, TARGETS, "there is no target")
    stem = file_name(f"{system.name}_{quantity}")
    if target == "casadi":
        function = system.casadi_function(quantity, formulation, **choices)
        return _written(Path(folder), {f"{stem}.casadi": lambda path: function.save(str(path))})
    endings = {"c": {"c": "c", "h": "h"}, "cuda": {"cuda": "cu"}, "wasm": {"wasm": "wasm"}}
    writers = {}
    for kind, ending in endings[target].items():
        content: str | bytes = system.source(quantity, kind, dtype, formulation, layout, **choices)
        data = content if isinstance(content, bytes) else content.encode("ascii")
        writers[f"{stem}.{ending}"] = partial(Path.write_bytes, data=data)
    return _written(Path(folder), writers)


def _written(folder: Path, writers: Mapping[str, Callable[[Path], Any]]) -> list[Path]:
    """Write the files of these names into the folder, which is created; each whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in writers.items():
            with atomic_file(folder / name) as part:
                write(part)
    except (OSError, RuntimeError) as error:  # CasADi's is a RuntimeError
        reason = getattr(error, "strerror", None) or error
        raise DalembertError(f"cannot write into {folder}: {reason}") from None
    return [folder / name for name in writers]
