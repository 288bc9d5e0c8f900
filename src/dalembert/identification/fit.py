"""What came of a fit: the robot, its base parameters with deviations, and how well it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.identification.base import Base
from dalembert.identification.checks import cross_validation, whiteness
from dalembert.identification.columns import Columns
from dalembert.identification.consistent import Consistent
from dalembert.identification.least_squares import Estimate
from dalembert.identification.logs import still_joints
from dalembert.identification.record import Record
from dalembert.identification.solving import measured, predicted
from dalembert.identification.stored import Inputs, save
from dalembert.model.frozen import Frozen, frozen
from dalembert.systems.system import System

if TYPE_CHECKING:
    import pandas
    import xarray

SHARE = 1e-3  # of a parameter in directions that are not seen
PARTNERS = 3  # names that are said of what goes together
MODELS = ("prior", "unconstrained", "consistent")


def unseen(
    base: Base, found: Estimate, columns: Columns, records: Sequence[Record]
) -> tuple[tuple[str, str], ...]:
    """(base parameter, why) for each with a share in a direction the log does not show."""
    if not found.blind.size:
        return ()
    share = np.sum(found.blind**2, axis=1)
    still = still_joints(columns.system, records)
    hidden = np.flatnonzero(share > SHARE).tolist()
    return tuple((base.names[k], _why(k, base, found.blind, still)) for k in hidden)


def _why(k: int, base: Base, blind: np.ndarray, still: Sequence[str]) -> str:
    joints = [name for name in still if name in base.explained[k]]
    never = f"{' and '.join(joints or still)} never moves" if still else ""
    together = np.abs(blind @ blind[k])
    together[k] = 0.0
    others = [base.names[i] for i in np.argsort(-together)[:PARTNERS] if together[i] > SHARE]
    if not others:
        return never or "nothing in this log depends on it"
    reason = f"only appears together with {', '.join(others)}"
    return f"{reason}; {never}" if never else reason


@dataclass(frozen=True, eq=False)
class Fit(Frozen):
    """A model fitted to a log by `dalembert.identify`, and everything one may ask about it.

    `robot` is the result: the system with the consistent inertias, friction and rotors. The three
    models that are compared are ``"prior"``, ``"unconstrained"`` (base parameters by least squares)
    and ``"consistent"`` (the robot).
    """

    robot: System
    prior: System
    columns: Columns  # what multiplies the unknown x, with the widths of friction that were found
    grouping: Base  # β = G x
    estimate: Estimate  # β, its covariance, the whitened problem
    values: Mapping[str, np.ndarray]  # x (p,) of each model, names as `columns.names`
    records: tuple[Record, ...]
    held_out: tuple[Record, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()  # what was done, in order
    warnings: tuple[str, ...] = ()
    real: Consistent | None = None  # how the consistent inertias were found, and what holds them
    inputs: Inputs | None = None  # what it was made from, for `save`

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", {k: frozen(x) for k, x in self.values.items()})
        super().__post_init__()

    @property
    def base(self) -> pandas.DataFrame:
        """Base parameters: value, standard deviation, the prior's value, whether the log shows it."""
        import pandas

        prior = self.grouping.matrix @ self.columns.values
        hidden = {name for name, _ in self.unseen}
        columns = {
            "value": self.estimate.beta,
            "std": self.deviations,
            "prior": prior,
            "seen": [name not in hidden for name in self.grouping.names],
        }
        return pandas.DataFrame(columns, index=pandas.Index(self.grouping.names, name="parameter"))

    @property
    def covariance(self) -> np.ndarray:
        """(base, base) of the base parameters; infinite where the log shows nothing of one."""
        return self.estimate.covariance

    @property
    def deviations(self) -> np.ndarray:
        """(base,) standard deviations of the base parameters."""
        return np.sqrt(np.diag(self.estimate.covariance))

    @property
    def explained(self) -> Mapping[str, str]:
        """Each base parameter as the combination of inertias, friction and rotors that it is."""
        return dict(zip(self.grouping.names, self.grouping.explained, strict=True))

    @property
    def condition(self) -> float:
        """Condition number of the weighted base columns, each of unit length."""
        return self.estimate.condition

    @cached_property
    def unseen(self) -> tuple[tuple[str, str], ...]:
        """(base parameter, why) for each that this log does not show."""
        return unseen(self.grouping, self.estimate, self.columns, self.records)

    @property
    def friction(self) -> pandas.DataFrame:
        """Friction and rotor of every joint as the robot has them, and standard deviations.

        A deviation is NaN where the number is only known together with others.
        """
        import pandas

        own = dict(zip(self.grouping.explained, self.deviations, strict=True))
        found: dict[str, dict[str, float]] = {}
        x = self.values.get("consistent", self.values["unconstrained"])
        for name, value in zip(self.columns.names, x, strict=True):
            joint, _, kind = name.rpartition(":")
            if kind in self.columns.kinds:
                found.setdefault(kind, {})[joint] = value
                found.setdefault(f"{kind} std", {})[joint] = own.get(name, np.nan)
        return pandas.DataFrame(found).rename_axis("joint")

    def predict(self, q: Any, qd: Any, qdd: Any, model: str = "consistent") -> np.ndarray:
        """Torques (n, equations) that a model needs for motions q (n, nq), q̇, q̈ (n, nv)."""
        q, qd, qdd = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, qd, qdd))
        none = np.zeros(self.prior.nv)
        record = Record(np.arange(len(q)) * 1.0, q, qd, qdd, np.zeros_like(qd), none, none)
        return predicted(self.columns, [record], [self._x(model)])[0][0]

    def errors(self, normalised: bool = False) -> pandas.DataFrame:
        """RMS of measured less predicted torque, N m or N, per joint and data, of every model.

        Torques are those recorded, not filtered, with all of their noise. `torque` is the RMS of the
        measured torque about its mean; `normalised` divides by it.
        """
        import pandas

        parts = {"fit": self.records, "held_out": self.held_out}
        tables = {name: self._errors(records) for name, records in parts.items() if records}
        made = pandas.concat(tables, names=["data", "joint"])
        return _normalised(made) if normalised else made

    def test(self, log: Any, normalised: bool = False) -> pandas.DataFrame:
        """The same errors on another log, a Dataset, a path or several of them."""
        from dalembert.identification.logs import records_of

        given = self.settings.get("cutoff used"), self.settings.get("delay", 0.0)
        made = self._errors(records_of(self.prior, log, *given))
        return _normalised(made) if normalised else made

    def whiteness(self, model: str = "unconstrained", held_out: bool = False) -> pandas.DataFrame:
        """Whether leftovers are noise, per joint: see `checks.whiteness`."""
        records = self.held_out if held_out else self.records
        return whiteness(self.columns, records, self._x(model))

    def cross_validation(self, folds: int = 5) -> pandas.DataFrame:
        """Errors of each fold of time by base parameters of all others, per joint."""
        method = str(self.settings.get("method", "inverse_dynamics"))
        return cross_validation(self.columns, self.grouping, self.records, method, folds)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the page of this fit: models, torques, leftovers, parameters, what was not seen."""
        from dalembert.identification.page import fit_page
        from dalembert.report.page import write_page

        write_page(fit_page(self), Path(path))
        return Path(path)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write log, prior, settings and numbers to one .npz file; `dl.refit` makes it again."""
        return save(self, path)

    @cached_property
    def residuals(self) -> xarray.Dataset:
        """Measured less predicted torque over time, of every model, on fitted and held-out data."""
        import xarray

        records = (*self.records, *self.held_out)
        y, left = self._left(records)
        sizes = [len(r.t) for r in records]
        data = ["fit"] * len(self.records) + ["held_out"] * len(self.held_out)
        fields = {"measured": y, **left}
        coordinates = {
            "time": np.concatenate([r.t for r in records]),
            "equation": list(self.columns.rows),
            "data": ("time", np.repeat(data, sizes)),
            "stretch": ("time", np.repeat(np.arange(len(records)), sizes)),
        }
        made = {name: (("time", "equation"), x) for name, x in fields.items()}
        return xarray.Dataset(made, coordinates)

    def _left(self, records: Sequence[Record]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """(torques measured, those less what each model predicts), each (samples, equations)."""
        y = np.concatenate([measured(self.columns, r) for r in records])
        found = predicted(self.columns, records, list(self.values.values()))
        models = enumerate(self.values)
        return y, {model: y - np.concatenate([each[k] for each in found]) for k, model in models}

    def _x(self, model: str) -> np.ndarray:
        if model not in self.values:
            raise UnknownNameError(f"no model {model!r}{suggest(str(model), list(self.values))}")
        return self.values[model]

    def _errors(self, records: Sequence[Record]) -> pandas.DataFrame:
        import pandas

        y, left = self._left(records)
        table = {"torque": y.std(axis=0)}
        table |= {model: np.sqrt(np.mean(x**2, axis=0)) for model, x in left.items()}
        made = pandas.DataFrame(table, index=pandas.Index(self.columns.rows, name="joint"))
        made.loc["all"] = np.sqrt((made**2).mean())
        return made


def _normalised(table: pandas.DataFrame) -> pandas.DataFrame:
    return table.drop(columns="torque").div(table["torque"], axis=0)
