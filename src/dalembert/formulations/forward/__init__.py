"""Forward dynamics: accelerations under torques."""
