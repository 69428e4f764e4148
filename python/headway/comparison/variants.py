"""Comparison of a sweep's variants with one of them: numbers of their summaries, paired by seed, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.data.bounds import name_of, told
from headway.data.earlier import earlier
from headway.data.fairness import times_in, unlike_times
from headway.data.jobs import of_jobs
from headway.data.jsonable import Jsonable
from headway.data.point import Point, by_place
from headway.data.reader import of_results
from headway.data.sentences import as_html, by_kind, in_columns, in_few_lines, of_calls, surprising
from headway.data.statistics import over_seeds, ratio_over_seeds
from headway.data.steadiness import unmeasured, unsteady
from headway.data.sweep import Sweep, read_entries, read_sweep
from headway.data.units import display
from headway.errors import HeadwayError, NameNotFound, with_help
from headway.reporting.chosen import too_few
from headway.reporting.summaries import summary_label, summary_number
from headway.reporting.values import UNITS, as_csv

from .numbers import full_name
from .sides import place_of
from .swept import key_of, over_axis

# Names of completion times' numbers in a summary.
OF_TIMES = {"mean": "fct_mean_s", "median": "fct_p50_s", "p99": "fct_p99_s", "max": "fct_max_s"}
# What is compared unless something else is asked for.
USUAL = ("mean", "p99")
LOWER, HIGHER, NOT_APART = "lower", "higher", "not apart"
# Numbers of which the lowest is the best.
OF_FLOWS = ("fct_", "slowdown_")
NOT_DONE = ("flows_unfinished", "flows_failed")


@dataclass(frozen=True)
class Row:
    """One number of one variant at one place of the axes, over that of the baseline at the same place.

    `value` is a mean over seeds, and `half_width` that of its 95 % interval. `ratio` is the geometric mean over
    the seeds that both have; `interval` are its ends at 95 %. Of one seed there is neither interval.
    """

    variant: str
    place: str
    number: str
    value: float | None
    half_width: float | None
    baseline: float | None
    ratio: float | None
    interval: tuple[float, float] | None
    seeds: int
    unfinished: int

    @property
    def verdict(self) -> str:
        """Verdict of the interval: lower or higher than the baseline; empty without one."""
        if self.interval is None or self.ratio is None:
            return ""
        low, high = self.interval
        if low <= 1.0 <= high:
            return NOT_APART
        return LOWER if high < 1.0 else HIGHER


@dataclass(frozen=True)
class Variants(Jsonable):
    """All variants of a sweep, compared with one of them.

    >>> found = headway.compare_variants("out/mine", of=["slowdown_p99"])
    >>> found.row("homa", "slowdown_p99").interval
    """

    name: str
    baseline: str
    numbers: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def row(self, variant: str, number: str | None = None, place: str = "") -> Row:
        """Result of a variant; for the first number and place unless they are named."""
        wanted = number or self.numbers[0]
        for one in self.rows:
            if (one.variant, one.number) == (variant, wanted) and place in ("", one.place):
                return one
        raise NameNotFound("variant", variant, dict.fromkeys(one.variant for one in self.rows))

    def document(self) -> dict[str, Any]:
        """All of it, for another program, in base units."""
        rows = [
            {
                **vars(one),
                "interval": one.interval and list(one.interval),
                "verdict": one.verdict,
                "value_is": name_of(one.value),
                "ratio_is": name_of(one.ratio),
            }
            for one in self.rows
        ]
        return {
            "sweep": self.name,
            "baseline": self.baseline,
            "numbers": list(self.numbers),
            "rows": rows,
            "notes": list(self.notes),
        }

    def to_csv(self) -> str:
        """All of it as CSV in base units: a row for each number of each variant at each place."""
        head = ("sweep", "variant", "at", "number", "unit", "mean", "half_width_95", "seeds", "baseline",
                "baseline_mean", "ratio", "ratio_low_95", "ratio_high_95", "verdict", "flows_not_done", "mean_is",
                "ratio_is")  # fmt: skip
        rows = []
        for one in self.rows:
            low, high = one.interval or (None, None)
            unit = UNITS.get(summary_label(one.number)[1], "1")
            rows.append((self.name, one.variant, one.place, one.number, unit, one.value, one.half_width, one.seeds,
                         self.baseline, one.baseline, one.ratio, low, high, one.verdict, one.unfinished,
                         name_of(one.value),
                         name_of(one.ratio)))  # fmt: skip
        return as_csv(head, rows)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows, as text."""
        placed = any(one.place for one in self.rows)
        heads = ["variant", *(["at"] if placed else []), "number", "value", "ratio", "95 % interval", ""]
        return heads, [self._cells(one, placed=placed) for one in self.rows]

    def _cells(self, one: Row, *, placed: bool) -> list[str]:
        label, quantity = summary_label(one.number)
        is_baseline = one.variant == self.baseline
        ratio = "-" if one.ratio is None or is_baseline else told(one.ratio, f"{float(one.ratio):.3f}")
        interval = f"{one.interval[0]:.3f} to {one.interval[1]:.3f}" if one.interval and not is_baseline else "-"
        said = "baseline" if is_baseline else one.verdict
        if one.unfinished:
            said = ", ".join(filter(None, (said, f"{one.unfinished} flows not done")))
        place = [one.place] if placed else []
        value = display(quantity, one.value)
        if one.half_width is not None:
            value += f" ± {display(quantity, one.half_width, 2)}"
        return [one.variant, *place, label, value, ratio, interval, said]

    @property
    def _seeds(self) -> str:
        """Over how many seeds rows are, such as `5` or `3 to 5`."""
        counts = sorted({one.seeds for one in self.rows if one.seeds} or {0})
        return str(counts[-1]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"

    def headline(self) -> str:
        """Subject of the table, in a sentence."""
        most = max((one.seeds for one in self.rows), default=0)
        seeds = f"geometric mean of {self._seeds} seeds" if most > 1 else "one seed, so that no interval is known"
        return f"{self.name}: each variant over {self.baseline} of the same seed; {seeds}"

    def footing(self, choice: str = "--reference-at {}") -> list[str]:
        """The variant with the lowest numbers, and the meaning of the table's signs, if they are in it.

        `choice` says how another baseline is chosen.
        """
        said = [self._lowest(name, choice) for name in self.numbers if name.startswith(OF_FLOWS)]
        lowest = [text for text in said if text]
        if all(one.half_width is None for one in self.rows):
            return lowest
        return [
            *lowest,
            f"±: half of the 95 % confidence interval of the mean over {self._seeds} seeds (Student's t)",
        ]

    def _lowest(self, number: str, choice: str) -> str:
        """The variant with the lowest, and how the others compare with it; empty where there are several places."""
        rows = [row for row in self.rows if row.number == number]
        known = [row for row in rows if row.ratio is not None]
        if len({row.place for row in rows}) > 1 or len(known) < 3:
            return ""
        least = min(known, key=lambda row: row.ratio or 0.0)
        if least.unfinished:
            return ""
        text = f"lowest {summary_label(number)[0]}: {least.variant}"
        if least.variant == self.baseline:
            return text
        return f"{text}; the others over it, with their intervals: {choice.format(least.variant)}"

    def __str__(self) -> str:
        heads, rows = self.table()
        notes = (f"note: {text}" for text in self.notes)
        return "\n".join([self.headline(), *in_columns([heads, *rows]), *self._in_python(), *notes])

    def _in_python(self) -> list[str]:
        return self.footing('baseline="{}"')

    def _repr_html_(self) -> str:
        return as_html(self.headline(), *self.table(), [*self._in_python(), *(f"note: {text}" for text in self.notes)])


@of_results
def compare_variants(
    sweep: Sweep | str | Path,
    *,
    of: str | Sequence[str] | None = None,
    baseline: str | None = None,
    over: str | None = None,
) -> Variants:
    """Compare numbers of each variant of a sweep with those of one variant, seed by seed.

    `of` names numbers of summaries (`slowdown_p99`, `queue_max_bytes`) or of some flows (`p99[<=64kB]`), or `mean`,
    `median`, `p99` and `max` of completion times, as a list or as on the command line, `"p99,slowdown_p99"`. The
    default is `mean` and `p99`, and before them the median and the 99th percentile of calls, and completion,
    bandwidths and straggler of the first job, if there are any. `bus_bandwidth` is short for
    `jobs.0.bus_bandwidth_bps`. `headway.catalogue("numbers")` has all. `baseline` is a variant;
    default: what `[report] baseline` names, else the first. Each ratio is the geometric mean over the seeds that both
    variants have, with Student's 95 % interval of the logarithms.

    With `over`, or a baseline such as `load=0.3`, the values of that swept key are compared as variants are,
    `window=5` with `window=2`; so are those of the first swept key where there is one variant. The first value is the
    baseline then.

    >>> print(headway.compare_variants("out/mine", of=["slowdown_p99"]))
    """
    found = sweep if isinstance(sweep, Sweep) else read_sweep(sweep)
    every = list(found)
    points, axis = over_axis(every, over or key_of(every, baseline))
    names = list(dict.fromkeys(point.variant for point in points))
    if not names:
        raise HeadwayError(f"{found.directory}: no run of it is finished")
    if axis is not None and baseline is not None:
        # A value alone names the variant that it is, and so does the whole key with a value.
        value = baseline.rpartition("=")[2].strip()
        baseline = next((name for name in names if name.partition("=")[2].split(",")[0] == value), baseline)
    if baseline is not None and baseline not in names:
        raise NameNotFound("variant", baseline, names, f"{found.directory} has {', '.join(names)}")
    first = baseline or (_said(points, names) if axis is None else None) or names[0]
    usual = [*leading(points), *USUAL]
    wanted = [name.strip() for name in of.split(",")] if isinstance(of, str) else of or usual
    numbers = tuple(OF_TIMES.get(name) or full_name(name) for name in wanted)
    groups = {(_axes(own[0]), own[0].variant): {point.seed: point for point in own} for own in by_place(points)}
    rows = [
        _row(variant, place, name, group, groups.get((place, first), {}))
        for name in numbers
        for (place, variant), group in groups.items()
    ]
    for name in numbers:
        if all(row.value is None for row in rows if row.number == name):
            few = too_few(name)
            why = [text for text in (unmeasured(point.summary for point in points), few, *earlier(points)) if text]
            raise HeadwayError(f"{found.directory}: no run of it has the number `{name}`" + with_help(*why))
    judged = {place_of(own[0]): [point.summary for point in own] for own in by_place(points)}
    times = {name: times_in(next(one for one in points if one.variant == name).scenario) for name in names}
    notes = (*found.lacking(), *unlike_times(times), *_warned(points), *unsteady(judged), *earlier(points))
    return Variants(str(found.directory), first, numbers, tuple(rows), notes)


def _warned(points: Sequence[Point]) -> Iterator[str]:
    """Warnings of some runs that others do not have: one that all have distinguishes no variant."""
    said = ((point.label, text) for point in points for text in surprising(point.run.manifest))
    kinds = [kind for kind in by_kind(said) if len(kind.labels) < len(points)]
    yield from in_few_lines(kinds, len(points), "the `warnings` of each run's manifest.json")


def leading(points: Iterable[Point]) -> list[str]:
    """Names of the numbers that come before those of messages: of calls, and of jobs such as collectives."""
    summaries = [point.summary for point in points]
    return [*of_calls(summaries), *of_jobs(summaries)]


def is_of_variants(path: Path) -> bool:
    """True if a directory holds a sweep of several variants, or of one over several values, finished or not."""
    return len({(entry["variant"], str(entry["axes"])) for entry in read_entries(path)}) > 1


def _said(points: Sequence[Point], names: Sequence[str]) -> str | None:
    """The baseline that the scenario names for its report."""
    scenario = points[0].run.manifest.get("scenario")
    report = scenario.get("report") if isinstance(scenario, dict) else None
    wanted = report.get("baseline") if isinstance(report, dict) else None
    return wanted if wanted in names else None


def _axes(point: Point) -> str:
    """Place of a point on the axes of its sweep, without its variant and seed."""
    return place_of(point).removeprefix(point.variant).removeprefix(",")


def _row(variant: str, place: str, name: str, group: dict[int, Point], theirs: dict[int, Point]) -> Row:
    values = {seed: summary_number(point, name) for seed, point in group.items()}
    before = {seed: summary_number(point, name) for seed, point in theirs.items()}
    pairs = [(one, before.get(seed)) for seed, one in values.items()]
    ratio = ratio_over_seeds(pairs)
    unfinished = sum(int(point.run.summary.get(key) or 0) for point in group.values() for key in NOT_DONE)
    mean, base = over_seeds(list(values.values())), over_seeds(list(before.values()))
    return Row(
        variant,
        place,
        name,
        mean.mean if mean else None,
        mean.half_width if mean else None,
        base.mean if base else None,
        ratio.mean if ratio is not None else None,
        ratio.interval if ratio is not None else None,
        sum(None not in pair for pair in pairs),
        unfinished,
    )
