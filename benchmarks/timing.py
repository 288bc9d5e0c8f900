"""Fair timing on a noisy machine: candidates take turns, and each keeps its best time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Candidate:
    """One way to compute some states; `empty` are the same calls with next to nothing to compute."""

    call: Callable[[], object]
    states: int
    empty: Callable[[], object] | None = None


def nanoseconds(candidates: Mapping[str, Candidate], rounds: int = 40) -> dict[str, float]:
    """Best nanoseconds per state of each candidate, less what its calls alone cost."""
    calls = {name: each.call for name, each in candidates.items()}
    empty = {name: each.empty for name, each in candidates.items() if each.empty}
    best = interleaved(calls | {f"{name}, empty": call for name, call in empty.items()}, rounds)
    return {
        name: (best[name] - best.get(f"{name}, empty", 0.0)) / each.states * 1e9
        for name, each in candidates.items()
    }


def interleaved(
    candidates: Mapping[str, Callable[[], object]], rounds: int = 40, slice_s: float = 2e-3
) -> dict[str, float]:
    """Best seconds per call of each candidate, measured in turns so that noise hits all alike."""
    repeats = {name: _repeats(call, slice_s) for name, call in candidates.items()}
    best = dict.fromkeys(candidates, np.inf)
    for _ in range(rounds):
        for name, call in candidates.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats[name])
    return best


def _repeats(call: Callable[[], object], slice_s: float) -> int:
    call()
    start = time.perf_counter()
    call()
    return max(1, round(slice_s / max(time.perf_counter() - start, 1e-9)))
