"""No two files of a crate or of the Python package need each other, however many are between, and floors are kept."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"
PACKAGE = Path(__file__).resolve().parents[2] / "python/headway"
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


def python_needs(package: Path) -> dict[Module, set[Module]]:
    """By module of a Python package, the modules of the same package that it imports, also inside of functions."""
    every = {_python_name(package, path): path for path in sorted(package.rglob("*.py"))}
    graph: dict[Module, set[Module]] = {}
    for module, path in every.items():
        folder = module if path.name == "__init__.py" else module[:-1]
        graph[module] = set()
        for base, names in _imports(ast.parse(path.read_text("utf-8")), package.name, folder):
            for name in names or ("",):
                target = (*base, name) if (*base, name) in every else base
                if target in every and target != module and target != module[: len(target)]:
                    graph[module].add(target)
    return graph


def _python_name(package: Path, path: Path) -> Module:
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _imports(tree: ast.Module, package: str, folder: Module) -> list[tuple[Module, tuple[str, ...]]]:
    """What is imported from inside of the package: the module, and the names taken from it."""
    typing = {node for block in ast.walk(tree) if _is_for_types(block) for node in ast.walk(block)}
    found: list[tuple[Module, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if node in typing:
            continue
        if isinstance(node, ast.ImportFrom):
            inner = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                found.append(((*folder[: len(folder) + 1 - node.level], *inner), tuple(a.name for a in node.names)))
            elif inner[:1] == (package,):
                found.append((inner[1:], tuple(a.name for a in node.names)))
        elif isinstance(node, ast.Import):
            found += [(tuple(a.name.split("."))[1:], ()) for a in node.names if a.name.split(".")[0] == package]
    return found


def _is_for_types(node: ast.AST) -> bool:
    """Whether this is `if TYPE_CHECKING:`, whose imports nobody runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


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
    assert circle(by_folder(needs(CRATES / crate / "src"))) is None


def by_folder(graph: Mapping[Module, set[Module]]) -> dict[Module, set[Module]]:
    """The same between folders, a file at the top being one of its own."""
    folders: dict[Module, set[Module]] = {}
    for module, others in graph.items():
        targets = {other[:1] for other in others} - {module[:1]}
        folders.setdefault(module[:1], set()).update(targets)
    return folders


def test_no_two_files_of_the_package_need_each_other() -> None:
    assert circle(python_needs(PACKAGE)) is None


def test_no_two_folders_of_the_package_need_each_other() -> None:
    assert circle(by_folder(python_needs(PACKAGE))) is None


def test_a_circle_of_python_is_found(tmp_path: Path) -> None:
    package = tmp_path / "headway"
    (package / "b").mkdir(parents=True)
    (package / "a.py").write_text("from headway.b.c import thing\n", "utf-8")
    (package / "b/__init__.py").write_text("from .c import thing\n", "utf-8")
    (package / "b/c.py").write_text("def thing():\n    from headway import d\n", "utf-8")
    (package / "d.py").write_text("if TYPE_CHECKING:\n    import headway.a\n", "utf-8")
    assert python_needs(package)["b", "c"] == {("d",)}
    assert circle(by_folder(python_needs(package))) is None
    (package / "d.py").write_text("import headway.a\n", "utf-8")
    assert circle(python_needs(package)) is not None
    assert circle(by_folder(python_needs(package))) is not None


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


# Crates that a crate names in these files only: the lab stands on the network, and one file of it runs the simulator.
ONLY_IN = {("lab", "headway_sim"): {"run.rs"}}


@pytest.mark.parametrize(("crate", "named_crate"), ONLY_IN)
def test_a_crate_is_named_in_its_place_only(crate: str, named_crate: str) -> None:
    source = CRATES / crate / "src"
    naming = {
        str(path.relative_to(source))
        for path in source.rglob("*.rs")
        if re.search(rf"\b{named_crate}\b", re.sub(r"//.*", "", path.read_text("utf-8")))
    }
    assert naming == ONLY_IN[crate, named_crate]
