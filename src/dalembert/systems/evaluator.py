"""The quantities of a catalogue, compiled on first use.

A call goes System → `Variant` (which quantity, by which formulation) → `Kernel` → `Program` (the
formulation traced over this system) → machine code. Everything here reads only the catalogue, so a
robot, a Lagrangian and a closed chain are compiled by the same lines. Symbols of CasADi and SymPy are
arguments too: the formulation then runs on them, and expressions come back.

In a scene of many trees each different tree is traced once, however often it occurs. A quantity of one
tree does not depend on the other trees where all inputs and results are counted by coordinates and
velocities: vectors are then concatenated, and matrices are block-diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.errors import DalembertError, FormulationError, ShapeError
from dalembert.formulations.registry import Formulation, Quantity, Size
from dalembert.kernels import Kernel, Port, Program, build, source_digest
from dalembert.kernels.call.arguments import needs_mapping
from dalembert.kernels.llvm.load import preload_llvm
from dalembert.model.topology import NONZERO_ENTRIES
from dalembert.systems.dynamics import Dynamics
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.kernels.call.array_backends import Axis, NamedPort
    from dalembert.kernels.cuda.device import DeviceKernel
    from dalembert.model.topology import IndependentTree

Argument = Any  # numbers, an array of any backend, or symbols
Results = Any  # an array or a tuple of arrays, of the backend of the arguments
Parameters = Mapping[str, Any] | np.ndarray | None
Out = np.ndarray | None  # the argument out= of a quantity
OptionalArray = ArrayLike | None
Traceable = Callable[..., Mapping[str, np.ndarray]]  # inputs by name → results by name
Ports = tuple[tuple[Port, ...], tuple[Port, ...]]  # inputs and results
MIN_VELOCITIES = 48  # of a scene that is traced tree by tree
_COUNTED = {"nq", "nv", *NONZERO_ENTRIES}


@dataclass(frozen=True, eq=False)
class Variant:
    """A quantity by one formulation, with static choices and optional inputs: one kernel."""

    quantity: Quantity
    formulation: Formulation
    static: tuple[tuple[str, str], ...] = ()
    optional: tuple[str, ...] = ()

    @staticmethod
    def of(
        dynamics: Dynamics, quantity: str, formulation: str | None, choices: Mapping[str, Argument]
    ) -> Variant:
        """The variant that `choices` ask for; one that the quantity does not have is an error."""
        entry = dynamics.quantity(quantity)
        if "out_layout" in choices:
            from dalembert.formulations.registry import with_layout

            entry = with_layout(entry, choices["out_layout"])
            if choices["out_layout"] == "dense":  # the default
                choices = {name: x for name, x in choices.items() if name != "out_layout"}
        known = (*entry.static, *entry.optional)
        for name in choices:
            require_known(name, known, f"{entry.name} takes no", DalembertError)
        chosen = entry.formulation(formulation, dynamics.description)
        choices = dynamics.with_default_task(entry, choices)
        static = tuple((name, choices[name]) for name in entry.static if name in choices)
        for name, value in static:
            if entry.sized is None and not chosen.takes(name):
                raise FormulationError(f"{entry.name} by {chosen.name} has no choice of {name!r}")
            dynamics.require_option(name, value)
        if entry.sized is not None:
            entry = entry.sized(dynamics, dict(static))
            chosen = entry.formulation(chosen.name)
        # an optional input is an array, or True to name it without a value
        present = {name for name, x in choices.items() if x is not None and x is not False}
        optional = tuple(name for name in entry.optional if name in present)
        return Variant(entry, chosen, static, optional)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Identifies the variant among others of the same system."""
        return self.quantity.name, self.formulation.name, self.static, self.optional

    @property
    def inverts_mass(self) -> bool:
        """Whether it has no value where M(q) is singular."""
        return self.quantity.inverts_mass and self.formulation.inverts_mass

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of its inputs: the required ones, and the optional ones in use."""
        return (*self.quantity.inputs, *self.optional)

    def outputs(self, description: Any, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """The formulation run on a description: results by name."""
        result = self.formulation.function(description, **inputs, **dict(self.static))
        results = result if isinstance(result, tuple) else (result,)
        return dict(zip(self.quantity.outputs, results, strict=True))


# symbols of other libraries as arguments

_DEFERRED = ("jax", "jaxlib", "torch", "dask", "xarray")


def symbolic_arrays(arguments: Sequence[Argument]) -> list[Argument] | None:
    """The arguments with lists of CasADi symbols as arrays; None where there are no symbols."""
    arrays = []
    for x in arguments:
        items = _items(x)
        arrays.append(tracing.flat(items) if any(map(tracing.is_symbolic, items)) else x)
    return arrays if any(map(tracing.is_symbolic, arrays)) else None


def _items(x: Argument) -> list[Argument]:
    if isinstance(x, list | tuple):
        return [tracing.adopted(item) for item in x]
    if isinstance(x, np.ndarray) and x.dtype == object:
        return [tracing.adopted(item) for item in x.ravel()]
    return []


def has_no_values(x: Argument) -> bool:
    """Whether a result has no numbers to look at: symbols, traced or lazy arrays.

    CasADi's and SymPy's symbols have none, nor have arrays inside a framework's trace; the chunks of
    dask and xarray have been looked at one by one.
    """
    if type(x) in (np.ndarray, float):
        return False
    library = type(x).__module__.partition(".")[0]
    return tracing.is_symbolic(x) or _is_sympy(x) or library in _DEFERRED


def has_sympy(arguments: Sequence[Argument]) -> bool:
    """Whether SymPy expressions are among the arguments."""
    return any(_is_sympy(item) for x in arguments for item in (x, *_items(x)))


def _is_sympy(x: Argument) -> bool:
    return any(base.__module__.startswith("sympy.") for base in type(x).__mro__)


# names of axes for xarray


def named_ports(dynamics: Dynamics, variant: Variant) -> tuple[list[NamedPort], list[NamedPort]]:
    """Inputs of a variant's kernel, the open parameters last, and its results, with named axes."""
    from dalembert.kernels.call.array_backends import Axis, NamedPort

    inputs = [_named(dynamics, name, dynamics.inputs[name]) for name in variant.inputs]
    if dynamics.parameters:
        names = tuple(dynamics.parameters)
        inputs.append(NamedPort("parameters", (Axis("parameter", len(names), names),)))
    outputs = variant.quantity.outputs.items()
    return inputs, [_named(dynamics, name, sizes) for name, sizes in outputs]


