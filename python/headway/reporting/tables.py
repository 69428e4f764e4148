"""The tables of the report: summary, run facts, flows, unfinished flows, and the meaning of each column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headway.data.bounds import Bound
from headway.data.earlier import earlier
from headway.data.fairness import times_in, unlike_times
from headway.data.later import pl
from headway.data.point import Point, by_place
from headway.data.schema import schema
from headway.data.sentences import by_kind, surprising
from headway.data.statistics import Estimate, over_seeds
from headway.data.steadiness import unsteady
from headway.data.units import display, unit_for
from headway.data.windows import is_window

from .distributions import P99_NEEDS
from .spec import Table
from .study import Study, natural, short_axis, value_text, variant_key
from .summaries import number, summary_label, summary_number

FLOWS_LISTED = 64
# Points that wait to be run and are named, at most.
WAITING_LISTED = 3
DISCIPLINE = "discipline"


def dictionary() -> tuple[tuple[str, str, str], ...]:
    """Meaning of each column and number of the results: name, meaning and unit, as they are declared."""
    lists = (
        ("flows", ""),
        ("links", "links: "),
        ("series", "series: "),
        ("metrics", "series: "),
        ("summary", "summary: "),
    )
    return tuple(
        (f"{where}{field.name}", field.doc.replace("`", ""), "ratio" if field.unit == "1" else field.unit)
        for table, where in lists
        for field in schema()[table].values()
        if table != "summary" or field.is_number
    )


def shown() -> Iterator[str]:
    """The keys of the numbers that the summary shows, in the order in which they are declared."""
    for name, field in schema()["summary"].items():
        if name == "round_trips":
            yield from (f"{name}.{part.name}" for part in schema()[name].values() if part.shown)
        elif field.shown:
            yield name


def summary(study: Study) -> Table:
    """One row a variant, sweep point, and transport of a mixture; each cell a mean over seeds with its interval."""
    points = _rows_of(study)
    keys = [k for k in shown() if any(summary_number(p, k) is not None for p in points)]
    keys = [k for k in keys if k not in ("trims", "deadline_missed_fraction") or _ever(study, k)]
    axes = [*[k for k in study.axis_keys if k != study.x_key], *([study.x_key] if study.x_key else [])]
    mixed = ("transport",) if study.is_mixed else ()
    ruled = (DISCIPLINE,) if len({_discipline(p) for p in study.points}) > 1 else ()
    names = [short_axis(k) for k in axes]
    head = ("variant", *names, *ruled, *mixed, *[summary_label(k)[0] for k in keys])
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        of = (*([_discipline(point.whole or point)] if ruled else ()), *([point.transport] if mixed else ()))
        variant = (point.whole or point).variant
        groups.setdefault((variant, *[point.axes.get(k, "") for k in axes], *of), []).append(point)
    rows: list[tuple[str, ...]] = []
    sort: list[tuple[float | str, ...]] = []
    for key, own in groups.items():
        cells = [value_text(value) if isinstance(value, (str, int, float)) else "" for value in key]
        order: list[float | str] = [v if isinstance(v, (int, float, str)) else "" for v in key]
        for name in keys:
            found = over_seeds([summary_number(p, name) for p in own])
            cells.append(estimate_text(found, summary_label(name)[1]) + (_few(own) if found and "p99" in name else ""))
            order.append(found.mean if found else -math.inf)
        rows.append(tuple(cells))
        sort.append(tuple(order))
    seeds = len(study.seeds)
    caption = f"Mean over up to {seeds} seeds ± the half-width of its 95 % confidence interval." if seeds > 1 else ""
    if mixed:
        caption = f"{caption} A run of several transports has a row for all of them, and one for each.".strip()
    owners = tuple(variant_key(own[0].variant) for own in groups.values())
    return Table("summary", "Summary by variant", head, tuple(rows), tuple(sort), caption, owners)


# Of the numbers that the summary shows: tables by the beginnings of their numbers' names; the rest is of links.
OF_FLOWS = ("flows_", "fct_", "slowdown_", "deadline_", "jain", "goodput_")
OF_PACKETS = ("drops", "data_drops", "trims", "marks", "retransmitted_")


def by_subject(table: Table) -> tuple[Table, ...]:
    """The summary in parts that a page has room for: the numbers of flows, of links, and of packets."""
    labels = {summary_label(key)[0]: key for key in shown()}
    names = [i for i, name in enumerate(table.head) if name not in labels]
    numbers = [i for i, name in enumerate(table.head) if name in labels]
    flows = [i for i in numbers if labels[table.head[i]].startswith(OF_FLOWS)]
    packets = [i for i in numbers if labels[table.head[i]].startswith(OF_PACKETS)]
    links = [i for i in numbers if i not in (*flows, *packets)]
    # Disciplines that differ are named next to their effect.
    plain = [i for i in names if table.head[i] != DISCIPLINE]
    parts = (
        table.of([*plain, *flows], table.id, table.title),
        table.of([*names, *links], "links", "Links and queues by variant"),
        table.of([*names, *packets], "packets", "Packets by variant"),
    )
    return tuple(part for part, of in zip(parts, (flows, links, packets), strict=True) if of)


def _few(points: Sequence[Point]) -> str:
    """Note on a 99th percentile of few flows: the largest of them."""
    counts = [count for p in points if (count := summary_number(p, "flows_measured"))]
    if not counts or min(counts) >= P99_NEEDS:
        return ""
    return f" (largest of {min(counts):.0f})" if len(counts) == 1 else " (largest of a run)"


def _rows_of(study: Study) -> list[Point]:
    """Points that have a row: each run, and under it each of several transports; the seeds of a combination
    together."""
    return [p for own in by_place(study.points) for p in (*own, *[part for point in own for part in point.parts])]


def _discipline(point: Point) -> str:
    """The rules of the ports of a run."""
    fabric = point.manifest.get("scenario", {}).get("fabric") or {}
    return str(fabric.get("discipline") or "")


def _ever(study: Study, key: str) -> bool:
    return any(number(p.summary.get(key)) for p in study.points)


def estimate_text(found: Estimate | None, quantity: str) -> str:
    """Mean with unit; with two seeds or more the half-width in the same unit."""
    if found is None:
        return "–"
    if isinstance(found.mean, Bound):
        return display(quantity, found.mean)
    unit = unit_for(quantity, found.mean)
    mean, half = found.mean / unit.scale, (found.half_width or 0.0) / unit.scale
    decimals = max(0, 2 - math.floor(math.log10(abs(mean)))) if mean else 2
    if half < 0.5 * 10.0**-decimals:
        return display(quantity, found.mean)
    return f"{mean:,.{decimals}f} ± {half:,.{decimals}f} {unit.suffix}".replace(",", "\u202f").rstrip()


def run_facts(study: Study) -> Table:
    """Identity and cost of each run."""
    head = ("run", "seed", "version", "digest", "virtual time", "wall time", "events", "packet-hops", "packet-hops/s")
    rows: list[tuple[str, ...]] = []
    sort: list[tuple[float | str, ...]] = []
    for point in study.points:
        m = point.manifest
        # A run on real packets cannot be recognised by the order of its events.
        digest = str(m.get("order_digest") or m.get("digest") or "–")
        digest = digest if digest.strip("0") else "–"
        virtual, wall = number(m.get("virtual_s")), number(m.get("wall_s") or m.get("wall_seconds"))
        events, hops = number(m.get("events")), number(m.get("packet_hops"))
        speed = number(m.get("packet_hops_per_s"))
        rows.append(
            (
                point.label,
                str(point.seed),
                str(m.get("version", "–")),
                digest,
                display("time", virtual),
                display("time", wall),
                display("count", events),
                display("count", hops),
                display("hops", speed),
            )
        )
        numbers = [v if v is not None else -math.inf for v in (virtual, wall, events, hops, speed)]
        sort.append((point.label, float(point.seed), str(m.get("version", "")), digest, *numbers))
    runs = tuple(range(len(rows)))
    keys = tuple(variant_key(point.variant) for point in study.points)
    return Table("facts", "Run facts", head, tuple(rows), tuple(sort), keys=keys, runs=runs)


def notes(study: Study) -> list[str]:
    """Unfair settings, warnings of the runs, interrupted runs and points without results; each kind once."""
    lines = unlike_times({one.variant: times_in(one.scenario) for one in reversed(study.points)})
    for kind in by_kind((p.label, text) for p in study.points for text in _said(p)):
        where = kind.labels[0] if len(kind.labels) == 1 else f"{len(kind.labels)} runs, first {kind.labels[0]}"
        lines.append(f"{kind.text} [{where}]" if len(study.points) > 1 else kind.text)
    lines += _lacking(study.results.missing)
    return [*lines, *unsteady(_summaries(study)), *earlier(study.points)]


def _lacking(missing: Sequence[str]) -> list[str]:
    """A line for each point without results; one for all that only wait, where they are many."""
    waiting = [text for text in missing if not text.endswith(")")]
    if len(waiting) <= WAITING_LISTED:
        return [f"No results for the point {text}." for text in missing]
    names = ", ".join(text.rpartition(": ")[0] for text in waiting[:WAITING_LISTED])
    more = len(waiting) - WAITING_LISTED
    lines = [f"No results for the point {text}." for text in missing if text.endswith(")")]
    return [
        f"This sweep is not finished: {len(waiting)} points have no results, {names} and {more} more. "
        "The same `headway sweep` goes on with them.",
        *lines,
    ]


def _summaries(study: Study) -> dict[str, list[Mapping[str, Any]]]:
    """Summaries of runs that differ only in their seeds, by the name of such a group."""
    return {_called(own[0]): [point.summary for point in own] for own in by_place(study.points)}


def _called(point: Point) -> str:
    """Its variant, and its value on every axis."""
    return " ".join([point.variant, *(f"{short_axis(key)} {value_text(v)}" for key, v in point.axes.items())])


def _said(point: Point) -> list[str]:
    stopped = ["The run was interrupted; its results are partial."] if point.manifest.get("interrupted") else []
    return stopped + surprising(point.manifest)


def ideal_formulas(study: Study) -> list[str]:
    """The formula of the ideal FCT as the runs state it."""
    keys = ("ideal_fct_formula", "ideal_fct", "ideal_formula")
    found = [str(p.manifest[key]) for p in study.points for key in keys if p.manifest.get(key)]
    return list(dict.fromkeys(found))


def listed_runs(study: Study) -> list[Point]:
    """The runs whose flows are few enough to list them all: one a variant; none if they are many."""
    facet = study.facet_of(study.points[0])
    points = [p for v in study.variants if (p := study.first(v, facet)) is not None]
    return points if sum(p.flows.height for p in points) <= FLOWS_LISTED else []


def flow_table(study: Study) -> Table | None:
    """Every flow, when there are few."""
    points = listed_runs(study)
    if not points:
        return None
    caption = f"Seed {points[0].seed} of {len(study.seeds)}." if len(study.seeds) > 1 else ""
    return _flows("flows", "Flows", [(p, p.flows) for p in points], caption)


def unfinished_text(study: Study) -> str:
    """Note on flows of all runs that did not finish; empty if all did."""
    total = sum(frame.height for _, frame in _unfinished(study))
    if not total:
        return ""
    flows = f"{total} flow{'s' if total > 1 else ''}"
    return (
        f"{flows} did not finish before the end of the run. Those that had begun count in every number: what they could"
        " move is told as a bound."
    )


def unfinished_table(study: Study) -> Table | None:
    """Flows that did not finish and are not in the table of all flows, the first of them; None if there are none."""
    shown = {point.label for point in listed_runs(study)}
    unlisted = [(point, frame) for point, frame in _unfinished(study) if point.label not in shown]
    total = sum(frame.height for _, frame in unlisted)
    if not total:
        return None
    kept: list[tuple[Point, pl.DataFrame]] = []
    room = FLOWS_LISTED
    for point, frame in unlisted:
        if room > 0:
            kept.append((point, frame.head(room)))
            room -= frame.height
    caption = unfinished_text(study)
    caption += " Those in the table of flows are not repeated." if shown else ""
    caption += f" The first {FLOWS_LISTED} are listed." if total > FLOWS_LISTED else ""
    return _flows("unfinished", "Unfinished flows", kept, caption)


def _unfinished(study: Study) -> list[tuple[Point, pl.DataFrame]]:
    """The flows that did not finish, by run; the tables of runs that lack none, or by design, are not read."""
    found = []
    for point in study.points:
        if is_window(point.scenario):
            continue
        if number(point.summary.get("flows_unfinished")) or number(point.summary.get("flows_failed")):
            rest = point.flows.filter(pl.col("state") != "done")
            if rest.height:
                found.append((point, rest))
    return found


# Of each job: numbers of `jobs` in summary.json.
_JOB_CELLS = (
    "ranks", "completion_s", "bound_s", "slowdown", "algorithm_bandwidth_bps", "bus_bandwidth_bps",
    "critical_path_excess_s",
)  # fmt: skip
_STRAGGLER_CELLS = (("finish_s", "last byte"), ("behind_s", "behind the median host"))


def job_tables(study: Study) -> tuple[Table, ...]:
    """The jobs of all runs, and the hosts that were last in each; nothing where no flow waits for another."""
    jobs = [(p, job) for p in study.points for job in p.summary.get("jobs") or []]
    if not jobs:
        return ()
    cells = [schema()["jobs"][name] for name in _JOB_CELLS]
    head = ("run", "job", *[cell.label for cell in cells], "rounds", "longest round")
    rows: list[tuple[str, ...]] = []
    sort: list[tuple[float | str, ...]] = []
    last: list[tuple[str, ...]] = []
    last_sort: list[tuple[float | str, ...]] = []
    for point, job in jobs:
        who = (point.label, f"{job['kind']} {job['entry']}")
        rounds = job.get("rounds") or {}
        numbers = [(cell.quantity, number(job.get(cell.name))) for cell in cells]
        numbers += [("count", number(rounds.get("count"))), ("time", number(rounds.get("max_s")))]
        rows.append((*who, *[display(quantity, value, 4) for quantity, value in numbers]))
        sort.append((*who, *[math.inf if value is None else value for _, value in numbers]))
        for straggler in job.get("stragglers") or []:
            times = [number(straggler[key]) or 0.0 for key, _ in _STRAGGLER_CELLS]
            last.append((*who, f"h{straggler['host']}", *[display("time", time, 4) for time in times]))
            last_sort.append((*who, float(straggler["host"]), *times))
    caption = "A job is done when its last flow and step are over. Its bound is what it takes alone in the network."
    found = [Table("jobs", "Jobs", head, tuple(rows), tuple(sort), caption)]
    if last:
        head = ("run", "job", "host", *[label for _, label in _STRAGGLER_CELLS])
        caption = "Hosts that received their last byte of a job last, up to 16 of each job."
        found.append(Table("stragglers", "Stragglers", head, tuple(last), tuple(last_sort), caption))
    return tuple(found)


def volume_tables(study: Study) -> tuple[Table, ...]:
    """The busiest links of all runs with the bytes of each entry of traffic; empty if volumes were not sampled."""
    rows: list[tuple[str, ...]] = []
    sort: list[tuple[float | str, ...]] = []
    for point in study.points:
        for link in point.summary.get("busiest_links") or []:
            for one in link["entries"]:
                who = (point.label, str(link["link"]), f"{one['kind']} {one['entry']}")
                numbers = [("bytes", float(one["bytes"])), ("percent", float(one["share"]))]
                rows.append((*who, *[display(quantity, value, 4) for quantity, value in numbers]))
                sort.append((*who, *[value for _, value in numbers]))
    if not rows:
        return ()
    caption = "Bytes on the wire that the busiest links carried for each entry of traffic, control included."
    head = ("run", "link", "job", "bytes", "share of the link")
    return (Table("volumes", "Busiest links by job", head, tuple(rows), tuple(sort), caption),)


_FLOW_CELLS = ("bytes", "start_s", "fct_s", "ideal_s", "slowdown", "drops", "marks")


def _flows(table_id: str, title: str, parts: Sequence[tuple[Point, pl.DataFrame]], caption: str) -> Table:
    declared = [schema()["flows"][name] for name in _FLOW_CELLS]
    cells = [c for c in declared if all(c.name in frame.columns for _, frame in parts)]
    mixed = any(point.parts for point, _ in parts)
    head = ("run", "flow", "src → dst", *(("transport",) if mixed else ()), *[cell.label for cell in cells], "state")
    rows: list[tuple[str, ...]] = []
    sort: list[tuple[float | str, ...]] = []
    for point, frame in parts:
        for row in sorted(frame.iter_rows(named=True), key=lambda r: natural(str(r["name"]))):
            values = [number(row[cell.name]) for cell in cells]
            text = [display(cell.quantity, v, 4) for v, cell in zip(values, cells, strict=True)]
            whose = (str(row["transport"]),) if mixed else ()
            who = (point.label, str(row["name"]), f"h{row['src']} → h{row['dst']}", *whose)
            rows.append((*who, *text, str(row["state"])))
            order = [v if v is not None else math.inf for v in values]
            sort.append((*who, *order, str(row["state"])))
    return Table(table_id, title, head, tuple(rows), tuple(sort), caption)
