"""Programs as WebAssembly modules, for browsers and whatever else runs them."""
