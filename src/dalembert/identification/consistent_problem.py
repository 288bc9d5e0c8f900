"""The problem of `consistent`: bounds, shapes, total mass, and a start that fulfils them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.formulations.derivatives.inertial import PER_BODY
from dalembert.identification.consistent_newton import Problem
from dalembert.identification.distances import DISTANCES
from dalembert.identification.pseudo_inertias import (
    UNITS,
    admissible,
    inertias,
    pseudo_inertias,
)
from dalembert.text import suggest

EXACT = 1e10  # |b| of unit noise: torques known to more than ten digits are taken as known to ten


def problem_of(
    data: tuple[np.ndarray, np.ndarray],
    prior: np.ndarray,
    links: Sequence[str],
    names: Sequence[str],
    free: np.ndarray,
    lower: np.ndarray,
    shapes: Mapping[str, np.ndarray],
    total_mass: float | None,
    distance: str,
) -> tuple[Problem, np.ndarray, tuple[str, ...]]:
    """The problem in what is free, a start x (p,) that fulfils all constraints, and what to say."""
    if distance not in DISTANCES:
        raise IdentificationError(
            f"distance={distance!r} is unknown{suggest(distance, tuple(DISTANCES))}"
        )
    A, b = _checked(*data, prior, links)
    exact = max(1.0, np.linalg.norm(b) / EXACT)
    A, b = A / exact, b / exact
    inertial, open_ = PER_BODY * len(links), free.copy()
    x0 = prior.copy()
    x0[:inertial], said = admissible(prior[:inertial], links)
    bodies = _open_bodies(open_[:inertial], x0[:inertial], links)
    open_[:inertial] = np.repeat(bodies, PER_BODY)
    bounds = np.where(open_[inertial:], lower, -np.inf)
    x0[inertial:] = np.maximum(x0[inertial:], bounds)
    start = _feasible(x0, links, bodies, shapes, total_mass)
    rows, ends, called = _inequalities(bounds, names, links, bodies, shapes)
    equal = np.zeros((0, len(prior)))
    if total_mass is not None:
        equal = np.zeros((1, len(prior)))
        equal[0, :inertial:PER_BODY] = 1.0
    problem = Problem(A, b, x0, open_, inertial, rows, ends, called, equal, DISTANCES[distance])
    return problem, start, said


def _checked(
    A: np.ndarray, b: np.ndarray, prior: np.ndarray, links: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """A and b as floats, if their sizes and numbers are good."""
    A, b, p = np.asarray(A, float), np.asarray(b, float), len(prior)
    if A.ndim != 2 or b.ndim != 1 or A.shape != (len(b), p) or p < PER_BODY * len(links):
        raise IdentificationError(
            f"A {A.shape}, b {b.shape}, the prior ({p},) and {len(links)} links do not match"
        )
    for what, value in (("A", A), ("b", b), ("the prior", prior)):
        if not np.isfinite(value).all():
            raise IdentificationError(f"{what} of the fit has numbers that are not finite")
    if len(b) > p + 1:  # as few rows as there are unknowns say the same
        R = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
        A, b = R[:, :-1], R[:, -1]
    return A, b


def _open_bodies(free: np.ndarray, theta: np.ndarray, links: Sequence[str]) -> np.ndarray:
    """Which bodies (n,) are unknown: those that are free and have mass."""
    table = free.reshape(-1, PER_BODY)
    for link, ten in zip(links, table, strict=True):
        if ten.any() and not ten.all():
            raise IdentificationError(
                f"link {link!r}: its ten numbers are free together or not at all"
            )
    found = table.all(axis=1) & theta.reshape(-1, PER_BODY).any(axis=1)
    if table.any() and not found.any():
        named = ", ".join(link for link, ten in zip(links, table, strict=True) if ten.all())
        raise IdentificationError(
            f"the prior has no mass in any of {named}, so there are no bodies to stay near to; give "
            "rough masses and inertias (with_parameters), or ask for consistent=False"
        )
    return np.asarray(found)


def _inequalities(
    bounds: np.ndarray,
    names: Sequence[str],
    links: Sequence[str],
    bodies: np.ndarray,
    shapes: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """C (k, p), d (k,) and the names of the rows."""
    inertial = PER_BODY * len(links)
    p = inertial + len(bounds)
    rows, ends, called = [], [], []
    for k in (inertial + np.flatnonzero(np.isfinite(bounds))).tolist():
        rows.append(np.eye(1, p, k)[0])
        ends.append(bounds[k - inertial])
        called.append(f"{names[k]} ≥ {ends[-1]:g}")
    for link, forms in shapes.items():
        k = list(links).index(link)
        for n, Q in enumerate(forms if bodies[k] else ()):
            row = np.zeros(p)
            row[PER_BODY * k : PER_BODY * (k + 1)] = np.tensordot(UNITS, Q, 2)
            rows.append(row)
            ends.append(0.0)
            called.append(f"{link} inside its shape" + ("" if len(forms) == 1 else f", {'xyz'[n]}"))
    return np.array(rows).reshape(-1, p), np.array(ends), tuple(called)


def _feasible(
    x0: np.ndarray,
    links: Sequence[str],
    bodies: np.ndarray,
    shapes: Mapping[str, np.ndarray],
    total_mass: float | None,
) -> np.ndarray:
    """x (p,) inside every shape and of the total mass: bodies put into shapes, masses scaled."""
    x, inertial = x0.copy(), PER_BODY * len(links)
    P = pseudo_inertias(x[:inertial])
    for link, forms in shapes.items():
        if link not in links:
            raise IdentificationError(
                f"shapes: {link!r} is no moving link{suggest(link, tuple(links))}"
            )
        k = list(links).index(link)
        if bodies[k] and np.tensordot(forms, P[k], 2).min() <= 0.0:
            P[k] = P[k, 3, 3] * _middle(forms)
    if total_mass is not None:
        fixed = float(P[~bodies, 3, 3].sum())
        left = float(total_mass) - fixed
        if not (np.isfinite(left) and left > 0.0 and bodies.any()):
            raise IdentificationError(
                f"total_mass={total_mass!r} kg leaves {left:g} kg for the links whose inertia is "
                f"unknown, beside {fixed:g} kg of those that are given"
            )
        P[bodies] *= left / P[bodies, 3, 3].sum()
    moved = np.repeat(bodies, PER_BODY)
    x[:inertial][moved] = inertias(P)[moved]
    return x


def _middle(forms: np.ndarray) -> np.ndarray:
    """P (4, 4) of a body of unit mass well inside a shape, at its middle."""
    Q = forms.sum(axis=0)
    at = np.append(np.linalg.solve(Q[:3, :3], -Q[:3, 3]), 1.0)
    # a tenth of the least slack of the middle, as variance
    slack = np.einsum("i,kij,j->k", at, forms, at).min()
    P = np.outer(at, at)
    P[:3, :3] += 0.1 * slack / len(forms) * np.linalg.inv(-Q[:3, :3])
    return P
