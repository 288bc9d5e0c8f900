"""Momenta that a robot conserves by symmetry (Noether 1918; Marsden and Ratiu 1999, ch. 11).

Moving all of a mechanism by a constant twist ξ of the world leaves L unchanged where the ground does
not hold it against ξ and its weight does no work along ξ; ξ·(P, L_O) is then conserved, (P, L_O) the
linear momentum and the angular one about the origin, whatever drives do between its bodies. Of a
floating base under gravity that leaves the horizontal momenta and the moment about the vertical.

The symmetric ξ are the null space of d/dt (P, L_O) at random states, under random torques of all
joints but those of the base, so that springs to the ground, friction and fixed bases are counted
without being named. Of momenta that are zero or combinations of others at all states (P_z in the
plane) none is listed twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.linalg.rank import null_space, rank

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array
    from dalembert.systems.evaluator import Parameters
    from dalembert.systems.robot import Robot

STATES = 12
NEGLIGIBLE = 1e-7  # of a unit vector's entries: the null space is known to about 1e-8
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def symmetries(robot: Robot, parameters: Parameters = None) -> dict[str, Array]:
    """The twists ξ (6,), linear over angular, of a basis of all symmetries, by name."""
    momenta, rates = _samples(robot, parameters)
    basis = null_space(rates.values).T / rates.scale
    rows = _echelon(basis[:, ANGULAR_FIRST])[:, ANGULAR_FIRST]
    chosen: list[Array] = []
    for row in reversed(rows):  # linear ones first
        trial = [*chosen, row]
        if rank(np.array([momenta.values @ (momenta.scale * x) for x in trial])) == len(trial):
            chosen = trial
    return {_name(row): row for row in reversed(chosen)}


class _Sample(NamedTuple):
    """Vectors (STATES, 6) of linear and angular entries over the scale (6,) of each kind."""

    values: Array
    scale: Array


def _samples(robot: Robot, parameters: Parameters) -> tuple[_Sample, _Sample]:
    """(P, L_O) and d/dt (P, L_O) at random states, scaled by the size of the terms they are sums of."""
    dynamics, rng = robot.dynamics.bound(parameters), np.random.default_rng(0)
    q, qd, _ = robot.random_state(rng, STATES)
    tau = rng.normal(size=qd.shape)
    tau[:, _base(robot.description)] = 0.0
    qdd = robot.forward_dynamics(q, qd, tau, parameters=parameters)
    x, v = tracing.symbol("q", dynamics.nq), tracing.symbol("qd", dynamics.nv)
    L = dynamics.compute("momentum", q=x, qd=v)
    along = tracing.directional(L, x, dynamics.rate(x, v))
    terms = tracing.Function([x, v], [along, tracing.jacobian(L, v)])
    momenta, rates = [], []
    for q_k, qd_k, qdd_k in zip(q, qd, qdd, strict=True):
        by_position, A = terms(q_k, qd_k)
        momenta.append((A @ qd_k, np.abs(A) @ np.abs(qd_k)))
        rates.append((by_position + A @ qdd_k, np.abs(by_position) + np.abs(A) @ np.abs(qdd_k)))

    def sample(pairs: list[tuple[Array, Array]]) -> _Sample:
        values, sizes = map(np.array, zip(*pairs, strict=True))
        linear, angular = np.split(sizes.max(axis=0), 2)
        scale = np.repeat([linear.max() or 1.0, angular.max() or 1.0], 3)
        return _Sample(values / scale, scale)

    return sample(momenta), sample(rates)


def _base(model: Any) -> Array:
    """The velocities (n,) whose torques the ground takes: from it to the first bodies with mass."""
    tree, on_ground = model.tree, set()
    moved = np.zeros(tree.nv, dtype=bool)
    for k, body in enumerate(tree.bodies):
        parent = body.parent
        weightless = parent >= 0 and tracing.is_zero(tree.bodies[parent].mass)
        if parent < 0 or (parent in on_ground and weightless):
            on_ground.add(k)
            moved[body.v] = True
    own: Array = model.G if hasattr(model, "G") else np.eye(tree.nv)  # joints that follow others
    velocities: Array = np.flatnonzero(np.abs(own[moved]).sum(axis=0))
    return velocities


def _echelon(A: Array) -> Array:
    """The reduced row echelon form of independent rows, each with a first entry of one or more."""
    rows, done = np.array(A), 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) <= NEGLIGIBLE * np.abs(rows[done:]).max():
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = [k for k in range(len(rows)) if k != done]
        rows[others] -= np.outer(rows[others, column], rows[done])
        done += 1
    # directions of unit length, angular where there is such a part
    leading = np.array([r[:3] if np.abs(r[:3]).max() > NEGLIGIBLE else r[3:] for r in rows])
    unit: Array = rows / np.linalg.norm(leading.reshape(-1, 3), axis=1, keepdims=True)
    unit[np.abs(unit) <= NEGLIGIBLE] = 0.0
    return unit


def _name(twist: Array) -> str:
    """The name of ξ·(P, L_O): "linear_x", "angular_z", "angular_z about (0.5, 0, 0)"."""
    linear, angular = twist[:3], twist[3:]
    if not angular.any():
        return f"linear_{_direction(linear)}"
    # the point of the axis that is nearest to the origin: linear = −angular × point
    about = np.cross(angular, linear)
    pitch = f" with pitch {angular @ linear:.6g}" if abs(angular @ linear) > NEGLIGIBLE else ""
    point = f" about {_vector(about)}" if np.abs(about).max() > NEGLIGIBLE else ""
    return f"angular_{_direction(angular)}{point}{pitch}"


def _direction(vector: Array) -> str:
    """x, y or z of an axis, else the unit vector."""
    largest = int(np.argmax(np.abs(vector)))
    return "xyz"[largest] if np.count_nonzero(vector) == 1 else _vector(vector)


def _vector(vector: Array) -> str:
    return f"({', '.join(f'{x:.4g}' for x in np.where(np.abs(vector) > NEGLIGIBLE, vector, 0.0))})"
