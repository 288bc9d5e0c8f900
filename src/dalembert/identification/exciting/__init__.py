"""Motions that make the unknown visible: periodic, within limits, of a small condition number."""

from dalembert.identification.exciting.design import excitation
from dalembert.identification.exciting.result import Excitation

__all__ = ["Excitation", "excitation"]
