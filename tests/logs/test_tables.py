"""Logs from every kind of source: the same bits from all, and files that are none are named."""

import warnings

import numpy as np
import pandas
import pytest
import xarray

import dalembert as dl
from dalembert.errors import SettingError, TrajectoryError
from dalembert.logs import tables

T = np.linspace(0.0, 2.0, 201)
SWING = np.column_stack([np.sin(1.5 * T), 0.5 * np.cos(T)])
TAU = np.column_stack([np.cos(3.0 * T), np.sin(2.0 * T) / 3.0])
NAMES = ["time", "q1", "q2", "tau1", "tau2"]
VALUES = np.column_stack([T, SWING, TAU])
FRAME = pandas.DataFrame(VALUES, columns=NAMES)


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar_2r")


def csv(folder):
    np.savetxt(folder / "a.csv", VALUES, delimiter=",", header=",".join(NAMES), comments="")
    return folder / "a.csv"


def parquet(folder):
    FRAME.to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def archive(folder):
    np.savez(folder / "a.npz", time=T, q=SWING, tau=TAU, note=3.0)
    return folder / "a.npz"


def records(folder):
    np.save(folder / "a.npy", FRAME.to_records(index=False))
    return folder / "a.npy"


def netcdf(folder):
    dataset(folder).to_netcdf(folder / "a.nc", engine="h5netcdf")
    return folder / "a.nc"


def dataset(folder):
    fields = {"q": (("time", "joint"), SWING), "tau": (("time", "joint"), TAU)}
    return xarray.Dataset(fields, {"time": T, "joint": ["link1_joint", "link2_joint"]})


KINDS = [csv, parquet, archive, records, netcdf, dataset]
KINDS += [lambda _: FRAME, lambda _: FRAME.set_index("time"), lambda _: dict(FRAME)]
KINDS += [lambda _: {"t": T.tolist(), "q": SWING, "tau": TAU}]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_bits(arm, tmp_path, kind):
    log = dl.read_log(kind(tmp_path), arm)
    np.testing.assert_array_equal(log.time, T)
    np.testing.assert_array_equal(log.q, SWING)
    np.testing.assert_array_equal(log.tau, TAU)


def test_a_plain_array_needs_names(arm, tmp_path):
    log = dl.read_log(VALUES, arm, columns=NAMES)
    np.testing.assert_array_equal(log.tau, TAU)
    np.save(tmp_path / "a.npy", VALUES)
    np.testing.assert_array_equal(dl.read_log(tmp_path / "a.npy", arm, columns=NAMES).q, SWING)
    with pytest.raises(TrajectoryError, match="5 columns without names; give columns="):
        dl.read_log(VALUES, arm)
    with pytest.raises(TrajectoryError, match="and columns= has 2 names"):
        dl.read_log(VALUES, arm, columns=["time", "q1"])


def test_text_without_names_or_below_remarks_is_read(arm, tmp_path):
    """Plain rows need names; remarks above them do not count, and lines keep their numbers."""
    path = tmp_path / "a.txt"
    np.savetxt(path, VALUES)
    np.testing.assert_array_equal(dl.read_log(path, arm, columns=NAMES).tau, TAU)
    with pytest.raises(TrajectoryError, match=r"line 1 must name the columns.*columns="):
        dl.read_log(path, arm)
    with pytest.raises(TrajectoryError, match="5 columns, and columns= has 2 names"):
        dl.read_log(path, arm, columns=["time", "q1"])
    path.write_text("# arm 7, tuesday\n# rate: 1 kHz\n#time,q1,q2\n0,1,2\n1,2,3\n")
    assert dl.read_log(path, arm).q.values.tolist() == [[1.0, 2.0], [2.0, 3.0]]
    path.write_text("% arm 7\ntime,q1,q2\n0,1,2\n1,2,x\n")
    with pytest.raises(TrajectoryError, match="line 4, column 'q2': 'x' is not a number"):
        dl.read_log(path, arm)


def test_a_run_and_what_was_read_are_logs_again(arm, tmp_path):
    """What `simulate` and `read_log` make, also from a netCDF file with units and energies."""
    run = dl.simulate(arm, [0.1, 0.2], [0.0, 0.0], tau=[1.0, 0.5], duration=1.0, dt=0.01)
    run.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    for source in (run, tmp_path / "run.nc"):
        log = dl.read_log(source, arm)
        for name in ("q", "qd", "tau"):
            np.testing.assert_array_equal(log[name], run[name])
    np.testing.assert_array_equal(dl.read_log(log, arm).q, run.q)
    many = dl.simulate(arm, np.zeros((2, 2)), np.zeros((2, 2)), duration=0.1, dt=0.01)
    with pytest.raises(TrajectoryError, match=r"one motion: choose it by \.isel\(sample=0\)"):
        dl.read_log(many, arm)


