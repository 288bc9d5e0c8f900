"""Many processes that read, write and evict in one small cache at once.

    python -m tests.kernels.eviction 50 200          # processes, steps of each

Every payload follows from its key, so that a wrong, half or foreign entry is seen by whoever reads it.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from dalembert.kernels.call import cache

KEYS, LIMIT = 40, 100_000  # bytes: some ten of the entries


def payload(key: int) -> bytes:
    """Some thousand bytes that belong to the key."""
    return hashlib.sha256(str(key).encode()).digest() * (100 + 10 * key)


def work(seed: int, steps: int) -> tuple[int, int]:
    """(found, not there) of random reads and writes; what is found is what belongs to its key."""
    rng = np.random.default_rng(seed)
    hits = missed = 0
    for key in rng.integers(KEYS, size=steps).tolist():
        stored = cache.get(f"key {key}")
        assert stored in (None, payload(key)), f"key {key} has the bytes of something else"
        if stored is None:
            missed += 1
            cache.put(f"key {key}", payload(key))
        else:
            hits += 1
    return hits, missed


def together(processes: int, steps: int, folder: Path) -> tuple[int, int]:
    """(found, not there) of all of them; afterwards every entry is whole and all fit the limit."""
    there = {"DALEMBERT_CACHE": str(folder), "DALEMBERT_CACHE_LIMIT": str(LIMIT)}
    command = [sys.executable, "-m", "tests.kernels.eviction", "--work"]
    started = [
        subprocess.Popen(
            [*command, str(seed), str(steps)],
            env={**os.environ, **there},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(processes)
    ]
    counts = []
    for process in started:
        out, complaints = process.communicate()
        assert process.returncode == 0 and not complaints, complaints
        counts.append(tuple(map(int, out.split())))
    left = [path for path in folder.iterdir() if path.suffix == ".tmp"]
    os.environ.update(there)
    entries = cache.entries()
    assert not left and all(entry.intact for entry in entries)
    assert 0 < sum(entry.size for entry in entries) <= LIMIT
    return sum(hits for hits, _ in counts), sum(missed for _, missed in counts)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        print(*work(*map(int, sys.argv[2:4])))
    else:
        with tempfile.TemporaryDirectory() as top:
            hits, missed = together(*map(int, sys.argv[1:3]), Path(top) / "cache")
        print(
            f"{hits} entries found, {missed} not there; all whole, none foreign, within the limit"
        )
