"""All transports on the same questions: `scenarios/field`, swept, measured and shown on one page.

A question is a scenario of that folder; `variants.toml` next to them sets each transport as its authors run it.
`measured.json` there keeps the results; the tables of `docs/field.md` are made from it whenever the page is shown.
"""

from __future__ import annotations

import hashlib
import json
import math
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway import _headway
from headway.comparison.field_record import LOAD, RECORD_FILE, Measured, Record
from headway.data.point import Point
from headway.data.reader import read_object
from headway.data.statistics import Estimate, over_seeds
from headway.data.steadiness import LITTLE
from headway.data.toml import parsed
from headway.data.units import duration, plain, size
from headway.errors import HeadwayError
from headway.files import write_text
from headway.loading import Scenario
from headway.names import VARIANTS_FILE
from headway.sweeps.api import sweep

# In the order of the page.
QUESTIONS = (
    "web-search",
    "hadoop",
    "data-mining",
    "incast",
    "permutation",
    "oversubscribed",
    "all-to-all",
    "failing-link",
    "mixed",
)
OWN = ("amrt", "rpo", "l2dct", "proactmp")
# Transport whose completion times the others' are divided by, message by message.
BASELINE = "dctcp"
WIDTH = 120


@dataclass(frozen=True)
class Case:
    """A question at one load: its text, and every transport's numbers."""

    name: str
    title: str
    about: str
    load: float | None
    rows: Mapping[str, Row]
    arrivals: str = ""

    @property
    def called(self) -> str:
        """Its name in tables."""
        return self.title if self.load is None else f"{self.title}, {self.load:g}"


@dataclass(frozen=True)
class Row:
    """Numbers of one transport in one case, each a mean over seeds.

    `slowdowns` has the median and the 99th percentile of completion times over those alone, for each band that has
    messages. `goodput` is the mean of bytes over completion time, in bit/s, of the messages of the longest band.
    `ratio` is the 99th percentile of all slowdowns over that of the baseline with the same seed, as its logarithm.
    """

    slowdowns: Mapping[str, tuple[float, float]]
    p99: float
    goodput: float
    queue: float
    drops: float
    unfinished: int
    ratio: Estimate | None


def points(folder: Path, question: str, *, scale: str | None = None) -> dict[str, Point]:
    """The runs of one question over all transports, by their digests."""
    if question not in QUESTIONS:
        raise HeadwayError(f"there is no question `{question}`\n  help: {', '.join(QUESTIONS)}")
    scenario = Scenario.from_text(text_of(folder, question), folder=folder, scale=scale)
    return {scenario.at(point).digest: point for point in scenario.points()}


def run(
    folder: Path, question: str, out: Path, record: Record, *, scale: str | None = None, jobs: int | None = None
) -> list[Measured]:
    """Ask one question of all transports; transports whose runs `record` holds already are not run again."""
    asked = points(folder, question, scale=scale)
    missing = dict.fromkeys(point.variant for digest, point in asked.items() if record.get(digest) is None)
    if missing:
        out.mkdir(parents=True, exist_ok=True)
        text = text_of(folder, question, only=missing)
        # A folder for each set of transports: runs that were begun there go on, and nothing else is in its way.
        where = out / f"{question}-{hashlib.sha256(f'{scale} {text}'.encode()).hexdigest()[:8]}"
        whole = where.with_suffix(".toml")
        write_text(whole, text)
        done = sweep(whole, where, scale=scale, jobs=jobs, progress=True)
        if done.failed:
            raise HeadwayError(f"{question}: {len(done.failed)} points failed; see {done.directory}")
        digests = {(point.variant, point.axes.get(LOAD), point.seed): digest for digest, point in asked.items()}
        made = {digests[point.variant, point.axes.get(LOAD), point.seed]: point for point in done}
        record.add({digest: Measured.of(question, point) for digest, point in made.items()})
    return [one for digest in asked if (one := record.get(digest)) is not None]


