"""A flow log as a table of flows and a scenario that runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.data.jsonable import Jsonable
from headway.data.later import np, pl
from headway.data.units import display, parse_rate, parse_seconds
from headway.errors import HeadwayError
from headway.files import write_text

from .hosts import PREFIX, Placed, place
from .reading import Columns, columns_of, kind_of, plain, records

if TYPE_CHECKING:
    import polars

# Bytes on the wire of a full packet over those that it carries, as `[fabric]` has them by default.
WIRE = 1538 / 1460
# Windows that the peak is looked for in.
WINDOWS = 100
NANO = 10**9
KINDS = {"nfdump": "nfdump's CSV", "vpc": "a VPC flow log", "tuples": "a table of 5-tuples"}
BAND = (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("largest", 1.0))


@dataclass(frozen=True)
class FlowLog(Jsonable):
    """Records that were read of a log, and the table that was made of them.

    `left_out` has the number of records by the reason, and `load` the mean and the peak of each class of links as
    shares of what they carry.
    """

    kind: str
    records: int
    flows: int
    left_out: Mapping[str, int]
    hosts: int
    racks: int
    mapped: str
    duration_s: float
    sizes: Mapping[str, float]
    load: Mapping[str, Mapping[str, float]]
    notes: tuple[str, ...] = ()
    table: Path | None = None
    scenario: Path | None = None
    text: str = field(default="", repr=False)

    def lines(self) -> list[str]:
        """All of it in sentences."""
        said = [f"{self.records:,} records of {KINDS[self.kind]}, {self.flows:,} flows between {self.hosts} hosts"
                f" in {self.racks} racks ({self.mapped}), over {display('time', self.duration_s)}"]  # fmt: skip
        said += [f"left out: {count:,} records ({why})" for why, count in self.left_out.items()] or [
            "left out: nothing"
        ]
        said.append("sizes: " + ", ".join(f"{name} {display('bytes', value)}" for name, value in self.sizes.items()))
        for links, shares in self.load.items():
            parts = ", ".join(f"{name} {100 * value:.3g} %" for name, value in shares.items())
            said.append(f"load of {links}: {parts}")
        return said

    def __str__(self) -> str:
        return "\n".join([*self.lines(), *(f"note: {text}" for text in self.notes)])


@dataclass(frozen=True)
class Wish:
    """Settings for the table that is made of the log."""

    out: Path
    map: str = PREFIX
    prefix: int = 24
    racks: int | None = None
    hosts: int | None = None
    time_unit: str | None = None
    load: float | None = None
    duration: str | None = None
    host_rate: str = "25 Gbps"
    seed: int = 1


def import_log(path: str | Path, out: str | Path, **wish: Any) -> FlowLog:  # noqa: ANN401  (fields of `Wish`)
    """Write the scenario `out` and its table of flows for a flow log: `headway import LOG --out FILE`.

    map: `prefix` (a rack for each /`prefix` of addresses), `hash`, or a file with an address and a host a line
    racks, hosts: of the network; default: as many as the log has
    load: mean load of hosts' links, which times are stretched or squeezed for
    duration: draw sizes and pairs anew, at random, for so long, such as "2 s"
    time_unit: of times that do not say it: s, ms, us or ns
    host_rate: of the links of hosts
    seed: of what is drawn
    """
    asked = Wish(Path(out), **wish)
    file = Path(path)
    kind = kind_of(file)
    if kind is None:
        raise HeadwayError(f"{file}: this is no flow log; headway docs what-headway-reads shows what one looks like")
    rate = parse_rate(asked.host_rate)
    if not rate:
        raise HeadwayError(f"`{asked.host_rate}` is no rate such as '25 Gbps'")
    found = columns_of(file, kind, asked.time_unit)
    with plain(file) as text:
        frame, counted, total, placed, notes = _flows(text, found, asked)
    if not frame.height:
        reasons = ", ".join(f"{count} {why}" for why, count in counted.items())
        raise HeadwayError(f"{file}: no record of {total} can be used: {reasons or 'the log has no record'}")
    frame, more = _scaled(frame, asked, placed, rate)
    table = asked.out.with_suffix(".flows.csv")
    log = FlowLog(
        kind, total, frame.height, counted, placed.hosts, placed.racks, placed.how, _span(frame) / NANO,
        {name: float(frame["bytes"].quantile(q, "nearest") or 0) for name, q in BAND},
        _loads(frame, placed, rate), (*notes, *more), table, asked.out,
    )  # fmt: skip
    _write_table(frame, table, file)
    text_of = _scenario(file, table, placed, asked, log)
    write_text(asked.out, text_of)
    return replace(log, text=text_of)


def _flows(path: Path, found: Columns, asked: Wish) -> tuple[polars.DataFrame, dict[str, int], int, Placed, list[str]]:
    """Records between hosts in the order of their times; what was left out; how many there were; the hosts; notes."""
    rows = records(path, found)
    counts = rows.group_by("why").len().collect(engine="streaming")
    by_reason = {why: int(count) for why, count in counts.iter_rows()}
    total, counted = (
        sum(by_reason.values()),
        {why: n for why, n in sorted(by_reason.items(), key=lambda i: str(i[0])) if why},
    )
    good = rows.filter(pl.col("why").is_null())
    notes: list[str] = []
    if found.others["interface"]:
        good, twice = _once(good)
        if twice:
            counted["recorded by another interface too"] = twice
    pairs = good.select("src", "dst").unique().collect(engine="streaming")
    addresses = pl.concat([pairs["src"], pairs["dst"]]).unique().drop_nulls().to_list()
    if not addresses:
        return pl.DataFrame({"start": []}), counted, total, Placed({}, 1, 1, 0, ""), notes
    placed = place(addresses, asked.map, prefix=asked.prefix, racks=asked.racks, hosts=asked.hosts)
    hosts = dict(placed.host_of)
    ends = [pl.col(end).replace_strict(hosts, default=None, return_dtype=pl.UInt32) for end in ("src", "dst")]
    there = good.select("start", *ends, pl.col("bytes").cast(pl.UInt64), "back")
    frame = there.collect(engine="streaming")
    if (answers := frame.filter(pl.col("back") >= 1)).height:
        notes.append(f"{answers.height:,} records count bytes of both directions: the way back is a flow of its own")
        turned = answers.select(
            "start",
            pl.col("dst").alias("src"),
            pl.col("src").alias("dst"),
            pl.col("back").cast(pl.UInt64).alias("bytes"),
        )
        frame = pl.concat([frame.drop("back"), turned])
    else:
        frame = frame.drop("back")
    for reason, keep in (
        ("an address that the list of hosts lacks", pl.col("src").is_not_null() & pl.col("dst").is_not_null()),
        ("both ends on one host", pl.col("src") != pl.col("dst")),
    ):
        kept = frame.filter(keep)
        if lost := frame.height - kept.height:
            counted[reason] = lost
        frame = kept
    if placed.shared:
        notes.append(f"{placed.shared} of {len(placed.host_of)} addresses share a host with another")
    if found.time_unit == "date":
        notes.append("dates are read as of one time zone; whole seconds put many flows at one instant")
    frame = frame.sort("start", maintain_order=True)
    return frame.with_columns(pl.col("start") - pl.col("start").min()), counted, total, placed, notes


def _once(rows: polars.LazyFrame) -> tuple[polars.LazyFrame, int]:
    """Records of the interface that saw most of each 5-tuple: both ends of a flow may record it."""
    key = ["src", "dst", "ports"]
    seen = rows.group_by([*key, "interface"]).agg(pl.len().alias("n"), pl.col("bytes").sum().alias("all"))
    best = seen.sort(["all", "interface"], descending=[True, False]).group_by(key, maintain_order=True).first()
    best = best.select(*key, pl.col("interface").alias("of"))
    joined = rows.join(best, on=key, how="left").with_columns((pl.col("interface") == pl.col("of")).alias("own"))
    lost = joined.filter(~pl.col("own")).select(pl.len()).collect(engine="streaming").item()
    return joined.filter(pl.col("own")), int(lost)


def _span(frame: polars.DataFrame) -> int:
    """From the first start to the last, at least a microsecond."""
    return max(int(_most(frame["start"])), 1000)


def _most(values: polars.Series) -> float:
    """The largest of numbers; 0 of none."""
    most = values.max()
    return float(most) if isinstance(most, int | float) else 0.0


def _scaled(frame: polars.DataFrame, asked: Wish, placed: Placed, rate: float) -> tuple[polars.DataFrame, list[str]]:
    """The flows at another load, or drawn for another duration."""
    notes = []
    if asked.load is not None:
        factor = _mean(frame, placed, rate) / asked.load
        frame = frame.with_columns((pl.col("start") * factor).round(0).cast(pl.Int64))
        notes.append(f"times are those of the log times {factor:.4g}, for a load of {asked.load:g}")
    if asked.duration is not None:
        wanted = parse_seconds(asked.duration)
        if wanted is None or wanted <= 0:
            raise HeadwayError(f"`{asked.duration}` is no duration such as '2 s'")
        each = _span(frame) / max(frame.height - 1, 1)
        count = max(1, round(wanted * NANO / each))
        dice = np.random.default_rng(asked.seed)
        chosen = dice.integers(0, frame.height, count)
        starts = np.cumsum(dice.exponential(each, count)).astype(np.int64)
        frame = frame[chosen].with_columns(pl.Series("start", starts - starts[0]))
        notes.append(
            f"{count:,} flows are drawn from those of the log with their pairs and sizes, at random times of the same"
            f" mean (seed {asked.seed}): bursts of the log are not kept"
        )
    return frame, notes


def _mean(frame: polars.DataFrame, placed: Placed, rate: float) -> float:
    """Mean load of the flows on the links of hosts."""
    return 8 * WIRE * float(frame["bytes"].sum()) / (_span(frame) / NANO) / (placed.hosts * rate)


def _loads(frame: polars.DataFrame, placed: Placed, rate: float) -> dict[str, dict[str, float]]:
    """Mean and peak of what flows ask of links, if each sent all of its bytes in the window in which it starts."""
    span = _span(frame)
    window = max(span // WINDOWS, 1)
    bits = pl.col("bytes").sum() * 8 * WIRE
    found = {}
    peak_name = f"peak of {display('time', window / NANO)}"
    for name, end in (("hosts, sending", "src"), ("hosts, receiving", "dst")):
        by_host = _most(frame.group_by(end).agg(bits.alias("bits"))["bits"])
        at = _most(frame.group_by((pl.col("start") // window).alias("w")).agg(bits.alias("bits"))["bits"])
        seconds = span / NANO
        found[name] = {
            "mean": _mean(frame, placed, rate),
            "busiest host": by_host / seconds / rate,
            peak_name: at / (window / NANO) / (placed.hosts * rate),
        }
    if placed.racks > 1:
        racks = [pl.col(end) // placed.hosts_per_rack for end in ("src", "dst")]
        crossing = frame.filter(racks[0] != racks[1])
        share = float(crossing["bytes"].sum()) / max(float(frame["bytes"].sum()), 1.0)
        found["racks, as a share of the links of their hosts"] = {
            "mean": share * _mean(frame, placed, rate),
            "of all bytes": share,
        }
    return found


def _write_table(frame: polars.DataFrame, table: Path, source: Path) -> None:
    """The table of flows, with times to the nanosecond."""
    start = pl.format("{}.{}", pl.col("start") // NANO, (pl.col("start") % NANO).cast(pl.String).str.pad_start(9, "0"))
    rows = frame.with_row_index("id").select("id", "src", "dst", "bytes", start.alias("start_s"))
    with tempfile.NamedTemporaryFile(dir=table.parent, prefix=f".{table.name}", delete=False, mode="wb") as file:
        file.write(f"# made of {source.name} by `headway import`\n".encode())
        rows.write_csv(file)
    Path(file.name).replace(table)


def _scenario(source: Path, table: Path, placed: Placed, asked: Wish, log: FlowLog) -> str:
    """A scenario that runs the table."""
    told = "\n".join(f"# {line}" for line in (*log.lines(), *(f"note: {text}" for text in log.notes)))
    if placed.racks > 1:
        network = (
            f'kind = "leaf-spine"\nracks = {placed.racks}\nhosts_per_rack = {placed.hosts_per_rack}\nspines = 4\n'
            f'host_rate = "{asked.host_rate}"\nspine_rate = "100 Gbps"\nhost_delay = "1 us"'
        )
    else:
        network = f'kind = "single-switch"\nhosts = {max(placed.hosts, 2)}\nrate = "{asked.host_rate}"\ndelay = "1 us"'
    return (
        f"# Made of {source.name} by `headway import`. The network is a guess: write what yours is.\n{told}\n\n"
        f'title = "Flows of {source.name}"\n\n[topology]\n{network}\n\n[transport]\nname = "dctcp"\n\n'
        f'[[traffic]]\nkind = "file"\npath = "{table.name}"\n'
    )
