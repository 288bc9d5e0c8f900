"""Units that a netCDF, Zarr or xarray field has in its attributes."""

import numpy as np
import pytest
import xarray

import dalembert as dl
from dalembert.errors import TrajectoryError
from dalembert.identification.preparation import load_logs

T = np.linspace(0.0, 1.0, 51)


def field(values, unit):
    return ("time", "joint"), values, {"units": unit}


def written(arm, q_unit="deg", t_unit="ms", tau_unit="mN m"):
    """q = (sin t, cos t), τ = q in N m, in degrees, milliseconds and mN m."""
    q = np.stack([np.sin(T), np.cos(T)], axis=1)
    time = ("time", 1e3 * T, {"units": t_unit})
    fields = {"q": field(np.rad2deg(q), q_unit), "tau": field(1e3 * q, tau_unit)}
    return xarray.Dataset(fields, {"time": time, "joint": list(arm.dynamics.velocities)})


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar_2r")


@pytest.mark.parametrize("kind", ["memory", "netcdf", "zarr"])
def test_units_of_fields_are_read(arm, tmp_path, kind):
    log = written(arm)
    if kind == "netcdf":
        log.to_netcdf(tmp_path / "log.nc")
        log = tmp_path / "log.nc"
    elif kind == "zarr":
        pytest.importorskip("zarr")
        log.to_zarr(tmp_path / "log.zarr", zarr_format=2)
        log = tmp_path / "log.zarr"
    result = dl.read_log(log, arm)
    np.testing.assert_allclose(result.time, T, atol=1e-15)
    np.testing.assert_allclose(result.q[:, 0], np.sin(T), atol=1e-14)
    np.testing.assert_allclose(result.tau[:, 1], np.cos(T), atol=1e-14)
    assert "0.0174533" in result.attrs["preparation"]


def test_units_that_are_stated_come_before_those_of_the_file(arm):
    result = dl.read_log(written(arm, q_unit="furlong"), arm, units={"q": "deg"})
    np.testing.assert_allclose(result.q[:, 0], np.sin(T), atol=1e-14)
    with pytest.raises(TrajectoryError, match="unit 'furlong' is none of rad, deg"):
        dl.read_log(written(arm, q_unit="furlong"), arm)
    with pytest.raises(TrajectoryError, match="2 columns, and its attribute units has 3"):
        dl.read_log(written(arm, q_unit="deg, deg, m"), arm)


def test_times_of_a_calendar_count_from_their_start(arm):
    result = dl.read_log(written(arm, t_unit="milliseconds since 2024-05-01"), arm)
    np.testing.assert_allclose(result.time, T, atol=1e-15)


def test_a_run_that_was_stored_is_read_as_it_was(arm, tmp_path):
    before = dl.read_log(written(arm), arm)
    dl.read_log(before, arm)  # units "rad", "rad/s²", "N m", "s"
    scara = dl.load("scara")  # "rad, rad, rad, m"
    values = np.outer(T, np.ones(4))
    plain = dl.read_log(
        {"time": T} | dict(zip(scara.dynamics.coordinates, values.T, strict=True)), scara
    )
    np.testing.assert_allclose(dl.read_log(plain, scara).q, values, atol=1e-14)


def test_a_dataset_that_is_identified_is_in_its_units(arm):
    (log,) = load_logs(arm, written(arm))
    np.testing.assert_allclose(log.time, T, atol=1e-15)
    np.testing.assert_allclose(log.q[:, 0], np.sin(T), atol=1e-14)
    np.testing.assert_allclose(log.tau[:, 1], np.cos(T), atol=1e-14)
    (again,) = load_logs(arm, log)
    np.testing.assert_array_equal(again.q, log.q)
