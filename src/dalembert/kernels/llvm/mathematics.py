"""Mathematical functions of a whole register in LLVM assembly: sine and cosine, and calls of libm.

Sine and cosine: x = k π/2 + r, with k the nearest integer and π/2 as two full words under fused
multiply-add; then polynomials in r, exchanged and negated by the last two bits of k. The polynomials
are minimax on |r| <= π/4 + 1e-4 (+ 4e-3 in single precision), with errors 5e-17 (2e-9), so that sin
and cos are accurate to ACCURACY, absolute, for every finite angle: lanes beyond LIMIT are reduced one
by one with the C library. Lanes that are infinite or NaN give NaN. The approach is that of Cody and
Waite, Software Manual for the Elementary Functions, 1980, ch. 8. LLVM calls the C library lane by
lane instead: 27 ns for sine and cosine of an angle, where this takes 2 ns.

The angle of (x, y) is that of the smaller over the larger of |x| and |y|, at most π/4, or, beyond
tan π/8, of their difference over their sum and π/4; the polynomial is that of fdlibm's atan. It is 2 ns
an angle where the C library takes 13 ns.

All other functions are loops over the lanes around the C library's scalar double routines.
"""

from __future__ import annotations

from dalembert.kernels.llvm.ir import IRWriter, Vector
from dalembert.tracing.program import BINARY, Op

ACCURACY = {"float64": 2e-15, "float32": 1.5e-7}
LIMIT = {"float64": 1e12, "float32": 1e5}
TWO_OVER_PI = 0.6366197723675814
_HALF_PI = {
    "float64": (1.5707963267948966, 6.123233995736766e-17),
    "float32": (1.5707963705062866, -4.371138828673793e-08),
}
# Adding 1.5 · 2^(mantissa bits) rounds to an integer and leaves it in the low bits.
MAGIC = {"float64": 6755399441055744.0, "float32": 12582912.0}
# sin r = r + r³ (s0 + s1 r² + …),  cos r = 1 + r² (c0 + c1 r² + …)
SINE = {
    "float64": (
        -0.16666666666666655,
        0.008333333333328002,
        -0.00019841269833879052,
        2.7557314956584154e-06,
        -2.505093411048361e-08,
        1.5905837389359802e-10,
    ),
    "float32": (-0.16666650176313713, 0.008331951010304671, -0.00019492135803101648),
}
COSINE = {
    "float64": (
        -0.4999999999999948,
        0.04166666666650301,
        -0.0013888888871710445,
        2.4801579010321905e-05,
        -2.755529535838825e-07,
        2.063352889607635e-09,
    ),
    "float32": (
        -0.49999999713751037,
        0.04166662198863489,
        -0.0013886720403044309,
        2.438628476254733e-05,
    ),
}


