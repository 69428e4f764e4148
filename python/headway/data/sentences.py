"""Lines about runs: their numbers, and their warnings."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.data.bounds import in_document, told
from headway.data.units import duration, quantity
from headway.data.windows import unexpected

# Cause of a run's end, by `ended_by` of its summary, if it did not simply finish.
ENDINGS = {
    "stop": "ended at {}, its `stop`",
    "quiet": "ended at {}: nothing was left to happen",
    "no-progress": "ended at {}: nothing arrived any more",
    "deadlock": "ended at {}: deadlock",
    "memory": "ended at {}: `memory_limit`",
    "outside": "interrupted at {}",
}


def one_line(summary: dict[str, Any], manifest: dict[str, Any] | None = None) -> str:
    """The line that scripts look for: flows, when the run finished, completion times, losses, speed."""
    done = summary.get("flows_done", 0)
    stopped = summary.get("flows_stopped", 0)
    total = done + stopped + summary.get("flows_unfinished", 0) + summary.get("flows_failed", 0)
    parts = [*waiting(summary), f"{done}/{total} flows done", *([f"{stopped} stopped"] if stopped else [])]
    if manifest is not None and (end := manifest.get("virtual_s")) is not None:
        how = ENDINGS.get(summary.get("ended_by", ""), "finished at {}")
        parts.append(how.format(duration(end)))
    parts += calls(summary)
    for key, label in (("fct_mean_s", "mean FCT"), ("fct_p99_s", "p99")):
        if summary.get(key) is not None:
            parts.append(f"{label} {duration(in_document(summary, key, summary[key]))}")
    if (mean := summary.get("slowdown_mean")) is not None:
        parts.append(f"mean slowdown {told(in_document(summary, 'slowdown_mean', mean), f'{mean:.3g}')}")
    parts.append(_losses(summary))
    if manifest is not None and (wall := manifest.get("wall_s")):
        events = manifest.get("events", 0)
        parts.append(f"{quantity(events)} events in {duration(wall)} ({quantity(events / wall)}/s)")
    return ", ".join(parts)


def waiting(summary: Mapping[str, Any]) -> Iterator[str]:
    """Of each entry of calls, the clients that wait for one for longer than any took that ended."""
    for job in summary.get("jobs") or ():
        rounds = job.get("rounds") or {}
        if clients := rounds.get("waiting"):
            since = duration(rounds["waiting_since_s"])
            yield f"{clients} of {job['ranks']} clients wait since {since}"


def calls(summary: Mapping[str, Any]) -> Iterator[str]:
    """Of each entry of calls, how long these took: they are what their users wait for, and messages only a part."""
    for job in summary.get("jobs") or ():
        rounds = job.get("rounds") or {}
        if job.get("kind") != CALLS or not rounds.get("count"):
            continue
        told_of = (*OF_CALLS, "missed")
        known = {key: in_document(rounds, key, rounds[key]) for key in told_of if rounds.get(key) is not None}
        parts = [f"{name} {duration(known[key])}" for key, name in OF_CALLS.items() if key in known]
        if (missed := known.get("missed")) is not None:
            share = f"{100 * missed:.3g} %"
            parts.append(f"missed {told(missed, share)}")
        yield f"{rounds['count']} calls: " + (", ".join(parts) or "none ended")


OF_CALLS = {"p50_s": "p50", "p99_s": "p99"}
# The kind of traffic whose rounds are calls.
CALLS = "rpc"


def of_calls(summaries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names of the numbers that tell of calls, as far as these runs have any: they come before those of messages."""
    places = {n: None for one in summaries for n, job in enumerate(one.get("jobs") or ()) if job.get("kind") == CALLS}
    return [f"jobs.{place}.rounds.{part}" for place in places for part in OF_CALLS]


def transport_lines(summary: dict[str, Any]) -> list[str]:
    """The text of `one_line` for each of several transports, and its share of the delivered bytes."""
    lines = []
    for name, part in summary.get("by_transport", {}).items():
        share = part.get("goodput_share")
        said = "" if share is None else f", {100 * share:.3g} % of the goodput"
        lines.append(f"{name}: {one_line(part)}{said}")
    return lines


def _losses(summary: dict[str, Any]) -> str:
    """Packets dropped, and the number of data packets among them where the rest was control or credits."""
    drops = summary.get("drops")
    if drops is None:
        return "drops not known"  # A run on real packets does not know them by transport.
    data = summary.get("data_drops", drops) or 0
    return f"drops {drops}" if data == drops else f"drops {drops} ({data} of data)"


# Sentence of the manifest if nothing was sampled because the scenario does not ask for it.
UNSAMPLED = "series.parquet is empty: the scenario has no [sample] table"


def surprising(manifest: Mapping[str, Any]) -> list[str]:
    """The warnings of a manifest less those that follow from the scenario itself: that nothing is to be sampled, and
    that flows go on at the end of a run that shows a part of them."""
    scenario = manifest.get("scenario")
    said = [str(warning) for warning in manifest.get("warnings") or () if warning != UNSAMPLED]
    return unexpected(said, scenario) if isinstance(scenario, Mapping) else said


# Numbers in a sentence, with their units: what else it says is its kind.
NUMBERS = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?:\s?(?:%|[kMGT]?B|[num]?s|[KMGkmg]?bit/s|packets?))?")
# Reference in sentences about a comparison that is not fair to one side.
ON_FAIRNESS = "headway docs choosing"
# Lines of notes and warnings about a sweep, at most.
MOST_LINES = 6


@dataclass(frozen=True)
class Kind:
    """Sentence of several runs in the same words: the first of these, and the labels of all that say one."""

    text: str
    labels: tuple[str, ...]
    is_same: bool  # whether all say the same numbers, too

    def line(self, of: int) -> str:
        """The sentence with the runs that say it, out of so many."""
        first, others = self.labels[0], len(self.labels) - 1
        who = first if not others else f"{first} and {others} more"
        if others and len(self.labels) == of:
            who = f"all {of} points"
        return f"{who}: {self.text}" + ("" if self.is_same else f" (numbers: of {first})")


def by_kind(said: Iterable[tuple[str, str]]) -> list[Kind]:
    """Pairs of label and sentence by kinds of sentences: first those on fairness, then those that most runs say."""
    labels: dict[str, dict[str, None]] = {}
    texts: dict[str, dict[str, None]] = {}
    for label, sentence in said:
        kind = NUMBERS.sub("#", sentence)
        labels.setdefault(kind, {})[label] = None
        texts.setdefault(kind, {})[sentence] = None
    kinds = [Kind(next(iter(texts[one])), tuple(labels[one]), len(texts[one]) == 1) for one in labels]
    return sorted(kinds, key=lambda one: (ON_FAIRNESS not in one.text, -len(one.labels)))


def in_few_lines(kinds: Sequence[Kind], of: int, rest: str) -> list[str]:
    """A line for each of the first kinds, and one for how many more there are; `rest` says where these are."""
    if len(kinds) <= MOST_LINES:
        return [kind.line(of) for kind in kinds]
    left = len(kinds) - (MOST_LINES - 1)
    return [*(kind.line(of) for kind in kinds[: MOST_LINES - 1]), f"{left} kinds more: {rest}"]


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with the cells of a column below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def as_html(headline: str, heads: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[str]) -> str:
    """A table for a notebook, with its subject above it and lines below it."""
    head = "".join(f"<th style='text-align:left'>{html.escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    said = "".join(f"<p>{html.escape(line.strip())}</p>" for line in lines)
    return f"<div><p>{html.escape(headline)}</p><table><tr>{head}</tr>{body}</table>{said}</div>"
