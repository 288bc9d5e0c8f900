"""Dynamics of robot manipulators and linked rigid bodies: every formulation, compiled.

>>> import dalembert as dl
>>> robot = dl.load("planar_2r")
>>> robot.mass_matrix([0.0, 0.0]).shape
(2, 2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert import formulations
    from dalembert.counting import count_growth
    from dalembert.errors import (
        CompileError,
        ConvergenceError,
        DalembertError,
        InertiaError,
        ModelError,
        ParameterError,
        ShapeError,
        SingularMassMatrixError,
        UnknownNameError,
    )
    from dalembert.kernels import get_num_threads, set_num_threads
    from dalembert.model import Joint, Link, Parameter
    from dalembert.robot import Robot
    from dalembert.systems import (
        Lagrangian,
        Particles,
        equilibria,
        equilibrium,
        virtual_work,
    )
    from dalembert.zoo import load

__version__ = "0.1.0"

# where each public name lives; imported when first asked for, so that `import dalembert` is quick
_PUBLIC = {
    "CompileError": "errors",
    "ConvergenceError": "errors",
    "DalembertError": "errors",
    "InertiaError": "errors",
    "Joint": "model",
    "Lagrangian": "systems",
    "Link": "model",
    "ModelError": "errors",
    "Parameter": "model",
    "ParameterError": "errors",
    "Particles": "systems",
    "Robot": "robot",
    "ShapeError": "errors",
    "SingularMassMatrixError": "errors",
    "UnknownNameError": "errors",
    "count_growth": "counting",
    "equilibria": "systems",
    "equilibrium": "systems",
    "get_num_threads": "kernels",
    "load": "zoo",
    "set_num_threads": "kernels",
    "virtual_work": "systems",
}

__all__ = [
    "CompileError",
    "ConvergenceError",
    "DalembertError",
    "InertiaError",
    "Joint",
    "Lagrangian",
    "Link",
    "ModelError",
    "Parameter",
    "ParameterError",
    "Particles",
    "Robot",
    "ShapeError",
    "SingularMassMatrixError",
    "UnknownNameError",
    "count_growth",
    "equilibria",
    "equilibrium",
    "formulations",
    "get_num_threads",
    "load",
    "set_num_threads",
    "virtual_work",
]


def __getattr__(name: str) -> Any:
    if name == "formulations":
        return import_module("dalembert.formulations")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    value = getattr(import_module(f"dalembert.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
