"""Whether the tests that the index of equations cites execute the functions it cites them for.

While a cited test or a fixture runs, calls of cited functions are recorded by `sys.setprofile`. A
call counts if the test makes it (the caller is not the package itself) with the arguments of the row,
as in ``formulation="jacobian"``. A quantity is called by its method, by `evaluate` and the like with
its name, or by the function that the catalogue lists for the formulation; whether the numbers then
come from a cached kernel or from the builtin in front of the method does not matter. A run in which
all tests passed fails if a cited test was run as a whole without such a call.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

import dalembert
from dalembert.formulations import QUANTITIES
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.fast_path import FastCall
from dalembert.systems.system import System

INDEX = Path(__file__).parents[1] / "docs" / "course" / "equations.toml"
PACKAGE = str(Path(dalembert.__file__).parent)
BY_NAME = ("evaluate", "reference", "kernel", "program", "operation_count")


def resolved(name: str) -> tuple[Any, Any]:
    """The object of a dotted name and its owner: the longest part that is a module, then attributes."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            owner, target = None, import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            owner, target = target, getattr(target, part)
        return target, owner
    raise AttributeError(name)


class Call(NamedTuple):
    """A way to call a cited function: the first argument's class and the values of arguments."""

    function: str  # as the row has it
    owner: type
    arguments: dict[str, Any]

    def is_met(self, frame: FrameType) -> bool:
        """Whether a frame that has just begun is this call."""
        local_variables = frame.f_locals
        first = frame.f_code.co_varnames[:1]
        if self.owner is not object and not isinstance(local_variables.get(*first), self.owner):
            return False
        local_variables = {**local_variables.get("choices", {}), **local_variables}
        return all(local_variables.get(name) == value for name, value in self.arguments.items())

    def is_method_call(self, method: Any, keywords: dict[str, Any]) -> bool:
        """Whether calling a bound method with these keywords is this call."""
        met = all(keywords.get(name) == value for name, value in self.arguments.items())
        return met and isinstance(method.__self__, self.owner)


def method_behind(builtin: Any) -> Any:
    """The method that `fast_call` put a builtin in front of; None for any other builtin."""
    owned = getattr(builtin, "__self__", None)
    front = getattr(owned[1], "__self__", None) if isinstance(owned, tuple) and owned[1:] else None
    return front.method if isinstance(front, FastCall) else None


def calls(function: str) -> Iterator[tuple[Callable[..., Any], Call]]:
    """The Python functions that are entered when a cited function is called."""
    tree = ast.parse(function, mode="eval").body
    keywords = tree.keywords if isinstance(tree, ast.Call) else []
    arguments = {k.arg: ast.literal_eval(k.value) for k in keywords}
    target, owner = resolved(function.partition("(")[0])
    if isinstance(target, type):
        yield target.__init__, Call(function, target, arguments)
        return
    is_method = isinstance(owner, type) and not inspect.ismethod(target)
    plain = target.fget if isinstance(target, property) else inspect.unwrap(target)
    yield (
        getattr(plain, "__func__", plain),
        Call(function, owner if is_method else object, arguments),
    )
    if not (is_method and issubclass(owner, System)):
        return
    quantity = plain.__name__
    for name in BY_NAME:
        yield getattr(System, name), Call(function, owner, {"quantity": quantity, **arguments})
    yield Dynamics.compute, Call(function, Dynamics, {"quantity": quantity, **arguments})
    expected = arguments.get("formulation")
    others = {name: value for name, value in arguments.items() if name != "formulation"}
    if owner is dalembert.Robot and quantity in QUANTITIES:
        for formulation in QUANTITIES[quantity].formulations:
            if expected in (None, formulation.name):
                yield inspect.unwrap(formulation.function), Call(function, object, others)


