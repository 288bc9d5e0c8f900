"""How the methods of a constrained system call its kernels: refused in words, or flagged per state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.constraints.refusal import require_result
from dalembert.constraints.status import TWIN
from dalembert.kernels.call.whose import mapped_over
from dalembert.systems.evaluator import Parameters
from dalembert.systems.lanes import DIMENSIONS, all_finite, beside, chosen
from dalembert.systems.on_symbols import is_symbols
from dalembert.systems.status import Flagged, Status, require_mode
from dalembert.systems.system import System

PIVOTED = ("elimination", "gauge")  # routes that have no answer where their pivots are poor


class Calls(System):
    """Calls of kernels, with the status of every state where it is asked for."""

    def _required(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        errors: str,
        tolerance: Any,
        parameters: Parameters = None,
        out: Any = None,
        **choices: Any,
    ) -> Any:
        """A quantity, flagged or, without flags, an error that says why a state has no result.

        Choices that are None were not made.
        """
        asked = self.dynamics.quantity(quantity)
        made = {name: x for name, x in choices.items() if x is not None}
        given = {name: x for name, x in made.items() if name in asked.optional}
        call = (None, parameters, {n: x for n, x in made.items() if n not in given})
        if errors != "raise":
            return self._status_of(quantity, inputs, given, call, errors, tolerance, out)
        found = self._call(quantity, inputs, given, *call, out=out)
        first = found[0] if isinstance(found, tuple) else found
        if is_symbols(first) or all_finite(first):
            return found
        core = len(next(iter(asked.outputs.values())))
        require_result(self.description.bound, quantity, (first, core), inputs, made, parameters)
        return found

    def _call(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        optional: Mapping[str, Any],
        formulation: str | None,
        parameters: Parameters,
        choices: Mapping[str, str],
        out: Any = None,
    ) -> Any:
        given = {name: value for name, value in optional.items() if value is not None}
        variant = self._variant(quantity, formulation, {**choices, **given})
        # divisions by zero at singular postures are reported in words, by whoever calls this
        with np.errstate(all="ignore"):
            return self._result(variant, (*inputs, *given.values()), parameters, out)

    def _status_of(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        optional: Mapping[str, Any],
        call: tuple[str | None, Parameters, Mapping[str, str]],
        errors: str,
        tolerance: Any,
        out: Any = None,
    ) -> Flagged:
        """The results of a quantity with the status of every state; nothing is refused."""
        require_mode(errors)
        formulation, parameters, choices = call
        given, twin = {**optional, "tolerance": tolerance}, quantity + TWIN
        found = self._call(twin, inputs, given, *call, out=None if out is None else (*out, None))
        names = (*self.dynamics.quantity(quantity).outputs, "status")
        if mapped_over(found):
            return Flagged(names, (*found[:-1], found[-1].astype(np.int8)))
        if is_symbols(found[0]):
            return Flagged(names, found)
        if formulation in PIVOTED and "pivots" not in choices:
            weak = found[-1] == float(Status.CONTRADICTION)
            found = (*found[:-1], beside(found[-1], found[0]))
            self._fill(found, weak, twin, inputs, given, parameters)
        return Flagged(names, (*found[:-1], found[-1].astype(np.int8)))

    def _fill(
        self,
        found: tuple[Any, ...],
        weak: Any,
        quantity: str,
        inputs: tuple[Any, ...],
        optional: Mapping[str, Any],
        parameters: Parameters,
    ) -> None:
        """Put the multiplier route's results where the states (...) are `weak`."""
        if not weak.any():
            return
        again = tuple(chosen(x, weak) for x in inputs)
        given = {
            name: chosen(x, weak, DIMENSIONS.get(name, 1))
            for name, x in optional.items()
            if x is not None
        }
        if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
            parameters = chosen(parameters, weak)
        part = self._call(quantity, again, given, None, parameters, {})
        for whole, new in zip(found, part, strict=True):
            whole[weak] = new
