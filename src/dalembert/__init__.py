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

from dalembert import fork_safety as fork_safety
from dalembert import views
from dalembert.version import __version__ as __version__
from dalembert.version import deprecated

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
        early_substitution,
        growth_vector,
        is_holonomic,
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
    from dalembert.identification.diagnostics import IdentificationWarning
    from dalembert.identification.excitation import Excitation, excitation
    from dalembert.identification.identify import identify, refit
    from dalembert.identification.pseudo_inertia import WithinBox, WithinEllipsoid
    from dalembert.identification.result import Fit
    from dalembert.kernels import get_num_threads, set_num_threads
    from dalembert.kernels.functions import compile as compile
    from dalembert.kernels.functions import compile_function
    from dalembert.logs.read import read_log
    from dalembert.mechanisms import PlanarMechanism, SpatialMechanism
    from dalembert.model import Actuator, Joint, Link, Parameter
    from dalembert.report.page import write_report
    from dalembert.report.widget import Widget
    from dalembert.simulation import Samples, SimulationWarning, peaks, simulate, torques_along
    from dalembert.sweeps import sweep
    from dalembert.systems.counting import count_growth
    from dalembert.systems.ik.paths import PathWarning
    from dalembert.systems.lagrangian import Lagrangian
    from dalembert.systems.particles import Particles
    from dalembert.systems.robot import Robot
    from dalembert.systems.statics import equilibria, equilibrium, virtual_work
    from dalembert.systems.system import System
    from dalembert.zoo import load
    from dalembert.zoo.symbolic_models import symbolic_model


# public names by their module, which is imported at the first use, so that `import dalembert` is quick
_MODULES = {
    "dalembert.constraints": """
        Constrained ContactBody Cylinder Distance Driver Ellipsoid Holonomic JointCoupling
        Loop Network Pfaffian Plane PointOnSurface Rolling Sliding SoftFinger Sphere Status
        Surface TendonCoupling Torus Touching early_substitution growth_vector is_holonomic
    """,
    "dalembert.control": "time_optimal",
    "dalembert.errors": """
        CompileError ConstraintError ConvergenceError DalembertError EquationError
        FormulationError IdentificationError ImportFileError InertiaError ModelError
        ParameterError SettingError ShapeError SimulationError SingularMassMatrixError
        TrajectoryError UnknownNameError
    """,
    "dalembert.frameworks": "jax torch",
    "dalembert.identification.diagnostics": "IdentificationWarning",
    "dalembert.identification.excitation": "Excitation excitation",
    "dalembert.identification.identify": "identify refit",
    "dalembert.identification.pseudo_inertia": "WithinBox WithinEllipsoid",
    "dalembert.identification.result": "Fit",
    "dalembert.kernels": "get_num_threads set_num_threads",
    "dalembert.kernels.functions": "compile compile_function",
    "dalembert.logs.read": "read_log",
    "dalembert.mechanisms": "PlanarMechanism SpatialMechanism",
    "dalembert.model": "Actuator Joint Link Parameter",
    "dalembert.report.page": "write_report",
    "dalembert.report.widget": "Widget",
    "dalembert.simulation": "Samples SimulationWarning peaks simulate torques_along",
    "dalembert.sweeps": "sweep",
    "dalembert.systems.counting": "count_growth",
    "dalembert.systems.ik.paths": "PathWarning",
    "dalembert.systems.lagrangian": "Lagrangian",
    "dalembert.systems.particles": "Particles",
    "dalembert.systems.robot": "Robot",
    "dalembert.systems.statics": "equilibria equilibrium virtual_work",
    "dalembert.systems.system": "System",
    "dalembert.zoo": "load",
    "dalembert.zoo.symbolic_models": "symbolic_model",
}
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}

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
    "early_substitution",
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

_RENAMED = {"nonholonomic_trap": "early_substitution"}  # deprecated names


def __getattr__(name: str) -> Any:
    if name in ("control", "formulations"):
        return import_module(f"dalembert.{name}")
    if name in _RENAMED:
        deprecated(f"dalembert.{name} is now dalembert.{_RENAMED[name]}", gone="0.3.0")
        return __getattr__(_RENAMED[name])
    if name not in _PUBLIC:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    if name in ("simulate", "sweep", "read_log", "time_optimal", "excitation"):
        import_module("dalembert.report.runs")  # runs have `.dl`
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


views.widget = lambda system: __getattr__("Widget").of(system)
views.report = lambda system, path: __getattr__("write_report")(system, path)
views.simulate = lambda *inputs, **settings: __getattr__("simulate")(*inputs, **settings)
