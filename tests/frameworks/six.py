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
    made = system(name)
    for quantity in made.dynamics.catalogue.values():
        if (name, quantity.name) in NO_SLOPES:
            continue
        choices = {key: True for key in quantity.optional if key not in ("wrenches", "near")}
        if "constraint" in quantity.static:
            if quantity.name != "wrench":
                continue  # of contacts, which none of these has
            choices["constraint"] = next(iter(made.description.constraints))
        way = "operator" if (name, quantity.name) == ("free", "coriolis_matrix") else None
        found = quantity_operation(made, made._variant(quantity.name, way, choices))
        # tendons and actuators are nowhere here: arrays without entries have no kernels
        if all(port.size for port in (*found.inputs, *found.outputs)) and _has(found):
            yield quantity.name, found


def _has(found):
    """Whether the system has the quantity: not every one has coordinates for it, or enough joints."""
    try:
        found.program  # noqa: B018
    except dl.FormulationError:
        return False
    return True


def state(name, found: Operation, rng, size=()):
    """Random inputs (*size, ...): q assembled, quaternions of length one."""
    made, inputs = system(name), []
    for port in found.inputs:
        x = rng.normal(size=(*size, *port.shape))
        if port.name in ("q", "to"):
            x = made.integrate(made.neutral(), 0.5 + 0.3 * x[..., : made.nv])
        if port.name == "weights":
            x = 0.5 + np.abs(x)
        if port.name == "parameters":
            x = np.broadcast_to(made.parameter_array(), (*size, *port.shape)).copy()
        if port.name == "q" and made.dynamics.rows:
            x = np.broadcast_to(made.neutral(), (*size, made.nq)).copy()
        inputs.append(x)
    return inputs
