"""What counts as a call of a cited function, and when a run of tests fails for want of one."""

from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as dl
from dalembert import spatial
from dalembert.formulations.mass import jacobian_mass
from tests.executed import CitedTests, Recorder

PLAIN, BY_JACOBIAN = (
    "dalembert.Robot.mass_matrix",
    'dalembert.Robot.mass_matrix(formulation="jacobian")',
)
AD, LAGRANGIAN = "dalembert.spatial.Ad", "dalembert.Lagrangian"
Q = np.array([0.1, 0.2])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda robot: robot.mass_matrix(Q), {PLAIN}),
        (lambda robot: robot.mass_matrix(Q, formulation="screw_sum"), {PLAIN}),
        (lambda robot: robot.mass_matrix(Q, formulation="jacobian"), {PLAIN, BY_JACOBIAN}),
        (lambda robot: robot.evaluate("mass_matrix", Q), {PLAIN}),
        (
            lambda robot: robot.reference("mass_matrix", Q, formulation="jacobian"),
            {PLAIN, BY_JACOBIAN},
        ),
        (lambda robot: jacobian_mass.mass_matrix(robot.model, Q), {PLAIN, BY_JACOBIAN}),
        (lambda robot: robot.reference("forward_dynamics", Q, Q, Q), set()),  # calls M itself
        (lambda robot: dl.load("four_bar").mass_matrix([0.0, 0.0, 0.0]), set()),  # is no Robot
        (lambda robot: spatial.Ad(np.eye(4)), {AD}),
        (lambda robot: spatial.change_frame(np.eye(6), np.eye(4)), set()),  # calls Ad itself
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_calls_that_count(call, expected, before):
    """Also after calls that put a builtin in front of the method."""
    robot = dl.load("planar_2r")
    for _ in range(before):
        robot.mass_matrix(Q)
    assert ("mass_matrix" in robot.__dict__) == bool(before)
    with Recorder([PLAIN, BY_JACOBIAN, AD, LAGRANGIAN]).recording() as calls:
        call(robot)
    assert calls == expected


def ended(plugin, *arguments):
    """The exit status of a run in which all tests passed."""
    session = SimpleNamespace(
        config=SimpleNamespace(args=list(arguments)), exitstatus=pytest.ExitCode.OK
    )
    plugin.pytest_sessionfinish(session)
    return session.exitstatus


def test_a_run_fails_where_a_cited_test_does_not_call():
    rows = [(PLAIN, "a.py::test_one"), (AD, "a.py::test_one"), (AD, "a.py::test_two")]
    plugin = CitedTests(rows)
    assert ended(plugin) == pytest.ExitCode.OK  # none of them ran
    plugin.called["a.py::test_one"] |= {PLAIN}
    assert ended(plugin, "tests/a.py::test_one[x]") == pytest.ExitCode.OK  # one case of several
    assert ended(plugin) == pytest.ExitCode.TESTS_FAILED
    assert plugin.missing == [f"a.py::test_one does not call {AD}"]
    worker = SimpleNamespace(workeroutput={"called": {"a.py::test_one": [AD]}})
    plugin.pytest_testnodedown(worker)
    assert ended(plugin) == pytest.ExitCode.OK
