"""The one entrance for files that the package did not just write itself: regular files, of a bounded size."""

from __future__ import annotations

import json
import os
import stat
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Any

from headway.errors import ResultsError

# More than any file that is read whole: the list of a million points has 0.4 GB.
MOST_BYTES = 1_000_000_000
GZIP = b"\x1f\x8b"
# Signs with which a spreadsheet begins a formula; an apostrophe before one makes it text.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def open_file(path: Path) -> BufferedReader:
    """A regular file, to read.

    Raises `FileNotFoundError` if nothing is there, and `ResultsError` for what is no file or cannot be read: a pipe or
    a device is refused and not waited for.
    """
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ResultsError(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode):
        file.close()
        raise ResultsError(path, f"cannot be read: it is {_kind(mode)} and no file")
    return file


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file; raises as `open_file` does, and `ResultsError` for more than `most` bytes."""
    with open_file(path) as file:
        held = os.fstat(file.fileno()).st_size
        if held > most:
            raise ResultsError(path, f"cannot be read: it holds {_gigabytes(held)}, more than {_gigabytes(most)}")
        try:
            # It may grow while it is read.
            data = file.read(most + 1)
        except OSError as error:
            raise ResultsError(path, f"cannot be read ({error.strerror or error})") from None
    if len(data) > most:
        raise ResultsError(path, f"cannot be read: it holds more than {_gigabytes(most)}")
    return data


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a regular file in UTF-8; raises as `read_bytes` does."""
    data = read_bytes(path, most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ResultsError(path, f"cannot be read: line {line} is not UTF-8 ({data[error.start]:#04x})") from None


def unpacked(path: Path, data: bytes, most: int = MOST_BYTES) -> bytes:
    """The bytes, or where they are compressed by gzip the original ones: at most `most`, or else `ResultsError`."""
    if not data.startswith(GZIP):
        return data
    whole = bytearray()
    try:
        while data:
            one = zlib.decompressobj(wbits=31)
            whole += one.decompress(data, most + 1 - len(whole))
            if len(whole) > most:
                raise ResultsError(path, f"cannot be read: unpacked it holds more than {_gigabytes(most)}")
            if not one.eof:
                raise ResultsError(path, "cannot be read: its compressed part is cut off")
            data = one.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise ResultsError(path, f"cannot be read ({error})") from None
    return bytes(whole)


def parse_json(path: Path, text: str) -> Any:  # noqa: ANN401  (whatever JSON holds)
    """A JSON document from its text; raises `ResultsError` with the place of the fault."""
    hint = "it may be truncated"
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ResultsError(path, f"cannot be read: it is not valid JSON ({where})", hint) from None
    except RecursionError:
        raise ResultsError(path, "cannot be read: its JSON is nested too deeply") from None
    except ValueError as error:
        raise ResultsError(path, f"cannot be read: a number in it is too long ({error})") from None


def formula_free(text: str) -> str:
    """A text as a field of a CSV file: one that a spreadsheet would take for a formula has an apostrophe before it."""
    return f"'{text}" if text.startswith(FORMULA) else text


def plain_text(field: str) -> str:
    """The text that `formula_free` made a field of."""
    return field[1:] if field.startswith("'") and field[1:].startswith(FORMULA) else field


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB"


def _kind(mode: int) -> str:
    kinds = {stat.S_ISDIR: "a directory", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    return next((name for test, name in kinds.items() if test(mode)), "a device")


def shortened(text: str, most: int = 60) -> str:
    """A word of a file as a message repeats it."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def is_text(name: str) -> bool:
    """True if a name can be written in UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
