"""What a program means: each instruction as one NumPy operation on a batch of states."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dalembert.errors import ShapeError
from dalembert.tracing.program import BINARY, Op, Port, Program


def _truth(function: Callable) -> Callable:
    return lambda *args: function(*args).astype(np.result_type(*args))


def _each(function: Callable) -> Callable:
    """A scalar function of the standard library, applied entry by entry."""
    return lambda *args: np.vectorize(function, otypes=[np.result_type(*args)])(*args)


def _remainder(x: float, y: float) -> float:
    defined = math.isfinite(x) and y != 0.0 and not math.isnan(y)
    return math.remainder(x, y) if defined else math.nan


UFUNCS: dict[Op, np.ufunc] = {
    Op.NEG: np.negative,
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.DIV: np.divide,
    Op.SQ: np.square,
    Op.SQRT: np.sqrt,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.TAN: np.tan,
    Op.ASIN: np.arcsin,
    Op.ACOS: np.arccos,
    Op.ATAN: np.arctan,
    Op.ATAN2: np.arctan2,
    Op.SINH: np.sinh,
    Op.COSH: np.cosh,
    Op.TANH: np.tanh,
    Op.ASINH: np.arcsinh,
    Op.ACOSH: np.arccosh,
    Op.ATANH: np.arctanh,
    Op.EXP: np.exp,
    Op.EXPM1: np.expm1,
    Op.LOG: np.log,
    Op.LOG1P: np.log1p,
    Op.POW: np.power,
    Op.HYPOT: np.hypot,
    Op.ABS: np.absolute,
    Op.SIGN: np.sign,
    Op.FLOOR: np.floor,
    Op.CEIL: np.ceil,
    Op.FMOD: np.fmod,
    Op.COPYSIGN: np.copysign,
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.EQ: np.equal,
    Op.NE: np.not_equal,
    Op.NOT: np.logical_not,
    Op.AND: np.logical_and,
    Op.OR: np.logical_or,
}
"""Operations that are one of NumPy's ufuncs."""

TRUTHS = (Op.LT, Op.LE, Op.EQ, Op.NE, Op.NOT, Op.AND, Op.OR)
"""Those whose results are true or false."""

MEANING: dict[Op, Callable] = {
    **UFUNCS,
    **{op: _truth(UFUNCS[op]) for op in TRUTHS},
    Op.ERF: _each(math.erf),
    Op.REMAINDER: _each(_remainder),
    Op.SELECT0: lambda a, b: np.where(a != 0, b, np.zeros_like(b)),
}
"""What every operation computes, on arrays of numbers."""


def interpret(program: Program, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The program's outputs, each (..., *shape), for inputs (..., *shape) that broadcast.

    float32 inputs are computed in float32, everything else in float64. Infinite and NaN values
    propagate without warning, as in compiled kernels.
    """
    return run_by(program, arrays, MEANING)


def run_flat(program: Program, inputs: Sequence[float]) -> list[float]:
    """All results of one state, from all its inputs."""
    flat = [np.asarray(x, dtype=float) for x in inputs]
    with np.errstate(all="ignore"):
        values = _evaluate(program, flat, MEANING)
    return [float(values[k]) for k in program.results.tolist()]


def run_by(
    program: Program, arrays: tuple[np.ndarray, ...], meaning: Mapping[Op, Callable]
) -> tuple[np.ndarray, ...]:
    """The program's outputs, where every operation is what `meaning` says; complex ones too."""
    batch, flat = _flatten(program, arrays)
    with np.errstate(all="ignore"):
        values = _evaluate(program, flat, meaning)
    dtype = flat[0].dtype if flat else np.dtype(float)
    outputs, start = [], 0
    for port in program.outputs:
        out = np.empty((*batch, port.size), dtype)
        for k in range(port.size):
            out[..., k] = values[program.results[start + k]]
        outputs.append(out.reshape((*batch, *port.shape)))
        start += port.size
    return tuple(outputs)


def _flatten(
    program: Program, arrays: tuple[np.ndarray, ...]
) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The batch shape, and one array (of the batch, or broadcasting to it) per input entry."""
    if len(arrays) != len(program.inputs):
        names = ", ".join(port.name for port in program.inputs)
        raise ShapeError(f"{program.name} takes {len(program.inputs)} arrays ({names})")
    arrays = tuple(np.asarray(array) for array in arrays)
    single = bool(arrays) and all(array.dtype == np.float32 for array in arrays)
    dtype = complex if any(map(np.iscomplexobj, arrays)) else np.float32 if single else float
    leads: list[tuple[int, ...]] = []
    flat: list[np.ndarray] = []
    for port, array in zip(program.inputs, arrays, strict=True):
        lead = _batch_shape(port, array)
        entries = array.astype(dtype).reshape(*lead, port.size)
        leads.append(lead)
        flat.extend(entries[..., k] for k in range(port.size))
    return np.broadcast_shapes(*leads), flat


def _batch_shape(port: Port, array: np.ndarray) -> tuple[int, ...]:
    split = array.ndim - len(port.shape)
    if split < 0 or array.shape[split:] != port.shape:
        raise ShapeError(f"{port.name} must be (..., *{port.shape}), not {array.shape}")
    return array.shape[:split]


def _evaluate(
    program: Program, flat: list[np.ndarray], meaning: Mapping[Op, Callable]
) -> list[np.ndarray]:
    dtype = flat[0].dtype if flat else np.dtype(float)
    constants = program.constants.astype(dtype)
    values: list[np.ndarray] = []
    for op, a, b in program.rows:
        if op == Op.CONST:
            values.append(constants[a])
        elif op == Op.INPUT:
            values.append(flat[a])
        elif op in BINARY:
            values.append(meaning[Op(op)](values[a], values[b]))
        else:
            values.append(meaning[Op(op)](values[a]))
    return values
