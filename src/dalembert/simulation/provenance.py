"""Provenance of a run: the digest of its system, and the model of its robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ModelError, SimulationError
from dalembert.model.serialization import model_from_text, model_text
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.tracing.function import DIGEST_FORMAT

if TYPE_CHECKING:
    import xarray


def digests(content: str) -> dict[str, str]:
    """Attributes of a run that identify its system."""
    return {"model_digest": content, "digest_format": str(DIGEST_FORMAT)}


def model_attributes(system: System, parameters: np.ndarray | None) -> dict[str, str]:
    """Attributes of a run: the digest of the system, and the model of its robot where it has one.

    For a constrained system it is the model of the tree below the constraints.
    """
    dynamics: Any = system.dynamics
    attributes = digests(dynamics.content)
    if parameters is None and dynamics.parameters:
        return attributes  # the values of the parameters are unknown
    if parameters is not None:
        if parameters.ndim != 1:
            return attributes
        dynamics = dynamics.bind(parameters)
    while (wrapped := getattr(dynamics, "dynamics", None)) is not None:
        dynamics = wrapped
    model = getattr(dynamics, "model", None)
    if model is None:
        return attributes
    return attributes | {"model": model_text(model), "model_content": model.content}


def system_of(run: xarray.Dataset, system: System | None = None) -> System:
    """The system of a run: `system`, checked by its digest, or the robot stored in the run.

    Parameters
    ----------
    run
        A result of `simulate`.
    system
        The system that is expected to have made it.

    Returns
    -------
    System

    Raises
    ------
    SimulationError
        If `system` is another one, or if the run stores no model and no system is given.
    """
    name, digest = run.attrs.get("system", "?"), str(run.attrs.get("model_digest"))
    if system is not None:
        if system.dynamics.content != digest:
            run_format = str(run.attrs.get("digest_format", "1"))
            if run_format != str(DIGEST_FORMAT):
                raise SimulationError(
                    f"the run of {name!r} has a digest of format {run_format}, made by another "
                    f"version of this package; this one compares format {DIGEST_FORMAT}. Simulate again"
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
