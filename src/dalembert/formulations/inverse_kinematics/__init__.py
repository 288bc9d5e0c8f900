"""Inverse kinematics by algebra: the axes of an arm, subproblems, and arms they solve."""
