"""A stand-in for CuPy that runs the CUDA kernels on the CPU, and a robot with states for it."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import dalembert as dl
from tests.device.cupy_on_host import Device, DeviceArray
from tests.kernels.card import stand_in


@pytest.fixture
def cupy(monkeypatch, tmp_path):
    module = ModuleType("cupy")
    for name in ("int32", "int64", "dtype", "broadcast_to"):
        setattr(module, name, getattr(np, name))
    module.asarray = lambda x: x if type(x) is DeviceArray else np.asarray(x).view(DeviceArray)
    module.ascontiguousarray = lambda x: np.require(x, requirements="C").view(DeviceArray)
    module.empty = module.ndarray = lambda shape, dtype: np.full(shape, np.nan, dtype).view(
        DeviceArray
    )
    module.broadcast_to = lambda x, shape: np.broadcast_to(x, shape, subok=True)
    module.cuda = SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(ptr=7 + Device.now),
        Device=Device,
        runtime=SimpleNamespace(getDevice=lambda: Device.now),
    )
    monkeypatch.setitem(sys.modules, "cupy", module)
    with stand_in(monkeypatch, tmp_path) as module.card:
        yield module


@pytest.fixture(scope="session")
def robot():
    return dl.load("puma560")


@pytest.fixture(scope="session")
def states(robot):
    return robot.random_state(np.random.default_rng(0), 37)
