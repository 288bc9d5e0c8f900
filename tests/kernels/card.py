"""A stand-in for a CUDA card: kernels are compiled for the host and run when they are launched.

What is launched, and how, is the library's own: the texts, the launches of PyTorch's way, and the
compiled handlers that XLA calls, which find this `cuLaunchKernel` by its address.
"""

import ctypes
import re
import subprocess
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import ClassVar

import numpy as np

from dalembert.kernels.cuda import driver, launch
from tests.kernels.test_cuda_source import SHIM

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_uint
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, *(_NUMBER,) * 7, *(_POINTER,) * 3)


class Card(driver.CudaDriver):
    """A driver whose only device is the host; `launches` are (blocks, threads, stream)."""

    arch = 90
    kernels: ClassVar[list] = []  # handles outlast a test, as systems do that hold them

    def __init__(self, folder: Path) -> None:
        self.folder, self.launches, self.code = folder, [], 0
        self.callback = _LAUNCH(self._launched)

    @property
    def launching(self) -> int:
        return ctypes.cast(self.callback, ctypes.c_void_p).value

    @property
    def _launch(self):
        return self.callback

    def load(self, code: bytes, name: str) -> int:
        self.kernels.append(_on_host(self.folder / f"kernel{len(self.kernels)}", code, name))
        return len(self.kernels)

    def outside_capture(self):
        return nullcontext()

    def prepare(self, handle: int, device: int) -> None:
        assert device == 0

    def facts(self, handle: int, device: int = 0) -> tuple[int, int, int]:
        return 40, 0, 512

    def _require(self, code: int, name: str) -> None:
        assert code == 0, name

    def _launched(self, handle, blocks, _y, _z, threads, _v, _w, shared, stream, pointers, extra):
        self.launches.append((blocks, threads, stream))
        if not self.code:
            self.kernels[handle - 1](blocks, threads, ctypes.c_void_p(pointers))
        return self.code


def _on_host(folder: Path, code: bytes, name: str):
    """`run(blocks, threads, places)` of a kernel all of whose arguments are eight bytes long."""
    text = code.decode()
    (head,) = re.findall(rf"\n{name}\((.*?)\)\n{{", text)
    kinds = [re.sub(r"\w+$", "", x.replace("__restrict__", "")) for x in head.split(", ")]
    arguments = ", ".join(f"*({kind.strip()} *)places[{k}]" for k, kind in enumerate(kinds))
    folder.mkdir()
    body = f"launch((long long)blocks * threads, threads, [=] {{ {name}({arguments}); }});"
    head = f'extern "C" void run(unsigned blocks, unsigned threads, void **places) {{ {body} }}\n'
    (folder / "kernel.cpp").write_text(f'#include "{SHIM}"\n{text}\n{head}')
    flags = ["-std=c++17", "-O0", "-Wno-unknown-pragmas", "-fPIC", "-shared", "-pthread"]
    command = ["g++", *flags, folder / "kernel.cpp", "-o", folder / "kernel.so"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "kernel.so")).run


@contextmanager
def stand_in(monkeypatch, folder: Path):
    """The card in the place of the driver and of NVRTC."""
    card = Card(folder)
    driver.driver.cache_clear()
    monkeypatch.setattr(driver, "CudaDriver", lambda: card)
    monkeypatch.setattr(launch, "machine_code", lambda text, arch: text.encode())
    yield card
    driver.driver.cache_clear()


def near(actual, expected, dtype) -> None:
    """Equal up to rounding of a few hundred operations."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == dtype and actual.shape == expected.shape
    atol = 300 * np.finfo(dtype).eps * max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)
