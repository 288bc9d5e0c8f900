"""What a newcomer does to add a joint kind: one function, one line in the list, and this."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert import PlanarMechanism
from dalembert.mechanisms import read_mechanism
from dalembert.systems.bodies.planar import JOINTS, between
from dalembert.systems.bodies.space import PLANAR, Kind


def ellipse(q: Any, p: Any) -> Any:
    """The second point slides on an ellipse with half axes p[4], p[5] about the first."""
    d = between(q, p)
    return np.stack([(d[0] / p[4]) ** 2 + (d[1] / p[5]) ** 2 - 1.0])


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = Kind("ellipse", PLANAR, 2, 1, ellipse, ("wide", "high"), custom=True)
    monkeypatch.setitem(JOINTS, "ellipse", kind)


@pytest.mark.usefixtures("listed")
def test_a_new_kind_works_everywhere_at_once() -> None:
    mechanism = PlanarMechanism("bead").body("bead", 1.0, 1.0, at=(2.0, 0.0))
    mechanism.joint("ellipse", "wire", "ground", "bead", wide=2.0, high=1.0)
    run = mechanism.simulate(0.5, 0.1)
    x, y = run.q.values[:, 0], run.q.values[:, 1]
    np.testing.assert_allclose((x / 2.0) ** 2 + y**2, 1.0, atol=1e-12)
    assert float(abs(run.balance).max()) < 1e-8
    state = mechanism.states(run)[-1]
    _, lam = mechanism.constrained().forward_dynamics(
        state.q, state.v, np.zeros(3), formulation="gauge"
    )
    np.testing.assert_allclose(lam, state.multipliers, atol=1e-9)
    assert state.force("wire", on="bead").shape == (2,)


@pytest.mark.usefixtures("listed")
def test_a_new_kind_is_known_to_files() -> None:
    mechanism = read_mechanism(
        """
        [[body]]
        name = "bead"
        mass = 1.0
        inertia = 1.0
        at = [2.0, 0.0]
        [[joint]]
        name = "wire"
        type = "ellipse"
        between = ["ground", "bead"]
        wide = 2.0
        high = 1.0
        """
    )
    assert mechanism.mobility == 2
