"""Whether an adaptive run gets anywhere, told by counting steps and evaluations, never by a clock."""

from __future__ import annotations

from dataclasses import dataclass, field

WINDOW = 2000  # steps after which the pace is looked at
MOST_STEPS = 2e7  # that a run may still need at its pace
EVALUATIONS = 2000  # of one step, besides those of a Jacobian
JACOBIANS = 50  # of one step


@dataclass
class Pace:
    """Counts from the last step that was taken, and from the last look."""

    end: float  # s
    size: int  # of the state: evaluations of one Jacobian by differences
    said: str = field(default="", init=False)
    reached: float = field(default=0.0, init=False)
    _evaluations: int = field(default=0, init=False)
    _steps: int = field(default=0, init=False)
    _looked: float = field(default=0.0, init=False)

    def begin(self, t: float) -> None:
        """Count from here on."""
        self.reached = self._looked = t
        self._evaluations = self._steps = 0

    def evaluated(self) -> bool:
        """Count an evaluation; whether the present step has taken too many."""
        self._evaluations += 1
        return self._evaluations > EVALUATIONS + JACOBIANS * self.size

    def stepped(self, t: float) -> bool:
        """Count a step up to t; whether the run would need too many more of them."""
        self.reached, self._evaluations = t, 0
        self._steps += 1
        if self._steps < WINDOW:
            return False
        gained, self._looked, self._steps = t - self._looked, t, 0
        if (self.end - t) * WINDOW <= MOST_STEPS * gained:
            return False
        self.said = (
            f"{WINDOW} steps gained {gained:.2g} s, with {self.end - t:.3g} s to go, so that it "
            "would not end"
        )
        return True
