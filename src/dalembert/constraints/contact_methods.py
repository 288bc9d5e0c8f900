"""What a constrained system says of its contacts: coordinates, rates, twist, friction."""

from __future__ import annotations

from typing import Any

from dalembert.constraints.contact import contacts
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.large import LargeMethods
from dalembert.constraints.posture import index
from dalembert.errors import ConstraintError
from dalembert.systems.evaluator import Parameters


class ContactMethods(LargeMethods):
    """Methods that take the name of a contact, which may be left out where there is one."""

    dynamics: ConstrainedDynamics

    def contact_coordinates(
        self,
        q: Any,
        contact: str | None = None,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """η = (u_o, v_o, u_f, v_f, ψ) (..., 5) of a contact, by its name where there are several.

        (u, v) are the coordinates of both surfaces at the contact, ψ the angle between their
        charts (000 p.76). Angles lie within ±π.
        """
        name = self._contact(contact)
        return self._evaluate(
            "contact_coordinates", (q,), None, parameters, out, t=t, constraint=name
        )

    def contact_jacobian(
        self,
        q: Any,
        contact: str | None = None,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """J (..., 5, nv) with η̇ = J q̇ (Montana 1988)."""
        name = self._contact(contact)
        return self._evaluate("contact_jacobian", (q,), None, parameters, out, t=t, constraint=name)

    def contact_rates(
        self,
        q: Any,
        qd: Any,
        contact: str | None = None,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """η̇ (..., 5)."""
        name = self._contact(contact)
        return self._evaluate("contact_rates", (q, qd), None, parameters, out, t=t, constraint=name)

    def contact_twist(
        self,
        q: Any,
        qd: Any,
        contact: str | None = None,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """V_{l_o l_f} (..., 6) in the finger's contact frame, its z out of the finger.

        (v_x, v_y) is the slip, v_z the approach, (ω_x, ω_y) the rolling velocity, ω_z the spin.
        """
        name = self._contact(contact)
        return self._evaluate("contact_twist", (q, qd), None, parameters, out, t=t, constraint=name)

    def contact_friction(
        self,
        q: Any,
        qd: Any,
        lam: Any,
        contact: str | None = None,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """Friction (..., 6) ON the finger of a contact that rubs, from λ of `forward_dynamics`.

        Force at the contact point and moment about the normal, along world axes.
        """
        made = self.description
        rubbing = tuple(name for name, kind in made.constraints.items() if kind.rubs)
        name = self._contact(contact, rubbing, "contact that rubs")
        given = (q, qd, lam)
        return self._evaluate(
            "contact_friction", given, None, parameters, out, t=t, constraint=name
        )

    def _contact(
        self,
        name: str | None,
        known: tuple[str, ...] | None = None,
        what: str = "contact of two surfaces",
    ) -> str:
        """The contact of that name, or the only one."""
        known = contacts(self.description) if known is None else known
        if name is None and len(known) == 1:
            return known[0]
        if name is None:
            found = ", ".join(known) if known else f"no {what}"
            raise ConstraintError(f"{self.name} has {found}; name one with contact=")
        every = tuple(self.description.constraints)
        return every[index(every, name, f"{self.name} has no contact")]