def reduce_angles(t: IRWriter, v: Vector, arguments: list[str]) -> list[tuple[str, str]]:
    """Emit the reduction of several arguments, with one test for all; (r, k) of each."""
    magic = v.splat(MAGIC[v.dtype])
    pairs = []
    for x in arguments:
        scaled = t.let(f"fmul contract {v.type} {x}, {v.splat(TWO_OVER_PI)}")
        shifted = t.let(f"fadd contract {v.type} {scaled}, {magic}")
        k = t.let(f"fsub {v.type} {shifted}, {magic}")
        r = x
        for part in _HALF_PI[v.dtype]:
            operands = f"{v.type} {k}, {v.type} {v.splat(-part)}, {v.type} {r}"
            r = t.let(f"call {v.type} @llvm.fma.{v.suffix}({operands})")
        pairs.append((r, t.let(f"bitcast {v.type} {shifted} to {v.integers}")))
    # lanes where some argument is beyond LIMIT: the largest of them, which no NaN can hide
    limit = v.splat(LIMIT[v.dtype])
    largest = limit
    for x in arguments:
        size = t.let(f"call {v.type} @llvm.fabs.{v.suffix}({v.type} {x})")
        above = t.let(f"fcmp ogt {v.type} {size}, {largest}")
        largest = t.let(f"select {v.mask} {above}, {v.type} {size}, {v.type} {largest}")
    some = t.let(f"fcmp ogt {v.type} {largest}, {limit}")
    bits = t.let(f"bitcast {v.mask} {some} to i{v.width}")
    any_huge = t.let(f"icmp ne i{v.width} {bits}, 0")
    before, cold, after = t.block, t.fresh("cold"), t.fresh("reduced")
    t.do(f"br i1 {any_huge}, label %{cold}, label %{after}, !prof !0")
    t.label(cold)
    exact = []
    for x, (r, k) in zip(arguments, pairs, strict=True):
        # r and k pass through memory: the slow path corrects the lanes it has to
        t.store(v.type, r, "%spare_r")
        t.store(v.integers, k, "%spare_k")
        t.do(f"call void @reduce_huge({v.type} {x}, ptr %spare_r, ptr %spare_k)")
        exact.append((t.load(v.type, "%spare_r"), t.load(v.integers, "%spare_k")))
    t.do(f"br label %{after}")
    t.label(after)
    return [
        (
            t.let(f"phi {v.type} [ {r}, %{before} ], [ {r_cold}, %{cold} ]"),
            t.let(f"phi {v.integers} [ {k}, %{before} ], [ {k_cold}, %{cold} ]"),
        )
        for (r, k), (r_cold, k_cold) in zip(pairs, exact, strict=True)
    ]


def sincos(t: IRWriter, v: Vector, r: str, k: str) -> tuple[str, str]:
    """Emit both polynomials and the choice by quadrant: sin and cos of k π/2 + r."""
    z = t.let(f"fmul contract {v.type} {r}, {r}")
    cube = t.let(f"fmul contract {v.type} {r}, {z}")
    sine = _multiply_add(t, v, r, cube, _polynomial(t, v, z, SINE[v.dtype]))
    cosine = _multiply_add(t, v, v.splat(1.0), z, _polynomial(t, v, z, COSINE[v.dtype]))
    low = t.let(f"and {v.integers} {k}, {v.splat_int(1)}")
    odd = t.let(f"icmp ne {v.integers} {low}, {v.splat_int(0)}")
    choose = f"select {v.mask} {odd}, {v.type}"
    after = t.let(f"add {v.integers} {k}, {v.splat_int(1)}")
    return (
        _flip(t, v, t.let(f"{choose} {cosine}, {v.type} {sine}"), k),
        _flip(t, v, t.let(f"{choose} {sine}, {v.type} {cosine}"), after),
    )


def _multiply_add(t: IRWriter, v: Vector, base: str, factor: str, value: str) -> str:
    product = t.let(f"fmul contract {v.type} {factor}, {value}")
    return t.let(f"fadd contract {v.type} {product}, {base}")


