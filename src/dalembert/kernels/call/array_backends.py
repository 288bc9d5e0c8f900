"""Arrays of dask and xarray: a function of states mapped over them, lazily, with names kept.

A dask array is computed chunk by chunk when it is needed; a DataArray keeps the names and coordinates
of its batch and gets names for the axes of a state. Neither package is imported before one of its
arrays is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.kernels.call.arguments import is_dask, is_xarray
from dalembert.tracing.program import Port

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Axis:
    """An axis of one state's array: its name and, where known, the names of its entries."""

    name: str
    size: int
    labels: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # what the same entries may be called too, in the same order


@dataclass(frozen=True)
class NamedPort:
    """An input or output with the axes of one state."""

    name: str
    axes: tuple[Axis, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(port: Port) -> NamedPort:
        """A port with default names for its axes."""
        axes = (Axis(f"{port.name}_{k}", size) for k, size in enumerate(port.shape))
        return NamedPort(port.name, tuple(axes))


@dataclass(frozen=True)
class MappedFunction:
    """`function` of NumPy arrays (..., *axes) on arrays of dask and xarray; `what` is for errors."""

    what: str
    function: Callable[..., Any]
    inputs: Sequence[NamedPort]
    outputs: Sequence[NamedPort]

    def __call__(self, arrays: Sequence[Any], out: Any = None) -> Any:
        """An array of the same kind, or a tuple of them."""
        if out is not None:
            raise ShapeError(f"{self.what}: out= is for NumPy's arrays; those given are made anew")
        if any(map(is_xarray, arrays)):
            return self._labelled(arrays)
        return self._lazy(*arrays) if any(map(is_dask, arrays)) else self.function(*arrays)

    # dask

    def _lazy(self, *arrays: Any) -> Any:
        import dask.array

        inputs = [x if hasattr(x, "dtype") else np.asarray(x, float) for x in arrays]
        dtype = np.dtype(np.float32 if all(x.dtype == np.float32 for x in inputs) else float)
        for named, x in zip(self.inputs, inputs, strict=True):
            self._require(named, x.shape, x.shape[max(0, x.ndim - len(named.axes)) :])
        inside = {axis.size for named in self.inputs for axis in named.axes}
        fresh = {axis.size for named in self.outputs for axis in named.axes} - inside
        # axes of equal size have equal names
        cores = [
            [",".join(f"n{axis.size}" for axis in named.axes) for named in side]
            for side in (self.inputs, self.outputs)
        ]
        sides = [",".join(f"({core})" for core in side) for side in cores]
        return dask.array.apply_gufunc(
            self.function,
            "->".join(sides),
            *inputs,
            output_dtypes=[dtype] * len(self.outputs) if len(self.outputs) > 1 else dtype,
            output_sizes={f"n{size}": size for size in fresh},
            allow_rechunk=True,
        )

    def _require(self, named: NamedPort, shape: tuple[Any, ...], core: tuple[Any, ...]) -> None:
        sizes = tuple(axis.size for axis in named.axes)
        if core != sizes and not any(isnan(size) for size in core):
            expected = ", ".join(["...", *map(str, sizes)])
            raise ShapeError(f"{self.what}: {named.name} has shape {shape}, expected ({expected})")

    # xarray

    def _labelled(self, arrays: Sequence[Any]) -> Any:
        import xarray

        inputs = [
            self._ordered(named, x) if is_xarray(x) else x
            for named, x in zip(self.inputs, arrays, strict=True)
        ]
        first = next(k for k, x in enumerate(inputs) if is_xarray(x))
        batch = [
            d for d in inputs[first].dims if d not in _state_dims(self.inputs[first], inputs[first])
        ]
        lengths = [inputs[first].sizes[d] for d in batch]
        inputs = [
            x if is_xarray(x) else self._with_names(named, x, batch, lengths)
            for named, x in zip(self.inputs, inputs, strict=True)
        ]
        cores = [_state_dims(named, x) for named, x in zip(self.inputs, inputs, strict=True)]
        called = {
            axis.name: dim
            for named, core, x in zip(self.inputs, cores, arrays, strict=True)
            for axis, dim in zip(named.axes, core, strict=True)
            if is_xarray(x)
        }
        outer = [[called.get(axis.name, axis.name) for axis in n.axes] for n in self.outputs]
        outputs = xarray.apply_ufunc(
            lambda *inner: self(inner),
            *inputs,
            input_core_dims=cores,
            output_core_dims=outer,
            dask="allowed",
        )
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        labelled = []
        for named, dims, x in zip(self.outputs, outer, results, strict=True):
            pairs = [(dim, list(a.labels)) for a, dim in zip(named.axes, dims, strict=True)]
            labels = {dim: own for dim, own in pairs if own and dim not in x.coords}
            labelled.append(x.assign_coords(labels).rename(named.name))
            labelled[-1].attrs = dict(named.attributes)
        return tuple(labelled) if len(labelled) > 1 else labelled[0]

    def _ordered(self, named: NamedPort, x: xarray.DataArray) -> xarray.DataArray:
        """The array with the entries of its axes in the system's own order, where they have names."""
        dims = _state_dims(named, x)
        self._require(named, x.shape, tuple(x.sizes[d] for d in dims))
        for axis, dim in zip(named.axes, dims, strict=True):
            for labels in _entry_labels(x, dim):
                order = _label_order(labels, axis)
                if order is not None:
                    x = x if order == sorted(order) else x.isel({dim: order})
                    break
                # Some names of the axis, or texts along a dimension of its name, speak of other
                # entries; numbers, and texts along a dimension with a name of its own, only count.
                words = dim == axis.name and all(isinstance(name, str) for name in labels)
                shared = not set(labels).isdisjoint((*axis.labels, *axis.aliases))
                if axis.labels and (words or shared):
                    raise ShapeError(
                        f"{self.what}: {named.name} names the entries of {dim!r} {labels}, expected "
                        f"{list(axis.labels)} in any order; rename them, or drop the names"
                    )
        return x

    def _with_names(self, named: NamedPort, x: Any, batch: list[Any], lengths: list[int]) -> Any:
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


def _state_dims(named: NamedPort, x: Any) -> list[Hashable]:
    """Which dimensions of a DataArray are the axes of a state.

    Those of their names, or those whose entries have the names of the system's, or the last.
    """
    if not hasattr(x, "dims"):
        return []
    own: list[Hashable] = [axis.name for axis in named.axes]
    if set(own) <= set(x.dims):
        return own
    matching = [
        [d for d in x.dims if any(_label_order(e, a) for e in _entry_labels(x, d))]
        for a in named.axes
    ]
    if len(own) == 1 and len(matching[0]) == 1:
        return matching[0]
    return list(x.dims[len(x.dims) - len(own) :])


def _entry_labels(x: xarray.DataArray, dim: Hashable) -> list[list[object]]:
    """Names that coordinates give the entries of a dimension, its own coordinate first."""
    along = [c.values.tolist() for key, c in x.coords.items() if c.dims == (dim,) and key != dim]
    return [x[dim].values.tolist(), *along] if dim in x.coords else along


def _label_order(labels: list[object], axis: Axis) -> list[int] | None:
    """Positions of the entries of an axis among these labels; None where the labels are others."""
    for own in (axis.labels, axis.aliases):
        if len(labels) == len(own) > 0 and set(labels) == set(own):
            return [labels.index(name) for name in own]
    return None


def stack_arrays(values: Mapping[str, Any]) -> Any:
    """One array (..., n) of n numbers or arrays (...) by name, of the kind that any of them is."""
    if any(map(is_xarray, values.values())):
        import xarray

        parts = [xarray.DataArray(x) if not is_xarray(x) else x for x in values.values()]
        joined = xarray.concat(xarray.broadcast(*parts), "parameter", join="exact")
        return joined.assign_coords(parameter=list(values)).transpose(..., "parameter")
    if any(map(is_dask, values.values())):
        import dask.array

        lead = np.broadcast_shapes(*map(np.shape, values.values()))
        like = next(x for x in values.values() if is_dask(x))
        like = dask.array.broadcast_to(like, lead)
        each = (dask.array.broadcast_to(dask.array.asarray(x), lead) for x in values.values())
        parts = [x.rechunk(like.chunks) for x in each]
        return dask.array.stack(parts, axis=-1).rechunk({len(lead): -1})
    return np.stack(np.broadcast_arrays(*values.values()), axis=-1)
