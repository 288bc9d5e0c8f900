"""Whether an adaptive run gets anywhere, told by counting steps and evaluations, never by a clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

LOOK = 500  # steps from one look at the pace to the next
# that a run may still need, at the pace of as many looks: a stiff start is slow for a while
MOST_STEPS = {1: 5e14, 4: 2e7}
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
    _looks: deque[float] = field(init=False)

    def __post_init__(self) -> None:
        self._looks = deque(maxlen=max(MOST_STEPS) + 1)

    def begin(self, t: float) -> None:
        """Count from here on."""
        self.reached = t
        self._evaluations = self._steps = 0
        self._looks.clear()
        self._looks.append(t)

    def evaluated(self) -> bool:
        """Count an evaluation; whether the present step has taken too many."""
        self._evaluations += 1
        return self._evaluations > EVALUATIONS + JACOBIANS * self.size

    def stepped(self, t: float) -> bool:
        """Count a step up to t; whether the run would need too many more of them."""
        self.reached, self._evaluations = t, 0
        self._steps += 1
        if self._steps % LOOK:
            return False
        self._looks.append(t)
        return any(self._hopeless(t, looks, most) for looks, most in MOST_STEPS.items())

    def _hopeless(self, t: float, looks: int, most: float) -> bool:
        if len(self._looks) <= looks:
            return False
        steps, gained = looks * LOOK, t - self._looks[-1 - looks]
        self.said = (
            f"{steps} steps gained {gained:.2g} s, with {self.end - t:.3g} s to go, so that it "
            "would not end"
        )
        return (self.end - t) * steps > most * gained
