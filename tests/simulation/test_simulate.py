"""Runs as users make them: torques of every kind, batches, results with names and units."""

import numpy as np
import pytest
import sympy
import xarray

import dalembert as dl


def test_result_has_names_units_and_provenance() -> None:
    robot = dl.load("rp")
    run = dl.simulate(robot, [0.1, 0.5], [0.0, 0.0], duration=0.1, dt=0.01)
    assert list(run.joint.values) == ["link1_joint", "link2_joint"]
    assert run.time.attrs["units"] == "s" and run.q.attrs["units"] == "rad, m"
    assert run.tau.attrs["units"] == "N m, N" and run.kinetic.attrs["units"] == "J"
    for name in ("model_digest", "dalembert_version", "method", "rtol", "atol", "status"):
        assert name in run.attrs
    assert run.attrs["model_digest"] == robot.model.content


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf"])
def test_netcdf_and_back(tmp_path, engine: str) -> None:
    pytest.importorskip(engine)
    run = dl.simulate(dl.load("puma560"), np.full(6, 0.1), np.zeros(6), duration=0.2, dt=0.01)
    run.to_netcdf(tmp_path / "run.nc", engine=engine)
    with xarray.open_dataset(tmp_path / "run.nc", engine=engine) as again:
        np.testing.assert_array_equal(again.q, run.q)
        assert list(again.joint.values) == list(run.joint.values)
        assert again.attrs["method"] == "DOP853"


def test_zarr_and_back(tmp_path) -> None:
    pytest.importorskip("zarr")
    run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=0.1, dt=0.01)
    run.to_zarr(tmp_path / "run.zarr", zarr_format=2)
    with xarray.open_zarr(tmp_path / "run.zarr") as again:
        np.testing.assert_array_equal(again.q, run.q)


# torques


@pytest.mark.parametrize("method", ["DOP853", "rk4", "heun", "variational"])
def test_a_function_and_a_controller_of_the_same_law_agree(method: str) -> None:
    robot = dl.load("planar_2r")
    controller = dl.control.PDGravity(robot, [0.5, -0.5], kp=20.0, kd=4.0)

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return robot.gravity_torque(q) - 20.0 * (q - [0.5, -0.5]) - 4.0 * qd

    start = {"q0": [0.1, 0.2], "qd0": [1.0, 0.0], "duration": 0.5, "dt": 5e-3, "method": method}
    compiled = dl.simulate(robot, tau=controller, **start)
    called = dl.simulate(robot, tau=torque, **start)
    # the variational method holds functions over a step: a different, first-order law
    tolerance = 5e-2 if method == "variational" else 1e-10
    np.testing.assert_allclose(compiled.q, called.q, atol=tolerance)
    np.testing.assert_allclose(compiled.tau, called.tau, atol=100 * tolerance)


def test_samples_are_linear_between_their_times() -> None:
    # J q̈ = t: q = t³ / 6 J
    wheel = {"name": "wheel", "joint": {"type": "revolute"}, "mass": 1.0, "inertia": np.eye(3)}
    robot = dl.Robot.from_links([wheel])
    ramp = dl.Samples([0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]])
    for method in ("DOP853", "rk4"):
        run = dl.simulate(robot, [0.0], [0.0], ramp, duration=2.0, dt=0.1, method=method)
        np.testing.assert_allclose(run.q[:, 0], run.time**3 / 6.0, atol=1e-9)
        np.testing.assert_allclose(run.tau[:, 0], run.time, atol=1e-14)


def test_a_lagrangian_runs_like_a_robot() -> None:
    q, qd = sympy.symbols("q qd")
    system = dl.Lagrangian(q, qd**2 / 2, 9.81 * (1 - sympy.cos(q)), forces=[-0.3 * qd], qd=qd)
    robot = dl.load("pendulum")
    free = dl.simulate(robot, [0.4], [0.0], lambda t, q, v: -0.3 * v, duration=2.0, dt=0.1)
    for method in ("DOP853", "rk4", "variational"):
        run = dl.simulate(system, [0.4], [0.0], duration=2.0, dt=0.01, save_every=10, method=method)
        np.testing.assert_allclose(run.q, free.q, atol=5e-4 if method == "variational" else 1e-8)
        assert float(np.abs(run.balance).max()) < 1e-4
    assert list(system.coordinates) == list(run.joint.values)


