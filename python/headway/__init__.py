"""Headway: datacenter transports on one packet-level fabric.

>>> import headway
>>> run = headway.Scenario.load("examples/quickstart").run("out/quickstart")
>>> run.summary["fct_mean_s"], run.flows.to_polars()
"""

from headway._headway import version as _version
from headway.errors import HeadwayError, NameNotFound, ResultsError, ScenarioError
from headway.results import Run, RunPart, read
from headway.scenario import Point, Scenario
from headway.sweep_results import Sweep, SweepRun, read_sweep
from headway.tables import Table

__version__: str = _version()

__all__ = [
    "HeadwayError",
    "NameNotFound",
    "Point",
    "ResultsError",
    "Run",
    "RunPart",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepRun",
    "Table",
    "__version__",
    "read",
    "read_sweep",
]
