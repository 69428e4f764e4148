"""No two Rust files of a crate need each other, however many are between, and no two folders do."""

from __future__ import annotations

import graphlib
import re
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"
Module = tuple[str, ...]


def modules(source: Path) -> dict[Module, str]:
    """Each module of a crate with its text, without comments and without its tests."""
    found: dict[Module, str] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        name = parts[:-1] if parts[-1] == "mod" else parts
        text = re.sub(r"//.*", "", path.read_text("utf-8")).split("#[cfg(test)]\nmod ")[0]
        if name not in (("lib",), ("main",)) and name[-1] != "tests":
            found[name] = text
    return found


def named(text: str) -> set[tuple[str, ...]]:
    """Every path that begins with `crate`, `super` or `self`; those in braces one by one."""
    paths = {tuple(match.split("::")) for match in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", text)}
    for base, inner in re.findall(r"\b((?:crate|super|self)(?:::\w+)*)::\{([^;]*?)\}", text):
        paths |= {(*base.split("::"), *part.strip().split("::")) for part in inner.split(",")}
    return paths


def needs(source: Path) -> dict[Module, set[Module]]:
    """By module, the modules of the same crate that it names. A module may name what is inside of it."""
    every = modules(source)
    graph: dict[Module, set[Module]] = {}
    for module, text in every.items():
        graph[module] = set()
        for first, *rest in named(text):
            steps = list(rest)
            here = {"crate": (), "self": module, "super": module[:-1]}[first]
            while steps[:1] == ["super"]:
                here, steps = here[:-1], steps[1:]
            target: Module = (*here, *steps)
            while target and target not in every:
                target = target[:-1]
            if target and target != module and target != module[: len(target)]:
                graph[module].add(target)
    return graph


def circle(graph: dict[Module, set[Module]]) -> str | None:
    """Modules that need each other in a circle, if there are any."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " needs ".join("/".join(module) for module in reversed(error.args[1]))
    return None


NAMES = sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml"))


@pytest.mark.parametrize("crate", NAMES)
def test_no_two_files_need_each_other(crate: str) -> None:
    graph = needs(CRATES / crate / "src")
    assert circle(graph) is None


@pytest.mark.parametrize("crate", NAMES)
def test_no_two_folders_need_each_other(crate: str) -> None:
    folders: dict[Module, set[Module]] = {}
    for module, others in needs(CRATES / crate / "src").items():
        targets = {other[:1] for other in others} - {module[:1]}
        folders.setdefault(module[:1], set()).update(targets)
    assert circle(folders) is None


def test_a_circle_is_found(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.rs").write_text("use crate::b::Thing;\n", "utf-8")
    (tmp_path / "b/mod.rs").write_text("mod c;\npub use c::Thing;\n", "utf-8")
    (tmp_path / "b/c.rs").write_text("use crate::{\n    other::X,\n    a::Y,\n};\n", "utf-8")
    assert needs(tmp_path)["b", "c"] == {("a",)}
    assert circle(needs(tmp_path)) is None
    (tmp_path / "b/mod.rs").write_text("use crate::a; // crate::nothing\n", "utf-8")
    (tmp_path / "a.rs").write_text("fn f() -> crate::b::c::Thing {}\n", "utf-8")
    found = circle(needs(tmp_path))
    assert found is not None
    assert {"a", "b/c"} <= set(found.split(" needs "))
