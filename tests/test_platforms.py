"""Other systems, as far as this one can be made to look like them: nothing of POSIX at import."""

import os
import subprocess
import sys

# what others import is imported first: it is dalembert that is looked at
OTHERS = """
import importlib, json, os, pkgutil, signal, sys, types
import llvmlite.binding, numpy as np, rich.console, scipy.sparse.linalg, sympy, typer, xarray
import asyncio, concurrent.futures.process, http.server, multiprocessing, subprocess, urllib.request
import webbrowser, zipfile
import scipy.optimize, scipy.integrate, scipy.interpolate, scipy.signal, scipy.spatial.transform

NOT_THERE = "fcntl grp pwd resource syslog termios tty pty readline curses _posixsubprocess".split()

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in NOT_THERE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in NOT_THERE:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocked())
for name in '''fork forkpty geteuid getuid getegid getgid getppid register_at_fork killpg setsid nice
        uname sched_getaffinity sysconf getloadavg chown fchmod mkfifo pread O_NOFOLLOW O_CLOEXEC
        O_DIRECTORY O_NONBLOCK O_SYNC'''.split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGKILL SIGHUP SIGALRM SIGCHLD SIGUSR1 SIGPIPE SIGQUIT alarm setitimer".split():
    delattr(signal, name)
os.supports_dir_fd, os.supports_fd = set(), set()
"""
EVERYTHING = """
here, sys.platform = sys.platform, "win32"
import dalembert as dl
for found in pkgutil.walk_packages(dl.__path__, "dalembert."):
    if found.name != "dalembert.__main__":
        try:
            importlib.import_module(found.name)
        except (ModuleNotFoundError, dl.DalembertError) as error:
            # an extra that is not installed
            missing = getattr(error, "name", None) in ("jax", "torch")
            assert missing or ": pip install " in str(error), error
sys.platform = here
"""
USED = """
from dalembert.kernels.call import cache
from dalembert.tracing.interpreter import interpret
robot = dl.load("planar_2r")
program = robot.program("mass_matrix")
(found,) = interpret(program, np.array([[0.1, 0.2]]))
"""
SCRIPT = f"""{OTHERS}{EVERYTHING}{USED}
assert np.allclose(robot.mass_matrix([[0.1, 0.2]] * 5), found[0])
run = dl.simulate(robot, [0.1, 0.0], [0.0, 0.0], duration=0.05)
assert run.attrs["status"] == "complete"
assert sum(one.intact for one in cache.entries()) > 1
"""


def test_nothing_of_posix_is_needed(tmp_path):
    """Every module imported under the name of Windows, then on this machine without what is POSIX's:

    a robot traced, interpreted, compiled, simulated, and its code cached.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:dalembert", "-c", SCRIPT],
        capture_output=True,
        text=True,
        env={**os.environ, "DALEMBERT_CACHE": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stderr[-3000:]
