"""The result of a fit: the robot, its base parameters with deviations, and its prediction errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.identification.consistency import ConsistentFit
from dalembert.identification.least_squares import Estimate
from dalembert.identification.linear_fit import cross_validation
from dalembert.identification.preparation import Log, load_records, still_joints
from dalembert.identification.record import Record
from dalembert.identification.regressor import BaseParameters, Regressor
from dalembert.identification.residuals import residuals, whiteness
from dalembert.identification.storage import Inputs, save
from dalembert.model.frozen import Frozen, frozen
from dalembert.systems.system import System
from dalembert.text import require_known
from dalembert.version import deprecated

if TYPE_CHECKING:
    import pandas
    import xarray

UNOBSERVED = 1e-3  # share of a parameter in directions that are not observed
PARTNERS = 3  # names of parameters that only appear together


@dataclass(frozen=True, eq=False)
class Fit(Frozen):
    """A model fitted to a log by `dalembert.identify`.

    `robot` is the result: the system with the consistent inertias, friction and rotors. The three
    models that are compared are ``"prior"``, ``"unconstrained"`` (base parameters by least squares)
    and ``"consistent"`` (the robot).
    """

    robot: System
    prior: System
    regressor: Regressor  # of the unknowns x, with the chosen widths of friction
    grouping: BaseParameters  # β = G x
    estimate: Estimate  # β, its covariance, the whitened problem
    values: Mapping[str, np.ndarray]  # x (p,) of each model, names as `regressor.names`
    records: tuple[Record, ...]
    held_out: tuple[Record, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # processing steps, in order
    warnings: tuple[str, ...] = ()
    consistency: ConsistentFit | None = None  # γ, active constraints and certificate
    inputs: Inputs | None = None  # for `save`

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", {k: frozen(x) for k, x in self.values.items()})
        super().__post_init__()

    @property
    def said(self) -> tuple[str, ...]:
        """Deprecated name of `notes`."""
        deprecated("Fit.said is now Fit.notes", gone="0.3.0")
        return self.notes

    @property
    def real(self) -> ConsistentFit | None:
        """Deprecated name of `consistency`."""
        deprecated("Fit.real is now Fit.consistency", gone="0.3.0")
        return self.consistency

    @property
    def base(self) -> pandas.DataFrame:
        """Base parameters: value, standard deviation, the prior's value, whether the log shows it."""
        import pandas

        hidden = {name for name, _ in self.unseen}
        columns = {
            "value": self.estimate.beta,
            "std": self.deviations,
            "prior": self.grouping.matrix @ self.regressor.values,
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
        """Each base parameter as a combination of inertias, friction and rotors."""
        return dict(zip(self.grouping.names, self.grouping.explained, strict=True))

    @property
    def condition(self) -> float:
        """Condition number of the weighted base columns, each of unit length."""
        return self.estimate.condition

    @cached_property
    def unseen(self) -> tuple[tuple[str, str], ...]:
        """(base parameter, reason) for each that this log does not show."""
        base, unobserved = self.grouping, self.estimate.unobserved
        if not unobserved.size:
            return ()
        still = still_joints(self.regressor.system, self.records)
        reasons = []
        for k in np.flatnonzero(np.sum(unobserved**2, axis=1) > UNOBSERVED).tolist():
            joints = [name for name in still if name in base.explained[k]]
            never = f"{' and '.join(joints or still)} never moves" if still else ""
            coupling = np.abs(unobserved @ unobserved[k])
            coupling[k] = 0.0
            strongest = np.argsort(-coupling)[:PARTNERS]
            others = ", ".join(base.names[i] for i in strongest if coupling[i] > UNOBSERVED)
            together = f"only appears together with {others}" if others else ""
            reason = "; ".join(filter(None, (together, never)))
            reasons.append((base.names[k], reason or "nothing in this log depends on it"))
        return tuple(reasons)

    @property
    def friction(self) -> pandas.DataFrame:
        """Friction and rotor of every joint of the robot, and standard deviations.

        A deviation is NaN where the number is only known together with others.
        """
        import pandas

        deviations = dict(zip(self.grouping.explained, self.deviations, strict=True))
        table: dict[str, dict[str, float]] = {}
        x = self.values.get("consistent", self.values["unconstrained"])
        for name, value in zip(self.regressor.names, x, strict=True):
            joint, _, kind = name.rpartition(":")
            if kind in self.regressor.kinds:
                table.setdefault(kind, {})[joint] = value
                table.setdefault(f"{kind} std", {})[joint] = deviations.get(name, np.nan)
        return pandas.DataFrame(table).rename_axis("joint")

    def predict(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, model: str = "consistent"
    ) -> np.ndarray:
        """Torques that a model needs for a motion.

        Parameters
        ----------
        q, qd, qdd : (n, nq) and (n, nv) array
            Positions, velocities and accelerations.
        model : {"prior", "unconstrained", "consistent"}
            The parameters that are used.

        Returns
        -------
        (n, equations) array
            N m or N.
        """
        q, qd, qdd = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, qd, qdd))
        zero = np.zeros(self.prior.nv)
        record = Record(np.arange(len(q)) * 1.0, q, qd, qdd, np.zeros_like(qd), zero, zero)
        return -residuals(self.regressor, [record], self._parameters(model))[0]

    def errors(self, normalised: bool = False) -> pandas.DataFrame:
        """RMS of measured less predicted torque, N m or N, per joint and data, of every model.

        Torques are those recorded, not filtered, with all of their noise. `torque` is the RMS of the
        measured torque about its mean; `normalised` divides by it.

        Parameters
        ----------
        normalised : bool
            Divide by the deviation of the measured torque.

        Returns
        -------
        pandas.DataFrame
            A row for every set of data and joint, a column for every model.
        """
        import pandas

        parts = {"fit": self.records, "held_out": self.held_out}
        tables = {
            name: self._errors(records, normalised) for name, records in parts.items() if records
        }
        return pandas.concat(tables, names=["data", "joint"])

    def test(self, log: Log, normalised: bool = False) -> pandas.DataFrame:
        """Errors on another log, as `errors` has them of the fitted one.

        Parameters
        ----------
        log : xarray.Dataset, path, or a list of them
            Measured motions that were not fitted.
        normalised : bool
            Divide by the deviation of the measured torque.

        Returns
        -------
        pandas.DataFrame
            RMS per joint, N m or N, of every model.
        """
        options = self.settings.get("cutoff used"), self.settings.get("delay", 0.0)
        return self._errors(load_records(self.prior, log, *options), normalised)

    def whiteness(self, model: str = "unconstrained", held_out: bool = False) -> pandas.DataFrame:
        """Whether residuals are noise, per joint: see `residuals.whiteness`.

        Parameters
        ----------
        model : str
            "prior", "unconstrained" or "consistent".
        held_out : bool
            Of the data that were not fitted.

        Returns
        -------
        pandas.DataFrame
        """
        records = self.held_out if held_out else self.records
        return whiteness(self.regressor, records, self._parameters(model))

    def cross_validation(self, folds: int = 5) -> pandas.DataFrame:
        """Errors of each fold of time by base parameters of all others, per joint.

        Parameters
        ----------
        folds : int
            Number of parts.

        Returns
        -------
        pandas.DataFrame
            RMS per fold and joint, N m or N.
        """
        method = str(self.settings.get("method", "inverse_dynamics"))
        return cross_validation(self.regressor, self.grouping, self.records, method, folds)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the page of this fit: models, torques, residuals, parameters, unseen parameters.

        Parameters
        ----------
        path : path
            The file to write.

        Returns
        -------
        Path
            The page.
        """
        from dalembert.identification.page import fit_page
        from dalembert.report.page import write_page

        write_page(fit_page(self), Path(path))
        return Path(path)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write log, prior, settings and results to one .npz file, which `dl.refit` repeats.

        Parameters
        ----------
        path : path
            The file to write.

        Returns
        -------
        Path
            The file.
        """
        return save(self, path)

    @cached_property
    def residuals(self) -> xarray.Dataset:
        """Measured less predicted torque over time, of every model, on fitted and held-out data."""
        import xarray

        records = (*self.records, *self.held_out)
        y, left = self._residuals(records)
        sizes = [len(r.t) for r in records]
        data = ["fit"] * len(self.records) + ["held_out"] * len(self.held_out)
        coordinates = {
            "time": np.concatenate([r.t for r in records]),
            "equation": list(self.regressor.rows),
            "data": ("time", np.repeat(data, sizes)),
            "stretch": ("time", np.repeat(np.arange(len(records)), sizes)),
        }
        arrays = {"measured": y, **left}
        fields = {name: (("time", "equation"), x) for name, x in arrays.items()}
        return xarray.Dataset(fields, coordinates)

    def _residuals(self, records: Sequence[Record]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """(measured torques, residuals of each model), each (samples, equations)."""
        y = np.concatenate([self.regressor.measured(r) for r in records])
        models = np.stack(list(self.values.values()), axis=1)
        left = np.concatenate(residuals(self.regressor, records, models))
        return y, {model: left[..., k] for k, model in enumerate(self.values)}

    def _parameters(self, model: str) -> np.ndarray:
        require_known(model, self.values, "there is no model")
        return self.values[model]

    def _errors(self, records: Sequence[Record], normalised: bool) -> pandas.DataFrame:
        import pandas

        y, left = self._residuals(records)
        columns = {"torque": y.std(axis=0)}
        columns |= {model: np.sqrt(np.mean(x**2, axis=0)) for model, x in left.items()}
        table = pandas.DataFrame(columns, index=pandas.Index(self.regressor.rows, name="joint"))
        table.loc["all"] = np.sqrt((table**2).mean())
        if normalised:
            return table.drop(columns="torque").div(table["torque"], axis=0)
        return table
