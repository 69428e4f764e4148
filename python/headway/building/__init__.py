"""Scenarios from Python: functions that make the parts of one, and `scenario`, which puts them together.

Most files are written by tools/building.py, from what topologies, traffic patterns, transports, port disciplines and
models declare. `parts` has what they return, and `build` makes a scenario of it.
"""