def test_parameters_reach_the_kernel() -> None:
    load = dl.Parameter("load", 1.0)
    rows = [{"a": 1.0, "mass": load, "com": (0.0, 0.0, 0.0), "inertia": 0.1 * np.eye(3)}]
    robot = dl.Robot.from_dh(rows, convention="standard", gravity=(0.0, -9.81, 0.0))
    runs = [
        dl.simulate(
            robot, [0.0], [0.0], duration=0.1, dt=0.01, parameters={"load": m}, method="rk4"
        )
        for m in (1.0, 3.0)
    ]
    both = dl.simulate(
        robot,
        np.zeros((2, 1)),
        np.zeros((2, 1)),
        duration=0.1,
        dt=0.01,
        parameters=np.array([[1.0], [3.0]]),
    )
    for k, run in enumerate(runs):
        np.testing.assert_allclose(both.q[:, k], run.q, rtol=1e-13)
    assert abs(float(runs[0].q[-1, 0] - runs[1].q[-1, 0])) > 1e-4


# batches


@pytest.mark.parametrize("method", ["rk4", "semi_implicit", "variational"])
def test_a_batch_is_its_samples(method: str) -> None:
    robot = dl.load("puma560")
    rng = np.random.default_rng(3)
    q0, qd0 = rng.uniform(-1, 1, (600, 6)), rng.uniform(-1, 1, (600, 6))
    tau = rng.normal(size=(600, 6))
    options = {"duration": 0.05, "dt": 1e-3, "save_every": 25, "method": method, "smoothing": 0.05}
    batch = dl.simulate(robot, q0, qd0, tau, **options)
    assert batch.q.dims == ("time", "sample", "joint") and batch.q.shape == (3, 600, 6)
    for k in (0, 511, 512, 599):  # both blocks, first and last lanes
        one = dl.simulate(robot, q0[k], qd0[k], tau[k], **options)
        np.testing.assert_array_equal(batch.q[:, k], one.q)
        np.testing.assert_array_equal(batch.work[:, k], one.work)


def test_threads_do_not_change_a_bit() -> None:
    robot = dl.load("planar_2r")
    q0 = np.random.default_rng(0).normal(size=(3000, 2))
    before = dl.get_num_threads()
    runs = []
    try:
        for threads in (1, 3):
            dl.set_num_threads(threads)
            runs.append(dl.simulate(robot, q0, np.ones(2), duration=0.05, dt=1e-3, save_every=10))
    finally:
        dl.set_num_threads(before)
    np.testing.assert_array_equal(runs[0].q, runs[1].q)


def test_batches_agree_with_the_adaptive_method() -> None:
    robot = dl.load("ur5")
    rng = np.random.default_rng(0)
    q0, qd0 = rng.uniform(-1, 1, (3, 6)), rng.uniform(-1, 1, (3, 6))
    batch = dl.simulate(robot, q0, qd0, duration=0.5, dt=1e-3, save_every=100)
    for k in range(3):
        one = dl.simulate(robot, q0[k], qd0[k], duration=0.5, dt=1e-3, save_every=100)
        np.testing.assert_allclose(batch.q[:, k], one.q, atol=1e-7)


def test_saves_always_end_with_the_last_state() -> None:
    run = dl.simulate(dl.load("pendulum"), [0.1], duration=0.1, dt=0.01, save_every=4)
    np.testing.assert_allclose(run.time, [0.0, 0.04, 0.08, 0.1])


def test_progress_is_shown_on_a_terminal() -> None:
    import os
    import pty
    import subprocess
    import sys

    code = "import dalembert as dl; robot = dl.load('pendulum');"
    code += "dl.simulate(robot, [0.1], duration=200.0, method='rk4')"
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=slave, stdout=slave)
    os.close(slave)
    output = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        output += piece
    os.close(master)
    assert process.wait() == 0, output.decode()
    assert b"pendulum" in output and b"%" in output


def test_complex_first_states_are_refused():
    with pytest.raises(dl.ShapeError, match="qd0 of pendulum must be real numbers"):
        dl.simulate(dl.load("pendulum"), [0.1], [1j], duration=0.1)
