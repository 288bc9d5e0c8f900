"""Compiled code in this process: cache on disk, ufuncs, fast calls, threads."""
