"""Reads files of results. What is missing, damaged or of the wrong shape is a `ResultsError` that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.data.schema import schema
from headway.errors import ResultsError

if TYPE_CHECKING:
    import polars

# The columns without which no report can be made; tables of earlier versions lack some of the others.
NEEDED = {
    "flows": ("flow", "src", "dst", "bytes", "start_s", "finish_s", "fct_s", "ideal_s", "slowdown", "state"),
    "links": ("name", "rate_bps", "busy_fraction", "queue_max_bytes", "queue_mean_bytes"),
    "series": ("t_s", "entity", "metric", "value"),
}
MISSING, AGAIN, TRUNCATED = "is missing", "run the scenario again to produce it", "it may be truncated"


def read_json(path: Path) -> Any:  # noqa: ANN401  (whatever JSON holds)
    """A JSON document."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultsError(path, MISSING, AGAIN) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ResultsError(path, f"cannot be read: it is not valid JSON ({where})", TRUNCATED) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(path, f"cannot be read ({error})") from None


def glance(path: Path) -> Any:  # noqa: ANN401  (whatever JSON holds)
    """A JSON document, or None if it is missing or damaged: for looking at a directory, not for using it."""
    try:
        return read_json(path)
    except ResultsError:
        return None


def read_object(path: Path) -> dict[str, Any]:
    """A JSON document that must hold an object."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ResultsError(path, f"should hold a JSON object, holds a {type(value).__name__}")
    return value


def read_record(path: Path, command: str) -> dict[str, Any]:
    """What a file holds that `command` keeps on record with `--record`; nothing, if there is no file."""
    if not path.exists():
        return {}
    try:
        return read_object(path)
    except ResultsError as error:
        raise ResultsError(path, error.why, f"`{command} --record` writes it anew once it is removed") from None


def read_list(path: Path, key: str) -> list[dict[str, Any]]:
    """A JSON document that holds a list of objects, bare or under `key`."""
    value = read_json(path)
    if isinstance(value, dict):
        value = value.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ResultsError(path, f"should hold a list of {key}, each an object")
    return value


def read_table(path: Path) -> polars.DataFrame:
    """A whole Parquet table."""
    check_table(path)
    import polars

    try:
        return polars.read_parquet(path)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from None


def check_columns(path: Path, frame: polars.DataFrame, table: str) -> polars.DataFrame:
    """The table, if it has the columns that a report needs, and numbers where the schema declares numbers."""
    needed = NEEDED[table]
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise ResultsError(path, f"lacks the column{'s' if len(absent) > 1 else ''} {', '.join(absent)}")
    for name in needed:
        found = frame[name]
        is_number = found.dtype.is_numeric() or found.null_count() == frame.height
        if schema()[table][name].is_number and not is_number:
            raise ResultsError(path, f"column {name} should hold numbers, holds {found.dtype}")
    return frame


def check_table(path: Path) -> None:
    """Raise `ResultsError` if a Parquet file is missing or its end, where its table of contents is, is not whole.

    This costs little, so it is done for every table of every point, also for those that no figure reads.
    """
    import polars

    if not path.is_file():
        raise ResultsError(path, MISSING, AGAIN)
    try:
        polars.read_parquet_schema(path)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> ResultsError:
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return ResultsError(path, f"is truncated or damaged: not a readable Parquet file ({reason})", TRUNCATED)
