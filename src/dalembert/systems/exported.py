"""Any quantity of a system for other machines and other libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from dalembert.systems.actuated import Actuated

if TYPE_CHECKING:
    import casadi

    from dalembert.systems.system import System


class Exported(Actuated):
    """Quantities as source text, as WebAssembly, and as functions of CasADi."""

    @overload
    def source(self, quantity: str, target: Literal["wasm"], **choices: Any) -> bytes: ...

    @overload
    def source(
        self,
        quantity: str,
        target: str = "c",
        dtype: str = "float64",
        formulation: str | None = None,
        layout: str = "row",
        **choices: Any,
    ) -> str: ...

    def source(
        self,
        quantity: str,
        target: str = "c",
        dtype: str = "float64",
        formulation: str | None = None,
        layout: str = "row",
        **choices: Any,
    ) -> str | bytes:
        """A quantity as text that compiles on its own, or the bytes of a WebAssembly module.

        ``target="c"`` is C99 with nothing but <math.h>, ``"h"`` the header that goes with it, and
        ``"cuda"`` a kernel with one state per thread; there `layout` says how batches lie: "row"
        (states, entries) or "column" (entries, states). ``"wasm"`` gives `bytes`, see `wasm`.
        `choices` are those of `kernel`.

        >>> import dalembert as dl
        >>> "void dalembert_pendulum_bias(" in dl.load("pendulum").source("bias")
        True
        """

        from dalembert.systems.export import source_text

        if target == "wasm":
            from dalembert.kernels.wasm.module import require_float64

            require_float64(dtype, layout)
            return self.wasm({quantity: {"formulation": formulation, **choices}})
        variant = self._variant(quantity, formulation, choices)
        program = self._program(variant)
        return source_text(self.dynamics.name, variant, program, target, dtype, layout)

    def wasm(
        self, functions: Sequence[str] | Mapping[str, Mapping[str, Any]], batch: bool = True
    ) -> bytes:
        """A WebAssembly module of several quantities, without imports, that describes itself.

        `functions` are names of quantities; or names of your own, each with its choices as for
        `kernel`: ``{"tool": {"quantity": "pose", "frame": "tool"}}``. "rollout" is no quantity but
        steps of a method, with the choices `method`, `friction`, `controls` and, under constraints,
        ``projected=False`` (call "project" after each); "poses" are those of all frames; and "reach"
        is steps of inverse kinematics toward a pose of a `frame`, with the choices `task` and `limits`.
        Named parameters are inputs. Without `batch` there are no functions of many states, and half the
        code.

        The module exports `memory`, `name(inputs…, outputs…)` with addresses of float64 arrays, and
        `name_batch(n, inputs…, outputs…)`; its custom section "dalembert" is JSON that says which
        arrays, with shapes, units and a place in memory for each, and the system's names and limits
        (`dalembert.kernels.wasm.module.description` reads it).

        >>> import dalembert as dl
        >>> type(dl.load("pendulum").wasm(["inverse_dynamics", "rollout"]))
        <class 'bytes'>
        """
        from dalembert.systems.wasm import wasm_of

        return wasm_of(cast("System", self), functions, batch)

    def casadi_function(
        self, quantity: str, formulation: str | None = None, **choices: Any
    ) -> casadi.Function:
        """A quantity as a `casadi.Function`, simplified, for optimal control.

        >>> import dalembert as dl
        >>> dl.load("pendulum").casadi_function("inverse_dynamics")
        Function(inverse_dynamics:(q,qd,qdd)->(tau) SXFunction)
        """
        from dalembert.kernels.program.to_casadi import to_casadi

        return to_casadi(self.program(quantity, formulation, **choices), quantity)
