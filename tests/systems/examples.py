"""Systems that several tests use, each given in more than one way."""

import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl

ARM = {"m1": 1.3, "m2": 0.9, "l1": 0.8, "r1": 0.35, "r2": 0.45, "I1": 0.11, "I2": 0.07}


def planar_2r() -> dl.Lagrangian:
    """The planar arm from the energies of 000 p.18–19, in SymPy."""
    t1, t2 = dynamicsymbols("theta1 theta2")
    p = {name: sympy.Symbol(name) for name in ARM}
    time = t1.args[0]
    x1, y1 = p["r1"] * sympy.cos(t1), p["r1"] * sympy.sin(t1)
    x2 = p["l1"] * sympy.cos(t1) + p["r2"] * sympy.cos(t1 + t2)
    y2 = p["l1"] * sympy.sin(t1) + p["r2"] * sympy.sin(t1 + t2)
    moving = [p["m1"] * (x1.diff(time) ** 2 + y1.diff(time) ** 2)]
    moving += [p["m2"] * (x2.diff(time) ** 2 + y2.diff(time) ** 2)]
    turning = [p["I1"] * t1.diff(time) ** 2, p["I2"] * (t1 + t2).diff(time) ** 2]
    kinetic = sum(moving + turning) / 2
    parameters = {p[name]: value for name, value in ARM.items()}
    return dl.Lagrangian([t1, t2], kinetic, parameters=parameters, name="planar_2r")


def pendulum(friction: float = 0.0) -> dl.Lagrangian:
    """The pendulum of 000 p.9 with viscous friction; m = 1.3 kg, l = 0.7 m."""
    theta, rate, m, l, g = sympy.symbols("theta omega m l g")
    return dl.Lagrangian(
        [theta],
        kinetic=m * l**2 * rate**2 / 2,
        potential=m * g * l * (1 - sympy.cos(theta)),
        forces=[-friction * rate],
        parameters={m: 1.3, l: 0.7, g: 9.81},
        qd=[rate],
        name="pendulum",
    )


def double_pendulum(**more: object) -> dl.Particles:
    """Two bobs on rods of 0.6 and 0.4 m, in the vertical plane."""
    a, b = sympy.symbols("a b")
    first = sympy.Matrix([0.6 * sympy.sin(a), -0.6 * sympy.cos(a)])
    second = first + sympy.Matrix([0.4 * sympy.sin(b), -0.4 * sympy.cos(b)])
    options = {"gravity": [0, -9.81], "name": "double_pendulum", **more}
    return dl.Particles([1.2, 0.5], [first, second], [a, b], **options)


def rk4(system: dl.Lagrangian, q, qd, duration: float, steps: int):
    """The motion without τ, by the classical Runge–Kutta method."""
    import numpy as np

    tau, dt = np.zeros(system.nv), duration / steps
    state = np.concatenate([q, qd])
    n = system.nv

    def rate(s):
        return np.concatenate([s[n:], system.forward_dynamics(s[:n], s[n:], tau)])

    for _ in range(steps):
        k1 = rate(state)
        k2 = rate(state + dt / 2 * k1)
        k3 = rate(state + dt / 2 * k2)
        k4 = rate(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state[:n], state[n:]
