"""The number of threads: validated, from calls and from the environment."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

from dalembert.errors import SettingError
from dalembert.kernels.call import settings


@pytest.fixture(autouse=True)
def restored():
    before = settings.get_num_threads()
    yield
    settings.set_num_threads(before)


def test_machine_code_reads_what_was_set():
    for n in (1, np.int64(3), settings.MOST_THREADS):
        settings.set_num_threads(n)
        assert settings.get_num_threads() == n
        assert ctypes.c_int32.from_address(settings.settings_address()).value == n


@pytest.mark.parametrize("n", [0, -1, 2.0, "2", None, True, settings.MOST_THREADS + 1])
def test_impossible_numbers_are_refused(n):
    before = settings.get_num_threads()
    with pytest.raises(SettingError, match="number of threads"):
        settings.set_num_threads(n)
    assert settings.get_num_threads() == before


def in_new_process(value):
    code = "from dalembert.kernels.call import settings; print(settings.get_num_threads())"
    environment = {**os.environ, "DALEMBERT_NUM_THREADS": value}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_the_environment_decides_at_the_start():
    assert in_new_process(" 3 ").stdout.strip() == "3"
    assert in_new_process("").stdout.strip() == str(len(os.sched_getaffinity(0)))
    failed = in_new_process("many")
    assert failed.returncode != 0
    assert "DALEMBERT_NUM_THREADS: the number of threads must be" in failed.stderr
