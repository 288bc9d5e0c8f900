"""Quantities as text for other machines, and as functions for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.systems.compiled import Evaluator

if TYPE_CHECKING:
    import casadi

    from dalembert.kernels.cuda.device import DeviceKernel

# what the numbers of a port are; ports of other names speak for themselves
UNITS = {
    "q": "rad or m, quaternions x, y, z, w",
    "qd": "rad/s or m/s",
    "qdd": "rad/s^2 or m/s^2",
    "tau": "N m or N",
    "tip_wrench": "N and N m, what the tool exerts on its environment, in the tool frame",
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
    "parameters": "named parameters, in the order of the model",
}


class ExportMethods(Evaluator):
    """Source text and CasADi functions of the quantities."""

    def source(
        self,
        quantity: str,
        target: str = "c",
        dtype: str = "float64",
        formulation: str | None = None,
        layout: str = "row",
        **choices: Any,
    ) -> str:
        """A quantity as text that compiles on its own.

        ``target="c"`` is C99 with nothing but <math.h>, ``"h"`` the header that goes with it, and
        ``"cuda"`` a kernel with one state per thread; there `layout` says how batches lie: "row"
        (states, entries) or "column" (entries, states). `choices` are those of `kernel`.

        >>> import dalembert as dl
        >>> "void dalembert_pendulum_bias(" in dl.load("pendulum").source("bias")
        True
        """
        program = self.program(quantity, formulation, **choices)
        name = f"dalembert_{self.description.name}_{quantity}"
        variant = self._variant(quantity, formulation, choices)
        about = [
            f"{variant.quantity.name} of {self.description.name}: {variant.quantity.summary}",
            f"Formulation {variant.formulation.name} ({variant.formulation.citation}).",
            "SI units and radians; twists and wrenches are (linear, angular).",
        ]
        from dalembert.kernels.source import source

        return source(program, target, name, dtype, layout, about, UNITS)

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

    def device_kernel(
        self, quantity: str, formulation: str | None = None, **choices: Any
    ) -> DeviceKernel:
        """The CUDA kernels of a quantity; ``.report()`` has their registers, spills and launch.

        Methods called with CuPy arrays use them by themselves.
        """
        return self._compiled.device_kernel(self._variant(quantity, formulation, choices))
