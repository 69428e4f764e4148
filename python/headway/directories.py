"""Result directories: the owner of their results, and the traces of an earlier command.

Results are never overwritten by those of another scenario unless somebody asks for it, and only files that Headway
writes are ever removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway import _headway
from headway.checksums import is_damaged
from headway.data.nested import flat
from headway.data.reader import glance
from headway.errors import HeadwayError, ResultsError
from headway.files import keep_inputs, writable_directory
from headway.layout import (
    BRIEF_FILE,
    CHECKSUMS_FILE,
    CLAIMS_FILE,
    DRAWN,
    DRAWN_FORMATS,
    EXPECTATIONS_FILE,
    LOCKS,
    MANIFEST_FILE,
    OF_RESULTS,
    PARTIAL,
    POINT_FILE,
    POINTS,
    REPORT_FILE,
    RUN_FILES,
    SCENARIO_FILE,
    SWEEP_FILE,
)
from headway.reporting.figures import NAMES as FIGURES

# Keys that differ and are named, at most, and those on which no result depends.
KEYS_TOLD = 3
UNSET = (None, "none")
NO_RESULT = ("name", "title", "description", "paper", "report")
# A run writes its tables first. Without them, files of these names were made by something else.
_FIRST_WRITTEN = (MANIFEST_FILE, SWEEP_FILE, "flows.parquet")
_AFTER_TABLES = ("flows.csv", "summary.json", CHECKSUMS_FILE)
_STEMS = frozenset(Path(name).stem for name in OF_RESULTS)
REMEDY = "choose another directory, or overwrite it with --force (in Python: overwrite=True)"


def directory_of(out: str | Path) -> Path:
    """`out` as a path; an empty text, mostly an unset variable of a shell, names no directory."""
    if not str(out) or not str(out).strip():
        raise HeadwayError("an empty name is no directory; write . for the working directory")
    return Path(out)


def inputs_of(path: Path | None, scenario: Mapping[str, Any]) -> tuple[Path, ...]:
    """The files that a scenario is read from: its own, and those that its values name."""
    folder = Path() if path is None else path.parent
    named = (folder / text for text in _texts(scenario) if "\n" not in text and "\0" not in text)
    return (*(() if path is None else (path,)), *named)


def keep_foreign(out: Path, inputs: Iterable[Path] = (), *, overwrite: bool = False) -> None:
    """Raise `ResultsError` if `out` holds a file that Headway did not write, with the name of the first one.

    A name that results have does not make a file one of Headway's: one beside which no table lies, as a run writes it
    first, is somebody else's. `overwrite` admits such files, and the `inputs` of the command not even then.
    """
    if not out.is_dir():
        return
    held = sorted(out.iterdir())
    keep_inputs([path for path in held if path.name in OF_RESULTS], inputs)
    if overwrite:
        return
    names = {path.name for path in held}
    of_run = not names.isdisjoint(_FIRST_WRITTEN)
    for path in held:
        own = path.name.removeprefix(".")
        scratch = path.name.startswith(".") and (own == "headway-probe" or own.split(".")[0] in _STEMS)
        if not scratch and (path.name not in OF_RESULTS or (path.name in _AFTER_TABLES and not of_run)):
            raise ResultsError(path, f"was not written by Headway; {REMEDY}")


def prepare_run(
    out: str | Path,
    digest: str,
    *,
    inputs: Iterable[Path] = (),
    overwrite: bool = False,
    real: Mapping[str, Any] | None = None,
) -> None:
    """Make `out` ready for the run that `digest` identifies; in the simulator, or on `real` packets.

    Raises `ResultsError` if it cannot be written, or holds a sweep or the finished results of another run and
    `overwrite` is false. A run on real packets is another one than that of the same scenario in the simulator, and than
    one on real packets under other conditions: `real` names those as `testbed` of a manifest has them.
    The report and the figures of an earlier run go; the run itself replaces the other files. What else the directory
    holds is refused by `keep_foreign`.
    """
    path = directory_of(out)
    inputs = tuple(inputs)
    keep_inputs((path / name for name in OF_RESULTS), inputs)
    if (path / SWEEP_FILE).exists():
        if not overwrite:
            raise ResultsError(path, f"holds a sweep of {_held_by_sweep(path)}; {REMEDY}")
        _clear_sweep(path)
    elif (path / MANIFEST_FILE).exists() and not overwrite:
        _refuse_other_run(path, digest, real=real)
    keep_foreign(path, inputs, overwrite=overwrite)
    writable_directory(path)
    drop_derived(path)


def clear_run(out: Path) -> None:
    """Remove the files of a run, for one that takes their place without writing all of them."""
    _remove(out, RUN_FILES)


def prepare_sweep(
    out: Path,
    wanted: Mapping[str, str],
    scenario: Mapping[str, Any],
    *,
    inputs: Iterable[Path] = (),
    overwrite: bool,
    resolved: Callable[[str], Mapping[str, Any]] | None = None,
) -> None:
    """Make `out` ready for a sweep, or raise `ResultsError` as `prepare_run` does.

    `wanted` holds the digest of every point by the name of its folder, and `resolved` gives the scenario of one with
    every default, so that a message can say in which keys it differs. Finished points that are wanted are kept:
    the sweep goes on from them. If a finished point is of another run than the one wanted in its place, or none is
    wanted at all, the directory is of another sweep.
    """
    directory_of(out)
    inputs = tuple(inputs)
    keep_inputs((out / name for name in OF_RESULTS), inputs)
    finished = finished_points(out)
    kept = [name for name, digest in finished.items() if wanted.get(name) == digest]
    replaced = [name for name, digest in finished.items() if wanted.get(name, digest) != digest]
    other_model = not finished and _holds_other_model(out, scenario)
    if (out / MANIFEST_FILE).exists():
        if not overwrite:
            raise ResultsError(out, f"holds a run of {_held_by_run(out)}; {REMEDY}")
        _remove(out, RUN_FILES)
    if replaced or other_model or (finished and not kept):
        if not overwrite:
            known = [name for name in replaced if name in wanted]
            changed = _changed(out / POINTS / known[0], resolved(known[0])) if known and resolved else ""
            raise ResultsError(out, f"{_what_is_held(out, len(finished), scenario, changed)}; {REMEDY}")
        drop_derived(out)
        for name in finished.keys() - wanted.keys():
            _clear_point(out / POINTS / name)
    keep_foreign(out, inputs, overwrite=overwrite)
    writable_directory(out / POINTS)


def finished_points(out: Path) -> dict[str, str]:
    """The digests of the finished points that a directory holds, by the name of their folder."""
    found: dict[str, str] = {}
    for record in sorted((out / POINTS).glob(f"*/{POINT_FILE}")):
        value = glance(record)
        digest = value.get("digest") if isinstance(value, dict) else None
        if is_damaged(record.parent, POINT_FILE):
            continue
        if digest and (record.parent / MANIFEST_FILE).exists() and not record.parent.name.endswith(PARTIAL):
            found[record.parent.name] = str(digest)
    return found


def drop_derived(out: Path) -> None:
    """Remove files that were made from results that are about to change: verdicts, the report, drawn figures."""
    _remove(out, (CLAIMS_FILE, EXPECTATIONS_FILE, REPORT_FILE, BRIEF_FILE))
    drawn = out / DRAWN
    if drawn.is_dir():
        for path in drawn.iterdir():
            if path.suffix in DRAWN_FORMATS and (path.stem in FIGURES or path.stem.startswith("series-")):
                path.unlink()
        _remove_if_empty(drawn)


def clear_locks(out: Path) -> None:
    """Remove the locks of a sweep, which no process holds."""
    locks = out / LOCKS
    if locks.is_dir():
        _remove(locks, tuple(path.name for path in locks.iterdir()))
        _remove_if_empty(locks)


def _refuse_other_run(path: Path, digest: str, *, real: Mapping[str, Any] | None) -> None:
    """Raise if the manifest is of another finished run, or not one of ours."""
    manifest = glance(path / MANIFEST_FILE)
    if not isinstance(manifest, dict) or "digest" not in manifest:
        raise ResultsError(path, f"holds a {MANIFEST_FILE} that is damaged, or not of a run of Headway; {REMEDY}")
    if manifest.get("interrupted"):
        return
    if manifest["digest"] != digest:
        raise ResultsError(path, f"holds the results of another run, {_held_by_run(path)}; {REMEDY}")
    measured = manifest.get("testbed")
    if (measured is None) != (real is None):
        held = "of the simulator" if measured is None else "on real packets"
        raise ResultsError(path, f"holds results {held} of {_held_by_run(path)}; {REMEDY}")
    if real is not None and (other := _other_conditions(measured, real)):
        raise ResultsError(path, f"holds results of {_held_by_run(path)} with {other}; {REMEDY}")


def _other_conditions(measured: object, real: Mapping[str, Any]) -> str:
    """In which conditions a run on real packets differs from the one that is wanted; empty if in none."""
    held = measured if isinstance(measured, dict) else {}
    differing = [key for key, value in real.items() if key not in held or held[key] != value]
    return ", ".join(f"{key} {_shown(held.get(key))} instead of {_shown(real[key])}" for key in differing)


def _texts(value: object) -> Iterator[str]:
    """Every text in a nested value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _shown(value: object) -> str:
    words = {None: "unknown", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _held_by_run(path: Path) -> str:
    manifest = glance(path / MANIFEST_FILE)
    if not isinstance(manifest, dict) or "digest" not in manifest:
        return "something unknown"
    name = str(manifest.get("name") or "an unnamed scenario")
    scenario = manifest.get("scenario")
    names = _transports(scenario) if isinstance(scenario, dict) else []
    with_transport = f" with {' and '.join(names)}" if names else ""
    return f"{name}{with_transport}, seed {manifest.get('seed', '?')}"


def _transports(scenario: dict[str, Any]) -> list[str]:
    """The names of its transports, each once."""
    listed = scenario.get("transports") or [scenario.get("transport")]
    return list(dict.fromkeys(one["name"] for one in listed if isinstance(one, dict) and "name" in one))


def _held_by_sweep(path: Path) -> str:
    count = len(finished_points(path))
    return f"{_scenario_name(path)} ({count} finished point{'' if count == 1 else 's'})"


def _changed(point: Path, now: Mapping[str, Any]) -> str:
    """In which keys a finished point is of another scenario, or that it is of another version; empty if neither."""
    manifest = glance(point / MANIFEST_FILE)
    then = manifest.get("scenario") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or not isinstance(then, dict):
        return ""
    before, after = (
        {key: value for key, value in flat(dict(one)) if key.partition(".")[0] not in NO_RESULT and value not in UNSET}
        for one in (then, now)
    )
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    said = [f"{key} {_shown_key(before, key)}, now {_shown_key(after, key)}" for key in keys[:KEYS_TOLD]]
    if len(keys) > KEYS_TOLD:
        said.append(f"{len(keys) - KEYS_TOLD} keys more")
    made_by = [(manifest.get("version"), manifest.get("epoch")), (_headway.version(), _headway.epoch())]
    if made_by[0] != made_by[1]:
        said.append("Headway {} (epoch {}), now {} (epoch {})".format(*made_by[0], *made_by[1]))
    return f"{point.name} had {'; '.join(said)}" if said else ""


def _shown_key(scenario: Mapping[str, Any], key: str) -> str:
    return json.dumps(scenario[key], ensure_ascii=False) if key in scenario else "not set"


def _what_is_held(out: Path, count: int, scenario: Mapping[str, Any], changed: str = "") -> str:
    name = _scenario_name(out)
    things = f"{count} finished point{'' if count == 1 else 's'}" if count else "the results"
    if name == scenario.get("name"):
        why = changed or "its file, scale, --set or Headway's version differ now"
        return f"holds {things} of {name} as it was then ({why})"
    return f"holds {things} of {name}, not of {scenario.get('name')}"


def _scenario_name(out: Path) -> str:
    value = glance(out / SCENARIO_FILE)
    return str(value.get("name") or "a scenario") if isinstance(value, dict) else "a scenario"


def _holds_other_model(out: Path, scenario: Mapping[str, Any]) -> bool:
    """True if these are the verdicts of another scenario, which runs nothing."""
    held = glance(out / SCENARIO_FILE)
    if not isinstance(held, dict) or glance(out / SWEEP_FILE) != [] or not (out / CLAIMS_FILE).exists():
        return False
    return any(held.get(key) != scenario.get(key) for key in ("name", "model"))


def _clear_sweep(out: Path) -> None:
    for point in sorted((out / POINTS).glob("*")):
        _clear_point(point)
    _remove_if_empty(out / POINTS)
    clear_locks(out)
    _remove(out, (SWEEP_FILE, SCENARIO_FILE))


def _clear_point(point: Path) -> None:
    if point.is_dir() and not point.is_symlink():
        _remove(point, (*RUN_FILES, POINT_FILE))
        drop_derived(point)
        _remove_if_empty(point)


def _remove(folder: Path, files: tuple[str, ...]) -> None:
    for name in files:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise ResultsError(folder / name, f"cannot be removed ({error.strerror or error})") from None


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
