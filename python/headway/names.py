"""From a user's word to a scenario file: a path, a name such as `amrt/fig01-multi-bottleneck`, or a
prefix that only one name has."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from headway import _headway
from headway.data.toml import parsed
from headway.errors import HeadwayError, NameNotFound, ResultsError, did_you_mean, nearest, nearest_paths, with_help
from headway.inputs import read_text

ROOTS_VARIABLE = "HEADWAY_SCENARIOS"
CLAIMS_FILE = "claims.toml"
EXPECTATIONS_FILE = "expectations.toml"
VERDICTS_FILE = "verdicts.json"
# A figure of a paper by its number, as scenarios are named.
_FIGURE = re.compile(r"([\w-]+/fig)(\d+)(?!\d)")
PEER_FILE = "peer.toml"
VARIANTS_FILE = "variants.toml"
TESTBED_FILE = "testbed.json"


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario file and the name it goes by."""

    name: str
    path: Path

    @property
    def claims(self) -> Path:
        """The claims of the same paper, a file which need not exist."""
        return self.path.parent / CLAIMS_FILE

    @property
    def expectations(self) -> Path:
        """File of expectations beyond the paper's claims, which need not exist."""
        return self.path.parent / EXPECTATIONS_FILE


def roots() -> list[Path]:
    """Directories that hold scenarios, first found first used: the variable, here and above, the installation."""
    candidates = [Path(p) for p in os.environ.get(ROOTS_VARIABLE, "").split(os.pathsep) if p]
    here = Path.cwd()
    candidates += [folder / "scenarios" for folder in (here, *here.parents)]
    candidates.append(Path(__file__).resolve().parent / "scenarios")
    found: list[Path] = []
    for candidate in candidates:
        if candidate.is_dir() and candidate.resolve() not in found:
            found.append(candidate.resolve())
    return found


def looked_in() -> str:
    """Directories that are searched for scenarios, in words."""
    places = ", ".join(str(root) for root in roots())
    variable = f"{ROOTS_VARIABLE} names further directories"
    if not places:
        return f"no directory `scenarios` is here, above here, or in the package; {variable}"
    return f"scenarios are looked for in {places}; {variable}"


def known_scenarios() -> dict[str, ScenarioFile]:
    """Every scenario that can be named, by name."""
    found: dict[str, ScenarioFile] = {}
    for file in _files():
        if file.name not in found and _is_scenario(file.path):
            found[file.name] = file
    return found


def _files() -> Iterator[ScenarioFile]:
    """Every file that may be a scenario; of one name, the first that is one counts."""
    for root in roots():
        for path in sorted(root.rglob("*.toml")):
            yield ScenarioFile(path.relative_to(root).with_suffix("").as_posix(), path)


def _called(name: str) -> ScenarioFile | None:
    """The scenario of exactly this name, found without a look into the files of others."""
    return next((file for file in _files() if file.name == name and _is_scenario(file.path)), None)


def resolve(text: str) -> ScenarioFile:
    """The scenario that `text` means; raises `NameNotFound`, or `HeadwayError` if it means several."""
    if not text.strip():
        raise HeadwayError("an empty name is no scenario" + with_help("headway list examples", "headway list figures"))
    path = Path(text)
    if path.is_file():
        return ScenarioFile(_name_of(path.resolve()), path)
    if path.is_dir():
        inside = [n for n, s in known_scenarios().items() if s.path.is_relative_to(path.resolve())]
        listing = f"\n  it holds: {', '.join(inside)}" if inside else ""
        raise HeadwayError(f"{text} is a directory, not a scenario{listing}")
    if exactly := _called(text):
        return exactly
    known = known_scenarios()
    matches = _of_figure(text, known) or [name for name in known if name.startswith(text)]
    if len(matches) == 1:
        return known[matches[0]]
    if matches:
        raise HeadwayError(f"'{text}' is the start of several scenarios: {', '.join(matches)}")
    if path.suffix == ".toml" or (path.suffix and nearest_paths(path, ".toml")):
        raise HeadwayError(f"{text}: no such file{_nearest_files(path, known)}")
    if (file := path.with_name(f"{path.name}.toml")).is_file():
        raise HeadwayError(f"no scenario is called '{text}'" + with_help(did_you_mean([str(file)])))
    if kind := other_kind(text):
        raise HeadwayError(f"no scenario is called '{text}'\n  help: {kind}")
    if not known:
        raise HeadwayError(f"no scenario is called '{text}', and there is none at all\n  help: {looked_in()}")
    raise NameNotFound("scenario", text, known, "all names: headway list figures, headway list examples")


# Things that scenarios name: the list that has them, their word, and the key of a scenario.
_KINDS = (
    ("transports", "a transport", '[transport] name = "{}"'),
    ("disciplines", "a port discipline", '[fabric] discipline = "{}"'),
    ("topologies", "a topology", '[topology] kind = "{}"'),
    ("traffic", "a pattern of traffic", '[[traffic]] kind = "{}"'),
    ("workloads", "a flow-size distribution", '[[traffic]] kind = "poisson", cdf = "{}"'),
)


def other_kind(text: str) -> str:
    """Kind of a name that belongs to something in a scenario instead of to a scenario; empty for any other."""
    for thing, kind, place in _KINDS:
        if any(entry["name"] == text for entry in json.loads(_headway.catalogue(thing))):
            return f"{text} is {kind}: {place.format(text)} (headway list {thing} {text})"
    return ""


def _of_figure(text: str, known: Iterable[str]) -> list[str]:
    """The scenarios of the figure that `text` numbers: `amrt/fig1` is `amrt/fig01-...`, not the start of `fig11`."""
    asked = _FIGURE.fullmatch(text)
    if asked is None:
        return []
    folder, number = asked.groups()
    found = ((name, _FIGURE.match(name)) for name in known)
    return [name for name, its in found if its and (its[1], int(its[2])) == (folder, int(number))]


def _nearest_files(path: Path, known: Mapping[str, ScenarioFile]) -> str:
    """The files in the folder of `path` with a similar name, or else scenarios with one."""
    if beside := nearest_paths(path, ".toml"):
        return beside
    close = nearest(path.with_suffix("").as_posix(), known) or nearest(path.stem, known)
    return with_help(did_you_mean(close)) if close else ""


def _name_of(path: Path) -> str:
    for root in roots():
        if path.is_relative_to(root):
            return path.relative_to(root).with_suffix("").as_posix()
    return path.stem


def _is_scenario(path: Path) -> bool:
    """Folders of scenarios hold claims, peers, variants, topologies. A file that is not TOML counts: running it says
    why."""
    if path.name in (CLAIMS_FILE, EXPECTATIONS_FILE, PEER_FILE, VARIANTS_FILE):
        return False
    status = path.stat()
    return _reads_as_scenario(path, status.st_mtime_ns, status.st_size)


# Every look-up of a name asks it of every file, which changes with its time or its size.
@lru_cache(maxsize=4096)
def _reads_as_scenario(path: Path, _changed_ns: int, _bytes: int) -> bool:
    try:
        document = parsed(read_text(path))
    except (OSError, ResultsError):
        return True
    # A topology counts its hosts; the `[hosts]` of a scenario is a table.
    return "link" not in document and not isinstance(document.get("hosts"), int)
