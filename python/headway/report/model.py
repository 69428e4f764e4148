"""The closed-form models of AMRT (TNSM 2022, section V) and RPO (ICNP 2021, section V) as figures: their Fig. 8.

Two gains over a receiver-driven transport that never refills: of utilisation, against the rate left (R/C) and flow
size, and of completion time, against the moment of the drop (T_R/T_i) and flow size; AMRT's each for the earliest and
the latest convergence. The equations are evaluated by the native module, or read from `model.json` if the results hold
one (rows of `r_over_c`, `size_packets`, `t_r` and the gains).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headway.data.units import display
from headway.errors import ResultsError

from .load import Results
from .model_l2dct import backoff, model_table, sawtooth, scheduling
from .palette import flow_styles
from .spec import Axis, Curve, Figure, LegendEntry, Panel, Reference
from .ticks import auto_axis

Model = Callable[[float, float, float, float], Mapping[str, float]]
CURVE_POINTS = 80


@dataclass(frozen=True)
class Kind:
    """One paper's model: its native function, and the curves of each of the two gains."""

    native: str
    title: str
    caption: str
    u_gains: Mapping[str, str]
    fct_gains: Mapping[str, str]
    drop: str

    @property
    def gains(self) -> tuple[str, ...]:
        """Names of all gains."""
        return (*self.u_gains, *self.fct_gains)


AMRT = Kind(
    "amrt_model",
    "AMRT's model: gain over a transport that does not refill",
    "Equations 2 to 10, C = {c:.3g} packets per RTT. U gain: T_1/T_2 with T_R = 0. FCT gain: (T_1 - T_i)/(T_2 - T_i) "
    "with R/C = {fixed:g}; it is large because AMRT loses under one RTT.",
    {
        "u_gain_earliest": "U gain, earliest convergence",
        "u_gain_latest": "U gain, latest convergence",
    },
    {
        "fct_gain_earliest": "FCT gain, earliest convergence",
        "fct_gain_latest": "FCT gain, latest convergence",
    },
    "T_R / T_i",
)
RPO = Kind(
    "rpo_model",
    "RPO's model: gain over a transport that does not refill",
    "Equations 1 to 6, one flow, C = {c:.3g} packets per RTT. U gain: T_2/T_1 with T_c = 0. FCT gain: "
    "(T_2 - T_i)/(T_1 - T_i) with R/C = {fixed:g}.",
    {"u_gain": "U gain"},
    {"fct_gain": "FCT gain"},
    "T_c / T_i",
)


@dataclass(frozen=True)
class Setting:
    """What the curves are drawn for."""

    c_packets_per_rtt: float
    sizes_packets: tuple[float, ...]
    size_names: tuple[str, ...]
    r_over_c: tuple[float, ...]
    t_r_over_t_i: tuple[float, ...]
    fixed_r_over_c: float


def setting_of(table: Mapping[str, Any]) -> Setting:
    """Read the scenario's `[model]` table, whose quantities the scenario's reader has put into the model's units."""
    sizes = [float(size) for size in table["sizes"]]
    return Setting(
        float(table["path_packets"]),
        tuple(float(size) for size in table["sizes_packets"]),
        tuple(display("bytes", size) for size in sizes),
        _fine([float(share) for share in table["rate_shares"]]),
        _fine([float(share) for share in table["loss_shares"]]),
        float(table["fixed_rate_share"]),
    )


def _fine(wanted: list[float]) -> tuple[float, ...]:
    """The wanted positions, and enough between them for a curve (the ceiling of equation 5 makes steps)."""
    low, high = min(wanted), max(wanted)
    return tuple(sorted({*wanted, *(low + (high - low) * i / CURVE_POINTS for i in range(CURVE_POINTS + 1))}))


def native_model(kind: Kind) -> Model | None:
    """The library's own evaluation of the equations."""
    try:
        from headway import _headway
    except ImportError:
        return None
    model: Model = getattr(_headway, kind.native)
    return model


def figure(results: Results, model: Model | None = None) -> Figure:
    """The figure of the model that the scenario names in its `[model]` table."""
    name = str(model_table(results).get("name"))
    draw = {"scheduling": scheduling, "l2dct-backoff": backoff, "l2dct-cycle": sawtooth}.get(name)
    return draw(results) if draw is not None else gain(results, model)


