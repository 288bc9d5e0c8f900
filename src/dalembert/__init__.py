"""Dynamics of robot manipulators and linked rigid bodies: every formulation, compiled.

>>> import dalembert as dl
>>> robot = dl.load("planar_2r")
>>> robot.mass_matrix([0.0, 0.0]).shape
(2, 2)
"""

from __future__ import annotations

import sys
from importlib import import_module

if "free-threading" in sys.version:  # how CPython names such builds
    raise ImportError(
        "dalembert does not run on a free-threaded build of Python yet: quick calls read objects as "
        "ordinary builds lay them out; use the ordinary Python of the same version, python3.14 in "
        "place of python3.14t"
    )

from dalembert import forking as forking
from dalembert import views
from dalembert.version import __version__ as __version__

TYPE_CHECKING = False  # known by this name to type checkers; typing itself takes half of an import
if TYPE_CHECKING:
    from typing import Any

    from dalembert import control, formulations
    from dalembert.constraints import (
        Constrained,
        ContactBody,
        Cylinder,
        Distance,
        Driver,
        Ellipsoid,
        Holonomic,
        JointCoupling,
        Loop,
        Network,
        Pfaffian,
        Plane,
        PointOnSurface,
        Rolling,
        Sliding,
        SoftFinger,
        Sphere,
        Status,
        Surface,
        TendonCoupling,
        Torus,
        Touching,
        growth_vector,
        is_holonomic,
        nonholonomic_trap,
    )
    from dalembert.control import time_optimal
    from dalembert.errors import (
        CompileError,
        ConstraintError,
        ConvergenceError,
        DalembertError,
        EquationError,
        FormulationError,
        IdentificationError,
        ImportFileError,
        InertiaError,
        ModelError,
        ParameterError,
        SettingError,
        ShapeError,
        SimulationError,
        SingularMassMatrixError,
        TrajectoryError,
        UnknownNameError,
    )
    from dalembert.frameworks import jax, torch
    from dalembert.identification.exciting import Excitation, excitation
    from dalembert.identification.findings import IdentificationWarning
    from dalembert.identification.fit import Fit
    from dalembert.identification.identify import identify, refit
    from dalembert.identification.shapes import WithinBox, WithinEllipsoid
    from dalembert.kernels import get_num_threads, set_num_threads
    from dalembert.kernels.functions import compile as compile
    from dalembert.kernels.functions import compile_function
    from dalembert.mechanisms import PlanarMechanism, SpatialMechanism
    from dalembert.model import Actuator, Joint, Link, Parameter
    from dalembert.report.widget import Widget
    from dalembert.report.written import write_report
    from dalembert.simulation import (
        Samples,
        SimulationWarning,
        peaks,
        read_log,
        simulate,
        torques_along,
    )
    from dalembert.sweeps import sweep
    from dalembert.systems.counting import count_growth
    from dalembert.systems.lagrangian import Lagrangian
    from dalembert.systems.particles import Particles
    from dalembert.systems.reaching.follow import PathWarning
    from dalembert.systems.robot import Robot
    from dalembert.systems.statics import equilibria, equilibrium, virtual_work
    from dalembert.systems.system import System
    from dalembert.zoo import load
    from dalembert.zoo.letters import symbolic_model