def _named(dynamics: Dynamics, name: str, sizes: Sequence[Size]) -> NamedPort:
    """An array with the names of its axes, as in the results of `simulate`."""
    from dalembert.kernels.call.array_backends import Axis, NamedPort

    # coordinates and velocities have one name where there are as many of both
    alike = dynamics.nq == dynamics.nv
    labels_of = {
        "nq": ("joint" if alike else "coordinate", dynamics.coordinates, dynamics.velocities),
        "nv": ("joint", dynamics.velocities, dynamics.coordinates),
        "rows": ("row", dynamics.row_names, ()),
        "nu": ("actuator", dynamics.driven_by.names, ()),
        "na": ("active", tuple(a.name for a in dynamics.driven_by.active), ()),
    }
    axes: list[Axis] = []
    for k, size in enumerate(sizes):
        if size in labels_of:
            along, labels, same = labels_of[str(size)]
            axis = Axis(along, len(labels), tuple(labels), tuple(same) if alike else ())
        else:
            axis = Axis(f"{name}_{k}", dynamics.shape((size,))[0])
        again = sum(other.labels == axis.labels != () for other in axes)
        axes.append(replace(axis, name=f"{axis.name}_{again + 1}") if again else axis)
    units = set(dynamics.units(name)) if name in ("q", "qd", "qdd", "tau") else set()
    unit = {"units": next(iter(units))} if len(units) == 1 and units != {""} else {}
    return NamedPort(name, tuple(axes), unit)


