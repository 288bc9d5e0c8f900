"""Programs as machine code: LLVM assembly, vector by vector of states."""
