"""Bars that appear by themselves: long work is shown whether or not it reports a share."""

from contextlib import contextmanager
from threading import Event

import pytest

from dalembert import progress
from dalembert.kernels.program import trace as tracing


class Terminal:
    """What rich would show: titles of the lines that are there."""

    def __init__(self):
        self.lines, self.shares, self.stopped, self.appeared = {}, {}, 0, Event()

    def add_task(self, title, total):
        self.lines[len(self.shares)] = title
        self.shares[len(self.shares)] = None
        return len(self.shares) - 1

    def update(self, task, completed):
        self.shares[task] = completed
        self.appeared.set()

    def remove_task(self, task):
        del self.lines[task]

    def stop(self):
        self.stopped += 1


@pytest.fixture
def terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_started", lambda: terminal)
    return terminal


def appears(terminal):
    assert terminal.appeared.wait(60.0)  # it only ends what would hang
    terminal.appeared.clear()


def test_a_bar_appears_without_a_report_and_goes(terminal):
    with progress.progress_bar("moving") as report:
        appears(terminal)
        report(0.25)
        assert list(terminal.lines.values()) == ["moving"] and terminal.shares[0] == 0.25
    assert not terminal.lines and terminal.stopped == 1


def test_a_bar_inside_another_is_a_line_of_it(terminal):
    with progress.progress_bar("moving"):
        appears(terminal)
        with progress.progress_bar("compiling"):
            appears(terminal)
            assert list(terminal.lines.values()) == ["moving", "compiling"]
        assert list(terminal.lines.values()) == ["moving"] and not terminal.stopped
    assert terminal.stopped == 1


def test_what_is_not_to_be_shown_starts_no_timer(monkeypatch):
    monkeypatch.setattr(progress, "Timer", None)
    with progress.progress_bar("moving", enabled=False) as report:
        report(0.5)


def test_tracing_is_shown(monkeypatch):
    titles = []

    @contextmanager
    def bar(title, enabled):
        titles.append((title, enabled))
        yield lambda share: None

    monkeypatch.setattr(tracing, "progress_bar", bar)
    monkeypatch.setattr(tracing, "on_terminal", lambda: True)
    tracing.trace(lambda q: 2.0 * q, {"q": (2,)}, name="twice")
    assert titles == [("tracing twice", True)]
