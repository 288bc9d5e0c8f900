"""Studies: designs, what is kept, and that nothing is lost and nothing computed twice."""

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import dalembert as dl
from dalembert.errors import SettingError, ShapeError, SimulationError, UnknownNameError
from dalembert.sweeps.checksums import ChecksumManifest
from dalembert.sweeps.design import Varied, design
from dalembert.sweeps.sweeping import compute
from tests.sweeps import studies
from tests.sweeps.studies import OVER, REDUCE, arm, same, settings

ROOT = Path(__file__).parents[2]
BY_SIX = {"chunk": 3}  # twelve runs in four chunks


@pytest.fixture
def count(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTED", str(tmp_path / "counted"))
    return studies.calls


# designs


def test_a_grid_has_every_combination_and_a_list_its_rows():
    grid = design({"a": [1.0, 2.0], "b": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]})
    assert grid.columns["a"].tolist() == [1, 1, 1, 2, 2, 2]
    assert grid.columns["b"].shape == (6, 2) and grid.columns["b"][4].tolist() == [2.0, 3.0]
    listed = design({"a": [1.0, 2.0], "b": [3.0, 4.0]}, "list")
    assert [row.tolist() for row in listed.columns.values()] == [[1, 2], [3, 4]]


@pytest.mark.parametrize("kind", ["random", "sobol", "halton", "latin"])
def test_spread_designs_fill_their_intervals_and_are_the_same_again(kind):
    over = {"a": (1.0, 3.0), "q0": ([-1.0, 0.0], [1.0, 0.5]), "m": stats.norm(5.0, 0.1)}
    grid, again = (design(over, kind, 200, seed=7) for _ in range(2))
    other = design(over, kind, 200, seed=8)
    assert grid.columns["q0"].shape == (200, 2) and grid.runs == 200
    assert abs(grid.columns["a"].mean() - 2.0) < 0.15 and grid.columns["a"].min() >= 1.0
    assert grid.columns["q0"][:, 1].max() <= 0.5 and abs(grid.columns["m"].mean() - 5.0) < 0.05
    for name, column in grid.columns.items():
        assert np.array_equal(column, again.columns[name])
        assert not np.array_equal(column, other.columns[name])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"over": {"loaf": [1.0]}}, UnknownNameError, "'loaf'.*did you mean 'load'"),
        ({"over": {"q0.elbow": [1.0]}}, UnknownNameError, "q0.elbow.*joint1, joint2"),
        ({"over": {"kp": [[1.0, 2.0, 3.0]]}}, ShapeError, r"'kp'.*shape \(3,\)"),
        ({"over": {"load": [np.nan]}}, SettingError, "'load'.*finite"),
        ({"over": {"load": ["a"]}}, SettingError, "'load'.*numbers"),
        ({"over": {}}, SettingError, "names nothing to vary"),
        ({"over": {"load": [1, 2], "kp": [1.0]}, "design": "list"}, SettingError, "load 2, kp 1"),
        ({"design": "sobolev"}, UnknownNameError, "did you mean 'sobol'"),
        ({"design": "random"}, SettingError, "needs runs="),
        ({"over": {"load": 1.0}, "design": "random", "runs": 3}, SettingError, "low, high"),
        ({"runs": 3}, SettingError, "counts by itself"),
        ({"simulate": {"dt": 1e-3}}, SettingError, "needs a duration"),
        ({"simulate": {"durations": 1.0}}, SettingError, "did you mean 'duration'"),
        ({"reduce": "peak"}, UnknownNameError, "no reduction 'peak'"),
        ({"reduce": lambda run: 1.0}, SettingError, "a row for each"),
        ({"over": {"kp": [1.0], "gains.kp": [2.0]}}, SettingError, "'kp' and as 'gains.kp'"),
        ({"over": {"q0.joint1": [1.0], "q0": [[0, 0]]}}, SettingError, "'q0.joint1' and as 'q0'"),
        ({"over": {"tau": [[0.0, 0.0]]}}, SettingError, "varies tau, but simulate= gives it as PD"),
        (
            {"over": {"load": [[1.0], [2.0]]}},
            ShapeError,
            r"'load'.*shape \(1,\), expected a number",
        ),
        ({"over": {"q0": [0.1, 0.2]}}, ShapeError, r"q0 of robot has the shape \(1,\), expected"),
        ({"simulate": settings(tau=np.ones((3, 2)))}, ShapeError, "'tau'.*row for each run.*over="),
        ({"simulate": settings(parameters={"load": np.ones(3)})}, ShapeError, "'parameters'.*row"),
        ({"processes": 0}, SettingError, "positive whole number"),
        ({"chunk": 0}, SettingError, "positive whole number"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(change, error, message):
    options = {"over": OVER, "simulate": settings(), "reduce": REDUCE, **change}
    with pytest.raises(error, match=message):
        dl.sweep(arm(), **options)


# results


def test_runs_are_those_of_simulate_with_the_design_as_coordinates():
    result = dl.sweep(arm(), OVER, settings())
    assert result.q.dims == ("run", "time", "joint") and result.sizes["run"] == 12
    assert result.joint.values.tolist() == ["joint1", "joint2"] and result.q.attrs["units"] == "rad"
    for k in (0, 7):
        row = result.isel(run=k)
        controller = dl.control.PDGravity(dl.load("planar_2r"), [0.4, 0.5], float(row.kp), 10.0)
        values = {name: float(row[name]) for name in ("load", "friction")}
        rest = {**settings(tau=controller), "q0": [[0.0, 0.1]], "parameters": values}
        alone = dl.simulate(arm(), **rest)
        for name in ("q", "qd", "tau", "work"):
            np.testing.assert_array_equal(row[name], alone[name].isel(sample=0))


def test_reductions_are_those_of_the_trajectories():
    whole = dl.sweep(arm(), OVER, settings())

    def fastest(run):
        return abs(run.qd).max(("time", "joint"))

    names = ["peak_torque", "peak_velocity", "settling_time", "work", "energy", "last_state"]
    result = dl.sweep(arm(), OVER, settings(), [*names, fastest], chunk=5)
    np.testing.assert_array_equal(result.peak_torque, abs(whole.tau).max("time"))
    np.testing.assert_array_equal(result.last_q, whole.q[:, -1])
    np.testing.assert_array_equal(result.work, whole.work[:, -1])
    np.testing.assert_array_equal(result.energy, (whole.kinetic + whole.potential)[:, -1])
    np.testing.assert_array_equal(result.fastest, abs(whole.qd).max(("time", "joint")))
    assert ((result.settling_time > 0.0) & (result.settling_time <= 0.02)).all()
    assert "time" not in result.sizes


def test_a_name_that_a_result_has_is_refused_and_the_long_name_is_not():
    own = {"kp": lambda run: run.qd.isel(time=-1, joint=0)}
    with pytest.raises(SettingError, match=r"'kp'.*name of something in the result.*'gains.kp'"):
        dl.sweep(arm(), {"kp": [1.0, 2.0]}, settings(), own)
    result = dl.sweep(arm(), {"gains.kp": [1.0, 2.0]}, settings(), own)
    assert result["gains.kp"].values.tolist() == [1.0, 2.0] and result.kp.dims == ("run",)


def test_single_precision_stays():
    start = np.array([0.0, 0.1], dtype=np.float32)
    result = dl.sweep(arm(), OVER, settings(q0=start))
    double = dl.sweep(arm(), OVER, settings())
    assert all(result[name].dtype == np.float32 for name in ("q", "qd", "tau", "work", "kinetic"))
    assert 0.0 < float(abs(result.q - double.q).max()) < 1e-6
    reduced = dl.sweep(arm(), OVER, settings(q0=start), REDUCE)
    assert reduced.peak_torque.dtype == reduced.last_q.dtype == np.float32
    varied = {"q0": np.array([[0.0, 0.1], [0.2, 0.1]], dtype=np.float32)}
    assert dl.sweep(arm(), varied, settings(q0=None), "last_state").last_q.dtype == np.float32


def test_a_velocity_that_nobody_gives_is_left_to_simulate():
    """A driven mechanism starts with the velocity of its drivers."""
    rows = {"load": np.zeros(3)}
    inputs = Varied(arm(), {"duration": 1.0}, ("load",)).inputs(rows)
    assert "qd0" not in inputs and inputs["q0"].shape == (3, 2)


def test_first_states_torques_and_their_entries_vary():
    over = {"q0": [[0.0, 0.0], [0.3, 0.1]], "qd0.joint2": [0.0, 1.0], "tau.joint1": [0.0, 5.0]}
    result = dl.sweep(arm(), over, {"duration": 0.01, "dt": 1e-3})
    assert result.sizes["run"] == 8 and result["q0"].dims == ("run", "q0_1")
    assert result.q.values[7, 0].tolist() == [0.3, 0.1]
    assert result.qd.values[2, 0].tolist() == [0.0, 1.0]
    assert result.tau.values[1, 0].tolist() == [5.0, 0.0]


class Remembering:
    """A digital law with a memory and without a reset: the sum of what it has seen."""

    def __init__(self):
        self.sum = 0.0

    def __call__(self, t, q, qd):
        self.sum = self.sum + q
        return -10.0 * q - self.sum


def test_digital_laws_have_gains_for_each_run_and_a_memory_for_each_chunk():
    sampled = settings(control_dt=2e-3)
    result = dl.sweep(arm(), OVER, sampled, "last_state", chunk=5)
    row = result.isel(run=3)
    controller = dl.control.PDGravity(dl.load("planar_2r"), [0.4, 0.5], float(row.kp), 10.0)
    values = {name: float(row[name]) for name in ("load", "friction")}
    rest = {**sampled, "tau": controller, "q0": [[0.0, 0.1]], "parameters": values}
    np.testing.assert_array_equal(row.last_q, dl.simulate(arm(), **rest).q[-1, 0])
    own = settings(tau=Remembering(), control_dt=2e-3)
    pieces, whole = (
        dl.sweep(arm(), {"load": [0.0, 1.0, 2.0]}, own, "last_state", chunk=n) for n in (1, 3)
    )
    np.testing.assert_array_equal(pieces.last_q, whole.last_q)


def test_runs_that_all_end_early_are_filled_up(tmp_path):
    over = {"qd0": [[1.0, 0.0], [1e12, -1e12], [1e12, 1e11]]}
    study = (dl.load("planar_2r"), over, {"duration": 0.01, "dt": 1e-3})
    for more in ({}, {"store": tmp_path / "s.zarr"}):
        result = dl.sweep(*study, chunk=1, **more)
        assert result.status.values.tolist() == [0, 1, 1]
        assert result.q.shape == (3, 11, 2) and np.isnan(result.q.values[1:, -1]).all()


def test_a_run_that_fails_is_flagged_and_the_others_are_not_lost():
    over = {"qd0": [[0.0, 0.0], [1e12, -1e12], [1.0, 0.0]]}
    result = dl.sweep(dl.load("planar_2r"), over, {"duration": 0.01, "dt": 1e-3}, "last_state")
    assert result.status.values.tolist() == [0, 1, 0]
    assert result.failed_run.values.tolist() == [1] and "after t = 0 s" in result.reason.values[0]
    assert np.isfinite(result.last_q.values[[0, 2]]).all()


def test_a_start_that_is_refused_is_flagged_with_its_reason(tmp_path):
    closed = dl.load("pendulum_constrained")
    over = {"q0": [[0.0, -1.0], [0.0, -1.2], [0.6, -0.8], [1.0, 0.0]]}
    study = (closed, over, {"duration": 0.01, "dt": 1e-3}, ["last_state"])
    result = dl.sweep(*study)
    assert result.status.values.tolist() == [0, 2, 0, 0]
    assert "q0 misses the constraints" in result.reason.values[0]
    assert np.isnan(result.last_q.values[1]).all() and np.isfinite(result.last_q.values[2:]).all()
    stored = dl.sweep(*study, store=tmp_path / "s.zarr", chunk=1)
    np.testing.assert_array_equal(stored.last_q, result.last_q)
    assert stored.reason.values.tolist() == result.reason.values.tolist()
    with pytest.raises(SimulationError, match=r"no run of the sweep was possible.*q0 misses"):
        dl.sweep(closed, {"q0": [[0.0, -1.2], [0.0, 2.0]]}, {"duration": 0.01}, ["last_state"])


# stores


@pytest.mark.parametrize("reduce", [REDUCE, None])
def test_a_store_holds_what_memory_does(tmp_path, reduce):
    pytest.importorskip("zarr")
    stored = dl.sweep(arm(), OVER, settings(), reduce, store=tmp_path / "s.zarr", **BY_SIX)
    assert same(stored, dl.sweep(arm(), OVER, settings(), reduce, **BY_SIX))
    assert [*stored.data_vars] == [*dl.sweep(arm(), OVER, settings(), reduce).data_vars]


def test_what_is_done_is_not_computed_again(tmp_path, count):
    store = tmp_path / "s.zarr"
    with pytest.raises(RuntimeError, match="the power went off"):
        dl.sweep(arm(), OVER, settings(), {"speed": studies.failing}, store=store, chunk=2)
    assert count() == 4  # three were finished
    result = dl.sweep(arm(), OVER, settings(), {"speed": studies.failing}, store=store, chunk=2)
    assert count() == 7
    again = dl.sweep(arm(), OVER, settings(), {"speed": studies.failing}, store=store, chunk=2)
    assert count() == 7 and same(result, again)
    whole = dl.sweep(arm(), OVER, settings(), {"speed": studies.counted}, chunk=2)
    np.testing.assert_array_equal(result.speed, whole.speed)


def test_what_was_done_before_ctrl_c_is_kept(tmp_path, count):
    study = (arm(), OVER, settings(), {"speed": studies.interrupted}, tmp_path / "s.zarr")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            dl.sweep(*study, chunk=2)
    finally:
        signal.signal(signal.SIGINT, before)
    dl.sweep(*study, chunk=2)
    assert count() == 7


def test_a_full_disk_is_said_and_gone_on_after(tmp_path, count, monkeypatch):
    study = (arm(), OVER, settings(), {"speed": studies.counted}, tmp_path / "s.zarr")

    def full(self, name, *others):
        if name == "chunk-00000003":
            raise OSError(28, "No space left on device")
        return write(self, name, *others)

    write = ChecksumManifest.write
    with monkeypatch.context() as patched:
        patched.setattr(ChecksumManifest, "write", full)
        with pytest.raises(SimulationError, match=r"s\.zarr' cannot be written: No space left"):
            dl.sweep(*study, chunk=2)
    dl.sweep(*study, chunk=2)
    assert count() == 4 + 3


def test_a_driver_that_was_killed_goes_on_where_it_was(tmp_path, count):
    store = tmp_path / "s.zarr"
    text = (
        "import sys, dalembert as dl; from tests.sweeps.studies import *; "
        "dl.sweep(arm(), OVER, settings(), {'speed': dying}, store=sys.argv[1], chunk=2)"
    )
    ended = subprocess.run([sys.executable, "-c", text, str(store)], cwd=ROOT)
    assert ended.returncode == -9 and count() == 4
    result = dl.sweep(arm(), OVER, settings(), {"speed": studies.dying}, store=store, chunk=2)
    assert count() == 7 and not (result.status.values < 0).any()
    whole = dl.sweep(arm(), OVER, settings(), {"speed": studies.counted}, chunk=2)
    np.testing.assert_array_equal(result.speed, whole.speed)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"over": {"load": OVER["load"], "kp": [50.0, 81.0]}}, "design"),
        ({"simulate": settings(dt=1e-3)}, "simulate"),
        ({"simulate": settings(q0=[0.0, 0.2])}, "start"),
        ({"reduce": ["work"]}, "reduce"),
        ({"chunk": 4}, "chunk"),
        ({"system": None}, "model"),
        ({"simulate": settings(q0=np.float32([0.0, 0.1]))}, "start"),
        ({"simulate": settings(q0=None, qd0=[0.0, 0.1])}, "start"),
        ({"simulate": settings(parameters={"friction": 0.1 + 1e-12})}, "parameters"),
        ({"reduce": {"speed": partial(studies.fastest_of, joint=1)}}, "reduce"),
        ({"version": "0.0.1"}, "dalembert"),
    ],
)
def test_a_store_of_another_study_is_refused_with_what_differs(tmp_path, monkeypatch, change, what):
    reduce = {"speed": partial(studies.fastest_of, joint=0)}
    over = {name: OVER[name] for name in ("load", "kp")}
    study = {"system": arm(), "over": over, "simulate": settings(), "reduce": reduce, **BY_SIX}
    dl.sweep(**study, store=tmp_path / "s.zarr")
    if "system" in change:
        change = {"system": arm().with_gravity((0, -1.62, 0))}
    if "version" in change:
        monkeypatch.setattr("dalembert.sweeps.study.__version__", change["version"])
        change = {}
    with pytest.raises(SimulationError, match=f"holds another study: {what} was"):
        dl.sweep(**study | change, store=tmp_path / "s.zarr")


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SimulationError, match="is no store of a sweep"):
        dl.sweep(arm(), OVER, settings(), REDUCE, store=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_study_is_told_by_its_store(tmp_path):
    result = dl.sweep(arm(), OVER, settings(), REDUCE, store=tmp_path / "s.zarr")
    identity = json.loads(result.attrs["study"])
    assert identity["model"] == arm().dynamics.content and identity["runs"] == 12


# processes


def test_processes_give_the_same_bits_though_one_is_killed(tmp_path, count):
    result = dl.sweep(
        arm(), OVER, settings(), {"speed": studies.dying}, tmp_path / "s.zarr", chunk=2, processes=2
    )
    alone = dl.sweep(arm(), OVER, settings(), {"speed": studies.counted}, chunk=2)
    np.testing.assert_array_equal(result.speed, alone.speed)
    np.testing.assert_array_equal(result.status, alone.status)


def test_functions_of_a_script_reach_workers_that_cannot_import_it(tmp_path):
    pytest.importorskip("cloudpickle")
    text = (
        "import sys, pathlib; from tests.sweeps.studies import *\n"
        "from dalembert.sweeps.sweeping import _pickled\n"
        "from dalembert.sweeps.sweeping import create_study\n"
        "def mine(run):\n    return abs(run.qd).max(('time', 'joint'))\n"
        "study = create_study(arm(), OVER, settings(), mine, 'grid', None, 0, None)\n"
        "pathlib.Path(sys.argv[1]).write_bytes(_pickled(study.work))\n"
    )
    path = tmp_path / "work"
    subprocess.run([sys.executable, "-c", text, str(path)], cwd=ROOT, check=True)
    rows = {name: np.array(values[:1]) for name, values in OVER.items()}
    chunk = compute(path.read_bytes(), 0, rows)
    assert chunk.arrays["mine"].shape == (1,) and not chunk.status.any()
