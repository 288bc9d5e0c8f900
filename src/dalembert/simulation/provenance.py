"""Which system made a run: its digest is compared, and its model is carried along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ModelError, SimulationError
from dalembert.model.stored import model_from_text, model_text
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.tracing.function import DIGEST_FORMAT

if TYPE_CHECKING:
    import xarray


def digests(content: str) -> dict[str, str]:
    """Attributes by which a run names the system that made it."""
    return {"model_digest": content, "digest_format": str(DIGEST_FORMAT)}


def carried(system: System, parameters: np.ndarray | None) -> dict[str, str]:
    """Attributes of a run: the digest of the system, and the model of its robot where it has one.

    Of a constrained system the model is that of the tree which its constraints hold.
    """
    made: Any = system.dynamics
    facts = digests(made.content)
    if parameters is None and made.parameters:
        return facts  # nobody knows which values they had
    if parameters is not None:
        if parameters.ndim != 1:
            return facts
        made = made.bind(parameters)
    while (held := getattr(made, "dynamics", None)) is not None:
        made = held
    model = getattr(made, "model", None)
    if model is None:
        return facts
    return facts | {"model": model_text(model), "model_content": model.content}


def system_of(run: xarray.Dataset, system: System | None = None) -> System:
    """The system that made the run: the one given, if it is, or the robot that the run carries.

    Another system than the one that made it is refused, and so is a run that carries none.
    """
    name, digest = run.attrs.get("system", "?"), str(run.attrs.get("model_digest"))
    if system is not None:
        if system.dynamics.content != digest:
            made_by = str(run.attrs.get("digest_format", "1"))
            if made_by != str(DIGEST_FORMAT):
                raise SimulationError(
                    f"the run of {name!r} has a digest of format {made_by}, made by another version of "
                    f"this package; this one makes and compares format {DIGEST_FORMAT}. Simulate again"
                )
            raise SimulationError(
                f"{system.name} is not the {name!r} that made this run: their digests are "
                f"{system.dynamics.content[:12]} and {digest[:12]}"
            )
        return system
    text = run.attrs.get("model")
    if not isinstance(text, str):
        raise SimulationError(f"the run of {name!r} does not carry its model; give the system")
    try:
        robot = Robot(model_from_text(text))
        if robot.model.content != str(run.attrs.get("model_content")):
            raise ModelError("its digest is another one")
    except ModelError as error:
        raise SimulationError(f"the model in the run of {name!r} is damaged: {error}") from None
    return robot


def span(widths: np.ndarray) -> str:
    """The width of all runs, or the least and the largest.

    >>> span(np.array([0.1, 0.1])), span(np.array([0.3, 0.1]))
    ('0.1', '0.1 to 0.3')
    """
    ends = dict.fromkeys(f"{w:.6g}" for w in (widths.min(initial=np.inf), widths.max(initial=0.0)))
    return " to ".join(ends)
