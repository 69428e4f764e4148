"""Scenarios from Python: functions that make the parts of one, and `scenario`, which puts them together.

Most functions follow from what topologies, traffic patterns, transports, port disciplines and models declare:
`declared` makes them. `parts` has what they return, and `build` makes a scenario of it.
"""
