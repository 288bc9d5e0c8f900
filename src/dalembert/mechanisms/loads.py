"""Joint forces, driver forces and motor torques along a run, by name, as labelled arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.mechanisms.description import Description
from dalembert.mechanisms.state import State

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.analysis import Analysis

AXES = "xyz"
Moved = Callable[[State], tuple[dict[str, float], State]]  # torques at pins and the state they make


def loads(mechanism: Analysis, run: xarray.Dataset, moved: Moved | None = None) -> xarray.Dataset:
    """F_x, F_y (F_z) of every joint ON its second body, and what drivers, motors and springs exert.

    `joint_force` (time, component) in N is labelled "A.x on bar2", `effort` (time, acting) in N m or
    N by the names of drivers, actuators and springs. `moved` replaces drivers by torques at joints,
    as the scenario of the straight line does.

    >>> from dalembert.zoo.two_bar_scenarios import scenario
    >>> arm = scenario("joint_interpolated").mechanism
    >>> found = loads(arm, arm.simulate(2.0, 0.5))
    >>> round(float(found.effort.sel(acting="T12", time=1.0)), 4)
    13.2082
    >>> found.component.values.tolist()
    ['A.x on bar2', 'A.y on bar2', 'B.x on bar3', 'B.y on bar3']
    """
    import xarray

    led = mechanism.states(run)
    seen = [({}, state) if moved is None else moved(state) for state in led]
    d = mechanism.description
    seconds = [(joint.name, d.names[joint.bodies[-1]]) for joint in d.joints]
    axes = AXES[: d.space.dimension]
    forces = np.array([[state.force(name, on) for name, on in seconds] for _, state in seen])
    efforts = [
        {**_efforts(d, state), **torques} for state, (torques, _) in zip(led, seen, strict=True)
    ]
    names = list(efforts[0])
    values = np.array([[each[name] for name in names] for each in efforts]).reshape(len(seen), -1)
    about = {"units": "N", "long_name": "joint forces"}
    acting = {"units": "N m, N", "long_name": "drivers, motors and springs"}
    return xarray.Dataset(
        {
            "joint_force": (("time", "component"), forces.reshape(len(seen), -1), about),
            "effort": (("time", "acting"), values, acting),
        },
        {
            "time": run.time.values,
            "component": [f"{name}.{axis} on {on}" for name, on in seconds for axis in axes],
            "acting": names,
        },
    )


def _efforts(d: Description, state: State) -> dict[str, float]:
    """By name; a driver with several rows by its components."""
    found: dict[str, Any] = {}
    for name in [*(x.name for x in d.drivers), *(x.name for x in d.forces)]:
        values = state.effort(name)
        labels = [name] if len(values) == 1 else [f"{name}.{axis}" for axis in AXES[: len(values)]]
        found |= dict(zip(labels, map(float, values), strict=True))
    return found
