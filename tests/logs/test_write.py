"""The head of a table of a motion: every column is read again as what it is."""

import pytest

import dalembert as dl
from dalembert.logs.columns import match_columns
from dalembert.logs.tables import run_header
from dalembert.report.live import empty_run
from dalembert.simulation.results import blank
from tests.systems.test_interface import floating


def test_a_robot_that_floats_has_a_column_for_each_coordinate():
    """Its q has one entry more than it has velocities, and a quaternion has no unit."""
    robot = floating()
    head = run_header(blank(robot.dynamics, {}))
    assert len(head) == 1 + robot.nq + 2 * robot.nv
    columns = match_columns(head, robot)
    assert [len(columns.entries[name]) for name in ("q", "qd", "tau")] == [robot.nq, 7, 7]


@pytest.mark.parametrize("name", ["four_bar", "two_bars", "rolling_disk"])
def test_the_table_of_a_page_is_understood(name):
    """Velocities have names of their own, and coordinates without units no brackets."""
    system = dl.load(name).compiled
    head = empty_run(system, system)["table"].split(",")
    columns = match_columns(head, system, others="ignore")
    assert columns.ignored == ("kinetic [J]", "potential [J]", "work [J]")
    sizes = [len(columns.entries[one]) for one in ("q", "qd", "tau")]
    assert sizes == [system.nq, system.nv, system.nv]