def text_of(folder: Path, question: str, *, only: Collection[str] | None = None) -> str:
    """The scenario of a question with its variants, or with some of them."""
    asked = (folder / f"{question}.toml").read_text(encoding="utf-8")
    head, *blocks = (folder / VARIANTS_FILE).read_text(encoding="utf-8").split("[variants.")
    # `[variants.tcp]`, or `[variants.tcp.transport]`.
    kept = [block for block in blocks if only is None or block.partition("]")[0].partition(".")[0] in only]
    return "".join([f"{asked}\n{head}", *(f"[variants.{block}" for block in kept)])


def cases(folder: Path, question: str, runs: Sequence[Measured]) -> list[Case]:
    """The numbers of a question, at each of its loads."""
    text = (folder / f"{question}.toml").read_text(encoding="utf-8")
    about = text.partition("\n")[0].removeprefix("# ")
    title = str(parsed(text)["title"]).partition(": ")[2]
    by_load: dict[float | None, list[Measured]] = {}
    for one in runs:
        by_load.setdefault(one.load, []).append(one)
    return [
        Case(question, title, about, load, _rows(found), arrivals(folder, question, load))
        for load, found in by_load.items()
    ]


def arrivals(folder: Path, question: str, load: float | None) -> str:
    """Time for which its messages arrive at random, and the time in which queues forget that they were empty."""
    sets = {} if load is None else {LOAD: load}
    scenario = Scenario.from_text((folder / f"{question}.toml").read_text(encoding="utf-8"), folder=folder, sets=sets)
    found = scenario.run_length
    if found is None or found["relaxation_s"] is None:
        return ""
    missing = f"up to {100 * found['missing']:.0f} % of the mean queue of a steady state is missing"
    beginning = ", so this table compares start-up behaviour" if found["missing"] > LITTLE else ""
    lasting, relaxation = (duration(float(f"{found[key]:.2g}")) for key in ("arrivals_s", "relaxation_s"))
    return (
        f" Messages arrive for {lasting}, and the [relaxation time](run-length.md) is {relaxation}:"
        f" {missing}{beginning}."
    )


def _rows(runs: Sequence[Measured]) -> dict[str, Row]:
    baseline = {one.seed: one for one in runs if one.variant == BASELINE}
    variants = dict.fromkeys(one.variant for one in runs)
    return {variant: _row([one for one in runs if one.variant == variant], baseline) for variant in variants}


def _row(runs: Sequence[Measured], baseline: Mapping[int, Measured]) -> Row:
    bands = runs[0].slowdowns

    def mean(of: Callable[[Measured], float]) -> float:
        return math.fsum(of(one) for one in runs) / len(runs)

    def of_band(band: str) -> tuple[float, float]:
        return mean(lambda one: one.slowdowns[band][0]), mean(lambda one: one.slowdowns[band][1])

    return Row(
        {band: of_band(band) for band in bands},
        mean(lambda one: one.p99),
        mean(lambda one: one.goodput),
        mean(lambda one: one.queue),
        mean(lambda one: one.drops),
        sum(one.unfinished for one in runs),
        over_seeds([math.log(one.p99 / baseline[one.seed].p99) for one in runs if one.seed in baseline]),
    )


def recorded(folder: Path) -> list[Case]:
    """Every case with the results on record."""
    runs = [Measured.read(entry) for entry in read_object(folder / RECORD_FILE).values()]
    return [
        case
        for question in QUESTIONS
        for case in cases(folder, question, [run for run in runs if run.question == question])
    ]


def part(folder: Path, name: str) -> str:
    """A part of the page as Markdown: the `summary`, the `cases`, or what transports `need`."""
    match name:
        case "summary":
            return "\n".join(_summary(recorded(folder)))
        case "cases":
            return "\n".join(line for case in recorded(folder) for line in section(case))
        case "needs":
            return "\n".join(information())
    raise HeadwayError(f"docs/field.md has no part `{name}`")


def order(case: Case) -> list[str]:
    """The transports of a case, the one with the lowest 99th percentile first."""
    return sorted(case.rows, key=lambda name: case.rows[name].p99)


