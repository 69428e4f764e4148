"""Checksums of a run directory, in the file that `sha256sum -c SHA256SUMS` checks too."""

from __future__ import annotations

import hashlib
from pathlib import Path

from headway.errors import ResultsError
from headway.files import write_text
from headway.inputs import open_file, read_text
from headway.layout import CHECKSUMS_FILE, POINT_FILE, RUN_FILES

__all__ = ["CHECKSUMS_FILE", "add", "is_damaged", "names_in", "replace", "verify", "verify_file"]


def verify(directory: Path) -> bool:
    """Compare every file of a run with its checksum; False if the run was written without any.

    Raises `ResultsError` that names the first file that is not as it was written.
    """
    sums = directory / CHECKSUMS_FILE
    if not sums.exists():
        return False
    for name, expected in _read(sums).items():
        path = directory / name
        try:
            actual = _digest(path)
        except FileNotFoundError:
            if name not in (*RUN_FILES, POINT_FILE):
                raise ResultsError(sums, f"is damaged: it lists {name}, which is no file of a run") from None
            raise ResultsError(path, "is missing") from None
        except OSError as error:
            raise ResultsError(path, f"cannot be read ({error.strerror or error})") from None
        if actual != expected:
            raise ResultsError(path, f"is damaged: its checksum is not the one in {CHECKSUMS_FILE}")
    return True


def verify_file(path: Path) -> None:
    """Compare one file of a run with its checksum, if it has one; raises `ResultsError` if it is another."""
    sums = path.parent / CHECKSUMS_FILE
    if sums.exists() and _read(sums).get(path.name, digest := _digest(path)) != digest:
        raise ResultsError(path, f"is damaged: its checksum is not the one in {CHECKSUMS_FILE}")


def is_damaged(directory: Path, name: str) -> bool:
    """True if a file of the run is known to have changed since it was written."""
    try:
        expected = _read(directory / CHECKSUMS_FILE).get(name)
        return expected is not None and _digest(directory / name) != expected
    except (OSError, ResultsError):
        return False


def add(directory: Path, name: str) -> None:
    """Write down the checksum of a further file of the run, where there are checksums."""
    sums = directory / CHECKSUMS_FILE
    try:
        if sums.exists():
            digest = _digest(directory / name)
            with sums.open("a", encoding="utf-8") as file:
                file.write(f"{digest}  {name}\n")
    except OSError as error:
        raise ResultsError(sums, f"cannot be written ({error.strerror or error})") from None


def _digest(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(sums: Path) -> dict[str, str]:
    """The checksums by name of file."""
    found: dict[str, str] = {}
    try:
        lines = read_text(sums).splitlines()
    except FileNotFoundError as error:
        raise ResultsError(sums, f"cannot be read ({error.strerror})") from None
    for line in lines:
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or "\0" in name or Path(name).name != name:
            raise ResultsError(sums, f"is damaged: {line!r} is no checksum and name")
        found[name] = digest
    return found


def names_in(directory: Path) -> list[str]:
    """The files of a run that have checksums."""
    return list(_read(directory / CHECKSUMS_FILE))


def replace(directory: Path, name: str) -> None:
    """Update the checksum of a file."""
    sums = _read(directory / CHECKSUMS_FILE)
    sums[name] = _digest(directory / name)
    write_text(directory / CHECKSUMS_FILE, "".join(f"{digest}  {file}\n" for file, digest in sums.items()))
