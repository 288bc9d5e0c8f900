"""Runs of a `Network`: too many bodies for one program, so its sparse equations are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import Network
from dalembert.errors import FormulationError, SettingError, SimulationError
from dalembert.simulation.drive import Record, Stalled, State
from dalembert.simulation.settings import Grid
from dalembert.simulation.torque import Torques

if TYPE_CHECKING:
    import xarray

OFF = 1e-6


@dataclass(frozen=True, eq=False)
class NetworkRun:
    """x = (q, q̇) by an adaptive one-step method, brought back to the links after every step."""

    network: Network
    torques: Torques
    method: str
    rtol: float
    atol: float
    grid: Grid

    def __post_init__(self) -> None:
        if self.network.nq != self.network.nv:
            raise FormulationError(
                f"{self.network.name} has spherical or free joints; a network is simulated with "
                "joints of one degree"
            )
        if self.method not in ("DOP853", "RK45", "RK23"):
            raise SettingError("a network is simulated by one of DOP853, RK45, RK23")

    @property
    def moving(self) -> int:
        """Entries of q and q̇."""
        return self.network.nq + self.network.nv

    def start(self, x: np.ndarray) -> State:
        """The first state, on the links."""
        off = np.abs(self.network.residual(x[: self.network.nq])).max()
        if off > OFF:
            raise SimulationError(
                f"q0 leaves the links of {self.network.name} open by {off:.2g}; "
                "its assemble(q0) closes them"
            )
        return {"x": self.projected(x), "h": np.array(0.0)}

    def observe(self, state: State) -> np.ndarray:
        """(q, q̇)."""
        return state["x"]

    def projected(self, x: np.ndarray) -> np.ndarray:
        """The nearest state with closed links and velocities that keep them closed."""
        n = self.network.nq
        q = self.network.assemble(x[:n])
        return np.concatenate([q, self.network.project_velocity(q, x[n:])])

    def rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """(q̇, q̈)."""
        q, qd = np.split(x, 2)
        qdd, _ = self.network.forward_dynamics(q, qd, self.torques.at(t, q, qd))
        return np.concatenate([qd, qdd])

    def advance(self, state: State, index: int) -> State:
        """From the saved state `index` to the next one."""
        from scipy import integrate

        t, end, h = self.grid.time(index), self.grid.time(index + 1), float(state["h"])
        first = min(h, end - t) if h > 0.0 else None
        options = {"rtol": self.rtol, "atol": self.atol, "first_step": first}
        solver = getattr(integrate, self.method)(self.rate, t, state["x"], end, **options)
        while solver.status == "running":
            before = solver.h_abs
            message = solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                raise Stalled(f"{self.method} cannot go on from t = {solver.t:g} s: {message}")
            h = before if solver.status == "finished" else solver.h_abs
            solver.y = self.projected(solver.y)
            solver.f = self.rate(solver.t, solver.y)
        return {"x": solver.y, "h": np.array(h)}

    def explain(self, state: State, index: int) -> str:
        """What is wrong with a state that is not finite."""
        return f"the motion is not finite after t = {self.grid.time(index):g} s"

    def dataset(self, record: Record, facts: dict[str, Any]) -> xarray.Dataset:
        """The record with forces of the links, residuals and energy."""
        import xarray

        q, qd = np.split(np.stack(record.states), 2, axis=1)
        rows = list(zip(record.times, q, qd, strict=True))
        tau = np.stack([np.broadcast_to(self.torques.at(*row), row[2].shape) for row in rows])
        lam = [self.network.forward_dynamics(*s)[1] for s in zip(q, qd, tau, strict=True)]
        residual = [np.abs(self.network.residual(x)).max() for x in q]
        energy = [self.network.energy(*s) for s in zip(q, qd, strict=True)]
        fields = {
            "q": (("time", "joint"), q),
            "qd": (("time", "joint"), qd),
            "tau": (("time", "joint"), tau),
            "lambda": (("time", "row"), np.stack(lam)),
            "residual": ("time", residual),
            "energy": ("time", energy, {"units": "J"}),
        }
        status = {"status": record.status, "message": record.message}
        coords = {"time": ("time", record.times, {"units": "s"})}
        return xarray.Dataset(fields, coords, {**facts, **status})
