"""Systems on the arrays of JAX and PyTorch: native functions of theirs, with gradients.

`dalembert.jax` and `dalembert.torch` are functions, so no module here carries those names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dalembert.errors import DalembertError
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.frameworks.facade import Facade

__all__ = ["jax", "torch"]


def jax(system: System) -> Facade:
    """The system with the same methods on JAX arrays, differentiable to any order.

    Every quantity of its catalogue is there, by every formulation, with the arguments that the
    system's own method takes: under `jit`, `vmap`, `grad`, `jvp`, `hessian`, `checkpoint`, on a CPU or
    on CUDA, where the arrays lie. Results are those of the system's method, on a CPU to
    the bit, in float32 or float64 as the arrays are. Derivatives are by the entries of the arrays,
    those of a quaternion by its four numbers.
    States at which a system's method raises give NaN.

    Parameters
    ----------
    system : System
        Any system.

    Returns
    -------
    Facade
        The system on JAX arrays.

    Examples
    --------
    >>> import dalembert as dl, jax, jax.numpy as jnp
    >>> arm = dl.jax(dl.load("planar_2r"))
    >>> jax.jit(jax.vmap(jax.grad(arm.potential_energy)))(jnp.zeros((100, 2))).shape
    (100, 2)
    """
    return _opened("jax", "jax_system", "JaxSystem", system)


def torch(system: System) -> Facade:
    """The system with the same methods on PyTorch tensors, differentiable to any order.

    What `dalembert.jax` is for JAX: every quantity is an op with autograd, forward mode and vmap,
    under `torch.func` and ``torch.compile(fullgraph=True)`` as well, on CPU and CUDA tensors; there on
    the current stream, which may be recording a graph.

    Parameters
    ----------
    system : System
        Any system.

    Returns
    -------
    Facade
        The system on PyTorch tensors.
    """
    return _opened("torch", "torch_system", "TorchSystem", system)


def _opened(framework: str, module: str, kind: str, system: System) -> Facade:
    """The facade of a framework, which is imported only now."""
    if not isinstance(system, System):
        raise DalembertError(
            f"dalembert.{framework}({system!r}): give it a system, such as dalembert.load('ur5')"
        )
    try:
        import_module(framework)
    except ImportError as error:
        raise DalembertError(
            f"dalembert.{framework} needs the package {framework}, which cannot be imported "
            f"({error}): pip install {framework} (the extra [{framework}])"
        ) from None
    facade: type[Facade] = getattr(import_module(f"dalembert.frameworks.{module}"), kind)
    return facade(system)
