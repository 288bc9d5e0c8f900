"""Stiff mechanisms: the flyball governor (IFToMM A05) against its equations in three coordinates."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.zoo.absolute import flyball_governor, two_bars

ROD, BALL, SLIDER, G = 0.3, 5.0, 3.0, 9.81  # kg, m/s²
ALONG, ACROSS = ROD * 2e-4 / 12, ROD * (1 + 1e-4) / 12  # moments of a rod of 1 × 0.01 × 0.01 m
UPRIGHT = SLIDER * 0.02 / 12 + ROD * 2e-4 / 12  # of slider and shaft about the axis, kg m²


def about_the_axis(angle: float) -> tuple[float, float]:
    """I(α) of everything about the vertical axis, and dI/dα."""
    c, s = np.cos(angle), np.sin(angle)
    rods = ROD * (0.05 + 0.5 * c) ** 2 + ALONG * s * s + ACROSS * c * c
    balls = BALL * (0.05 + c) ** 2
    derivative = (
        -ROD * (0.05 + 0.5 * c) * s + 2 * (ALONG - ACROSS) * s * c - 2 * BALL * (0.05 + c) * s
    )
    return UPRIGHT + 2 * (rods + balls), 2 * derivative


@cache
def governor(k: float = 8e5, c: float = 4e4) -> tuple[np.ndarray, np.ndarray]:
    """s and α at 0, 0.02, …, 0.1 s by Lagrange's equations in (s, α), the spin kept by p_ψ."""
    momentum = about_the_axis(np.pi / 6)[0] * 2 * np.pi
    swing = 2 * (ROD * 0.25 + ACROSS + BALL)

    def rates(t: float, y: np.ndarray) -> list[float]:
        s, angle, sd, turn = y
        inertia, derivative = about_the_axis(angle)
        cosine, sine = np.cos(angle), np.sin(angle)
        x, z = 0.5 * cosine, 1 - 0.5 * sine - s  # from the slider to the middle of a rod
        l = np.hypot(x, z)
        by_angle, by_slider = (-0.5 * sine * x - 0.5 * cosine * z) / l, -z / l
        pull = -k * (l - 0.5) - c * (by_angle * turn + by_slider * sd)
        sdd = 2 * pull * by_slider / SLIDER - G
        weight = 2 * G * (0.5 * ROD + BALL) * cosine
        spin = 0.5 * derivative * (momentum / inertia) ** 2
        return [sd, turn, sdd, (spin + 2 * pull * by_angle + weight) / swing]

    times = np.linspace(0.0, 0.1, 6)
    start = [0.5, np.pi / 6, 0.0, 0.0]
    tight = {"method": "Radau", "rtol": 1e-11, "atol": 1e-13, "t_eval": times}
    solution = solve_ivp(rates, (0.0, 0.1), start, **tight)
    return solution.y[0], solution.y[1]


def heights(dt: float) -> np.ndarray:
    every = round(0.02 / dt)
    run = flyball_governor().simulate(0.1, dt, method="generalized_alpha", every=every)
    assert float(run.residual.max()) < 1e-11
    return run.q.values[:, 9]


def test_the_governor_runs_by_generalised_alpha_with_its_order() -> None:
    """The springs relax within 1e-4 s; steps of 4 ms and 2 ms go over that."""
    exact, _ = governor()
    assert exact[-1] - exact[0] > 0.02
    coarse, fine = (np.abs(heights(dt) - exact).max() for dt in (4e-3, 2e-3))
    assert fine < 1.5e-6
    assert abs(np.log2(coarse / fine) - 2.0) < 0.1


def test_the_governor_runs_by_radau() -> None:
    exact, _ = governor()
    with pytest.warns(SimulationWarning):  # an explicit method with such steps does not get there
        flyball_governor().simulate(0.02, 2e-3, method="rk4", compiled=False)
    run = flyball_governor().simulate(0.02, 0.02, method="Radau", rtol=1e-5, atol=1e-7)
    assert run.attrs["status"] == "complete"
    assert abs(run.q.values[-1, 9] - exact[1]) < 1e-8
    assert float(run.residual.max()) < 1e-11 and float(run.velocity_residual.max()) < 1e-11


@pytest.mark.parametrize("stiffness", [1e5, 1e7])
def test_a_spring_of_any_stiffness_tends_to_a_weld(stiffness: float) -> None:
    """ω h is 50 and 500: what is left is the pendulum of two bars as one, 0.3 s from the level."""
    mechanism = two_bars().spring("k", "B", stiffness=stiffness, damping=1e-3 * stiffness)
    run = mechanism.simulate(0.3, 5e-3, method="generalized_alpha", rho=0.5, every=60)
    inertia = 2 * 0.25 + 1 / 6 + 1.4**2 + 0.16 / 3
    weight = 9.81 * (2 * 0.5 + 1.4)
    exact = solve_ivp(
        lambda t, y: [y[1], -weight * np.cos(y[0]) / inertia], (0, 0.3), [0, 0], rtol=1e-10
    ).y[0, -1]
    # the spring gives by about the moment over the stiffness; steps of second order
    assert abs(run.q.values[-1, 2] - exact) < 2e-4 + 10.0 / stiffness
