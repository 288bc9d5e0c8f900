"""Every quantity of six systems through each framework: values to the bit, slopes to rounding."""

import os

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.program.complex_step import directional
from tests.frameworks.six import NAMES, operations, state, system

pytestmark = pytest.mark.skipif(
    os.environ.get("DALEMBERT_FRAMEWORKS") != "all",
    reason="compiles some five hundred kernels: make test-frameworks",
)


def by_jax(name, f, x, w):
    """Results and the gradient of Σ w · result."""
    from tests.frameworks.jax_here import jax

    def results(*x):
        return call(dl.jax(system(name)), f, x)

    found, pull = jax.vjp(jax.jit(results), *x)
    return found, pull([*map(jax.numpy.asarray, w)])


def by_torch(name, f, x, w):
    torch = pytest.importorskip("torch", reason="PyTorch is installed by make test-frameworks")
    inputs = [torch.tensor(a, requires_grad=True) for a in x]
    found = call(dl.torch(system(name)), f, inputs)
    used = [(y, torch.tensor(b)) for y, b in zip(found, w, strict=True) if y.requires_grad]
    results, weights = zip(*used, strict=True)
    slopes = torch.autograd.grad(results, inputs, weights)
    return [y.detach() for y in found], slopes


def call(there, f, x):
    """The quantity by name, its optional inputs by keyword."""
    given = dict(zip([port.name for port in f.inputs], x, strict=True))
    inputs = [given.pop(key) for key in f.root.variant.quantity.inputs]
    way, static = f.root.variant.formulation.name, dict(f.root.variant.static)
    found = there.evaluate(
        f.root.variant.quantity.name, *inputs, formulation=way, **given, **static
    )
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("framework", [by_jax, by_torch], ids=["jax", "torch"])
def test_values_and_slopes(framework, name):
    rng = np.random.default_rng(7)
    for quantity, f in operations(name):
        x = state(name, f, rng)
        w, d = ([rng.normal(size=port.shape) for port in ports] for ports in (f.outputs, f.inputs))
        found, pulled = framework(name, f, x, w)
        for a, b in zip(found, call(system(name), f, x), strict=True):
            np.testing.assert_array_equal(np.asarray(a), b, err_msg=quantity)
        terms = [a * b for a, b in zip(w, directional(f.program, x, d), strict=True)]
        size = max(1.0, *(np.abs(term).max() for term in terms))
        total = sum((np.asarray(a) * b).sum() for a, b in zip(pulled, d, strict=True))
        assert total == pytest.approx(sum(map(np.sum, terms)), abs=1e-11 * size), quantity
