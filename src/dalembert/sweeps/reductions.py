"""What is kept of a run, by name: functions of a chunk's trajectories (time, sample, …)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, UnknownNameError
from dalembert.formulations.registry import suggest

if TYPE_CHECKING:
    import xarray

BAND = 0.02  # of the way a joint has gone: inside it has settled


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


REDUCTIONS: Mapping[str, Callable[[Any], Any]] = {
    made.__name__: made
    for made in (peak_torque, peak_velocity, settling_time, work, energy, last_state)
}
Reduction = str | Callable[[Any], Any]


def chosen(reduce: Any) -> dict[str, Callable[[Any], Any]]:
    """Reductions by name: a name, a function, several of them, or a table; {} keeps trajectories."""
    if reduce is None:
        return {}
    if isinstance(reduce, Mapping):
        named = {str(name): _function(how) for name, how in reduce.items()}
    else:
        several = [reduce] if isinstance(reduce, str) or callable(reduce) else _listed(reduce)
        named = {_name(how): _function(how) for how in several}
    if not named:
        raise SettingError("reduce= names nothing to keep; leave it out to keep trajectories")
    return named


def _listed(reduce: Any) -> Sequence[Reduction]:
    if not isinstance(reduce, list | tuple):
        raise SettingError(f"reduce= must be names or functions, not {reduce!r}")
    return reduce


def _name(how: Reduction) -> str:
    name = how if isinstance(how, str) else getattr(how, "__name__", type(how).__name__)
    return "reduced" if name == "<lambda>" else name


def _function(how: Reduction) -> Callable[[Any], Any]:
    if callable(how):
        return how
    if how not in REDUCTIONS:
        raise UnknownNameError(f"there is no reduction {how!r}{suggest(how, list(REDUCTIONS))}")
    return REDUCTIONS[how]


def reduced(run: xarray.Dataset, how: Mapping[str, Callable[[Any], Any]]) -> xarray.Dataset:
    """What is kept of a chunk: variables with the dimension "sample"."""
    import xarray

    if not how:
        return run.drop_vars(["beyond"], errors="ignore")
    found: dict[str, Any] = {}
    for name, function in how.items():
        made = function(run)
        if isinstance(made, xarray.Dataset):
            found |= {str(key): _array(str(key), x, run) for key, x in made.data_vars.items()}
        elif isinstance(made, Mapping):
            found |= {str(key): _array(str(key), value, run) for key, value in made.items()}
        else:
            found[name] = _array(name, made, run)
    return xarray.Dataset(found)


def _array(name: str, made: Any, run: xarray.Dataset) -> Any:
    """A result as a DataArray; a bare array has a row for each sample."""
    import xarray

    if not isinstance(made, xarray.DataArray):
        value, count = np.asarray(made), run.sizes["sample"]
        if value.shape[:1] != (count,):
            raise SettingError(
                f"the reduction {name!r} gave an array of shape {value.shape}; it must have a row "
                f"for each of the {count} runs of its chunk"
            )
        made = xarray.DataArray(
            value, dims=["sample", *(f"{name}_{k}" for k in range(1, value.ndim))]
        )
    if "sample" not in made.dims:
        raise SettingError(f"the reduction {name!r} lost the dimension 'sample' of the runs")
    return made.drop_vars([c for c in made.coords if c not in made.dims])
