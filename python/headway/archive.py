"""An archive of results that can be run again: one file with inputs, results, environment and how to run it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from headway import _headway
from headway.data.jsonable import Jsonable
from headway.data.reader import read_object, read_table
from headway.data.run import Run
from headway.data.sweep import read_sweep
from headway.data.units import size
from headway.directories import inputs_of
from headway.errors import HeadwayError, ResultsError, holds_results, no_results
from headway.files import keep_inputs, new_file
from headway.inputs import open_file, read_bytes
from headway.layout import LOCKS, MANIFEST_FILE, PARTIAL, SWEEP_FILE, TASKS
from headway.loading import Scenario

ENDING = ".headway.tar.gz"
INDEX, README, RESULTS, INPUTS = "archive.json", "README.md", "results", "inputs"
FORMAT = 1
LEFT_OUT = (LOCKS, TASKS)
TABLES = ("flows", "links", "series")


@dataclass(frozen=True)
class Verified(Jsonable):
    """Outcome of the runs of an archive: the number that came out the same, and the difference of each other one."""

    file: Path
    same: int
    differing: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """True if all came out the same."""
        return not self.differing


def write_archive(directory: str | Path, out: str | Path | None = None, *, overwrite: bool = False) -> Path:
    """Write the results in a directory, and all that it takes to run them again, as one file; returns its path.

    `out` is the file; default: beside the directory, with its name and `.headway.tar.gz`. Raises `ResultsError` for a
    file that is there, and `HeadwayError` for runs that cannot be made again from what is written: those on real
    packets, those with a transport in Python, and those whose inputs have changed.
    """
    path = Path(directory)
    if not holds_results(path):
        raise no_results(path)
    file = Path(out) if out is not None else path.absolute().with_name(path.absolute().name + ENDING)
    if file.exists() and not overwrite:
        raise ResultsError(file, "is there already", "choose another name, or overwrite it with --force")
    held = sorted(one for one in path.rglob("*") if one.is_file() and not _is_scratch(one.relative_to(path)))
    keep_inputs([file], held)
    runs, inputs = [], dict[str, bytes]()
    for place, run in _runs(path):
        written, own = _written(run)
        inputs |= own
        runs.append({"dir": place, "digest": run.manifest["digest"], "written": written})
    index = {
        "format": FORMAT,
        "version": _headway.version(),
        "epoch": _headway.epoch(),
        "environment": {"python": platform.python_version(), "system": platform.platform()},
        "runs": runs,
    }
    names = {f"{RESULTS}/{one.relative_to(path).as_posix()}": one for one in held}
    sums = {name: hashlib.sha256(read_bytes(one)).hexdigest() for name, one in names.items()}
    sums |= {name: hashlib.sha256(data).hexdigest() for name, data in inputs.items()}
    texts = {INDEX: json.dumps({**index, "sha256": sums}, indent=2).encode(), README: _readme(path, file, runs)}
    with (
        new_file(file) as scratch,
        scratch.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, data in {**texts, **inputs}.items():
            _add(tar, name, io.BytesIO(data), len(data))
        for name, one in names.items():
            with open_file(one) as opened:
                _add(tar, name, opened, os.fstat(opened.fileno()).st_size)
    return file


def verify_archive(file: str | Path, *, told: Callable[[str], None] = lambda _: None) -> Verified:
    """Run everything in an archive again and compare it with its results; `told` hears of each run.

    A run comes out the same if its events are in the same order, and its summary and its tables hold the same values.
    Raises `HeadwayError` for what is no archive, was changed, or is of another version, which has to be installed.
    """
    path = Path(file)
    with tempfile.TemporaryDirectory(prefix="headway-verify-") as folder:
        root = Path(folder)
        index = _unpacked(path, root)
        ours = (_headway.version(), _headway.epoch())
        if (index.get("version"), index.get("epoch")) != ours:
            made = f"made with Headway {index.get('version')} (epoch {index.get('epoch')})"
            hint = f"pip install headway=={index.get('version')}"
            raise ResultsError(path, f"was {made}, this is {ours[0]} (epoch {ours[1]})", hint)
        differing: dict[str, str] = {}
        for number, run in enumerate(index["runs"]):
            why = _again(root, run, root / f"again-{number}")
            told(f"{run['dir']}: {why or 'the same'}")
            if why:
                differing[str(run["dir"])] = why
        return Verified(path, len(index["runs"]) - len(differing), differing)


def _runs(path: Path) -> Iterator[tuple[str, Run]]:
    """Every finished run, by its place in the directory."""
    if (path / SWEEP_FILE).exists():
        for point in read_sweep(path):
            yield point.directory.relative_to(path).as_posix(), point.run
    elif (path / MANIFEST_FILE).exists():
        yield ".", Run(path)


def _is_scratch(place: Path) -> bool:
    return place.parts[0] in LEFT_OUT or any(part.endswith(PARTIAL) for part in place.parts)


def _written(run: Run) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Sources of a run: the text of its scenario with the folder in the archive, and the files that it names."""
    run.check()
    where = str(run.directory)
    if run.manifest.get("testbed") is not None or not isinstance(written := run.manifest.get("written"), dict):
        raise HeadwayError(f"{where}: only runs of the simulator can be made again from an archive")
    folder = Path(written["folder"])
    try:
        found = _scenario(written, folder)
    except HeadwayError as error:
        raise HeadwayError(f"{where} cannot be made again from what is written: {error}") from None
    if found.digest != run.manifest["digest"]:
        raise HeadwayError(f"{where} is another run now: its inputs, or the version of Headway, have changed")
    named = [one for one in inputs_of(folder / "scenario.toml", found.resolved)[1:] if one.is_file()]
    for one in named:
        if not str(one).startswith(str(folder)):
            hint = "write it relative to the scenario, and run it again"
            raise ResultsError(one, "is named by its absolute path, which no other machine has", hint)
    places = [Path(os.path.relpath(one, folder)) for one in named]
    above = max((place.parts.count("..") for place in places), default=0)
    base = PurePosixPath(INPUTS, *["in"] * above)
    names = [os.path.normpath(base / place.as_posix()) for place in places]
    return {**written, "folder": base.as_posix()}, {
        name: read_bytes(one) for name, one in zip(names, named, strict=True)
    }


