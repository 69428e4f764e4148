"""The claims of papers as tables of a Markdown page: as stated, and under the reading on record."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from headway.claims.values import show, show_range
from headway.data.claims import ListedClaim, RealClaim
from headway.data.machine import machine_text
from headway.data.units import duration

COUNTED = ("reproduced", "direction-only", "not-reproduced")


def tables(rows: Sequence[ListedClaim]) -> str:
    """The counts of verdicts by figure, a line for each claim, and the results on real packets."""
    parts = [*_readings(rows), *_by_figure(rows), "", *_each(rows), *_testbed(rows)]
    return "\n".join(parts) + "\n"


def _readings(rows: Sequence[ListedClaim]) -> Iterator[str]:
    """Settings of the readings on record."""
    found = dict.fromkeys(json.dumps(row.reading_values) for row in rows if row.reading_values)
    for text in found:
        values = ", ".join(f"`{name} = {json.dumps(value)}`" for name, value in json.loads(text).items())
        yield f"The reading: {values}."
        yield ""


def _by_figure(rows: Sequence[ListedClaim]) -> Iterator[str]:
    yield "| scenario | claims | as stated | under the reading | cannot hold |"
    yield "|---|---|---|---|---|"
    for scenario in dict.fromkeys(str(row.scenario) for row in rows):
        own = [row for row in rows if row.scenario == scenario]
        yield f"| `{scenario}` | {_counts(own)} |"
    yield f"| all | {_counts(rows)} |"


def _counts(rows: Sequence[ListedClaim]) -> str:
    """Claims, those of each verdict as stated and under the reading, and those that cannot hold."""
    stated = Counter(row.judged for row in rows)
    under = Counter(row.reading_verdict or row.judged for row in rows)
    cannot = sum(1 for row in rows if row.verdict != row.judged)
    return f"{len(rows)} | {_three(stated)} | {_three(under)} | {cannot or ''}"


def _three(counted: Counter[str]) -> str:
    return " / ".join(str(counted[name]) for name in COUNTED)


def _each(rows: Sequence[ListedClaim]) -> Iterator[str]:
    yield "| claim | published | as stated | verdict | under the reading | |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        published = row.published
        text = "statement" if isinstance(published, str) else f"{row.qualifier} {show(published)}"
        under = show(row.reading_measured) if row.reading_verdict else ""
        cells = [row.id, text, show(row.measured), row.verdict, under, row.reading_word]
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _testbed(rows: Sequence[ListedClaim]) -> Iterator[str]:
    """The claims that were measured on real packets, simulator and testbed side by side, and on which machine."""
    real = [(row, row.testbed) for row in rows if row.testbed is not None]
    if not real:
        return
    yield ""
    yield "On real packets, the median over repetitions with the smallest and the largest, and the speed of the links."
    yield "The higher it is, the more a verdict is about the hosts of that machine:"
    yield ""
    yield "| claim | published | simulator | | testbed | smallest to largest | at | |"
    yield "|---|---|---|---|---|---|---|---|"
    for row, one in real:
        published = row.published
        text = "statement" if isinstance(published, str) else f"{row.qualifier} {show(published)}"
        spread = show_range(one.range) if one.range is not None else ""
        measured = [show(one.measured), spread, _speed(one.slowdown), one.verdict]
        cells = [row.id, text, show(row.measured), row.judged, *measured]
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
    for line in dict.fromkeys(_how(one) for _, one in real):
        yield ""
        yield line


def _speed(slowdown: int | None) -> str:
    """The speed of the links on real packets relative to that of the paper; variants may differ in theirs."""
    if slowdown is None:
        return "more than one speed"
    return "full speed" if slowdown == 1 else f"1/{slowdown} of the speed"


def _how(one: RealClaim) -> str:
    """Circumstances of a measurement: command, machine, other work, lateness."""
    slowdown = f"slowdown {one.slowdown or 'by variant'}" if one.slowdown != 1 else "unscaled"
    late, work = duration(one.late_s), one.other_work
    return (
        f"`{one.command}`: {one.repetitions} repetitions, {slowdown}, on {machine_text(one.machine)}. "
        f"In the worst run 99 % of the frames were late by at most {late}, and other programs used {work:g} processors."
    )
