"""Traffic: a function for each kind that a `[[traffic]]` entry may have."""

from headway.building.declared import fill

__all__ = fill(globals())
