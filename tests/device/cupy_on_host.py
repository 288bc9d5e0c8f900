"""Arrays that lie on a GPU as CuPy's do, and are the host's."""

from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace
from typing import ClassVar

import numpy as np


@dataclass
class Device:
    """A device by its number, or the current one."""

    id: int | None = None
    now: ClassVar[int] = 0

    def __post_init__(self):
        self.id = Device.now if self.id is None else self.id

    def __enter__(self):
        self.before, Device.now = Device.now, self.id

    def __exit__(self, *_):
        Device.now = self.before


def plain(x):
    return np.asarray(x).view(np.ndarray)


class DeviceArray(np.ndarray):
    """An array that says it lies on a GPU, and that NumPy's own functions refuse."""

    __cuda_array_interface__ = property(lambda self: self.__array_interface__)
    device = property(lambda self: Device(self.home))
    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data, device_id=self.home))

    def __array_finalize__(self, source):
        """Where it is made from another, there; else on the current device."""
        self.home = getattr(source, "home", Device.now)

    def __array_ufunc__(self, *_, **__):
        return NotImplemented

    def max(self, axis):
        return plain(self).max(axis).view(DeviceArray)

    def get(self):
        return plain(self)

    def __float__(self):
        return float(plain(self))

    def __bool__(self):
        return bool(plain(self))

    def __int__(self):
        return int(plain(self))


def _as_cupy_does(name):
    """Operators and methods that CuPy's arrays have of their own."""

    def method(self, *arguments, **named):
        if any(isinstance(x, Enum) for x in arguments):
            raise TypeError("CuPy's arrays know plain numbers only")
        result = getattr(plain(self), name)(*map(plain, arguments), **named)
        return np.asarray(result).view(DeviceArray)

    return method


for _name in ("add", "sub", "mul", "truediv", "eq", "ne", "le", "ge", "and", "invert"):
    setattr(DeviceArray, f"__{_name}__", _as_cupy_does(f"__{_name}__"))
for _name in ("sum", "all", "any"):
    setattr(DeviceArray, _name, _as_cupy_does(_name))
