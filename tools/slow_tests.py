"""Write `tests/slow_tests.txt`, the tests that `make quick` leaves out, from a run with durations.

    python -m pytest -n 2 --durations=0 --durations-min=0.05 > run.txt
    python tools/slow_tests.py run.txt

A test function is slow where one of its cases takes longer than `LIMIT`, its kernels included.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

LIMIT = 0.2  # s
LIST = Path(__file__).parents[1] / "tests" / "slow_tests.txt"
LINE = re.compile(r"^([\d.]+)s (?:call|setup) +tests/([^\s\[]+)(\[.*)?$", re.MULTILINE)
HEADING = """# Test functions with a case longer than {limit} s; `make quick` leaves them out.
# Made by tools/slow_tests.py.
"""


def slow_functions(text: str) -> list[str]:
    """Names "folder/file.py::function" in the durations that pytest printed."""
    seconds: dict[str, float] = defaultdict(float)
    for duration, name, case in LINE.findall(text):
        seconds[name + case] += float(duration)
    return sorted({name.partition("[")[0] for name, total in seconds.items() if total > LIMIT})


if __name__ == "__main__":
    names = slow_functions(Path(sys.argv[1]).read_text(encoding="utf-8"))
    LIST.write_text(HEADING.format(limit=LIMIT) + "\n".join(names) + "\n", encoding="utf-8")
    print(f"{len(names)} slow test functions in {LIST}")
