"""Mathematical functions that WebAssembly does not have, accurate to a few units in the last place.

Sine and cosine of two angles at a time, without fused multiply-add: x = k π/2 + r, with k the nearest
integer and π/2 in three parts: the first two have 33 bits, so that their products with k are exact up
to LIMIT. Larger angles are multiplied with as many bits of 2/π as it takes (Payne and Hanek 1983), in
integers. The polynomials in r are those of the CPU's kernels.

exp, log and arctan are those of FDLIBM (Sun Microsystems 1993); other functions are composed of them
such that nothing cancels. Of two lanes they are computed one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from dalembert.kernels.llvm import mathematics
from dalembert.kernels.llvm.mathematics import ARCTANGENT, COSINE, MAGIC, SINE, TWO_OVER_PI
from dalembert.kernels.wasm.binary import F64, I32, I64, V128, Body, instruction
from dalembert.kernels.wasm.code import (
    Function,
    Library,
    Value,
    binary,
    choose,
    constant,
    polynomial,
    unary,
)
from dalembert.tracing.program import BINARY, Op

LIMIT = 1.6e6  # k below 2^20
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_TABLE_BITS = 1152  # of 2/π, enough for the largest exponent
TABLE_AT = 16  # where they lie in memory
_MIN_EXPONENT = 1043  # exponent of LIMIT and less
_LOW_WORD = 0xFFFFFFFF


def two_over_pi_bits() -> bytes:
    """⌊2^_BITS 2/π⌋, the lowest byte first, and zeros above."""
    more = 1 << (_TABLE_BITS + 64)
    # Machin: π/4 = 4 arccot 5 − arccot 239
    pi = 4 * (4 * _arccot(5, more) - _arccot(239, more))
    return ((1 << (2 * _TABLE_BITS + 65)) // pi).to_bytes(_TABLE_BITS // 8 + 16, "little")


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
    bits = f.let(unary("bits", x))
    exponent = f.let((bits >> 52) & 2047)
    huge = constant(_MIN_EXPONENT, I64)
    f.set(exponent, choose(exponent < huge, huge, exponent))  # asked also for lanes that are not
    m = f.let((bits & ((1 << 52) - 1)) | (1 << 52))
    s = f.let(constant(_TABLE_BITS + 949, I64) - exponent)  # the lowest bit of W in the table
    s = f.let(choose(exponent.same(2047), constant(0, I64), s))
    at, shift = unary("to_i32", s >> 3), s & 7
    loads = [instruction("i64.load", 0, TABLE_AT + 8 * i) for i in range(3)]
    words = [f.let(at.then(load, type=I64)) for load in loads]
    low, high = (
        f.let((a >> shift) | ((b << 1) << (constant(63, I64) - shift))) for a, b in pairwise(words)
    )
    m0, m1, l0, l1 = m & _LOW_WORD, m >> 32, low & _LOW_WORD, low >> 32
    u = f.let(m1 * l0 + ((m0 * l0) >> 32))
    v = f.let(m0 * l1 + (u & _LOW_WORD))
    product = f.let(m * high + m1 * l1 + (u >> 32) + (v >> 32))
    k = f.let((product >> 62) + ((product >> 61) & 1))
    r = f.let(unary("from_i64", product << 2) * (2.0**-65 * math.pi))
    f.set(r, choose(exponent.same(2047), x - x, r))
    negative = f.let(bits < 0)
    return f.returning(choose(negative, -r, r), choose(negative, constant(0, I64) - k, k))


def sincos(library: Library) -> Body:
    """(sin x, cos x) of two angles."""
    f = Function(library, "sincos", "v", "vv")
    number = partial(library.memory.constant, type=V128)
    (x,) = f.arguments
    magic = f.let(number(MAGIC["float64"]))
    k = f.let(x * number(TWO_OVER_PI) + magic)  # in the low bits
    turns = f.let(k - magic)
    r = x
    for part in _HALF_PI:
        r = r - turns * number(part)
    r = f.let(r)
    # an angle that is huge is reduced by itself
    size = x.then(instruction("f64x2.abs"))
    near = f.let(size.then(instruction("f64x2.le"), number(LIMIT)))
    far = near.then(instruction("v128.not"))
    with f.when(far.then(instruction("v128.any_true"), type=I32)):
        (r0, k0), (r1, k1) = (f.calls("reduce_huge", [extract_lane(x, i)], "dl") for i in (0, 1))
        f.set(r, _bitselect(near, r, join_lanes(r0, r1)))
        first = k0.then(instruction("i64x2.splat"), type=V128)
        f.set(k, _bitselect(near, k, first.then(instruction("i64x2.replace_lane", 1), k1)))
    z = f.let(r * r)
    odd_part, even_part = (
        polynomial(z, [number(c) for c in series["float64"]]) for series in (SINE, COSINE)
    )
    sine, cosine = f.let(r + r * z * odd_part), f.let(number(1.0) + z * even_part)
    unit, top = _splat_integer(1), _splat_integer(-1 << 63)
    # the last bit of k in every bit of its lane: 0 − (k & 1)
    odd = f.let(_splat_integer(0).then(instruction("i64x2.sub"), k & unit))

    def turned(value: Value, quadrant: Value) -> Value:
        """Negated where the quadrant's second bit is set, by moving that bit onto the sign."""
        return value ^ (quadrant.then(instruction("i64x2.shl"), constant(62, I32)) & top)

    after = k.then(instruction("i64x2.add"), unit)
    return f.returning(
        turned(_bitselect(odd, cosine, sine), k), turned(_bitselect(odd, sine, cosine), after)
    )