def test_an_index_of_moments_is_the_time(arm):
    moments = pandas.to_datetime(1_700_000_000_000_000_000 + np.round(T * 1e9).astype(np.int64))
    log = dl.read_log(FRAME.drop(columns="time").set_index(moments), arm)
    np.testing.assert_allclose(log.time, T, atol=1e-6)
    assert log.attrs["start_time"] == pytest.approx(1.7e9)


def test_words_in_columns_of_others_do_no_harm(arm, tmp_path):
    """A column of names beside the numbers of a recording; in a column in use it is an error."""
    path = tmp_path / "a.csv"
    path.write_text("time,q1,q2,tau1,tau2,mode\n0,1,2,3,4,idle\n1,1,2,3,4,run\n")
    assert dl.read_log(path, arm).tau.values.tolist() == [[3.0, 4.0]] * 2
    path.write_text("time,q1,q2,tau1,tau2,mode\n0,1,2,3,4,idle\n1,1,x,3,4,run\n")
    with pytest.raises(TrajectoryError, match="line 3, column 'q2': 'x' is not a number"):
        dl.read_log(path, arm)
    with pytest.raises(TrajectoryError, match="column 'q1' holds 'a', which is not a number"):
        dl.read_log(FRAME.assign(q1="a"), arm)


def test_words_for_missing_numbers_are_gaps_and_others_are_named(arm, tmp_path):
    """A recording is repaired where a number is missing; 1_000 is no number of a log."""
    path = tmp_path / "a.csv"
    rows = [f"{k},{k},{k},1,2" for k in range(9)]
    for word in ("none", "#n/a", "NULL", "-nan"):
        path.write_text(
            "\n".join(["time,q1,q2,tau1,tau2", *rows[:4], f"4,{word},4,1,2", *rows[5:]])
        )
        np.testing.assert_array_equal(dl.read_log(path, arm).q[:, 0], np.arange(9.0))
    path.write_text("\n".join(["time,q1,q2,tau1,tau2", *rows[:4], "4,1_000,4,1,2", *rows[5:]]))
    with pytest.raises(TrajectoryError, match="line 6, column 'q1': '1_000' is not a number"):
        dl.read_log(path, arm)


def rough():
    """The recording with a repeated start, an empty cell, and a pause."""
    values = np.vstack([VALUES[:1], VALUES[:1], VALUES])
    values[50, 1] = np.nan
    values[80:90, 4] = np.nan
    return pandas.DataFrame(values, columns=NAMES)


def test_recordings_are_repaired_and_planned_motions_refused(arm, tmp_path):
    """What was done is said; without torques, or when asked to, the same rows are an error."""
    log = dl.read_log(rough(), arm)
    notes = log.attrs["preparation"]
    assert "2 rows with the time of the row before left out, 2 of them at the start" in notes
    assert "1 missing numbers interpolated" in notes and "10 rows with missing numbers" in notes
    assert log.sizes["time"] == 191 and np.abs(log.q.values[48, 0] - SWING[48, 0]) < 1e-4
    planned = rough()[["time", "q1", "q2"]]
    for wrong in (planned, rough()):
        with pytest.raises(TrajectoryError, match=r"row 51, column 'q1' is empty|row 2, column"):
            dl.read_log(wrong, arm, gaps="refuse" if "tau1" in wrong else None)
    assert dl.read_log(planned, arm, gaps="repair").sizes["time"] == 201
    with pytest.raises(SettingError, match="gaps='fill'"):
        dl.read_log(rough(), arm, gaps="fill")


def test_logs_are_trimmed_and_resampled(arm):
    log = dl.read_log(FRAME, arm, start=0.5, stop=1.5)
    assert log.time.values[0] == 0.5 and log.time.values[-1] == 1.5
    assert "101 of 201 rows taken, from 0.5 to 1.5 s" in log.attrs["preparation"]
    fine = dl.read_log(FRAME, arm, rate=250.0)
    t = fine.time.values
    np.testing.assert_allclose(np.diff(t), 0.004, rtol=1e-9)
    np.testing.assert_allclose(fine.q[:, 0], np.sin(1.5 * t), atol=1e-9)
    np.testing.assert_allclose(fine.tau[:, 0], np.cos(3.0 * t), atol=1e-7)
    slow = dl.read_log(FRAME, arm, rate=20.0)
    np.testing.assert_allclose(slow.q[:, 0], np.sin(1.5 * slow.time), atol=1e-4)
    assert "below 8 Hz" in slow.attrs["preparation"]
    with pytest.raises(TrajectoryError, match="no row is between start=7"):
        dl.read_log(FRAME, arm, start=7.0)
    for wrong in (0.0, np.nan, 1e9, 0.1):
        with pytest.raises(SettingError, match="must be positive, and give at least two"):
            dl.read_log(FRAME, arm, rate=wrong)


