"""Rollouts of a system: arguments checked, kernels kept, and what became of every run."""

from __future__ import annotations

from contextlib import nullcontext
from inspect import isfunction
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError
from dalembert.systems.exported import Exported

if TYPE_CHECKING:
    from dalembert.systems.adaptive_runs import Adaptive
    from dalembert.systems.law import Controller
    from dalembert.systems.rollout_runs import Made


class Rollouts(Exported):
    """`rollout`: many steps of many runs in one kernel."""

    def rollout(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        steps: int,
        dt: float,
        method: str = "rk4",
        every: int = 1,
        friction: str = "smooth",
        smoothing: float | None = None,
        controls: Any = None,
        activation: Any = None,
        errors: str | None = None,
        rtol: float = 1e-10,
        atol: float = 1e-12,
        max_steps: int = 100_000,
    ) -> tuple[Any, ...]:
        """q (saves, ..., nq) and qd (saves, ..., nv) after every `every`-th of `steps` steps of `dt`.

        The state stays in the processor from the first step to the last. `tau` (..., nv) holds
        throughout; (steps, ..., nv) holds for one step each; a controller of `dalembert.control` is
        compiled into the steps and asked at every stage, and its own state, if it has any, comes
        back as a third array. ``method`` is "rk4", "heun", "euler" or "semi_implicit", each to
        rounding what `simulate` computes by that name: Coulomb friction rises over the velocity
        `smoothing`, by default one over which these steps are stable in the robot's lightest posture,
        or is its plain sign with ``friction="plain"``. CuPy arrays are integrated where they are, on
        the GPU.

        Methods "RK45" and "RK23" choose steps by `rtol` and `atol`, each run its own: one that needs
        many small steps does not hold up its neighbours, and every run is what it is alone, bit for
        bit. States are saved at the same times, between steps; what they are does not depend on `dt`,
        and friction rises over 1e-3 rad/s or m/s. `tau` holds throughout, or is a controller. With
        flags, `tries` (...) comes back before the status: steps that were tried. All of it in double
        precision, on the GPU too.

        With ``tau=None`` and `controls` (..., nu) its actuators drive it; where they have activations
        (..., na), these come back as a third array, from `activation` or zero at the start.

        Constraints are met after every step, by Newton's steps for q and then the nearest q̇: nothing
        drifts; steps that choose their lengths are tried shorter where they cannot. A start that
        misses them, a run that cannot be brought back (at a singular posture, or with too long a
        step), and inputs or states that are not finite are an error that says of which run. On a GPU
        the states of free systems are looked at only where ``errors="raise"`` is said, as one has to
        wait for them. With ``errors="flag"`` nothing is refused: `status` (...), entries of `Status`,
        comes back as the last array, and a run that is not OK is NaN from then on. λ at the saved
        states is one call of `forward_dynamics`.

        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> q, qd = robot.rollout([0.1], [0.0], [0.0], steps=1000, dt=1e-3)
        >>> bool(abs(robot.kinetic_energy(q, qd) + robot.potential_energy(q)).std() < 1e-10)
        True
        >>> bar, still = dl.load("four_bar"), np.zeros(3)
        >>> q, qd = bar.rollout(bar.neutral(), still, still, steps=100, dt=1e-3, every=50)
        >>> bool(abs(bar.residual(q)).max() < 1e-12)
        True
        """

        from dalembert.systems.adaptive_runs import Accuracy, Adaptive, AdaptiveRun
        from dalembert.systems.rollout_given import arrays, counted
        from dalembert.systems.rollout_runs import Run, checked
        from dalembert.systems.rollouts import METHODS, require_method
        from dalembert.systems.status import require_mode
        from dalembert.systems.tableau import PAIRS

        require_mode("raise" if errors is None else errors)
        law = tau if hasattr(tau, "law") else None
        if law is not None and not (controls is None and activation is None):
            raise SettingError("a rollout takes a controller as tau=, or controls=, not both")
        if law is None and callable(tau):
            kind = (
                "a plain function" if isfunction(tau) else f"{type(tau).__name__}, without a law,"
            )
            raise SettingError(
                f"a rollout cannot compile {kind} into its steps: give torques of the steps (steps, "
                f"..., {self.dynamics.nv}), a controller that has a law, or take dl.simulate"
            )
        require_method(method, (*METHODS, *PAIRS))
        counts = counted(steps, every, dt, method in PAIRS)
        none = np.zeros(0) if law is not None else tau
        state = arrays(self.dynamics, self._rolled(q, qd, none, controls, activation))
        made = self._made_rollout(method, friction, controls is not None, law)
        about = (state, law, counts, smoothing, controls is not None)
        if isinstance(made, Adaptive):
            return AdaptiveRun(made, *about, Accuracy(rtol, atol, max_steps))(self, errors)
        return checked(self, Run(made, *about), errors)

    def _made_rollout(
        self, method: str, friction: str, controlled: bool, law: Controller | None
    ) -> Made | Adaptive:
        """The kernels of these choices, kept."""

        from dalembert.systems.law import law_digest
        from dalembert.systems.rollouts import require_friction

        require_friction(friction)
        seen = self.dynamics
        known_as = "" if law is None else law_digest(law, seen.nq, seen.nv, seen.rows)
        key = (method, friction, controlled, known_as)
        known = self.__dict__.setdefault("_rollouts", {})
        if key not in known:
            known[key] = self._new_rollout(method, friction, controlled, law)
        return known[key]

    def _new_rollout(
        self, method: str, friction: str, controlled: bool, law: Controller | None
    ) -> Made | Adaptive:
        from dalembert.kernels.call.adaptive import AdaptiveLoop
        from dalembert.kernels.call.rollout import Rollout
        from dalembert.kernels.cuda.adaptive import DeviceAdaptive
        from dalembert.kernels.cuda.device import DeviceRollout
        from dalembert.systems.adaptive_runs import Adaptive
        from dalembert.systems.friction import rubs
        from dalembert.systems.law import compiling
        from dalembert.systems.rollout_runs import Made
        from dalembert.systems.rollouts import regular, rollout_iteration
        from dalembert.systems.tableau import PAIRS
        from dalembert.systems.tries import tries_iteration

        if method not in PAIRS:
            made = rollout_iteration(self, method, friction, controlled, law=law)
            return Made(Rollout(made), DeviceRollout(made, method))
        seen = regular(self, method).bound()
        if friction == "plain" and rubs(seen):
            raise SettingError(
                f"{method} gets stuck on the plain sign of the velocity; take friction='smooth'"
            )
        with nullcontext() if law is None else compiling(law):
            made = tries_iteration(seen, method, controlled, law)
        states = [port.size for port in made.base[: 3 if made.base[2].name == "w" else 2]]
        saved = sum(states)
        return Adaptive(AdaptiveLoop(made, saved), DeviceAdaptive(made, saved, method))

    def _first_status(self, q: Any, qd: Any) -> Any:
        """The status of first states (...)."""

        from dalembert.systems.lanes import either, finite
        from dalembert.systems.status import Status

        return either(finite(q) & finite(qd), Status.OK, int(Status.NOT_FINITE))

    def _bad_start(self, q: Any, qd: Any, start: Any) -> str:
        """What is wrong with first states that are numbers, in words: nothing of a free system."""
        return ""