class Evaluator:
    """Variants, programs and kernels of one system."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        self.has_parameters = bool(dynamics.parameters)
        self.variants: dict[Any, Variant] = {}
        self.kernels: dict[Any, Kernel] = {}
        self.programs: dict[Any, Program] = {}
        self.devices: dict[Any, DeviceKernel] = {}

    def variant(
        self, quantity: str, formulation: str | None, choices: Mapping[str, Argument]
    ) -> Variant:
        """The variant of these choices; arrays among them are optional inputs."""
        key: tuple[Any, ...] = ()
        if choices:
            optional = self.dynamics.quantity(quantity).optional
            key = tuple(
                (name, value is not False if name in optional else value)
                for name, value in choices.items()
            )
        try:
            return self.variants[quantity, formulation, key]
        except (KeyError, TypeError):  # unknown, or a choice that is no word
            variant = Variant.of(self.dynamics, quantity, formulation, choices)
        self.variants[quantity, formulation, key] = variant
        return variant

    def ports(self, variant: Variant) -> Ports:
        """Inputs of a variant's kernel, the open parameters last, and its results."""
        dynamics = self.dynamics
        inputs = [Port(name, dynamics.shape(dynamics.inputs[name])) for name in variant.inputs]
        if dynamics.parameters:
            inputs.append(Port("parameters", (len(dynamics.parameters),)))
        declared = variant.quantity.outputs.items()
        return tuple(inputs), tuple(Port(name, dynamics.shape(sizes)) for name, sizes in declared)

    def traceable(self, variant: Variant) -> Traceable:
        """The variant as a function of its inputs, the parameters, inertias, and a step of q."""

        def function(
            parameters: np.ndarray | None = None,
            inertia: np.ndarray | None = None,
            delta: np.ndarray | None = None,
            **inputs: np.ndarray,
        ) -> Mapping[str, np.ndarray]:
            dynamics = self.dynamics if parameters is None else self.dynamics.bind(parameters)
            dynamics = dynamics if inertia is None else dynamics.with_inertia(inertia)
            if delta is not None:
                inputs["q"] = dynamics.integrate(inputs["q"], delta)
            return variant.outputs(dynamics.description, **inputs)

        return function

    def program(self, variant: Variant) -> Program:
        """The formulation traced over this system."""
        if variant.key not in self.programs:
            self.programs[variant.key] = self._trace(variant, variant.quantity.name)
        return self.programs[variant.key]

    def kernel(self, variant: Variant) -> Kernel:
        """The compiled variant."""
        if variant.key in self.kernels:
            return self.kernels[variant.key]
        quantity, name = variant.quantity, variant.formulation.name
        if variant.inverts_mass:
            self.dynamics.require_regular()
        separable = is_separable(self.dynamics, variant)
        return self.build(
            variant.key,
            self.traceable(variant),
            self.ports(variant),
            name,
            f"{quantity.summary}: {variant.formulation.summary}",
            numeric=True,
            make_program=partial(self._trace, variant, name) if separable else None,
        )

    def device_kernel(self, variant: Variant) -> DeviceKernel:
        """The variant for arrays of a GPU."""
        from dalembert.kernels.cuda.device import DeviceKernel

        if variant.key not in self.devices:
            kernel = DeviceKernel(self.program(variant), variant.quantity.name)
            self.devices[variant.key] = kernel
        return self.devices[variant.key]

    def build(
        self,
        key: tuple[Any, ...],
        function: Traceable,
        ports: Ports,
        name: str,
        doc: str,
        numeric: bool = False,
        make_program: Callable[[], Program] | None = None,
    ) -> Kernel:
        """The kernel of a traceable function of this system, compiled or from the cache on disk.

        A `numeric` function runs on numbers too. `make_program` replaces the plain trace.
        """
        if key not in self.kernels:
            preload_llvm()  # a compiled kernel is linked, or else compiled, with it
            sources = [source_digest(package) for package in self.dynamics.traced_from]
            if make_program is not None:
                sources.append(source_digest("dalembert.systems"))
            self.kernels[key] = build(
                key=repr((self.dynamics.content, key, sources)),
                make_program=make_program or (lambda: traced(function, ports[0], name)),
                inputs=ports[0],
                outputs=ports[1],
                name=name,
                doc=doc,
                reference=function if numeric else None,
            )
        return self.kernels[key]

    def _trace(self, variant: Variant, name: str) -> Program:
        """The formulation traced over this system, tree by tree for a scene of many trees."""
        ports = self.ports(variant)
        if is_separable(self.dynamics, variant):
            return _forest_program(self.dynamics, variant, ports, name)
        return traced(self.traceable(variant), ports[0], name)

    # on numbers and on symbols

    def call(
        self, kernel: Kernel, what: str, arguments: Sequence[Argument], out: Out = None
    ) -> Results:
        """A kernel on arrays; NumPy's errors are raised again in the user's terms."""
        if needs_mapping(arguments):
            from dalembert.kernels.call.array_backends import MappedFunction, NamedPort

            ports = [[NamedPort.of(port) for port in x] for x in (kernel.inputs, kernel.outputs)]
            mapped = MappedFunction(f"{self.dynamics.name}.{what}", kernel.ufunc, *ports)
            return mapped(arguments, out)
        try:
            return kernel.ufunc(*arguments) if out is None else kernel.ufunc(*arguments, out=out)
        except (ValueError, TypeError) as error:
            from dalembert.kernels.call.arguments import explain_error

            explained = explain_error(error, kernel.inputs, arguments)
            raise ShapeError(f"{self.dynamics.name}.{what}: {explained}") from None

    def at_symbols(
        self,
        function: Traceable,
        inputs: Sequence[Port],
        arguments: Sequence[Argument],
        parameters: Parameters = None,
    ) -> Mapping[str, Any]:
        """A traceable function of this system at one state of symbols, ours or CasADi's."""
        if any(map(tracing.is_casadi, arguments)):
            ours = [tracing.adopted(x) for x in arguments]
            results = self.at_symbols(function, inputs, ours, parameters)
            return {name: tracing.exported_array(y) for name, y in results.items()}
        inputs_by_name = {
            port.name: tracing.flat([x]).reshape(port.shape) if tracing.is_symbolic(x) else x
            for port, x in zip(inputs, arguments, strict=False)
        }
        values = self.parameter_array(parameters) if self.has_parameters else None
        with np.errstate(all="ignore"):  # infinite and NaN constants are the function's own
            return function(parameters=values, **inputs_by_name)

    def on_symbols(
        self, variant: Variant, arguments: Sequence[Argument], parameters: Parameters
    ) -> Results:
        """The quantity at one state of symbols, as inside a user's constraint or controller."""
        if any(type(x).__name__ == "MX" for x in arguments):
            name = variant.quantity.name
            raise ShapeError(
                f"{self.dynamics.name}.{name} takes casadi.SX; for casadi.MX call what "
                f"casadi_function({name!r}) gives"
            )
        inputs, _ = self.ports(variant)
        results = self.at_symbols(self.traceable(variant), inputs, arguments, parameters)
        return tuple(results.values()) if len(results) > 1 else next(iter(results.values()))

    def on_sympy(
        self, variant: Variant, arguments: Sequence[Argument], parameters: Parameters
    ) -> Results:
        """The quantity at one state of SymPy expressions: expressions and matrices of SymPy."""
        from dalembert.symbolic.operations import exact, number, to_sympy

        def entries(x: Argument) -> list[Any]:
            flat = list(x) if hasattr(x, "__len__") else [x]
            return [item if _is_sympy(item) else number(exact(float(item))) for item in flat]

        inputs, _ = self.ports(variant)
        symbols = dict(zip([port.name for port in inputs], map(entries, arguments), strict=False))
        if self.has_parameters:
            symbols["parameters"] = entries(self.parameter_array(parameters))
        for port in inputs:
            count = len(symbols[port.name])
            if count != port.size:
                raise ShapeError(f"{port.name} has {count} entries of SymPy, expected {port.size}")
        results = tuple(to_sympy(self.program(variant), symbols).values())
        return results if len(results) > 1 else results[0]

    def reference(
        self,
        quantity: str,
        inputs: Sequence[Argument],
        formulation: str | None,
        choices: Mapping[str, Argument],
    ) -> Results:
        """The formulation itself, run as plain NumPy on one state, nothing compiled."""
        dynamics, declared = self.dynamics, self.dynamics.quantity(quantity)
        chosen = declared.formulation(formulation, dynamics.description)
        inverts_mass = declared.inverts_mass and chosen.inverts_mass
        where = f"{dynamics.name}.{quantity}"
        if len(inputs) != len(declared.inputs):
            raise ShapeError(
                f"{where} takes {', '.join(declared.inputs)}; got {len(inputs)} arrays"
            )
        arrays = dynamics.one_state(where, **dict(zip(declared.inputs, inputs, strict=True)))
        try:
            result: Results = dynamics.bound().compute(quantity, formulation, **arrays, **choices)
        except np.linalg.LinAlgError as error:
            if inverts_mass:
                dynamics.require_regular()
            raise FormulationError(f"{where} has no value at this state: {error}") from None
        results = result if isinstance(result, tuple) else (result,)
        if inverts_mass and not all(np.isfinite(x).all() for x in results):
            dynamics.require_regular()
        return result

    # parameters as arrays

    def parameters_beside(self, arguments: Sequence[Argument], parameters: Parameters) -> Results:
        """Their array; plain numbers do not raise the precision of single-precision arguments."""
        values = self.parameter_array(parameters)
        plain = not any(hasattr(x, "dtype") for x in arrays_of(parameters))
        single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
        return values.astype(np.float32) if plain and single else values

    def parameter_array(self, parameters: Parameters = None) -> np.ndarray:
        """Values (..., n_parameters) of the named parameters."""

        from dalembert.kernels.call import array_backends

        if parameters is None or isinstance(parameters, Mapping):
            if not any(map(np.ndim, arrays_of(parameters))):
                return self.dynamics.possible_values(parameters)
            known = self.dynamics.parameter_values(dict.fromkeys(parameters or {}, 0.0))
            values = dict(zip(self.dynamics.parameters, known, strict=True))
            parameters = array_backends.stack_arrays(values | dict(parameters or {}))
        elif not needs_mapping((parameters,)):
            parameters = np.asarray(parameters)
        return self.dynamics.possible_values(parameters)


