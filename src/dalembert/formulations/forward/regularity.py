"""Is M(q) regular? Asked once per robot before anything divides by it."""

from __future__ import annotations

import numpy as np

from dalembert.errors import SingularMassMatrixError
from dalembert.formulations.forward.articulated_body import inertia_in_parent, through_joint
from dalembert.formulations.parts.sweep import inward, transforms
from dalembert.model import Body, Model

Pair = tuple[np.ndarray, np.ndarray]  # articulated and composite inertia
# a pivot this far below the inertia it is left over from is rounding, not inertia
RELATIVE_PIVOT = 1e-13


def require_regular_mass_matrix(model: Model, postures: int = 3) -> None:
    """Raise if M(q) is singular at every one of a few random postures, naming the joint.

    M = W Wᵀ with the articulated pivots D_i = S_iᵀ M̂_i S_i on the diagonal of the factorisation
    (000 p.50), so M is singular exactly where a pivot is.
    """
    if model.parameters:
        if None in model.parameters.values():
            return
        model = model.bind(model.parameter_values())
    rng = np.random.default_rng(0)
    weak: set[int] | None = None
    for _ in range(postures):
        q = model.integrate(model.neutral(), rng.uniform(-1.0, 1.0, model.nv))
        found = _weak_joints(model, q)
        weak = found if weak is None else weak & found
    if weak:
        joint = model.joint_of(min(weak))
        raise SingularMassMatrixError(
            f"{model.name}: M(q) is singular because nothing resists joint {joint.name!r} "
            f"(link {joint.link!r}): give the link or what it carries mass or inertia about the "
            "joint axis, or a rotor inertia"
        )


def _weak_joints(model: Model, q: np.ndarray) -> set[int]:
    """Bodies whose pivot vanishes at q."""
    placed = transforms(model, q)
    weak: set[int] = set()

    def step(i: int, body: Body, children: list[tuple[int, Pair]]) -> Pair:
        articulated = composite = body.spatial_inertia
        for child, (beyond, carried) in children:
            articulated = articulated + inertia_in_parent(placed[child], beyond)
            composite = composite + inertia_in_parent(placed[child], carried)
        S, rotor = body.subspace, np.diag(model.drive.rotor[body.v])
        pivot, whole = S.T @ articulated @ S + rotor, S.T @ composite @ S + rotor
        if np.linalg.eigvalsh(pivot)[0] <= RELATIVE_PIVOT * np.trace(whole):
            weak.add(i)
            return articulated, composite
        still = np.zeros(body.chart.nv)
        behind = through_joint(body, articulated, np.zeros(6), still, model.drive.rotor[body.v])
        return behind.inertia, composite

    inward(model, step)
    return weak
