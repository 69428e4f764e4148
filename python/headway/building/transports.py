"""Transports: a function for each, with its parameters."""

from headway.building.declared import fill

__all__ = fill(globals())
