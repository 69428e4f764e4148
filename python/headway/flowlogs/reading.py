"""Records of a flow log as polars reads them: start in ns, addresses, ports, bytes, and why one is left out."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headway import _headway
from headway.data.later import pl
from headway.errors import HeadwayError

if TYPE_CHECKING:
    import polars

HEAD_BYTES = 1 << 20
GZIP = b"\x1f\x8b"
# Nanoseconds of each unit of time.
TIME_UNITS = {"s": 10**9, "sec": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# Bytes of each unit of size.
SIZE_UNITS = {
    "b": 1.0, "bits": 0.125, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2, "gib": 1024.0**3,
}  # fmt: skip
# An epoch time from 2001 to 2286 has so many digits before the point in each unit.
EPOCH_DIGITS = {10: "s", 13: "ms", 16: "us", 19: "ns"}
# Columns of the default format of a VPC flow log, in version 2.
VPC = (
    "version", "account-id", "interface-id", "srcaddr", "dstaddr", "srcport", "dstport", "protocol", "packets", "bytes",
    "start", "end", "action", "log-status",
)  # fmt: skip
# Other columns that are used where they are there, by their names in any log.
PORTS = ("sp", "srcport", "sourceport", "sport"), ("dp", "dstport", "destinationport", "dport")
PROTOCOL = ("pr", "proto", "protocol")
BACK = ("obyt", "outbytes")
INTERFACE, ACTION, STATUS = ("interfaceid",), ("action",), ("logstatus",)


@dataclass(frozen=True)
class Columns:
    """Names of a log's columns as the file has them; empty where it lacks one."""

    kind: str
    separator: str
    names: tuple[str, ...]
    has_header: bool
    time: str
    time_unit: str
    src: str
    dst: str
    size: str
    size_unit: float
    others: dict[str, str]


@contextmanager
def plain(path: Path) -> Iterator[Path]:
    """The file itself, or an unpacked copy of a compressed one."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
    except OSError as error:
        raise HeadwayError(f"{path}: {error.strerror or error}") from None
    if not packed:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".log") as copy:
        with gzip.open(path) as file:
            shutil.copyfileobj(file, copy)
        copy.flush()
        yield Path(copy.name)


def head_of(path: Path) -> bytes:
    """The first lines of a file, unpacked if it is compressed; nothing of a file that cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(HEAD_BYTES)
        if start[:2] == GZIP:
            with gzip.open(path) as packed:
                start = packed.read(HEAD_BYTES)
    except (OSError, EOFError):
        return b""
    return start if len(start) < HEAD_BYTES else start[: start.rfind(b"\n") + 1]


def kind_of(path: Path) -> str | None:
    """Kind of a flow log, by its content; None if the file is not one."""
    head = head_of(path)
    return _headway.log_kind(head) if head else None


def columns_of(path: Path, kind: str, time_unit: str | None) -> Columns:
    """Columns of a log; raises `HeadwayError` if a time lacks its unit."""
    lines = [line for line in head_of(path).decode("utf-8", "replace").splitlines() if line.strip()]
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    first = lines[0]
    separator = next((one for one in (",", ";", "\t") if one in first), " ")
    names = tuple(name.strip().strip('"') for name in first.split(separator))
    has_header = not (kind == "vpc" and first.split()[-1] in ("OK", "NODATA", "SKIPDATA"))
    if not has_header:
        names = VPC
    # With a comma between them, spaces in a name are part of it.
    heads = [_headway.log_heads(name + ",")[0] for name in names]
    known = _headway.log_columns()
    found = [_first(names, heads, wanted) for wanted in known]
    (time, unit), (src, _), (dst, _), (size, size_unit) = found
    others = {
        what: _first(names, heads, wanted)[0]
        for what, wanted in (
            ("sport", PORTS[0]), ("dport", PORTS[1]), ("proto", PROTOCOL), ("back", BACK), ("interface", INTERFACE),
            ("action", ACTION), ("status", STATUS),
        )
    }  # fmt: skip
    sample = [
        line.split(separator)[names.index(time)].strip(' "')
        for line in lines[has_header:]
        if line.count(separator) + 1 >= len(names)
    ]
    unit = time_unit or unit or _unit_of(path, time, sample[:100])
    if unit == "date" or unit in TIME_UNITS:
        scale = SIZE_UNITS.get(size_unit or "b")
        if scale is None:
            raise HeadwayError(f"{path}: `{size}` is in `{size_unit}`, and not in bytes")
        return Columns(kind, separator, names, has_header, time, unit, src, dst, size, scale, others)
    raise HeadwayError(f"{path}: `{time}` counts `{unit}`, and not s, ms, us or ns")


