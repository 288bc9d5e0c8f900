"""Break the code on purpose, one line at a time, and see whether the named tests notice.

    python tools/mutations.py                 # all of tools/mutations.toml, some three minutes
    python tools/mutations.py kinetic seal    # those whose names contain one of these words

Each mutation is made in a copy of the repository, and its tests must fail there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
COPIED = ("src", "tests", "docs", "benchmarks", "tools")
FILES = ("conftest.py", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")


class Mutation(NamedTuple):
    name: str
    file: str  # below src/dalembert
    find: str  # stands there once
    replace: str
    tests: list[str]  # at least one of them fails on the changed code

    def applied(self, text: str) -> str:
        """The text of the file with the mutation."""
        if text.count(self.find) != 1:
            raise ValueError(
                f"{self.name}: {self.find!r} must stand once in {self.file}, "
                f"it stands {text.count(self.find)} times"
            )
        return text.replace(self.find, self.replace)


def read_mutations(words: list[str]) -> list[Mutation]:
    """The mutations whose names contain one of the words; all without words."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutation"]
    mutations = [Mutation(**entry) for entry in entries]
    return [m for m in mutations if not words or any(word in m.name for word in words)]


def is_noticed(mutation: Mutation, copy: Path) -> bool:
    """Whether a test fails on the changed code; the copy is as before afterwards."""
    path = copy / "src" / "dalembert" / mutation.file
    original = path.read_text(encoding="utf-8")
    path.write_text(mutation.applied(original), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": "src", "DALEMBERT_HYPOTHESIS": "quick"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", *mutation.tests]
    try:
        result = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    finally:
        path.write_text(original, encoding="utf-8")
    if result.returncode not in (0, 1):
        raise RuntimeError(f"{mutation.name}: pytest did not run:\n{result.stdout[-2000:]}")
    return result.returncode == 1


def main(words: list[str]) -> int:
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("_build"))
        for name in FILES:
            shutil.copy(ROOT / name, copy / name)
        mutations = read_mutations(words)
        for mutation in mutations:
            noticed = is_noticed(mutation, copy)
            missed += [] if noticed else [mutation.name]
            print(f"{'noticed' if noticed else 'MISSED ':8} {mutation.name}", flush=True)
    print(f"{len(mutations) - len(missed)} of {len(mutations)} mutations were noticed")
    return bool(missed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
