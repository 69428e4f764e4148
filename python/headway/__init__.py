"""Headway: datacenter transports on one packet-level fabric.

>>> import headway
>>> run = headway.Scenario.load("examples/quickstart").run("out/quickstart")
>>> run.summary["fct_mean_s"], run.flows.to_polars()

Functions make the parts of a scenario, such as `leaf_spine` and `poisson`; `scenario` puts them together.
docs/python.md is the guide.
"""

# Functions have the names of these packages and of `headway.scenario`, as commands and tables have. The packages come
# first: what is imported later would take the place of the functions. `from headway.report import ...` finds them.
from headway import explain as _explain  # noqa: F401
from headway import hosts as _hosts  # noqa: F401
from headway import report as _report  # noqa: F401
from headway._headway import version as _version
from headway.building import disciplines, models, tables, topologies, traffic, transports
from headway.building.build import scenario
from headway.building.parts import flow
from headway.building.tables import *  # noqa: F403
from headway.building.topologies import *  # noqa: F403
from headway.building.traffic import *  # noqa: F403
from headway.commands import Reproduction, explain, list, report, reproduce
from headway.comparison import Causes, Comparison, Variants, compare, compare_causes, compare_variants
from headway.data import parquet as _parquet  # noqa: F401  (notes when this process is forked)
from headway.data.point import Point, SweepRun
from headway.data.run import Run, RunPart, read
from headway.data.sweep import Sweep, read_sweep
from headway.data.table import Table
from headway.errors import HeadwayError, NameNotFound, ResultsError, ScenarioError
from headway.plotting import Plots
from headway.scenario import Scenario
from headway.sweeps.api import sweep
from headway.transport import Event, Host, Message, Packet, Transport, check

__version__: str = _version()

__all__ = [
    "Causes",
    "Comparison",
    "Event",
    "HeadwayError",
    "Host",
    "Message",
    "NameNotFound",
    "Packet",
    "Plots",
    "Point",
    "Reproduction",
    "ResultsError",
    "Run",
    "RunPart",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepRun",
    "Table",
    "Transport",
    "Variants",
    "__version__",
    "check",
    "compare",
    "compare_causes",
    "compare_variants",
    "disciplines",
    "explain",
    "flow",
    "list",
    "models",
    "read",
    "read_sweep",
    "report",
    "reproduce",
    "scenario",
    "sweep",
    "transports",
]
__all__ += topologies.__all__
__all__ += traffic.__all__
__all__ += tables.__all__
