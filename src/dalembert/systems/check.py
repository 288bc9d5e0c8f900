"""Is M regular? asked before it is inverted, at states that are random but always the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import SingularMassMatrixError
from dalembert.systems.euler_lagrange import mass_matrix

if TYPE_CHECKING:
    from dalembert.systems.energies import Energies

# what rounding leaves of a zero, after a few dozen operations on numbers of order one
ROUNDING = 1e-10
# a direction with this little inertia beside that of its coordinates is rounding, not inertia
RELATIVE_INERTIA = 1e-13


def states(
    energies: Energies, count: int = 24
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    """Random q (large and small), velocities, parameters (defaults or positive numbers) and times."""
    rng = np.random.default_rng(0)
    defaults = energies.parameters.values()
    for k in range(count):
        free = rng.uniform(0.5, 1.5, len(energies.parameters))
        known = [x if d is None else d for x, d in zip(free, defaults, strict=True)]
        reach = (1.0, 0.1, 0.01, 0.001)[k % 4]
        q = reach * rng.uniform(-1.0, 1.0, energies.nq)
        yield q, rng.uniform(0.5, 1.5, energies.nq), np.array(known, dtype=float), 0.1 * k


def require_regular(energies: Energies) -> None:
    """Raise if M(q) is singular at every one of some random states, naming the null direction."""
    lightest = None
    for q, _, values, t in states(energies):
        M = mass_matrix(energies.bind(values).at_time(t), q)
        if not np.isfinite(M).all():
            continue
        inertia, direction = least_inertia(M)
        if inertia > RELATIVE_INERTIA:
            return
        lightest = (inertia, direction)
    if lightest is not None:
        raise singular(energies, *lightest)


def least_inertia(M: np.ndarray) -> tuple[float, np.ndarray]:
    """The smallest eigenvalue of M beside its diagonal, 1 for a diagonal M, and its direction.

    >>> inertia, direction = least_inertia(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> abs(inertia) < 1e-15, direction / direction[0]
    (True, array([1., 1.]))
    """
    diagonal = np.diag(M)
    weightless = np.flatnonzero(np.abs(diagonal) <= RELATIVE_INERTIA * np.abs(M).max())
    if weightless.size:
        return float(diagonal[weightless[0]] * 0.0), np.eye(len(M))[weightless[0]]
    if diagonal.min() < 0.0:
        return -1.0, np.eye(len(M))[diagonal.argmin()]
    root = np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(M / np.outer(root, root))
    return float(values[0]), vectors[:, 0] / root


def singular(
    energies: Energies, inertia: float, direction: np.ndarray, where: str = ""
) -> SingularMassMatrixError:
    """The error that names the direction in which nothing, or less than nothing, resists."""
    what = "singular" if inertia >= -ROUNDING else "not positive definite"
    named = combination(direction, energies.coordinates)
    return SingularMassMatrixError(
        f"{energies.name}: M(q) is {what}{where}: the kinetic energy does not grow with the "
        f"velocity along {named}, so the accelerations are not determined; give this motion "
        "inertia, leave out a coordinate or choose others"
    )


def combination(direction: np.ndarray, names: tuple[str, ...]) -> str:
    """A direction in the names of the coordinates, its largest component one.

    >>> combination(np.array([0.5, 0.0, -1.0]), ("x", "y", "z"))
    '0.5 x − z'
    >>> combination(np.array([0.0, 2.0]), ("x", "theta"))
    'theta'
    """
    scaled = direction / np.abs(direction).max()
    kept = [(v, name) for v, name in zip(scaled, names, strict=True) if abs(v) > 1e-6]
    flip = np.sign(kept[0][0])
    text = " ".join(
        f"{'+' if v * flip > 0 else '−'} {name if abs(v) > 1 - 1e-6 else f'{abs(v):.4g} {name}'}"
        for v, name in kept
    )
    return text.removeprefix("+ ")
