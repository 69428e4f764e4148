"""Lines about the jobs of a run, such as collectives: they are what their users wait for, and messages only a part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headway.data.schema import field_of
from headway.data.sentences import CALLS, in_columns
from headway.data.units import display, duration

Summary = Mapping[str, Any]

# Jobs of a run that have lines of their own, and links of a critical path in a table: less than a screen.
MOST_JOBS = 4
MOST_LINKS = 16
# Links of a path whose excess is smaller than this share of the largest one are counted only.
LEAST_SHARE = 0.01
# Numbers of a job that tables begin with.
OF_JOBS = ("completion_s", "algorithm_bandwidth_bps", "bus_bandwidth_bps", "straggler.behind_s")
# Parts of the time of a critical path that no flow has.
OWN_CAUSES = {"compute_s": "computing", "notice_s": "notice to the sender"}


def jobs_of(summary: Summary) -> list[tuple[int, Mapping[str, Any]]]:
    """The jobs of a run with their positions, but for those whose rounds are calls."""
    return [(place, job) for place, job in enumerate(summary.get("jobs") or ()) if job.get("kind") != CALLS]


def of_jobs(summaries: Iterable[Summary]) -> list[str]:
    """Names of the numbers that lead in a comparison: those of the first job, as far as some run has them."""
    found: dict[str, None] = {}
    for summary in summaries:
        for place, job in jobs_of(summary)[:1]:
            for name in OF_JOBS:
                whole, _, part = name.partition(".")
                value = job.get(whole)
                if (value.get(part) if isinstance(value, Mapping) else value) is not None:
                    found[f"jobs.{place}.{name}"] = None
    order = {name: index for index, name in enumerate(OF_JOBS)}
    return sorted(found, key=lambda name: (name.split(".")[1], order[name.split(".", 2)[2]]))


def lines_of(summary: Summary) -> list[str]:
    """A line for each job: completion, bandwidths, the last host; and where its time went, if that was sampled."""
    jobs = [job for _, job in jobs_of(summary)]
    lines = [line for job in jobs[:MOST_JOBS] for line in _lines(job)]
    more = len(jobs) - MOST_JOBS
    return [*lines, f"{more} more jobs are in summary.json and the report"] if more > 0 else lines


def called(job: Mapping[str, Any]) -> str:
    """Kind, size and ranks of a job."""
    size = job.get("size_bytes")
    of_size = "" if size is None else f" of {display('bytes', float(size), 4)}"
    ranks, way = job.get("ranks"), job.get("algorithm")
    by = f" ({way})" if way else ""
    return f"{job['kind']}{by}{of_size}" + ("" if ranks is None else f" over {ranks} ranks")


def _lines(job: Mapping[str, Any]) -> Iterator[str]:
    took = job.get("completion_s")
    if took is None:
        rounds = job.get("rounds") or {}
        begun, open_ = rounds.get("count") or 0, rounds.get("unfinished") or 0
        yield f"{called(job)}: not over, {begun - open_} of the {begun} rounds that began are"
        return
    parts = [duration(took)]
    if (rate := job.get("algorithm_bandwidth_bps")) is not None:
        parts.append(f"algorithm bandwidth {display('rate', rate)}")
    if (rate := job.get("bus_bandwidth_bps")) is not None:
        parts.append(f"bus bandwidth {display('rate', rate)}")
    if (slowdown := job.get("slowdown")) is not None:
        parts.append(f"{slowdown:.3g} times its bound")
    if straggler := job.get("straggler"):
        behind = straggler["behind_s"]
        parts.append(f"last h{straggler['host']}" + (f", {duration(behind)} after the median host" if behind else ""))
    yield f"{called(job)}: {', '.join(parts)}"
    if shares := by_cause(job):
        yield f"  critical path: {shares}"


def by_cause(job: Mapping[str, Any]) -> str:
    """Shares of the critical path by cause, the largest first; empty where causes were not sampled."""
    parts = job.get("critical_path_by_cause") or {}
    whole = sum(parts.values())
    if not whole:
        return ""
    shares = sorted(((value / whole, name) for name, value in parts.items()), reverse=True)
    return ", ".join(f"{cause_label(name)} {100 * share:.3g} %" for share, name in shares if share >= 0.0005)


def cause_label(name: str) -> str:
    """Name of a part of a path's time, the same as in figures and tables."""
    if name in OWN_CAUSES:
        return OWN_CAUSES[name]
    field = field_of("flows", name)
    return field.label if field is not None else name


def path_lines(job: Mapping[str, Any]) -> list[str]:
    """The critical path of a job on less than a screen: of a longer one the links that took longest over their least.

    Each is a flow or a step.
    """
    path = job.get("critical_path") or []
    if not path:
        return [f"{called(job)}: no critical path, as it was not over or nothing in it waits"]
    excess = job.get("critical_path_excess_s") or 0.0
    head = f"{called(job)}: critical path of {len(path)} flows and steps, {duration(excess)} longer than each alone"
    # Links that took about as long as alone explain nothing.
    least = LEAST_SHARE * max(link["excess_s"] for link in path)
    late = [place for place, link in enumerate(path) if link["excess_s"] > least]
    worst = sorted(late, key=lambda place: -path[place]["excess_s"])[:MOST_LINKS]
    rows: list[tuple[str, ...]] = [("", "from", "to", "start", "took", "longer than alone")]
    for place in sorted(worst):
        rows.append(_row(place, path[place]))
    table = [f"  {row}" for row in in_columns(rows)] if worst else []
    lines = [head, *([f"  {shares}"] if (shares := by_cause(job)) else []), *table]
    left = [link for place, link in enumerate(path) if place not in worst]
    if left:
        lines.append(f"  and {len(left)} more, {duration(sum(link['excess_s'] for link in left))} longer than alone")
    return lines


def _row(place: int, link: Mapping[str, Any]) -> tuple[str, ...]:
    ends = ("h{src}", "h{dst}") if "flow" in link else ("h{host}", "")
    source, target = (end.format(**link) if link.get("host", 0) is not None else "" for end in ends)
    name = link["flow"] if "flow" in link else link["step"]
    times = (link["start_s"], link["finish_s"] - link["start_s"], link["excess_s"])
    return (f"{place + 1}. {name}", source, target, *map(duration, times))
