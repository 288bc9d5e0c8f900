"""Inverse kinematics: postures from poses, in batches, along paths, all of them, in closed chains."""
