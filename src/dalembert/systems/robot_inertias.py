"""The inertias of a robot as numbers to read, to change and to group."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.formulations.derivatives.base_parameters import Grouping


class RobotInertias(System):
    """Inertial parameters θ with τ = Y θ, the base parameters behind them, and equivalent robots."""

    def regressor(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """Y (..., nv, 10 bodies): ``Y @ robot.parameters`` is τ without friction, rotors, elements.

        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> Y = robot.regressor([np.pi / 2], [0.0], [0.0])
        >>> Y @ robot.parameters
        array([9.81])
        """
        given = {"base_twist": base_twist, "base_acceleration": base_acceleration}
        return self._evaluate("regressor", (q, qd, qdd), None, parameters, out, **given)

    @property
    def parameters(self) -> np.ndarray:
        """θ (10 bodies,): mass, first moment and tensor about the joint's origin, of every body.

        Body frames have their origin and z axis on the joint; SI units; `parameter_names` says
        which is which.

        >>> import dalembert as dl
        >>> dl.load("pendulum").parameters.shape
        (10,)
        """

        from dalembert.formulations.derivatives import inertial

        return np.asarray(inertial.inertial_parameters(self._numbers()), dtype=float)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """``link:m, link:mx, …, link:Izz`` for every entry of `parameters`."""

        from dalembert.formulations.derivatives import inertial

        return inertial.inertial_names(self.description)

    def with_parameters(self, theta: Any) -> Self:
        """The same robot with other inertias, θ as in `parameters`; they need not be physical.

        >>> import dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> robot.with_parameters(2 * robot.parameters).mass_matrix([0.0])
        array([[2.]])
        """

        from dalembert.formulations.derivatives import inertial

        return type(self)(inertial.with_inertial_parameters(self._numbers(), theta))  # type: ignore[arg-type]  # systems are made of their description

    @cached_property
    def base_parameters(self) -> Grouping:
        """The smallest set of combinations of inertias that decides the torques, explained.

        >>> import dalembert as dl
        >>> len(dl.load("planar_2r").base_parameters.kept)
        4
        """
        from dalembert.formulations.derivatives.base_parameters import grouping

        return grouping(self._numbers().tree)

    def base_regressor(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Y_b (..., nv, base): τ = Y_b β, β = ``base_parameters.matrix @`` moments."""
        from dalembert.formulations.derivatives.base_parameters import back_transformation

        back = back_transformation(self.description)[:, list(self.base_parameters.kept)]
        return self.regressor(q, qd, qdd) @ back

    def base_values(self) -> np.ndarray:
        """β (base,): the values of the base parameters.

        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("planar_2r")
        >>> state = [0.3, 0.4], [1.0, 2.0], [3.0, 4.0]
        >>> tau = robot.base_regressor(*state) @ robot.base_values()
        >>> np.allclose(tau, robot.inverse_dynamics(*state))
        True
        """
        from dalembert.formulations.derivatives.base_parameters import moments

        return self.base_parameters.matrix @ moments(self._numbers())

    def reduced(self) -> Self:
        """An equivalent robot with as many zero inertias as possible, whose kernels do less.

        The default formulations do most of that by themselves; others do not.
        Torques, accelerations, M, and their derivatives are the same. What depends on where mass
        really is (joint wrenches, momentum, centre of mass) is not. A link may have moments without
        mass, which formulations about centres of mass refuse.

        >>> import dalembert as dl
        >>> robot = dl.load("rx90")
        >>> robot.reduced().operation_count("inverse_dynamics").multiplications <= 253
        True
        """
        from dalembert.formulations.derivatives.base_parameters import reduced

        return type(self)(reduced(self._numbers(), self.base_parameters))  # type: ignore[arg-type]  # systems are made of their description

    def _numbers(self) -> Any:
        """The model with numbers for all its parameters."""
        return self.dynamics.bound().description
