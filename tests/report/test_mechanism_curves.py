"""Curves of a mechanism: every body, every pin, every motor, with the numbers of the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import SpatialMechanism
from dalembert.mechanisms.state import loads
from dalembert.report.figures import draw_mechanism, mechanism_charts, with_loads
from dalembert.zoo.absolute import hanging_chain
from dalembert.zoo.two_bar import scenario


@pytest.mark.parametrize("name", ["joint_interpolated", "straight_line", "computed_torque"])
def test_forces_at_the_pins_are_those_of_newton(name: str) -> None:
    """F at B is m₃ (a₃ − g), F at A carries both bars; a from differences of the run itself."""
    example = scenario(name, delta_t=0.4)
    run = example.mechanism.simulate(0.4, 1e-3, torques=example.torques, rtol=1e-10, atol=1e-11)
    curves = loads(example.mechanism, run.isel(time=slice(1, -1, 40)), example.moved)
    v = run.qd.values
    a = ((v[2:] - v[:-2]) / 2e-3)[::40]
    weight = np.array([0.0, 9.81])
    at_B = example.arm.m[1] * (a[:, 3:5] + weight)
    at_A = example.arm.m[0] * (a[:, 0:2] + weight) + at_B
    expected = np.concatenate([at_A, at_B], axis=1)
    np.testing.assert_allclose(curves.joint_force.values, expected, atol=2e-3)


def test_every_coordinate_and_every_pin_has_its_curve() -> None:
    example = scenario("joint_interpolated", delta_t=0.4)
    run = example.mechanism.simulate(0.4, 0.1)
    charts = {
        c.unit: c.series
        for c in mechanism_charts(with_loads(example.mechanism, run, example.moved))
    }
    names = {unit: [series.name for series in several] for unit, several in charts.items()}
    assert names["q / m"] == ["bar2.x", "bar2.y", "bar3.x", "bar3.y"]
    assert names["q / rad"] == ["bar2.phi", "bar3.phi"]
    assert len(names["q̇ / m/s"]) == 4 and len(names["q̇ / rad/s"]) == 2
    assert names["F / N"][:2] == ["A.x on bar2", "A.y on bar2"]
    assert names["τ / N m, N"] == ["T12", "T23"]
    np.testing.assert_array_equal(charts["q / rad"][1].y, run.q.values[:, 5])


def test_large_and_spatial_mechanisms_are_drawn(tmp_path: Path) -> None:
    chain = hanging_chain(bodies=12)
    assert draw_mechanism(chain, chain.simulate(0.1, 0.05), tmp_path / "chain.png").exists()
    top = SpatialMechanism("top").body("rod", 1.0, (0.1, 0.1, 0.2), at=(0.5, 0.0, 0.0))
    top.spherical("tip", "ground", "rod", at=(0.0, 0.0, 0.0))
    path = draw_mechanism(top, top.simulate(0.1, 0.05), tmp_path / "top.png")
    assert path.read_bytes()[:4] == b"\x89PNG"
