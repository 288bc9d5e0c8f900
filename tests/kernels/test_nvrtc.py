"""NVRTC and the CUDA driver where they are, and what is said where they are not."""

import ctypes

import pytest

from dalembert.errors import CompileError
from dalembert.kernels.cuda import driver
from dalembert.kernels.cuda.driver import CudaDriver, _ArgumentBuffer

TEXT = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }'


@pytest.fixture
def compiler():
    try:
        driver._nvrtc_library()
    except CompileError:
        pytest.skip("no NVRTC here: wheels of JAX or PyTorch for CUDA bring it")


@pytest.fixture
def nowhere(monkeypatch):
    def none(path):
        raise OSError(f"{path}: cannot open shared object file")

    driver._nvrtc_library.cache_clear()
    monkeypatch.setattr(driver, "_nvrtc_paths", list)
    monkeypatch.setattr(ctypes, "CDLL", none)
    yield
    driver._nvrtc_library.cache_clear()


def test_machine_code_for_a_card_and_text_for_a_newer_one(compiler):
    assert driver._compile(TEXT, 90).startswith(b"\x7fELF")
    newer = driver._compile(TEXT, 9999)
    assert b".entry twice" in newer and newer.endswith(b"\0")


def test_what_the_compiler_says_is_said(compiler):
    with pytest.raises(CompileError, match=r'for sm_90:\nkernel.cu\(1\): error: identifier "no"'):
        driver._compile("no text", 90)


def test_what_was_compiled_is_found_again_without_a_compiler(monkeypatch, tmp_path, nowhere):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(
        CompileError, match=r"need NVRTC .* pip install cupy-cuda12x \(the extra \[gpu\]\)"
    ):
        driver.machine_code(TEXT, 90)
    with monkeypatch.context() as patch:
        patch.setattr(driver, "_compile", lambda text, arch: b"code for %d" % arch)
        assert driver.machine_code(TEXT, 90) == b"code for 90"
    assert driver.machine_code(TEXT, 90) == b"code for 90"
    with pytest.raises(CompileError, match="need NVRTC"):
        driver.machine_code(TEXT, 80)


def test_wheels_and_toolkits_are_searched_the_newest_first(monkeypatch, tmp_path):
    for name in ("libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc-builtins.so.13", "libnvrtc.so.13.0"):
        (tmp_path / "lib64").mkdir(exist_ok=True)
        (tmp_path / "lib64" / name).touch()
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    names = [path.name for path in driver._nvrtc_paths() if tmp_path in path.parents]
    assert names == ["libnvrtc.so.13", "libnvrtc.so.12"]


def test_without_a_driver_that_is_said(nowhere):
    with pytest.raises(CompileError, match="there is no CUDA driver here"):
        CudaDriver()


def test_arguments_of_a_launch_lie_eight_bytes_apart():
    buffer = _ArgumentBuffer()
    buffer.grow(3)
    assert [b - a for a, b in zip(buffer.pointers, buffer.pointers[1:], strict=False)] == [8, 8]
    assert buffer.pointers[0] == ctypes.addressof(buffer.words)
