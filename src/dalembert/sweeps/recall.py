"""Stored studies: opened without what made them, and the study that a result came from."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.errors import SimulationError
from dalembert.files import require_regular
from dalembert.sweeps.store import STATUS, difference, identity_text, opened
from dalembert.sweeps.study import Study

if TYPE_CHECKING:
    import xarray

KEPT = 8  # studies of this process that can be asked for more

_made: OrderedDict[str, Study] = OrderedDict()


def remember(study: Study) -> None:
    """Let this process know the study again by what is written in its results."""
    _made[identity_text(study)] = study
    while len(_made) > KEPT:
        _made.popitem(last=False)


def study_of(found: xarray.Dataset) -> Study | None:
    """The study of a result, if it was computed or gone on with in this process."""
    return _made.get(str(found.attrs.get("study")))


def require_same(study: Study, found: xarray.Dataset) -> None:
    """An error that says what differs unless the result is of this study."""
    differs = difference(json.loads(str(found.attrs["study"])), study)
    if differs:
        raise SimulationError(f"the store holds another study: {differs}")


def is_study(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is the store of a sweep."""
    try:
        facts = Path(path) / ".zattrs"
        require_regular(facts)
        said = json.loads(facts.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and {"study", "order"} <= set(said)


def open_study(path: str | os.PathLike[str]) -> xarray.Dataset:
    """What is in the store of a sweep so far, lazily; runs that are not done have the status −1."""
    try:
        found = opened(Path(path))
        if not isinstance(json.loads(found.attrs["study"]), dict):
            raise ValueError("what it says of its study is no table")
        if found[STATUS].dims != ("run",):
            raise ValueError("its status is not one number for each run")
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise SimulationError(f"{str(path)!r} cannot be read as a study: {error}") from None
    return found
