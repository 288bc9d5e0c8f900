"""Stamps as loggers write them: a time of day, a date and a time, seconds and nanoseconds apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dalembert.simulation.log_table import Table

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
OF_DAY = re.compile(r"\d{1,3}:\d\d:\d\d(\.\d+)?")
DAY = 86_400.0  # s
SECONDS, NANOSECONDS = ("secs", "sec"), ("nsecs", "nsec", "nanosecs", "nanosec")


def clock_seconds(cells: Any) -> np.ndarray | None:
    """Seconds (rows,) of a Series of texts that are times of a clock; None where they are not.

    A time of day goes on after midnight; what is no time among them is NaN.
    """
    import pandas

    texts = cells.astype(str).str.strip()
    first = next((text for text in texts if text), "")
    if MOMENT.fullmatch(first):
        moments = pandas.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
        whole = moments.dt.tz_localize(None).to_numpy("datetime64[ns]")
        return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) * 1e-9)
    if OF_DAY.fullmatch(first):
        t = pandas.to_timedelta(texts, errors="coerce").dt.total_seconds().to_numpy()
        return np.asarray(t + DAY * np.cumsum(np.diff(t, prepend=t[:1]) < -0.5 * DAY))
    return None


def with_whole_stamps(table: Table) -> Table:
    """The table whose seconds and nanoseconds in two columns, as in stamps of ROS, are one."""
    lower = [name.strip().casefold() for name in table.names]
    for s, name in enumerate(lower):
        word = next((w for w in SECONDS if re.search(rf"(^|[^a-z]){w}$", name)), None)
        if word is None:
            continue
        rest = name.removesuffix(word)
        n = next((lower.index(rest + w) for w in NANOSECONDS if rest + w in lower), None)
        if n is not None:
            values = np.array(table.values)
            values[:, s] += 1e-9 * values[:, n]
            kept = [k for k in range(len(lower)) if k != n]
            faults = {i: table.faults[k] for i, k in enumerate(kept) if k in table.faults}
            names = [table.names[k] for k in kept]
            return table._replace(names=names, values=values[:, kept], faults=faults)
    return table
