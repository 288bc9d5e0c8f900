"""Steps of their own lengths: what an adaptive rollout repeats, a try of a step with its error.

The stages k_i of a pair (`systems/tableau.py`) are kept, and the same program is called for each, with
coefficients that are zero for those that are still to come. A try ends at y₁ = y₀ ⊞ h Σ b_i k_i if

    √(mean (e_i / (atol + rtol max(|y₀|, |y₁|)))²) < 1,    e = h Σ e_i k_i,

and the next step is 0.9 norm^(−1/(p+1)) times as long, as in SciPy's solvers (Hairer, Nørsett, Wanner
1993, §II.4). A first try of length zero finds the slope, and the first step from it. A step whose error
is small, and whose end cannot be brought back to the constraints, is taken back and tried shorter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.kernels.program.iteration import Iteration
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.friction import rubs
from dalembert.systems.law import Controller
from dalembert.systems.plant import Plant
from dalembert.systems.rollouts import MISSED, Ported
from dalembert.systems.steps import combined, grouped
from dalembert.systems.tableau import Tableau, pair
from dalembert.tracing.program import Port

SAFETY, SHORTER, LONGER = 0.9, 0.2, 10.0  # as SciPy's solvers have them
FIRST, SMALL, LEAST = 0.01, 1e-5, 1e-6  # of the first step (Hairer et al., §II.4)
# of the time gone by, ten units in its last place: shorter steps do not count any more
TINY, SMALLEST = 2.2e-15, 1e-300
RUNNING, ARRIVED, GIVEN_UP, OPEN = 0.0, 1.0, 2.0, 3.0  # open: it cannot be closed any more
CLOCK = ("t", "h", "rejected", "tries", "ended")
GIVEN = ("rtol", "atol", "end", "most")  # numbers that do not change


@dataclass(frozen=True, eq=False)
class Tries(Ported):
    """The functions of a try, of one state by name."""

    pair: Tableau = field(kw_only=True)

    @property
    def base(self) -> tuple[Port, ...]:
        """State, slope, clock, what is given, and what a step that cannot be closed goes back to."""
        own = [*super().base, Port("slope", (self.plant.flat,))]
        own += [Port(name, ()) for name in (*CLOCK, *GIVEN)]
        return *own, *(Port(_before(p.name), p.shape) for p in own if p.name in self.undone)

    @property
    def undone(self) -> tuple[str, ...]:
        """Base values that a step which cannot be closed takes back."""
        return (*self.states, "slope", "t", "h") if self.plant.dynamics.steps_back else ()

    @property
    def window(self) -> tuple[str, ...]:
        """Names of the stages."""
        return tuple(f"k{i}" for i in range(len(self.pair.b)))

    @property
    def scalars(self) -> tuple[str, ...]:
        """Names of the coefficients of a stage: of the stages but the last, and its time."""
        return *(f"a{i}" for i in range(len(self.pair.b) - 1)), "c"

    @property
    def table(self) -> tuple[tuple[float, ...], ...]:
        """Coefficients of all stages but the first."""
        rows = zip(self.pair.a, self.pair.c[1:].tolist(), strict=True)
        return tuple((*row, *[0.0] * (len(self.pair.a) - len(row)), c) for row, c in rows)

    def moved(self, weights: Any, values: Any) -> list[Any]:
        """(q, q̇, w) of x ⊞ h Σ w_i k_i."""
        d = values["h"] * combined(weights, [values[name] for name in self.window])
        return self.split(self.plant.moved(self.state(values), d), self.plant.nq)

    def stage(self, **values: Any) -> tuple[Any, ...]:
        """The slope of this stage."""
        weights = [(values[name], [i]) for i, name in enumerate(self.scalars[:-1])]
        d = values["h"] * combined(weights, [values[name] for name in self.window])
        now = values["t"] + values["c"] * values["h"]
        flow = self.plant.flow(self.given(values))
        return (flow.slope(self.state(values), d, now, values.get("tau")),)

    def finish(self, **values: Any) -> tuple[Any, ...]:
        """What a try makes of the base values."""
        state, h = [values[name] for name in self.states], values["h"]
        window = [values[name] for name in self.window]
        after = self.moved(grouped(self.pair.b), values)
        error = h * combined(grouped(self.pair.e), window)
        before, now = self._sizes(*state), self._sizes(*after)
        scale = values["atol"] + values["rtol"] * np.maximum(before, now)
        norm, starts = _rms(error / scale), h <= 0.0
        kept = norm < 1.0
        first = self._first(before / scale, window[-1] / scale)
        following = np.where(starts, first, h * _growth(norm, kept, values, self.pair))
        clock = _clock(values, kept, following)
        chosen = [np.where(kept, a, b) for a, b in zip(after, state, strict=True)]
        # the next try is measured from its end, where Ω = 0 moves with q̇ itself
        ahead = np.concatenate([after[1], window[-1][self.plant.nv :]])
        slope = np.where(kept, ahead, values["slope"])
        before = [values[name] for name in self.undone]
        return *chosen, slope, *clock, *(values[name] for name in GIVEN), *before

    def between(self, when: Any, **values: Any) -> tuple[Any, ...]:
        """Base values with the state at a time within the try, and nothing to go back to."""
        share = (when - values["t"]) / values["h"]
        weights = []
        for i, row in enumerate(self.pair.p):
            total: Any = 0.0
            for factor in reversed(row):
                total = (total + factor) * share
            weights.append((total, [i]))
        found = self.moved(weights, values)
        gone = [_before(name) for name in self.undone]
        lost = {port.name: np.full(port.shape, np.nan) for port in self.base if port.name in gone}
        named = {**values, **lost, **dict(zip(self.states, found, strict=True)), "t": when}
        return tuple(named[port.name] for port in self.base)

    def closed(self, back: Any, last: bool, **values: Any) -> tuple[Any, ...]:
        """Base values one step nearer to the constraints; after the last, taken back if missed."""
        seen = self.plant.dynamics
        q, qd = back(seen, values["q"], values["qd"], values["t"])
        named = {**values, "q": q, "qd": qd}
        if last:
            met = seen.meets(q, qd, values["t"], MISSED)
            named |= {k: np.where(met, named[k], x) for k, x in self._taken_back(values).items()}
        return tuple(named[port.name] for port in self.base)

    def _taken_back(self, values: Any) -> dict[str, Any]:
        """What changes where a try is not counted, and the next is shorter; or the run is over."""
        found = {name: values[_before(name)] for name in self.undone}
        found["h"] = SHORTER * found["h"]
        goes_on = np.where(found["h"] >= _least(found["t"]), RUNNING, OPEN)
        ended = np.where(values["tries"] < values["most"], goes_on, GIVEN_UP)
        return {**found, "rejected": 1.0, "ended": ended}

    def _sizes(self, q: Any, qd: Any, w: Any = None) -> Any:
        """Sizes of the entries of d; turns on a group are of size one."""
        turns = np.abs(q) if self.is_vector else np.ones(self.plant.nv)
        return np.concatenate([turns, np.abs(qd), *([] if w is None else [np.abs(w)])])

    @staticmethod
    def _first(state: Any, slope: Any) -> Any:
        """The first step, which moves the state by about a hundredth."""
        size, rate = _rms(state), _rms(slope)
        known = (size > SMALL) * (rate > SMALL)
        return np.where(known > 0.5, FIRST * size / rate, LEAST)


def _growth(norm: Any, kept: Any, values: Any, used: Tableau) -> Any:
    """How many times longer the next step is."""
    found = SAFETY * norm ** (-1.0 / (used.error_order + 1))
    most = np.where(values["rejected"] > 0.5, 1.0, LONGER)
    shorter = np.where(found > SHORTER, found, SHORTER)  # also where there is no number
    return np.where(kept, np.where(found < most, found, most), shorter)


def _clock(values: Any, kept: Any, following: Any) -> list[Any]:
    """t, h, rejected, tries and ended after a try."""
    t, h, end = values["t"], values["h"], values["end"]
    reached = np.where(h >= end - t, end, t + h)  # exactly
    now, tries = np.where(kept, reached, t), values["tries"] + 1.0
    left, least = end - now, _least(now)
    # after a step that was kept the next is no shorter than that, as in SciPy's solvers
    wanted = np.where(kept, np.where(following > least, following, least), following)
    step = np.where(wanted < left, wanted, left)
    goes_on = (wanted >= least) * (tries < values["most"])
    over = np.where(now >= end, ARRIVED, np.where(goes_on > 0.5, RUNNING, GIVEN_UP))
    return [now, step, np.where(kept, 0.0, 1.0), tries, over]


def _least(t: Any) -> Any:
    """The shortest step that counts at a time."""
    return TINY * t + SMALLEST


def _before(name: str) -> str:
    return f"{name}_before"


def _rms(x: Any) -> Any:
    return np.sqrt(x @ x / x.shape[0])


def tries_iteration(
    dynamics: Dynamics,
    method: str,
    controlled: bool = False,
    law: Controller | None = None,
) -> Iteration:
    """A try of a step of a pair; `ended` of its base values says when a run is over."""
    plant = Plant(dynamics, law, rubs(dynamics), controlled, energies=False)
    tries = Tries(plant, pair=pair(method))
    names, size = tries.window, (plant.flat,)
    work = [(Port(name, size), "slope" if name == names[0] else None) for name in names]
    steps = (tries.stage, tries.finish, dynamics.steps_back, tries.between)
    return tries.repeated(method, work, tries.table, tries.scalars, *steps)
