"""Headway: datacenter transports on one packet-level fabric.

>>> import headway
>>> run = headway.Scenario.load("examples/quickstart").run("out/quickstart")
>>> run.summary["fct_mean_s"], run.flows.to_polars()
"""

from headway._headway import version as _version
from headway.comparison import Comparison, compare
from headway.data.point import Point, SweepRun
from headway.data.run import Run, RunPart, read
from headway.data.sweep import Sweep, read_sweep
from headway.data.table import Table
from headway.errors import HeadwayError, NameNotFound, ResultsError, ScenarioError
from headway.scenario import Scenario
from headway.sweeps.api import sweep

__version__: str = _version()

__all__ = [
    "Comparison",
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
    "compare",
    "read",
    "read_sweep",
    "sweep",
]