def test_passive_joints_of_a_closed_chain_need_no_torque():
    closed = dl.load("four_bar")
    crank = closed.dynamics.velocities[0]
    angle = closed.neutral()[0] + 0.6 * np.sin(T)
    log = dl.read_log({"time": T, crank: angle, f"{crank}_torque": TAU[:, 0]}, closed)
    np.testing.assert_array_equal(log.tau[:, 0], TAU[:, 0])
    assert not log.tau.values[:, 1:].any()


BROKEN = {
    "a.parquet": (b"PAR1 nonsense", "cannot be read"),
    "a.npy": (b"\x93NUMPY\x01\x00nonsense", "cannot be read"),
    "a.npz": (b"PK nonsense", "cannot be read: File is not a zip file"),
    "a.nc": (b"\x89HDF nonsense", "cannot be read"),
    "b.npy": (b"", "cannot be read"),
    "b.npz": (b"", "cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_are_none_are_named(arm, tmp_path, name):
    data, message = BROKEN[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TrajectoryError, match=rf"{name} {message}"):
        dl.read_log(tmp_path / name, arm)
    with pytest.raises(TrajectoryError, match=rf"none{name[1:]} cannot be read"):
        dl.read_log(tmp_path / f"none{name[1:]}", arm)


def test_objects_and_bombs_are_not_unpacked(arm, tmp_path, monkeypatch):
    """No pickle is ever loaded, and an archive that grows beyond all logs is refused."""
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(TrajectoryError, match=r"objects|allow_pickle"):
        dl.read_log(tmp_path / "a.npy", arm)
    np.savez(tmp_path / "a.npz", q=np.array([print], dtype=object), time=T)
    with pytest.raises(TrajectoryError, match=r"objects|allow_pickle"):
        dl.read_log(tmp_path / "a.npz", arm)
    header = (
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 99)}"
    )
    (tmp_path / "b.npy").write_bytes(header.ljust(127) + b"\n" + bytes(64))
    with pytest.raises(TrajectoryError, match=r"b\.npy cannot be read"):
        dl.read_log(tmp_path / "b.npy", arm)
    monkeypatch.setattr(tables, "MAX_UNPACKED", 1000)
    with pytest.raises(TrajectoryError, match=r"would unpack to .* that is no log"):
        dl.read_log(archive(tmp_path), arm)


WRONG = {
    "turned": ({"time": T, "q": SWING, "tau": TAU.T}, "'tau' has 2 rows where others have 201; rows"),
    "ragged": ({"time": T, "q": [[1.0], [1.0, 2.0]]}, "'q' is no array"),
    "objects": ({"time": T, "q1": [object()] * 201}, "'q1' holds objects"),
    "deep": ({"time": T, "q": np.zeros((201, 2, 2))}, r"'q' has the shape \(201, 2, 2\)"),
    "empty": ({}, "holds no arrays"),
    "no rows": (FRAME.iloc[:0], "has no rows"),
    "complex": (FRAME.assign(q1=1j * T), "column 'q1' holds complex numbers"),
    "one number": (7.0, "a log is a file"),
    "flat": (T, "has the shape"),
    "no time": (xarray.Dataset({"q": ("x", T)}), "no dimension 'time'"),
    "nothing but gaps": (FRAME.assign(q1=np.nan), "no row has a time and a number"),
    "huge": (FRAME.assign(q1=1e99), "row 1, column 'q1' is 1e"),
    "backward": (FRAME.iloc[::-1], "time jumps back"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_log_is_refused_in_words(arm, kind):
    source, message = WRONG[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TrajectoryError, match=message):
            dl.read_log(source, arm)


def test_parquet_without_its_reader_names_the_extra(arm, tmp_path, monkeypatch):
    path = parquet(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(TrajectoryError, match=r"pip install pyarrow \(the extra \[parquet\]\)"):
        dl.read_log(path, arm)
