"""Time that is over, and progress that is only shown on a terminal."""

import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.errors import EquationError
from dalembert.symbolic import Budget, budget
from dalembert.symbolic.budget import TimeOver


def test_no_limit_and_no_time():
    assert not Budget(None).exhausted()
    short = Budget(0.01)
    time.sleep(0.02)
    assert short.exhausted() and short.overrun


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_budget_is_a_number_of_seconds(seconds):
    with pytest.raises(EquationError, match="timeout"):
        Budget(seconds)


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_on_a_terminal_only(monkeypatch, is_terminal, progress):
    shares = {}

    @contextmanager
    def recorded(title, enabled):
        assert enabled == (is_terminal and progress)
        yield shares.setdefault(title, []).append

    monkeypatch.setattr("dalembert.symbolic.system_equations.on_terminal", lambda: is_terminal)
    monkeypatch.setattr("dalembert.symbolic.system_equations.progress_bar", recorded)
    dl.load("pendulum").equations(["M", "g"], progress=progress)
    assert list(shares) == [
        "equations of pendulum",
        "pendulum: Mass matrix",
        "pendulum: Gravity torque",
    ]
    assert all(0.0 <= share < 1.0 for several in shares.values() for share in several)


def endless(*_):
    """Work of SymPy's that asks nobody how long it may take, and does not mind errors."""
    x = sympy.Symbol("x")
    while True:
        try:
            sympy.expand((x + 1) ** 5)
        except Exception:
            continue


def test_a_limit_ends_what_does_not_look_at_the_time(monkeypatch):
    monkeypatch.setattr(budget, "GRACE", 0.0)
    short = Budget(0.01)
    with pytest.raises(TimeOver), short.limit():
        endless()
    assert short.overrun
    # what ends in time is left alone, then and later, and without a limit there is none
    for seconds in (0.02, None, float("inf")):
        with Budget(seconds).limit():
            actual = 1 + 1
        assert actual == 2
    time.sleep(0.03)


def test_equations_are_those_of_the_program_where_the_time_is_over(monkeypatch):
    """Cancelling that never ends holds nothing up: g comes as the program computes it, λ in parts."""
    monkeypatch.setattr("dalembert.symbolic.polynomials._cancelled", endless)
    monkeypatch.setattr(budget, "GRACE", 0.0)
    x, v = sympy.symbols("x v")
    spring = dl.Lagrangian([x], v**2 / 2, 1 / (x**2 + 1), qd=[v], name="spring")
    actual = spring.equations(["g"], timeout=0.5, progress=False)
    assert not actual.complete and "as the program computes it" in actual.note
    np.testing.assert_allclose(actual.lambdify("g")([0.7]), spring.gravity_torque([0.7]))
    monkeypatch.setattr(budget, "GRACE", 0.5)
    closed = dl.load("pendulum_constrained")
    actual = closed.equations(["lambda"], timeout=0.5, progress=False)
    assert not actual.complete and "before all forms were factored" in actual.note
    assert "y₁/S₁₁" in actual.text()
    q, qd, tau = np.array([0.6, -0.8]), np.array([0.8, 0.6]), np.array([0.1, 0.2])
    expected = closed.forward_dynamics(q, qd, tau)[1]
    values = actual.lambdify("lambda")(q, qd, tau)
    np.testing.assert_allclose(np.ravel(values), expected, rtol=1e-12)


def test_a_limit_leaves_nothing_behind_for_a_profiler():
    """CPython 3.11 never returned from a call after an exception was set and taken back."""
    code = (
        "import sys; from dalembert.symbolic.budget import Budget\n"
        "sys.setprofile(lambda *facts: None)\n"
        "with Budget(10.0).limit(): pass\n"
        "print(sum(map(lambda k: k, range(10))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "45"
