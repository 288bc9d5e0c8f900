"""A mechanism in absolute coordinates
===================================

A slider-crank in absolute coordinates: torque, pin forces, and the same by free-body diagrams.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl
from dalembert.mechanisms import ConstantSpeed, free_bodies

engine = (
    dl.PlanarMechanism("engine", gravity=(0.0, 0.0))
    .body("crank", mass=1.0, inertia=8e-4, at=(0.05, 0.0), points={"A": (-0.05, 0), "B": (0.05, 0)})
    .body("rod", mass=0.6, inertia=4.5e-3, at=(0.25, 0.0), points={"B": (-0.15, 0), "P": (0.15, 0)})
    .body("piston", mass=0.8, inertia=1e-3, at=(0.4, 0.0))
    .revolute("A", "ground", "crank.A")
    .revolute("B", "crank.B", "rod.B")
    .revolute("P", "rod.P", "piston")
    .prismatic("cylinder", "ground", "piston", direction=0.0)
    .drive("motor", on="A", motion=ConstantSpeed(0.0, 2 * np.pi, 0.05))  # 20 turns a second
)
print(f"mobility by Grübler's count: {engine.mobility}")
for t in (0.005, 0.010, 0.015):
    state = engine.inverse_dynamics(t)
    torque, pin = state.torque("motor"), state.force("P", on="piston")
    print(
        f"t = {1e3 * t:2.0f} ms: torque {torque:7.2f} N m, wrist pin on the piston {pin.round(1)} N"
    )
    assert abs(free_bodies(state)["motor"] - torque) < 1e-8

t = np.linspace(0.0, 0.05, 201)
states = engine.inverse_dynamics(t)
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 4.2), layout="constrained")
above.plot(1e3 * t, [state.torque("motor") for state in states])
above.set_ylabel("torque / N m")
below.plot(1e3 * t, [state.force("P", on="piston") for state in states], label=["along", "across"])
below.set(xlabel="time / ms", ylabel="wrist pin / N")
below.legend()
