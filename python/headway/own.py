"""Transports in Python by their place: `mine.py:Srpt` is the class `Srpt` of the file `mine.py`.

A scenario names them so, and processes that run its points import them by the same text.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from headway.data.toml import assignment, parsed
from headway.errors import HeadwayError, NameNotFound, nearest_paths
from headway.transport import Factory, Transport

PLACE = re.compile(r"(?P<file>[^\n\0:]+\.py):(?P<name>[A-Za-z_]\w*)")
# Classes of this process that no file has, such as those of a notebook, by the text that stands for their place.
HERE: dict[str, Factory] = {}


def named_in(text: str, sets: Sequence[str], folder: Path) -> dict[str, Factory]:
    """The transports that a scenario's text and overrides name by their places, which begin at `folder`.

    None of a text that is not TOML: the native module says better what is wrong with it.
    """
    # Each point of a sweep comes here, and to parse its scenario would take as long as to load it.
    if ".py:" not in text and not any(".py:" in one for one in sets):
        return {}
    found: dict[str, Factory] = {}
    try:
        document = parsed(text)
    except HeadwayError:
        document = {}
    for value in texts_in([document, *(assignment(one)[1] for one in sets)]):
        if (place := PLACE.fullmatch(value)) and value not in found:
            found[value] = imported(folder / place["file"], place["name"])
    return found


def imported(file: Path, name: str) -> Factory:
    """The class of this name in a file; raises `HeadwayError` if there is none, or if it is not a transport."""
    module = _module(file)
    found = getattr(module, name, None)
    classes = [
        one for one, value in vars(module).items() if _is_transport(value) and value.__module__ == module.__name__
    ]
    if found is None:
        there = f"{file} has the transports {', '.join(classes)}" if classes else f"{file} has no class of that kind"
        raise NameNotFound("transport in Python", name, classes, there)
    if not _is_transport(found):
        raise HeadwayError(f"{file}: `{name}` is not made from headway.Transport")
    return found  # type: ignore[no-any-return]


def place_of(name: str, factory: Factory) -> str:
    """Text by which a process imports a class: its file and name; of a class that none can import, a word of here."""
    module = inspect.getmodule(factory)
    file = getattr(module, "__file__", None)
    own = getattr(factory, "__qualname__", "")
    importable = file is not None and module is not None and module.__name__ != "__main__"
    if importable and getattr(module, own, None) is factory:
        return f"{Path(str(file)).resolve()}:{own}"
    HERE[name] = factory
    return f":{name}"


def at_place(place: str) -> Factory:
    """The class that `place_of` gave a text for."""
    if place.startswith(":"):
        return HERE[place[1:]]
    file, _, name = place.rpartition(":")
    return imported(Path(file), name)


def _module(file: Path) -> ModuleType:
    """The module of a file, as this process has imported it."""
    path = file.resolve()
    if not path.is_file():
        raise HeadwayError(f"{file}: no such file{nearest_paths(file, '.py')}")
    key = f"headway_own_{re.sub(r'[^0-9A-Za-z]', '_', str(path))}"
    stamp = path.stat().st_mtime_ns
    known = sys.modules.get(key)
    if known is not None and getattr(known, "__headway_stamp__", None) == stamp:
        return known
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        raise HeadwayError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    # Files that it imports lie next to it.
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[key]
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise HeadwayError(f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(str(path.parent))
    module.__headway_stamp__ = stamp  # type: ignore[attr-defined]
    return module


def _is_transport(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Transport) and value is not Transport


def texts_in(value: object) -> Iterator[str]:
    """Every text in a value that TOML can hold."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, Sequence):
        for one in value:
            yield from texts_in(one)
