"""Constraints of large systems, solved at numbers: rows by kind, dense or banded factors, ranks."""
