"""The other functions of programs, which WebAssembly does not have: a few units in the last place.

exp, log and arctan are those of FDLIBM (Sun Microsystems 1993), in formulas; what is made of them is
arranged so that nothing cancels. Of two lanes they are computed one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from dalembert.kernels.llvm import libm
from dalembert.kernels.wasm.binary import Body
from dalembert.kernels.wasm.code import Value, choose, constant, one, polynomial, two
from dalembert.kernels.wasm.library import Function, Library
from dalembert.kernels.wasm.sincos import joined, lane, reduce_huge, sincos
from dalembert.tracing.program import BINARY, Op

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
_ATAN = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)


def _power_of_two(k: Value) -> Value:
    """2^k for an i64 k from −1022 to 1023."""
    return one("from_bits", (k + 1023) << 52)


def _exp(f: Function, x: Value) -> Value:
    x = f.let(two("max", two("min", x, 760.0), -760.0))
    k = f.let(one("nearest", x * 1.4426950408889634))
    high, low = f.let(x - k * _LN2[0]), f.let(k * _LN2[1])
    r = f.let(high - low)
    c = f.let(r - r * r * polynomial(r * r, _EXP))
    y = 1.0 - ((low - r * c / (2.0 - c)) - high)
    half = f.let(one("rounded_i64", k * 0.5))
    rest = one("rounded_i64", k) - half
    return y * _power_of_two(half) * _power_of_two(rest)


def _log(f: Function, x: Value) -> Value:
    tiny = f.let(x < 2.0**-1022)
    bits = f.let(one("bits", choose(tiny, x * 2.0**54, x)))
    m = f.let(one("from_bits", (bits & ((1 << 52) - 1)) | (1023 << 52)))
    k = f.let(one("from_i64", (bits >> 52) - 1023) - choose(tiny, constant(54.0), 0.0))
    upper = f.let(m > math.sqrt(2.0))
    m = f.let(choose(upper, m * 0.5, m))
    k = f.let(choose(upper, k + 1.0, k))
    g = f.let(m - 1.0)
    s = f.let(g / (2.0 + g))
    z = f.let(s * s)
    half = f.let(g * g * 0.5)
    found = k * _LN2[0] - ((half - (s * (half + z * polynomial(z, _LOG)) + k * _LN2[1])) - g)
    special = choose(x.same(0.0), constant(-INF), choose(x < 0.0, constant(NAN), x))
    return choose((x > 0.0) & (x < INF), found, special)


def _expm1(f: Function, x: Value) -> Value:
    """(u − 1) x / ln u with u = eˣ, in which the error of u cancels (Kahan)."""
    u = f.let(f.call("exp", x))
    found = (u - 1.0) * x / f.call("log", u)
    flat = choose(u.same(1.0), x, choose(u < 1e-17, constant(-1.0), found))
    return choose(u.same(INF), u, flat)


def _log1p(f: Function, x: Value) -> Value:
    """ln u · x / (u − 1) with u = 1 + x (Kahan)."""
    u = f.let(1.0 + x)
    found = f.call("log", u) * (x / (u - 1.0))
    return choose(u.same(1.0) | u.same(INF), x, found)


def _sinh(f: Function, x: Value) -> Value:
    a = f.let(one("abs", x))
    e, w = f.let(f.call("expm1", a)), f.let(f.call("exp", a * 0.5))
    return two("copysign", choose(a < 709.0, 0.5 * (e + e / (e + 1.0)), 0.5 * w * w), x)


def _cosh(f: Function, x: Value) -> Value:
    a = f.let(one("abs", x))
    e, w = f.let(f.call("exp", a)), f.let(f.call("exp", a * 0.5))
    return choose(a < 709.0, 0.5 * e + 0.5 / e, 0.5 * w * w)


def _tanh(f: Function, x: Value) -> Value:
    a = f.let(one("abs", x))
    e = f.let(f.call("expm1", 2.0 * a))
    return two("copysign", choose(a > 22.0, constant(1.0), e / (e + 2.0)), x)


def _asinh(f: Function, x: Value) -> Value:
    a = f.let(one("abs", x))
    square = f.let(a * a)
    near = f.call("log1p", a + square / (1.0 + one("sqrt", square + 1.0)))
    return two("copysign", choose(a > 2.0**28, f.call("log", a) + math.log(2.0), near), x)


def _acosh(f: Function, x: Value) -> Value:
    t = f.let(x - 1.0)
    near = f.call("log1p", t + one("sqrt", t * (2.0 + t)))
    far = f.call("log", x) + math.log(2.0)
    return choose(x < 1.0, constant(NAN), choose(x > 2.0**28, far, near))


def _atanh(f: Function, x: Value) -> Value:
    a = f.let(one("abs", x))
    return two("copysign", 0.5 * f.call("log1p", 2.0 * a / (1.0 - a)), x)


def _tan(f: Function, x: Value) -> Value:
    sine, cosine = f.calls("sincos", [joined(x, x)], "vv")
    return lane(sine / cosine, 0)


def _atan(f: Function, x: Value) -> Value:
    """Of |x|, of (|x| − 1)/(|x| + 1) beyond tan π/8, and of −1/|x| beyond tan 3π/8."""
    a = f.let(one("abs", x))
    far, mid = f.let(a > 1.0 + math.sqrt(2.0)), f.let(a > math.sqrt(2.0) - 1.0)
    t = f.let(choose(far, -1.0 / a, choose(mid, (a - 1.0) / (a + 1.0), a)))
    share = f.let(choose(far, constant(1.0), choose(mid, constant(0.5), 0.0)))
    z = f.let(t * t)
    turned = share * (math.pi / 2) + (
        share * 6.123233995736766e-17 + t - t * z * polynomial(z, _ATAN)
    )
    return two("copysign", turned, x)


def _atan2(f: Function, y: Value, x: Value) -> Value:
    a, b = f.let(one("abs", y)), f.let(one("abs", x))
    ratio = choose(b.same(INF) & a.same(INF), constant(1.0), a / b)
    found = f.let(f.call("atan", choose(a.same(0.0) & b.same(0.0), constant(0.0), ratio)))
    left = f.let(one("bits", x) < 0)
    turned = choose(left, math.pi - (found - 1.2246467991473532e-16), found)
    return choose(x.other(x) | y.other(y), x + y, two("copysign", turned, y))


def _asin(f: Function, x: Value) -> Value:
    return f.call("atan2", x, one("sqrt", (1.0 - x) * (1.0 + x)))


def _acos(f: Function, x: Value) -> Value:
    return 2.0 * f.call("atan2", one("sqrt", 1.0 - x), one("sqrt", 1.0 + x))


def _hypot(f: Function, x: Value, y: Value) -> Value:
    a, b = f.let(one("abs", x)), f.let(one("abs", y))
    most = f.let(two("max", a, b))
    ratio = f.let(two("min", a, b) / most)
    found = choose(most.same(0.0), most, most * one("sqrt", 1.0 + ratio * ratio))
    return choose(a.same(INF) | b.same(INF), constant(INF), found)


def _pow(f: Function, x: Value, y: Value) -> Value:
    """e^(y ln |x|), with the sign and the special cases of C."""
    a = f.let(one("abs", x))
    size = f.let(f.call("exp", y * f.call("log", a)))
    f.set(size, choose(a.same(1.0) & y.same(y), constant(1.0), size))
    whole = f.let(one("floor", y).same(y))
    odd = whole & one("floor", y * 0.5).other(y * 0.5)
    signed = choose(odd & (one("bits", x) < 0), -size, size)
    undefined = (x < 0.0) & (x > -INF) & one("eqz", whole)
    found = choose(undefined, constant(NAN), signed)
    return choose(y.same(0.0) | x.same(1.0), constant(1.0), found)


def _erf(f: Function, x: Value) -> Value:
    """2/√π a e^(−a²) Σ (2a²)ⁿ / (1·3·…·(2n+1)): no term is negative."""
    a = f.let(one("abs", x))
    square = f.let(a * a)
    total, n = f.let(constant(1.0)), f.let(constant(201.0))
    with f.repeat(lambda: n > 1.0):
        f.set(total, 1.0 + total * (2.0 * square) / n)
        f.set(n, n - 2.0)
    found = 2.0 / math.sqrt(math.pi) * a * f.call("exp", -square) * total
    return two("copysign", choose(a > 6.0, constant(1.0), found), x)


def _fmod(f: Function, x: Value, y: Value) -> Value:
    """|x| less multiples of |y|, halved from the largest on: every difference is exact."""
    a, b = f.let(one("abs", x)), f.let(one("abs", y))
    with f.when(one("eqz", (a < INF) & (b > 0.0))):
        f.leave(NAN)
    with f.when(a < b):
        f.leave(x)
    t = f.let(b)
    with f.repeat(lambda: t <= a * 0.5):
        f.set(t, t + t)
    with f.repeat(lambda: t >= b):
        f.set(a, choose(a >= t, a - t, a))
        f.set(t, t * 0.5)
    return two("copysign", a, x)


def _remainder(f: Function, x: Value, y: Value) -> Value:
    """x less the nearest multiple of y; of two, the even one."""
    b = f.let(one("abs", y))
    a = f.let(one("abs", x))
    with f.when(one("eqz", (a < INF) & (b > 0.0))):
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
    return choose(one("bits", x) < 0, -a, a)


def _sign(f: Function, x: Value) -> Value:
    return choose(x > 0.0, constant(1.0), choose(x < 0.0, constant(-1.0), x))


_FUNCTIONS: dict[Op, Callable[..., Value]] = {
    Op.TAN: _tan,
    Op.ASIN: _asin,
    Op.ACOS: _acos,
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
    Op.SIGN: _sign,
}
NAMES = {**libm.NAMES, Op.SIGN: "sign"}


def _scalar(op: Op, library: Library) -> Body:
    f = Function(library, NAMES[op], "dd" if op in BINARY else "d")
    return f.returning(_FUNCTIONS[op](f, *f.arguments))


def _pair(op: Op, library: Library) -> Body:
    """The function on both lanes."""
    f = Function(library, f"{NAMES[op]}_pair", "vv" if op in BINARY else "v", "v")
    lanes = [f.call(NAMES[op], *(lane(x, i) for x in f.arguments)) for i in (0, 1)]
    return f.returning(joined(*lanes))


KNOWN: dict[str, Callable[[Library], Body]] = {
    "reduce_huge": reduce_huge,
    "sincos": sincos,
    **{NAMES[op]: partial(_scalar, op) for op in _FUNCTIONS},
    **{f"{NAMES[op]}_pair": partial(_pair, op) for op in _FUNCTIONS},
}
