"""Straight-line arithmetic: traced, made shorter, counted, interpreted, differentiated."""

from dalembert.kernels.program.program import Port, Program

__all__ = ["Port", "Program"]
