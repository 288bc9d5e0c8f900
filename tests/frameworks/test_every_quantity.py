"""Every quantity of six systems through each framework: values to the bit, slopes to rounding.

Slopes of the dynamics also against the library's analytical derivatives, and their second derivatives
against differences, by PyTorch's gradgradcheck.
"""

import os

import numpy as np
import pytest

import dalembert as dl
from tests.frameworks.six import NAMES, operations, state, system
from tests.kernels.complex_step import directional

pytestmark = pytest.mark.skipif(
    os.environ.get("DALEMBERT_FRAMEWORKS") != "all",
    reason="compiles some five hundred kernels: make test-frameworks",
)


def by_jax(name, f, x, w):
    """Results and the gradient of Σ w · result."""
    from tests.frameworks.jax_here import jax

    def results(*x):
        return call(dl.jax(system(name)), f, x)

    result, pull = jax.vjp(jax.jit(results), *x)
    return result, pull([*map(jax.numpy.asarray, w)])


def by_torch(name, f, x, w):
    torch = pytest.importorskip("torch", reason="PyTorch is installed by make test-frameworks")
    inputs = [torch.tensor(a, requires_grad=True) for a in x]
    result = call(dl.torch(system(name)), f, inputs)
    used = [(y, torch.tensor(b)) for y, b in zip(result, w, strict=True) if y.requires_grad]
    results, weights = zip(*used, strict=True)
    derivatives = torch.autograd.grad(results, inputs, weights)
    return [y.detach() for y in result], derivatives


def call(there, f, x):
    """The quantity by name, its optional inputs by keyword."""
    arguments = dict(zip([port.name for port in f.inputs], x, strict=True))
    inputs = [arguments.pop(key) for key in f.root.variant.quantity.inputs]
    formulation, static = f.root.variant.formulation.name, dict(f.root.variant.static)
    result = there.evaluate(
        f.root.variant.quantity.name, *inputs, formulation=formulation, **arguments, **static
    )
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("framework", [by_jax, by_torch], ids=["jax", "torch"])
def test_values_and_slopes(framework, name):
    for quantity, f in operations(name):
        rng = np.random.default_rng([7, *quantity.encode()])  # its own, whatever comes before it
        x = state(name, f, rng)
        w, d = ([rng.normal(size=port.shape) for port in ports] for ports in (f.outputs, f.inputs))
        result, pulled = framework(name, f, x, w)
        for a, b in zip(result, call(system(name), f, x), strict=True):
            np.testing.assert_array_equal(np.asarray(a), b, err_msg=quantity)
        terms = [a * b for a, b in zip(w, directional(f.program, x, d), strict=True)]
        back = [np.asarray(a) * b for a, b in zip(pulled, d, strict=True)]
        # ⟨w, J d⟩ = ⟨Jᵀ w, d⟩: either sum is known to the rounding of its own largest term
        size = max(1.0, *(np.abs(term).max() for term in (*terms, *back)))
        total = sum(map(np.sum, back))
        assert total == pytest.approx(sum(map(np.sum, terms)), abs=1e-11 * size), quantity


def at_random(name, rng):
    """A state of one of the systems: q, q̇ and accelerations or torques."""
    mechanism = system(name)
    q = mechanism.integrate(mechanism.neutral(), 0.4 * rng.normal(size=mechanism.nv))
    return mechanism.neutral() if mechanism.dynamics.rows else q, *rng.normal(
        size=(2, mechanism.nv)
    )


@pytest.mark.parametrize("name", NAMES)
def test_slopes_along_the_manifold_are_the_analytical_derivatives(name):
    """Quaternions moved by `integrate`, closed chains with their multipliers."""
    from tests.frameworks.jax_here import jax

    mechanism = system(name)
    there, (q, qd, x) = dl.jax(mechanism), at_random(name, np.random.default_rng(4))
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        dynamics = getattr(there, quantity)
        moved = lambda s, v, a, f=dynamics: f(there.integrate(q, s), v, a)  # noqa: E731
        derivatives = getattr(mechanism, f"{quantity}_derivatives")(q, qd, x)
        for formulation in (jax.jacfwd, jax.jacrev):
            result = jax.tree.leaves(
                jax.jit(formulation(moved, (0, 1, 2)))(np.zeros(mechanism.nv), qd, x)
            )
            for a, b in zip(result, derivatives, strict=True):
                atol = 1e-12 * max(1.0, np.abs(b).max())
                np.testing.assert_allclose(a, b, rtol=0, atol=atol, err_msg=quantity)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_against_differences(name):
    torch = pytest.importorskip("torch", reason="PyTorch is installed by make test-frameworks")
    there = dl.torch(system(name))
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        x = [torch.tensor(a, requires_grad=True) for a in at_random(name, np.random.default_rng(5))]
        assert torch.autograd.gradgradcheck(getattr(there, quantity), x, fast_mode=True), quantity
