"""Equations people read, of anything that has programs for M, Γ, N and the energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dalembert.systems.compiled import Evaluator

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations


class EquationMethods(Evaluator):
    """The equations of motion in letters."""

    def equations(
        self,
        quantities: Sequence[str] = ("M", "C", "g"),
        simplify: str = "full",
        timeout: float | None = 10.0,
        group: bool | None = None,
        coordinates: Sequence[str] | None = None,
        constants: Sequence[str] | None = None,
        progress: bool = True,
    ) -> Equations:
        """The equations of motion as SymPy matrices in textbook form, from its programs.

        `quantities` are of "M", "C", "g", "Gamma" (Christoffel), "K", "U", "B" and "Csq" (Khatib).
        "full" also looks for factors, until `timeout` seconds are over; "fast" does not. `group`
        names the constants (α + 2β cos θ₂); None does so if a few of them say all of M.
        `coordinates` and `constants` are names to use instead of θ₁, d₂, … and α, β, ….

        >>> from dalembert.zoo.letters import symbolic_model
        >>> print(symbolic_model("planar_2r").equations(["M"]))
        Mass matrix
        M = ⎡ α + 2 β cos θ₂   δ + β cos θ₂ ⎤
            ⎣ δ + β cos θ₂     δ            ⎦
        <BLANKLINE>
        with
        α = Iz₁ + Iz₂ + m₁ r₁² + m₂ (l₁² + r₂²)
        β = m₂ l₁ r₂
        δ = Iz₂ + m₂ r₂²
        """
        from dalembert.systems.methods.equation_system import equations_of

        return equations_of(
            self,
            quantities,
            coordinates,
            simplify=simplify,
            timeout=timeout,
            group=group,
            constants=constants,
            progress=progress,
        )