def _first(names: Sequence[str], heads: Sequence[str], wanted: Sequence[str]) -> tuple[str, str]:
    """The column of one of these names, those first that are wanted more, and its unit."""
    for want in wanted:
        for name, head in zip(names, heads, strict=True):
            bare, _, unit = head.partition("-")
            if bare == want:
                return name, unit
    return "", ""


def _unit_of(path: Path, name: str, sample: Sequence[str]) -> str:
    """The unit of times that do not say it: dates, or an epoch by its number of digits."""
    numbers = [text.partition(".")[0] for text in sample if text.replace(".", "", 1).isdigit()]
    if sample and not numbers:
        return "date"
    digits = {len(number.lstrip("0")) for number in numbers}
    units = {EPOCH_DIGITS.get(count) for count in digits}
    if len(units) == 1 and (unit := units.pop()) is not None:
        return unit
    shown = sample[0] if sample else "nothing"
    raise HeadwayError(
        f"{path}: `{name}` begins with {shown}, which may count any unit\n"
        "  help: --time-unit s, ms, us or ns says which"
    )


def records(path: Path, found: Columns) -> polars.LazyFrame:
    """Every row with `start` (ns), `src`, `dst`, `bytes`, the 5-tuple as `tuple`, and `why` it is left out, or null."""
    frame = pl.scan_csv(
        path, separator=found.separator, has_header=found.has_header, infer_schema=False, truncate_ragged_lines=True,
        comment_prefix="#", new_columns=list(found.names), quote_char='"', ignore_errors=True,
    )  # fmt: skip
    text = {name: pl.col(name).str.strip_chars(' "') for name in found.names if name}
    src, dst, size = text[found.src], text[found.dst], text[found.size]
    start = _dates(text[found.time]) if found.time_unit == "date" else _numbers(text[found.time], found.time_unit)
    amount = (size.cast(pl.Float64, strict=False) * found.size_unit).round(0)
    why = _reasons(text, found, start, amount)
    parts = [text[found.others[one]] if found.others[one] else pl.lit("") for one in ("sport", "dport", "proto")]
    ports = pl.concat_str(parts, separator=" ", ignore_nulls=True)
    back = (
        (text[found.others["back"]].cast(pl.Float64, strict=False) * found.size_unit)
        if found.others["back"]
        else pl.lit(0.0)
    )
    interface = text[found.others["interface"]] if found.others["interface"] else pl.lit("")
    return frame.select(
        start.alias("start"), src.alias("src"), dst.alias("dst"), amount.alias("bytes"), ports.alias("ports"),
        back.fill_null(0.0).round(0).alias("back"), interface.alias("interface"), why.alias("why"),
    )  # fmt: skip


def _reasons(text: dict[str, polars.Expr], found: Columns, start: polars.Expr, amount: polars.Expr) -> polars.Expr:
    """Why a row is left out; null if it is not."""
    ends = [text[found.src], text[found.dst]]
    lost = pl.any_horizontal(one.is_null() | one.is_in(["", "-"]) for one in ends)
    cases = [
        *([(~text[found.others["status"]].is_in(["OK"]), "NODATA or SKIPDATA")] if found.others["status"] else []),
        *([(~text[found.others["action"]].is_in(["ACCEPT"]), "not ACCEPT")] if found.others["action"] else []),
        (lost, "no address, as lines of a summary"),
        (start.is_null(), "no time that can be read"),
        (amount.is_null(), "no number of bytes"),
        (amount < 1, "no byte"),
    ]
    return pl.coalesce(pl.when(holds).then(pl.lit(why)) for holds, why in cases)


def _numbers(text: polars.Expr, unit: str) -> polars.Expr:
    """Nanoseconds of a number as text, exactly: an epoch time in seconds has more digits than a float."""
    scale = TIME_UNITS[unit]
    parts = text.str.split_exact(".", 1)
    whole = parts.struct.field("field_0").cast(pl.Int64, strict=False)
    digits = len(str(scale)) - 1
    fraction = parts.struct.field("field_1").fill_null("").str.pad_end(max(digits, 1), "0").str.slice(0, digits)
    rest = fraction.cast(pl.Int64, strict=False).fill_null(0) if digits else pl.lit(0)
    return whole * scale + rest


def _dates(text: polars.Expr) -> polars.Expr:
    """Nanoseconds since 1970 of a date, `2026-01-01 10:00:00.123` or with a T and a zone."""
    plain_text = text.str.replace("T", " ", literal=True).str.replace(r"(Z|[+-]\d\d:?\d\d)$", "")
    forms = ("%Y-%m-%d %H:%M:%S%.f", "%Y/%m/%d %H:%M:%S%.f", "%d/%m/%Y %H:%M:%S%.f")
    read = [plain_text.str.to_datetime(form, time_unit="ns", strict=False) for form in forms]
    return pl.coalesce(read).dt.epoch("ns")
