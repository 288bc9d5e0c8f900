"""An AArch64 Python with this package's dependencies, run by QEMU: `python tools/aarch64.py`.

Debian's arm64 packages and the wheels of PyPI go into build/aarch64; nothing is installed into this
system. Then the tests that touch machine code run there: compiled loops and call stubs with the
ABI of that machine, sine and cosine, layouts, rollouts, formulations against each other. Needs
qemu-aarch64 (Debian: qemu-user), apt with the arm64 architecture added
(`dpkg --add-architecture arm64; apt-get update`) and this project's .venv for pip.

    python tools/aarch64.py                     the tests below
    python tools/aarch64.py tests/linalg -x     others, with pytest's options
    python tools/aarch64.py --python -c "…"     the interpreter itself
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from shlex import quote

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "aarch64"
PACKAGES = (
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "zlib1g"),
    *("libexpat1", "libffi8", "libbz2-1.0", "liblzma5", "libssl3", "libsqlite3-0", "libuuid1"),
    *("libncursesw6", "libtinfo6", "libreadline8", "libcrypt1", "libstdc++6", "libgcc-s1"),
    "libgomp1",
)
TESTING = ("pytest", "hypothesis", "mpmath")
GLIBC = ("manylinux2014", "manylinux_2_17", "manylinux_2_24", "manylinux_2_27", "manylinux_2_28")
TESTS = (
    *(f"tests/kernels/test_{name}.py" for name in ("sincos", "fast_call", "loop", "gufunc")),
    *(f"tests/kernels/test_{name}.py" for name in ("extremes", "codegen", "layout", "rollout")),
    *(f"tests/kernels/test_{name}.py" for name in ("kernel", "load", "stack", "settings")),
    *("tests/kernels/test_envelope.py", "tests/linalg"),
)
ELSEWHERE = "not (in_c or in_cuda or bit)"  # their compiler writes for this machine


def main(arguments: list[str]) -> int:
    """Make what is missing, then run; the exit code is that of what ran."""
    for tool in ("qemu-aarch64", "apt-get", "dpkg"):
        if shutil.which(tool) is None:
            print(f"{tool} is not here; this needs Debian's packages and QEMU", file=sys.stderr)
            return 2
    _system()
    _wheels()
    if arguments[:1] == ["--python"]:
        return _python(arguments[1:])
    chosen = arguments or [*TESTS, "-k", ELSEWHERE]
    plain = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "ignore"]
    return _python(["-m", "pytest", *plain, *chosen])


def _system() -> None:
    """Debian's packages, unpacked."""
    if (HOME / "system/usr/bin/python3.11").exists():
        return
    folder = HOME / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{name}:arm64" for name in PACKAGES]
    subprocess.run(["apt-get", "download", "-q", *names], cwd=folder, check=True)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, HOME / "system"], check=True)


def _wheels() -> None:
    """The dependencies, as wheels for that machine in the versions of constraints.txt."""
    site = HOME / "site"
    if site.exists():
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.match(r"[\w.-]+", text).group() for text in project["dependencies"]]  # type: ignore[union-attr]
    platforms = [f"--platform={glibc}_aarch64" for glibc in GLIBC]
    command = [
        *(ROOT / ".venv/bin/python", "-m", "pip", "download", "-q", "--dest", HOME / "wheels"),
        *(*platforms, "--python-version=3.11", "--only-binary=:all:"),
        *("--constraint", ROOT / "constraints.txt", *names, *TESTING),
    ]
    subprocess.run(command, check=True)
    unfinished = HOME / "site.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    for wheel in (HOME / "wheels").glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(unfinished)
    # a process that starts another Python starts this one
    (unfinished / "sitecustomize.py").write_text(
        f"import sys\nsys.executable = {str(HOME / 'python')!r}\n"
    )
    unfinished.rename(site)
    system = HOME / "system"
    start = f"exec qemu-aarch64 -L {quote(str(system))} {quote(str(system))}/usr/bin/python3.11"
    (HOME / "python").write_text(f'#!/bin/sh\n{start} "$@"\n')
    (HOME / "python").chmod(0o755)


def _python(arguments: list[str]) -> int:
    paths = [ROOT / "src", ROOT, HOME / "site"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    environment.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    return subprocess.run([HOME / "python", *arguments], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
