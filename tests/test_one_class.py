"""Systems are composed: a class of constraints or mechanisms inherits from no mixins of its package."""

from __future__ import annotations

import pytest

import dalembert as dl


@pytest.mark.parametrize(
    ("kind", "package", "most"),
    [
        (dl.Constrained, "constraints", 1),
        (dl.Network, "constraints", 1),
        (dl.Touching, "constraints", 1),
        (dl.ContactBody, "constraints", 1),
        (dl.PlanarMechanism, "mechanisms", 2),
        (dl.SpatialMechanism, "mechanisms", 2),
    ],
)
def test_a_system_has_no_mixins_of_its_package(kind: type, package: str, most: int) -> None:
    own = [c for c in kind.__mro__ if c.__module__.startswith(f"dalembert.{package}.")]
    assert own[0] is kind and len(own) == most
