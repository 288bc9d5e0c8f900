"""Symbolic differential-algebraic equations of a mechanism: {Φ}, [Φ_q], {ν}, {γ}, [M], {Q}."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sympy

from dalembert import tracing
from dalembert.constraints.sparse_rows import target
from dalembert.kernels.program.trace import trace
from dalembert.mechanisms.description import Description
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.writer import textbook
from dalembert.systems.bodies.body import Element

OUTPUTS = ("Phi", "Phi_q", "nu", "gamma", "M", "Q")


@dataclass(frozen=True, eq=False, kw_only=True)
class DaeEquations(Equations):
    """[M Φ_qᵀ; Φ_q 0]{q̈; λ} = {Q; γ} in symbols; `Phi`, `Phi_q`, `nu`, `gamma`, `M`, `Q` by name."""

    @property
    def matrix(self) -> sympy.Matrix:
        """[M Φ_qᵀ; Φ_q 0]."""
        corner = sympy.zeros(self.Phi_q.rows, self.Phi_q.rows)
        return sympy.Matrix.vstack(
            sympy.Matrix.hstack(self.M, self.Phi_q.T), sympy.Matrix.hstack(self.Phi_q, corner)
        )

    @property
    def right(self) -> sympy.Matrix:
        """{Q; γ}."""
        return sympy.Matrix.vstack(self.Q, self.gamma)


@dataclass(frozen=True)
class _Marks:
    """The index of every body, the ground first, and of joints, drivers and forces by name."""

    bodies: tuple[str, ...]
    elements: dict[str, str]


def dae_equations(
    d: Description, symbolic: bool = True, timeout: float | None = 20.0
) -> DaeEquations:
    """The equations with symbols for lengths, masses and motions, or with their numbers and t.

    Coordinates are x, y, φ with the number (or the name) of their body; x_A2 is the x of joint A on
    body 2, m and J are mass and inertia; s_D, v_D, a_D are the motion of driver D and its rates.
    The effort of an open actuator is always a symbol in Q: its name, or u_T for an actuator T whose
    name is no symbol or has another meaning here.

    >>> from dalembert.zoo.two_bar import scenario
    >>> print(scenario("double_pendulum").mechanism.dae_equations().text("Phi"))
    Constraints
        ⎡ x₂ + x_A₂ c₂                ⎤
    Φ = ⎢ y₂ + x_A₂ s₂                ⎥
        ⎢ x₃ − x₂ − x_B₂ c₂ + x_B₃ c₃ ⎥
        ⎣ y₃ − y₂ − x_B₂ s₂ + x_B₃ s₃ ⎦
    """
    marks = _marks(d)
    named = dict(_numbers(d, marks))
    known = named if symbolic else {}
    coordinates = [f"{c}{mark}" for mark in marks.bodies[1:] for c in d.space.coordinates]
    scalar = d.nq == d.nv
    rates = [f"{c}{mark}" for mark in marks.bodies[1:] for c in d.space.velocities]
    q, qd = (
        tuple(map(sympy.Symbol, names))
        for names in (coordinates, [f"d{c}" for c in coordinates] if scalar else rates)
    )
    t, numbers = sympy.Symbol("t"), tuple(map(sympy.Symbol, known))
    # one symbol for each open actuator: T12, or u_T12 where that name is in use
    taken = {*map(str, (*q, *qd, t)), *named}
    marked = [marks.elements[name] for name in d.actuators]
    plain = marked == list(d.actuators)
    efforts = tuple(
        sympy.Symbol(mark if plain and mark not in taken else f"u_{mark}") for mark in marked
    )
    p = (*numbers, *efforts)
    shapes = {"q": (d.nq,), "qd": (d.nv,), "t": (), "parameters": (len(p),)}
    program = trace(partial(_equations, d, marks, tuple(known)), shapes, name="dae")
    symbols = {"q": q, "qd": qd, "t": (t,), "parameters": p}
    masses = [symbol for symbol in numbers if symbol.name[0] in "mJ"]
    expressions = textbook(program, symbols, linear=masses, parameters=p, timeout=timeout)
    matrices = {}
    for key in OUTPUTS:
        matrix = sympy.Matrix(expressions[key])
        # floats that are whole numbers as integers: φ₂ for 1.0 φ₂
        whole = {x: sympy.Integer(int(x)) for x in matrix.atoms(sympy.Float) if x == int(x)}
        matrices[key] = matrix.applyfunc(lambda e, whole=whole: e.xreplace(whole))
    values = known | dict.fromkeys(symbol.name for symbol in efforts)
    return DaeEquations(
        name=d.name,
        quantities=matrices,
        definitions={},
        q=q,
        qd=qd,
        parameters=p,
        defaults=values,
        t=(t,),
    )


def _marks(d: Description) -> _Marks:
    """Indices of the bodies: the numbers at the ends of their names, else the names, else counted."""
    ends = [re.search(r"\d+$", body.name) for body in d.bodies]
    digits = [match[0] for match in ends if match]
    if len(set(digits)) == len(d.bodies) and "1" not in digits:
        bodies = ["1", *digits]
    elif all(body.name.isalnum() for body in d.bodies):
        bodies = [f"_{name}" for name in d.names]
    else:
        bodies = [str(k + 1) for k in range(len(d.names))]
    named = [*(e.name for e in d.elements), *(force.name for force in d.forces)]
    plain = len({name for name in named if name.isalnum()}) == len(named)
    marks = {name: name if plain else f"J{k + 1}" for k, name in enumerate(named)}
    return _Marks(tuple(bodies), marks)


def _numbers(d: Description, marks: _Marks) -> Iterator[tuple[str, float | None]]:
    """Symbols with their values: masses, inertias, gravity, points of joints, motions."""
    for body, mark in zip(d.bodies, marks.bodies[1:], strict=True):
        yield f"m{mark}", body.mass
        for axis, moment in _moments(body.inertia):
            yield f"J{axis}{mark}", moment
    gravity = [(axis, value) for axis, value in zip("xyz", d.gravity, strict=False) if value]
    if len(gravity) == 1:
        yield "g", abs(gravity[0][1])
    else:
        yield from ((f"g{axis}", value) for axis, value in gravity)
    for e in d.elements:
        yield from ((name, value) for name, value in _element_symbols(e, marks) if name)
    for driver in d.drivers:
        for kind in "sva":
            yield from ((name, None) for name in _motion_names(driver.element, marks, kind))


def _moments(inertia: Any) -> list[tuple[str, float]]:
    """J in the plane; J_x, J_y, J_z of a tensor along its own axes."""
    if np.ndim(inertia) == 0:
        return [("", float(inertia))]
    own = np.diag(inertia)
    return list(zip("xyz", own, strict=True)) if np.array_equal(inertia, np.diag(own)) else []


def _element_symbols(e: Element, marks: _Marks) -> list[tuple[str, float]]:
    """Name and value of every number of an element; no name for zeros, axes and full turns."""
    plane, mark = e.kind.space.dimension == 2, marks.elements[e.name]
    names = [""] * len(e.parameters)
    size, pair = (2, (0, 2)) if plane else (3, (0, 12))
    points = e.kind.parameters - len(e.kind.numbers)
    for start, body in zip(pair, e.bodies, strict=False):
        if start + size <= points:
            for k, axis in enumerate("xyz"[:size]):
                names[start + k] = f"{axis}_{mark}{marks.bodies[body]}"
    if e.kind.name not in ("component", "angle", "first", "second"):
        for k, own in enumerate(e.kind.numbers):
            names[points + k] = f"{own.replace('_', '')}_{mark}"
    return [(name if value else "", value) for name, value in zip(names, e.parameters, strict=True)]


def _motion_names(e: Element, marks: _Marks, kind: str) -> list[str]:
    """s_D, or sx_D and sy_D of a driver with several rows."""
    axes = "xyz"[: e.kind.rows] if e.kind.rows > 1 else [""]
    return [f"{kind}{axis}_{marks.elements[e.name]}" for axis in axes]


def _equations(
    d: Description,
    marks: _Marks,
    names: tuple[str, ...],
    q: np.ndarray,
    qd: np.ndarray,
    t: Any,
    parameters: Any,
) -> dict[str, Any]:
    """Φ, Φ_q, ν, γ, M and Q on symbols; `parameters` are those of `names`, then open efforts."""
    known = dict(zip(names, parameters, strict=False))
    motions = {driver.name: driver.motion for driver in d.drivers}
    phi, jacobians, nu, gamma = [], [], [], []
    for e in d.elements:
        own = [
            known.get(name, value) if name else value for name, value in _element_symbols(e, marks)
        ]
        s = speed = second = np.zeros(e.kind.rows)
        if e.name in motions and known:
            s, speed, second = (
                np.stack([known[x] for x in _motion_names(e, marks, k)]) for k in "sva"
            )
        elif e.name in motions:
            s = target(repr(e.name), motions[e.name], e.kind.rows, t)
            speed = tracing.jacobian(s, t)
            second = tracing.jacobian(speed, t)
        at = replace(e, parameters=np.stack(own) if own else e.parameters)
        value, J, drift = at.rows(q, qd, s[0])
        phi.append(value - s)
        nu.append(speed + 0.0 * value)
        gamma.append(second - drift)
        jacobians.append(d.all_columns(e.bodies, J))
    # the bodies with symbols for their numbers
    symbolic = []
    for body, mark in zip(d.bodies, marks.bodies[1:], strict=True):
        moments = [known.get(f"J{axis}{mark}", value) for axis, value in _moments(body.inertia)]
        inertia = body.inertia
        if moments:
            inertia = moments[0] if len(moments) == 1 else np.diag(np.stack(moments))
        symbolic.append(replace(body, mass=known.get(f"m{mark}", body.mass), inertia=inertia))
    if "g" in known:
        gravity = np.sign(d.gravity) * known["g"]
    else:
        axes = zip("xyz", d.gravity, strict=False)
        gravity = np.stack([known.get(f"g{axis}", value) for axis, value in axes])
    bodies = replace(d.free, bodies=tuple(symbolic), gravity=gravity)
    Q = bodies.generalized_forces(q, qd, t) - bodies.bias(q, qd)
    if d.actuators:
        Q = Q + bodies.actuation(q, parameters[len(names) :])
    rows = [np.concatenate(x) if x else np.zeros(0) for x in (phi, jacobians, nu, gamma)]
    blocks = [d.all_columns((k + 1,), M) for k, M in enumerate(bodies.masses)]
    return dict(zip(OUTPUTS, (*rows, np.concatenate(blocks), Q), strict=True))
