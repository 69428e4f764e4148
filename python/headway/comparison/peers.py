"""The comparisons of the repository with other simulators: `scenarios/peers/*/peer.toml`, run and shown.

A peer is a folder: scenarios with its settings, tables with its results, and `peer.toml`, which says where its code is,
how it was run, and which numbers are compared with which bound. `measured.json` next to the folders keeps the results;
the tables of `docs/compared.md` are made from it whenever the page is shown.
"""

from __future__ import annotations

import json
import re
import statistics
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from headway.claims.context import Context
from headway.claims.functions import VOCABULARY
from headway.claims.language import parse
from headway.data.later import np
from headway.data.point import Point
from headway.data.reader import read_object
from headway.data.samples import Array
from headway.data.statistics import nearest_rank
from headway.data.units import duration, parse_seconds, plain
from headway.errors import HeadwayError, NameNotFound
from headway.files import write_text
from headway.inputs import read_text
from headway.loading import Scenario
from headway.names import PEER_FILE

from .numbers import NUMBERS, bound, number, share_close, share_same
from .pairs import Pairs, pair
from .sides import Sample, Side, of_own_list, of_reference, of_run
from .until import until_sender

SAME, NEARLY = "same", "nearly"
RECORD_FILE = "measured.json"
WIDTH = 120
# Names of numbers of completion times: one of NUMBERS, or a quantile such as q0.9901.
_QUANTILE = re.compile(r"q(0\.\d+)")
_RANGE = re.compile(r"(.+?) to (.+)")
PEER_KEYS = ("name", "about", "repository", "commit", "measured", "how", "row")
ROW_KEYS = ("what", "scenario", "at", "sets", "table", "column", "until", "numbers", "rule", "slow", "by_name")
NUMBER_KEYS = ("name", "of", "theirs", "within", "least", "unit")


@dataclass(frozen=True)
class Number:
    """One number of a row: its name, the peer's value, and the tolerance of ours.

    `of` is a number of completion times, `same` or `nearly` (the share of flows that are equal to 1 ns or 1 %), or an
    expression over the run. `theirs` is a range, of equal ends unless the peer's own seeds give several values; None
    where the value comes from the row's table.
    """

    name: str
    of: str
    theirs: tuple[float, float] | None
    within: tuple[float, float] | None  # bounds of ours over theirs
    least: float | None
    unit: str


@dataclass(frozen=True)
class Row:
    """One comparison: a run of a scenario, and its numbers.

    `column` is a column of the table of flows that the scenario reads, or of `table`, a file beside it. A row `by_name`
    runs only if somebody names its peer, and is not on the page.
    """

    what: str
    scenario: str
    at: str | None
    sets: tuple[str, ...]
    table: str | None
    column: str | None
    until: str
    numbers: tuple[Number, ...]
    rule: str
    slow: bool
    by_name: bool = False


@dataclass(frozen=True)
class Peer:
    """Another implementation, its place, its command, and the compared numbers."""

    folder: Path
    name: str
    about: str
    repository: str
    commit: str
    measured: str
    how: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Found:
    """A number as it came out."""

    number: Number
    ours: float
    theirs: tuple[float, float] | None

    @property
    def ratio(self) -> tuple[float, float] | None:
        """Ours over theirs; over the nearest value of a range."""
        if self.theirs is None:
            return None
        low, high = self.theirs
        nearest = min(max(self.ours, low), high)
        return (self.ours / nearest, self.ours / nearest)

    @property
    def ok(self) -> bool:
        """True if it is within its bound."""
        if self.number.least is not None and self.ours < self.number.least:
            return False
        if self.number.within is None or self.theirs is None:
            return True
        low, high = self.number.within
        # Bounds are met to the last digit that a table shows.
        return self.theirs[0] * low * (1 - 1e-9) <= self.ours <= self.theirs[1] * high * (1 + 1e-9)


