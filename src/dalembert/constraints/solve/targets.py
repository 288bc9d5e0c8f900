"""Prescribed motions s(t) with their rates, differentiated automatically and compiled together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import CompileError, DalembertError
from dalembert.kernels import Kernel, build
from dalembert.kernels.program.trace import trace
from dalembert.systems.bodies.data import Prescribed

NUMPY = (
    "its motion must be a function of t in NumPy that also runs on symbols (np.sin, not math.sin)"
)


def targets(motions: Sequence[tuple[str, Prescribed, int]]) -> Kernel | None:
    """The kernel t → (s, ṡ, s̈) (rows,) each, of all named motions and their numbers of rows."""
    if not motions:
        return None

    def function(t: Any) -> dict[str, Any]:
        s = np.concatenate([target(name, motion, rows, t) for name, motion, rows in motions])
        speed = tracing.jacobian(s, t)
        return {"s": s, "speed": speed, "acceleration": tracing.jacobian(speed, t)}

    program = trace(function, {"t": ()}, name="motions")
    return build(program.digest, lambda: program, program.inputs, program.outputs, "motions")


def target(name: str, motion: Prescribed, rows: int, t: Any) -> Any:
    """s (rows,) at a time that is a symbol; what is no function of it is named."""
    try:
        value = motion(t)
    except (TypeError, NotImplementedError, RuntimeError) as error:
        raise CompileError(f"driver {name}: {NUMPY}: {error}") from None
    if not tracing.is_symbolic(value):
        value = np.asarray(value, dtype=float)
        if not np.isfinite(value).all():  # what a function of floats makes of a symbol
            raise CompileError(f"driver {name}: {NUMPY}")
    flat = value.ravel()
    if flat.shape[0] != rows:
        raise DalembertError(f"driver {name} has {rows} rows, its motion {flat.shape[0]}")
    return flat
