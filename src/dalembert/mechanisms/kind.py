"""A kind of joint or measure: a function Φ(q) of a few bodies, and what follows from it.

The function is written once, in plain NumPy. Its Jacobian along the velocities and the drift come
from automatic differentiation, and all three are one kernel, called once for all joints of a kind:

    Φ(q),    J with Φ̇ = J v,    δ with Φ̈ = J v̇ + δ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.kernels import Kernel, Port, build, source_digest
from dalembert.kernels.program.trace import trace
from dalembert.mechanisms.space import Space

if TYPE_CHECKING:
    import casadi

Function = Callable[[Any, Any], Any]  # (q (bodies, nq), p (parameters,)) → (rows,)
TRACED_FROM = ("dalembert.mechanisms", "dalembert.spatial")


@dataclass(frozen=True)
class Kind:
    """Rows on a few bodies; `parameters` is how many numbers tell one joint from another.

    The last `turns` parameters are angles near which the function looks for its own, `angles`, so
    that they are followed over full turns. A kind from outside the library has `custom=True`.
    """

    name: str
    space: Space
    bodies: int
    rows: int
    parameters: int
    function: Function
    angles: Function | None = None
    turns: int = 0
    custom: bool = False

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Inputs of the kernel."""
        n = self.bodies
        return {"q": (n * self.space.nq,), "v": (n * self.space.nv,), "p": (self.parameters,)}

    def expanded(self, q: Any, v: Any, p: Any) -> dict[str, Any]:
        """Φ (rows,), J (rows, bodies·nv) and δ (rows,), from symbols q, v and p."""
        import casadi

        phi = _column(self.function(q.reshape(self.bodies, self.space.nq), p))
        at, moving = _column(q), _column(v)
        rate = _column(_rates(self.space, q, v, self.bodies))
        speed = casadi.jtimes(phi, at, rate)
        jacobian = casadi.densify(casadi.jacobian(speed, moving))
        drift = casadi.densify(casadi.jtimes(speed, at, rate))
        shaped = casadi.array(jacobian).reshape(self.rows, self.bodies * self.space.nv)
        return {
            "phi": casadi.array(casadi.densify(phi)).reshape(self.rows),
            "jacobian": shaped,
            "drift": casadi.array(drift).reshape(self.rows),
        }

    def kernel(self) -> Kernel:
        """The compiled (q, v, p) → (Φ, J, δ), batched over joints."""
        return _custom_kernel(self) if self.custom else _kernel(self)

    def winding(self) -> Kernel:
        """The compiled (q, p) → angles (turns,), near the last parameters."""
        return _winding(self)


def _rates(space: Space, q: Any, v: Any, bodies: int) -> Any:
    return np.concatenate(
        [
            space.rate(q[k * space.nq : (k + 1) * space.nq], v[k * space.nv : (k + 1) * space.nv])
            for k in range(bodies)
        ]
    )


def _column(value: Any) -> casadi.SX:
    import casadi

    if isinstance(value, casadi.ArrayInterface):
        return casadi.SX(value.ravel().to_casadi())
    return casadi.SX(casadi.DM(np.asarray(value, dtype=float).ravel()))


def _ports(kind: Kind) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    inputs = tuple(Port(name, shape) for name, shape in kind.shapes.items())
    width = kind.bodies * kind.space.nv
    outputs = (
        Port("phi", (kind.rows,)),
        Port("jacobian", (kind.rows, width)),
        Port("drift", (kind.rows,)),
    )
    return inputs, outputs


def _sources() -> str:
    return " ".join(map(source_digest, TRACED_FROM))


@cache
def _kernel(kind: Kind) -> Kernel:
    inputs, outputs = _ports(kind)
    return build(
        f"{kind.space.name} {kind.name} {_sources()}",
        lambda: trace(kind.expanded, kind.shapes, name=kind.name),
        inputs,
        outputs,
        kind.name,
    )


def _custom_kernel(kind: Kind) -> Kernel:
    """A function from outside is known only by what it computes, so it is traced first."""
    program = trace(kind.expanded, kind.shapes, name=kind.name)
    return build(program.digest, lambda: program, *_ports(kind), kind.name)


@cache
def _winding(kind: Kind) -> Kernel:
    measure = kind.angles
    assert measure is not None
    shapes = {name: shape for name, shape in kind.shapes.items() if name != "v"}
    return build(
        f"{kind.space.name} {kind.name} angle {_sources()}",
        lambda: trace(
            lambda q, p: measure(q.reshape(kind.bodies, kind.space.nq), p), shapes, name="angle"
        ),
        [Port(name, shape) for name, shape in shapes.items()],
        [Port("out", (kind.turns,))],
        f"{kind.name}_angles",
    )
