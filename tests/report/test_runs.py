"""Results shown: charts, figures, phase portraits, animations and pages of runs."""

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.errors import ParameterError, ShapeError, UnknownNameError
from dalembert.report import page
from dalembert.report.charts import run_charts
from dalembert.report.facts import describe
from dalembert.report.figures import animate
from dalembert.report.runs import open_run, robot_of, run_page


@pytest.fixture(scope="module")
def run():
    return dl.simulate(dl.load("rp"), [0.3, 0.5], [1.0, 0.0], duration=0.4, dt=0.02)


@pytest.fixture(scope="module")
def batch():
    starts = np.linspace(0.5, 2.5, 4)[:, None]
    return dl.simulate(dl.load("pendulum"), starts, np.zeros((4, 1)), duration=0.5, dt=0.01)


def labels(figure):
    return [axes.get_ylabel() for axes in figure.axes]


def test_every_unit_has_its_own_panel(run):
    figure = run.dl.plot(["q", "tau", "energy"])
    assert labels(figure) == ["q / rad", "q / m", "τ / N m", "τ / N", "energy / J"]
    assert figure.axes[-1].get_xlabel() == "time / s"
    curves = figure.axes[-1].get_legend().get_texts()
    names = [text.get_text() for text in curves]
    assert names == ["kinetic", "potential", "kinetic + potential", "work", "lost"]


def test_curves_are_the_run(run):
    (line,) = run.dl.plot("qd").axes[1].get_lines()
    np.testing.assert_array_equal(line.get_xdata(), run.time)
    np.testing.assert_array_equal(line.get_ydata(), run.qd[:, 1])


def test_what_constrained_systems_add_is_plotted(run):
    extra = run.assign(
        lam=(("time", "row"), np.zeros((run.sizes["time"], 2)), {"units": "N"}),
        residual=(
            "time",
            np.zeros(run.sizes["time"]),
            {"units": "m", "long_name": "residual of h"},
        ),
    )
    charts = run_charts(extra)
    assert charts["lam"][0].unit == "lam / N"
    assert [s.name for s in charts["lam"][0].series] == ["1", "2"]
    assert charts["residual"][0].title == "Residual of h"


def test_unknown_quantity_is_named(run):
    with pytest.raises(UnknownNameError, match=r"no 'force' to plot; it has: q, qd, tau, energy"):
        run.dl.plot(["force"])


def test_samples_of_a_batch(batch):
    (line,) = batch.dl.plot("q", sample=2).axes[0].get_lines()
    np.testing.assert_array_equal(line.get_ydata(), batch.q[:, 2, 0])
    with pytest.raises(ParameterError, match="sample 4: the run has 4 samples"):
        batch.dl.plot(sample=4)


def test_phase_portrait_shows_every_sample(batch, run):
    axes = batch.dl.phase().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("q / rad", "q̇ / rad/s")
    assert len(axes.get_lines()) == 2 * 4
    assert len(batch.dl.phase(sample=1).axes[0].get_lines()) == 2
    assert run.dl.phase("link2_joint").axes[0].get_xlabel() == "q / m"
    with pytest.raises(UnknownNameError, match="no joint is called 'link9'"):
        run.dl.phase("link9")


def test_animation_lasts_as_long_as_the_run(run, tmp_path):
    from PIL import Image

    path = run.dl.animate(tmp_path / "new" / "run.gif")
    with Image.open(path) as gif:
        assert gif.n_frames == 9
        first = np.asarray(gif.convert("RGB")).astype(int)
        gif.seek(8)
        last = np.asarray(gif.convert("RGB")).astype(int)
        assert gif.info["duration"] * 8 == 400
    assert (np.abs(first - last).max(axis=-1) > 40).mean() > 0.002


def test_animation_needs_a_row_per_time(tmp_path):
    with pytest.raises(ShapeError, match=r"q must be \(3, 2\)"):
        animate(dl.load("rp"), np.arange(3.0), np.zeros((3, 3)), tmp_path / "no.gif")


