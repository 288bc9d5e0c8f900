"""Arrays of dask and xarray: a function of states mapped over them, lazily, names kept.

A dask array is computed chunk by chunk when it is asked for; a DataArray keeps the names and
coordinates of its batch and gets names for the axes of a state. Neither package is imported before one
of its arrays comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.kernels.call.whose import is_labelled, is_lazy
from dalembert.tracing.program import Port


@dataclass(frozen=True)
class Axis:
    """An axis of one state's array: its name and, where known, the names of its entries."""

    name: str
    size: int
    labels: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # what the same entries may be called too, in the same order


@dataclass(frozen=True)
class Named:
    """An input or output with the axes of one state."""

    name: str
    axes: tuple[Axis, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(port: Port) -> Named:
        """A port with axes that nobody has named."""
        axes = (Axis(f"{port.name}_{k}", size) for k, size in enumerate(port.shape))
        return Named(port.name, tuple(axes))


@dataclass(frozen=True)
class Mapped:
    """`function` of NumPy arrays (..., *axes) on arrays of dask and xarray; `what` is for errors."""

    what: str
    function: Callable[..., Any]
    inputs: Sequence[Named]
    outputs: Sequence[Named]

    def __call__(self, arrays: Sequence[Any], out: Any = None) -> Any:
        """An array of the same kind, or a tuple of them."""
        if out is not None:
            raise ShapeError(f"{self.what}: out= is for NumPy's arrays; those given are made anew")
        if any(map(is_labelled, arrays)):
            return self._labelled(arrays)
        return self._lazy(*arrays) if any(map(is_lazy, arrays)) else self.function(*arrays)

    # dask

    def _lazy(self, *arrays: Any) -> Any:
        import dask.array

        given = [x if hasattr(x, "dtype") else np.asarray(x, float) for x in arrays]
        dtype = np.dtype(np.float32 if all(x.dtype == np.float32 for x in given) else float)
        for named, x in zip(self.inputs, given, strict=True):
            self._require(named, x.shape, x.shape[max(0, x.ndim - len(named.axes)) :])
        inside = {axis.size for named in self.inputs for axis in named.axes}
        fresh = {axis.size for named in self.outputs for axis in named.axes} - inside
        return dask.array.apply_gufunc(
            self.function,
            "->".join(",".join(map(_core, side)) for side in (self.inputs, self.outputs)),
            *given,
            output_dtypes=[dtype] * len(self.outputs) if len(self.outputs) > 1 else dtype,
            output_sizes={f"n{size}": size for size in fresh},
            allow_rechunk=True,
        )

    def _require(self, named: Named, shape: tuple[Any, ...], core: tuple[Any, ...]) -> None:
        sizes = tuple(axis.size for axis in named.axes)
        if core != sizes and not any(isnan(size) for size in core):
            expected = ", ".join(["...", *map(str, sizes)])
            raise ShapeError(f"{self.what}: {named.name} has shape {shape}, expected ({expected})")

    # xarray

    def _labelled(self, arrays: Sequence[Any]) -> Any:
        import xarray

        given = [
            self._ordered(named, x) if is_labelled(x) else x
            for named, x in zip(self.inputs, arrays, strict=True)
        ]
        first = next(k for k, x in enumerate(given) if is_labelled(x))
        batch = [d for d in given[first].dims if d not in _dims(self.inputs[first], given[first])]
        lengths = [given[first].sizes[d] for d in batch]
        given = [
            x if is_labelled(x) else self._with_names(named, x, batch, lengths)
            for named, x in zip(self.inputs, given, strict=True)
        ]
        cores = [_dims(named, x) for named, x in zip(self.inputs, given, strict=True)]
        called = {
            axis.name: dim
            for named, core, x in zip(self.inputs, cores, arrays, strict=True)
            for axis, dim in zip(named.axes, core, strict=True)
            if is_labelled(x)
        }
        outer = [[called.get(axis.name, axis.name) for axis in n.axes] for n in self.outputs]
        made = xarray.apply_ufunc(
            lambda *inner: self(inner),
            *given,
            input_core_dims=cores,
            output_core_dims=outer,
            dask="allowed",
        )
        results = made if isinstance(made, tuple) else (made,)
        found = [
            _finished(n, dims, x) for n, dims, x in zip(self.outputs, outer, results, strict=True)
        ]
        return tuple(found) if len(found) > 1 else found[0]

    def _ordered(self, named: Named, x: Any) -> Any:
        """The array with the entries of its axes in the system's own order, where they have names."""
        dims = _dims(named, x)
        self._require(named, x.shape, tuple(x.sizes[d] for d in dims))
        for axis, dim in zip(named.axes, dims, strict=True):
            for there in _entries(x, dim):
                order = _order(there, axis)
                if order is not None:
                    x = x if order == sorted(order) else x.isel({dim: order})
                    break
                if _contradict(there, dim, axis):
                    raise ShapeError(
                        f"{self.what}: {named.name} names the entries of {dim!r} {there}, expected "
                        f"{list(axis.labels)} in any order; rename them, or drop the names"
                    )
        return x

    def _with_names(self, named: Named, x: Any, batch: list[Any], lengths: list[int]) -> Any:
        """An array without names beside others: its batch is that of the first one that has some."""
        import xarray

        x = x if hasattr(x, "shape") else np.asarray(x)
        lead = x.shape[: x.ndim - len(named.axes)]
        self._require(named, x.shape, x.shape[len(lead) :])
        if not x.shape:
            return x if hasattr(x, "dtype") else float(x)
        if lead != tuple(lengths[len(lengths) - len(lead) :]):
            raise ShapeError(
                f"{self.what}: {named.name} of shape {x.shape} has axes without names that are not "
                f"those of the batch, {dict(zip(batch, lengths, strict=True))}; give it as an "
                "xarray.DataArray"
            )
        core = [axis.name for axis in named.axes]
        return xarray.DataArray(x, dims=[*batch[len(batch) - len(lead) :], *core])


def _core(named: Named) -> str:
    """The axes of a state in a gufunc's signature; axes of equal size have equal names."""
    return f"({','.join(f'n{axis.size}' for axis in named.axes)})"


def _dims(named: Named, x: Any) -> list[Any]:
    """Which dimensions of a DataArray are the axes of a state.

    Those of their names, or those whose entries have the names of the system's, or the last.
    """
    if not hasattr(x, "dims"):
        return []
    own = [axis.name for axis in named.axes]
    if set(own) <= set(x.dims):
        return own
    told = [[d for d in x.dims if any(_order(e, a) for e in _entries(x, d))] for a in named.axes]
    if len(own) == 1 and len(told[0]) == 1:
        return told[0]
    return list(x.dims[len(x.dims) - len(own) :])


def _entries(x: Any, dim: Any) -> list[list[Any]]:
    """Names that coordinates give the entries of a dimension, its own coordinate first."""
    along = [c.values.tolist() for key, c in x.coords.items() if c.dims == (dim,) and key != dim]
    return [x[dim].values.tolist(), *along] if dim in x.coords else along


def _order(there: list[Any], axis: Axis) -> list[int] | None:
    """Where the entries of an axis are among these names; None where they are not its names."""
    for own in (axis.labels, axis.aliases):
        if len(there) == len(own) > 0 and set(there) == set(own):
            return [there.index(name) for name in own]
    return None


def _contradict(there: list[Any], dim: Any, axis: Axis) -> bool:
    """Whether names that are not the axis's own speak of other entries.

    Some of its names, or texts along a dimension that has the axis's name; numbers, and texts along a
    dimension with a name of one's own, only count.
    """
    words = dim == axis.name and all(isinstance(name, str) for name in there)
    return bool(axis.labels) and (words or not set(there).isdisjoint((*axis.labels, *axis.aliases)))


def _finished(named: Named, dims: Sequence[Any], x: Any) -> Any:
    """A result with its name, its unit, and the names of its entries."""
    labels = {
        dim: list(axis.labels)
        for axis, dim in zip(named.axes, dims, strict=True)
        if axis.labels and dim not in x.coords
    }
    x = x.assign_coords(labels).rename(named.name)
    x.attrs = dict(named.attributes)
    return x


def stacked(values: Mapping[str, Any]) -> Any:
    """One array (..., n) of n numbers or arrays (...) by name, of the kind that any of them is."""
    if any(map(is_labelled, values.values())):
        import xarray

        parts = [xarray.DataArray(x) if not is_labelled(x) else x for x in values.values()]
        joined = xarray.concat(xarray.broadcast(*parts), "parameter", join="exact")
        return joined.assign_coords(parameter=list(values)).transpose(..., "parameter")
    if any(map(is_lazy, values.values())):
        import dask.array

        lead = np.broadcast_shapes(*map(np.shape, values.values()))
        like = next(x for x in values.values() if is_lazy(x))
        like = dask.array.broadcast_to(like, lead)
        each = (dask.array.broadcast_to(dask.array.asarray(x), lead) for x in values.values())
        parts = [x.rechunk(like.chunks) for x in each]
        return dask.array.stack(parts, axis=-1).rechunk({len(lead): -1})
    return np.stack(np.broadcast_arrays(*values.values()), axis=-1)
