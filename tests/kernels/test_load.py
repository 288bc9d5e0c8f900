"""Object code in memory becomes functions of this process."""

import ctypes
import gc
import math
import subprocess
import sys
import threading

import llvmlite.binding as llvm
import pytest

from dalembert.errors import CompileError
from dalembert.kernels.call import kernel
from dalembert.kernels.call.cache_key import load_or_compile
from dalembert.kernels.llvm.load import Loaded, load, pack

SOURCE = """
declare double @{function}(double)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
@scale = internal constant [2 x double] [double 2.0, double 3.0]
define double @f(double %x, i64 %i) {{
  %y = call double @{function}(double %x)
  %s.at = getelementptr double, ptr @scale, i64 %i
  %s = load double, ptr %s.at
  %z = fmul double %y, %s
  ret double %z
}}
define ptr @g() {{ ret ptr @pthread_create }}
"""


def compiled(function: str) -> bytes:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
    return pack([machine.emit_object(llvm.parse_assembly(SOURCE.format(function=function)))])


def as_function(address: int):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(address)


def test_objects_with_the_same_names_live_side_by_side():
    loaded = {name: load(compiled(name), ["f", "g"]) for name in ("sin", "cos", "exp")}
    for name, code in loaded.items():
        f = as_function(code["f"])
        assert f(0.3, 0) == 2 * getattr(math, name)(0.3)
        assert f(0.3, 1) == 3 * getattr(math, name)(0.3)
        assert ctypes.CFUNCTYPE(ctypes.c_void_p)(code["g"])()


def test_threads_may_load_at_the_same_time():
    code, results = compiled("sin"), []

    def work():
        for _ in range(20):
            loaded = load(code, ["f"])
            results.append(as_function(loaded["f"])(1.0, 0))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2 * math.sin(1.0)] * 80


@pytest.mark.parametrize(
    ("code", "symbols"),
    [
        (b"no object at all", ["f"]),
        (b"", ["f"]),
        (compiled("sin"), ["missing"]),
        (compiled("no_such_function_anywhere"), ["f"]),
        (compiled("sin")[:200], ["f"]),
    ],
)
def test_what_cannot_be_linked_is_an_error(code, symbols):
    with pytest.raises(CompileError, match="could not be linked"):
        load(code, symbols)


class WithoutSymbols(dict):
    """What LLVM gives for code in which nothing can be found."""

    closed = False

    def close(self):
        self.closed = True


def test_code_without_its_symbols_is_given_back_and_says_no_more(monkeypatch):
    messages, tracker = [], WithoutSymbols()
    monkeypatch.setattr(sys, "unraisablehook", messages.append)
    with pytest.raises(KeyError):
        Loaded(-1, tracker, None, ["f"])
    gc.collect()
    assert tracker.closed and not messages


def test_code_that_outlives_its_module_at_exit_is_silent():
    """Modules lose their names before the last objects go: a message then would be noise."""
    script = (
        "import builtins\nfrom dalembert.kernels.llvm import load\n"
        "class Kept:\n    def close(self): pass\n"
        "builtins.kept = load.Loaded(-1, Kept(), None, [])\nvars(load).clear()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_code_of_a_precision_is_loaded_once_whichever_threads_ask(monkeypatch):
    """Of two, one would be unloaded while a ufunc that was made of it runs."""
    code = kernel._Code("f", "key", lambda: None, None)
    entered, results, others = [], [], []
    second = threading.Event()

    def linked(key, symbols, compiled):
        entered.append(key)
        if len(entered) > 1:
            second.set()
            return object()
        other = threading.Thread(target=lambda: results.append(code.loaded("float32")))
        others.append(other)
        other.start()
        second.wait(0.3)  # as long as another thread would need to come in, if it could
        return object()

    monkeypatch.setattr(kernel, "load_or_compile", linked)
    monkeypatch.setattr(code, "cache_key", lambda dtype: dtype)
    results.append(code.loaded("float32"))
    others[0].join()
    assert entered == ["float32"]
    assert results[0] is results[1]


def test_what_another_thread_compiles_is_waited_for(tmp_path, monkeypatch):
    """Two threads ask for one key: the second finds the first's code, and compiles nothing."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    code, compilations, second = compiled("sin"), [], []

    def compile_second() -> bytes:
        compilations.append("second")
        return code

    def compile_first() -> bytes:
        compilations.append("first")
        thread = threading.Thread(target=load_or_compile, args=("key", ["f"], compile_second))
        second.append(thread)
        thread.start()
        thread.join(
            0.3
        )  # enough to compile where nothing makes it wait; never too short if it does
        return code

    load_or_compile("key", ["f"], compile_first, is_complete=True)
    second[0].join()
    assert compilations == ["first"]