def read_peers(folder: Path) -> tuple[Peer, ...]:
    """The peers in the folders below `folder`, by name of the folder."""
    return tuple(read_peer(path.parent) for path in sorted(folder.glob(f"*/{PEER_FILE}")))


def read_peer(folder: Path) -> Peer:
    """One peer; raises `HeadwayError` for a fault of its file."""
    path = folder / PEER_FILE
    try:
        text = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise HeadwayError(f"{path}: {error}") from None
    _check(path, "the peer", text, PEER_KEYS)
    rows = tuple(_row(f"{path}, row {i + 1}", row) for i, row in enumerate(text["row"]))
    name, about, repository, commit, measured, how = (str(text[key]).strip() for key in PEER_KEYS[:-1])
    return Peer(folder, name, about, repository, commit, measured, how, rows)


def _row(where: str, row: Mapping[str, Any]) -> Row:
    _check(where, "a row", row, ROW_KEYS, needed=("what", "scenario", "numbers"))
    return Row(
        row["what"],
        row["scenario"],
        row.get("at"),
        tuple(row.get("sets", ())),
        row.get("table"),
        row.get("column"),
        row.get("until", "receiver"),
        tuple(_number(where, each, has_table="column" in row) for each in row["numbers"]),
        str(row.get("rule", "")).strip(),
        bool(row.get("slow", False)),
        bool(row.get("by_name", False)),
    )


def _number(where: str, text: Mapping[str, Any], *, has_table: bool) -> Number:
    _check(where, "a number", text, NUMBER_KEYS, needed=("name",))
    name = text["name"]
    of = text.get("of", name)
    unit = text.get("unit", "" if of in (SAME, NEARLY) else "s")
    theirs = _values(where, text["theirs"]) if "theirs" in text else None
    if theirs is None and of not in (SAME, NEARLY) and not has_table:
        raise HeadwayError(f"{where}: `{name}` has no value of the peer (theirs), and the row has no table (column)")
    within = _bounds(where, text["within"]) if "within" in text else None
    least = text.get("least")
    if within is None and least is None:
        raise HeadwayError(f"{where}: `{name}` has no bound (within, or least)")
    return Number(name, of, theirs, within, least, unit)


def _values(where: str, value: object) -> tuple[float, float]:
    """A number, a time with its unit, or a range of either: of numbers as a list of two."""
    if isinstance(value, int | float):
        return (float(value), float(value))
    if isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
        return (float(value[0]), float(value[1]))
    match = _RANGE.fullmatch(str(value))
    ends = [parse_seconds(part) for part in (match.groups() if match else (value, value))]
    if ends[0] is None or ends[1] is None:
        kinds = "no number, no list of two, and no time such as 4.2 us or 1 us to 2 us"
        raise HeadwayError(f"{where}: `{value}` is {kinds}")
    return (ends[0], ends[1])


def _bounds(where: str, value: object) -> tuple[float, float]:
    if isinstance(value, list) and len(value) == 2:
        return (float(value[0]), float(value[1]))
    if isinstance(value, str):
        return (1.0 - bound(value), 1.0 + bound(value))
    raise HeadwayError(f'{where}: a bound is a text such as "3 %", or a list of the smallest and the largest ratio')


def _check(
    where: object, what: str, found: Mapping[str, Any], known: Sequence[str], needed: Sequence[str] = ()
) -> None:
    for key in found:
        if key not in known:
            raise NameNotFound(f"key of {what}", key, known, str(where))
    if absent := [key for key in (needed or known) if key not in found]:
        raise HeadwayError(f"{where}: {what} lacks `{absent[0]}`")


def measure(peer: Peer, row: Row) -> tuple[Found, ...]:
    """Makes the run of a row, and returns its numbers."""
    samples = _samples(peer.folder / f"{row.scenario}.toml", row.at, row.sets)
    if row.until == "sender":
        samples = tuple(until_sender(sample) for sample in samples)
    pairs = _pairs(peer, row, samples) if row.column is not None else ()
    return tuple(Found(one, *_found(one, samples, pairs)) for one in row.numbers)


