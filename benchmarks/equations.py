"""Equations in symbols: ours for the zoo's arms, and SymPy's `LagrangesMethod` beside ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sympy
from rich.console import Console
from rich.table import Table
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

from dalembert.zoo.symbolic_models import symbolic_model

ALL = ("M", "C", "g", "Gamma")
# robot, quantities, simplify, seconds it may take
GOALS = (
    ("scara", ("M", "C", "g"), "fast", 1.0),
    ("scara", ("M", "C", "g"), "full", 10.0),
    ("stanford", ("M", "C", "g"), "fast", 1.0),
    ("stanford", ("M", "C", "g"), "full", 10.0),
    ("puma560", ("M", "g"), "full", 5.0),
    ("puma560", ALL, "full", 15.0),
)


@dataclass
class Derived:
    """M and C q̇ + g of the elbow arm, with the symbols they are in."""

    M: sympy.Matrix
    bias: sympy.Matrix
    q: tuple[sympy.Expr, ...]
    qd: tuple[sympy.Expr, ...]


def ours() -> Derived:
    """From the zoo's builder to M, C, g and Γ in textbook form, tracing included."""
    eq = symbolic_model("elbow_3r").equations(ALL, progress=False)
    return Derived(eq.M, eq.C * sympy.Matrix(eq.qd) + eq.g, eq.q, eq.qd)


def sympys() -> Derived:
    """SymPy's way: T − V, `LagrangesMethod`, then each entry through `trigsimp` and `factor`."""
    m1, m2, m3, l0, l1, r0, r1, r2, g = sympy.symbols("m1 m2 m3 l0 l1 r0 r1 r2 g")
    t1, t2, t3 = q = dynamicsymbols("theta1:4")
    t = dynamicsymbols._t
    qd = tuple(x.diff(t) for x in q)
    tilt = sympy.rot_axis3(-t1)  # about z
    poses = [tilt, tilt * sympy.rot_axis1(t2), tilt * sympy.rot_axis1(t2 + t3)]  # about −x
    upper = poses[1] * sympy.Matrix([0, l1, 0])
    ends = [
        sympy.Matrix([0, 0, r0]),
        sympy.Matrix([0, 0, l0]) + poses[1] * sympy.Matrix([0, r1, 0]),
        sympy.Matrix([0, 0, l0]) + upper + poses[2] * sympy.Matrix([0, r2, 0]),
    ]
    energy = sympy.S.Zero
    for k, (mass, R, p) in enumerate(zip((m1, m2, m3), poses, ends, strict=True), start=1):
        moments = sympy.diag(*sympy.symbols(f"Ix{k} Iy{k} Iz{k}"))
        spin = R.T * R.diff(t)
        omega = sympy.Matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
        v = p.diff(t)
        energy += (mass * v.dot(v) + omega.dot(moments * omega)) / 2 - mass * g * p[2]
    method = LagrangesMethod(energy, q)
    method.form_lagranges_equations()
    tidy = lambda e: sympy.factor(sympy.trigsimp(sympy.expand(e)))  # noqa: E731
    return Derived(method.mass_matrix.applyfunc(tidy), -method.forcing.applyfunc(tidy), q, qd)


def _numbers(derivation: Derived) -> np.ndarray:
    """M and bias at one point, to see that both derive the same arm."""
    plain = sympy.symbols("x:6")
    named = dict(zip((*derivation.qd, *derivation.q), (*plain[3:], *plain[:3]), strict=True))
    both = sympy.Matrix.hstack(derivation.M, derivation.bias).subs(named)
    symbols = sorted(both.free_symbols - set(plain), key=str)
    values = {s: 0.3 + 0.1 * k for k, s in enumerate((*plain, *symbols))}
    return np.array(both.subs(values), dtype=float)


def _seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Time on the clock, and of this process alone, which a busy machine disturbs less."""
    clock, own = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - own


def goals_table(rounds: int = 3) -> Table:
    """Best seconds from a fresh robot, programs traced anew, to checked equations."""
    table = Table(title="equations in symbols, s")
    for column in ("robot", "quantities", "simplify", "clock", "processor", "goal"):
        table.add_column(column, justify="right")
    for name, quantities, simplify, goal in GOALS:

        def call(n: str = name, k: tuple[str, ...] = quantities, s: str = simplify) -> object:
            return symbolic_model(n).equations(k, simplify=s, timeout=60.0, progress=False)

        clock, own = np.min([_seconds(call) for _ in range(rounds)], axis=0)
        row = (" ".join(quantities), simplify, f"{clock:.2f}", f"{own:.2f}", f"{goal:g}")
        table.add_row(name, *row)
    return table


def sympy_table(rounds: int = 3) -> Table:
    """Both in turns on the elbow arm, each with its best time, SymPy's caches emptied before."""
    np.testing.assert_allclose(_numbers(ours()), _numbers(sympys()), rtol=1e-9, atol=1e-9)
    best = {"ours": np.inf, "LagrangesMethod": np.inf}
    for _ in range(rounds):
        for name, call in (("ours", ours), ("LagrangesMethod", sympys)):
            sympy.core.cache.clear_cache()
            best[name] = min(best[name], _seconds(call)[1])
    table = Table(title="the elbow arm's equations, processor seconds")
    for column in ("dalembert: M, C, g, Γ", "SymPy: M, C q̇ + g", "ratio"):
        table.add_column(column, justify="right")
    ratio = best["LagrangesMethod"] / best["ours"]
    table.add_row(f"{best['ours']:.3f}", f"{best['LagrangesMethod']:.2f}", f"{ratio:.0f}×")
    return table


if __name__ == "__main__":
    console = Console()
    console.print(goals_table())
    console.print(sympy_table())
