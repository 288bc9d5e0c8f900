"""Six systems on which every quantity is differentiated, and states of them."""

from functools import cache

import numpy as np

import dalembert as dl
from dalembert.model.coupling import Follow, couple
from dalembert.systems.derivatives import Operation, quantity_operation
from dalembert.zoo import energies
from tests.formulations.mechanisms import random_model

# two joints cannot move in every direction, and push there without end: radii that are zero, roots of
# rounding, or infinite have no slope
NO_SLOPES = {("coupled", "force_ellipsoid"), ("coupled", "velocity_ellipsoid")}
NAMES = ("ur5", "free", "coupled", "lagrangian", "four_bar", "parallel_3rr")


@cache
def system(name):
    """A 6R arm, a free base with quaternions, a joint that follows, energies, two closed chains."""
    if name == "free":
        rng = np.random.default_rng(3)
        model = random_model(rng, ("free", "spherical", "revolute"), n=3, tree=False)
        assert (model.nq, model.nv) != (model.nv, model.nv)
        return dl.Robot(model)
    if name == "coupled":
        follower = {"link3_joint": Follow("link2_joint", -0.5, 0.2)}
        return dl.Robot(couple(dl.load("elbow_3r").model, follower))
    if name == "lagrangian":
        m, l, g = (dl.Parameter(x, v) for x, v in (("m", 2.0), ("l", 0.7), ("g", 9.81)))
        return energies.spherical_pendulum(m, l, g)
    return dl.load(name)


def operations(name):
    """(name, operation) of every quantity that the system has, optional inputs included."""
    mechanism = system(name)
    for quantity in mechanism.dynamics.catalogue.values():
        if (name, quantity.name) in NO_SLOPES:
            continue
        choices = {key: True for key in quantity.optional if key not in ("wrenches", "near")}
        if "constraint" in quantity.static:
            if quantity.name != "wrench":
                continue  # of contacts, which none of these has
            choices["constraint"] = next(iter(mechanism.description.constraints))
        formulation = "operator" if (name, quantity.name) == ("free", "coriolis_matrix") else None
        result = quantity_operation(
            mechanism, mechanism._variant(quantity.name, formulation, choices)
        )
        # tendons and actuators are nowhere here: arrays without entries have no kernels
        if all(port.size for port in (*result.inputs, *result.outputs)) and _has(result):
            yield quantity.name, result


def _has(result):
    """Whether the system has the quantity: not every one has coordinates for it, or enough joints."""
    try:
        result.program  # noqa: B018
    except dl.FormulationError:
        return False
    return True


def state(name, result: Operation, rng, size=()):
    """Random inputs (*size, ...): q assembled, quaternions of length one."""
    mechanism, inputs = system(name), []
    for port in result.inputs:
        x = rng.normal(size=(*size, *port.shape))
        if port.name in ("q", "to"):
            x = mechanism.integrate(mechanism.neutral(), 0.5 + 0.3 * x[..., : mechanism.nv])
        if port.name == "weights":
            x = 0.5 + np.abs(x)
        if port.name == "parameters":
            x = np.broadcast_to(mechanism.parameter_array(), (*size, *port.shape)).copy()
        if port.name == "q" and mechanism.dynamics.rows:
            x = np.broadcast_to(mechanism.neutral(), (*size, mechanism.nq)).copy()
        inputs.append(x)
    return inputs
