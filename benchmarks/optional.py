"""Packages that a comparison needs and that may not be here: rows of a missing peer are left out."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")
_announced: set[str] = set()


class MissingPeer(SystemExit):
    """A peer that is not installed is needed; a benchmark that cannot do without it ends so."""


class _Missing:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise MissingPeer(f"{self._name} is not installed")


def optional(name: str, peer: str = "") -> Any:
    """The module of this name, or one in its place that raises `MissingPeer` when it is used.

    `peer` is the package to name where it is another one's absence that keeps `name` from loading.
    """
    try:
        return import_module(name)
    except ImportError:
        return _Missing(peer or name)


def if_installed(make: Callable[[], T]) -> T | None:
    """What is made with a peer, or None, with a message, where the peer is not installed."""
    try:
        return make()
    except MissingPeer as missing:
        if str(missing) not in _announced:
            print(f"{missing}: its rows are left out")
        _announced.add(str(missing))
        return None
