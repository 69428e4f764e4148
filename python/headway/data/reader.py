"""Reads files of results. A file that is missing, damaged or of the wrong shape is a `ResultsError` that names it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from headway.data.schema import schema
from headway.errors import HeadwayError, ResultsError
from headway.inputs import parse_json, read_text, shortened

if TYPE_CHECKING:
    import polars

P = ParamSpec("P")
T = TypeVar("T")

# The columns without which no report can be made; tables of earlier versions lack some of the others.
NEEDED = {
    "flows": ("flow", "src", "dst", "bytes", "start_s", "finish_s", "fct_s", "ideal_s", "slowdown", "state"),
    "links": ("name", "rate_bps", "busy_fraction", "queue_max_bytes", "queue_mean_bytes"),
    "series": ("t_s", "entity", "metric", "value"),
}
MISSING, AGAIN, TRUNCATED = "is missing", "run the scenario again to produce it", "it may be truncated"


def of_results(function: Callable[P, T]) -> Callable[P, T]:
    """A function of results, given as its first argument, which says of those that no run wrote that they are none.

    Readers look at what they read, and documents of runs are deep: what is of another kind further down, in a document
    without a checksum or with a forged one, comes to light where it is used.
    """

    @wraps(function)
    def checked(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            if isinstance(error, HeadwayError):
                raise
            what = shortened(" ".join(f"{type(error).__name__}: {error}".split()), 200)
            first = arguments[0] if arguments else "the results"
            if isinstance(first, list | tuple):
                first = first[0] if first else "the results"
            path = Path(str(getattr(first, "directory", None) or first))
            hint = "run the scenario again; if that does not help, this is a fault of Headway"
            raise ResultsError(path, f"holds something that no run writes ({what})", hint) from error

    return checked


def read_json(path: Path) -> Any:  # noqa: ANN401  (whatever JSON holds)
    """A JSON document."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise ResultsError(path, MISSING, AGAIN) from None
    return parse_json(path, text)


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
    """Contents of the file in which `command` keeps its record with `--record`; empty if there is no file."""
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
    except BaseException as error:
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
    except BaseException as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: BaseException) -> ResultsError:
    """The error of a table. Damage that its reader does not expect ends in a panic, which is a `BaseException`; what is
    no fault of the table is raised as it is.
    """
    import polars

    expected = (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError, ValueError, OverflowError)
    if not isinstance(error, expected):
        raise error
    reason = (str(error) or type(error).__name__).splitlines()[0][:200]
    return ResultsError(path, f"is truncated or damaged: not a readable Parquet file ({reason})", TRUNCATED)
