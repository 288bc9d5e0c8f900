"""The mass matrix, its roots and its derivatives."""