@lru_cache(maxsize=32)
def _samples(path: Path, at: str | None, sets: tuple[str, ...]) -> tuple[Sample, ...]:
    """The runs of a point, a seed each. Several rows look at the same ones."""
    return of_run(Scenario.load(path, sets=list(sets)), at=at).samples


def _pairs(peer: Peer, row: Row, samples: Sequence[Sample]) -> tuple[Pairs, ...]:
    if row.table is not None:
        side = of_reference(peer.folder / row.table, row.column)
    else:
        side = of_own_list(Side(peer.name, tuple(samples)), row.column)
    return tuple(pair(sample, side.samples[0]) for sample in samples)


def _found(one: Number, samples: Sequence[Sample], pairs: Sequence[Pairs]) -> tuple[float, tuple[float, float] | None]:
    """Ours, as the mean over the seeds, and theirs."""
    if one.of in (SAME, NEARLY):
        share = share_same(pairs) if one.of == SAME else share_close(pairs)
        if share is None:
            raise HeadwayError(f"`{one.name}` needs a table that is paired with the run")
        return share, None
    if (of := times_number(one.of)) is None:
        expression = parse(one.of, VOCABULARY)
        points = [Point("", "", {}, 0, results=sample.run) for sample in samples]
        values = [float(expression.evaluate(Context([point]))) for point in points]
        return float(np.mean(values)), one.theirs
    if one.theirs is not None:
        ours = [of(_ended(sample)) for sample in samples]
        return float(np.mean(ours)), one.theirs
    both = [(of(p.ours), of(p.theirs)) for p in pairs]
    mean = [float(np.mean(side)) for side in zip(*both, strict=True)]
    return mean[0], (mean[1], mean[1])


def _ended(sample: Sample) -> Array:
    values: Array = sample.flows["fct_s"].to_numpy().astype(np.float64)
    return np.asarray(values[np.isfinite(values)], dtype=np.float64)


def times_number(name: str) -> Any:  # noqa: ANN401  (a function of an array, or None)
    """The number of completion times that is called so; None if it is none."""
    if name in NUMBERS:
        return lambda values: number(name, values)
    if match := _QUANTILE.fullmatch(name):
        return lambda values: nearest_rank(values, float(match[1]))
    return None


# A peer with the rows that were run.
Compared = tuple[Peer, Sequence[tuple[Row, Sequence[Found]]]]


def write_record(file: Path, found: Sequence[Compared]) -> None:
    """Keep the results: for each row, our value and the peer's of each number."""
    lines = [
        f"{json.dumps(_key(peer, row))}: {json.dumps({one.number.name: [one.ours, one.theirs] for one in numbers})}"
        for peer, rows in found
        for row, numbers in rows
    ]
    write_text(file, "{\n" + ",\n".join(lines) + "\n}\n")


def read_record(folder: Path) -> tuple[Compared, ...]:
    """The peers below `folder` with the results on record; raises `HeadwayError` if a row has none."""
    file = folder / RECORD_FILE
    record = read_object(file)
    return tuple(
        (peer, [(row, _recorded(file, record, peer, row)) for row in peer.rows if not row.by_name])
        for peer in read_peers(folder)
    )


def _recorded(file: Path, record: Mapping[str, Any], peer: Peer, row: Row) -> list[Found]:
    entry = record.get(_key(peer, row), {})
    if absent := [one.name for one in row.numbers if one.name not in entry]:
        raise HeadwayError(f"{file}: `{_key(peer, row)}` has no `{absent[0]}`\n  help: make compared")
    both = ((one, *entry[one.name]) for one in row.numbers)
    return [Found(one, ours, None if theirs is None else (theirs[0], theirs[1])) for one, ours, theirs in both]


