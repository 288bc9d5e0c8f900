"""Operations on a GPU: the CUDA kernels that frameworks launch."""

from __future__ import annotations

from dalembert.forking import llvm_lock
from dalembert.kernels.cuda.launch import SpreadKernel
from dalembert.systems.operation import Operation


def spread(operation: Operation) -> SpreadKernel:
    """The CUDA kernels of an operation, made when first asked for."""
    with llvm_lock:
        found = operation.__dict__.get("_spread")
        if found is None:
            variant = operation.root.variant
            if variant is None or variant.quantity.inverts_mass:
                operation.system.dynamics.require_regular()
            found = SpreadKernel(operation.program, operation.name.replace(" ", "_"))
            operation.__dict__["_spread"] = found
        return found