class Recorder:
    """Calls of cited functions, recorded while `recording` is open."""

    def __init__(self, functions: Iterable[str]) -> None:
        # by address: equal codes, as of the initialisers of two dataclasses, are two functions
        self.calls: dict[int, list[Call]] = {}
        self.codes: list[CodeType] = []  # kept, so that addresses stay theirs
        for function in sorted(set(functions)):
            for python, call in calls(function):
                self.calls.setdefault(id(python.__code__), []).append(call)
                self.codes.append(python.__code__)

    @contextmanager
    def recording(self, awaited: Collection[str] = ()) -> Iterator[set[str]]:
        """The cited functions, as rows have them, that are called meanwhile.

        Recording, which takes twice the time of the test itself, ends where all that are `awaited`
        have been called.
        """
        called: set[str] = set()
        of_fast_call = id(FastCall.__call__.__code__)
        listed = {of_fast_call: [], **self.calls}

        def note(method: Any, keywords: dict[str, Any]) -> None:
            every = self.calls.get(id(inspect.unwrap(method).__code__), ()) if method else ()
            called.update(c.function for c in every if c.is_method_call(method, keywords))

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            if event == "call":
                address = id(frame.f_code)
                if address not in listed:
                    return
                caller = frame.f_back
                if caller is not None and caller.f_code.co_filename.startswith(PACKAGE):
                    return
                if address == of_fast_call:
                    local_variables = frame.f_locals
                    note(local_variables["self"].method, local_variables["options"])
                called.update(c.function for c in listed[address] if c.is_met(frame))
            elif event == "c_call" and isinstance(getattr(arg, "__self__", None), tuple):
                if frame.f_code.co_filename.startswith(PACKAGE):
                    return
                note(method_behind(arg), {})
            else:
                return
            if awaited and called.issuperset(awaited):
                sys.setprofile(before)

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            yield called
        finally:
            sys.setprofile(before)


def cited_rows() -> list[tuple[str, str]]:
    """(function, test) of every row of the index; none where tests run without the documentation."""
    if not INDEX.exists():
        return []
    sections = tomllib.loads(INDEX.read_text(encoding="utf-8"))["section"]
    return [(row[2], row[3]) for section in sections for row in section["rows"]]


def cited_name(nodeid: str) -> str:
    """A test as rows name it, without its parameters."""
    return nodeid.partition("[")[0].removeprefix("tests/")


class CitedTests:
    """The plugin: records while tests run, and says at the end which rows are wrong."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        self.rows = [*dict.fromkeys(rows)]  # (function, test)
        self.cited: dict[str, set[str]] = defaultdict(set)
        for function, test in self.rows:
            self.cited[test].add(function)
        self.files = {"tests/" + test.partition("::")[0] for test in self.cited}
        self.by_fixture: dict[Any, set[str]] = defaultdict(set)
        self.called: dict[str, set[str]] = defaultdict(set)
        self.partial: set[str] = set()  # tests of which not every case was run
        self.missing: list[str] = []

    @cached_property
    def recorder(self) -> Recorder:
        """Made for the first cited test, as it imports what rows name."""
        return Recorder(function for function, _ in self.rows)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        if fixturedef.baseid not in self.files:
            return (yield)
        with self.recorder.recording() as called:
            result = yield
        self.by_fixture[fixturedef] |= called
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[Any]:
        name = cited_name(item.nodeid)
        if name not in self.cited:
            return (yield)
        fixtures = [one for each in item._fixtureinfo.name2fixturedefs.values() for one in each]
        self.called[name].update(*(self.by_fixture[one] for one in fixtures))
        if self.cited[name] <= self.called[name]:  # by other cases of it
            return (yield)
        with self.recorder.recording(self.cited[name] - self.called[name]) as called:
            result = yield
        self.called[name] |= called
        return result

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.partial.update(cited_name(item.nodeid) for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self.partial.add(cited_name(report.nodeid))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What a worker of pytest-xdist recorded."""
        for name, called in getattr(node, "workeroutput", {}).get("called", {}).items():
            self.called[name].update(called)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["called"] = {name: sorted(called) for name, called in self.called.items()}
            return
        if session.exitstatus != pytest.ExitCode.OK or any("[" in a for a in session.config.args):
            return
        self.missing = [
            f"{test} does not call {function}"
            for function, test in self.rows
            if test in self.called.keys() - self.partial and function not in self.called[test]
        ]
        if self.missing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.missing:
            terminalreporter.section("docs/course/equations.toml cites tests that do not call")
            for line in self.missing:
                terminalreporter.line(line)
