"""One JAX primitive for every operation: derivatives, batching, lowering and sharding."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.extend.mlir import ir
from jax.interpreters import ad, batching, mlir, xla

from dalembert.errors import FormulationError
from dalembert.frameworks.facade import spread
from dalembert.kernels.call.check import MAX_STATES, Confirmation
from dalembert.kernels.call.settings import checking
from dalembert.systems.derivatives import Operation

Arrays = Sequence[jax.Array]
Values = Sequence[ir.Value]


def varying(aval: jax.core.ShapedArray) -> frozenset[str]:
    """The axes of the mesh along which an array differs from device to device in `shard_map`."""
    # JAX 0.6 to 0.9 have it here, later ones in a type of its own
    kind = getattr(aval, "manual_axis_type", None)
    axes = getattr(aval, "vma", None) or getattr(kind, "varying", None)
    return frozenset(axes or ())


def alike(arrays: Arrays) -> Arrays:
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


def result_type(first: jax.core.ShapedArray, shape: tuple[int, ...]) -> jax.core.ShapedArray:
    """The type of a result beside the first argument's; all arguments vary alike."""
    if not varying(first):
        return jax.core.ShapedArray(shape, first.dtype)
    whole = jax.sharding.PartitionSpec(*(None,) * len(shape))
    return first.update(shape=shape, weak_type=False, sharding=first.sharding.update(spec=whole))


def divides(ctx: mlir.LoweringRuleContext) -> bool:
    """Whether one program is compiled for several devices, by a version of JAX that can be told."""
    devices = getattr(ctx.module_context.axis_context, "num_devices", 1)
    return devices > 1 and hasattr(jax.ffi, "register_ffi_target_as_batch_partitionable")


def lower_divided(
    ctx: mlir.LoweringRuleContext, operands: Values, operation: Operation, target: str
) -> Values:
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
        "sdy.sharding_rule": _sharding_rule(batch, operation),
    }
    return list(jax.ffi.ffi_lowering(target, extra_attributes=attributes)(ctx, *full))


def _sharding_rule(batch: tuple[int, ...], operation: Operation) -> ir.Attribute:
    """Shardy's rule: one factor for each axis of the batch, one of its own for every other axis."""
    sizes = dict(enumerate(batch))

    def factor(k: int) -> str:  # named i to z, then z_1, z_2, …
        return chr(ord("i") + k) if k < 18 else f"z_{k - 17}"

    def axes(shape: tuple[int, ...]) -> str:
        own = range(len(sizes), len(sizes) + len(shape))
        sizes.update(zip(own, shape, strict=True))
        return f"[{', '.join(map(factor, (*range(len(batch)), *own)))}]"

    inputs, outputs = (
        ", ".join(axes(port.shape) for port in ports)
        for ports in (operation.inputs, operation.outputs)
    )
    lengths = ", ".join(f"{factor(k)}={n}" for k, n in sizes.items())
    return ir.Attribute.parse(
        f"#sdy.op_sharding_rule<({inputs})->({outputs}) {{{lengths}}}, custom>"
    )


_confirmed: set[str] = set()


def confirmed(
    ctx: mlir.LoweringRuleContext,
    operands: Values,
    results: Values,
    operation: Operation,
    target: str,
) -> Values:
    """The results, lowered so that they pass through a comparison (DALEMBERT_CHECK=1).

    XLA calls machine code without Python, so a callback is put behind the call. It compares the first
    states of the first call of every operation in each precision with the program, interpreted.
    """
    kinds = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in ctx.avals_out]
    passed = partial(jax.pure_callback, partial(_compare, operation, target), kinds)
    both = ctx.replace(avals_in=[*ctx.avals_in, *ctx.avals_out])
    return list(mlir.lower_fun(passed, multiple_results=True)(both, *operands, *results))


def _compare(operation: Operation, target: str, *arrays: jax.Array) -> list[np.ndarray]:
    """The results as they are; raises where the program has others."""
    numbers = [np.asarray(x) for x in arrays]
    count = len(operation.inputs)
    results = numbers[count:]
    if target not in _confirmed:
        ports = (*operation.inputs, *operation.outputs)
        batch = results[-1].shape[: results[-1].ndim - len(operation.outputs[-1].shape)]
        first = []  # the first states of the batch, (states, *shape)
        for x, port in zip(numbers, ports, strict=True):
            whole = np.broadcast_to(x, (*batch, *port.shape))
            first.append(whole.reshape((-1, *port.shape))[:MAX_STATES])
        if len(first[0]):
            Confirmation(
                operation.name,
                operation.inputs,
                operation.outputs,
                first[:count],
                first[count:],
                "the call of JAX",
            ).by_program(operation.program)
            _confirmed.add(target)
    return results


