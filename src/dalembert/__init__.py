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

    # the same names for type checkers; "as" makes them public
    from dalembert import control as control
    from dalembert import formulations as formulations
    from dalembert.constraints import Constrained as Constrained
    from dalembert.constraints import ContactBody as ContactBody
    from dalembert.constraints import Cylinder as Cylinder
    from dalembert.constraints import Distance as Distance
    from dalembert.constraints import Driver as Driver
    from dalembert.constraints import Ellipsoid as Ellipsoid
    from dalembert.constraints import Holonomic as Holonomic
    from dalembert.constraints import JointCoupling as JointCoupling
    from dalembert.constraints import Loop as Loop
    from dalembert.constraints import Pfaffian as Pfaffian
    from dalembert.constraints import Plane as Plane
    from dalembert.constraints import PointOnSurface as PointOnSurface
    from dalembert.constraints import QuasiVelocities as QuasiVelocities
    from dalembert.constraints import Rolling as Rolling
    from dalembert.constraints import Sliding as Sliding
    from dalembert.constraints import SoftFinger as SoftFinger
    from dalembert.constraints import Sphere as Sphere
    from dalembert.constraints import Status as Status
    from dalembert.constraints import Surface as Surface
    from dalembert.constraints import TendonCoupling as TendonCoupling
    from dalembert.constraints import Torus as Torus
    from dalembert.constraints import Touching as Touching
    from dalembert.constraints import early_substitution as early_substitution
    from dalembert.constraints import growth_vector as growth_vector
    from dalembert.constraints import is_holonomic as is_holonomic
    from dalembert.constraints.least_constraint import (
        gauss_least_constraint as gauss_least_constraint,
    )
    from dalembert.constraints.network import Network as Network
    from dalembert.control import time_optimal as time_optimal
    from dalembert.course import exercise as exercise
    from dalembert.course import exercises as exercises
    from dalembert.errors import CompileError as CompileError
    from dalembert.errors import ConstraintError as ConstraintError
    from dalembert.errors import ConvergenceError as ConvergenceError
    from dalembert.errors import DalembertError as DalembertError
    from dalembert.errors import EquationError as EquationError
    from dalembert.errors import FormulationError as FormulationError
    from dalembert.errors import IdentificationError as IdentificationError
    from dalembert.errors import ImportFileError as ImportFileError
    from dalembert.errors import InertiaError as InertiaError
    from dalembert.errors import ModelError as ModelError
    from dalembert.errors import ParameterError as ParameterError
    from dalembert.errors import SettingError as SettingError
    from dalembert.errors import ShapeError as ShapeError
    from dalembert.errors import SimulationError as SimulationError
    from dalembert.errors import SingularMassMatrixError as SingularMassMatrixError
    from dalembert.errors import TrajectoryError as TrajectoryError
    from dalembert.errors import UnknownNameError as UnknownNameError
    from dalembert.frameworks import jax as jax
    from dalembert.frameworks import torch as torch
    from dalembert.identification.diagnostics import IdentificationWarning as IdentificationWarning
    from dalembert.identification.excitation import Excitation as Excitation
    from dalembert.identification.excitation import excitation as excitation
    from dalembert.identification.identify import identify as identify
    from dalembert.identification.identify import refit as refit
    from dalembert.identification.pseudo_inertia import WithinBox as WithinBox
    from dalembert.identification.pseudo_inertia import WithinEllipsoid as WithinEllipsoid
    from dalembert.identification.result import Fit as Fit
    from dalembert.kernels import get_num_threads as get_num_threads
    from dalembert.kernels import set_num_threads as set_num_threads
    from dalembert.kernels.functions import compile as compile
    from dalembert.kernels.functions import compile_function as compile_function
    from dalembert.logs.read import read_log as read_log
    from dalembert.mechanisms import PlanarMechanism as PlanarMechanism
    from dalembert.mechanisms import SpatialMechanism as SpatialMechanism
    from dalembert.model import Actuator as Actuator
    from dalembert.model import Joint as Joint
    from dalembert.model import Link as Link
    from dalembert.model import Parameter as Parameter
    from dalembert.report.compare import compare as compare
    from dalembert.report.growth import growth_chart as growth_chart
    from dalembert.report.page import write_report as write_report
    from dalembert.report.widget import Widget as Widget
    from dalembert.simulation import Samples as Samples
    from dalembert.simulation import SimulationWarning as SimulationWarning
    from dalembert.simulation import peaks as peaks
    from dalembert.simulation import simulate as simulate
    from dalembert.simulation import torques_along as torques_along
    from dalembert.sweeps import sweep as sweep
    from dalembert.systems.counting import count_growth as count_growth
    from dalembert.systems.ik.paths import PathWarning as PathWarning
    from dalembert.systems.lagrangian import Lagrangian as Lagrangian
    from dalembert.systems.particles import Particles as Particles
    from dalembert.systems.robot import Robot as Robot
    from dalembert.systems.routh import routh as routh
    from dalembert.systems.statics import equilibria as equilibria
    from dalembert.systems.statics import equilibrium as equilibrium
    from dalembert.systems.statics import virtual_work as virtual_work
    from dalembert.systems.system import System as System
    from dalembert.zoo import load as load
    from dalembert.zoo.symbolic_models import symbolic_model as symbolic_model


# public names by their module, which is imported at the first use, so that `import dalembert` is quick
_MODULES = {
    "dalembert.constraints": """
        Constrained ContactBody Cylinder Distance Driver Ellipsoid Holonomic JointCoupling
        Loop Pfaffian Plane PointOnSurface QuasiVelocities Rolling Sliding SoftFinger Sphere
        Status Surface TendonCoupling Torus Touching early_substitution growth_vector
        is_holonomic
    """,
    "dalembert.constraints.least_constraint": "gauss_least_constraint",
    "dalembert.constraints.network": "Network",
    "dalembert.control": "time_optimal",
    "dalembert.course": "exercise exercises",
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
    "dalembert.report.compare": "compare",
    "dalembert.report.growth": "growth_chart",
    "dalembert.report.page": "write_report",
    "dalembert.report.widget": "Widget",
    "dalembert.simulation": "Samples SimulationWarning peaks simulate torques_along",
    "dalembert.sweeps": "sweep",
    "dalembert.systems.counting": "count_growth",
    "dalembert.systems.ik.paths": "PathWarning",
    "dalembert.systems.lagrangian": "Lagrangian",
    "dalembert.systems.particles": "Particles",
    "dalembert.systems.robot": "Robot",
    "dalembert.systems.routh": "routh",
    "dalembert.systems.statics": "equilibria equilibrium virtual_work",
    "dalembert.systems.system": "System",
    "dalembert.zoo": "load",
    "dalembert.zoo.symbolic_models": "symbolic_model",
}
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted({"control", "formulations", *_PUBLIC} - {"compile"})

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
        import_module("dalembert.report.accessor")  # runs have `.dl`
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


views.widget = lambda system: __getattr__("Widget").of(system)
views.plot = lambda *inputs: import_module("dalembert.report.figures").plot_postures(*inputs)
views.report = lambda system, path: __getattr__("write_report")(system, path)
views.simulate = lambda *inputs, **settings: __getattr__("simulate")(*inputs, **settings)
