"""Inverse kinematics: configurations from poses, in batches, along paths, and in closed chains."""
