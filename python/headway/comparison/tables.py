"""Tables of completion times from elsewhere, as CSV (perhaps compressed) or Parquet; a mistake is shown in its row."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError, ResultsError, TableError, nearest, nearest_paths
from headway.inputs import plain_text, read_bytes, shortened, unpacked

if TYPE_CHECKING:
    import polars

USUAL = "fct_s"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
# Columns that a table may have in addition to times, by their names in a list of flows.
NAMES = ("name", "id")
# Whole numbers are below this.
TOO_LARGE = 2**63
WHOLE = ("src", "dst", "bytes")
START = "start_s"
# Names of these columns in other programs, where that is not nearly the same word.
OTHER_WORDS = {
    "flow": "name", "flow_id": "id", "flowid": "id", "sender": "src", "source": "src", "receiver": "dst",
    "destination": "dst", "size": "bytes", "start": "start_s", "start_time": "start_s",
}  # fmt: skip
# Ways in which people and programs name a unit at the end of a column's name: `start_us`, `start (us)`, `FCT [ms]`.
_WITH_UNIT = re.compile(r"(?P<what>.*?)(?:_(?P<plain>[a-z]+)|\s*[(\[]\s*(?P<inside>[a-zµμ]+)\s*[)\]])", re.IGNORECASE)
_MICRO = str.maketrans("µμ", "uu")
_TIMES = {"fct": ("fct", "flow_completion_time"), "start": ("start", "start_time")}
# Ways in which people and programs write that a flow did not end.
NEVER = ("", "-", "nan", "inf", "none", "null", "na", "n/a")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Wanted:
    """The column of a table that holds completion times, and seconds in its unit."""

    column: str
    scale: float

    @classmethod
    def of(cls, text: str) -> Wanted:
        """`fct_us` and `FCT (us)` say their unit at the end; `fct=us` says one for a column that does not."""
        column, sign, unit = text.rpartition("=")
        if not sign:
            column, unit = text, with_unit(text)[1] or text.strip().lower()
        if unit not in UNITS:
            raise HeadwayError(
                f"the column `{text}` says no unit\n  write NAME=UNIT with one of {', '.join(UNITS)}, "
                f"as {column or 'fct'}=us; a name that ends in _us has said it"
            )
        return cls(column, UNITS[unit])


def with_unit(head: str) -> tuple[str, str]:
    """Name of a column, in small letters and with `_` between words, and its unit; an empty one if it says none."""
    found = _WITH_UNIT.fullmatch(head.strip())
    unit = (found["plain"] or found["inside"]).translate(_MICRO).lower() if found else ""
    what = found["what"] if found is not None and unit in UNITS else head
    return re.sub(r"[\s_]+", "_", what.strip().lower()), unit if unit in UNITS else ""


def read_flows(path: Path, reference: str | None = None) -> tuple[polars.DataFrame, TableError | None]:
    """The flows of a table: `fct_s`, null where one did not end, and whatever the table says of `name`, `src`, `dst`,
    `bytes` and `start_s`; `row` says where each stands.

    The error with them is for pairing flows by their places: about a column that seems to say which flow is
    which, under a name that nobody reads. `reference` names the column of completion times, with its unit (`fct_us`, or
    `fct=us`). Raises `TableError`, which names file, line and column.
    """
    import polars

    if not path.is_file():
        raise ResultsError(path, "no such table" + nearest_paths(path))
    rows = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    wanted = _wanted(rows, reference)
    every = range(len(rows.cells))
    columns: dict[str, list[Any]] = {"fct_s": [rows.time(i, wanted) for i in every]}
    names = [name for name in NAMES if name in rows.heads]
    if names:
        columns["name"] = [next((plain_text(text) for n in names if (text := rows.cell(i, n))), None) for i in every]
    columns |= {key: [rows.whole(i, key) for i in every] for key in WHOLE if key in rows.heads}
    if (start := rows.start()) is not None:
        found = (rows.number(i, start.column) for i in every)
        columns[START] = [None if value is None else value * start.scale for value in found]
    columns["row"] = [rows.place(i) for i in every]
    kinds = {"fct_s": polars.Float64, "name": polars.String, START: polars.Float64, "row": polars.Int64}
    kinds |= dict.fromkeys(WHOLE, polars.Int64)
    frame = polars.DataFrame(columns, schema_overrides={name: kinds[name] for name in columns})
    read = {wanted.column, *([start.column] if start is not None else [])}
    heads = [name for name in rows.heads if name not in read] + ([START] if start is not None else [])
    odd = misspelt(heads, lambda name: rows.column(name))
    return frame, rows.fail_head(odd[1], odd[0]) if odd else None


def misspelt(heads: Sequence[str], column: Callable[[str], Sequence[str]]) -> tuple[str, str] | None:
    """The first column that seems to be one by which flows are known, under another name, and a sentence about it.

    A column whose fields could not be such values is none.
    """
    wanted = [name for name in (*NAMES, *WHOLE, START) if name not in heads]
    for head in heads:
        if head in (*NAMES, *WHOLE, START):
            continue
        other = OTHER_WORDS.get(head.lower())
        close = [other] if other in wanted else nearest(head, wanted)[:1]
        if close and all(_could_be(close[0], text) for text in column(head)):
            said = f"the column `{head}` is not read; nearest: {close[0]}"
            return head, f"{said}; without it rows and flows pair by their places (--match order)"
    return None


def _could_be(column: str, text: str) -> bool:
    """True if a field may stand in a column of this name."""
    if column in NAMES or not text.strip():
        return True
    if not _NUMBER.fullmatch(text.strip()) or not math.isfinite(value := float(text)):
        return False
    return column == START or value == int(value) >= 0


@dataclass(frozen=True)
class _Rows:
    """A table as it is written: texts, and the line of each row, where the file has lines."""

    path: Path
    heads: Mapping[str, int]
    cells: Sequence[Sequence[str]]
    lines: Sequence[int] = ()
    head_line: int = 1
    text: Sequence[str] = ()

    def place(self, row: int) -> int:
        """The line of a row, or its number from 1."""
        return self.lines[row] if self.lines else row + 1

    def of_time(self, what: str) -> list[str]:
        """The columns that hold this time, each with its unit."""
        return [head for head in self.heads if (said := with_unit(head))[0] in _TIMES[what] and said[1]]

    def start(self) -> Wanted | None:
        """The column of start times: `start_s`, or the only one with another unit."""
        found = [START] if START in self.heads else self.of_time("start")
        if len(found) > 1:
            raise self.fail_head(f"has several columns of start times: {', '.join(found)}")
        return Wanted.of(found[0]) if found else None

    def cell(self, row: int, column: str) -> str:
        """A field."""
        return self.cells[row][self.heads[column]].strip()

    def column(self, column: str) -> list[str]:
        """Its fields, from the first row on."""
        return [self.cell(row, column) for row in range(len(self.cells))]

    def time(self, row: int, wanted: Wanted) -> float | None:
        """A completion time in seconds; None if the flow did not end."""
        if self.cell(row, wanted.column).lower().lstrip("+") in NEVER:
            return None
        found = self.number(row, wanted.column)
        if found is None or found <= 0.0:
            raise self.fail(row, wanted.column, "a completion time is above 0, and empty if the flow did not end")
        return found * wanted.scale

    def number(self, row: int, column: str) -> float | None:
        """A finite number; None where the field is empty."""
        text = self.cell(row, column)
        if not text:
            return None
        if not _NUMBER.fullmatch(text) or not math.isfinite(value := float(text)):
            raise self.fail(row, column, f"`{shortened(text)}` is not a number")
        return value

    def whole(self, row: int, column: str) -> int | None:
        """A whole number; None where the field is empty."""
        text = self.cell(row, column)
        value = self.number(row, column)
        if value is None:
            return None
        if value != int(value) or value < 0:
            raise self.fail(row, column, f"`{shortened(text)}` is not a whole number")
        if value >= TOO_LARGE:
            raise self.fail(row, column, f"`{shortened(text)}` is above the largest number of the column, 2^63 - 1")
        return int(text) if text.isdecimal() else int(value)

    def fail(self, row: int, column: str, message: str) -> TableError:
        """An error at a field, with the caret under it."""
        source = self.text[self.lines[row] - 1] if self.lines else ""
        at = field_start(source, self.heads[column])
        return TableError(self.path, self.place(row), f"column `{column}`: {message}", source, at, bool(self.lines))

    def fail_head(self, message: str, column: str | None = None) -> TableError:
        """An error about the header, or about one name in it."""
        source = self.text[self.head_line - 1] if self.text else ""
        at = field_start(source, self.heads[column]) if column is not None else 0
        return TableError(self.path, self.head_line, message, source, at, bool(self.text))


def _wanted(rows: _Rows, reference: str | None) -> Wanted:
    """The column of completion times: the requested one, `fct_s`, or the only one that begins with `fct_`."""
    if reference is not None:
        wanted = Wanted.of(reference)
    else:
        named = [n for n in rows.heads if n.startswith("fct_") and n.rpartition("_")[2] in UNITS]
        ending = named or rows.of_time("fct")
        column = USUAL if USUAL in rows.heads or not ending else ending[0]
        if USUAL not in rows.heads and len(ending) > 1:
            raise rows.fail_head(
                f"has several columns of completion times: {', '.join(ending)}; name one (--reference)"
            )
        wanted = Wanted.of(column)
    if wanted.column not in rows.heads:
        close = nearest(wanted.column, rows.heads)
        hint = f"nearest: {', '.join(close)}" if close else f"it has {', '.join(rows.heads)}"
        raise rows.fail_head(f"has no column `{wanted.column}`; {hint}; another one can be named (--reference)")
    return wanted


def _csv(path: Path) -> _Rows:
    """A CSV table; lines above its header that begin with `#` are comments."""
    text = _text(path).splitlines()
    first = next((i for i, line in enumerate(text) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None:
        raise TableError(path, 1, "the table is empty")
    # Strict, so that a quote that is not closed is one and does not swallow the rest of the file.
    reader = csv.reader(text[first:], strict=True, skipinitialspace=True)
    cells: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row and any(row):
                cells.append(row)
                lines.append(first + reader.line_num)
    except csv.Error as error:
        line = first + reader.line_num
        raise TableError(path, line, f"is not CSV: {error}", text[line - 1]) from None
    names = [name.strip() for name in cells[0]]
    for name, count in Counter(names).items():
        if count > 1:
            raise TableError(path, lines[0], f"the column `{name}` is there twice", text[lines[0] - 1])
    for row, line in zip(cells[1:], lines[1:], strict=True):
        if len(row) != len(names):
            counts = f"{len(row)} field{'s' if len(row) != 1 else ''} under {len(names)} columns"
            at = field_start(text[line - 1], len(names)) if len(row) > len(names) else 0
            raise TableError(path, line, counts, text[line - 1], at)
    if len(cells) == 1:
        raise TableError(path, lines[0], "the table has no row: nothing follows its header", text[lines[0] - 1])
    return _Rows(path, {name: i for i, name in enumerate(names)}, cells[1:], lines[1:], lines[0], text)


def _parquet(path: Path) -> _Rows:
    from headway.data.reader import read_table

    frame = read_table(path)
    if not frame.height:
        raise TableError(path, 1, "the table has no row", lined=False)
    cells = [["" if value is None else str(value) for value in row] for row in frame.iter_rows()]
    return _Rows(path, {name: i for i, name in enumerate(frame.columns)}, cells)


def _text(path: Path) -> str:
    data = unpacked(path, read_bytes(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TableError(path, line, f"is not UTF-8: byte {data[error.start]:#04x}") from None


def field_start(line: str, field: int) -> int:
    """Position at which a field of a line begins."""
    at, seen, quoted = 0, 0, False
    for place, sign in enumerate(line):
        if seen == field:
            break
        if sign == '"':
            quoted = not quoted
        elif sign == "," and not quoted:
            seen, at = seen + 1, place + 1
    return at + len(line[at:]) - len(line[at:].lstrip())
