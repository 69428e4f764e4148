"""One run's results, in memory or in a run directory, and the check that a directory is whole."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import _headway
from headway.checksums import verify, verify_file
from headway.data.jobs import lines_of
from headway.data.reader import check_table, read_object, read_table
from headway.data.sentences import one_line
from headway.data.table import Table
from headway.data.units import parse_seconds
from headway.errors import NameNotFound, ResultsError, no_results
from headway.files import new_file
from headway.protocols import artist

if TYPE_CHECKING:
    from headway._headway import RunResult
    from headway.protocols import Plots

TABLES = ("flows", "links", "series")
DOCUMENTS = ("manifest", "summary")
# Formats in which a run can be exported.
EXPORTS = ("perfetto",)


class Run:
    """Flows, links, sampled series, summary and manifest of one run."""

    def __init__(self, directory: Path | None, result: RunResult | None = None, *, reused: bool = False) -> None:
        self.directory = directory
        self.reused = reused  # taken from the store, not run now
        self.note = ""  # what went wrong outside the run itself
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
        """Samples of the scenario: time, entity, metric, value."""
        return self._table("series")

    @cached_property
    def steps(self) -> Table | None:
        """One row a step between flows; None of a run in which nothing waits."""
        return self._table("steps") if self._has_graph else None

    @cached_property
    def edges(self) -> Table | None:
        """One row for each dependency of a flow or step; None of a run in which nothing waits."""
        return self._table("edges") if self._has_graph else None

    @property
    def _has_graph(self) -> bool:
        if self._result is not None:
            return self._result.edges is not None
        return self._path("edges.parquet").exists()

    def export(self, out: str | Path, format: str = "perfetto", *, force: bool = False) -> Path:
        """Write the run as a trace for Perfetto (https://ui.perfetto.dev, `trace_processor`), and return its path.

        format: `perfetto` is the only one
        force: overwrite a file that is there
        Raises `HeadwayError` for another format, and for a file that is there or cannot be written.
        """
        if format not in EXPORTS:
            raise NameNotFound("format of runs", format, EXPORTS, f"a run can be exported as {', '.join(EXPORTS)}")
        path = Path(out)
        if path.exists() and not force:
            raise ResultsError(path, "is there already; choose another name, or force")
        if self._result is None:
            self.check()
        with new_file(path) as scratch:
            if self._result is not None:
                self._result.write_perfetto(scratch)
            else:
                _headway.write_perfetto(self._path(""), scratch)
        return path

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
        return tuple(self.summary.get("by_transport") or ())

    def among(self, transport: str) -> RunPart:
        """Part of one of its several transports; raises `NameNotFound` if it is not one of them."""
        return RunPart(self, transport)

    @property
    def transport(self) -> str:
        """Name of the transport, or the names of several with `+` between them."""
        if self.transports:
            return "+".join(dict.fromkeys(label.split("(")[0] for label in self.transports))
        value = self.scenario.get("transport", {})
        return str(value.get("name", "unknown")) if isinstance(value, Mapping) else str(value)

    @cached_property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario, every default filled in."""
        value = self.manifest.get("scenario", {})
        return value if isinstance(value, Mapping) else {}

    @cached_property
    def fabric(self) -> Mapping[str, Any]:
        """The fabric. In runs of a testbed, and the simulator's runs next to them, sizes are those of real packets."""
        declared, testbed = self.scenario.get("fabric"), self.manifest.get("testbed")
        sizes = testbed.get("packet_sizes") if isinstance(testbed, Mapping) else None
        parts = (part for part in (declared, sizes) if isinstance(part, Mapping))
        return {key: value for part in parts for key, value in part.items()}

    @property
    def warmup_s(self) -> float:
        """Flows that start earlier do not enter statistics."""
        return parse_seconds(self.scenario.get("warmup")) or 0.0

    @cached_property
    def samples(self) -> Mapping[tuple[str, str], Mapping[float, float]]:
        """Samples: of each entity and metric the value at each time."""
        found: dict[tuple[str, str], dict[float, float]] = {}
        frame = self.series.to_polars().select("t_s", "entity", "metric", "value")
        for time, entity, metric, value in frame.iter_rows():
            found.setdefault((entity, metric), {})[time] = value
        return found

    @cached_property
    def sampled_at(self) -> tuple[float, ...]:
        """Every time at which anything was sampled."""
        return tuple(sorted({time for samples in self.samples.values() for time in samples}))

    @property
    def interrupted(self) -> bool:
        """True if the run was stopped before its end; its results are partial."""
        return bool(self.manifest.get("interrupted", False))

    @property
    def ended_by(self) -> str:
        """Cause of the run's end: `complete`, `stop`, `quiet`, `no-progress`, `deadlock`, `memory` or `outside`.

        `headway docs results` says what each means. Empty for results of versions that did not write it.
        """
        return str(self.summary.get("ended_by", ""))

    def look(self) -> None:
        """Read the documents, and look at the tables; raises `ResultsError` for a file that is missing or cut off."""
        for name in DOCUMENTS:
            getattr(self, name)
        for name in TABLES:
            if self.directory is not None:
                check_table(self.directory / f"{name}.parquet")

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
        path = self._path(f"{name}.parquet")
        table = Table(read_table(path))
        verify_file(path)
        return table

    def _document(self, name: str) -> dict[str, Any]:
        path = self._path(f"{name}.json")
        document = read_object(path)
        verify_file(path)
        return document

    def _path(self, name: str) -> Path:
        if self.directory is None:
            raise ResultsError(Path(name), "this run was not written to a directory")
        return self.directory / name

    def __repr__(self) -> str:
        where = f" in {self.directory}" if self.directory else ""
        first = [line for line in lines_of(self.summary) if not line.startswith(" ")][:1]
        return f"<Run{where}: {'; '.join((*first, one_line(self.summary)))}>"

    @property
    def plot(self) -> Plots:
        """Its figures, as matplotlib objects: `run.plot.fct_cdf()`."""
        return artist().plots(self)

    def _repr_html_(self) -> str:
        columns = [self.summary, *(self.among(name).summary for name in self.transports)]
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in ("all", *self.transports))
        head = f"<tr><th></th>{heads}</tr>" if self.transports else ""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>{_cells(key, columns)}</tr>"
            for key, value in self.summary.items()
            if not isinstance(value, dict | list)
        )
        said = "<br>".join(html.escape(line.strip()) for line in (*lines_of(self.summary), one_line(self.summary)))
        table = f"<details><summary>all numbers</summary><table>{head}{rows}</table></details>"
        return artist().card(self, f"<p>{said}</p>{table}")


