"""Arrays that are spread over several devices: each device computes its own share of a batch.

Under plain `jit` XLA divides a call only if it is told along which axes. All axes of the batch are
such; those within a state are not. An array that is 1 long where the batch is longer has nothing to
divide, so it is repeated first. Within `shard_map` and `pmap` every device has its share already; there
the types of arrays say along which axes of the mesh they vary, and what enters one call is made to vary
alike, so that gradients of what all devices share are summed over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.mlir import ir
from jax.interpreters import mlir

from dalembert.systems.operation import Operation


def varying(aval: Any) -> frozenset[Any]:
    """The axes of the mesh along which an array differs from device to device in `shard_map`."""
    # JAX 0.6 to 0.9 have it here, later ones in a type of its own
    found: frozenset[Any] | None = getattr(aval, "vma", None)
    if found is not None:
        return found
    return getattr(getattr(aval, "manual_axis_type", None), "varying", frozenset())


def alike(arrays: Sequence[Any]) -> Sequence[Any]:
    """The arrays, all varying along every axis of the mesh along which one of them does."""
    if not hasattr(jax, "typeof"):
        return arrays
    kinds = [varying(jax.typeof(x)) for x in arrays]
    axes = frozenset().union(*kinds)
    if not axes:
        return arrays
    cast = getattr(jax.lax, "pcast", None)
    over = partial(cast, to="varying") if cast else jax.lax.pvary
    return [
        over(x, tuple(sorted(axes - kind))) if kind != axes else x
        for x, kind in zip(arrays, kinds, strict=True)
    ]


def result(first: Any, shape: tuple[int, ...]) -> Any:
    """The type of a result beside the first argument's; all arguments vary alike."""
    if not varying(first):
        return jax.core.ShapedArray(shape, first.dtype)
    whole = jax.sharding.PartitionSpec(*(None,) * len(shape))
    return first.update(shape=shape, weak_type=False, sharding=first.sharding.update(spec=whole))


def divides(ctx: Any) -> bool:
    """Whether one program is compiled for several devices, by a version of JAX that can be told."""
    devices = getattr(ctx.module_context.axis_context, "num_devices", 1)
    return devices > 1 and hasattr(jax.ffi, "register_ffi_target_as_batch_partitionable")


def lower_divided(ctx: Any, operands: Sequence[Any], operation: Operation, target: str) -> Any:
    """The call with its batch as what is divided."""
    jax.ffi.register_ffi_target_as_batch_partitionable(target)
    batch = ctx.avals_out[0].shape[: len(ctx.avals_out[0].shape) - len(operation.outputs[0].shape)]
    avals, full = [], []
    for aval, x, port in zip(ctx.avals_in, operands, operation.inputs, strict=True):
        shape = (*batch, *port.shape)
        avals.append(aval.update(shape=shape))
        if aval.shape != shape:
            repeated = mlir.lower_fun(
                partial(jnp.broadcast_to, shape=shape), multiple_results=False
            )
            (x,) = repeated(ctx.replace(avals_in=[aval], avals_out=avals[-1:]), x)
        full.append(x)
    ctx = ctx.replace(avals_in=avals)
    attributes = {
        "mhlo.frontend_attributes": mlir.ir_attribute({"num_batch_dims": str(len(batch))}),
        "sdy.sharding_rule": _rule(batch, operation),
    }
    return jax.ffi.ffi_lowering(target, extra_attributes=attributes)(ctx, *full)


def _rule(batch: tuple[int, ...], operation: Operation) -> Any:
    """Shardy's rule: one factor for each axis of the batch, one of its own for every other axis."""
    sizes = dict(enumerate(batch))

    def axes(shape: tuple[int, ...]) -> str:
        own = range(len(sizes), len(sizes) + len(shape))
        sizes.update(zip(own, shape, strict=True))
        return f"[{', '.join(map(_factor, (*range(len(batch)), *own)))}]"

    given, made = (
        ", ".join(axes(port.shape) for port in ports)
        for ports in (operation.inputs, operation.outputs)
    )
    lengths = ", ".join(f"{_factor(k)}={n}" for k, n in sizes.items())
    return ir.Attribute.parse(f"#sdy.op_sharding_rule<({given})->({made}) {{{lengths}}}, custom>")


def _factor(k: int) -> str:
    """Shardy's name of a factor: i to z, then z_1, z_2, …"""
    return chr(ord("i") + k) if k < 18 else f"z_{k - 17}"
