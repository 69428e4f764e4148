"""The store of finished runs: a point that was run once, by any command and for any figure, is not run again.

A run is kept under its digest: version, epoch of behaviour, resolved scenario and seed. Titles, reports, and the name
of the scenario are no part of that, so that figures that run the same share it; the manifest is written anew for
the command that takes a run. Nothing in the store is shared with results: files are copied, or cloned where the file
system does that. Processes and machines on one file system may use one store: a run appears in it in one step, and is
checked when it is taken.

`HEADWAY_STORE` names its directory, or says `off`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pwd
import shutil
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.checksums import CHECKSUMS_FILE, names_in, replace, verify
from headway.data.reader import glance, read_object
from headway.directories import clear_run
from headway.errors import HeadwayError, ResultsError
from headway.files import write_json
from headway.layout import MANIFEST_FILE, RUN_FILES

if TYPE_CHECKING:
    from headway._headway import Scenario as Native

VARIABLE = "HEADWAY_STORE"
OFF = "off"
ENTRY_FILE = "stored.json"
SCRATCH = ".new"
GONE = ".gone-"
# Age at which a file that is being written or removed is taken to be left by a process that died.
LEFT_S = 3600.0
# Every run has these files.
ALWAYS = (MANIFEST_FILE, "summary.json", "flows.parquet", "links.parquet", "series.parquet")
# Of ioctl: the target shares its blocks with the source until one of them is written (linux/fs.h).
FICLONE = 0x40049409


def directory() -> Path | None:
    """Directory of the store; None without a store."""
    said = os.environ.get(VARIABLE)
    if said is not None and said.strip().lower() == OFF:
        return None
    if said is not None:
        if not said.strip():
            raise HeadwayError(f"{VARIABLE} is empty: name a directory, or say {OFF}")
        return Path(said)
    return cache_folder() / "runs"


def cache_folder() -> Path:
    """The folder of this user for what Headway can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway"


def project_of(folder: Path) -> Path:
    """The project of a folder: the nearest one above it that a version control has, else the folder itself."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def _who() -> dict[str, str]:
    """The user and the project that keep a run now."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # A container may run as a user that no file names.
        user = str(os.getuid())
    return {"user": user, "project": str(project_of(Path.cwd()))}


def foreign(digests: Iterable[str]) -> str:
    """Users and projects, other than the present ones, that kept these runs; empty without such."""
    root, me = directory(), _who()
    if root is None:
        return ""
    found: Counter[str] = Counter()
    for digest in digests:
        facts = Entry(_place(root, digest)).facts
        user, project = facts.get("user"), facts.get("project")
        if user is None:
            found["an unnamed user, by an earlier build"] += 1
        elif (user, project) != (me["user"], me["project"]):
            found[f"{user} in {project}" if user != me["user"] else f"you in {project}"] += 1
    return ", ".join(f"{count} kept by {who}" for who, count in found.most_common())


def said_of(count: int, digests: Iterable[str]) -> str:
    """A sentence about runs that came from the store: where it is, and those that others kept; empty without runs."""
    if not count:
        return ""
    others = foreign(digests)
    text = f"{count} run{'s' * (count != 1)} from the store {directory()}"
    return f"{text}: {others}" if others else text


