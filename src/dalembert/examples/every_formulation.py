"""Eleven formulations of inverse dynamics, derived apart from one another, give the same torques."""

import numpy as np

import dalembert as dl

robot = dl.load("puma560")
state = robot.random_state(np.random.default_rng(0), 1000)
tau = robot.inverse_dynamics(*state)
print(f"{'formulation':20} {'operations':>10}   difference")
for name, source in dl.formulations("inverse_dynamics").items():
    other = robot.inverse_dynamics(*state, formulation=name)
    operations = robot.operation_count("inverse_dynamics", name, as_written=True).total
    difference = np.abs(other - tau).max() / np.abs(tau).max()
    print(f"{name:20} {operations:10,}   {difference:.0e}   {source}")
    assert difference < 1e-12
