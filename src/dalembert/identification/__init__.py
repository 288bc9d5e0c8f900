"""Identification: from a log of the real machine to a model with its uncertainty."""
