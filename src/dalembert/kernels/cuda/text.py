"""Pieces of CUDA that every kernel is made of: sine and cosine, tiles in shared memory, state access.

Row-major batches are moved tile by tile: the 32 states of a warp are one contiguous piece of every
array, copied 16 bytes per thread; each thread then reads and writes its own state in shared memory,
where rows of odd length avoid bank conflicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dalembert.errors import CompileError
from dalembert.kernels.c_source import Scalar
from dalembert.tracing.program import Port

LANES = 32
SHARED_LIMIT = 48 * 1024  # bytes of shared memory a block may have without asking

# x - k π/2 in three fused steps (Cody and Waite), then polynomials on ±π/4 (fdlibm's in double): both
# within 1.6 units in the last place. Angles beyond `most`, and those that are none, are not for these.
_SINCOS = """static __device__ __forceinline__ void {name}(const {T} x, {T} *s, {T} *c{far})
{{
{guard}
    const {T} k = rint{f}(x * {two_over_pi});
    {T} r = fma{f}(k, -{high}, x);
    r = fma{f}(k, -{middle}, r);
    r = fma{f}(k, -{low}, r);
    const {T} t = r * r;
{polynomials}
    const int quarter = (int)k;
    const {T} a = ((quarter & 1) != 0) ? w : p;
    const {T} b = ((quarter & 1) != 0) ? p : w;
    *s = ((quarter & 2) != 0) ? -a : a;
    *c = (((quarter + 1) & 2) != 0) ? -b : b;
}}"""
# up to which angles, 2/π, and π/2 in three words
_REDUCTION = {
    "float": ("48000.0f", "0.636619772f", "1.57079601e+00f", "3.13916473e-07f", "5.39030253e-15f"),
    "double": (
        *("1048576.0", "0.63661977236758138", "1.5707963267948966"),
        *("6.123233995736766e-17", "(-1.4973849048591833e-33)"),
    ),
}
# highest power first: sine after r³, cosine after 1 − r²/2
_SINE = {
    "float": ("2.86567956e-06", "-1.98559923e-04", "8.33338592e-03", "-1.66666672e-01"),
    "double": (
        *("1.58969099521155010221e-10", "-2.50507602534068634195e-08"),
        *("2.75573137070700676789e-06", "-1.98412698298579493134e-04"),
        *("8.33333333332248946124e-03", "-1.66666666666666324348e-01"),
    ),
}
_COSINE = {
    "float": ("2.44677067e-05", "-1.38877297e-03", "4.16666567e-02"),
    "double": (
        *("-1.13596475577881948265e-11", "2.08757232129817482790e-09"),
        *("-2.75573143513906633035e-07", "2.48015872894767294178e-05"),
        *("-1.38888888888741095749e-03", "4.16666666666666019037e-02"),
    ),
}

# NVRTC has no <math.h> to define them
_SPECIAL = {"NAN": "__int_as_float(0x7fffffff)", "INFINITY": "__int_as_float(0x7f800000)"}


@dataclass(frozen=True)
class CudaSource:
    """Text of one kernel and how to launch it: `blocks = ceil(states / threads)`."""

    text: str
    name: str
    threads: int
    shared_bytes: int


def kernel_text(
    head: Iterable[str], bounds: str, function: str, arguments: str, body: Iterable[str]
) -> str:
    """The text of a kernel `function(arguments)`, after the lines of `head`."""
    lines = [
        *head,
        f'extern "C" __global__ void __launch_bounds__({bounds})',
        f"{function}({arguments})",
        "{",
        *(f"    {line}" for line in body),
        "}",
        "",
    ]
    text = "\n".join(lines)
    named = [(name, bits) for name, bits in _SPECIAL.items() if name in text]
    return "".join(f"#ifndef {n}\n#define {n} {bits}\n#endif\n" for n, bits in named) + text


# beyond: ask the library at once, or only note it, so that the code stays free of branches
_ASK = """    if (!(fabs{f}(x) <= {most})) {{
        sincos{f}(x, s, c);
        return;
    }}"""
_NOTE = "    *far |= !(fabs{f}(x) <= {most});"


def sincos(name: str, scalar: Scalar, flags_far: bool = False) -> str:
    """`void name(x, &sine, &cosine)`; with `flags_far`, a fourth argument `bool *far` is set beyond."""
    f, T = scalar.suffix, scalar.type
    words = ("most", "two_over_pi", "high", "middle", "low")
    constants = {"T": T, "f": f, **dict(zip(words, _REDUCTION[T], strict=True))}

    def horner(variable: str, coefficients: tuple[str, ...]) -> list[str]:
        first, *rest = coefficients
        start = f"{T} {variable} = {first}{f};"
        return [start, *(f"{variable} = fma{f}({variable}, t, {c}{f});" for c in rest)]

    lines = [*horner("p", _SINE[T]), f"p = fma{f}(p, t * r, r);"]
    lines += [*horner("w", _COSINE[T]), *(f"w = fma{f}(w, t, {c}{f});" for c in ("-0.5", "1.0"))]
    text = "\n".join(f"    {line}" for line in lines)
    guard = (_NOTE if flags_far else _ASK).format(**constants)
    far = ", bool *far" if flags_far else ""
    return _SINCOS.format(name=name, polynomials=text, guard=guard, far=far, **constants)


@dataclass(frozen=True)
class Tile:
    """One array's 32 states in shared memory, at `offset` numbers from the warp's part."""

    port: Port
    name: str
    offset: int

    @property
    def stride(self) -> int:
        """Numbers from one state to the next: odd, so that the lanes meet different banks."""
        return self.port.size | 1

    @property
    def size(self) -> int:
        """Numbers it takes, rounded up to whole 16-byte pieces of either precision."""
        return -(-LANES * self.stride // 4) * 4

    def entry(self, k: int | str) -> str:
        """Entry k of this thread's state."""
        return f"tile[{self.offset} + lane * {self.stride} + {k}]"

    def copy(self, scalar: Scalar, inward: bool) -> list[str]:
        """Lines that copy the warp's states in or out."""
        vector, each = ("float4", 4) if scalar.suffix else ("double2", 2)
        width, constant = self.port.size, "const " if inward else ""
        tile, memory = f"tile + {self.offset}", f"{self.name} + first * {width}"
        total = LANES * width
        packed = self.stride == width and total % each == 0
        lines = []
        if packed:
            to, source = ("t", "g") if inward else ("g", "t")
            lines += [
                f"if (full && (((size_t)({memory})) & 15u) == 0u) {{",
                f"    {constant}{vector} *g = reinterpret_cast<{constant}{vector} *>({memory});",
                f"    {vector} *t = reinterpret_cast<{vector} *>({tile});",
                "    #pragma unroll",
                f"    for (int i = lane; i < {total // each}; i += {LANES}) {to}[i] = {source}[i];",
                "} else {",
            ]
        else:
            lines.append("{")
        state = "" if self.stride == width else f" + i / {width}"
        to, source = f"({tile})[i{state}]", f"({memory})[i]"
        if not inward:
            to, source = source, to
        lines += [
            "    #pragma unroll 4",
            f"    for (int i = lane; i < states * {width}; i += {LANES}) {to} = {source};",
            "}",
        ]
        return lines


