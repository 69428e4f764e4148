"""One run's results, in memory or in a run directory, and the check that a directory is whole."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.checksums import verify
from headway.errors import ResultsError
from headway.tables import Table

if TYPE_CHECKING:
    from headway._headway import RunResult

TABLES = ("flows", "links", "series")
DOCUMENTS = ("manifest", "summary")


class Run:
    """Flows, links, sampled series, summary and manifest of one run."""

    def __init__(self, directory: Path | None, result: RunResult | None = None) -> None:
        self.directory = directory
        self._result = result

    @cached_property
    def flows(self) -> Table:
        """One row a flow."""
        return self._table("flows")

    @cached_property
    def links(self) -> Table:
        """One row a link."""
        return self._table("links")

    @cached_property
    def series(self) -> Table:
        """What the scenario sampled: time, entity, metric, value."""
        return self._table("series")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers of `summary.json`."""
        if self._result is not None:
            return dict(json.loads(self._result.summary_json()))
        return self._document("summary")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The resolved scenario, versions, seed, digests and counters of `manifest.json`."""
        if self._result is not None:
            return dict(json.loads(self._result.manifest_json()))
        return self._document("manifest")

    @property
    def transports(self) -> tuple[str, ...]:
        """Its transports, as `flows` names them, where it has several; none where all flows have the same."""
        return tuple(self.summary.get("by_transport", ()))

    def among(self, transport: str) -> RunPart:
        """What is of one of its several transports; raises `KeyError` if it is not one of them."""
        return RunPart(self, transport)

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its end; its results are partial."""
        return bool(self.manifest.get("interrupted", False))

    def check(self) -> None:
        """Read everything once; raises `ResultsError` naming the first file that is missing, damaged or changed."""
        for name in DOCUMENTS:
            getattr(self, name)
        for name in TABLES:
            getattr(self, name).to_polars()
        if self.directory is not None:
            verify(self.directory)

    def _table(self, name: str) -> Table:
        if self._result is not None:
            return Table(getattr(self._result, name))
        return Table(read_table(self._path(f"{name}.parquet")))

    def _document(self, name: str) -> dict[str, Any]:
        return read_document(self._path(f"{name}.json"))

    def _path(self, name: str) -> Path:
        if self.directory is None:
            raise ResultsError(Path(name), "this run was not written to a directory")
        return self.directory / name

    def __repr__(self) -> str:
        where = f" in {self.directory}" if self.directory else ""
        return f"<Run{where}: {one_line(self.summary)}>"

    def _repr_html_(self) -> str:
        columns = [self.summary, *(self.among(name).summary for name in self.transports)]
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in ("all", *self.transports))
        head = f"<tr><th></th>{heads}</tr>" if self.transports else ""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>{_cells(key, columns)}</tr>"
            for key, value in self.summary.items()
            if not isinstance(value, dict | list)
        )
        return f"<div><table>{head}{rows}</table>{self._slowdown_curve()}</div>"

    def _slowdown_curve(self, width: int = 240, height: int = 80) -> str:
        """The distribution of slowdown as a small drawing: share of flows over slowdown, from 1 to the largest."""
        values = self.flows.to_polars()["slowdown"].drop_nulls().sort().to_list()
        if len(values) < 2:
            return ""
        span = max(values[-1] - 1.0, 1e-9)
        points = " ".join(
            f"{(value - 1.0) / span * width:.1f},{height - (index + 1) / len(values) * height:.1f}"
            for index, value in enumerate(values)
        )
        return (
            f"<svg width='{width}' height='{height + 16}' role='img' aria-label='distribution of slowdown'>"
            f"<polyline points='{points}' fill='none' stroke='currentColor'/>"
            f"<text x='0' y='{height + 13}' font-size='11'>slowdown 1 to {values[-1]:.3g}</text></svg>"
        )


class RunPart(Run):
    """The flows of one transport of a run that has several, and the numbers over them; all else is the whole run's.

    >>> run.among("dctcp").summary["fct_mean_s"], run.among("cubic").flows
    """

    def __init__(self, run: Run, transport: str) -> None:
        super().__init__(run.directory, run._result)
        if transport not in run.transports:
            raise KeyError(f"no transport {transport} (of {', '.join(run.transports) or 'several'})")
        self.transport = transport
        self._run = run

    @cached_property
    def flows(self) -> Table:
        """One row a flow of the transport."""
        frame = self._run.flows.to_polars()
        return Table(frame.filter(frame["transport"] == self.transport))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The transport's numbers, from `by_transport` of `summary.json`."""
        return dict(self._run.summary["by_transport"][self.transport])