def as_of_0_1(run):
    """The run as 0.1 has stored it: without its model."""
    old = run.copy()
    old.attrs = {k: v for k, v in run.attrs.items() if k not in ("model", "model_content")}
    return old


def test_a_network_run_stored_by_0_1_still_opens(tmp_path):
    t, row = np.linspace(0.0, 0.2, 3), np.zeros((3, 2))
    fields = dict.fromkeys(("q", "qd", "tau"), (("time", "joint"), row))
    fields |= {"lambda": (("time", "row"), row), "residual": ("time", t), "energy": ("time", t)}
    facts = {"system": "n_four_bar", "status": "complete", "message": ""}
    xarray.Dataset(fields, {"time": t}, facts).to_netcdf(tmp_path / "run.nc", engine="scipy")
    assert {"q", "lambda", "energy"} <= set(run_charts(open_run(tmp_path / "run.nc")))


def test_a_run_with_a_damaged_model_is_not_drawn(run):
    text = run_page(run.assign_attrs(model="<script>"))
    assert '"scene":null' in text and "It is not drawn: the model in the run" in text


def test_a_run_of_an_unknown_system_needs_its_robot(run, tmp_path):
    other = as_of_0_1(run).assign_attrs(system="mine")
    assert robot_of(other) is None
    with pytest.raises(
        ParameterError, match="'mine' is not in the zoo, or not this model; give robot="
    ):
        other.dl.animate(tmp_path / "a.gif")
    assert '"scene":null' in run_page(other)
    assert '"scene":{' in run_page(other, dl.load("rp"))
    with pytest.raises(ParameterError, match="ur5 has 6 coordinates, the run has 2"):
        run_page(other, dl.load("ur5"))


def test_report_of_a_file(run, tmp_path):
    run.to_netcdf(tmp_path / "run.nc", engine="scipy")
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["report", str(tmp_path / "run.nc"), "--out", str(page)])
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip().endswith(f"Now open {page}")
    assert "Run of rp" in page.read_text(encoding="utf-8")


def test_files_that_are_no_runs(tmp_path):
    with pytest.raises(ParameterError, match="there is no file"):
        open_run(tmp_path / "none.nc")
    (tmp_path / "text.nc").write_text("not a run")
    with pytest.raises(ParameterError, match="cannot be read as a run"):
        open_run(tmp_path / "text.nc")
    xarray.Dataset({"x": 1.0}).to_netcdf(tmp_path / "x.nc", engine="scipy")
    with pytest.raises(ParameterError, match="it has no time, q, qd"):
        open_run(tmp_path / "x.nc")


def test_robot_option_is_for_runs(tmp_path):
    result = CliRunner().invoke(
        app, ["report", "rp", "--robot", "rp", "--out", str(tmp_path / "a")]
    )
    assert result.exit_code == 1
    assert "--robot is for runs" in result.stderr


def test_page_of_a_run_moves(open_page, run, tmp_path):
    page = open_page(run.dl.report(tmp_path / "run.html"), at=0.1)
    assert page.locator("#arm canvas").count() == 1
    assert page.locator(".chart").count() >= 5
    page.locator("#time").fill("0.4")
    assert page.locator("#now").text_content() == "0.40 s"


def test_page_without_a_robot_has_its_plots(open_page, run, tmp_path):
    page = open_page(
        as_of_0_1(run).assign_attrs(system="mine").dl.report(tmp_path / "run.html"), at=0.1
    )
    assert page.locator("#arm").count() == 0
    assert page.locator(".chart").count() >= 5


def test_constrained_runs_show_the_tree_that_is_held():
    linkage = dl.load("four_bar")
    start = linkage.assemble()
    run = dl.simulate(linkage, start, np.zeros(3), duration=0.1, dt=0.02)
    assert robot_of(run) == linkage.system
    assert {"lambda", "residual"} <= set(run_charts(run))
    assert run_charts(run)["lambda"][0].unit.startswith("λ")


