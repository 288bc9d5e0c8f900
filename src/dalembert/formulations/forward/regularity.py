"""Is M(q) regular? Asked once per robot before anything divides by it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from dalembert.errors import SingularMassMatrixError
from dalembert.formulations.forward.articulated_body import inertia_in_parent, through_joint
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.parts.sweeps import inward, transforms
from dalembert.model import Body, CoupledModel, Model
from dalembert.spatial.se3 import Force

Mechanism = TypeVar("Mechanism", Model, CoupledModel)
Pair = tuple[np.ndarray, np.ndarray]  # articulated and composite inertia
# a pivot this far below the inertia it is left over from is rounding, not inertia
RELATIVE_PIVOT = 1e-13


def configurations(model: Mechanism, count: int = 3) -> tuple[Mechanism, list[np.ndarray]]:
    """The model with its default parameters, and random q; none where one has no default."""
    if None in model.parameters.values():
        return model, []
    bound, rng = model.bind(model.parameter_values()), np.random.default_rng(0)
    steps = rng.uniform(-1.0, 1.0, (count, bound.nv))
    return bound, [bound.integrate(bound.neutral(), step) for step in steps]


def require_regular_mass_matrix(model: Model) -> None:
    """Raise if M(q) is singular at every one of a few random configurations, naming the joint.

    M = W Wᵀ with the articulated pivots D_i = S_iᵀ M̂_i S_i on the diagonal of the factorisation
    (000 p.50), so M is singular exactly where a pivot is.
    """
    model, samples = configurations(model)
    weak: dict[int, bool] | None = None
    for q in samples:
        now = _weak_joints(model, q)
        if model.elements.tendons_with_inertia:  # which no pivot of the tree contains
            moments = np.linalg.eigvalsh(mass_matrix(model, q))
            now = {} if moments[0] > RELATIVE_PIVOT * moments[-1] else now
        weak = now if weak is None else {i: weak[i] & now[i] for i in weak.keys() & now}
    if weak:
        massless = [i for i in sorted(weak) if not weak[i]]
        if massless:
            joint = model.joint_of(massless[0])
            reason = (
                f"nothing resists joint {joint.name!r} (link {joint.link!r}): give the link or what "
                "it carries mass or inertia about the joint axis, or a rotor inertia"
            )
        else:
            # joints that each move mass, but together may move without moving any: M v = 0
            M = mass_matrix(model, q)
            size = np.sqrt(np.diag(M))
            values, vectors = np.linalg.eigh(M / np.outer(size, size))
            still = vectors[:, values <= np.sqrt(RELATIVE_PIVOT)]
            moves = np.linalg.norm(still, axis=1) > 1e-6
            bodies = [i for i, body in enumerate(model.bodies) if moves[body.v].any()]
            joints = {joint.name: joint.link for joint in map(model.joint_of, bodies)}
            names, last = ", ".join(map(repr, joints)), list(joints.values())[-1]
            reason = (
                f"joints {names} are redundant: together they can move without moving link {last!r} "
                "or any other mass; remove one of them, give the links between them mass, or it a "
                "rotor inertia"
            )
        raise SingularMassMatrixError(f"{model.name}: M(q) is singular because {reason}")


def _weak_joints(model: Model, q: np.ndarray) -> dict[int, bool]:
    """Bodies whose pivot vanishes at q, and whether mass resists while other joints are locked."""
    placements = transforms(model, q)
    weak: dict[int, bool] = {}

    def step(i: int, body: Body, children: list[tuple[int, Pair]]) -> Pair:
        articulated = composite = body.spatial_inertia
        for child, (beyond, rigid) in children:
            at = model.bodies[child], q, placements[child].p
            articulated = articulated + inertia_in_parent(*at, beyond)
            composite = composite + inertia_in_parent(*at, rigid)
        S, rotor = body.subspace, np.diag(model.drive.rotor[body.v])
        pivot, whole = S.T @ articulated @ S + rotor, S.T @ composite @ S + rotor
        if np.linalg.eigvalsh(pivot)[0] <= RELATIVE_PIVOT * np.trace(whole):
            weak[i] = bool(np.linalg.eigvalsh(whole)[0] > RELATIVE_PIVOT * np.trace(whole))
            return articulated, composite
        still = np.zeros(body.chart.nv)
        behind = through_joint(body, articulated, Force.zero(), still, model.drive.rotor[body.v])
        return behind.inertia, composite

    inward(model, step)
    return weak
