"""Inverse kinematics of CuPy arrays, with a stand-in that runs the CUDA kernels on the CPU."""

import shutil

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SettingError, ShapeError
from tests.device.cupy_on_host import DeviceArray, plain

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")


@pytest.fixture
def card(cupy, monkeypatch):
    """The stand-in, with the little more that a search asks of CuPy's arrays."""
    for name in ("__le__", "nonzero"):

        def method(self, *arguments, name=name):
            result = getattr(plain(self), name)(*map(plain, arguments))
            arrays = [np.asarray(x).view(DeviceArray) for x in np.atleast_2d(result)]
            return tuple(arrays) if name == "nonzero" else arrays[0]

        monkeypatch.setattr(DeviceArray, name, method, raising=False)
    return cupy


def test_the_same_postures_as_on_the_host(card):
    """Found, within the limits, at the target; out of reach and NaN are not found."""
    robot = dl.load("planar_2r").with_limits({"link1_joint": (-2, 2), "link2_joint": (-2.5, 2.5)})
    T = robot.pose(robot.random_state(np.random.default_rng(4), 40)[0]).reshape(2, 20, 4, 4)
    T[0, 3, 0, 3] += 10.0
    T[1, 2, 1, 3] = np.nan
    q, converged = robot.inverse_kinematics(card.asarray(T), max_restarts=20)
    assert isinstance(q, DeviceArray) and q.shape == (2, 20, 2)
    q, converged = plain(q), plain(converged)
    expected = np.ones((2, 20), dtype=bool)
    expected[0, 3] = expected[1, 2] = False
    np.testing.assert_array_equal(converged, expected)
    np.testing.assert_allclose(robot.pose(q)[converged], T[converged], atol=2e-9)
    assert np.isfinite(q).all() and (q >= robot.lower).all() and (q <= robot.upper).all()
    # starts are those of the host, and so are the postures
    host = robot.inverse_kinematics(np.where(np.isnan(T), 0.1, T), max_restarts=20)
    np.testing.assert_allclose(q[converged], host.q[converged], atol=1e-8)


def test_starts_are_taken_and_what_is_for_the_host_is_refused(card):
    robot = dl.load("planar_2r")
    q0 = np.array([0.3, 0.5])
    T = card.asarray(robot.pose(q0 + 0.05)[None])
    near = robot.inverse_kinematics(T, q0=q0, max_restarts=0)
    np.testing.assert_allclose(plain(near.q)[0], q0 + 0.05, atol=1e-7)
    with pytest.raises(SettingError, match="on the host"):
        robot.inverse_kinematics(T, goal="center")
    with pytest.raises(ShapeError, match=r"must be poses \(\.\.\., 4, 4\)"):
        robot.inverse_kinematics(card.asarray(np.zeros((5, 3))), task="position")
