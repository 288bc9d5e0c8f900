"""Reductions of a run by name: functions of a chunk's trajectories (time, sample, …)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import SettingError
from dalembert.text import require_known

if TYPE_CHECKING:
    import xarray

BAND = 0.02  # of the way a joint has gone: inside it has settled


# their code, names of variables included, is part of the identity of stored studies


def peak_torque(run: xarray.Dataset) -> Any:
    """The largest |τ| of every joint at the saved times, N m or N."""
    return abs(run.tau).max("time", skipna=False)


def peak_velocity(run: xarray.Dataset) -> Any:
    """The largest |q̇| of every joint at the saved times."""
    return abs(run.qd).max("time", skipna=False)


def settling_time(run: xarray.Dataset) -> Any:
    """When the last coordinate comes within 2 % of its whole travel of where it ends, and stays, s.

    What moves by less than √ε has not moved: how rounding ends says nothing.
    """
    import xarray

    along = run.q.dims[-1]
    off = abs(run.q - run.q.isel(time=-1))
    least = float(np.sqrt(np.finfo(run.q.dtype).eps)) * np.maximum(abs(run.q.isel(time=-1)), 1.0)
    travel = off.max("time")
    outside = ((off > BAND * travel) & (travel > least)).any(along)
    # from the last saved state outside the band to the next one; nothing is outside at the end
    following = run.time.shift(time=-1, fill_value=run.time[-1].item())
    return xarray.where(outside, following, 0.0).max("time")


def work(run: xarray.Dataset) -> Any:
    """The work of the drives, J."""
    return run.work.isel(time=-1)


def energy(run: xarray.Dataset) -> Any:
    """Kinetic and potential energy at the end, J."""
    return (run.kinetic + run.potential).isel(time=-1)


def last_state(run: xarray.Dataset) -> Any:
    """q and q̇ at the end."""
    return run[["q", "qd"]].isel(time=-1).rename(q="last_q", qd="last_qd")


Reduction = Callable[["xarray.Dataset"], Any]  # trajectories → results with a row per sample
REDUCTIONS: Mapping[str, Reduction] = {
    function.__name__: function
    for function in (peak_torque, peak_velocity, settling_time, work, energy, last_state)
}


def reductions(reduce: Any) -> dict[str, Reduction]:
    """Reductions by name, from a name, a function, several or a table; {} for trajectories."""
    if reduce is None:
        return {}
    if isinstance(reduce, Mapping):
        named = {str(name): how for name, how in reduce.items()}
    else:
        several = [reduce] if isinstance(reduce, str) or callable(reduce) else reduce
        if not isinstance(several, list | tuple):
            raise SettingError(f"reduce= must be names or functions, not {reduce!r}")
        named = {}
        for how in several:
            name = how if isinstance(how, str) else getattr(how, "__name__", type(how).__name__)
            named["reduced" if name == "<lambda>" else name] = how
    if not named:
        raise SettingError("reduce= names nothing to keep; leave it out to keep trajectories")
    for how in named.values():
        if not callable(how):
            require_known(how, REDUCTIONS, "there is no reduction")
    return {name: how if callable(how) else REDUCTIONS[how] for name, how in named.items()}


def reduced(run: xarray.Dataset, how: Mapping[str, Reduction]) -> xarray.Dataset:
    """The reduced chunk: variables with the dimension "sample"."""
    import xarray

    if not how:
        return run.drop_vars(["beyond"], errors="ignore")
    variables: dict[str, Any] = {}
    for name, function in how.items():
        result = function(run)
        if isinstance(result, xarray.Dataset):
            result = dict(result.data_vars)
        elif not isinstance(result, Mapping):
            result = {name: result}
        variables |= {str(key): _array(str(key), value, run) for key, value in result.items()}
    return xarray.Dataset(variables)


def _array(name: str, result: ArrayLike, run: xarray.Dataset) -> xarray.DataArray:
    """A result as a DataArray; a bare array has a row for each sample."""
    import xarray

    if not isinstance(result, xarray.DataArray):
        value, count = np.asarray(result), run.sizes["sample"]
        if value.shape[:1] != (count,):
            raise SettingError(
                f"the reduction {name!r} gave an array of shape {value.shape}; it must have a row "
                f"for each of the {count} runs of its chunk"
            )
        dims = ["sample", *(f"{name}_{k}" for k in range(1, value.ndim))]
        result = xarray.DataArray(value, dims=dims)
    if "sample" not in result.dims:
        raise SettingError(f"the reduction {name!r} lost the dimension 'sample' of the runs")
    return result.drop_vars([c for c in result.coords if c not in result.dims])
