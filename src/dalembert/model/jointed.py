"""What follows from the joints of a mechanism alone: names, kinds and limits of its coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.model.parameter import parameter_vector
from dalembert.spatial.arrays import Twist
from dalembert.text import short, suggest
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.elements import Elements, Tendon
    from dalembert.model.model import Body, Frame, JointInfo, Model


MANY_VALUES = 1024  # of parameters, kept as possible


class Kinds(NamedTuple):
    """What each entry is: "angle", "length", "quaternion", or "unknown"."""

    q: tuple[str, ...]  # (nq)
    v: tuple[str, ...]  # (nv) of q̇, q̈ and τ; no quaternions


class Jointed:
    """A mechanism with joints: what both a tree and a tree with followers know of themselves."""

    # declared for those who inherit; properties there may be read-only
    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def joints(self) -> tuple[JointInfo, ...]: ...
        @property
        def bodies(self) -> tuple[Body, ...]: ...
        @property
        def frames(self) -> Mapping[str, Frame]: ...
        @property
        def elements(self) -> Elements: ...
        @property
        def parameters(self) -> Mapping[str, float | None]: ...
        @property
        def tree(self) -> Model: ...

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return int(self.joints[-1].q.stop) if self.joints else 0

    @property
    def nv(self) -> int:
        """Number of velocity coordinates (degrees of freedom)."""
        return int(self.joints[-1].v.stop) if self.joints else 0

    @property
    def tendons(self) -> tuple[Tendon, ...]:
        """The tendons, in the order of `tendon_length`."""
        return self.elements.tendons

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates (nq): the joint's, numbered if it has several."""
        return _named(self.joints, [joint.q for joint in self.joints])

    @cached_property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities (nv)."""
        return _named(self.joints, [joint.v for joint in self.joints])

    @cached_property
    def kinds(self) -> Kinds:
        """What every entry of q, and of q̇ and τ, is."""
        of_q: list[str] = []
        of_v: list[str] = []
        for joint in self.joints:
            charts = [self.bodies[index].chart for index in joint.bodies]
            rates = ["angle" if _turns(s) else "length" for c in charts for s in c.subspace.T]
            of_v += rates
            turning = charts[-1].nq > charts[-1].nv  # three angular velocities, one quaternion
            of_q += [*rates[:-3], *["quaternion"] * 4] if turning else rates
        return Kinds(tuple(of_q), tuple(of_v))

    @property
    def lower(self) -> np.ndarray:
        """Lower limits (nv,) of the joints, rad or m; −∞ where there is none, as in a quaternion."""
        return self._limits("lower", -np.inf)

    @property
    def upper(self) -> np.ndarray:
        """Upper limits (nv,) of the joints, rad or m; ∞ where there is none."""
        return self._limits("upper", np.inf)

    @property
    def velocity_limit(self) -> np.ndarray:
        """Largest speeds (nv,) of the joints, rad/s or m/s; ∞ where there is none."""
        return self._of_each("velocity_limit")

    @property
    def effort_limit(self) -> np.ndarray:
        """Largest torques or forces (nv,) of the drives, N m or N; ∞ where there is none."""
        return self._of_each("effort_limit")

    def _of_each(self, which: str) -> np.ndarray:
        found = np.full(self.nv, np.inf)
        for joint in self.joints:
            found[joint.v] = getattr(joint, which)
        return found

    def _limits(self, side: str, none: float) -> np.ndarray:
        found = np.full(self.nv, none)
        for joint in self.joints:
            given = getattr(joint, side)
            if len(given) == joint.v.stop - joint.v.start:
                found[joint.v] = given
        return found

    def children(self, index: int) -> tuple[int, ...]:
        """Indices of the bodies whose parent is `index`."""
        return tuple(i for i, body in enumerate(self.bodies) if body.parent == index)

    @cached_property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """For every body, the bodies from the base to it (itself last)."""
        paths: list[tuple[int, ...]] = []
        for i, body in enumerate(self.bodies):
            paths.append((*(paths[body.parent] if body.parent >= 0 else ()), i))
        return tuple(paths)

    def frame(self, name: str) -> Frame:
        """The frame of that name, or an error with the nearest name and all there are."""
        if name not in self.frames:
            raise UnknownNameError(
                f"{self.name} has no frame {short(name)}{suggest(name, list(self.frames))}"
            )
        return self.frames[name]

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Vector of parameter values: the defaults, overridden by `given`."""
        return parameter_vector(self.name, self.parameters, given)

    def require_possible(self, values: np.ndarray) -> None:
        """An error where `values` (n_parameters,) make a link or a drive that cannot be."""
        from dalembert.model.possible import require_possible

        key = np.asarray(values, dtype=float).tobytes()
        if key not in self._possible:
            require_possible(self.tree, values)
            if len(self._possible) >= MANY_VALUES:
                self._possible.clear()
            self._possible.add(key)

    @cached_property
    def _possible(self) -> set[bytes]:
        """Values that were looked at: a call with them costs a look into this set."""
        return set()


def _named(joints: Sequence[JointInfo], slices: list[slice]) -> tuple[str, ...]:
    found: list[str] = []
    for joint, own in zip(joints, slices, strict=True):
        count = own.stop - own.start
        found += [joint.name] if count == 1 else [f"{joint.name}[{k}]" for k in range(count)]
    return tuple(found)


def _turns(column: Twist) -> bool:
    return is_symbolic(column) or bool(np.any(column[3:6]))
