"""The catalogue: every quantity with its formulations, first the default."""

from __future__ import annotations

from dalembert.errors import UnknownNameError
from dalembert.formulations.catalogue import derivatives as catalogue_derivatives
from dalembert.formulations.catalogue import dynamics as catalogue_dynamics
from dalembert.formulations.catalogue import kinematics as catalogue_kinematics
from dalembert.formulations.catalogue import matrices as catalogue_matrices
from dalembert.formulations.catalogue import operational as catalogue_operational
from dalembert.formulations.registry import Quantity, suggest

_PARTS = (
    catalogue_dynamics,
    catalogue_matrices,
    catalogue_kinematics,
    catalogue_operational,
    catalogue_derivatives,
)
QUANTITIES = {quantity.name: quantity for part in _PARTS for quantity in part.QUANTITIES}


def quantity(name: str) -> Quantity:
    """The quantity of that name, or an error that suggests the nearest."""
    try:
        return QUANTITIES[name]
    except KeyError:
        known = list(QUANTITIES)
        raise UnknownNameError(f"there is no quantity {name!r}{suggest(name, known)}") from None


def names(name: str) -> dict[str, str]:
    """Names of the formulations of a quantity, each with its citation; the default first.

    >>> list(names("mass_matrix"))[0]
    'composite_body'
    """
    return {f.name: f.citation for f in quantity(name).formulations}
