"""The numbers of a study against runs made one by one, and those of runs that failed."""

import numpy as np
import pytest
import xarray

import dalembert as dl
from dalembert.errors import SettingError
from dalembert.sweeps.reductions import settling_time
from dalembert.systems.controller import function_digest
from tests.sweeps.studies import arm, settings


@pytest.mark.parametrize("kind", ["grid", "list", "random", "sobol"])
def test_every_row_of_every_design_is_the_run_of_its_coordinates(kind):
    over = {"kp": [50.0, 80.0], "load": [2.0, 0.5], "q0": [[0.0, 0.1], [0.2, 0.3]], "kd": [9, 4.0]}
    if kind in ("random", "sobol"):
        over = {name: tuple(map(np.asarray, ends)) for name, ends in over.items()}
        result = dl.sweep(arm(), over, settings(), chunk=3, design=kind, runs=5)
    else:
        result = dl.sweep(arm(), over, settings(), chunk=3, design=kind)
    assert result.sizes["run"] == {"grid": 16, "list": 2}.get(kind, 5)
    for k in range(0, result.sizes["run"], 4):
        row = result.isel(run=k)
        controller = dl.control.PDGravity(
            dl.load("planar_2r"), [0.4, 0.5], float(row.kp), float(row.kd)
        )
        options = settings(
            tau=controller, q0=row.q0.values[None], parameters={"load": float(row["load"])}
        )
        np.testing.assert_array_equal(row.q, dl.simulate(arm(), **options).q.isel(sample=0))


def test_settling_times_are_those_of_a_loop_and_a_joint_at_rest_has_none():
    """The second joint stays where it is but for rounding; the last saved step is a shorter one."""
    controller = dl.control.PDGravity(dl.load("planar_2r"), [0.4, 0.1], 400.0, 40.0)
    options = settings(tau=controller, duration=0.4, save_every=7)
    whole, result = (
        dl.sweep(arm(), {"load": [0.0, 1.0]}, options, r) for r in (None, "settling_time")
    )
    for k, q in enumerate(whole.q.values):
        off = abs(q - q[-1])
        late = max(np.flatnonzero(x > 0.02 * x.max()).max() for x in off.T if x.max() > 1e-7)
        assert result.settling_time.values[k] == whole.time.values[late + 1]
    noise = whole.isel(run=0).q.isel(joint=1).copy()
    noise[:] = 0.1 + 1e-16 * np.arange(len(noise))
    still = whole.copy()
    still["q"] = still.q.where(still.joint == "joint1", noise)
    run = still.rename(run="sample").transpose("time", "sample", ...)
    only = run.isel(joint=[0])
    np.testing.assert_array_equal(settling_time(run), settling_time(only))


def test_numbers_of_runs_that_failed_are_unknown():
    over = {"qd0": [[1.0, 0.0], [1e12, -1e12]]}
    study = (dl.load("planar_2r"), over, {"duration": 0.01, "dt": 1e-3})
    result = dl.sweep(*study, {"settling_time": "settling_time", "fast": fast, "steps": steps})
    assert result.status.values.tolist() == [0, 1] and np.isnan(result.settling_time.values[1])
    assert np.isnan(result.fast.values[1]) and result.steps.values.tolist() == [11, -1]


def fast(run):
    return abs(run.qd).max(("time", "joint"))  # leaves NaN out


def steps(run):
    return run.q.isel(joint=0).size // run.sizes["sample"] + 0 * run.sample.astype(int)


def test_a_reduction_that_changes_its_kind_is_refused(tmp_path):
    def odd(run):
        many = 2 if float(run.q.isel(time=0, sample=0, joint=0)) > 0.1 else 1
        return run.q.isel(time=-1).values[:, :many]

    study = (arm(), {"q0.joint1": [0.0, 0.2]}, settings(), odd)
    for store in (None, tmp_path / "s.zarr"):
        with pytest.raises(
            SettingError, match=r"'odd' gave float64\(1,\).*float64\(2,\) for later"
        ):
            dl.sweep(*study, store, chunk=1)


def test_single_precision_stays_beside_a_start_that_is_refused():
    study = (dl.load("pendulum_constrained"), {"q0": [[0.0, -1.2], [0.0, -1.0]]})
    result = dl.sweep(*study, {"duration": 0.01, "dt": 1e-3}, {"last": last_single}, chunk=2)
    assert result.last.dtype == np.float32 and np.isnan(result.last.values[0]).all()


def last_single(run):
    return run.q.isel(time=-1).astype(np.float32)


def test_a_reduction_whose_labels_change_is_refused(tmp_path):
    def odd(run):
        late = float(run.q.isel(time=0, sample=0, joint=0)) > 0.1
        return run.q.isel(time=-1, joint=[1, 0] if late else [0, 1])

    study = (arm(), {"q0.joint1": [0.0, 0.2]}, settings(), odd)
    for store in (None, tmp_path / "s.zarr"):
        with pytest.raises(
            SettingError, match=r"entries of 'joint'.*joint1.*must be the same for all"
        ):
            dl.sweep(*study, store, chunk=1)


def test_reductions_that_close_over_named_arrays_are_told_apart():
    def swept(values):
        target = xarray.DataArray(values, dims="joint")
        return lambda run: abs(run.q - target).max("time")

    one, same, other = map(swept, ([0.1, 0.2], [0.1, 0.2], [0.1, 0.3]))
    assert function_digest(one) == function_digest(same) != function_digest(other)
