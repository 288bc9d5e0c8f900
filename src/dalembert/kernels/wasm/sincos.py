"""Sine and cosine in WebAssembly, which has no fused multiply-add: of two angles at a time.

x = k π/2 + r, with k the nearest integer and π/2 in three parts: the first two have 33 bits, so that
their products with k are exact up to LIMIT. Angles beyond are multiplied with as many bits of 2/π as
it takes (Payne and Hanek 1983), in integers. The polynomials in r are those of the CPU's kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from dalembert.kernels.llvm.sincos import COSINE, MAGIC, SINE, TWO_OVER_PI
from dalembert.kernels.wasm.binary import F64, I32, I64, V128, Body
from dalembert.kernels.wasm.code import Value, choose, constant, load, one, polynomial
from dalembert.kernels.wasm.instructions import instruction
from dalembert.kernels.wasm.library import Function, Library

LIMIT = 1.6e6  # k below 2^20
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_BITS = 1152  # of 2/π, enough for the largest exponent
TABLE_AT = 16  # where they lie in memory
_LEAST = 1043  # exponent of LIMIT and less
_LOW = 0xFFFFFFFF


def table() -> bytes:
    """⌊2^_BITS 2/π⌋, the lowest byte first, and zeros above."""
    more = 1 << (_BITS + 64)
    # Machin: π/4 = 4 arccot 5 − arccot 239
    pi = 4 * (4 * _arccot(5, more) - _arccot(239, more))
    return ((1 << (2 * _BITS + 65)) // pi).to_bytes(_BITS // 8 + 16, "little")


def _arccot(x: int, unit: int) -> int:
    total, term, n = 0, unit // x, 1
    while term:
        total += term // n if n % 4 == 1 else -(term // n)
        term, n = term // (x * x), n + 2
    return total


def reduce_huge(library: Library) -> Body:
    """(r, k mod 4 and more) of a large x; NaN where it is not finite.

    With x = m 2^e, the fraction of x 2/π comes from 128 bits W of 2^e 2/π below the weight 4:
    (m W mod 2^128) is x 2/π mod 4, of which the upper half is enough.
    """
    f = Function(library, "reduce_huge", "d", "dl")
    (x,) = f.arguments
    bits = f.let(one("bits", x))
    exponent = f.let((bits >> 52) & 2047)
    huge = constant(_LEAST, I64)
    f.set(exponent, choose(exponent < huge, huge, exponent))  # asked also for lanes that are not
    m = f.let((bits & ((1 << 52) - 1)) | (1 << 52))
    s = f.let(constant(_BITS + 949, I64) - exponent)  # the lowest bit of W in the table
    s = f.let(choose(exponent.same(2047), constant(0, I64), s))
    at, shift = one("to_i32", s >> 3), s & 7
    words = [f.let(load(at, I64, TABLE_AT + 8 * i)) for i in range(3)]
    low, high = (
        f.let((a >> shift) | ((b << 1) << (constant(63, I64) - shift))) for a, b in pairwise(words)
    )
    m0, m1, l0, l1 = m & _LOW, m >> 32, low & _LOW, low >> 32
    u = f.let(m1 * l0 + ((m0 * l0) >> 32))
    v = f.let(m0 * l1 + (u & _LOW))
    product = f.let(m * high + m1 * l1 + (u >> 32) + (v >> 32))
    k = f.let((product >> 62) + ((product >> 61) & 1))
    r = f.let(one("from_i64", product << 2) * (2.0**-65 * math.pi))
    f.set(r, choose(exponent.same(2047), x - x, r))
    negative = f.let(bits < 0)
    return f.returning(choose(negative, -r, r), choose(negative, constant(0, I64) - k, k))


def sincos(library: Library) -> Body:
    """(sin x, cos x) of two angles."""
    f = Function(library, "sincos", "v", "vv")
    number = partial(library.memory.constant, type=V128)
    r, k = _reduced(f, f.arguments[0], number)
    z = f.let(r * r)
    odd_part, even_part = (
        polynomial(z, [number(c) for c in series["float64"]]) for series in (SINE, COSINE)
    )
    sine, cosine = f.let(r + r * z * odd_part), f.let(number(1.0) + z * even_part)
    unit, top = _whole(1), _whole(-1 << 63)
    # the last bit of k in every bit of its lane: 0 − (k & 1)
    odd = f.let(_whole(0).then(instruction("i64x2.sub"), k & unit))

    def turned(value: Value, quadrant: Value) -> Value:
        """Negated where the quadrant's second bit is set, by moving that bit onto the sign."""
        return value ^ (quadrant.then(instruction("i64x2.shl"), constant(62, I32)) & top)

    after = k.then(instruction("i64x2.add"), unit)
    return f.returning(
        turned(_chosen(odd, cosine, sine), k), turned(_chosen(odd, sine, cosine), after)
    )


def _reduced(f: Function, x: Value, number: Callable[[float], Value]) -> tuple[Value, Value]:
    """(r, k) of two angles; one that is huge is reduced by itself."""
    magic = f.let(number(MAGIC["float64"]))
    bits = f.let(x * number(TWO_OVER_PI) + magic)  # k in the low bits
    k = f.let(bits - magic)
    r = f.let(x - k * number(_HALF_PI[0]) - k * number(_HALF_PI[1]) - k * number(_HALF_PI[2]))
    size = x.then(instruction("f64x2.abs"))
    near = f.let(size.then(instruction("f64x2.le"), number(LIMIT)))
    far = near.then(instruction("v128.not"))
    with f.when(far.then(instruction("v128.any_true"), type=I32)):
        (r0, k0), (r1, k1) = (f.calls("reduce_huge", [lane(x, i)], "dl") for i in (0, 1))
        f.set(r, _chosen(near, r, joined(r0, r1)))
        first = k0.then(instruction("i64x2.splat"), type=V128)
        f.set(bits, _chosen(near, bits, first.then(instruction("i64x2.replace_lane", 1), k1)))
    return r, bits


def _whole(n: int) -> Value:
    """An integer in both lanes."""
    return constant(n, I64).then(instruction("i64x2.splat"), type=V128)


def _chosen(mask: Value, x: Value, y: Value) -> Value:
    """x where the bits of the mask are set, y where not."""
    return x.then(instruction("v128.bitselect"), y, mask)


def lane(x: Value, i: int) -> Value:
    """One of the two numbers."""
    return x.then(instruction("f64x2.extract_lane", i), type=F64)


def joined(first: Value, second: Value) -> Value:
    """Two numbers as lanes."""
    both = first.then(instruction("f64x2.splat"), type=V128)
    return both.then(instruction("f64x2.replace_lane", 1), second)
