"""What a fit is asked for, checked once and the same from there on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.identification.findings import require_known
from dalembert.identification.shapes import Shape
from dalembert.identification.solving import METHODS
from dalembert.model.frozen import Frozen


def tuple_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Several names, or one in place of them."""
    return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True, eq=False)
class Settings(Frozen):
    """The keywords of `identify` besides `held_out`."""

    friction: tuple[str, ...]
    rotor: bool
    links: tuple[str, ...] | None
    method: str
    robust: bool
    cutoff: float | None  # Hz
    delay: float  # s
    consistent: bool
    total_mass: float | None  # kg
    shapes: Mapping[str, Shape] | None
    distance: str
    doubts: str

    def __post_init__(self) -> None:
        """Refuse methods and doubts that nobody knows."""
        methods = (*METHODS, "simulation")
        if self.method not in methods:
            raise UnknownNameError(
                f"method={self.method!r}{suggest(str(self.method), list(methods))} must be one of "
                f"{', '.join(map(repr, methods))}"
            )
        require_known(self.doubts)
        super().__post_init__()

    @property
    def linear(self) -> str:
        """The method of the linear fit, with which a simulated one begins."""
        return self.method if self.method in METHODS else "inverse_dynamics"

    def by_name(self) -> dict[str, Any]:
        """All of them, as `identify` takes them."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return found | {"shapes": None if self.shapes is None else dict(self.shapes)}
