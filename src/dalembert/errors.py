"""Exceptions of the package: each says what was wrong and what to do, in the user's terms."""


class DalembertError(Exception):
    """Base class of every error this package raises on purpose."""


class ShapeError(DalembertError, ValueError):
    """An array argument has the wrong shape or type."""


class ModelError(DalembertError, ValueError):
    """A mechanism's description is wrong: names, tree, axes, numbers."""


class InertiaError(ModelError):
    """Mass, centre or inertia tensor that no real body can have."""


class SingularMassMatrixError(ModelError):
    """M(q) is singular, so the accelerations are not determined."""


class ImportFileError(DalembertError, ValueError):
    """A robot's file cannot be read as a robot; `file` and `line` say where, when known."""

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        where = ", ".join(x for x in (file, f"line {line}" if line else None) if x)
        super().__init__(f"{where}: {message}" if where else message)
        self.message, self.file, self.line = message, file, line

    def __reduce__(self) -> tuple[type, tuple[str, str | None, int | None]]:
        return type(self), (self.message, self.file, self.line)


class ConstraintError(DalembertError, ValueError):
    """A constraint that makes no sense, conflicts with others, or is not met; it is named."""


class UnknownNameError(DalembertError, KeyError):
    """A robot, frame, quantity or formulation of that name does not exist."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ConvergenceError(DalembertError, ArithmeticError):
    """An iteration found no solution; the message says how near it came."""


class ParameterError(DalembertError, ValueError):
    """A named parameter is missing, unknown or has no value."""


class CompileError(DalembertError, RuntimeError):
    """A function could not be traced or compiled."""


class SettingError(DalembertError, ValueError):
    """A setting of the package, from a call or the environment, has an impossible value."""


class FormulationError(DalembertError, ValueError):
    """A formulation does not cover this mechanism or this input; another one does."""


class EquationError(DalembertError, RuntimeError):
    """Equations that cannot be written, or whose written form does not agree with the program."""


class SimulationError(DalembertError, RuntimeError):
    """A run that cannot be started or gone on with; the message says why and what to do."""


class IdentificationError(DalembertError, ValueError):
    """A log from which nothing trustworthy can be identified: what is wrong, which joint, and why."""


class TrajectoryError(DalembertError, ValueError):
    """A motion that cannot be made within its limits, or is not well described."""
