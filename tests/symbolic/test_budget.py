"""Time that is over, and progress that is only shown on a terminal."""

import io
import time

import pytest

from dalembert.errors import EquationError
from dalembert.symbolic import Budget, budget


def test_no_limit_and_no_time():
    assert not Budget(None).exhausted()
    short = Budget(0.01)
    time.sleep(0.02)
    assert short.exhausted() and short.overrun


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_budget_is_a_number_of_seconds(seconds):
    with pytest.raises(EquationError, match="timeout"):
        Budget(seconds)


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal(monkeypatch):
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(budget, "SHOW_AFTER", 0.0)
    with Budget(None, progress=True) as shown:
        shown.report("mass matrix", 1, 2)
    assert "mass matrix" in screen.getvalue()


def test_nothing_is_shown_elsewhere(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(budget, "SHOW_AFTER", 0.0)
    with Budget(None, progress=True) as shown:
        shown.report("mass matrix", 1, 2)
    assert screen.getvalue() == ""
