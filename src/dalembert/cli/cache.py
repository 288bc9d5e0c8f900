"""`dalembert cache`: size and integrity of the cache of compiled kernels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from dalembert.cli.output import console, print_json, say
from dalembert.errors import DalembertError
from dalembert.kernels.call import cache as kernel_cache
from dalembert.kernels.call import vector_width

if TYPE_CHECKING:
    from dalembert.cli.app import CacheOptions


def cache(options: CacheOptions) -> None:
    """Show where the cache is and how much it holds; verify it, or clear it."""
    if options.verify and options.clear:
        raise typer.BadParameter("choose one of --verify and --clear")
    if options.clear:
        _clear()
    elif options.verify:
        _verify()
    else:
        _show(options.json)


def _show(as_json: bool) -> None:
    entries, folder = kernel_cache.entries(), kernel_cache.directory()
    size, used = sum(entry.size for entry in entries), [entry.used for entry in entries]
    if as_json:
        print_json(
            {
                "folder": None if folder is None else str(folder),
                "entries": len(entries),
                "bytes": size,
                "limit": kernel_cache.limit(),
                "vectors": vector_width.chosen_target().bits,
                "damaged": [entry.name for entry in entries if not entry.intact],
            }
        )
        return
    screen = console()
    if folder is None:
        say(screen, "The cache is off: every process compiles its kernels anew.")
        return
    say(screen, f"{folder}")
    share = f"{_size(size)} of {_size(kernel_cache.limit())} (DALEMBERT_CACHE_LIMIT)"
    say(screen, f"{len(entries):,} entries, {share}")
    if entries:
        say(screen, f"last used {_ago(max(used))}, the oldest {_ago(min(used))}")
    say(screen, vector_width.describe())


def _verify() -> None:
    """Read every entry; damaged ones, which are never run, are removed and named."""
    entries = kernel_cache.entries()
    damaged = [entry.name for entry in entries if not entry.intact]
    kernel_cache.discard(damaged)
    screen = console()
    for name in damaged:
        say(screen, f"removed {name}: its bytes are not those that were written")
    say(screen, f"{len(entries) - len(damaged):,} of {len(entries):,} entries are whole")
    if damaged:
        raise DalembertError(
            f"{len(damaged)} entries were damaged; their kernels are compiled anew when they are "
            "needed. If this happens again, look at the disk"
        )


def _clear() -> None:
    before = kernel_cache.entries()
    kernel_cache.clear()
    after = kernel_cache.entries()
    freed = sum(entry.size for entry in before) - sum(entry.size for entry in after)
    say(console(), f"removed {len(before) - len(after):,} entries, {_size(freed)}")


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:,.4g} GiB"


def _ago(instant: float) -> str:
    seconds = max(0.0, time.time() - instant)
    for name, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name} ago"
    return "just now" if seconds < 2 else f"{seconds:.0f} seconds ago"
