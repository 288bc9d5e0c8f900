"""Straight-line arithmetic: traced, made shorter, counted, interpreted, differentiated."""

from dalembert.tracing.program import Port, Program

__all__ = ["Port", "Program"]
