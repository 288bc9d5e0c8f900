"""Programs as CUDA, one state per thread, and their calls on a GPU."""
