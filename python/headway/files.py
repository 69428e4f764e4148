"""Writing results so that a reader never meets half a file."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from headway.errors import ResultsError


def writable_directory(path: Path) -> Path:
    """Make `path` and prove that it can be written; raises `ResultsError` if not."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ResultsError(path, f"results cannot be written here ({error.strerror or error})") from None
    return path


def unwritable(path: Path, error: OSError) -> ResultsError:
    """Error for a file that cannot be written; it mentions a missing folder."""
    if not path.parent.is_dir():
        reason = "is no directory" if path.parent.exists() else "is not there"
        return ResultsError(path, f"cannot be written: {path.parent} {reason}", f"mkdir -p {path.parent}")
    return ResultsError(path, f"cannot be written ({error.strerror or error})")


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401  (anything JSON can hold)
    """Write a JSON document in one step: readers see the old one or the new one."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step; raises `ResultsError` if that cannot be done."""
    # A name of its own for each writer: threads of one process and machines that share a disk write the same file.
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise unwritable(path, error) from None


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A place to write a file at, which takes the place of `path` at the end; if the writing fails, nothing is left.

    Raises `ResultsError` if that cannot be done.
    """
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        if not path.parent.is_dir():
            raise unwritable(path, OSError())
        yield scratch
        scratch.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file in one step; raises `ResultsError` if that cannot be done."""
    scratch = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        shutil.copyfile(source, scratch)
        scratch.replace(target)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise unwritable(target, error) from None


def keep_inputs(written: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raise `ResultsError` if a file that is about to be written is one that the command reads, by whatever name."""
    there = [path for path in written if path.is_file()]
    read = list(inputs) if there else []
    for path in there:
        if any(_is_same(path, one) for one in read):
            raise ResultsError(path, "is an input, which is never overwritten", "choose another place for the results")


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False
