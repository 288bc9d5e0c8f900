"""Derivatives by array entries, for every quantity, against complex steps and the library's own."""

import numpy as np
import pytest

from dalembert.systems.derivatives import quantity_operation
from dalembert.tracing.interpreter import interpret
from tests.frameworks.six import NAMES, operations, state, system
from tests.kernels.complex_step import directional

ROUNDING = 1e-12  # of the largest slope, or of one

FEWEST = {"lagrangian": 14}  # quantities; those that a system cannot have are left out


def near(result, expected, margin=1.0):
    for x, y in zip(result, expected, strict=True):
        atol = margin * ROUNDING * max(1.0, np.abs(y).max())
        np.testing.assert_allclose(x, y, rtol=0, atol=atol)


@pytest.mark.parametrize("name", NAMES)
def test_every_quantity_forward_and_reverse(name):
    rng, result = np.random.default_rng(7), dict(operations(name))
    assert len(result) >= FEWEST.get(name, 24)
    for quantity, f in result.items():
        wrt = tuple(range(len(f.inputs)))
        x = state(name, f, rng)
        d = [rng.normal(size=port.shape) for port in f.inputs]
        w = [rng.normal(size=port.shape) for port in f.outputs]
        derivatives = directional(f.program, x, d)
        # turns of principal axes are quotients by differences of radii, by which rounding grows too
        turning = 10.0 if "ellipsoid" in str(quantity) else 1.0
        near(interpret(f.jvp(wrt).program, *x, *d), derivatives, turning)
        # ⟨w, J d⟩ = ⟨Jᵀ w, d⟩
        pulled = interpret(f.vjp(wrt).program, *x, *w)
        terms = [(a * b).ravel() for a, b in zip(w, derivatives, strict=True)]
        size = max(1.0, np.abs(np.concatenate(terms)).max())
        assert sum(map(np.sum, terms)) == pytest.approx(
            sum((a * b).sum() for a, b in zip(pulled, d, strict=True)), abs=10 * ROUNDING * size
        )


@pytest.mark.parametrize("name", NAMES)
def test_second_order_of_the_dynamics(name):
    rng = np.random.default_rng(8)
    for quantity, f in operations(name):
        if quantity not in ("inverse_dynamics", "forward_dynamics"):
            continue
        wrt = tuple(range(len(f.inputs)))
        pulled = f.vjp(wrt)
        x = state(name, f, rng)
        w = [rng.normal(size=port.shape) for port in f.outputs]
        d = [rng.normal(size=port.shape) for port in pulled.inputs]
        everything = tuple(range(len(pulled.inputs)))
        second = interpret(pulled.jvp(everything).program, *x, *w, *d)
        near(second, directional(pulled.program, [*x, *w], d))
        assert pulled.transposed is f.jvp(wrt) and f.jvp(wrt).transposed is pulled
        assert pulled.linear == tuple(range(len(x), len(x) + len(w)))


@pytest.mark.parametrize("name", ["ur5", "coupled"])
def test_the_same_as_along_the_manifold_where_it_is_flat(name):
    mechanism, rng = system(name), np.random.default_rng(9)
    q, qd, qdd, w = rng.normal(size=(4, 5, mechanism.nv))
    for quantity, inputs in (
        ("inverse_dynamics", (q, qd, qdd)),
        ("forward_dynamics", (q, qd, qdd)),
    ):
        f = quantity_operation(mechanism, mechanism._variant(quantity, None, {}))
        pulled = f.vjp((0, 1, 2)).kernel.ufunc(*inputs, w)
        derivatives = getattr(mechanism, f"{quantity}_derivatives")(*inputs)
        near(pulled, [np.einsum("ni,nij->nj", w, derivative) for derivative in derivatives])
        near(pulled, mechanism.vjp(quantity, inputs, [w]))
