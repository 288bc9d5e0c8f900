"""A run under digital control that was cut short goes on to the same bits, though its law remembers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.simulation.adaptive import AdaptiveRun
from dalembert.simulation.fixed_step import FixedRun


class Filtered:
    """A law with two memories: an integral and a filtered velocity."""

    def __init__(self, gain: float = 8.0) -> None:
        self.gain, self.sum, self.slow, self.calls = gain, 0.0, 0.0, 0

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        self.calls += 1
        self.sum = self.sum + 0.01 * q
        self.slow = 0.8 * self.slow + 0.2 * qd
        return -self.gain * q - 2.0 * self.sum - 1.5 * self.slow


def simulated(controller: Any, folder: Path | None, method: str, batch: bool = False) -> Any:
    q0 = np.array([[0.5, -0.3], [0.2, 0.4]]) if batch else np.array([0.5, -0.3])
    options = {
        "duration": 1.0,
        "dt": 0.005,
        "save_every": 3,
        "method": method,
        "checkpoint": folder,
    }
    options |= {"control_dt": 0.01, "control_delay": 0.015, "encoder": 1e-4, "noise": 1e-5}
    return dl.simulate(dl.load("planar_2r"), q0, None, controller, **options)


def cut(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C in the middle of a run."""
    for kind in (FixedRun, AdaptiveRun):
        advance, calls = kind.advance, [0]

        def interrupted(self, state, index, advance=advance, calls=calls):
            calls[0] += 1
            if calls[0] == after:
                raise KeyboardInterrupt
            return advance(self, state, index)

        monkeypatch.setattr(kind, "advance", interrupted)


@pytest.mark.parametrize(
    ("method", "batch"), [("rk4", False), ("rk4", True), ("DOP853", False), ("Radau", False)]
)
def test_a_law_with_a_memory_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, batch: bool
) -> None:
    whole = simulated(Filtered(), None, method, batch)
    cut(monkeypatch, 38)
    with pytest.warns(dl.SimulationWarning, match="interrupted"):
        simulated(Filtered(), tmp_path / "c", method, batch)
    monkeypatch.undo()
    controller = Filtered()
    rest = simulated(controller, tmp_path / "c", method, batch)
    assert controller.calls == 100  # each sample once, those before the cut included
    for name in ("q", "tau", "sampled_q", "sampled_qd", "commanded", "work"):
        np.testing.assert_array_equal(rest[name], whole[name], err_msg=name)


def test_a_controller_with_other_commands_than_stored_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Moody(Filtered):
        """What it says depends on something that no run can know."""

        mood = 0.0

        def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            return super().__call__(t, q, qd) + Moody.mood

    cut(monkeypatch, 38)
    with pytest.warns(dl.SimulationWarning, match="interrupted"):
        simulated(Moody(), tmp_path / "c", "rk4")
    monkeypatch.undo()
    Moody.mood = 1.0
    with pytest.raises(dl.SimulationError, match="at t = 0 s the controller gives another command"):
        simulated(Moody(), tmp_path / "c", "rk4")


def test_other_sensors_are_another_run(tmp_path: Path) -> None:
    options = {"duration": 0.1, "dt": 0.01, "control_dt": 0.01, "checkpoint": tmp_path}
    settings = {"tau": lambda t, q, qd: -q}
    dl.simulate(dl.load("pendulum"), [0.1], noise=1e-3, seed=1, **settings, **options)
    with pytest.raises(dl.SimulationError, match="holds another run: torques"):
        dl.simulate(dl.load("pendulum"), [0.1], noise=1e-3, seed=2, **settings, **options)
