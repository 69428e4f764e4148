"""A sweep's results: its runs, and the numbers of all of them as one table."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.checksums import verify_file
from headway.data.bounds import in_document, told
from headway.data.point import Point
from headway.data.reader import read_list, read_object
from headway.data.run import Run
from headway.data.statistics import estimate
from headway.data.table import Table
from headway.data.units import ENDINGS, duration, parse_any, parse_bytes
from headway.errors import ResultsError, no_results
from headway.layout import MANIFEST_FILE, POINT_FILE, POINTS, SWEEP_FILE
from headway.protocols import artist

if TYPE_CHECKING:
    from headway.protocols import Plots


# Numbers of the summary that a notebook shows of each variant.
SHOWN = {"fct_mean_s": "mean FCT", "fct_p99_s": "p99 FCT", "slowdown_mean": "mean slowdown"}
REWRITTEN = "`headway sweep` writes it anew and runs nothing twice"


class Sweep:
    """The finished runs of a sweep, in the order of the scenario; `failed` are the errors of others, by label.

    >>> sweep = headway.read_sweep("out/fig14-fct-load")
    >>> sweep.summary.to_polars().group_by("variant", "traffic.0.load").mean()
    >>> [one.run.flows for one in sweep if one.variant == "amrt"]
    """

    def __init__(
        self, directory: Path, runs: list[Point], unfinished: int, failed: Mapping[str, str] | None = None
    ) -> None:
        self.directory = directory
        self.runs = tuple(runs)
        self.unfinished = unfinished
        self.failed = dict(failed or {})

    def __iter__(self) -> Iterator[Point]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, place: int) -> Point:
        return self.runs[place]

    def __repr__(self) -> str:
        rest = f", {self.unfinished} not finished" if self.unfinished else ""
        return f"<Sweep in {self.directory}: {len(self.runs)} runs{rest}>"

    def lacking(self) -> Iterator[str]:
        """A sentence about the points that are not finished, where there are any."""
        if self.unfinished:
            failed = f" ({len(self.failed)} failed)" if self.failed else ""
            yield (
                f"{self.unfinished} of {len(self.runs) + self.unfinished} points are not finished{failed}, and are in "
                "no number here; the same `headway sweep` goes on with them"
            )

    @property
    def plot(self) -> Plots:
        """Its figures, as matplotlib objects: `sweep.plot.fct_load()`."""
        return artist().plots(self)

    def _repr_html_(self) -> str:
        said = f"{len(self.runs)} runs in {self.directory}"
        said += f", {self.unfinished} not finished" if self.unfinished else ""
        heads = "".join(f"<th>{html.escape(text)}</th>" for text in ("variant", "runs", *SHOWN.values()))
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(variant)}</th>{_means(runs)}</tr>"
            for variant, runs in self._by_variant().items()
        )
        note = "times are means over the runs of a variant"
        table = f"<table><tr>{heads}</tr>{rows}</table><p>{note}</p>" if rows else ""
        return artist().card(self, f"<p>{html.escape(said)}</p>{table}")

    def _by_variant(self) -> dict[str, list[Point]]:
        found: dict[str, list[Point]] = {}
        for one in self.runs:
            found.setdefault(one.variant, []).append(one)
        return found

    @cached_property
    def summary(self) -> Table:
        """One row a run: `variant`, a column a swept key, `seed`, and every number of `summary.json`.

        A swept key that is written as a text with a unit, as in `fabric.buffer = "200 kB"`, has its numbers beside it
        in a column that ends in their unit: `fabric.buffer_bytes`, `..._s`, `..._bps`, `..._packets`.

        What lies deeper there has its path as its name, as in `round_trips.p99_s`. A number that a run does not have
        is null.
        """
        import polars

        axes = [axis for one in self.runs for axis in one.axes.items()]
        sizes = {key for key, value in axes if (parsed := _read(value)) and parsed[1] == "bytes"}
        rows = [
            {"variant": one.variant, **_axes(one.axes, sizes), "seed": one.seed, **dict(_numbers(one.run.summary))}
            for one in self.runs
        ]
        return Table(polars.DataFrame(rows, infer_schema_length=None, strict=False))


def read_sweep(directory: str | Path) -> Sweep:
    """The sweep in `directory`; raises `ResultsError` if none is there, or its list of runs is damaged.

    A run's own files are read when they are asked for.
    """
    path = Path(directory)
    if not path.is_dir():
        raise no_results(path)
    if not (path / SWEEP_FILE).exists():
        what = "this is one run: headway.read reads it" if (path / MANIFEST_FILE).exists() else "holds no sweep"
        raise ResultsError(path, what)
    listed = read_entries(path)
    for entry in listed:
        check_entry(path, entry)
    done = [entry for entry in listed if (path / entry["dir"] / MANIFEST_FILE).exists()]
    runs = [
        Point(_label(entry), entry["variant"], entry["axes"], entry["seed"], results=Run(path / entry["dir"]))
        for entry in done
    ]
    failed = {_label(entry): str(entry.get("error")) for entry in listed if entry.get("state") == "failed"}
    return Sweep(path, runs, len(listed) - len(done), failed)


def read_entries(directory: Path) -> list[dict[str, Any]]:
    """The list of a sweep's points, each with its `variant`, `axes`, `seed` and the folder `dir` inside the sweep.

    Raises `ResultsError` for a file that is no such list, with the number of the first entry that is wrong.
    """
    path = directory / SWEEP_FILE
    listed = read_list(path, "points")
    for number, entry in enumerate(listed, 1):
        if "dir" not in entry and isinstance(entry.get("label"), str):
            entry["dir"] = f"{POINTS}/{entry['label']}"
        if why := _wrong(entry):
            raise ResultsError(path, f"is damaged: {why} of point {number}", REWRITTEN)
    return listed


def check_entry(directory: Path, entry: Mapping[str, Any]) -> None:
    """Compare a line of a sweep's list with the record of its point, where that is finished.

    The list changes as points finish and has no checksum; what a point is does not change, and has one. Raises
    `ResultsError` if either was changed after it was written.
    """
    record = directory / str(entry.get("dir")) / POINT_FILE
    if not record.exists():
        return
    says = read_object(record)
    verify_file(record)
    for key in ("label", "variant", "axes", "seed", "digest"):
        if key in says and entry.get(key) != says[key]:
            what = f"is damaged: it says {key} {entry.get(key)!r} of {entry.get('dir')}, which says {says[key]!r}"
            raise ResultsError(directory / SWEEP_FILE, what, REWRITTEN)


def _means(runs: Sequence[Point]) -> str:
    """The cells of a variant: the number of runs, and the means of the shown numbers."""
    cells = [str(len(runs))]
    for key in SHOWN:
        values = [in_document(one.summary, key, one.summary[key]) for one in runs if one.summary.get(key) is not None]
        mean = estimate(values).mean if values else None
        cells.append("none" if mean is None else duration(mean) if key.endswith("_s") else told(mean, f"{mean:.3g}"))
    return "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)


def _label(entry: Mapping[str, Any]) -> str:
    return str(entry.get("label") or Path(entry["dir"]).name)


def _wrong(entry: Mapping[str, Any]) -> str:
    """Fault of a line of a sweep's list; empty if there is none."""
    wanted = {"variant": str, "axes": dict, "seed": int, "dir": str}
    optional = {"label": str, "state": str, "error": str, "digest": str}
    for key, kind in wanted.items():
        if not isinstance(entry.get(key), kind):
            return f"`{key}` is missing or of another kind"
    for key, kind in optional.items():
        if not isinstance(entry.get(key, ""), kind | None):
            return f"`{key}` is of another kind"
    if not all(isinstance(one, str | int | float) for one in entry["axes"].values()):
        return "a value of `axes` is neither text nor number"
    return "" if is_place(entry["dir"]) else f"`dir` {entry['dir']!r} is no folder in {POINTS}/"


def is_place(folder: str) -> bool:
    """True if this names the folder of a point: `points/` and a name, and nothing that leads out of the sweep."""
    parts = folder.split("/")
    return len(parts) == 2 and parts[0] == POINTS and parts[1] not in ("", ".", "..") and "\0" not in folder


def _axes(axes: Mapping[str, Any], sizes: Set[str]) -> dict[str, Any]:
    """The values of swept keys, and the numbers in those that some run writes as a text; `sizes` may be bare, too."""
    columns: dict[str, Any] = {}
    for key, value in axes.items():
        columns[key] = value
        if parsed := _read(value):
            columns[key + ENDINGS[parsed[1]]] = parsed[0]
        elif key in sizes:
            columns[key + ENDINGS["bytes"]] = parse_bytes(value)
    return columns


def _read(value: object) -> tuple[float, str] | None:
    return parse_any(value) if isinstance(value, str) else None


def _numbers(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{path}{key}.")
        elif key == "jobs" and isinstance(value, list):
            for number, job in enumerate(value):
                yield from _numbers(job, f"{path}{key}.{number}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{path}{key}", value
