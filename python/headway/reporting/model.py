"""The closed-form model that a scenario names, as a figure: the native module evaluates it and says what to draw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway import _headway
from headway.errors import ResultsError

from .load import Results
from .palette import flow_styles
from .spec import Axis, Curve, Figure, LegendEntry, Panel, Reference
from .ticks import auto_axis, linear_axis


def figure(results: Results) -> Figure:
    """The figure of the `[model]` table that the results hold."""
    table = results.scenario.get("model")
    if not isinstance(table, Mapping):
        raise ResultsError(results.directory, "the results do not hold the scenario's [model] table")
    try:
        drawn = json.loads(_headway.draw_model(json.dumps(table), str(results.directory)))
    except ValueError as error:
        raise ResultsError(results.directory, f"the scenario's [model] table cannot be evaluated: {error}") from None
    names = list(dict.fromkeys(curve["name"] for panel in drawn["panels"] for curve in panel["curves"]))
    styles = flow_styles(names)
    legend = tuple(LegendEntry(f"m:{name}", name, styles[name]) for name in names)
    panels = tuple(_panel(panel) for panel in drawn["panels"])
    return Figure("model", drawn["title"], drawn["caption"], panels, drawn["columns"], legend)


def _panel(drawn: Mapping[str, Any]) -> Panel:
    curves = tuple(
        Curve(f"m:{curve['name']}", tuple(curve["x"]), tuple(curve["y"]), name=curve["name"])
        for curve in drawn["curves"]
    )
    x = _axis(drawn["x"], [value for curve in curves for value in curve.x])
    y = _axis(drawn["y"], [value for curve in curves for value in curve.y])
    references = (Reference(*drawn["reference"]),) if drawn["reference"] else ()
    return Panel(drawn["title"], x, y, curves, references=references)


def _axis(drawn: Mapping[str, Any], values: list[float]) -> Axis:
    """An axis over these values, as the model wants it to begin and end."""
    label, quantity = drawn["label"], drawn["quantity"]
    match drawn["range"]:
        case "fixed":
            return Axis(label, quantity, *drawn["values"])
        case "fit":
            return auto_axis(label, quantity, [*values, *drawn["values"]], 12.0)
        case "tight":
            return linear_axis(label, quantity, values, tight=True)
        case _:
            return linear_axis(label, quantity, [*values, max(values) * 1.02], zero=False)