def _splat_integer(n: int) -> Value:
    """An integer in both lanes."""
    return constant(n, I64).then(instruction("i64x2.splat"), type=V128)


def _bitselect(mask: Value, x: Value, y: Value) -> Value:
    """x where the bits of the mask are set, y where not."""
    return x.then(instruction("v128.bitselect"), y, mask)


def extract_lane(x: Value, i: int) -> Value:
    """One of the two numbers."""
    return x.then(instruction("f64x2.extract_lane", i), type=F64)


def join_lanes(first: Value, second: Value) -> Value:
    """Two numbers as lanes."""
    both = first.then(instruction("f64x2.splat"), type=V128)
    return both.then(instruction("f64x2.replace_lane", 1), second)


INF, NAN = math.inf, math.nan
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_EXP = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def _exp(f: Function, x: Value) -> Value:
    x = f.let(binary("max", binary("min", x, 760.0), -760.0))
    k = f.let(unary("nearest", x * 1.4426950408889634))
    high, low = f.let(x - k * _LN2[0]), f.let(k * _LN2[1])
    r = f.let(high - low)
    c = f.let(r - r * r * polynomial(r * r, _EXP))
    y = 1.0 - ((low - r * c / (2.0 - c)) - high)
    half = f.let(unary("rounded_i64", k * 0.5))
    for part in (half, unary("rounded_i64", k) - half):  # 2^part, from −1022 to 1023
        y = y * unary("from_bits", (part + 1023) << 52)
    return y


def _log(f: Function, x: Value) -> Value:
    tiny = f.let(x < 2.0**-1022)
    bits = f.let(unary("bits", choose(tiny, x * 2.0**54, x)))
    m = f.let(unary("from_bits", (bits & ((1 << 52) - 1)) | (1023 << 52)))
    k = f.let(unary("from_i64", (bits >> 52) - 1023) - choose(tiny, constant(54.0), 0.0))
    upper = f.let(m > math.sqrt(2.0))
    m = f.let(choose(upper, m * 0.5, m))
    k = f.let(choose(upper, k + 1.0, k))
    g = f.let(m - 1.0)
    s = f.let(g / (2.0 + g))
    z = f.let(s * s)
    half = f.let(g * g * 0.5)
    result = k * _LN2[0] - ((half - (s * (half + z * polynomial(z, _LOG)) + k * _LN2[1])) - g)
    special = choose(x.same(0.0), constant(-INF), choose(x < 0.0, constant(NAN), x))
    return choose((x > 0.0) & (x < INF), result, special)


def _expm1(f: Function, x: Value) -> Value:
    """(u − 1) x / ln u with u = eˣ, in which the error of u cancels (Kahan)."""
    u = f.let(f.call("exp", x))
    result = (u - 1.0) * x / f.call("log", u)
    flat = choose(u.same(1.0), x, choose(u < 1e-17, constant(-1.0), result))
    return choose(u.same(INF), u, flat)


def _log1p(f: Function, x: Value) -> Value:
    """ln u · x / (u − 1) with u = 1 + x (Kahan)."""
    u = f.let(1.0 + x)
    result = f.call("log", u) * (x / (u - 1.0))
    return choose(u.same(1.0) | u.same(INF), x, result)


