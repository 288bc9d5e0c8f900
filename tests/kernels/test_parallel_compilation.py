"""Modules compiled on several threads: the same bytes, errors that arrive, no thread left."""

import threading

import numpy as np
import pytest

from dalembert.kernels.llvm.codegen import compile_in_parallel, llvm_ir, object_code
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program.trace import trace


def chain(x):
    for _ in range(60):
        x = np.sin(x) * x[::-1] + x
    return x


def test_threads_give_the_same_bytes():
    program = trace(chain, {"x": (4,)})
    assert len(llvm_ir(program, "float64", native())) > 1
    alone, together = (object_code(program, "float64", native(), threads=n) for n in (1, 3))
    assert alone == together


def test_progress_ends_with_the_whole():
    shares = []
    compile_in_parallel([lambda: "a", lambda: "b", lambda: "c"], str.encode, 2, shares.append)
    assert sorted(shares) == shares and shares[-1] == 1.0 and len(shares) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_arrives_and_nothing_more_is_begun(threads):
    begun, before = [], threading.active_count()

    def compiled(text):
        begun.append(text)
        raise ValueError("no such instruction")

    with pytest.raises(ValueError, match="no such instruction"):
        compile_in_parallel([lambda k=k: str(k) for k in range(50)], compiled, threads)
    assert len(begun) <= threads and threading.active_count() == before


def test_an_interrupt_waits_for_what_is_begun_and_leaves_no_thread():
    inside, leave, done = threading.Event(), threading.Event(), []
    before = threading.active_count()

    def compiled(text):
        if threading.current_thread() is threading.main_thread():
            inside.wait(60)
            leave.set()
            raise KeyboardInterrupt
        inside.set()
        leave.wait(60)
        done.append(text)
        return b""

    with pytest.raises(KeyboardInterrupt):
        compile_in_parallel([lambda k=k: str(k) for k in range(9)], compiled, 2)
    assert len(done) <= 2 and threading.active_count() == before
