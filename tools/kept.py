"""Parts of the documentation site, kept between builds: one is made again when what it is made from changes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = REPOSITORY / "target/pages"
STAMP = ".made-from"
# The text of each picture of a folder.
ALTS = "alts.json"
# Files of a folder that are no part of what it means.
_LEFT_OUT = {"__pycache__", ".pytest_cache", "site.zip"}


def digest(places: Iterable[Path], *texts: str) -> str:
    """Digest of files, of all files below folders, and of texts."""
    found = hashlib.sha256()
    for place in places:
        found.update(_of_files(place).encode())
    for text in texts:
        found.update(f"{len(text)} {text}".encode())
    return found.hexdigest()


def of_tools(*names: str) -> list[Path]:
    """Files of programs of this folder."""
    return [REPOSITORY / f"tools/{name}.py" for name in names]


# Several parts are made from the same large files.
@cache
def _of_files(place: Path) -> str:
    found = hashlib.sha256()
    files = sorted(one for one in place.rglob("*") if one.is_file()) if place.is_dir() else [place]
    for file in files:
        if not _LEFT_OUT & set(file.parts):
            found.update(f"{file.relative_to(REPOSITORY)}\0{file.stat().st_size}\0".encode())
            found.update(file.read_bytes())
    return found.hexdigest()


# A build takes minutes: what it is made from is the code that was loaded, and not what was written since.
for _file in REPOSITORY.glob("tools/*.py"):
    _of_files(_file)


@cache
def program() -> str:
    """Digest of Headway as pages run it: the package with its native module, scenarios, ledgers and workloads."""
    return digest(REPOSITORY / name for name in ("python/headway", "scenarios", "workloads"))


def kept(name: str, made_from: str, make: Callable[[Path], None]) -> Path:
    """The folder of a part of the site, made by `make` unless it was made from the same before."""
    folder = FOLDER / name
    stamp = folder / STAMP
    if not stamp.exists() or stamp.read_text("utf-8") != made_from:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        stamp.write_text(made_from, "utf-8")
    return folder


def keep_only(name: str, wanted: Iterable[Path]) -> None:
    """Remove from a folder of parts what is none of these, and in none of them."""
    parts = set(wanted)
    above = {parent for part in parts for parent in part.parents}
    for path in sorted((FOLDER / name).rglob("*"), reverse=True):
        if path in above or parts & {path, *path.parents}:
            continue
        path.rmdir() if path.is_dir() else path.unlink()


class Executed:
    """The pages whose commands were executed with this program and showed what the page says."""

    def __init__(self, browser: str) -> None:
        self.by = digest(of_tools("executed", "shots"), browser)
        self.file = FOLDER / "executed.json"
        self.found: dict[str, str] = json.loads(self.file.read_text("utf-8")) if self.file.exists() else {}

    def holds(self, page: Path) -> bool:
        """True if the page has not changed since, and neither has the program."""
        return self.found.get(str(page.relative_to(REPOSITORY))) == digest([page], program(), self.by)

    def add(self, page: Path) -> None:
        """Remember that the page shows what happens."""
        self.found[str(page.relative_to(REPOSITORY))] = digest([page], program(), self.by)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.found, indent=1, sort_keys=True), "utf-8")