class RunPart(Run):
    """The flows of one transport of a run that has several, and the numbers over them; all else is the whole run's.

    >>> run.among("dctcp").summary["fct_mean_s"], run.among("cubic").flows
    """

    def __init__(self, run: Run, transport: str) -> None:
        super().__init__(run.directory, run._result)
        if transport not in run.transports:
            hint = f"the run has {', '.join(run.transports)}" if run.transports else "all flows of the run have one"
            raise NameNotFound("transport of this run", transport, run.transports, hint)
        self._transport = transport
        self._run = run

    @property
    def transport(self) -> str:
        """The transport."""
        return self._transport

    @property
    def transports(self) -> tuple[str, ...]:
        """Names of several transports; none, because this part of a run has a single one."""
        return ()

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
    """The run in `directory`; raises `ResultsError` if it does not exist or a file in it is damaged."""
    path = Path(directory)
    if not path.is_dir():
        raise no_results(path)
    if not (path / "manifest.json").exists() and (path / "sweep.json").exists():
        raise ResultsError(
            path,
            "this is a sweep; name one of its runs, which are in points/ (in Python, headway.read_sweep reads all)",
        )
    run = Run(path)
    run.check()
    return run


def _cells(key: str, columns: Iterable[Mapping[str, Any]]) -> str:
    """A number of the whole run and of its parts; nothing where a part does not have it."""
    return "".join(f"<td>{html.escape(_text(one[key])) if key in one else ''}</td>" for one in columns)


def _text(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
