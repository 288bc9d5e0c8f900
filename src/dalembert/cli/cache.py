"""`dalembert cache`: what is kept of compiled kernels, and whether it is whole."""

from __future__ import annotations

import time

from dalembert.cli.output import console, print_json, say
from dalembert.errors import DalembertError
from dalembert.kernels.call import cache, registers


def show(as_json: bool) -> None:
    """Where the cache is, how much it holds, and when it was used."""
    found, folder = cache.entries(), cache.directory()
    sizes, used = sum(one.size for one in found), [one.used for one in found]
    if as_json:
        print_json(
            {
                "folder": None if folder is None else str(folder),
                "entries": len(found),
                "bytes": sizes,
                "limit": cache.limit(),
                "vectors": registers.chosen().bits,
                "damaged": [one.name for one in found if not one.intact],
            }
        )
        return
    screen = console()
    if folder is None:
        say(screen, "The cache is off: every process compiles its kernels anew.")
        return
    say(screen, f"{folder}")
    share = f"{_size(sizes)} of {_size(cache.limit())} (DALEMBERT_CACHE_LIMIT)"
    say(screen, f"{len(found):,} entries, {share}")
    if found:
        say(screen, f"last used {_ago(max(used))}, the oldest {_ago(min(used))}")
    say(screen, registers.said())


def verify() -> None:
    """Read every entry; damaged ones, which are never run, are removed and named."""
    found = cache.entries()
    damaged = [one.name for one in found if not one.intact]
    cache.discard(damaged)
    screen = console()
    for name in damaged:
        say(screen, f"removed {name}: its bytes are not those that were written")
    say(screen, f"{len(found) - len(damaged):,} of {len(found):,} entries are whole")
    if damaged:
        raise DalembertError(
            f"{len(damaged)} entries were damaged; their kernels are compiled anew when they are "
            "needed. If this happens again, look at the disk"
        )


def clear() -> None:
    """Remove all entries."""
    before = cache.entries()
    cache.clear()
    left = cache.entries()
    gone = sum(one.size for one in before) - sum(one.size for one in left)
    say(console(), f"removed {len(before) - len(left):,} entries, {_size(gone)}")


def _size(bytes_: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if bytes_ < 1024:
            return f"{bytes_:.4g} {unit}"
        bytes_ /= 1024
    return f"{bytes_:,.4g} GiB"


def _ago(instant: float) -> str:
    seconds = max(0.0, time.time() - instant)
    for name, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name} ago"
    return "just now" if seconds < 2 else f"{seconds:.0f} seconds ago"
