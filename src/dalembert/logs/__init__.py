"""Measured and planned motions in files: tables, columns, units, repair, derivatives."""
