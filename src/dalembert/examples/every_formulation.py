"""Every formulation of inverse dynamics
=====================================

Formulations that were derived apart from one another give the same torques; they differ in operations.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

robot = dl.load("puma560")
state = robot.random_state(np.random.default_rng(0), 1000)
tau = robot.inverse_dynamics(*state)
counts = {}
print(f"{'formulation':20} {'operations':>10}   difference")
for name, source in dl.formulations("inverse_dynamics").items():
    other = robot.inverse_dynamics(*state, formulation=name)
    operations = robot.operation_count("inverse_dynamics", name, as_written=True).total
    counts[name] = operations
    difference = np.abs(other - tau).max() / np.abs(tau).max()
    print(f"{name:20} {operations:10,}   {difference:.0e}   {source}")
    assert difference < 1e-12

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
bars = axes.barh(list(counts), list(counts.values()))
axes.bar_label(bars, fmt="{:,.0f}", fontsize=8, padding=3)
axes.margins(x=0.3)
axes.set(xscale="log", xlabel="additions and multiplications, as written, PUMA 560")
axes.invert_yaxis()
