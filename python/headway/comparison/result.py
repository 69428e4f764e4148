"""Result of a comparison: numbers, a verdict, and their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headway.data.earlier import anew, lacking
from headway.data.jsonable import Jsonable, preformatted
from headway.data.later import np
from headway.data.point import Point
from headway.data.statistics import estimate
from headway.data.steadiness import unsteady
from headway.data.units import display, duration
from headway.errors import HeadwayError, with_help
from headway.reporting.summaries import summary_label, summary_number

from .neighbours import Far, furthest
from .numbers import BEYOND, NOISE, NUMBERS, WITHIN, Band, Ratio, bands, ratios, share_close, share_same
from .pairs import Pairs
from .sides import Sample

SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


@dataclass(frozen=True)
class Comparison(Jsonable):
    """A run compared with a reference: the equal parts, the differences, and their sizes.

    >>> found = headway.compare("out/r", "theirs.csv", within=0.03)
    >>> found.ok, found.ratio("mean").ratio.mean
    """

    ours: str
    theirs: str
    samples: tuple[tuple[Sample, Sample], ...]
    pairs: tuple[Pairs, ...]
    within: float
    judged: tuple[str, ...] = NUMBERS
    at_sender: bool = False
    # True if the runs noted that.
    sender_noted: bool = False
    of_summaries: tuple[str, ...] = ()

    @cached_property
    def ratios(self) -> tuple[Ratio, ...]:
        """Mean, median, 99th percentile and maximum of the flows that ended on both sides."""
        return ratios([(p.ours, p.theirs) for p in self.pairs])

    @cached_property
    def summaries(self) -> tuple[Ratio, ...]:
        """The requested numbers of summaries, such as `slowdown_p99`; all of them are judged."""
        return tuple(_of_summaries(self.samples, name) for name in self.of_summaries)

    def ratio(self, name: str) -> Ratio:
        """One of the ratios: `mean`, `median`, `p99`, `max`, or a requested number of summaries."""
        return next(one for one in (*self.ratios, *self.summaries) if one.name == name)

    @property
    def seeds(self) -> int:
        """Number of runs that are compared, each with its reference."""
        return len(self.pairs)

    @property
    def flows(self) -> int:
        """Flows that both sides know, of all seeds together."""
        return sum(p.flows for p in self.pairs)

    @cached_property
    def same(self) -> float | None:
        """Share of the flows that take as long to a nanosecond; None where flows are not paired."""
        return share_same(self.pairs)

    @cached_property
    def close(self) -> float | None:
        """Share of the flows that take as long to a hundredth."""
        return share_close(self.pairs)

    @property
    def unfinished(self) -> tuple[int, int, int]:
        """Flows that ended in the reference only, in the run only, and nowhere."""
        here, there, both = (
            sum(getattr(p, f"unfinished_{which}") for p in self.pairs) for which in ("ours", "theirs", "both")
        )
        return here, there, both

    @property
    def strangers(self) -> tuple[int, int]:
        """Flows that only the run has, and only the reference."""
        return sum(p.only_ours for p in self.pairs), sum(p.only_theirs for p in self.pairs)

    @cached_property
    def bands(self) -> tuple[Band, ...]:
        """Numbers of the pairs by size of the flows; empty if flows are not paired."""
        if any(p.way == "none" for p in self.pairs):
            return ()
        sizes = [
            np.asarray(ours.flows["bytes"].to_numpy(), dtype=np.float64)[list(p.position)]
            for (ours, _), p in zip(self.samples, self.pairs, strict=True)
        ]
        return bands(self.pairs, sizes)

    @cached_property
    def furthest(self) -> tuple[Far, ...]:
        """The ten flows of the first seed whose times differ the most, with their likely neighbours."""
        first = self.pairs[0]
        return () if first.way == "none" else furthest(self.samples[0][0], first)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on the runs themselves: that they did not reach a steady state."""
        names = (self.ours, self.theirs)
        runs = [{id(both[side].run): both[side].run for both in self.samples} for side in range(len(names))]
        groups = {
            name: [run.summary for run in own.values() if run is not None]
            for name, own in zip(names, runs, strict=True)
        }
        return tuple(unsteady({name: summaries for name, summaries in groups.items() if summaries}))

    @property
    def _judged(self) -> tuple[Ratio, ...]:
        return (*(one for one in self.ratios if one.name in self.judged), *self.summaries)

    @property
    def beyond(self) -> tuple[str, ...]:
        """Numbers that are further apart than they may be: judged numbers, and `unfinished`."""
        found = [one.name for one in self._judged if one.verdict(self.within) == BEYOND]
        here, there, _ = self.unfinished
        if here + there > self.within * max(self.flows, 1):
            found.append("unfinished")
        if not self.ratios:
            found.append("no flow ended on both sides")
        return tuple(found)

    @property
    def ok(self) -> bool:
        """True if everything that is judged is within the bound, or no further apart than seeds make it."""
        return not self.beyond

    def document(self) -> dict[str, Any]:
        """All of it, for another program. Times are seconds."""
        here, there, nowhere = self.unfinished
        return {
            "run": self.ours,
            "reference": self.theirs,
            "ok": self.ok,
            "within": self.within,
            "judged": list(self.judged),
            "beyond": list(self.beyond),
            "matched_by": self.pairs[0].way,
            "until": "sender" if self.at_sender else "receiver",
            "seeds": self.seeds,
            "flows": self.flows,
            "only_in_run": self.strangers[0],
            "only_in_reference": self.strangers[1],
            "unfinished": {"run": here, "reference": there, "both": nowhere},
            "numbers": {one.name: self._number(one) for one in self.ratios},
            "summaries": {one.name: self._number(one, "") for one in self.summaries},
            "same_to_1_ns": self.same,
            "same_to_1_percent": self.close,
            "bands": [self._band(band) for band in self.bands],
            "furthest": [self._far(far) for far in self.furthest],
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        return preformatted(lines(self))

    def _number(self, one: Ratio, unit: str = "_s") -> dict[str, Any]:
        half = one.ratio.half_width
        return {
            f"run{unit}": one.ours,
            f"reference{unit}": one.theirs,
            "ratio": one.ratio.mean,
            "half_width": half,
            "verdict": one.verdict(self.within),
        }

    def _band(self, band: Band) -> dict[str, Any]:
        numbers = {one.name: one.ratio.mean for one in band.ratios}
        return {
            "bytes": [band.least, band.most],
            "flows": band.flows,
            "ratios": numbers,
            "same_to_1_percent": band.close,
        }

    @staticmethod
    def _far(far: Far) -> dict[str, Any]:
        beside = [{"name": n.name, "links": list(n.links), "together_s": n.together_s} for n in far.neighbours]
        return {
            "name": far.name,
            "src": far.src,
            "dst": far.dst,
            "bytes": far.bytes,
            "start_s": far.start_s,
            "run_s": far.ours_s,
            "reference_s": far.theirs_s,
            "ratio": far.ratio,
            "neighbours": beside,
            "further_neighbours": far.others,
        }

    def page(self, path: str | Path) -> Path:
        """Write an HTML page with the two distributions and the scatter of pairs; returns its path."""
        from headway.reporting.comparison import Times, write_page

        ours, theirs = (np.concatenate([getattr(p, side) for p in self.pairs]) for side in ("ours", "theirs"))
        times = Times(ours, theirs, all(p.way != "none" for p in self.pairs))
        return write_page(Path(path), self.document(), [*facts(self), *self.notes], times)

    def __str__(self) -> str:
        return "\n".join([*lines(self), *(f"note: {text}" for text in self.notes)])


def lines(found: Comparison) -> Iterator[str]:
    """Result in lines, for a person."""
    yield headline(found)
    for one in found.ratios:
        judged = one.verdict(found.within) if one.name in found.judged else "not judged"
        yield f"  {one.name:6} {duration(one.ours):>10}  reference {duration(one.theirs):>10}  {apart(one)}  {judged}"
    for one in found.summaries:
        ours, theirs = (display(summary_label(one.name)[1], value, 4) for value in (one.ours, one.theirs))
        yield f"  {one.name} {ours}  reference {theirs}  {apart(one)}  {one.verdict(found.within)}"
    yield from (f"  {text}" for text in facts(found))
    if found.bands:
        yield "  by size (ratios of mean, median, p99, max; share within 1 %):"
        for band in found.bands:
            numbers = "  ".join(f"{one.ratio.mean:7.4f}" for one in band.ratios)
            yield f"    {band_name(band):18} {band.flows:>8} flows  {numbers}  {100 * band.close:6.2f} %"
    if found.furthest:
        yield "  furthest" + (f" (of {found.samples[0][0].name})" if found.seeds > 1 else "") + ":"
        for far in found.furthest:
            way = f"{far.src} to {far.dst}, {size_name(far.bytes)} at {duration(far.start_s)}"
            times = f"{duration(far.ours_s)}, reference {duration(far.theirs_s)}"
            yield f"    {far.name}: {way}: {times} ({far.ratio:.4g} x)"
            if far.neighbours:
                yield f"      beside it: {beside(far)}"


def apart(one: Ratio) -> str:
    """Distance of a ratio from 1, in per cent, with its spread over seeds."""
    seeds = f" ± {100 * one.ratio.half_width:.2f}" if one.ratio.half_width is not None else ""
    # Less than half a hundredth of a per cent is printed without a sign.
    value = 0.0 if abs(one.ratio.mean - 1) < 5e-5 else 100 * (one.ratio.mean - 1)
    return f"{value:+8.2f}{seeds} %"


def headline(found: Comparison) -> str:
    """The answer in a line."""
    judged = [one for one in (*found.ratios, *found.summaries) if one.name in (*found.judged, *found.of_summaries)]
    noise = [one.name for one in judged if one.verdict(found.within) == NOISE]
    inside = [one.name for one in judged if one.verdict(found.within) == WITHIN]
    parts = [f"{', '.join(inside)} within {percent(found.within)}"] if inside else []
    parts += [f"{', '.join(noise)} no further apart than seeds make it"] if noise else []
    parts += [f"beyond {percent(found.within)}: {', '.join(found.beyond)}"] if found.beyond else []
    return f"{found.ours} beside {found.theirs}: {'; '.join(parts)}"


def facts(found: Comparison) -> list[str]:
    """Further facts: how many flows, how many are the same, which did not end."""
    by = {"name": "by name", "fields": "by src, dst, bytes and start", "order": "by their places"}
    way = found.pairs[0].way
    seeds = f" of {found.seeds} seeds" if found.seeds > 1 else ""
    if way == "none":
        counts = [sum(one.ours.size for one in found.pairs), sum(one.theirs.size for one in found.pairs)]
        told = [f"{counts[0]} flows{seeds} and {counts[1]}, not paired"]
    else:
        told = [f"{found.flows} flows{seeds} on both sides, matched {by[way]}"]
        told += (
            [f"{share(found.same)} take as long to 1 ns, {share(found.close)} to 1 %"] if found.same is not None else []
        )
        if any(found.strangers):
            told.append(f"{found.strangers[0]} flows only in the run, {found.strangers[1]} only in the reference")
    here, there, nowhere = found.unfinished
    told.append(f"unfinished: {here} in the run, {there} in the reference, {nowhere} in both")
    if found.at_sender:
        how = "as it noted" if found.sender_noted else "with the way of a control packet back"
        told.append(f"times of the run are until the sender knows: {how}")
    if any(one.ratio.half_width is not None for one in (*found.ratios, *found.summaries)):
        told.append(f"±: half of the 95 % confidence interval of the mean ratio over {found.seeds} seeds (Student's t)")
    if found.seeds == 1:
        told.append("one run each: whether a difference is noise is not known; compare a sweep of seeds")
    return told


def beside(far: Far) -> str:
    """The likely neighbours of a flow, in words."""
    named = [f"{n.name} on {', '.join(n.links)} for {duration(n.together_s)}" for n in far.neighbours]
    return "; ".join(named) + (f"; and {far.others} more" if far.others else "")


def band_name(band: Band) -> str:
    """Sizes of a band in words."""
    return f"below {size_name(band.most)}" if not band.least else f"{size_name(band.least)} to {size_name(band.most)}"


def size_name(count: int) -> str:
    """Bytes with a unit that keeps them exact, as `100 kB` and `1460 B`."""
    for scale, unit in SIZES:
        if count >= scale and count % (scale // 100) == 0:
            return f"{count / scale:g} {unit}"
    return f"{count} B"


def share(value: float | None) -> str:
    """A share in per cent."""
    return "-" if value is None else f"{100 * value:.2f} %".replace("100.00", "100")


def percent(value: float) -> str:
    """A bound in per cent."""
    return f"{100 * value:g} %"


def _of_summaries(samples: Sequence[tuple[Sample, Sample]], name: str) -> Ratio:
    """A number of the summaries of runs, over the seeds."""
    values = [tuple(_of_summary(one, name) for one in both) for both in samples]
    for (_, theirs), (_, reference) in zip(samples, values, strict=True):
        if reference == 0.0:
            raise HeadwayError(f"{theirs.name}: `{name}` is 0, and nothing has a ratio to it")
    ours, theirs = (sum(side) / len(side) for side in zip(*values, strict=True))
    return Ratio(name, ours, theirs, estimate([a / b for a, b in values]))


def _of_summary(sample: Sample, name: str) -> float:
    if sample.run is None:
        hint = f"a table has the numbers {', '.join(NUMBERS)}"
        raise HeadwayError(f"{sample.name} is a table, and `{name}` is of the summary of a run\n  help: {hint}")
    value = summary_number(Point(sample.name, "", {}, sample.seed or 0, results=sample.run), name)
    if value is None:
        is_new = name in lacking(sample.run.summary, sample.run.scenario)
        hint = with_help(f"it is of an earlier build, which did not compute that; {anew('run')}") if is_new else ""
        raise HeadwayError(f"{sample.name} has no `{name}` in its summary" + hint)
    return value


def judged_names(names: Sequence[str]) -> tuple[str, ...]:
    """The requested ones of the numbers, in their order."""
    return tuple(name for name in NUMBERS if name in names)
