"""Excitation: periodic motions within limits that show the unknown parameters best."""

from dalembert.identification.excitation.design import Excitation, excitation

__all__ = ["Excitation", "excitation"]