def _polynomial(t: IRWriter, v: Vector, z: str, coefficients: tuple[float, ...]) -> str:
    value = v.splat(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = _multiply_add(t, v, v.splat(coefficient), z, value)
    return value


def _flip(t: IRWriter, v: Vector, value: str, quadrant: str) -> str:
    """Negate where the quadrant's second bit is set, by moving that bit onto the sign."""
    top = 8 * v.size - 2
    shifted = t.let(f"shl {v.integers} {quadrant}, {v.splat_int(top)}")
    sign = t.let(f"and {v.integers} {shifted}, {v.splat_int(-(1 << (top + 1)))}")
    bits = t.let(f"bitcast {v.type} {value} to {v.integers}")
    flipped = t.let(f"xor {v.integers} {bits}, {sign}")
    return t.let(f"bitcast {v.integers} {flipped} to {v.type}")


def sincos_declarations(v: Vector) -> str:
    """Declarations of the functions that `reduce_angles` and `sincos` call, and `reduce_huge`.

    θ = atan2(sin x, cos x) is x without its turns; then k and r as ever.
    """
    d, t = Vector("float64", 1), IRWriter()
    half_pi = d.literal(_HALF_PI["float64"][0])
    with t.loop(v.width) as lane:
        x = t.let(f"extractelement {v.type} %x, i64 {lane}")
        size = t.let(f"call {v.scalar} @llvm.fabs.f{8 * v.size}({v.scalar} {x})")
        huge = t.let(f"fcmp ogt {v.scalar} {size}, {v.literal(LIMIT[v.dtype])}")
        with t.when(huge):
            wide = x if v.size == 8 else t.let(f"fpext float {x} to double")
            sine, cosine = (t.let(f"call double @{name}(double {wide})") for name in ("sin", "cos"))
            angle = t.let(f"call double @atan2(double {sine}, double {cosine})")
            scaled = t.let(f"fmul double {angle}, {d.literal(TWO_OVER_PI)}")
            shifted = t.let(f"fadd double {scaled}, {d.literal(MAGIC['float64'])}")
            k = t.let(f"fsub double {shifted}, {d.literal(MAGIC['float64'])}")
            whole = t.let(f"fmul double {k}, {half_pi}")
            r = t.let(f"fsub double {angle}, {whole}")
            bits = t.let(f"bitcast double {shifted} to i64")
            if v.size == 4:
                r, bits = t.let(f"fptrunc double {r} to float"), t.let(f"trunc i64 {bits} to i32")
            r_at = t.element(v.scalar, "%r", lane)
            k_at = t.element(v.integer, "%k", lane)
            t.store(v.scalar, r, r_at)
            t.store(v.integer, bits, k_at)
    t.do("ret void")
    head = f"internal void @reduce_huge({v.type} %x, ptr noalias %r, ptr noalias %k)"
    return f"""declare {v.type} @llvm.fma.{v.suffix}({v.type}, {v.type}, {v.type})
declare {v.type} @llvm.fabs.{v.suffix}({v.type})
declare double @sin(double) nounwind
declare double @cos(double) nounwind
declare double @atan2(double, double) nounwind
declare {v.scalar} @llvm.fabs.f{8 * v.size}({v.scalar})
{t.function(f"{head} cold noinline #0")}"""


_LIBM_OPERATIONS = (
    *(Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2, Op.SINH, Op.COSH, Op.TANH),
    *(Op.ASINH, Op.ACOSH, Op.ATANH, Op.EXP, Op.EXPM1, Op.LOG, Op.LOG1P, Op.POW),
    *(Op.HYPOT, Op.ERF, Op.FMOD, Op.REMAINDER),
)
LIBM_NAMES = {op: op.name.lower() for op in _LIBM_OPERATIONS}


def libm_definition(v: Vector, op: Op) -> str:
    """`each_<name>`: the function on every lane of a register."""
    if op == Op.ATAN2 and v.size == 8:
        return _atan2_definition(v)
    t = IRWriter()
    parameters = ["%x", "%y"] if op in BINARY else ["%x"]
    results = t.let(f"alloca {v.type}")
    with t.loop(v.width) as lane:
        numbers = [t.let(f"extractelement {v.type} {x}, i64 {lane}") for x in parameters]
        if v.size == 4:
            numbers = [t.let(f"fpext float {x} to double") for x in numbers]
        listed = ", ".join(f"double {x}" for x in numbers)
        value = t.let(f"call double @{LIBM_NAMES[op]}({listed})")
        if v.size == 4:
            value = t.let(f"fptrunc double {value} to float")
        t.store(v.scalar, value, t.element(v.scalar, results, lane))
    t.do(f"ret {v.type} {t.load(v.type, results)}")
    listed = ", ".join(f"{v.type} {x}" for x in parameters)
    return t.function(f"internal {v.type} @each_{LIBM_NAMES[op]}({listed}) noinline #0")


# atan u = u − u³ (a0 + a1 u² + …) for |u| <= tan π/8
ARCTANGENT = (
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
_TAN_EIGHTH = 0.41421356237309503
_PI, _PI_LOW = 3.141592653589793, 1.2246467991473532e-16
_VAST, _SMALLER = 2.0**1000, 2.0**-100  # beyond the first a sum may overflow


def _atan2_definition(v: Vector) -> str:
    """`each_atan2` of y and x without a branch, with the limits and signs of IEEE 754."""
    t = IRWriter()

    def chosen(mask: str, yes: str, no: str) -> str:
        return t.let(f"select {v.mask} {mask}, {v.type} {yes}, {v.type} {no}")

    def size_of(x: str) -> str:
        return t.let(f"call {v.type} @llvm.fabs.{v.suffix}({v.type} {x})")

    def is_above(x: str, y: str) -> str:
        return t.let(f"fcmp ogt {v.type} {x}, {y}")

    zero, infinite = v.splat(0.0), t.let(f"fdiv {v.type} {v.splat(1.0)}, {v.splat(0.0)}")
    a, b = size_of("%x"), size_of("%y")  # the sizes of y and x
    steep = is_above(a, b)
    low, high = chosen(steep, b, a), chosen(steep, a, b)
    scale = chosen(is_above(high, v.splat(_VAST)), v.splat(_SMALLER), v.splat(1.0))
    both = t.let(f"fcmp oeq {v.type} {low}, {infinite}")
    low, high = (chosen(both, v.splat(1.0), x) for x in (low, high))
    low, high = (t.let(f"fmul {v.type} {x}, {scale}") for x in (low, high))
    high = chosen(t.let(f"fcmp oeq {v.type} {high}, {zero}"), v.splat(1.0), high)
    middle = is_above(low, t.let(f"fmul {v.type} {high}, {v.splat(_TAN_EIGHTH)}"))
    above = chosen(middle, t.let(f"fsub {v.type} {low}, {high}"), low)
    below = chosen(middle, t.let(f"fadd {v.type} {low}, {high}"), high)
    u = t.let(f"fdiv {v.type} {above}, {below}")
    z = t.let(f"fmul {v.type} {u}, {u}")
    cube = t.let(f"fmul {v.type} {u}, {z}")
    part = t.let(f"fmul {v.type} {cube}, {_polynomial(t, v, z, ARCTANGENT)}")
    part = t.let(f"fsub {v.type} {part}, {chosen(middle, v.splat(0.25 * _PI_LOW), zero)}")
    angle = t.let(f"fsub {v.type} {u}, {part}")
    angle = t.let(f"fadd {v.type} {chosen(middle, v.splat(0.25 * _PI), zero)}, {angle}")
    # r, π/2 − r where y is the larger, π − r where x is negative, and π/2 + r where both are
    left = _is_negative(t, v, "%y")
    turn, rest = (
        chosen(steep, v.splat(0.5 * x), chosen(left, v.splat(x), zero)) for x in (_PI, _PI_LOW)
    )
    backward = t.let(f"xor {v.mask} {steep}, {left}")
    angle = chosen(backward, t.let(f"fneg {v.type} {angle}"), angle)
    angle = t.let(f"fadd {v.type} {angle}, {rest}")
    angle = t.let(f"fadd {v.type} {turn}, {angle}")
    bits = t.let(f"bitcast {v.type} %x to {v.integers}")
    sign = t.let(f"and {v.integers} {bits}, {v.splat_int(-(1 << 63))}")
    bits = t.let(f"bitcast {v.type} {angle} to {v.integers}")
    bits = t.let(f"or {v.integers} {bits}, {sign}")
    angle = t.let(f"bitcast {v.integers} {bits} to {v.type}")
    missing = t.let(f"fcmp uno {v.type} %x, %y")
    angle = chosen(missing, t.let(f"fadd {v.type} %x, %y"), angle)
    t.do(f"ret {v.type} {angle}")
    return t.function(f"internal {v.type} @each_atan2({v.type} %x, {v.type} %y) noinline #0")


def _is_negative(t: IRWriter, v: Vector, x: str) -> str:
    """Lanes whose sign bit is set."""
    bits = t.let(f"bitcast {v.type} {x} to {v.integers}")
    return t.let(f"icmp slt {v.integers} {bits}, {v.splat_int(0)}")