def arrays_of(parameters: Parameters) -> tuple[Argument, ...]:
    """The values of parameters that may be arrays."""
    if isinstance(parameters, Mapping):
        return tuple(parameters.values())
    return () if parameters is None else (parameters,)


def traced(function: Traceable, inputs: Sequence[Port], name: str) -> Program:
    """The program of a function of these inputs."""
    from dalembert.kernels.program.trace import trace

    return trace(function, {port.name: port.shape for port in inputs}, name=name)


# scenes of many trees


def is_separable(dynamics: Dynamics, variant: Variant) -> bool:
    """Whether the quantity may be traced tree by tree."""
    chosen = dict(variant.static).keys() - {"out_layout"}
    if dynamics.nv < MIN_VELOCITIES or chosen or variant.optional or dynamics.parameters:
        return False
    if "frame" in variant.quantity.static:  # trees have no frames
        return False
    shapes = [dynamics.inputs[name] for name in variant.inputs]
    shapes += list(variant.quantity.outputs.values())
    return all(shape and _COUNTED.issuperset(shape) for shape in shapes) and bool(dynamics.trees)


def _forest_program(dynamics: Dynamics, variant: Variant, ports: Ports, name: str) -> Program:
    """The program of the whole, from those of its trees."""
    from dalembert.kernels.program.passes import Share, concatenate
    from dalembert.kernels.program.trace import trace

    programs: dict[str, Program] = {}
    shares = []
    inputs = [(port, dynamics.inputs[port.name]) for port in ports[0]]
    results = list(zip(ports[1], variant.quantity.outputs.values(), strict=True))
    for tree in dynamics.trees:
        if tree.model.content not in programs:
            own = {"nq": len(tree.q), "nv": len(tree.v)}
            shapes = {port.name: tuple(own[str(size)] for size in sizes) for port, sizes in inputs}
            function = partial(variant.outputs, tree.model)
            programs[tree.model.content] = trace(function, shapes, name=name)
        indices = [_indices(dynamics, tree, entries) for entries in (inputs, results)]
        shares.append(Share(programs[tree.model.content], *indices))
    return concatenate(name, *ports, shares)


def _indices(
    dynamics: Dynamics, tree: IndependentTree, ports: Sequence[tuple[Port, tuple[Size, ...]]]
) -> np.ndarray:
    """Indices of the entries of a tree among those of all ports of the whole."""
    indices, start = [np.zeros(0, dtype=int)], 0
    for port, sizes in ports:
        if sizes[0] in NONZERO_ENTRIES:
            # packed entries of matrices
            rows, columns = NONZERO_ENTRIES[str(sizes[0])](dynamics.description)
            own_rows, own_columns = (tree.v[k] for k in NONZERO_ENTRIES[str(sizes[0])](tree.model))
            keys = rows * dynamics.nv + columns
            order = np.argsort(keys)
            own = order[np.searchsorted(keys[order], own_rows * dynamics.nv + own_columns)]
        else:
            axes = np.ix_(*(tree.q if size == "nq" else tree.v for size in sizes))
            own = np.ravel_multi_index(axes, port.shape).ravel()
        indices.append(start + own)
        start += prod(port.shape)
    return np.concatenate(indices)