def _sinh(f: Function, x: Value) -> Value:
    a = f.let(unary("abs", x))
    e, w = f.let(f.call("expm1", a)), f.let(f.call("exp", a * 0.5))
    return binary("copysign", choose(a < 709.0, 0.5 * (e + e / (e + 1.0)), 0.5 * w * w), x)


def _cosh(f: Function, x: Value) -> Value:
    a = f.let(unary("abs", x))
    e, w = f.let(f.call("exp", a)), f.let(f.call("exp", a * 0.5))
    return choose(a < 709.0, 0.5 * e + 0.5 / e, 0.5 * w * w)


def _tanh(f: Function, x: Value) -> Value:
    a = f.let(unary("abs", x))
    e = f.let(f.call("expm1", 2.0 * a))
    return binary("copysign", choose(a > 22.0, constant(1.0), e / (e + 2.0)), x)


def _asinh(f: Function, x: Value) -> Value:
    a = f.let(unary("abs", x))
    square = f.let(a * a)
    near = f.call("log1p", a + square / (1.0 + unary("sqrt", square + 1.0)))
    return binary("copysign", choose(a > 2.0**28, f.call("log", a) + math.log(2.0), near), x)


def _acosh(f: Function, x: Value) -> Value:
    t = f.let(x - 1.0)
    near = f.call("log1p", t + unary("sqrt", t * (2.0 + t)))
    far = f.call("log", x) + math.log(2.0)
    return choose(x < 1.0, constant(NAN), choose(x > 2.0**28, far, near))


def _atanh(f: Function, x: Value) -> Value:
    a = f.let(unary("abs", x))
    return binary("copysign", 0.5 * f.call("log1p", 2.0 * a / (1.0 - a)), x)


def _tan(f: Function, x: Value) -> Value:
    sine, cosine = f.calls("sincos", [join_lanes(x, x)], "vv")
    return extract_lane(sine / cosine, 0)


def _atan(f: Function, x: Value) -> Value:
    """Of |x|, of (|x| − 1)/(|x| + 1) beyond tan π/8, and of −1/|x| beyond tan 3π/8."""
    a = f.let(unary("abs", x))
    far, mid = f.let(a > 1.0 + math.sqrt(2.0)), f.let(a > math.sqrt(2.0) - 1.0)
    t = f.let(choose(far, -1.0 / a, choose(mid, (a - 1.0) / (a + 1.0), a)))
    share = f.let(choose(far, constant(1.0), choose(mid, constant(0.5), 0.0)))
    z = f.let(t * t)
    turned = share * (math.pi / 2) + (
        share * 6.123233995736766e-17 + t - t * z * polynomial(z, ARCTANGENT)
    )
    return binary("copysign", turned, x)


def _atan2(f: Function, y: Value, x: Value) -> Value:
    a, b = f.let(unary("abs", y)), f.let(unary("abs", x))
    ratio = choose(b.same(INF) & a.same(INF), constant(1.0), a / b)
    result = f.let(f.call("atan", choose(a.same(0.0) & b.same(0.0), constant(0.0), ratio)))
    left = f.let(unary("bits", x) < 0)
    turned = choose(left, math.pi - (result - 1.2246467991473532e-16), result)
    return choose(x.other(x) | y.other(y), x + y, binary("copysign", turned, y))


def _hypot(f: Function, x: Value, y: Value) -> Value:
    a, b = f.let(unary("abs", x)), f.let(unary("abs", y))
    most = f.let(binary("max", a, b))
    ratio = f.let(binary("min", a, b) / most)
    result = choose(most.same(0.0), most, most * unary("sqrt", 1.0 + ratio * ratio))
    return choose(a.same(INF) | b.same(INF), constant(INF), result)


def _pow(f: Function, x: Value, y: Value) -> Value:
    """e^(y ln |x|), with the sign and the special cases of C."""
    a = f.let(unary("abs", x))
    size = f.let(f.call("exp", y * f.call("log", a)))
    f.set(size, choose(a.same(1.0) & y.same(y), constant(1.0), size))
    whole = f.let(unary("floor", y).same(y))
    odd = whole & unary("floor", y * 0.5).other(y * 0.5)
    signed = choose(odd & (unary("bits", x) < 0), -size, size)
    undefined = (x < 0.0) & (x > -INF) & unary("eqz", whole)
    result = choose(undefined, constant(NAN), signed)
    return choose(y.same(0.0) | x.same(1.0), constant(1.0), result)


