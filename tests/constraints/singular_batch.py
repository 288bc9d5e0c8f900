"""States of the planar 3×RR manipulator, some of them singular: two legs stretched, one folded."""

import numpy as np

import dalembert as dl
from dalembert.constraints import Constrained
from tests.constraints.states import consistent_states

ROD = 0.25
RADIUS = 2.0 * ROD / np.sqrt(3.0)  # two rods reach exactly from corner to corner


def manipulator() -> Constrained:
    """The manipulator whose corners lie two rods apart."""
    return dl.load("parallel_3rr", radius=RADIUS)


def singular_states(rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    """(q, qd, tau) with the tips at a corner: that leg is folded and turns, the others stretch."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0 + np.pi / 2.0
    corners = RADIUS * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    at = rng.integers(3, size=count)
    offset = corners[at][:, None] - corners
    q, qd = np.zeros((count, 6)), np.zeros((count, 6))
    q[:, 0::2] = np.arctan2(offset[..., 1], offset[..., 0])
    each = np.arange(count)
    q[each, 2 * at] = rng.uniform(-np.pi, np.pi, count)
    q[each, 2 * at + 1] = np.pi
    qd[each, 2 * at] = rng.normal(size=count)
    return q, qd, rng.normal(size=(count, 6))


def mixed_batch(
    closed: Constrained, count: int, singular: int, seed: int = 0
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """(regular states, the same with singular ones among them, which these are (count,))."""
    rng = np.random.default_rng(seed)
    some = consistent_states(closed, rng, min(count, 256), spread=0.2)
    regular = [np.resize(x, (count, x.shape[1])) for x in some]
    mixed, positions = [x.copy() for x in regular], rng.permutation(count)[:singular]
    for x, new in zip(mixed, singular_states(rng, singular), strict=True):
        x[positions] = new
    return regular, mixed, np.isin(np.arange(count), positions)
