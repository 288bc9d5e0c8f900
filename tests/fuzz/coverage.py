"""Which lines of the package a case reaches that none before it did: what guides the search.

A function is watched until all its lines have been seen, so that after some hundred cases hardly
anything is traced any more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import dalembert

PACKAGE = dalembert.__path__[0]


class Coverage:
    """Lines of the package that were seen so far, by function."""

    def __init__(self) -> None:
        self.left: dict[CodeType, set[int]] = {}
        self.new = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count lines that are new, in `new`, while the block runs."""
        self.new, before = 0, sys.gettrace()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)

    def _entered(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        left = self.left.get(code)
        if left is None:
            inside = code.co_filename.startswith(PACKAGE)
            left = {line for *_, line in code.co_lines() if line} if inside else set()
            self.left[code] = left
        return self._trace_line if left else None

    def _trace_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        left = self.left[frame.f_code]
        if frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self.new += 1
        return self._trace_line