def read(directory: str | Path) -> Run:
    """The run in `directory`; raises `ResultsError` if it is not there or a file of it is damaged."""
    path = Path(directory)
    if not path.is_dir():
        raise ResultsError(path, "no such directory")
    if not (path / "manifest.json").exists() and (path / "sweep.json").exists():
        raise ResultsError(
            path,
            "this is a sweep; name one of its runs, which are in points/ (in Python, headway.read_sweep reads all)",
        )
    run = Run(path)
    run.check()
    return run


def read_document(path: Path) -> dict[str, Any]:
    """A JSON object from a results directory."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultsError(path, "is missing") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ResultsError(path, f"cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise ResultsError(path, "does not hold an object")
    return value


def read_table(path: Path) -> Any:  # noqa: ANN401  (a polars frame; polars is imported only here)
    """A whole Parquet table from a results directory."""
    import polars

    if not path.exists():
        raise ResultsError(path, "is missing")
    try:
        return polars.read_parquet(path)
    except (polars.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ResultsError(path, f"is truncated or damaged ({reason})") from None


def one_line(summary: dict[str, Any], manifest: dict[str, Any] | None = None) -> str:
    """The line that scripts look for: flows, when the run finished, completion times, losses, speed."""
    done = summary.get("flows_done", 0)
    total = done + summary.get("flows_unfinished", 0) + summary.get("flows_failed", 0)
    parts = [f"{done}/{total} flows done"]
    if manifest is not None and (end := manifest.get("virtual_s")) is not None:
        parts.append(f"finished at {duration(end)}")
    for key, label in (("fct_mean_s", "mean FCT"), ("fct_p99_s", "p99")):
        if summary.get(key) is not None:
            parts.append(f"{label} {duration(summary[key])}")
    if summary.get("slowdown_mean") is not None:
        parts.append(f"mean slowdown {summary['slowdown_mean']:.3g}")
    parts.append(_losses(summary))
    if manifest is not None and (wall := manifest.get("wall_s")):
        events = manifest.get("events", 0)
        parts.append(f"{quantity(events)} events in {duration(wall)} ({quantity(events / wall)}/s)")
    return ", ".join(parts)


def transport_lines(summary: dict[str, Any]) -> list[str]:
    """What `one_line` says, for each of several transports, and its share of what was delivered."""
    lines = []
    for name, part in summary.get("by_transport", {}).items():
        share = part.get("goodput_share")
        said = "" if share is None else f", {100 * share:.3g} % of the goodput"
        lines.append(f"{name}: {one_line(part)}{said}")
    return lines


def _losses(summary: dict[str, Any]) -> str:
    """Packets dropped; how many of them were data where the rest was control or credits."""
    # A run on real packets does not know them by transport.
    drops = summary.get("drops") or 0
    data = summary.get("data_drops", drops) or 0
    return f"drops {drops}" if data == drops else f"drops {drops} ({data} of data)"


# How the manifest says that nothing was sampled because the scenario does not ask for it.
UNSAMPLED = "series.parquet is empty: the scenario has no [sample] table"


def surprising(warnings: Iterable[str]) -> list[str]:
    """The warnings of a manifest less what the scenario itself says: that nothing is to be sampled."""
    return [warning for warning in warnings if warning != UNSAMPLED]


def by_sentence(said: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Which runs say the same: the labels of each sentence, out of pairs of label and sentence."""
    labels: dict[str, list[str]] = {}
    for label, sentence in said:
        labels.setdefault(sentence, []).append(label)
    return labels


def duration(seconds: float) -> str:
    """A time with the unit that keeps it readable, as `43.9 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns" if seconds else "0 s"


def size(count: float) -> str:
    """A number of bytes with the unit that keeps it readable, as `11.7 GB`."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= scale * 0.9995:
            return f"{count / scale:#.3g} {unit}".replace(". ", " ")
    return f"{count:.0f} B"


def quantity(value: float) -> str:
    """A count with k, M or G, as `3.2 M`."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def _cells(key: str, columns: Iterable[Mapping[str, Any]]) -> str:
    """A number of the whole run and of its parts; nothing where a part does not have it."""
    return "".join(f"<td>{html.escape(_text(one[key])) if key in one else ''}</td>" for one in columns)


def _text(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
