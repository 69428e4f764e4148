"""Closed-form models: a function for each, with its keys."""

from headway.building.declared import fill

__all__ = fill(globals())
