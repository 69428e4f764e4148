"""Topologies: a function for each kind that `[topology]` may have."""

from headway.building.declared import fill

__all__ = fill(globals())
