"""Programs as C99."""