# where each public name lives; imported when first asked for, so that `import dalembert` is quick
_PUBLIC = {
    "Actuator": "model",
    "CompileError": "errors",
    "Constrained": "constraints",
    "ConstraintError": "errors",
    "ContactBody": "constraints",
    "ConvergenceError": "errors",
    "Cylinder": "constraints",
    "DalembertError": "errors",
    "Distance": "constraints",
    "Driver": "constraints",
    "Ellipsoid": "constraints",
    "EquationError": "errors",
    "Fit": "identification.fit",
    "Excitation": "identification.exciting",
    "FormulationError": "errors",
    "Holonomic": "constraints",
    "IdentificationError": "errors",
    "IdentificationWarning": "identification.findings",
    "ImportFileError": "errors",
    "InertiaError": "errors",
    "Joint": "model",
    "JointCoupling": "constraints",
    "Lagrangian": "systems.lagrangian",
    "Link": "model",
    "Loop": "constraints",
    "ModelError": "errors",
    "Network": "constraints",
    "Parameter": "model",
    "ParameterError": "errors",
    "Particles": "systems.particles",
    "PathWarning": "systems.reaching.follow",
    "Pfaffian": "constraints",
    "PlanarMechanism": "mechanisms",
    "Plane": "constraints",
    "PointOnSurface": "constraints",
    "Robot": "systems.robot",
    "Rolling": "constraints",
    "Samples": "simulation",
    "SettingError": "errors",
    "ShapeError": "errors",
    "SimulationError": "errors",
    "SimulationWarning": "simulation",
    "SingularMassMatrixError": "errors",
    "Sliding": "constraints",
    "SoftFinger": "constraints",
    "SpatialMechanism": "mechanisms",
    "Sphere": "constraints",
    "Status": "constraints",
    "Surface": "constraints",
    "TendonCoupling": "constraints",
    "System": "systems.system",
    "Torus": "constraints",
    "Touching": "constraints",
    "TrajectoryError": "errors",
    "UnknownNameError": "errors",
    "Widget": "report.widget",
    "WithinBox": "identification.shapes",
    "WithinEllipsoid": "identification.shapes",
    "compile": "kernels.functions",
    "compile_function": "kernels.functions",
    "count_growth": "systems.counting",
    "equilibria": "systems.statics",
    "equilibrium": "systems.statics",
    "excitation": "identification.exciting",
    "get_num_threads": "kernels",
    "growth_vector": "constraints",
    "identify": "identification.identify",
    "refit": "identification.identify",
    "is_holonomic": "constraints",
    "jax": "frameworks",
    "load": "zoo",
    "nonholonomic_trap": "constraints",
    "peaks": "simulation",
    "read_log": "simulation",
    "set_num_threads": "kernels",
    "simulate": "simulation",
    "sweep": "sweeps",
    "symbolic_model": "zoo.letters",
    "time_optimal": "control",
    "torch": "frameworks",
    "torques_along": "simulation",
    "write_report": "report.written",
    "virtual_work": "systems.statics",
}

__all__ = [
    "Actuator",
    "CompileError",
    "Constrained",
    "ConstraintError",
    "ContactBody",
    "ConvergenceError",
    "Cylinder",
    "DalembertError",
    "Distance",
    "Driver",
    "Ellipsoid",
    "EquationError",
    "Excitation",
    "Fit",
    "FormulationError",
    "Holonomic",
    "IdentificationError",
    "IdentificationWarning",
    "ImportFileError",
    "InertiaError",
    "Joint",
    "JointCoupling",
    "Lagrangian",
    "Link",
    "Loop",
    "ModelError",
    "Network",
    "Parameter",
    "ParameterError",
    "Particles",
    "PathWarning",
    "Pfaffian",
    "PlanarMechanism",
    "Plane",
    "PointOnSurface",
    "Robot",
    "Rolling",
    "Samples",
    "SettingError",
    "ShapeError",
    "SimulationError",
    "SimulationWarning",
    "SingularMassMatrixError",
    "Sliding",
    "SoftFinger",
    "SpatialMechanism",
    "Sphere",
    "Status",
    "Surface",
    "System",
    "TendonCoupling",
    "Torus",
    "Touching",
    "TrajectoryError",
    "UnknownNameError",
    "Widget",
    "WithinBox",
    "WithinEllipsoid",
    "compile_function",
    "control",
    "count_growth",
    "equilibria",
    "equilibrium",
    "excitation",
    "formulations",
    "get_num_threads",
    "growth_vector",
    "identify",
    "is_holonomic",
    "jax",
    "load",
    "nonholonomic_trap",
    "peaks",
    "read_log",
    "refit",
    "set_num_threads",
    "simulate",
    "sweep",
    "symbolic_model",
    "time_optimal",
    "torch",
    "torques_along",
    "virtual_work",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in ("control", "formulations"):
        return import_module(f"dalembert.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    value = getattr(import_module(f"dalembert.{_PUBLIC[name]}"), name)
    if name in ("simulate", "sweep", "read_log", "time_optimal", "excitation"):
        import_module("dalembert.report.accessor")  # runs have `.dl`
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


views.widget = lambda system: __getattr__("Widget").of(system)
views.report = lambda system, path: __getattr__("write_report")(system, path)
views.simulate = lambda *given, **settings: __getattr__("simulate")(*given, **settings)
