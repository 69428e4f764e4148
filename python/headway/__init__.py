"""Headway: datacenter transports on one packet-level fabric.

>>> import headway
>>> run = headway.Scenario.load("examples/quickstart").run("out/quickstart")
>>> run.summary["fct_mean_s"], run.flows.to_polars()

Functions make the parts of a scenario, such as `leaf_spine` and `poisson`; `scenario` puts them together.
docs/python.md is the guide.
"""

from headway._headway import version as _version
from headway.building import disciplines, models, tables, topologies, traffic, transports
from headway.building.build import scenario
from headway.building.parts import flow
from headway.building.tables import *  # noqa: F403
from headway.building.topologies import *  # noqa: F403
from headway.building.traffic import *  # noqa: F403
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
    "disciplines",
    "flow",
    "models",
    "read",
    "read_sweep",
    "scenario",
    "sweep",
    "transports",
]
__all__ += topologies.__all__
__all__ += traffic.__all__
__all__ += tables.__all__
