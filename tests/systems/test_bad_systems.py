"""What a Lagrangian refuses, and in which words; before anything is computed."""

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.zoo import energies

X, Y, VX, VY, M, T = sympy.symbols("x y vx vy m t")
TH, PSI = dynamicsymbols("theta psi")
F = sympy.Function("f")


def plane(kinetic=(VX**2 + VY**2) / 2, potential=0, **more):
    return dl.Lagrangian([X, Y], kinetic, potential, **{"qd": [VX, VY], **more})


BAD = {
    "cubic": (lambda: plane(VX**2 + VY**3), "not quadratic .* rows of y"),
    "relativistic": (lambda: plane(-sympy.sqrt(1 - VX**2 / 100) + VY**2), "not quadratic .* of x"),
    "potential": (
        lambda: plane(potential=X * VY**2),
        "depends on the velocity of y, and not linear",
    ),
    "undefined": (lambda: plane(M * VX**2 + VY**2), "kinetic energy uses m, neither"),
    "missing coordinate": (
        lambda: dl.Lagrangian([TH], TH.diff() ** 2 + PSI.diff() ** 2),
        "uses Derivative.psi.t., t., which is no velocity",
    ),
    "missing function": (
        lambda: dl.Lagrangian([TH], TH.diff() ** 2, sympy.cos(PSI)),
        r"uses psi\(t\), neither",
    ),
    "acceleration": (lambda: dl.Lagrangian([TH], TH.diff().diff() ** 2), "no velocity"),
    "time": (lambda: plane(potential=X * sympy.Symbol("t")), r"uses t, neither .* time=t"),
    "no time": (lambda: plane(time=3.0), "time holds 3.0, which is no symbol"),
    "no velocities": (lambda: dl.Lagrangian([X], VX**2), "qd is missing.*dynamicsymbols"),
    "one velocity": (lambda: plane(qd=[VX]), "qd has 1 entries for 2"),
    "no coordinates": (lambda: dl.Lagrangian([], 0, qd=[]), "q is empty"),
    "no symbol": (lambda: dl.Lagrangian([X**2], VX**2, qd=[VX]), "no symbol"),
    "number": (lambda: dl.Lagrangian([1.0], VX**2, qd=[VX]), "no symbol"),
    "twice": (lambda: dl.Lagrangian([X, X], VX**2, qd=[VX, VY]), "'x' stands twice"),
    "same symbols": (lambda: dl.Lagrangian([X], X**2, qd=[X], names=["a"]), "'x' stands twice"),
    "names": (lambda: plane(names=["a"]), "names has 1 entries"),
    "name of a parameter": (lambda: plane(parameters={"x": 1.0}), "'x' stands twice"),
    "forces": (lambda: plane(forces=[1.0]), "forces has 1 entries for 2"),
    "force on nothing": (lambda: plane(forces={"z": 1.0}), "'z', which is no coordinate"),
    "infinite": (lambda: plane(potential=sympy.oo * X), "not finite"),
    "nan": (lambda: plane(potential=float("nan")), "finite"),
    "complex": (lambda: plane(potential=sympy.I * X), "not finite and real"),
    "text": (lambda: plane(potential="x**2"), "neither an expression nor a number"),
    "list": (lambda: plane(potential=[X]), "neither an expression nor a number"),
    "sign": (lambda: plane(potential=sympy.sign(X)), "sign, which jumps"),
    "floor": (lambda: plane(potential=sympy.floor(X)), "floor, which jumps"),
    "unknown function": (lambda: plane(potential=F(X)), r"uses f\(x\), neither"),
    "special function": (lambda: plane(potential=sympy.gamma(X)), "gamma .* cannot differentiate"),
    "integral": (lambda: plane(potential=sympy.Integral(Y, (Y, 0, X))), "Integral"),
    "open piece": (lambda: plane(potential=sympy.Piecewise((X, X > 0))), "no value elsewhere"),
    "nowhere": (lambda: plane(potential=sympy.sqrt(-1 - X**2)), "no finite value"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused(case):
    make, message = BAD[case]
    with pytest.raises(dl.ModelError, match=message):
        make()


def test_refused_of_casadi(casadi):
    x, v, k = (casadi.SX.sym(name) for name in ("x", "v", "k"))
    for message, kinetic, potential in (
        ("potential energy uses k, neither", v**2, k * x),
        ("floor, which jumps", v**2, casadi.floor(x)),
        ("shape", casadi.SX.ones(2, 1) * v**2, 0.0),
    ):
        with pytest.raises(dl.ModelError, match=message):
            dl.Lagrangian([x], kinetic, potential, qd=[v])
    with pytest.raises(dl.ModelError, match="qd is missing"):
        dl.Lagrangian([x], v**2)
    with pytest.raises(dl.ModelError, match=r"casadi\.SX"):
        dl.Lagrangian([casadi.MX.sym("x")], 0, qd=[v])


def test_bad_parameters():
    with pytest.raises(dl.ParameterError, match="'m' is given twice"):
        plane(parameters=[M, "m"])
    with pytest.raises(dl.ParameterError, match="'m' has the value inf"):
        plane(parameters={M: np.inf})


def test_unused_parameters_and_names_are_fine():
    system = plane(parameters={M: 1.0}, names=["east", "north"])
    assert system.coordinates == ("east", "north")
    np.testing.assert_array_equal(system.mass_matrix([0, 0]), np.eye(2))


def test_forces_may_jump():
    system = plane(forces=[-sympy.sign(VX), -sympy.floor(VY)])
    psi = system.generalized_forces([0, 0], [-2.0, 1.5])
    np.testing.assert_array_equal(psi, [1.0, -1.0])


SINGULAR = {
    "weightless": (lambda: plane(VX**2, X * Y), "along y,"),
    "combination": (lambda: plane((VX - 2 * VY) ** 2 * (1 + X**2)), "along x [+] 0.5 y,"),
    "no inertia": (lambda: plane(0, X**2), "along x,"),
    "negative": (lambda: plane(VX**2 - VY**2), "not positive definite.* along y,"),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_singular_mass_matrix_names_the_direction(case):
    """Found before anything is compiled; what needs no inverse still works."""
    make, message = SINGULAR[case]
    system = make()
    assert system.inverse_dynamics([0.1, 0.2], [0, 0], [1, 1]).shape == (2,)
    for call in (system.forward_dynamics, system.forward_dynamics_derivatives):
        with pytest.raises(dl.SingularMassMatrixError, match=message):
            call([0.1, 0.2], [0, 0], [0, 0])


def test_singular_state_names_direction_and_state():
    """The polar chart has its pole where the pendulum hangs at rest."""
    system = energies.spherical_pendulum()
    with pytest.raises(dl.SingularMassMatrixError, match=r"at q = \[0.  0.2\].* along phi,"):
        system.forward_dynamics([0.0, 0.2], [1.0, 1.0], [0.0, 0.0])
    batch = np.array([[0.5, 0.2], [0.0, 0.3]])
    with pytest.raises(dl.SingularMassMatrixError, match=r"at q = \[0.  0.3\]"):
        system.forward_dynamics(batch, [1.0, 1.0], np.zeros((4, 2, 2)))
    with pytest.raises(dl.SingularMassMatrixError, match=r"at q = \[0.  0.3\]"):
        system.forward_dynamics(batch[1:], np.ones((5, 2)), [0.0, 0.0])


def test_nan_in_is_nan_out():
    qdd = energies.spherical_pendulum().forward_dynamics([0.5, 0.2], [np.nan, 0.0], [0.0, 0.0])
    assert np.isnan(qdd).any()


def _with_parameters() -> dl.Robot:
    m, b = dl.Parameter("m", 1.0), dl.Parameter("b", 0.1)
    joint = dl.Joint("revolute", name="elbow", viscous=b)
    tensor = np.diag([0.01, 0.02, 0.02])
    return dl.Robot.from_links(
        [dl.Link("arm", joint=joint, mass=m, com=[0.2, 0.0, 0.0], inertia=tensor * m)]
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [({"m": -1.0}, "'arm': mass -1 kg is negative"), ({"b": -0.5}, "'elbow': viscous friction")],
)
def test_parameters_that_no_body_has_are_refused_where_they_are_given(values, message):
    robot, state = _with_parameters(), ([0.1], [0.0], [0.0])
    for call in (
        lambda: robot.forward_dynamics(*state, parameters=values),
        lambda: robot.forward_dynamics(
            *state, parameters=values
        ),  # not taken the second time either
        lambda: dl.simulate(robot, [0.1], [0.0], duration=0.01, parameters=values),
        lambda: robot.compiled.dynamics.bound(values),
    ):
        with pytest.raises(dl.ModelError, match=message):
            call()
    fine = robot.forward_dynamics(*state, parameters={"m": 2.0, "b": 0.0})
    np.testing.assert_array_equal(
        robot.forward_dynamics(*state, parameters={"m": 2.0, "b": 0.0}), fine
    )


def test_an_array_in_place_of_parameters_is_refused_by_name():
    arm = dl.load("planar_2r")
    with pytest.raises(dl.ParameterError, match=r"planar_2r has no named parameters: .* \(2,\)"):
        arm.coriolis_centrifugal([0.1, 0.2], [0.3, 0.4])
    assert arm.coriolis_centrifugal([0.1, 0.2], {})[0].shape == (2, 1)