# every lane for itself, or the states of a warp that are moved together
STATE_PER_THREAD = (
    "const long long state = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
    "if (state >= count) return;",
)
WARP_STATES = (
    "const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x - lane;",
    "if (first >= count) return;",
    f"const int states = (count - first < {LANES}) ? (int)(count - first) : {LANES};",
    f"const bool full = states == {LANES};",
)
STATES_PER_WARP = (*WARP_STATES, "const long long state = first + (lane < states ? lane : 0);")


# where entry k of a port's own state is, in the array of a batch
ENTRY_INDEX: dict[str, Callable[[Port, int], str]] = {
    "row": lambda port, k: f"state * {port.size} + {k}",
    "column": lambda port, k: f"{k} * count + state",
}


@dataclass(frozen=True)
class Access:
    """Lines that set `state`, and with tiles `first`, `states` and `full`; spellings of entries."""

    opening: Sequence[str]
    load: Callable[[int], str]
    store: Callable[[int, str], str] | None  # the statement for a result; None where tiles take it


def tile_bytes(ports: Iterable[Port], scalar: Scalar) -> int:
    """Bytes of shared memory that a warp's states of these ports take in rows."""
    return sum(Tile(port, "", 0).size for port in ports) * scalar.size


def require_tiles(name: str, need: int) -> None:
    """Raise where so many bytes of tiles are more than the shared memory of a block."""
    if need > SHARED_LIMIT:
        raise CompileError(
            f"{name}: one warp's states take {need} bytes of shared memory, more than "
            f'{SHARED_LIMIT}; use layout="column"'
        )
