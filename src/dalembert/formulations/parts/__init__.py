"""What several formulations share: sweeps over the tree, drives, wrenches of one body."""
