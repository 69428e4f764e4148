"""Files that are nearly right: those of a kind, changed in their structure or in their bytes, the same for one seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

# Values that readers like least.
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 2**64, 10**400, 1e308, -0.5, float("inf"), "", "\0", "\ud800", "../../etc", "/etc/passwd",
    "=1+1", "\x1b[2J", "x" * 5000, [], {}, [[]], {"": {}}, "nan", "1e999",
)  # fmt: skip
# Bytes that mean something to some reader.
PIECES = (
    b"", b"\0", b"\xff\xfe", b"{", b"]", b'"', b",", b"\n", b"\r\n", b"-", b"9" * 400, b"\xed\xa0\x80", b"1e999",
    b"NaN", b"\x1b[31m", b"[" * 3000, b"\\ud800", b"=cmd()", b"PAR1",
)  # fmt: skip
MOST_CHANGES = 4


def of_bytes(data: bytes, seed: int) -> bytes:
    """The bytes with a few cut out, doubled, changed or put in."""
    draw = random.Random(seed)
    changed = bytearray(data)
    for _ in range(draw.randint(1, MOST_CHANGES)):
        start = draw.randint(0, len(changed))
        end = min(len(changed), start + draw.choice((0, 1, 2, 8, 64, 1000)))
        piece = draw.choice((draw.choice(PIECES), draw.randbytes(draw.randint(0, 8)), bytes(changed[start:end]) * 2))
        changed[start:end] = piece
    return bytes(changed) if draw.random() > 0.1 else bytes(changed[: draw.randint(0, len(changed))])


def of_json(document: Any, seed: int) -> bytes:  # noqa: ANN401  (whatever JSON holds)
    """The document with a few values exchanged, removed, renamed or nested, as text."""
    draw = random.Random(seed)
    changed = copy.deepcopy(document)
    for _ in range(draw.randint(1, MOST_CHANGES)):
        places = list(_places(changed))
        if not places:
            return json.dumps(draw.choice(ODD)).encode()
        holder, key = draw.choice(places)
        draw.choice((_exchange, _exchange, _remove, _rename, _nest, _double))(draw, holder, key)
    return json.dumps(changed).encode()


def of_rows(text: str, seed: int) -> bytes:
    """A table in CSV with a few fields, lines or columns exchanged."""
    draw = random.Random(seed)
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(draw.randint(1, MOST_CHANGES)):
        row = draw.choice(rows)
        change = draw.randrange(5)
        if change == 0:
            row[draw.randrange(len(row))] = str(draw.choice(ODD))
        elif change == 1:
            row.append(str(draw.choice(ODD)))
        elif change == 2:
            rows[rows.index(row)] = row[:-1] or [""]
        elif change == 3:
            rows.insert(draw.randrange(len(rows)), list(draw.choice(rows)))
        else:
            rows[0][draw.randrange(len(rows[0]))] = draw.choice(
                ("fct_s", "fct_us", "name", "bytes", "", '"', "=x", "start (us)")
            )
    return "\n".join(map(",".join, rows)).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401
    """Every place of a document: its container, and its key there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield value, key
        yield from _places(one)


Change = Callable[[random.Random, Any, Any], None]


def _exchange(draw: random.Random, holder: Any, key: Any) -> None:  # noqa: ANN401
    holder[key] = copy.deepcopy(draw.choice(ODD))


def _remove(_draw: random.Random, holder: Any, key: Any) -> None:  # noqa: ANN401
    del holder[key]


def _rename(draw: random.Random, holder: Any, key: Any) -> None:  # noqa: ANN401
    if isinstance(holder, dict):
        holder[str(draw.choice(ODD))] = holder.pop(key)


def _nest(draw: random.Random, holder: Any, key: Any) -> None:  # noqa: ANN401
    for _ in range(draw.choice((1, 3, 200))):
        holder[key] = draw.choice(([holder[key]], {"x": holder[key]}))


def _double(_draw: random.Random, holder: Any, key: Any) -> None:  # noqa: ANN401
    if isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
