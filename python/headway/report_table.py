"""What a scenario's `[report]` table may say. Checked when a scenario is loaded, long before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headway.errors import ScenarioError, nearest
from headway.toml_places import Place, Source, document

KEYS = ("figure", "x", "y", "notes")
# The figures by the names that reports give them, in the order in which reports draw them.
FIGURES = (
    "topology",
    "throughput-time",
    "utilisation-time",
    "queue-time",
    "fct-load",
    "slowdown-size",
    "cdf",
    "round-trips",
    "link-utilisation",
    "model",
)
# Shorter names that mean the same.
ALIASES = {"throughput": "throughput-time", "utilisation": "utilisation-time", "queue": "queue-time"}
# The numbers of summary.json, which figures can show against what is swept.
SUMMARY_NUMBERS = (
    *("flows_done", "flows_unfinished", "flows_failed", "flows_measured"),
    *("fct_mean_s", "fct_p50_s", "fct_p95_s", "fct_p99_s", "fct_max_s"),
    *("slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99", "slowdown_max"),
    *("link_utilisation", "bottleneck_utilisation", "queue_max_bytes", "queue_max_packets"),
    *("drops", "data_drops", "trims", "marks", "retransmitted_bytes", "jain", "deadline_missed_fraction"),
)
# Of each of several transports in summary.json, beside those of the numbers above that are of flows.
PART_NUMBERS = ("goodput_share", "delivered_bytes")
# Of each gauge in summary.json, as in `gauges.reorder_buffer_bytes.max`.
GAUGE_PARTS = ("max", "mean", "sum")
# Of `round_trips` in summary.json, as in `round_trips.p99_s`.
ROUND_TRIPS = ("samples", "mean_s", "p50_s", "p90_s", "p99_s", "p999_s", "max_s")
# What the native module adds to the table of a model: its settings in packets and round trips.
_MODEL_KEYS = frozenset({"c_packets_per_rtt", "sizes_packets", "r_over_c", "t_r_over_t_i", "fixed_r_over_c"})


def check_report(
    report: Mapping[str, Any], source: Source, text: str, sets: Sequence[str], swept: Callable[[], Iterable[str]]
) -> None:
    """Raise `ScenarioError` at the first key or value that no report understands.

    `report` is the table as loaded, with the overrides of `sets`; `swept` gives the keys that the sweep varies.
    """
    _Check(report, source, text, sets).all(swept)


class _Check:
    def __init__(self, report: Mapping[str, Any], source: Source, text: str, sets: Sequence[str]) -> None:
        written = document(text).get("report")
        own = written if isinstance(written, Mapping) else {}
        self._report = {k: v for k, v in report.items() if k not in _MODEL_KEYS or k in own}
        self._source = source
        self._sets = sets

    def all(self, swept: Callable[[], Iterable[str]]) -> None:
        """Keys first, then what they hold."""
        for key in self._report:
            if key not in KEYS:
                self._fail(f"key `{key}` has no effect: [report] does not use it", key, None, _hint(key, KEYS, KEYS))
        for name in self._texts("figure"):
            if name not in FIGURES and name not in ALIASES:
                self._fail(f"`report.figure`: no figure is called `{name}`", "figure", name, _hint(
                    name, (*FIGURES, *ALIASES), FIGURES))  # fmt: skip
        for name in self._texts("y"):
            if name not in (*SUMMARY_NUMBERS, *PART_NUMBERS) and not _is_part(name):
                known = (*SUMMARY_NUMBERS, *PART_NUMBERS, *(f"round_trips.{part}" for part in ROUND_TRIPS))
                self._fail(f"`report.y`: summary.json has no number `{name}`", "y", name, _hint(name, known, known))
        self._texts("notes")
        self._check_x(swept)

    def _check_x(self, swept: Callable[[], Iterable[str]]) -> None:
        if "x" not in self._report:
            return
        name = self._report["x"]
        if not isinstance(name, str):
            self._fail("`report.x` takes a text", "x", name, "")
        keys = list(swept())
        if name not in keys and name not in [key.rsplit(".", 1)[-1] for key in keys]:
            known = _hint(str(name), keys, keys) if keys else "[sweep] varies nothing"
            self._fail(f"`report.x`: the sweep does not vary `{name}`", "x", name, known)

    def _texts(self, key: str) -> list[str]:
        """The text, or list of texts, at `key`; none if it is not there."""
        value = self._report.get(key, [])
        items = value if isinstance(value, list) else [value]
        for item in items:
            if not isinstance(item, str):
                self._fail(f"`report.{key}` takes a text or a list of texts", key, item, "")
        return items

    def _fail(self, message: str, key: str, value: object, help_text: str) -> None:
        """At the value, or at the key if there is none to show."""
        origin, place = "", None
        overrides = [text for text in self._sets if text.split("=", 1)[0].strip() in (f"report.{key}", "report")]
        if overrides:
            origin = f"--set {overrides[-1]}"
        else:
            place = self._place(key, value)
        raise ScenarioError(self._source.diagnostic(message, place, help_text, origin))

    def _place(self, key: str, value: object) -> Place | None:
        path = ("report", key)
        found = self._source.value(path, value) if value is not None else None
        return found or self._source.key(path)


def _is_part(name: str) -> bool:
    """Whether `name` is of the round trips, or can be a gauge: what machines and ports measure is theirs to name."""
    parts = name.split(".")
    if parts[0] == "round_trips":
        return len(parts) == 2 and parts[1] in ROUND_TRIPS
    return len(parts) == 3 and parts[0] == "gauges" and parts[1].isidentifier() and parts[2] in GAUGE_PARTS


def _hint(name: str, known: Iterable[str], shown: Iterable[str]) -> str:
    """The nearest name, else all of them."""
    close = nearest(name, known, limit=1)
    return f"did you mean `{close[0]}`?" if close else f"it takes {', '.join(shown)}"
