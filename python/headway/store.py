"""The store of finished runs: what was run once, by any command and for any figure, is not run again.

A run is kept under its digest: version, epoch of behaviour, resolved scenario and seed. Titles, reports, and the name
of the scenario are no part of that, so that figures that run the same share it; the manifest is written anew for
whoever takes a run. Files are hard links where file systems allow it. Processes and machines on one file system may use
one store: a run appears in it in one step, and is checked when it is taken.

`HEADWAY_STORE` names its directory, or says `off`.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.checksums import CHECKSUMS_FILE, names_in, replace, verify
from headway.data.reader import glance, read_object
from headway.errors import HeadwayError, ResultsError
from headway.files import write_json
from headway.layout import MANIFEST_FILE

if TYPE_CHECKING:
    from headway._headway import Scenario as Native

VARIABLE = "HEADWAY_STORE"
OFF = "off"
ENTRY_FILE = "stored.json"
SCRATCH = ".new"
GONE = ".gone-"
# What is written or removed for so long is left by a process that died.
LEFT_S = 3600.0
# Tables are linked. Documents are copied: whoever takes a run writes them anew.
LINKED = ".parquet"


def directory() -> Path | None:
    """Where runs are kept; None if nothing is."""
    said = os.environ.get(VARIABLE)
    if said is not None and said.strip().lower() == OFF:
        return None
    if said is not None:
        if not said.strip():
            raise HeadwayError(f"{VARIABLE} is empty: name a directory, or say {OFF}")
        return Path(said)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "headway" / "runs"


@dataclass(frozen=True)
class Entry:
    """A run in the store."""

    path: Path

    @property
    def facts(self) -> dict[str, Any]:
        """Who kept it: `name`, `version`, `epoch`; empty if that cannot be read."""
        value = glance(self.path / ENTRY_FILE)
        return value if isinstance(value, dict) else {}

    @property
    def bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.stat().st_size for file in self.path.iterdir() if file.is_file())

    @property
    def used(self) -> float:
        """When it was kept or last taken, in seconds since 1970."""
        with suppress(OSError):
            return (self.path / ENTRY_FILE).stat().st_mtime
        return 0.0

    def damage(self) -> str:
        """What is wrong with its files; empty if nothing is."""
        try:
            return "" if verify(self.path) else f"{self.path / CHECKSUMS_FILE}: is missing"
        except ResultsError as error:
            return str(error)

    def remove(self) -> None:
        """Take it out of the store, in one step for others."""
        gone = self.path.parent / f"{GONE}{uuid.uuid4().hex}"
        try:
            self.path.rename(gone)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ResultsError(self.path, f"cannot be removed ({error.strerror or error})") from None
        shutil.rmtree(gone, ignore_errors=True)


def entries(root: Path) -> Iterator[Entry]:
    """Every run in the store."""
    for path in sorted(root.glob("??/*")):
        if path.is_dir() and not path.name.startswith("."):
            yield Entry(path)


def leftovers(root: Path) -> Iterator[Path]:
    """Directories that processes began to write or to remove, and died."""
    for path in sorted([*root.glob(f"{SCRATCH}/*"), *root.glob(f"??/{GONE}*")]):
        with suppress(OSError):
            if path.is_dir() and path.stat().st_mtime < time.time() - LEFT_S:
                yield path


def has(digest: str) -> bool:
    """Whether the store has the run of this digest, by the looks of it."""
    root = directory()
    return root is not None and (_place(root, digest) / MANIFEST_FILE).exists()


def take(native: Native, out: Path) -> bool:
    """Put the run of this scenario into `out`, if the store has it; what is damaged there is removed.

    `out` is a directory that is made for the run, and holds none.
    """
    root = directory()
    if root is None:
        return False
    entry = Entry(_place(root, native.digest()))
    if not entry.path.is_dir():
        return False
    if entry.damage():
        entry.remove()
        return False
    try:
        files = sorted(names_in(entry.path))
        out.mkdir(parents=True, exist_ok=True)
        # The manifest last: a directory without it is not taken for a finished run.
        for name in sorted([*files, CHECKSUMS_FILE], key=lambda name: name == MANIFEST_FILE):
            _put(entry.path / name, out / name)
        (entry.path / ENTRY_FILE).touch()
    except (OSError, ResultsError):
        # Another process has removed it meanwhile, or there is no room: the run is made as if it were not there.
        return False
    manifest = read_object(out / MANIFEST_FILE)
    write_json(out / MANIFEST_FILE, {**manifest, **json.loads(native.about_json())})
    replace(out, MANIFEST_FILE)
    return True


def keep(native: Native, out: Path, version: str) -> str:
    """Keep a finished run for others. What goes wrong is answered in a sentence, and costs the run nothing."""
    root = directory()
    if root is None:
        return ""
    place = _place(root, native.digest())
    if place.is_dir():
        return ""
    scratch = root / SCRATCH / uuid.uuid4().hex
    try:
        scratch.mkdir(parents=True)
        for name in (*names_in(out), CHECKSUMS_FILE):
            _put(out / name, scratch / name)
        epoch = read_object(out / MANIFEST_FILE).get("epoch")
        facts = {"name": native.name, "version": version, "epoch": epoch, "kept": time.time()}
        write_json(scratch / ENTRY_FILE, facts)
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            scratch.rename(place)
    except (OSError, ResultsError) as error:
        # Another process may have kept the same run first, which is as good.
        return "" if place.is_dir() else f"the run is not kept in the store {root} ({error})"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return ""


def _place(root: Path, digest: str) -> Path:
    return root / digest[:2] / digest


def _put(source: Path, target: Path) -> None:
    """A file under another name: a link where it is never changed and the file system has links."""
    target.unlink(missing_ok=True)
    if source.suffix == LINKED:
        with suppress(OSError):
            target.hardlink_to(source)
            return
    shutil.copyfile(source, target)
