"""`headway new`: a scenario or a transport to begin with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import click

from headway.cli.echo import echo
from headway.cli.options import ScenarioParameter
from headway.data.toml import parsed
from headway.errors import HeadwayError, ResultsError
from headway.files import write_text
from headway.names import ScenarioFile

SUFFIX = ".toml"
# Of a transport in Python.
PYTHON = ".py"


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "origin",
    type=ScenarioParameter(),
    metavar="NAME",
    help="Copy this scenario with its comments, and the files that it names; default: a small one.",
)
def new(file: Path, origin: ScenarioFile | None) -> None:
    """Begin a scenario (FILE.toml), or a transport in Python (FILE.py).

    The scenario is a small one whose comments explain each part, or a copy of one that Headway has. The transport is a
    class to change, with a fixed window (docs/python-transport.md). Nothing is overwritten.
    """
    if file.suffix == PYTHON and origin is not None:
        raise HeadwayError(f"--from copies a scenario, and {file} is a transport in Python: give a {SUFFIX} file")
    if file.suffix not in (SUFFIX, PYTHON):
        wanted = f"{file}{SUFFIX}" if file.name else f"mine{SUFFIX}"
        raise HeadwayError(f"{file}: a scenario is a file whose name ends in {SUFFIX}\n  help: {wanted}")
    if file.exists():
        raise ResultsError(file, "is there already, and nothing is overwritten", "choose another name, or remove it")
    if not file.parent.is_dir():
        raise ResultsError(file, "cannot be written: its directory is not there", f"mkdir -p {file.parent}")
    if file.suffix == PYTHON:
        write_text(file, (resources.files("headway") / "templates" / "transport.py").read_text(encoding="utf-8"))
        echo(f"{file}: a transport; a scenario beside it names it {file.name}:Template")
        echo(
            f"next: change it; check it: python -c 'import headway, {file.stem}; headway.check({file.stem}.Template)';"
            " run it beside others: headway docs python-transport#sweep-it",
            err=True,
        )
        return
    if origin is None:
        text = (resources.files("headway") / "templates" / "scenario.toml").read_text(encoding="utf-8")
        beside: list[Path] = []
    else:
        text = origin.path.read_text(encoding="utf-8")
        beside = _copy_named(text, origin.path.parent, file.parent)
    write_text(file, text.replace("FILE", str(file)) if origin is None else text)
    echo(f"{file}: " + ("a small scenario" if origin is None else f"a copy of {origin.name}"))
    for path in beside:
        echo(f"{path}: a file that it names")
    echo(f"next: headway show {file}; headway run {file} --out out/{file.stem}", err=True)


def _copy_named(text: str, folder: Path, to: Path) -> list[Path]:
    """Copy the files next to a scenario that it names; returns the copies. Raises if another file is in the way."""
    named = sorted({value for value in _texts(parsed(text)) if _is_beside(value, folder)})
    copies = [(folder / name, to / name) for name in named]
    for source, copy in copies:
        if copy.exists() and copy.read_bytes() != source.read_bytes():
            why = f"is there already and differs from the file of that name that {source.parent} has"
            raise ResultsError(copy, why, "choose another directory")
    for source, copy in copies:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    return [copy for _, copy in copies]


def _is_beside(value: str, folder: Path) -> bool:
    """True if a value of a scenario names a file in its folder or below."""
    path = Path(value)
    if path.is_absolute() or ".." in path.parts or not path.suffix or "\n" in value:
        return False
    return (folder / path).is_file()


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401  (what TOML holds)
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


COMMAND = new
