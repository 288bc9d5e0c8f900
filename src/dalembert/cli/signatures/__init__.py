"""Signatures of the commands, one file for each subject."""