def _key(peer: Peer, row: Row) -> str:
    return f"{peer.folder.name}: {row.what}"


def tables(found: Sequence[Compared]) -> str:
    """A table of all peers, then a section for each, as Markdown."""
    parts = [*_overview(found), *(line for peer, rows in found for line in _section(peer, rows))]
    return "\n".join(parts)


def _overview(found: Sequence[Compared]) -> Iterator[str]:
    """By how much completion times differ, for each peer."""
    yield "| compared with | cases | completion times | median difference | within 1 % | within 5 % |"
    yield "|---|---|---|---|---|---|"
    for peer, rows in found:
        times = [one for _, numbers in rows for one in numbers if one.number.unit == "s" and one.ratio is not None]
        apart = [abs(one.ratio[0] - 1) for one in times if one.ratio is not None]
        middle = f"{100 * statistics.median(apart):.2f} %" if apart else ""
        near = " | ".join(str(sum(each <= most for each in apart)) for most in (0.01, 0.05))
        yield f"| {peer.name} | {len(rows)} | {len(apart)} | {middle} | {near} |"
    yield ""


def _section(peer: Peer, rows: Sequence[tuple[Row, Sequence[Found]]]) -> Iterator[str]:
    yield f"## {peer.name}\n"
    yield f"{peer.about}\n"
    yield f"Code: {peer.repository}, {peer.commit}. Run on {peer.measured}.\n"
    yield "| case | number | theirs | here | difference | bound |"
    yield "|---|---|---|---|---|---|"
    for row, numbers in rows:
        yield from table_lines(row, numbers)
    yield ""
    if more := sum(row.by_name for row in peer.rows):
        yield f"{more} more cases run by name: `.venv/bin/python tools/compared.py {peer.folder.name}`.\n"
    rules: dict[str, list[str]] = {}
    for row, _ in rows:
        if row.rule:
            rules.setdefault(row.rule, []).append(row.what)
    if rules:
        yield "What makes the differences:\n"
    for rule, cases in rules.items():
        yield textwrap.fill(f"* *{'; '.join(cases)}*: {rule}", WIDTH, subsequent_indent="  ", break_long_words=False)
    yield (
        ("\n" if rules else "")
        + textwrap.fill(f"To run the other side: {peer.how}", WIDTH, break_long_words=False)
        + "\n"
    )


def table_lines(row: Row, numbers: Sequence[Found]) -> list[str]:
    """A row of the page: a line for each of its numbers."""
    return [
        f"| {row.what if i == 0 else ''} | {one.number.name} | {shown(one.theirs, one.number.unit)} | "
        f"{shown((one.ours, one.ours), one.number.unit)} | {difference(one)} | {bound_text(one.number)} |"
        for i, one in enumerate(numbers)
    ]


def shown(value: tuple[float, float] | None, unit: str) -> str:
    """A value, or both ends of a range."""
    if value is None:
        return ""
    texts = [_shown(end, unit) for end in dict.fromkeys(value)]
    return " to ".join(texts)


def _shown(value: float, unit: str) -> str:
    if unit == "s":
        return duration(value)
    if unit == "":
        return f"{100 * value:.4g} %"
    return f"{plain(value, 4)} {unit}"


def difference(one: Found) -> str:
    """By how many per cent ours is above theirs; 0 within a range."""
    if one.ratio is None:
        return ""
    apart = 100 * (one.ratio[0] - 1)
    return f"{0.0 if abs(apart) < 0.005 else apart:+.2f} %".replace("+0.00", "0.00")


def bound_text(one: Number) -> str:
    """Allowed range."""
    parts = [f"at least {100 * one.least:g} %"] if one.least is not None else []
    if one.within is not None:
        low, high = one.within
        even = abs((1 - low) - (high - 1)) < 1e-12
        parts.append(f"± {100 * (high - 1):.4g} %" if even else f"{low:g} to {high:g} times")
    return ", ".join(parts)
