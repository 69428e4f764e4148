"""The kinds of figures: one file each, which declares `KIND`, and its line here, in the order in which they are drawn.

The name that scenarios use is the file's, with `-` for `_`. Files are imported when somebody draws, or asks for more
than the name: loading a scenario needs no drawing library.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .kind import FigureKind

KINDS = (
    "topology",
    "throughput_time",
    "probes",
    "utilisation_time",
    "queue_time",
    "paired",
    "numbers",
    "ratios",
    "fct_load",
    "heat_map",
    "frontier",
    "slowdown_size",
    "cdf",
    "causes",
    "critical_path",
    "deadlines",
    "round_trips",
    "link_utilisation",
    "model",
)
NAMES = tuple(kind.replace("_", "-") for kind in KINDS)


def kind_of(name: str) -> FigureKind:
    """Declaration of the figure of this name."""
    return cast("FigureKind", import_module(f"{__name__}.{name.replace('-', '_')}").KIND)


@cache
def aliases() -> dict[str, str]:
    """Shorter names, and their meanings."""
    return {alias: name for name in NAMES for alias in kind_of(name).aliases}