def gain(results: Results, model: Model | None = None) -> Figure:
    """AMRT's or RPO's, for the settings of the scenario's `[model]` table."""
    table = model_table(results)
    kind = RPO if table.get("name") == "rpo-gain" else AMRT
    try:
        setting = setting_of(table)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(results.directory, f"the scenario's [model] table lacks or misstates {error}") from None
    if results.model_rows is not None:
        rows = [_checked(row, results, kind) for row in results.model_rows]
    else:
        model = model or native_model(kind)
        if model is None:
            return Figure("model", kind.title, absent="the native module is not installed")
        rows = list(evaluate(model, setting, kind))
    return _draw(rows, setting, kind)


def evaluate(model: Model, setting: Setting, kind: Kind = AMRT) -> Iterable[dict[str, float]]:
    """One row a point of every curve."""
    for size in setting.sizes_packets:
        pairs = [(r, 0.0) for r in setting.r_over_c]
        ideal = size / setting.c_packets_per_rtt
        pairs += [(setting.fixed_r_over_c, t * ideal) for t in setting.t_r_over_t_i]
        for ratio, drop in pairs:
            found = model(setting.c_packets_per_rtt, ratio, size, drop)
            yield {"r_over_c": ratio, "size_packets": size, "t_r": drop, **{name: found[name] for name in kind.gains}}


def _checked(row: Mapping[str, Any], results: Results, kind: Kind) -> dict[str, float]:
    try:
        return {name: float(row[name]) for name in ("r_over_c", "size_packets", "t_r", *kind.gains)}
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(results.directory / "model.json", f"a row lacks or misstates {error}") from None


def _draw(rows: list[dict[str, float]], setting: Setting, kind: Kind) -> Figure:
    sizes = sorted({row["size_packets"] for row in rows})
    styles = flow_styles(f"{size:g}" for size in sizes)
    named = dict(zip(setting.sizes_packets, setting.size_names, strict=True))
    legend = tuple(
        LegendEntry(f"s:{size:g}", named.get(size, f"{size:.0f} packets"), style)
        for size, style in zip(sizes, styles.values(), strict=True)
    )

    def drop_of(row: Mapping[str, float]) -> float | None:
        if abs(row["r_over_c"] - setting.fixed_r_over_c) > 1e-9:
            return None
        return row["t_r"] * setting.c_packets_per_rtt / row["size_packets"]

    panels = _panels(rows, sizes, kind.u_gains, _rate_of, "R/C")
    panels += _panels(rows, sizes, kind.fct_gains, drop_of, kind.drop)
    caption = kind.caption.format(c=setting.c_packets_per_rtt, fixed=setting.fixed_r_over_c)
    return Figure("model", kind.title, caption, tuple(panels), 2, legend)


def _rate_of(row: Mapping[str, float]) -> float | None:
    return row["r_over_c"] if row["t_r"] == 0 else None


def _panels(
    rows: list[dict[str, float]],
    sizes: list[float],
    gains: Mapping[str, str],
    place: Callable[[Mapping[str, float]], float | None],
    label: str,
) -> list[Panel]:
    """A panel for each of these gains, on the same axes."""
    lines = {name: [_curve(rows, size, name, place) for size in sizes] for name in gains}
    values = [y for curves in lines.values() for curve in curves for y in curve.y]
    y = auto_axis("gain", "ratio", [*values, 1.0], 12.0)
    x = Axis(label, "ratio", 0.0, 1.0)
    even = (Reference(1.0, "1: no gain"),)
    return [Panel(gains[name], x, y, tuple(curves), references=even) for name, curves in lines.items()]


def _curve(
    rows: list[dict[str, float]], size: float, name: str, place: Callable[[Mapping[str, float]], float | None]
) -> Curve:
    points = {x: row[name] for row in rows if row["size_packets"] == size and (x := place(row)) is not None}
    ordered = sorted(points.items())
    return Curve(f"s:{size:g}", tuple(x for x, _ in ordered), tuple(y for _, y in ordered))
