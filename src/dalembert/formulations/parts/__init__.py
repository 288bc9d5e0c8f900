"""What several formulations share: passes over the tree, drives, wrenches of one body."""
