"""The table of a recursion in letters: its program written as a textbook would, and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from dalembert.errors import ShapeError
from dalembert.symbolic.operations import entries_of, input_symbols, to_sympy
from dalembert.symbolic.polynomials import TooLargeError
from dalembert.symbolic.writing import textbook
from dalembert.systems.equation_system import letters_of

if TYPE_CHECKING:
    from dalembert.systems.recursion import Recorded
    from dalembert.systems.recursion_table import Recursion


def in_letters(recorded: Recorded, given: tuple[Any, ...], timeout: float | None) -> Recursion:
    """The table in the robot's letters, or with the user's expressions in their places.

    A program too large to be multiplied out is given as it computes, repeated values named.
    """
    seen, program = recorded.robot.dynamics, recorded.program()
    q, qd = letters_of(seen)
    qdd = tuple(sympy.Symbol(f"d{s.name}") for s in qd)
    parameters = tuple(map(sympy.Symbol, seen.parameters))
    symbols = {"q": q, "qd": qd, "qdd": qdd}
    symbols |= {"parameters": parameters} if parameters else {}
    named = input_symbols(program, symbols)
    definitions: dict[sympy.Symbol, sympy.Expr] = {}
    try:
        written = textbook(program, named, parameters=parameters, simplify="fast", timeout=timeout)
    except TooLargeError:
        written = to_sympy(program, named, definitions)
    ports = recorded.ports
    places = _places(recorded, given, named)
    values = {
        port.name: _filled([e.xreplace(places) for e in entries_of(written[port.name])], port.shape)
        for port in ports[1]
    }
    return recorded.table(
        values,
        rates=dict(zip((*qd, *qdd), (*q, *qd), strict=True)) if len(q) == len(qd) else {},
        definitions={s: e.xreplace(places) for s, e in definitions.items()},
    )


def _places(
    recorded: Recorded, given: tuple[Any, ...], named: dict[str, tuple[Any, ...]]
) -> dict[Any, Any]:
    """The user's expressions for our letters; inputs that are None keep theirs."""
    places: dict[Any, Any] = {}
    for port, value in zip(recorded.ports[0], given, strict=False):
        if value is None or value is True:
            continue
        entries = [sympy.sympify(e) for e in np.ravel(np.array(value, dtype=object))]
        if len(entries) != port.size:
            raise ShapeError(
                f"{recorded.robot.dynamics.name}.recursion: {port.name} has {len(entries)} entries, "
                f"not {port.size}"
            )
        places |= dict(zip(named[port.name], entries, strict=True))
    return places


def _filled(entries: list[sympy.Expr], shape: tuple[int, ...]) -> np.ndarray:
    filled = np.empty(len(entries), dtype=object)
    filled[:] = entries
    return filled.reshape(shape)