def _erf(f: Function, x: Value) -> Value:
    """2/√π a e^(−a²) Σ (2a²)ⁿ / (1·3·…·(2n+1)): no term is negative."""
    a = f.let(unary("abs", x))
    square = f.let(a * a)
    total, n = f.let(constant(1.0)), f.let(constant(201.0))
    with f.repeat(lambda: n > 1.0):
        f.set(total, 1.0 + total * (2.0 * square) / n)
        f.set(n, n - 2.0)
    result = 2.0 / math.sqrt(math.pi) * a * f.call("exp", -square) * total
    return binary("copysign", choose(a > 6.0, constant(1.0), result), x)


def _fmod(f: Function, x: Value, y: Value) -> Value:
    """|x| less multiples of |y|, halved from the largest on: every difference is exact."""
    a, b = f.let(unary("abs", x)), f.let(unary("abs", y))
    with f.when(unary("eqz", (a < INF) & (b > 0.0))):
        f.leave(NAN)
    with f.when(a < b):
        f.leave(x)
    t = f.let(b)
    with f.repeat(lambda: t <= a * 0.5):
        f.set(t, t + t)
    with f.repeat(lambda: t >= b):
        f.set(a, choose(a >= t, a - t, a))
        f.set(t, t * 0.5)
    return binary("copysign", a, x)


def _remainder(f: Function, x: Value, y: Value) -> Value:
    """x less the nearest multiple of y; of two, the even one."""
    b = f.let(unary("abs", y))
    a = f.let(unary("abs", x))
    with f.when(unary("eqz", (a < INF) & (b > 0.0))):
        f.leave(NAN)
    with f.when(b < 2.0**1023):
        f.set(a, f.call("fmod", a, b + b))
    # a − b/2 without rounding, also where b/2 or 2a is no number
    scale = f.let(choose(b < 1.0, constant(1.0), 0.5))
    a2, b2 = a * (2.0 * scale), b * scale
    with f.when(a2 > b2):
        f.set(a, a - b)
        with f.when(a2 >= b2):
            f.set(a, a - b)
    return choose(unary("bits", x) < 0, -a, a)


_FUNCTIONS: dict[Op, Callable[..., Value]] = {
    Op.TAN: _tan,
    Op.ASIN: lambda f, x: f.call("atan2", x, unary("sqrt", (1.0 - x) * (1.0 + x))),
    Op.ACOS: lambda f, x: 2.0 * f.call("atan2", unary("sqrt", 1.0 - x), unary("sqrt", 1.0 + x)),
    Op.ATAN: _atan,
    Op.ATAN2: _atan2,
    Op.SINH: _sinh,
    Op.COSH: _cosh,
    Op.TANH: _tanh,
    Op.ASINH: _asinh,
    Op.ACOSH: _acosh,
    Op.ATANH: _atanh,
    Op.EXP: _exp,
    Op.EXPM1: _expm1,
    Op.LOG: _log,
    Op.LOG1P: _log1p,
    Op.POW: _pow,
    Op.HYPOT: _hypot,
    Op.ERF: _erf,
    Op.FMOD: _fmod,
    Op.REMAINDER: _remainder,
    Op.SIGN: lambda f, x: choose(x > 0.0, constant(1.0), choose(x < 0.0, constant(-1.0), x)),
}
NAMES = {**mathematics.LIBM_NAMES, Op.SIGN: "sign"}


def _scalar(op: Op, library: Library) -> Body:
    f = Function(library, NAMES[op], "dd" if op in BINARY else "d")
    return f.returning(_FUNCTIONS[op](f, *f.arguments))


def _pair(op: Op, library: Library) -> Body:
    """The function on both lanes."""
    f = Function(library, f"{NAMES[op]}_pair", "vv" if op in BINARY else "v", "v")
    lanes = [f.call(NAMES[op], *(extract_lane(x, i) for x in f.arguments)) for i in (0, 1)]
    return f.returning(join_lanes(*lanes))


CATALOGUE: dict[str, Callable[[Library], Body]] = {
    "reduce_huge": reduce_huge,
    "sincos": sincos,
    **{NAMES[op]: partial(_scalar, op) for op in _FUNCTIONS},
    **{f"{NAMES[op]}_pair": partial(_pair, op) for op in _FUNCTIONS},
}