def _scenario(written: Mapping[str, Any], folder: Path) -> Scenario:
    text, name, sets, scale = (written[key] for key in ("text", "name", "sets", "scale"))
    return Scenario.from_text(text, name, sets=list(sets), scale=scale, folder=folder)


def _again(root: Path, run: Mapping[str, Any], out: Path) -> str:
    """Difference when a run is made again; empty if there is none."""
    folder = root / run["written"]["folder"]
    folder.mkdir(parents=True, exist_ok=True)
    before = root / RESULTS / run["dir"]
    manifest = read_object(before / MANIFEST_FILE)
    scenario = _scenario(run["written"], folder)
    if scenario.digest != run["digest"] or manifest.get("digest") != run["digest"]:
        return "its scenario has another digest"
    again = scenario.run(out, progress=False, stored=False)
    if again.manifest["order_digest"] != manifest.get("order_digest"):
        return "its events are in another order"
    if again.summary != read_object(before / "summary.json"):
        return "its summary has other numbers"
    for name in TABLES:
        if not again._table(name).to_polars().equals(read_table(before / f"{name}.parquet")):
            return f"{name}.parquet has other values"
    return ""


def _unpacked(path: Path, root: Path) -> dict[str, Any]:
    """Unpack an archive, compare every file with its checksum, and return the archive's index."""
    try:
        with open_file(path) as opened, tarfile.open(fileobj=opened, mode="r:gz") as tar:
            needed, free = sum(one.size for one in tar), shutil.disk_usage(root).free
            if needed > free:
                raise ResultsError(path, f"needs {size(needed)} to be unpacked, and {root} has {size(free)}")
            tar.extractall(root, filter="data")
    except FileNotFoundError:
        raise ResultsError(path, "no such file") from None
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise ResultsError(path, f"is no archive that can be unpacked ({error})") from None
    index = read_object(root / INDEX) if (root / INDEX).is_file() else {}
    if index.get("format") != FORMAT or not isinstance(index.get("runs"), list):
        raise ResultsError(path, "is no archive of Headway, or of a later version", "`headway archive DIR` makes one")
    sums = index.get("sha256")
    if not isinstance(sums, dict):
        raise ResultsError(path, "is damaged: it has no checksums")
    for name, digest in sums.items():
        place = root / str(name)
        if not place.is_file() or hashlib.sha256(read_bytes(place)).hexdigest() != digest:
            raise ResultsError(path, f"was changed: {name} is not as it was archived")
    return index


def _add(tar: tarfile.TarFile, name: str, data: Any, count: int) -> None:  # noqa: ANN401  (what can be read)
    """A file whose owner and time say nothing, so that the same results give the same archive."""
    about = tarfile.TarInfo(name)
    about.size = count
    tar.addfile(about, data)


def _readme(path: Path, file: Path, runs: list[dict[str, Any]]) -> bytes:
    count = f"{len(runs)} run{'' if len(runs) == 1 else 's'}"
    text = f"""# {path.absolute().name}

Results of Headway {_headway.version()} (epoch {_headway.epoch()}): {count}.

- `results/` is the directory as it was: `headway report results` draws it.
- `inputs/` holds the files that the scenario names. Its text is in `archive.json`, with the overrides of each run.
- `archive.json` has the version, the environment, and the SHA-256 of every file.

To run everything again and compare it with what is here:

    pip install headway=={_headway.version()}
    headway verify {file.name}
"""
    return text.encode()
