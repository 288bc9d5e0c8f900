"""Samples of a motion: states, multipliers, energies and residuals, as an `xarray.Dataset`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.mechanisms.assembly import Assembly

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.simulate import Plant

UNITS = {
    "kinetic": "J",
    "potential": "J",
    "energy": "J",
    "power": "W",
    "position_residual": "m, rad",
    "velocity_residual": "m/s, rad/s",
}


class Recorder:
    """Fills arrays made beforehand, so that long runs hold only their samples."""

    def __init__(self, plant: Plant, samples: int, method: str) -> None:
        a, d = plant.solver.assembly, plant.solver.description
        self.plant, self.method, self.count = plant, method, 0
        self.t = np.zeros(samples)
        self.q, self.v = np.zeros((samples, a.nq)), np.zeros((samples, a.nv))
        self.a, self.multipliers = np.zeros((samples, a.nv)), np.zeros((samples, a.m))
        self.torques = np.zeros((samples, len(d.actuators)))
        self.scalars = {name: np.zeros(samples) for name in UNITS}

    def take(self, t: float, y: np.ndarray) -> None:
        """One sample, with its accelerations and multipliers."""
        plant, k = self.plant, self.count
        q, v = y[: plant.nq], y[plant.nq :]
        tau = plant.torques(t, q, v)
        self.t[k], self.q[k], self.v[k], self.torques[k] = t, q, v, tau
        solver = plant.solver
        terms = solver.terms(t, q, v)
        slip = solver.jacobian_times(v) - terms.nu
        self.a[k], self.multipliers[k] = solver.acceleration(t, q, v, tau)
        kinetic, potential = (
            kinetic_energy(solver.assembly, v),
            potential_energy(solver.assembly, q),
        )
        values = {
            "kinetic": kinetic,
            "potential": potential,
            "energy": kinetic + potential,
            "power": power(solver.assembly, t, q, v, tau) - float(self.multipliers[k] @ terms.nu),
            "position_residual": float(np.abs(terms.phi).max(initial=0.0)),
            "velocity_residual": float(np.abs(slip).max(initial=0.0)),
        }
        for name, value in values.items():
            self.scalars[name][k] = value
        self.count += 1

    def dataset(self, coordinates: tuple[str, ...], velocities: tuple[str, ...]) -> xarray.Dataset:
        """The samples with names and units."""
        import xarray

        d, n = self.plant.solver.description, self.count
        rows = [f"{e.name}[{k}]" for e in d.constraints for k in range(e.kind.rows)]
        arrays = {
            "q": (("time", "coordinate"), self.q[:n]),
            "v": (("time", "velocity"), self.v[:n]),
            "a": (("time", "velocity"), self.a[:n]),
            "multiplier": (("time", "row"), self.multipliers[:n]),
            "torque": (("time", "actuator"), self.torques[:n]),
        }
        scalars = {
            name: ("time", values[:n], {"units": UNITS[name]})
            for name, values in self.scalars.items()
        }
        labels = {
            "time": ("time", self.t[:n], {"units": "s"}),
            "coordinate": list(coordinates),
            "velocity": list(velocities),
            "row": rows,
            "actuator": list(d.actuators),
        }
        worst = max(self.plant.worst, float(self.scalars["position_residual"][:n].max()))
        attributes = {
            "mechanism": d.name,
            "method": self.method,
            "largest_position_residual": worst,  # after any step, not only the sampled ones
        }
        return xarray.Dataset({**arrays, **scalars}, labels, attributes)


def kinetic_energy(a: Assembly, v: np.ndarray) -> float:
    """½ vᵀ M v, J."""
    scaled = a.root(v)
    return 0.5 * float(scaled @ scaled)


def potential_energy(a: Assembly, q: np.ndarray) -> float:
    """Of the weight, from the origin, and of the springs, J."""
    size = a.space.dimension
    places = q.reshape(a.n, -1)[:, :size]
    weight = a.loads.constant.reshape(a.n, -1)[:, :size]
    total = -float((places * weight).sum())
    poses, still = a.poses(q), np.zeros((a.n + 1, a.space.nv))
    for group in a.forces:
        stretch = group.evaluate(poses, still)[0][:, 0]
        which = group.rows[:, 0]
        total += 0.5 * float(a.loads.stiffness[which] @ (stretch - a.loads.free[which]) ** 2)
    return total


def power(a: Assembly, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> float:
    """Of actuators, dampers and loads: what changes T + V besides the drivers, W."""
    poses, speeds = a.poses(q), a.speeds(v)
    total = float((a.loads.moved(poses) * speeds).sum())
    for group in a.forces:
        _, jacobian, _ = group.evaluate(poses, speeds)
        which = group.rows[:, 0]
        moving = speeds[group.bodies].reshape(len(which), -1)
        speed = np.einsum("ni,ni->n", jacobian[:, 0], moving)
        given = a.loads.outside(t, tau)[which] - a.loads.damping[which] * speed
        total += float(given @ speed)
    return total