def test_report_says_what_it_cannot_show(run, tmp_path):
    arguments = ["report", "run.nc", "--robot", "particle", "--out", str(tmp_path / "a.html")]
    run.to_netcdf(tmp_path / "run.nc", engine="scipy")
    arguments[1] = str(tmp_path / "run.nc")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "particle has no links to draw" in result.stderr


def test_every_system_has_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "SECONDS", 0.1)
    path = tmp_path / "four_bar.html"
    result = CliRunner().invoke(app, ["report", "four_bar", "--out", str(path)])
    assert result.exit_code == 0, result.output
    text = path.read_text()
    assert "3 coordinates, held by" in text and '"scene":{' in text


def test_a_run_without_its_robot_asks_for_it(run, tmp_path):
    as_of_0_1(run).assign_attrs(system="mine").to_netcdf(tmp_path / "run.nc", engine="scipy")
    arguments = ["report", str(tmp_path / "run.nc"), "--out", str(tmp_path / "b.html")]
    result = CliRunner().invoke(app, arguments)
    assert "Give --robot to see it move" in result.stdout


def test_a_run_of_a_model_with_other_numbers_is_not_drawn_as_the_zoos(tmp_path):
    long = dl.simulate(dl.load("pendulum", l=2.0), [0.3], [0.0], duration=0.1, dt=0.05)
    assert robot_of(long) == dl.load("pendulum", l=2.0) and '"scene":{' in run_page(long)
    long = as_of_0_1(long)
    assert robot_of(long) is None
    text = run_page(long)
    assert '"scene":null' in text and "made by another &#x27;pendulum&#x27;" in text
    assert '"scene":{' in run_page(long, dl.load("pendulum", l=2.0))
    assert "The robot drawn is not the" in run_page(long, dl.load("pendulum"))
    long.to_netcdf(tmp_path / "run.nc", engine="scipy")
    arguments = ["report", str(tmp_path / "run.nc"), "--out", str(tmp_path / "b.html")]
    assert "It was made by another" in CliRunner().invoke(app, arguments).stdout


def test_a_robot_named_like_one_of_the_zoo_is_not_the_zoos():
    arm = {"name": "a", "joint": {"type": "revolute"}, "mass": 1.0, "inertia": np.eye(3)}
    mine = dl.Robot.from_links([arm], name="pendulum")
    run = dl.simulate(mine, [0.3], [0.0], duration=0.1, dt=0.05)
    assert robot_of(run) == mine and robot_of(as_of_0_1(run)) is None
    assert describe(mine)["title"] is None
    assert describe(dl.load("pendulum"))["title"] is not None


def test_the_page_of_a_run_with_nan_leaves_the_arm_where_it_was(run):
    q = run.q.values.copy()
    q[5:9] = np.nan
    text = run_page(run.assign(q=(run.q.dims, q, run.q.attrs)))
    assert "NaN" not in text.split('id="data">')[1].split("</script>")[0]
    assert "At 4 of them a position is not finite" in text
    nowhere = run.assign(q=(run.q.dims, np.full_like(q, np.nan), run.q.attrs))
    assert '"scene":null' in run_page(nowhere)


@pytest.mark.parametrize("name", ["model_digest", "model_content", "system"])
def test_marks_that_are_lists_are_not_the_runs_robot_and_no_error(run, name):
    """Somebody else's file may hold anything under the names of ours."""
    assert "</html>" in run_page(run.assign_attrs({name: np.array([1.0, 2.0])}))


@pytest.mark.parametrize("change", ["time", "order", "words", "flat", "empty"])
def test_runs_that_are_none_are_refused(run, change):
    n = run.sizes["time"]
    damaged = {
        "time": lambda: run.assign_coords(time=np.full(n, np.nan)),
        "order": lambda: run.isel(time=slice(None, None, -1)),
        "words": lambda: run.assign(q=(run.q.dims, run.q.values.astype(str))),
        "flat": lambda: run.assign(q=("time", np.zeros(n))),
        "empty": lambda: run.isel(time=slice(0)),
    }[change]()
    with pytest.raises(ParameterError, match="the run's"):
        run_page(damaged)
