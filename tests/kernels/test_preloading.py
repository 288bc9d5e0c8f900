"""LLVM made ready on another thread: there when it is needed, and no thread where one is allowed."""

import subprocess
import sys
import threading

import pytest

from dalembert.kernels.llvm import codegen, load
from dalembert.kernels.llvm.codegen import compile_in_parallel
from dalembert.kernels.llvm.target import by_name

CODE = """
import sys, threading
from dalembert.kernels import set_num_threads
from dalembert.kernels.llvm.load import preload_llvm
set_num_threads({threads})
preload_llvm()
print([thread.name for thread in threading.enumerate()][1:])
[thread.join() for thread in threading.enumerate()[1:]]
print("llvmlite.binding" in sys.modules)
"""


@pytest.mark.parametrize(("threads", "imported"), [(1, "False"), (2, "True")])
def test_the_import_begins_only_where_two_threads_are_allowed(threads, imported):
    command = [sys.executable, "-c", CODE.format(threads=threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == imported


def test_an_import_that_fails_is_left_to_whoever_needs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)  # as where it is not installed
    load.preload_llvm()
    for thread in threading.enumerate():
        if thread.name == "dalembert imports LLVM":
            thread.join()


@pytest.mark.parametrize(("threads", "expected"), [(1, 0), (2, 2)])
def test_tools_for_two_threads_are_there_after_the_block(monkeypatch, threads, expected):
    target = by_name("native")
    monkeypatch.setattr(codegen, "_idle", {})
    with codegen.prepared_tools(target, threads):
        pass
    tools = codegen._idle.get(target, [])
    assert len(tools) == expected
    with codegen.prepared_tools(target, threads):  # those that are there are enough
        pass
    assert codegen._idle.get(target, []) == tools


def test_what_fails_beside_the_block_does_not_end_it(monkeypatch):
    monkeypatch.setattr(codegen, "_idle", {})
    monkeypatch.setattr(codegen, "_new_tools", lambda target: 1 / 0)
    with codegen.prepared_tools(by_name("native"), 2):
        done = True
    assert done and not codegen._idle


AT_THE_END = """
import threading
from dalembert.kernels.llvm import load
from dalembert.kernels.llvm.codegen import compile_in_parallel
class Late:
    def __del__(self):
        load.preload_llvm()
        print(compile_in_parallel([lambda: "a", lambda: "b"], str.encode, 2), flush=True)
late = Late()
late.itself = late
"""


def test_no_thread_is_started_while_python_ends():
    """It would never begin, and the process never end."""
    command = [sys.executable, "-c", AT_THE_END]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[b'a', b'b']"), done.stderr


def test_all_goes_on_where_no_thread_can_be_started(monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.delitem(sys.modules, "llvmlite.binding", raising=False)
    monkeypatch.setattr(load, "get_num_threads", lambda: 2)
    load.preload_llvm()
    monkeypatch.setattr(codegen, "_idle", {})
    with codegen.prepared_tools(by_name("native"), 2):
        pass
    assert compile_in_parallel([lambda: "a", lambda: "b"], str.encode, 2) == [b"a", b"b"]