_primitive = Primitive("dalembert")
_primitive.multiple_results = True
# XLA keeps the address of a handler for good, so its code is kept too
_registered: dict[str, object] = {}


def call(operation: Operation, arrays: Arrays) -> list[jax.Array]:
    """The outputs, each (batch…, *shape)."""
    return list(_primitive.bind(*alike(arrays), operation=operation))


def _abstract(*avals: jax.core.ShapedArray, operation: Operation) -> list[jax.core.ShapedArray]:
    pairs = [(aval.shape, port) for aval, port in zip(avals, operation.inputs, strict=True)]
    batch = np.broadcast_shapes(*(shape[: len(shape) - len(port.shape)] for shape, port in pairs))
    return [result_type(avals[0], (*batch, *port.shape)) for port in operation.outputs]


def _jvp(
    primals: Arrays, tangents: Arrays, *, operation: Operation
) -> tuple[list[jax.Array], list[jax.Array]]:
    """Derivatives by those inputs only that vary."""
    wrt = tuple(i for i, d in enumerate(tangents) if type(d) is not ad.Zero)
    along = [tangents[i] for i in wrt]
    return call(operation, primals), call(operation.jvp(wrt), [*primals, *along])


def _transpose(
    cotangents: Arrays, *arrays: jax.Array | ad.UndefinedPrimal, operation: Operation
) -> list[jax.Array | None]:
    unknown = tuple(i for i, x in enumerate(arrays) if ad.is_undefined_primal(x))
    if not set(unknown) <= set(operation.linear):
        names = ", ".join(operation.inputs[i].name for i in unknown)
        raise FormulationError(f"{operation.name} is not linear in {names}: take its vjp instead")
    known = [None if i in unknown else x for i, x in enumerate(arrays)]
    shapes = [x.aval.shape if i in unknown else x.shape for i, x in enumerate(arrays)]
    weights = [ad.instantiate_zeros(w) for w in cotangents]
    if unknown == operation.linear:
        results = call(operation.transposed, [*known[: unknown[0]], *weights])
    else:
        # the others are zero, and linear is linear anywhere: also at zero
        dtype = weights[0].dtype
        at = [jnp.zeros(shapes[i], dtype) if x is None else x for i, x in enumerate(known)]
        results = call(operation.vjp(unknown), [*at, *weights])
    transposed: list[jax.Array | None] = [None] * len(arrays)
    for i, x in zip(unknown, results, strict=True):
        # the sum over the axes that were broadcast
        axes = tuple(k for k, (n, m) in enumerate(zip(x.shape, shapes[i], strict=True)) if n != m)
        transposed[i] = jnp.sum(x, axes, keepdims=True) if axes else x
    return transposed


def _batch(
    arrays: Arrays, axes: Sequence[int | None], *, operation: Operation
) -> tuple[list[jax.Array], list[int]]:
    """One more axis of the batch in front; 1 long where an array has none."""
    moved = [
        jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(arrays, axes, strict=True)
    ]
    return call(operation, moved), [0] * len(operation.outputs)


def _lower(
    ctx: mlir.LoweringRuleContext, *operands: ir.Value, operation: Operation, platform: str
) -> Values:
    dtype = ctx.avals_in[0].dtype.name
    kernel = operation.kernel if platform == "cpu" else spread(operation)
    # the name under which XLA knows an operation's machine code
    target = f"dalembert_{operation.root.name}_{kernel.identity(dtype)[:32]}"
    if target not in _registered:
        address, owner = kernel.handler(dtype)
        capsule = jax.ffi.pycapsule(ctypes.c_void_p(address))
        jax.ffi.register_ffi_target(target, capsule, platform=platform)
        _registered[target] = owner
    if divides(ctx):
        return lower_divided(ctx, operands, operation, target)
    results = jax.ffi.ffi_lowering(target)(ctx, *operands)
    return confirmed(ctx, operands, results, operation, target) if checking() else results


def _nowhere(ctx: mlir.LoweringRuleContext, *operands: ir.Value, operation: Operation) -> NoReturn:
    raise FormulationError(
        f"{operation.system.dynamics.name}: {operation.name} runs on CPUs and on CUDA; put the arrays "
        'there, jax.device_put(x, jax.devices("cpu")[0]), or compile with JAX_PLATFORMS=cpu'
    )


_primitive.def_impl(partial(xla.apply_primitive, _primitive))
_primitive.def_abstract_eval(_abstract)
ad.primitive_jvps[_primitive] = _jvp
ad.primitive_transposes[_primitive] = _transpose
batching.primitive_batchers[_primitive] = _batch
mlir.register_lowering(_primitive, _nowhere)
mlir.register_lowering(_primitive, partial(_lower, platform="cpu"), platform="cpu")
mlir.register_lowering(_primitive, partial(_lower, platform="CUDA"), platform="cuda")
