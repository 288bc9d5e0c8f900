"""A page on this machine where a robot's file is edited beside its live page."""
