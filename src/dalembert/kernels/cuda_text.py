"""Pieces of CUDA that every exported kernel is made of: sine and cosine, and tiles in shared memory.

Row-major batches are moved tile by tile: the 32 states of a warp are one contiguous piece of every
array, copied 16 bytes per thread; each thread then reads and writes its own state in shared memory,
where rows of odd length meet every bank once.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.kernels.c_text import Scalar
from dalembert.kernels.program import Port

LANES = 32
SHARED_LIMIT = 48 * 1024  # bytes of shared memory a block may have without asking

# |x| < 48000: x - k π/2 in three fused steps (Cody and Waite), then Taylor-like minimax polynomials on
# ±π/4; both within 1.6 units in the last place. Larger angles go to the library.
_SINCOS_FLOAT = """static __device__ __forceinline__ void {name}(const float x, float *s, float *c)
{{
    if (fabsf(x) > 48000.0f) {{
        sincosf(x, s, c);
        return;
    }}
    const float k = rintf(x * 0.636619772f);
    float r = fmaf(k, -1.57079601e+00f, x);
    r = fmaf(k, -3.13916473e-07f, r);
    r = fmaf(k, -5.39030253e-15f, r);
    const float t = r * r;
    float p = fmaf(2.86567956e-06f, t, -1.98559923e-04f);
    p = fmaf(p, t, 8.33338592e-03f);
    p = fmaf(p, t, -1.66666672e-01f);
    p = fmaf(p, t * r, r);
    float w = fmaf(2.44677067e-05f, t, -1.38877297e-03f);
    w = fmaf(w, t, 4.16666567e-02f);
    w = fmaf(w, t, -0.5f);
    w = fmaf(w, t, 1.0f);
    const int quarter = (int)k;
    const float a = (quarter & 1) ? w : p;
    const float b = (quarter & 1) ? p : w;
    *s = (quarter & 2) ? -a : a;
    *c = ((quarter + 1) & 2) ? -b : b;
}}"""

_SINCOS_DOUBLE = """static __device__ __forceinline__ void {name}(const double x, double *s, double *c)
{{
    sincos(x, s, c);
}}"""


def sincos(name: str, scalar: Scalar) -> str:
    """`void name(x, &sine, &cosine)`."""
    return (_SINCOS_FLOAT if scalar.suffix else _SINCOS_DOUBLE).format(name=name)


@dataclass(frozen=True)
class Tile:
    """One array's 32 states in shared memory, at `offset` numbers from the warp's part."""

    port: Port
    name: str
    offset: int

    @property
    def width(self) -> int:
        return self.port.size

    @property
    def stride(self) -> int:
        """Numbers from one state to the next: odd, so that the lanes meet different banks."""
        return self.width | 1

    @property
    def size(self) -> int:
        """Numbers it takes, rounded up to whole 16-byte pieces of either precision."""
        return -(-LANES * self.stride // 4) * 4

    def entry(self, k: int) -> str:
        """Entry k of this thread's state."""
        return f"tile[{self.offset} + lane * {self.stride} + {k}]"

    def fetch(self, scalar: Scalar) -> list[str]:
        """Copy the warp's states in."""
        return self._move(scalar, inward=True)

    def flush(self, scalar: Scalar) -> list[str]:
        """Copy the warp's states out."""
        return self._move(scalar, inward=False)

    def _move(self, scalar: Scalar, inward: bool) -> list[str]:
        vector, each = ("float4", 4) if scalar.suffix else ("double2", 2)
        here, there = f"tile + {self.offset}", f"{self.name} + first * {self.width}"
        total = LANES * self.width
        constant = "const " if inward else ""
        packed = self.stride == self.width and total % each == 0
        lines = []
        if packed:
            to, source = ("t", "g") if inward else ("g", "t")
            lines += [
                f"if (full && (((size_t)({there})) & 15u) == 0u) {{",
                f"    {constant}{vector} *g = reinterpret_cast<{constant}{vector} *>({there});",
                f"    {vector} *t = reinterpret_cast<{vector} *>({here});",
                "    #pragma unroll",
                f"    for (int i = lane; i < {total // each}; i += {LANES}) {to}[i] = {source}[i];",
                "} else {",
            ]
        else:
            lines.append("{")
        state = "" if self.stride == self.width else f" + i / {self.width}"
        to, source = f"({here})[i{state}]", f"({there})[i]"
        if not inward:
            to, source = source, to
        lines += [
            "    #pragma unroll 4",
            f"    for (int i = lane; i < states * {self.width}; i += {LANES}) {to} = {source};",
            "}",
        ]
        return lines
