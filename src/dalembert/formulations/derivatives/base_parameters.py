"""Base inertial parameters: the fewest numbers that decide the torques, and how the others join them.

The columns of the regressor are linearly dependent: mass on a joint's axis may be counted to either of
the links it connects, and what a link's restricted motion never shows does not act at all (Gautier and
Khalil 1990; Gautier 1991, by QR). Columns are taken from the base outward, each kept only if it is
independent of those kept before, so dependent numbers move towards the base.

Second moments are taken as Σ = ∫ r rᵀ dm, in which a line of mass along z is one number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.formulations.derivatives.regressor import (
    PER_BODY,
    UPPER,
    inertial_parameters,
    regressor,
    with_inertial_parameters,
)
from dalembert.model import Model
from dalembert.model.body import ROUNDING
from dalembert.spatial.arrays import Matrix3
from dalembert.spatial.inertia import from_silver_tensor, silver_tensor

NAMES = ("m", "mx", "my", "mz", "Sxx", "Sxy", "Sxz", "Syy", "Syz", "Szz")
# the order of elimination within a body: parameters that can move inward along z come last
_ORDER = ("Sxx", "Sxy", "Sxz", "Syz", "Syy", "mx", "my", "mz", "Szz", "m")
_INDEPENDENT = 1e-9  # a column's part beyond the columns before it, relative to its length


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which second-moment parameters are kept, and what each kept one stands for.

    The base parameters are β = G φ, φ the moments of all bodies; Y_φ = Y_φ[:, kept] G.
    """

    names: tuple[str, ...]  # of all parameters φ
    kept: tuple[int, ...]  # positions of the base parameters in φ
    matrix: np.ndarray  # G (base, all)

    def explained(self) -> tuple[str, ...]:
        """Each base parameter as the combination of parameters that it is.

        >>> Grouping(("a:m", "b:m"), (0,), np.array([[1.0, 0.5]])).explained()
        ('a:m + 0.5 b:m',)
        """
        combinations = []
        for row in self.matrix:
            text = ""
            # first the parameters that count fully
            for k in sorted(np.flatnonzero(row), key=lambda k: (abs(row[k]) != 1.0, k)):
                factor = abs(float(f"{row[k]:.6g}"))
                name = self.names[k] if factor == 1.0 else f"{factor:g} {self.names[k]}"
                text += f" {'-' if row[k] < 0 else '+'} {name}"
            combinations.append(text.removeprefix(" +").lstrip())
        return tuple(combinations)


def moments(model: Model) -> np.ndarray:
    """φ (10 bodies,): m, h and Σ about the origin of every body; rounding of a zero is zero."""
    T, theta = to_moments(len(model.bodies)), np.asarray(inertial_parameters(model), dtype=float)
    phi = T @ theta
    return np.where(abs(phi) <= ROUNDING * (abs(T) @ abs(theta)), 0.0, phi)


def to_moments(bodies: int) -> np.ndarray:
    """T (10 bodies, 10 bodies) with φ = T θ."""
    return np.kron(np.eye(bodies), _change(silver_tensor))


def from_moments(bodies: int) -> np.ndarray:
    """T⁻¹ (10 bodies, 10 bodies) with θ = T⁻¹ φ."""
    return np.kron(np.eye(bodies), _change(from_silver_tensor))


def _change(convert: Callable[[Matrix3], Matrix3]) -> np.ndarray:
    """(10, 10): a linear map of symmetric matrices, on the ten numbers of a body."""
    T = np.eye(PER_BODY)
    for column, (i, j) in enumerate(UPPER):
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        image = convert(unit)
        T[4:, 4 + column] = [image[k] for k in UPPER]
    return T


def grouping(model: Model, seed: int = 0) -> Grouping:
    """The base parameters of a model (with numbers for its parameters), from random motions."""
    rng = np.random.default_rng(seed)
    # regressors of random motions, one below the other: four rows per column
    blocks = []
    for _ in range(4 * PER_BODY * len(model.bodies) // model.nv + 1):
        q = model.integrate(model.neutral(), rng.uniform(-np.pi, np.pi, model.nv))
        qd, qdd = rng.normal(size=(2, model.nv))
        blocks.append(regressor(model, q, 2.0 * qd, 5.0 * qdd))
    Y = np.concatenate(blocks) @ from_moments(len(model.bodies))
    names = tuple(f"{body.name}:{name}" for body in model.bodies for name in NAMES)
    return grouped(Y, names, elimination_order(len(model.bodies)))


def elimination_order(bodies: int) -> list[int]:
    """Positions in φ in the order of elimination, from the base outward."""
    return [PER_BODY * i + NAMES.index(name) for i in range(bodies) for name in _ORDER]


def grouped(
    Y: np.ndarray, names: tuple[str, ...], order: list[int], tolerance: float = _INDEPENDENT
) -> Grouping:
    """The first independent columns of Y (rows, all) in that order, and what the others add to them.

    A column is independent if more than this share of its length is not of those before it.
    """
    # Gram–Schmidt, each column orthogonalised a second time
    basis = np.zeros((Y.shape[0], 0))
    scale = np.linalg.norm(Y, axis=0).max(initial=0.0)
    independent: list[int] = []
    for k in order:
        column = Y[:, k]
        left = column - basis @ (basis.T @ column)
        left = left - basis @ (basis.T @ left)
        length = np.linalg.norm(left)
        if length > tolerance * max(np.linalg.norm(column), 1e-3 * scale):
            basis = np.concatenate([basis, (left / length)[:, None]], axis=1)
            independent.append(k)
    independent, dependent = sorted(independent), sorted(set(order) - set(independent))
    G = np.zeros((len(independent), Y.shape[1]))
    G[range(len(independent)), independent] = 1.0
    if independent and dependent:
        combination = np.linalg.lstsq(Y[:, independent], Y[:, dependent], rcond=None)[0]
        G[:, dependent] = np.where(abs(combination) < _INDEPENDENT, 0.0, combination)
    return Grouping(names, tuple(independent), G)


def reduced(model: Model, groups: Grouping | None = None) -> Model:
    """The model with base parameters and zeros as moments: the same torques, less arithmetic."""
    groups = groups or grouping(model.tree)
    phi = moments(model)
    grouped = np.zeros_like(phi)
    grouped[list(groups.kept)] = groups.matrix @ phi
    # cancellation leaves the rounding of the sums
    noise = 1e-15 * (abs(groups.matrix) @ abs(phi)).max(initial=0.0)
    grouped[abs(grouped) <= noise] = 0.0
    if np.count_nonzero(grouped) >= np.count_nonzero(phi):
        return model  # massless links can need fewer parameters as they are
    return with_inertial_parameters(model, from_moments(len(model.bodies)) @ grouped)
