"""Closed-form models of the L2DCT paper (INFOCOM 2013) as figures: its Fig. 1, 2 and 3.

Three jobs on one server under three disciplines, as each job's share over time; the back-off penalty against the share
of marked packets; and the window of synchronised flows over two cycles of equations 5 to 10. The native module
evaluates all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headway import _headway
from headway.errors import ResultsError

from .load import Results
from .palette import flow_styles
from .spec import Axis, Curve, Figure, LegendEntry, Panel
from .ticks import linear_axis

FIGURE_ID = "model"
CURVE_POINTS = 120
CYCLES = 2
DISCIPLINES = {"ps": "PS", "srpt": "SRPT", "las": "LAS"}


def model_table(results: Results) -> Mapping[str, Any]:
    table = results.scenario.get("model")
    if not isinstance(table, Mapping):
        raise ResultsError(results.directory, "the results do not hold the scenario's [model] table")
    return table


def scheduling(results: Results) -> Figure:
    """A panel a discipline: the share of the server that each job has, over time."""
    jobs = list(model_table(results)["jobs"])
    names = [str(job["name"]) for job in jobs]
    styles = flow_styles(names)
    arrivals, sizes = ([float(job[key]) for job in jobs] for key in ("arrival", "size"))
    panels = []
    for discipline, title in DISCIPLINES.items():
        found = _headway.schedule(discipline, arrivals, sizes)
        times = [finish - arrival for finish, arrival in zip(found["finish"], arrivals, strict=True)]
        end = max(found["finish"])
        series = [_job(name, at, found["phases"]) for at, name in enumerate(names)]
        mean = math.fsum(times) / len(times)
        x, y = linear_axis("time", "count", [0.0, end], tight=True), Axis("share of the server", "ratio", 0.0, 1.05)
        panels.append(Panel(f"{title}: mean time {mean:.2f}", x, y, tuple(series)))
    legend = tuple(LegendEntry(f"j:{name}", f"job {name}", styles[name]) for name in names)
    caption = (
        "Each job's share of one server of rate 1 under processor sharing, shortest remaining processing time and "
        "least attained service; the mean is of completion less arrival."
    )
    return Figure(FIGURE_ID, "Three disciplines on one server", caption, tuple(panels), 3, legend)


def _job(name: str, at: int, phases: Sequence[tuple[float, float, Sequence[float]]]) -> Curve:
    """One job's share as a step line that ends with its last service."""
    last = max(i for i, phase in enumerate(phases) if phase[2][at] > 0)
    first = min(i for i, phase in enumerate(phases) if phase[2][at] > 0)
    x: list[float] = []
    y: list[float] = []
    for begin, end, shares in phases[first : last + 1]:
        x += [begin, end]
        y += [shares[at], shares[at]]
    return Curve(f"j:{name}", (phases[first][0], *x, phases[last][1]), (0.0, *y, 0.0), name=f"job {name}")


def backoff(results: Results) -> Figure:
    """One panel: b = alpha^w over alpha, a line a weight."""
    weights = [float(weight) for weight in model_table(results)["weights"]]
    styles = flow_styles(f"{weight:g}" for weight in weights)
    # Closer together near 0, where small weights rise at once.
    alphas = tuple((i / CURVE_POINTS) ** 3 for i in range(CURVE_POINTS + 1))
    series = tuple(
        Curve(f"w:{w:g}", alphas, tuple(_headway.l2dct_backoff(a, w) for a in alphas), name=f"w = {w:g}")
        for w in weights
    )
    legend = tuple(
        LegendEntry(f"w:{w:g}", f"w = {w:g}", style) for w, style in zip(weights, styles.values(), strict=True)
    )
    x, y = Axis("share of marked packets", "ratio", 0.0, 1.0), Axis("back-off penalty b", "ratio", 0.0, 1.05)
    caption = "Equation 2. A mark takes half of b off the window: at b = 1 it halves, as TCP's does."
    title = "Back-off penalty against the share of marked packets"
    return Figure(FIGURE_ID, title, caption, (Panel("b = alpha^w", x, y, series),), 1, legend)


def sawtooth(results: Results) -> Figure:
    """A panel a number of flows: one window over two cycles, a line a weight."""
    table = model_table(results)
    bdp = float(table["path_packets"])
    threshold = float(table["threshold"])
    cases = [(float(c["flows"]), float(c["weight"]), float(c["increase"])) for c in table["cases"]]
    names = [f"w = {w:g}, k = {k:g}" for _, w, k in cases]
    styles = flow_styles(dict.fromkeys(names))
    panels = []
    for flows in sorted({case[0] for case in cases}):
        found = [
            (name, k, _headway.l2dct_cycle(n, bdp, threshold, weight, k))
            for (n, weight, k), name in zip(cases, names, strict=True)
            if n == flows
        ]
        end = CYCLES * max(cycle["period"] for _, _, cycle in found)
        lines = [_teeth(name, cycle, k, end) for name, k, cycle in found]
        values = [y for line in lines for y in line.y]
        x = linear_axis("round trips", "count", [0.0, end], tight=True)
        y = linear_axis("window", "count", [*values, max(values) * 1.02], zero=False)
        title = f"{flows:g} flow{'s' if flows > 1 else ''}"
        panels.append(Panel(title, x, y, tuple(lines)))
    legend = tuple(LegendEntry(f"c:{name}", name, style) for name, style in styles.items())
    caption = (
        f"Equations 6 to 10 with {bdp:.3g} packets in a round trip and K = {threshold:g}: windows in packets over "
        f"{CYCLES} of the longest cycles. The period is D/k; equation 10 prints D, which is so for k = 1."
    )
    return Figure(FIGURE_ID, "Window of one flow, from the analysis", caption, tuple(panels), 2, legend)


def _teeth(name: str, cycle: Mapping[str, float], increase: float, end: float) -> Curve:
    """A window that grows by `increase` a round trip up to its largest and falls by `drop`, until `end`."""
    top = cycle["critical_window"] + increase
    bottom, period = top - cycle["drop"], cycle["period"]
    x: list[float] = []
    y: list[float] = []
    begin = 0.0
    while begin < end:
        until = min(begin + period, end)
        x += [begin, until]
        y += [bottom, bottom + (until - begin) * increase]
        begin += period
    return Curve(f"c:{name}", tuple(x), tuple(y), name=name)
