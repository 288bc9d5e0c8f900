"""Code for Windows and macOS: objects written and looked at, and on Wine run."""

import platform

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError
from dalembert.kernels.llvm import mathematics, target
from dalembert.kernels.llvm.codegen import object_code
from dalembert.kernels.llvm.load import unpack
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.program.trace import trace
from tests.kernels.emulated import OnWindows
from tests.kernels.formats import read
from tests.kernels.raw import Raw

EXPORTED = {"dalembert_loop", "dalembert_one"}
LIBM = {
    "sin",
    "cos",
    *mathematics.LIBM_NAMES.values(),
}  # C99, which Microsoft's and Apple's libraries have
HEAP = {"malloc", "free", "memset", "memcpy"}
WIN32 = {"CreateThread", "WaitForSingleObject", "CloseHandle", "__chkstk"}  # kernel32 and ntdll
POSIX = {"pthread_create", "pthread_join"}
FLAGS = {"feclearexcept"}
# format, machine; relocations by their numbers: those to code and to constants beside it
OBJECTS = {
    "x86_64-pc-windows-msvc-elf": ("ELF", 0x3E, LIBM | HEAP | WIN32, {2, 4}),
    "x86_64-pc-windows-msvc": ("COFF", 0x8664, LIBM | HEAP | WIN32 | {"_fltused"}, {4}),
    "aarch64-pc-windows-msvc": ("COFF", 0xAA64, LIBM | HEAP | WIN32 | FLAGS, {3, 4, 6, 7}),
    "x86_64-apple-macosx": ("Mach-O", 0x1000007, LIBM | HEAP | POSIX, {1, 2}),
    "arm64-apple-macosx": ("Mach-O", 0x100000C, LIBM | HEAP | POSIX | FLAGS, {2, 3, 4, 5, 6}),
}


def everything(x, y):
    """Functions of the C library beside sine and cosine of our own."""
    return np.sin(x) * np.exp(y) + np.arctan2(x, y) + np.hypot(x, y) + np.fmod(x, y) + np.tanh(x)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("triple", OBJECTS)
def test_objects_need_only_what_the_system_has(triple, dtype):
    form, machine, known, relocations = OBJECTS[triple]
    wide = triple.startswith("x86")
    there = Target(triple, "x86-64-v3" if wide else "generic", "", 256 if wide else 128)
    under = "_" if form == "Mach-O" else ""
    for program in (trace(everything, {"x": (3,), "y": (3,)}), robot()):
        objects = [read(code) for code in unpack(object_code(program, dtype, there))]
        assert {(one.format, one.machine) for one in objects} == {(form, machine)}
        defined = set().union(*(one.defined for one in objects))
        needed = set().union(*(one.needed for one in objects)) - defined
        assert {name.removeprefix(under) for name in defined} >= EXPORTED
        assert {name.removeprefix(under) for name in needed} <= known
        assert set().union(*(one.relocations for one in objects)) <= relocations


def robot():
    return dl.load("planar_2r").program("forward_dynamics")


@pytest.mark.parametrize(
    ("system", "machine", "triple"),
    [
        ("win32", "AMD64", "x86_64-pc-windows-msvc-elf"),
        ("darwin", "arm64", "arm64-apple-macosx"),
        ("darwin", "x86_64", "x86_64-apple-macosx"),
    ],
)
def test_the_native_machine_elsewhere(monkeypatch, system, machine, triple):
    monkeypatch.delenv("DALEMBERT_TARGET", raising=False)
    monkeypatch.setattr(target.sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert target.native().triple == triple


def test_arm_under_windows_is_refused_in_words(monkeypatch):
    """LLVM ends the process where it is asked for such code."""
    monkeypatch.setattr(target.sys, "platform", "win32")
    monkeypatch.setattr(platform, "machine", lambda: "ARM64")
    with pytest.raises(CompileError, match="ARM processors under Windows"):
        target.native()


@OnWindows.needed()
def test_on_wine_a_kernel_gives_the_numbers_of_this_machine():
    """One state, with the registers that belong to the caller watched, and a batch on four threads."""
    program = dl.load("ur5").program("inverse_dynamics")
    here, there = Raw(program, target=OnWindows.target().cpu), OnWindows(program)
    rng = np.random.default_rng(4)
    states = [rng.uniform(-2, 2, (20_003, *port.shape)) for port in program.inputs]
    np.testing.assert_array_equal(there.loop(*states, threads=4)[0], here.loop(*states)[0])
    one = [x[7] for x in states]
    np.testing.assert_array_equal(there.one(*one)[0], here.one(*one)[0])
