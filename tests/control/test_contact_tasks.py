"""Hybrid control along a surface, in contact coordinates (p.77 and p.79)."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import Hybrid, HybridVelocity

ETA = tuple(f"contact.{x}" for x in ("u_o", "v_o", "u_f", "v_f", "psi"))


def test_eta_is_driven_along_the_sphere_while_the_finger_presses():
    """ë + K_v ė + K_p e = 0 in η, critically damped, and λ = λ_d from the start (p.77)."""
    arm = dl.load("arm_on_sphere")
    start = arm.contact_coordinates(arm.neutral())
    target = start + np.array([0.05, -0.08, 0.06, 0.04, -0.05])
    controller = Hybrid(arm, ETA, target, kp=36.0, kd=12.0, lam=[7.0])
    run = dl.simulate(arm, tau=controller, duration=0.6, dt=0.05)
    t = run.time.values[:, None]
    promised = (start - target) * (1.0 + 6.0 * t) * np.exp(-6.0 * t)
    np.testing.assert_allclose(run.eta - target, promised, atol=1e-8)
    np.testing.assert_allclose(run["lambda"], 7.0, atol=1e-7)


def test_the_rolling_finger_follows_its_surface_velocity():
    """u = α̇_f obeys u̇ = −K_p (u − u_d) of p.79, whatever the four constraint forces are.

    The finger is driven by its wrench F_m, as the page has it.
    """
    arm = dl.load("arm_rolling_on_sphere", form="finger")
    desired, lam = np.array([0.4, -0.3]), np.array([5.0, 1.0, -0.5, 0.02])
    controller = HybridVelocity(arm, ETA[2:4], desired, kp=5.0, lam=lam)
    run = dl.simulate(arm, tau=controller, duration=0.5, dt=0.05)
    t = run.time.values[:, None]
    np.testing.assert_allclose(run.eta_dot[:, 2:4], desired * (1.0 - np.exp(-5.0 * t)), atol=1e-8)
    np.testing.assert_allclose(run["lambda"], lam * np.ones_like(t), atol=1e-7)
    # and the position on the finger is its integral
    moved = desired * (t - (1.0 - np.exp(-5.0 * t)) / 5.0)
    np.testing.assert_allclose(run.eta[:, 2:4] - run.eta[0, 2:4], moved, atol=1e-8)


def test_a_contact_coordinate_that_is_not_there_is_named():
    arm = dl.load("arm_on_sphere")
    with pytest.raises(dl.UnknownNameError, match=r"no coordinate 'contact\.u_g'; did you mean"):
        Hybrid(arm, ("contact.u_g", *ETA[1:]), np.zeros(5), 1.0, 1.0)
