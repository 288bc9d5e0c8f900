"""Helpers of the tests of formulations: comparison, tracing, reframing, Ṁ of a motion."""

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert import tracing, zoo
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.kernels.program.trace import trace
from dalembert.model import Model
from dalembert.model.joint import Screw
from dalembert.spatial import se3
from dalembert.spatial.inertia import parallel_axis
from dalembert.spatial.rotations import rotation_z
from dalembert.tracing.interpreter import interpret

ZOO = {name: zoo.entry(name).build().model for name in zoo.names()}


def assert_close(actual: Any, expected: Any, relative: float = 1e-11, terms: float = 1e-6) -> None:
    """Equal to a fraction of the largest entry; rounding stays a hundredth of the default.

    `terms` is the size of the terms whose sums are compared, where these may cancel.
    """
    scale = np.abs(expected).max() if np.size(expected) else 0.0
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=relative * max(scale, terms))


def traced(function: Any, model: Model, **inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Outputs of the traced program of function(model, **inputs)."""
    shapes = {name: value.shape for name, value in inputs.items()}
    program = trace(lambda **symbols: function(model, **symbols), shapes)
    return interpret(program, *inputs.values())


def mass_matrix_rate(model: Model, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Ṁ = Σ ∂M/∂q dq/dt by automatic differentiation, quaternion joints included."""
    x = tracing.symbol("x", model.nq)
    derivatives = tracing.Function([x], [tracing.jacobian(mass_matrix(model, x), x)])
    return derivatives(q)[0] @ model.rate(q, qd)


def asymmetry(model: Model, C: np.ndarray, q: np.ndarray, qd: np.ndarray) -> float:
    """Largest entry of S + Sᵀ, S = Ṁ − 2C, as a fraction of the largest of C."""
    S = mass_matrix_rate(model, q, qd) - 2.0 * C
    return float(np.abs(S + S.T).max() / np.abs(C).max())


def reframed(model: Model, rng: np.random.Generator, base: np.ndarray) -> Model:
    """The same mechanism with other link frames, and a world moved by the pose `base`.

    Each link frame turns about and moves along its own joint axis: the changes that leave ξ_i as
    it is, for joints of one degree.
    """
    change = [_along_axis(rng) for _ in model.bodies]
    before = [*change, se3.inverse(base)]  # index −1: the base
    bodies = []
    for body, h in zip(model.bodies, change, strict=True):
        assert isinstance(body.chart, Screw)
        old = se3.pose(body.rotation, body.translation)
        placements = se3.compose(se3.inverse(before[body.parent]), old, h)
        R, center = se3.rotation(h), se3.apply(se3.inverse(h), body.center)
        bodies.append(
            replace(
                body,
                rotation=se3.rotation(placements),
                translation=se3.translation(placements),
                moment=body.mass * center,
                inertia=parallel_axis(R.T @ body.inertia_about_center @ R, body.mass, center),
            )
        )
    frames = {}
    for name, frame in model.frames.items():
        old = se3.pose(frame.rotation, frame.translation)
        new = se3.compose(se3.inverse(before[frame.body]), old)
        frames[name] = replace(frame, rotation=se3.rotation(new), translation=se3.translation(new))
    gravity = se3.rotation(base) @ model.gravity
    return replace(model, bodies=tuple(bodies), frames=frames, gravity=gravity)


def _along_axis(rng: np.random.Generator) -> np.ndarray:
    return se3.pose(rotation_z(rng.uniform(-np.pi, np.pi)), np.array([0.0, 0.0, rng.normal()]))
