"""Headway: datacenter transports on one packet-level fabric.

>>> import headway
>>> run = headway.Scenario.load("examples/quickstart").run("out/quickstart")
>>> run.summary["fct_mean_s"], run.flows.to_polars()

Functions make the parts of a scenario, such as `leaf_spine` and `poisson`; `scenario` puts them together.
docs/python.md is the guide.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from headway import forks as _forks  # noqa: F401  (it must be there before a process is forked)
from headway.protocols import Artist as _Artist
from headway.protocols import draw_with as _draw_with

if TYPE_CHECKING:
    from headway.api import diff, explain, report, reproduce, reproduce_all
    from headway.building import disciplines, models, tables, topologies, traffic, transports
    from headway.building.build import scenario
    from headway.building.parts import flow
    from headway.building.tables import *  # noqa: F403
    from headway.building.topologies import *  # noqa: F403
    from headway.building.traffic import *  # noqa: F403
    from headway.catalogues import Catalogue, catalogue
    from headway.comparison import Causes, Comparison, Variants, compare, compare_causes, compare_variants
    from headway.data.explanation import Explanation
    from headway.data.point import Point, SweepRun
    from headway.data.run import Run, RunPart, read
    from headway.data.sweep import Sweep, read_sweep
    from headway.data.table import Table
    from headway.difference import Difference
    from headway.errors import HeadwayError, NameNotFound, ResultsError, ScenarioError
    from headway.loading import Scenario
    from headway.measuring import Measured, measure
    from headway.plotting import Plots
    from headway.reports import ReportFiles
    from headway.reproducing.result import Reproduction, Reproductions
    from headway.sweeps.api import sweep
    from headway.transport import Event, Host, Message, Packet, Transport, check

    __version__: str
    __all__ = [
        "Catalogue",
        "Causes",
        "Comparison",
        "Difference",
        "Event",
        "Explanation",
        "HeadwayError",
        "Host",
        "Measured",
        "Message",
        "NameNotFound",
        "Packet",
        "Plots",
        "Point",
        "ReportFiles",
        "Reproduction",
        "Reproductions",
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
        "catalogue",
        "check",
        "compare",
        "compare_causes",
        "compare_variants",
        "diff",
        "disciplines",
        "explain",
        "flow",
        "measure",
        "models",
        "read",
        "read_sweep",
        "report",
        "reproduce",
        "reproduce_all",
        "scenario",
        "sweep",
        "tables",
        "topologies",
        "traffic",
        "transports",
    ]
    __all__ += topologies.__all__
    __all__ += traffic.__all__
    __all__ += tables.__all__

# Module of each name. A module is imported when a name of it is first asked for: all of them take several tenths of a
# second, and most programs need a few. `tests/python/test_package.py` compares this with the list above.
_NAMES = {
    "api": ("diff", "explain", "report", "reproduce", "reproduce_all"),
    "building.build": ("scenario",),
    "building.parts": ("flow",),
    "catalogues": ("Catalogue", "catalogue"),
    "comparison": ("Causes", "Comparison", "Variants", "compare", "compare_causes", "compare_variants"),
    "data.explanation": ("Explanation",),
    "data.point": ("Point", "SweepRun"),
    "data.run": ("Run", "RunPart", "read"),
    "data.sweep": ("Sweep", "read_sweep"),
    "data.table": ("Table",),
    "errors": ("HeadwayError", "NameNotFound", "ResultsError", "ScenarioError"),
    "difference": ("Difference",),
    "loading": ("Scenario",),
    "measuring": ("Measured", "measure"),
    "plotting": ("Plots",),
    "reports": ("ReportFiles",),
    "reproducing.result": ("Reproduction", "Reproductions"),
    "sweeps.api": ("sweep",),
    "transport": ("Event", "Host", "Message", "Packet", "Transport", "check"),
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names}
# Modules that are names themselves, and those of which every public name is one.
_MODULES = {
    name: f"building.{name}" for name in ("disciplines", "models", "tables", "topologies", "traffic", "transports")
}
_WHOLE = ("building.tables", "building.topologies", "building.traffic")


def _found(name: str) -> object:
    if name == "__all__":
        return _public()
    if name == "__version__":
        return _module("_headway").version()
    if name in _WHERE:
        return getattr(_module(_WHERE[name]), name)
    if name in _MODULES:
        return _module(_MODULES[name])
    if not name.startswith("_"):
        # Modules first: `from headway import names` asks for one before Python looks for it.
        spec = find_spec(f"headway.{name}")
        if spec is not None and spec.has_location:
            return _module(name)
        for module in map(_module, _WHOLE):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'headway' has no attribute '{name}'")


def _public() -> list[str]:
    return [*_WHERE, *_MODULES, "__version__", *(one for module in _WHOLE for one in _module(module).__all__)]


def _module(name: str) -> ModuleType:
    return import_module(f"headway.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_public()})


def _artist() -> _Artist:
    drawings: _Artist = _module("plotting").Drawings()
    return drawings


_draw_with(_artist)

# A type checker would take any name for one of the package.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name, or a module of the package, when it is first asked for."""
        found = globals()[name] = _found(name)
        return found
