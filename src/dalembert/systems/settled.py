"""L = K − U as the sum of what is quadratic, linear and constant in q̇, settled when a system is made.

T = T₂ + T₁ + T₀, of second, first and no degree in q̇. The equations of motion are made of T₂ = ½ q̇ᵀM q̇
(`kinetic`), of V − T₀ (`potential`, with the centrifugal terms of rotating coordinates) and of the part
aᵀq̇ of L (`linear`: T₁, and magnetic terms of V). T₂ − T₀ + V is Jacobi's energy, which is conserved
where L does not depend on time. T₁ and T₀ are kept, so that T and V can be said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError
from dalembert.systems.check import ROUNDING, states
from dalembert.systems.energies import Energies, Symbols

MOVED = ("kinetic", "potential", "linear", "T1", "T0")


def settled(energies: Energies) -> Energies:
    """The same system with K a quadratic form, U without velocities, and a as `linear`.

    Raise where L is no polynomial of second degree in q̇; a plain K and U stay as they are.
    """
    s = Symbols(energies)
    velocities = list(zip(energies.coordinates, s["qd"], strict=True))
    turning = [name for name, rate in velocities if tracing.depends_on(s["potential"], rate)]
    if not _has_more(energies, s, turning):
        return energies
    M = tracing.hessian(s["kinetic"], s["qd"])
    L = s["kinetic"] - s["potential"]
    momentum = tracing.gradient(s["kinetic"], s["qd"])
    at_rest = [L, tracing.gradient(L, s["qd"]), M, momentum, s["kinetic"]]
    still, a, M, first, T0 = _at_rest(at_rest, s["qd"])
    parts = {"kinetic": 0.5 * (s["qd"] @ (M @ s["qd"])), "potential": -still}
    if not (tracing.is_zero(first) and tracing.is_zero(T0)):
        parts |= {"T1": first @ s["qd"], "T0": T0}
    parts |= {name: s[name] for name in energies.function.names if name not in MOVED}
    if not tracing.is_zero(a):
        parts["linear"] = a
    function = tracing.Function([s["q"], s["qd"], s.parameters, s.t], parts)
    return replace(energies, function=function, derived={})


def _at_rest(values: list[Any], qd: Any) -> tuple[Any, ...]:
    """Expressions with zero for the velocities; one that has no value there is an error."""
    found = tracing.at(values, [qd], [np.zeros(qd.shape)])
    for value in found:
        number = tracing.constant(value)
        if number is not None and not np.isfinite(number).all():
            raise ModelError(
                "the kinetic energy has no value at rest, where its linear part is read; write "
                "squares of velocities without roots and quotients"
            )
    return found


def _has_more(energies: Energies, s: Symbols, turning: list[str]) -> bool:
    """Whether L has more than ½ q̇ᵀM q̇ and a function of q; checked to be of second degree."""
    slope = tracing.gradient(s["kinetic"], s["qd"])
    M = tracing.jacobian(slope, s["qd"])
    bent = tracing.hessian(s["potential"], s["qd"])
    inputs = [s["q"], s["qd"], s.parameters, s.t]
    probe = tracing.Function(inputs, [s["kinetic"], slope, M, s["potential"], bent])
    seen, more = 0, bool(turning)
    for q, qd, values, t in states(energies):
        here, there = probe(q, qd, values, t), probe(q, -1.7 * qd[::-1], values, t)
        if not all(np.isfinite(x).all() for x in (*here, there[2])):
            continue
        seen += 1
        K, p, M, _, bent_here = here
        scale = ROUNDING * (np.abs(M).max() + np.abs(p).max() + 1e-300)
        _require_quadratic(energies, np.abs(M - there[2]).max(axis=1) > scale)
        _require_linear(energies, np.abs(bent_here).max(axis=1) > ROUNDING, turning)
        reach = 1.0 + np.abs(qd).sum()
        more |= bool((np.abs(p - M @ qd) > scale * reach).any())
        more |= bool(abs(K.item() - 0.5 * qd @ M @ qd) > scale * reach**2)
    if not seen:
        raise ModelError(
            f"{energies.name}: the energies have no finite value at any of the random states "
            "tried; check roots, logarithms and divisions"
        )
    return more


def _require_quadratic(energies: Energies, wrong: np.ndarray) -> None:
    if wrong.any():
        named = " and ".join(np.array(energies.coordinates)[wrong])
        raise ModelError(
            f"{energies.name}: the kinetic energy is not quadratic in the velocities: ∂²K/∂q̇² "
            f"changes with them in the rows of {named}"
        )


def _require_linear(energies: Energies, wrong: np.ndarray, turning: list[str]) -> None:
    if wrong.any():
        raise ModelError(
            f"{energies.name}: the potential energy depends on the velocity of {turning[0]}, and not "
            "linearly; give forces that depend on velocities as forces="
        )
