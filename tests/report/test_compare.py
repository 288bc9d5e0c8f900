"""`dl.compare`: every formulation of every system at one state, and the growth of operations."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert import zoo
from dalembert.cli.app import app
from dalembert.errors import DalembertError, FormulationError, ShapeError, UnknownNameError
from dalembert.formulations import names
from dalembert.report.growth import growth_chart, operations_by_size
from tests.constraints.test_udwadia_kalaba import two_masses

SPARSE = ("n_four_bar",)  # one method, on numbers
CLOSED = [name for name in zoo.mechanisms() if name not in SPARSE]


def state_of(system, seed=0):
    rng = np.random.default_rng(seed)
    q, qd, qdd = system.random_state(rng)
    return q, qd, rng.normal(size=system.nv), qdd


@pytest.mark.parametrize("name", CLOSED)
def test_every_route_of_every_constrained_system(name):
    """1e-12 times the condition of M, beside the parts of the sum before they cancel."""
    system = dl.load(name)
    q, qd, tau, _ = state_of(system)
    is_small = system.nv <= 6
    result = dl.compare(system, q, qd, tau, operations=is_small)
    routes = system.dynamics.quantity("forward_dynamics").formulations
    assert [entry.formulation for entry in result.entries] == [f.name for f in routes]
    assert result.disagreement < 1e-12 * max(1.0, result.condition[0])
    for entry in result.entries:
        assert (entry.operations is not None) == is_small
        balance = system.mass_matrix(q) @ entry.values + system.bias(q, qd) + entry.force - tau
        balance -= system.generalized_forces(q, qd)
        assert np.abs(balance).max() < 1e-9 * max(1.0, np.abs(entry.force).max())


def test_a_tree_has_forward_and_inverse_dynamics():
    robot = dl.load("ur5")
    q, qd, tau, qdd = state_of(robot)
    result = dl.compare(robot, q, qd, tau, qdd)
    for quantity in ("forward_dynamics", "inverse_dynamics"):
        own = [x.formulation for x in result.entries if x.quantity == quantity]
        assert own == list(names(quantity))
    assert result.disagreement < 1e-12 * result.condition[0]
    np.testing.assert_allclose(
        result["gibbs_appell"].values, robot.inverse_dynamics(q, qd, qdd), rtol=1e-11, atol=1e-12
    )
    expected = robot.operation_count("inverse_dynamics", "gibbs_appell")
    assert result["gibbs_appell"].operations == expected
    # without q̈, inverse dynamics takes that of forward dynamics and gives τ back
    again = dl.compare(robot, q, qd, tau)
    np.testing.assert_allclose(again["newton_euler"].values, tau, atol=1e-9)


def test_it_is_a_table():
    system = dl.load("four_bar")
    q, qd, tau, _ = state_of(system)
    result = dl.compare(system, q, qd, tau)
    lines = str(result).splitlines()
    assert lines[0].split()[:2] == ["quantity", "formulation"]
    assert lines[1].startswith("forward dynamics  multiplier") and "Aᵀλ = [" in lines[1]
    assert lines[-1].startswith("four_bar: cond M = ")
    assert result._repr_html_().count("<tr>") == len(result.entries) + 1
    table = result.to_dataframe()
    assert table.loc[("forward_dynamics", "gauge"), "total"] == result["gauge"].operations.total
    with pytest.raises(UnknownNameError, match="did you mean 'gauge'"):
        result["gaug"]
    assert list(table.index.names) == ["quantity", "formulation"]


def test_a_wrong_route_is_noticed(monkeypatch):
    from dalembert.constraints import gauge

    def wrong(rows):
        V = np.linalg.qr(rows.T)[0]
        return 1.0001 * V

    monkeypatch.setattr(gauge, "gram_schmidt", wrong)
    system = dl.load("four_bar")
    q, qd, tau, _ = state_of(system)
    result = dl.compare(system, q, qd, tau, operations=False)
    assert result.disagreement == result["gauge"].difference > 1e-8


def test_a_wrong_force_of_constraints_is_noticed(monkeypatch):
    from dalembert.constraints import elimination

    right = elimination.spread
    monkeypatch.setattr(elimination, "spread", lambda *args: 1.001 * right(*args))
    system = dl.load("four_bar")
    q, qd, tau, _ = state_of(system)
    result = dl.compare(system, q, qd, tau)
    np.testing.assert_allclose(result["elimination"].values, result["multiplier"].values)
    assert result["elimination"].difference > 1e-5


def test_what_has_no_result_says_why():
    carts = two_masses(lambda q: q[1] - q[0] - 0.5)
    result = dl.compare(carts, [0.1, 0.6, 0.2], np.zeros(3))
    assert result["multiplier"].values is None and result["udwadia_kalaba"].values is not None
    (note,) = result.notes
    assert note.startswith("multiplier, elimination") and "M(q) is singular" in note
    with pytest.raises(ShapeError, match=r"qd must have shape \(3,\), one state, got \(2,\)"):
        dl.compare(dl.load("four_bar"), np.zeros(3), np.zeros(2))
    with pytest.raises(FormulationError, match="solved sparsely"):
        dl.compare(dl.load("n_four_bar", N=2), np.zeros(5), np.zeros(5))


def test_the_command_prints_the_table():
    done = CliRunner().invoke(app, ["compare", "four_bar", "--qd", "0,0,0"])
    assert done.exit_code == 0
    assert "udwadia_kalaba" in done.output and "largest disagreement" in done.output
    facts = json.loads(CliRunner().invoke(app, ["compare", "pendulum", "--json"]).output)
    assert facts["disagreement"] < 1e-12 and len(facts["entries"]) == 20
    counted = CliRunner().invoke(app, ["count", "four_bar"])
    assert counted.exit_code == 0 and "udwadia_kalaba" in counted.output


def test_growth_is_that_of_the_counts(tmp_path):
    counts = operations_by_size("closed", [4, 6])
    chain = dl.load("four_bar").dynamics.quantity("forward_dynamics").formulations
    assert list(counts) == [f.name for f in chain]
    assert all(each[6] > each[4] > 0 for each in counts.values())
    assert counts["udwadia_kalaba"][6] > counts["multiplier"][6]
    with pytest.raises(DalembertError, match="from n = 4 on"):
        operations_by_size("closed", [2, 3])
    figure = growth_chart("mass_matrix", [2, 3, 5], tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 10_000
    labels = {text.get_text() for text in figure.axes[0].texts}
    assert labels == set(names("mass_matrix"))
    with pytest.raises(DalembertError, match="no picture ends in"):
        growth_chart("mass_matrix", [2, 3], tmp_path / "growth.xyz")