def _bold(name: str) -> str:
    return f"**{name}**" if name in OWN else name


def _summary(found: Sequence[Case]) -> Iterator[str]:
    best = {case.called: case.rows[order(case)[0]].p99 for case in found}
    names = list(dict.fromkeys(name for case in found for name in case.rows))

    def over(name: str, case: Case) -> float:
        return case.rows[name].p99 / best[case.called] if name in case.rows else math.nan

    def mean_of(name: str) -> float:
        logs = [math.log(over(name, case)) for case in found if name in case.rows]
        return math.exp(math.fsum(logs) / len(logs))

    mean = {name: mean_of(name) for name in names}
    yield f"| transport | mean | {' | '.join(case.called for case in found)} |"
    yield f"|---|---|{'---|' * len(found)}"
    for name in sorted(names, key=lambda one: mean[one]):
        cells = " | ".join(plain(over(name, case), 3) for case in found)
        yield f"| {_bold(name)} | {plain(mean[name], 3)} | {cells} |"
    yield ""
    yield "The lowest 99th percentiles, and the ranks of AMRT, RPO, L2DCT and ProactMP:\n"
    for case in found:
        ranks = order(case)
        own = ", ".join(f"{name} {ranks.index(name) + 1}" for name in sorted(OWN, key=ranks.index))
        leaders = ", ".join(f"{name} ({plain(case.rows[name].p99, 3)})" for name in ranks[:3])
        yield from _filled(f"* *{case.called}*: {leaders}. Of {len(ranks)}: {own}.", end="")
    yield ""


def introduction(case: Case) -> Iterator[str]:
    """Question of a case, in the lines above its table."""
    at = "" if case.load is None else f" The load is {case.load:g} of the hosts' links."
    yield from _filled(f"{case.about}{at}{case.arrivals} `scenarios/field/{case.name}.toml`.")


def section(case: Case) -> Iterator[str]:
    """The lines of the page about a case."""
    yield f"## {case.called[0].upper()}{case.called[1:]}\n"
    yield from introduction(case)
    bands = list(next(iter(case.rows.values())).slowdowns)
    yield f"| transport | {' | '.join(f'{band} p50, p99' for band in bands)} | goodput | queue | drops | over DCTCP |"
    yield f"|---|{'---|' * len(bands)}---|---|---|---|"
    for name in order(case):
        row = case.rows[name]
        slowdowns = " | ".join(
            f"{plain(row.slowdowns[band][0], 3)}, {plain(row.slowdowns[band][1], 3)}" for band in bands
        )
        lost = f" ({row.unfinished} unfinished)" if row.unfinished else ""
        yield (
            f"| {_bold(name)}{lost} | {slowdowns} | {plain(row.goodput / 1e9, 3)} Gb/s | {size(row.queue)} | "
            f"{plain(row.drops, 3)} | {_ratio(row.ratio)} |"
        )
    yield ""


def _ratio(ratio: Estimate | None) -> str:
    if ratio is None:
        return "never ends"
    text = plain(math.exp(ratio.mean), 3)
    if ratio.interval is None:
        return text
    low, high = (plain(math.exp(end), 3) for end in ratio.interval)
    return f"{text} ({low} to {high})"


def information() -> Iterator[str]:
    """Information that each transport has: the other half of a fair comparison."""
    ports = {entry["name"]: entry for entry in json.loads(_headway.catalogue("disciplines"))}
    yield "| transport | ports | what these do | beyond ports |"
    yield "|---|---|---|---|"
    for entry in json.loads(_headway.catalogue("transports")):
        name, port = entry["name"], entry["discipline"]
        if name == "template":
            continue
        yield f"| {_bold(name)} | `{port}` | {ports[port]['summary']} | {'; '.join(entry['needs'])} |"
    yield ""


def _filled(text: str, end: str = "\n") -> Iterator[str]:
    yield (
        textwrap.fill(text, WIDTH, subsequent_indent="  " if text.startswith("*") else "", break_long_words=False) + end
    )
