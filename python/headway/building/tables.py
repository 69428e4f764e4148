"""The other tables of a scenario: a function for each."""

from headway.building.declared import fill

__all__ = fill(globals())
