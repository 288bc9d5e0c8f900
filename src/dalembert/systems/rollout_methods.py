"""Rollouts of a system: arguments checked, kernels kept, and what became of every run."""

from __future__ import annotations

from contextlib import nullcontext
from inspect import isfunction
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError
from dalembert.systems.actuated import rollout_inputs
from dalembert.systems.adaptive_runs import Accuracy, Adaptive, AdaptiveRun
from dalembert.systems.friction import rubs
from dalembert.systems.law import compiling, law_digest
from dalembert.systems.rollout_given import arrays, counted
from dalembert.systems.rollout_runs import Made, Run, checked
from dalembert.systems.rollouts import (
    METHODS,
    regular,
    require_friction,
    require_method,
    rollout_iteration,
)
from dalembert.systems.status import require_mode
from dalembert.systems.tableau import PAIRS

if TYPE_CHECKING:
    from dalembert.systems.law import Controller
    from dalembert.systems.system import System


def rollout(
    system: System,
    start: tuple[Any, Any, Any],
    times: tuple[int, int, float],
    method: str,
    friction: str,
    smoothing: float | None,
    driven: tuple[Any, Any],
    errors: str | None,
    accuracy: tuple[float, float, int],
) -> tuple[Any, ...]:
    """States after steps of a method, see `System.rollout`.

    `start` is (q, qd, tau), `times` (steps, every, dt), `driven` (controls, activation) and
    `accuracy` (rtol, atol, max_steps).
    """
    (q, qd, tau), (steps, every, dt), (controls, activation) = start, times, driven
    require_mode("raise" if errors is None else errors)
    law = tau if hasattr(tau, "law") else None
    if law is not None and not (controls is None and activation is None):
        raise SettingError("a rollout takes a controller as tau=, or controls=, not both")
    if law is None and callable(tau):
        kind = "a plain function" if isfunction(tau) else f"{type(tau).__name__}, without a law,"
        raise SettingError(
            f"a rollout cannot compile {kind} into its steps: give torques of the steps (steps, "
            f"..., {system.nv}), a controller that has a law, or take dl.simulate"
        )
    require_method(method, (*METHODS, *PAIRS))
    require_friction(friction)
    counts = counted(steps, every, dt, method in PAIRS)
    none = np.zeros(0) if law is not None else tau
    given = rollout_inputs(system, q, qd, none, controls, activation)
    state = arrays(system.dynamics, given)
    made = _kernels(system, method, friction, controls is not None, law)
    about = (state, law, counts, smoothing, controls is not None)
    if isinstance(made, Adaptive):
        return AdaptiveRun(made, *about, Accuracy(*accuracy))(system, errors)
    return checked(system, Run(made, *about), errors)


def _kernels(
    system: System, method: str, friction: str, controlled: bool, law: Controller | None
) -> Made | Adaptive:
    """The kernels of these choices, made once."""
    seen = system.dynamics
    digest = "" if law is None else law_digest(law, seen.nq, seen.nv, seen.rows)
    known = system.__dict__.setdefault("_rollouts", {})
    key = (method, friction, controlled, digest)
    if key not in known:
        known[key] = _new_kernels(system, method, friction, controlled, law)
    return known[key]


def _new_kernels(
    system: System, method: str, friction: str, controlled: bool, law: Controller | None
) -> Made | Adaptive:
    from dalembert.kernels.call.adaptive import AdaptiveLoop
    from dalembert.kernels.call.rollout import Rollout
    from dalembert.kernels.cuda.adaptive import DeviceAdaptive
    from dalembert.kernels.cuda.device import DeviceRollout
    from dalembert.systems.tries import tries_iteration

    if method not in PAIRS:
        made = rollout_iteration(system, method, friction, controlled, law=law)
        return Made(Rollout(made), DeviceRollout(made, method))
    seen = regular(system, method).bound()
    if friction == "plain" and rubs(seen):
        raise SettingError(
            f"{method} gets stuck on the plain sign of the velocity; take friction='smooth'"
        )
    with nullcontext() if law is None else compiling(law):
        made = tries_iteration(seen, method, controlled, law)
    states = [port.size for port in made.base[: 3 if made.base[2].name == "w" else 2]]
    saved = sum(states)
    return Adaptive(AdaptiveLoop(made, saved), DeviceAdaptive(made, saved, method))