@dataclass(frozen=True)
class Entry:
    """A run in the store."""

    path: Path

    @property
    def facts(self) -> dict[str, Any]:
        """Program that kept it: `name`, `version`, `epoch`; empty if that cannot be read."""
        value = glance(self.path / ENTRY_FILE)
        return value if isinstance(value, dict) else {}

    @property
    def bytes(self) -> int:
        """Bytes of its files."""
        if self.path.is_symlink() or not self.path.is_dir():
            return 0
        return sum(file.stat().st_size for file in self.path.iterdir() if file.is_file())

    @property
    def used(self) -> float:
        """Time at which it was kept or last taken, in seconds since 1970."""
        with suppress(OSError):
            return (self.path / ENTRY_FILE).stat().st_mtime
        return 0.0

    def damage(self) -> str:
        """Fault of the entry; empty if it is the run that its name says, as it was kept."""
        try:
            return (
                self._odd()
                or ("" if verify(self.path) else f"{self.path / CHECKSUMS_FILE}: is missing")
                or self._other()
            )
        except (ResultsError, HeadwayError, OSError) as error:
            return str(error)

    def _odd(self) -> str:
        """Fault if it is something else than a directory of a run's files."""
        if self.path.is_symlink() or not self.path.is_dir():
            return f"{self.path}: is no directory of a run"
        if self.path.parent.name != self.path.name[:2]:
            return f"{self.path}: lies in another folder than {self.path.name[:2]}"
        for file in sorted(self.path.iterdir()):
            if file.name not in (*RUN_FILES, ENTRY_FILE):
                return f"{file}: is no file of a run"
            if file.is_symlink() or not file.is_file():
                return f"{file}: is no regular file"
        return ""

    def _other(self) -> str:
        """Fault if it is another run than its name says, or its files were not kept together."""
        listed = names_in(self.path)
        for name in ALWAYS:
            if name not in listed:
                return f"{self.path / CHECKSUMS_FILE}: is damaged: it has no checksum of {name}"
        for file in self.path.iterdir():
            if file.name not in (*listed, CHECKSUMS_FILE, ENTRY_FILE):
                return f"{file}: has no checksum"
        digest = read_object(self.path / MANIFEST_FILE).get("digest")
        if digest != self.path.name:
            return f"{self.path / MANIFEST_FILE}: is of another run, {digest}"
        facts = dict(self.facts)
        if "seal" in facts and facts.pop("seal") != _sum_of(facts):
            return f"{self.path / ENTRY_FILE}: is damaged: it has another checksum of itself"
        if self.facts.get("sums") != _seal(self.path):
            return (
                f"{self.path / CHECKSUMS_FILE}: is not the one that was kept: {ENTRY_FILE} has another checksum of it"
            )
        return ""

    def remove(self) -> None:
        """Take it out of the store, in one step for others."""
        gone = self.path.parent / f"{GONE}{uuid.uuid4().hex}"
        try:
            self.path.rename(gone)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ResultsError(self.path, f"cannot be removed ({error.strerror or error})") from None
        if gone.is_symlink() or not gone.is_dir():
            gone.unlink(missing_ok=True)
        shutil.rmtree(gone, ignore_errors=True)


def entries(root: Path) -> Iterator[Entry]:
    """Every run in the store, and every other file in the place of one."""
    for path in sorted(root.glob("??/*")):
        if not path.name.startswith(".") and not path.parent.name.startswith("."):
            yield Entry(path)


def leftovers(root: Path) -> Iterator[Path]:
    """Directories that processes began to write or to remove, and died."""
    for path in sorted([*root.glob(f"{SCRATCH}/*"), *root.glob(f"??/{GONE}*")]):
        with suppress(OSError):
            if path.is_dir() and path.stat().st_mtime < time.time() - LEFT_S:
                yield path


def has(digest: str) -> bool:
    """True if the store has the run of this digest, without a check of its files."""
    root = directory()
    return root is not None and (_place(root, digest) / MANIFEST_FILE).exists()


def take(native: Native, out: Path) -> bool:
    """Put the run of this scenario into `out`, if the store has it; a damaged copy there is removed.

    `out` is a directory that is made for the run, and holds none.
    """
    root = directory()
    if root is None:
        return False
    entry = Entry(_place(root, native.digest()))
    if not os.path.lexists(entry.path):
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
        # Another process has removed it meanwhile, or the disk is full: the run is made as if it were not there.
        return False
    manifest = read_object(out / MANIFEST_FILE)
    if manifest.get("digest") != entry.path.name:
        # Another process has put something else there meanwhile.
        clear_run(out)
        return False
    write_json(out / MANIFEST_FILE, {**manifest, **json.loads(native.about_json())})
    replace(out, MANIFEST_FILE)
    return True


def keep(native: Native, out: Path, version: str) -> str:
    """Keep a finished run for others. A failure is answered in a sentence, and costs the run nothing."""
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
        facts = {"name": native.name, "version": version, "epoch": epoch, "kept": time.time(), "sums": _seal(scratch)}
        facts |= _who()
        facts["seal"] = _sum_of(facts)
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
    """A file of its own with the same bytes: a write into one does not change the other."""
    target.unlink(missing_ok=True)
    with source.open("rb") as old, target.open("wb") as new:
        if sys.platform == "linux":
            with suppress(OSError):
                fcntl.ioctl(new.fileno(), FICLONE, old.fileno())
                return
        shutil.copyfileobj(old, new, 1 << 20)


def _sum_of(facts: Mapping[str, Any]) -> str:
    """Checksum of what is known of an entry."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _seal(entry: Path) -> str:
    """The checksum of the checksums, which says which files were kept together."""
    return hashlib.sha256((entry / CHECKSUMS_FILE).read_bytes()).hexdigest()
