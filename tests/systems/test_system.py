"""One interface over robots and Lagrangians: traceable on one side, evaluated on the other."""

from types import MappingProxyType

import numpy as np
import pytest

import dalembert as dl
from dalembert.formulations import Formulation, Quantity
from dalembert.kernels.program.trace import trace
from dalembert.model.coupling import Follow, couple
from dalembert.systems.dynamics import COORDINATES, Dynamics, delegates
from dalembert.systems.system import System, dynamics
from dalembert.zoo import energies
from tests.systems.examples import double_pendulum, pendulum


def ball():
    link = {"name": "ball", "joint": {"type": "spherical"}, "mass": 2.0, "com": (0.1, 0.0, -0.5)}
    return dl.Robot.from_links([{**link, "inertia": np.diag([0.1, 0.2, 0.3])}])


def gear():
    """The second joint turns twice as far as the first, and both rub."""
    links = [
        {
            "name": f"link{i}",
            "parent": parent,
            "joint": {"type": "revolute", "name": f"j{i}", "axis": (0, 1, 0), "viscous": 0.3 * i},
            "mass": 1.0,
            "com": (0.4, 0.0, 0.0),
            "inertia": 0.1 * np.eye(3),
        }
        for i, parent in ((1, None), (2, "link1"))
    ]
    return dl.Robot(couple(dl.Robot.from_links(links).model, {"j2": Follow("j1", 2.0, 0.1)}))


SYSTEMS = {
    "gear": gear,
    "puma560": lambda: dl.load("puma560"),
    "ball": ball,
    "double_pendulum": double_pendulum,
    "spherical_pendulum": energies.spherical_pendulum,
    "driven": lambda: pendulum(0.3),
}


def state(system):
    rng = np.random.default_rng(5)
    q = system.integrate(system.neutral(), rng.uniform(0.2, 1.0, system.nv))
    return q, *rng.normal(size=(2, system.nv))


@pytest.mark.parametrize("name", SYSTEMS)
def test_equation_of_motion(name):
    """M q̈ + h = τ + ψ, by the traceable functions, is what the system itself computes."""
    system = SYSTEMS[name]()
    own = dynamics(system)
    own = own.bind(own.parameter_values()) if own.parameters else own
    q, qd, qdd = state(system)
    tau = own.mass_matrix(q) @ qdd + own.bias(q, qd) - own.generalized_forces(q, qd)
    close = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(tau, system.inverse_dynamics(q, qd, qdd), **close)
    np.testing.assert_allclose(own.forward_dynamics(q, qd, tau), qdd, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(own.kinetic_energy(q, qd), system.kinetic_energy(q, qd), **close)
    np.testing.assert_allclose(own.potential_energy(q), system.potential_energy(q), **close)
    assert (len(own.coordinates), len(own.velocities)) == (system.nq, system.nv)


@pytest.mark.parametrize("name", SYSTEMS)
def test_rate_is_the_slope_of_integrate(name):
    system = SYSTEMS[name]()
    own, (q, qd, _) = dynamics(system), state(system)
    h = 1e-6
    derivative = (own.integrate(q, h * qd) - own.integrate(q, -h * qd)) / (2 * h)
    np.testing.assert_allclose(own.rate(q, qd), derivative, atol=1e-8)  # ε/h and h²


@pytest.mark.parametrize("name", SYSTEMS)
def test_dynamics_traces(name):
    """Functions of `Dynamics` become one program: here the energy's rate of a free motion."""
    system = SYSTEMS[name]()
    own = dynamics(system)
    own = own.bind(own.parameter_values()) if own.parameters else own

    def power(q, qd):
        free = own.forward_dynamics(q, qd, np.zeros(own.nv))
        return (own.mass_matrix(q) @ free) @ qd + own.rate(q, qd) @ np.ones(own.nq)

    program = trace(power, {"q": (own.nq,), "qd": (own.nv,)})
    assert program.signature == f"({own.nq}),({own.nv})->()"


def test_a_catalogue_of_its_own():
    """Later layers compile their quantities with the same class."""

    def drift(description, q, qd):
        return description.rate(q, qd) + 1.0

    built = Formulation("plain", drift, "here", "adds one")
    quantity = Quantity("drift", "q̇ + 1", ("q", "qd"), {"rate": ("nq",)}, (built,))

    @delegates("other", COORDINATES)
    class Drifting(Dynamics):
        name, content, parameters = "drifting", "drifting", {}
        traced_from = ("dalembert.systems",)
        catalogue = MappingProxyType({"drift": quantity})
        other = double_pendulum().dynamics

        def parameter_values(self, values=None):
            return np.zeros(0)

    result = System(Drifting()).evaluate("drift", np.zeros(2), np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(result, [[2.0, 3.0]])


def test_names_of_coordinates():
    assert dynamics(ball()).coordinates == tuple(f"ball[{k}]" for k in range(4))
    assert dynamics(ball()).velocities == tuple(f"ball[{k}]" for k in range(3))
    assert dynamics(energies.spherical_pendulum()).coordinates == ("theta", "phi")
