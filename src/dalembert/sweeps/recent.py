"""Stored studies: their datasets, and the studies of results of this process."""

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

RECENT = 8  # studies of this process that results can be continued with

_made: OrderedDict[str, Study] = OrderedDict()


def remember(study: Study) -> None:
    """Store the study by the identity in its results."""
    _made[identity_text(study)] = study
    while len(_made) > RECENT:
        _made.popitem(last=False)


def study_of(result: xarray.Dataset) -> Study | None:
    """The study of a result that was computed or continued in this process, else None."""
    return _made.get(str(result.attrs.get("study")))


def require_same(study: Study, result: xarray.Dataset) -> None:
    """An error with the difference unless the result is of this study."""
    differs = difference(json.loads(str(result.attrs["study"])), study)
    if differs:
        raise SimulationError(f"the store holds another study: {differs}")


def is_study(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is the store of a sweep."""
    try:
        file = Path(path) / ".zattrs"
        require_regular(file)
        attributes = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(attributes, dict) and {"study", "order"} <= set(attributes)


def open_study(path: str | os.PathLike[str]) -> xarray.Dataset:
    """The dataset of a sweep's store, lazily; runs that are not done have the status −1."""
    try:
        result = opened(Path(path))
        if not isinstance(json.loads(result.attrs["study"]), dict):
            raise ValueError("what it says of its study is no table")
        if result[STATUS].dims != ("run",):
            raise ValueError("its status is not one number for each run")
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise SimulationError(f"{str(path)!r} cannot be read as a study: {error}") from None
    return result
