"""No two files of a crate or of the Python package need each other, however many are between, and floors are kept.

Names of the root of the package count, as `from headway import __version__` runs the root; and types go in a circle
through one file alone.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"
PACKAGE = Path(__file__).resolve().parents[2] / "python/headway"
Module = tuple[str, ...]


# A module of unit tests, up to its last line; one that lies in a file of its own is left.
TESTS = re.compile(r"^#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{.*?^\}", re.MULTILINE | re.DOTALL)
USE = re.compile(r"\buse\s+([\w:{][^;]*);")
# A registry that declares the files of a folder and hands on a type of each: `kinds! { file::Type, ... }`.
REGISTRY = re.compile(r"^\w+! \{\s*((?:\w+::\w+,\s*)+)\}", re.MULTILINE)


def modules(source: Path) -> dict[Module, str]:
    """Each module of a crate, `()` being the crate itself, with its text, without comments and without its tests."""
    found: dict[Module, str] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        name = parts[:-1] if parts[-1] == "mod" else parts
        root = name in (("lib",), ("main",))
        if name[-1] != "tests" and not (root and () in found):
            text = re.sub(r"//.*", "", path.read_text("utf-8"))
            found[() if root else name] = TESTS.sub("", text)
    return found


def leaves(tree: str) -> list[tuple[Module, str]]:
    """Every path in the text behind `use`, with the name that it gets: `a::{b, c::{self, d as e}}` has three."""
    base, brace, inner = tree.partition("{")
    path = tuple(re.findall(r"\w+", base.partition(" as ")[0]))
    if not brace:
        path = path[:-1] if path[-1:] == ("self",) and len(path) > 1 else path
        alias = re.search(r" as (\w+)", base)
        return [(path, alias[1] if alias else path[-1])] if path else []
    found: list[tuple[Module, str]] = []
    depth, start = 0, 0
    for at, sign in enumerate(inner):
        depth += (sign == "{") - (sign == "}")
        if depth < 0 or (depth == 0 and sign == ","):
            parts = leaves(inner[start:at].strip())
            found += [(path, path[-1]) if part == ("self",) else ((*path, *part), name) for part, name in parts]
            start = at + 1
    return found


def named(text: str) -> set[Module]:
    """Every path that begins with `crate`, `super` or `self`; those in braces one by one."""
    paths = {tuple(match.split("::")) for match in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", USE.sub("", text))}
    used = {path for tree in USE.findall(text) for path, _ in leaves(tree)}
    return paths | {path for path in used if path[0] in ("crate", "super", "self")}


def absolute(module: Module, path: Module) -> Module:
    """A path that a module names, from the crate on; one without a beginning is inside of the module, or elsewhere."""
    if path[:1] == ("crate",):
        return path[1:]
    here = module
    steps = path[1:] if path[:1] == ("self",) else path
    while steps[:1] == ("super",):
        here, steps = here[:-1], steps[1:]
    return (*here, *steps)


def exports(every: Mapping[Module, str]) -> dict[Module, Module]:
    """Names by which modules export items of other modules: that name as a path, and what it stands for.

    Where a module has the same name, a path through that name goes on to the module.
    """
    found: dict[Module, Module] = {}
    for module, text in every.items():
        listed = [tuple(line.strip().split("::")) for match in REGISTRY.findall(text) for line in match.split(",")[:-1]]
        kinds = [(path, path[-1]) for path in listed if (*module, path[0]) in every]
        for path, name in [*(leaf for tree in USE.findall(text) for leaf in leaves(tree)), *kinds]:
            target = absolute(module, path)
            inside = path[0] in ("crate", "super", "self") or target[: len(module) + 1] in every
            if inside and (*module, name) not in every:
                found[*module, name] = target
    return found


def owner(path: Module, every: Mapping[Module, str], others: Mapping[Module, Module]) -> Module:
    """The module in whose file the thing of a path is, however many modules hand it on."""
    for _ in others:
        handed = next((n for n in range(1, len(path) + 1) if path[:n] in others), None)
        if handed is None:
            break
        path = (*others[path[:handed]], *path[handed:])
    while path and path not in every:
        path = path[:-1]
    return path


def needs(source: Path) -> dict[Module, set[Module]]:
    """By module, the modules of the same crate that it needs, be it through what others re-export.

    A module and what is inside of it are one: `mod.rs` may name the files of its folder, and these may name what
    `mod.rs` says itself. So a circle of a file and its own folder is none. What `mod.rs` only hands on from a
    file of the folder is that file's, and the files of a folder must not need each other.
    """
    every = modules(source)
    others = exports(every)
    graph: dict[Module, set[Module]] = {module: set() for module in every if module}
    for module in graph:
        for path in named(every[module]):
            target = owner(absolute(module, path), every, others)
            if target not in (module, module[: len(target)]) and target[: len(module)] != module:
                graph[module].add(target)
    return graph


@functools.cache
def needs_of_package(*, typing: bool = False) -> dict[Module, set[Module]]:
    """Needs of the package's modules, read once for all tests."""
    return python_needs(PACKAGE, typing=typing)


def python_needs(package: Path, *, typing: bool = False) -> dict[Module, set[Module]]:
    """By module of a Python package, the modules of the same package that it imports, also inside of functions.

    With `typing`, also those that only type checkers import. The root is `()`. What a module imports from it, and is
    no module of its own, is the root's; what the root imports for type checkers, it imports when it is asked for it.
    """
    every = {_python_name(package, path): path for path in sorted(package.rglob("*.py"))}
    graph: dict[Module, set[Module]] = {}
    for module, path in every.items():
        folder = module if path.name == "__init__.py" else module[:-1]
        graph[module] = set()
        tree = ast.parse(path.read_text("utf-8"))
        for base, names in _imports(tree, package.name, folder, typing=typing or not module):
            for name in names or ("",):
                target = (*base, name) if (*base, name) in every else base
                if target == () and name.startswith("_") and (package / f"{name}.pyi").exists():
                    continue  # the native module
                if target in every and target != module and (target != module[: len(target)] or not target):
                    graph[module].add(target)
    return graph


def _python_name(package: Path, path: Path) -> Module:
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _imports(tree: ast.Module, package: str, folder: Module, *, typing: bool) -> list[tuple[Module, tuple[str, ...]]]:
    """Imports from inside of the package: the module, and the names taken from it."""
    types = {node for block in ast.walk(tree) if _is_for_types(block) for node in ast.walk(block)}
    left_out = set() if typing else types
    found: list[tuple[Module, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if node in left_out:
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
    """True if this is `if TYPE_CHECKING:`, whose imports never run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def circle(graph: dict[Module, set[Module]]) -> str | None:
    """Modules that need each other in a circle, if there are any."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " needs ".join("/".join(module) for module in reversed(error.args[1]))
    return None


NAMES = sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml"))


@functools.cache
def needs_of_crate(crate: str) -> dict[Module, set[Module]]:
    """Needs of the modules of one of our crates, read once for all tests."""
    return needs(CRATES / crate / "src")


@pytest.mark.parametrize("crate", NAMES)
def test_no_two_files_need_each_other(crate: str) -> None:
    assert circle(needs_of_crate(crate)) is None


@pytest.mark.parametrize("crate", NAMES)
def test_no_two_folders_need_each_other(crate: str) -> None:
    assert circle(by_folder(needs_of_crate(crate))) is None


def by_folder(graph: Mapping[Module, set[Module]]) -> dict[Module, set[Module]]:
    """The folders that each folder needs; a file at the top counts as a folder of its own."""
    folders: dict[Module, set[Module]] = {}
    for module, others in graph.items():
        targets = {other[:1] for other in others} - {module[:1]}
        folders.setdefault(module[:1], set()).update(targets)
    return folders


def test_no_two_files_of_the_package_need_each_other() -> None:
    assert circle(needs_of_package()) is None


def test_no_two_folders_of_the_package_need_each_other() -> None:
    assert circle(by_folder(needs_of_package())) is None


# The one file through which types may go in a circle.
PROTOCOLS = ("protocols",)


def test_types_go_in_a_circle_through_one_file_only() -> None:
    graph = needs_of_package(typing=True)
    assert circle({module: others - {PROTOCOLS} for module, others in graph.items() if module != PROTOCOLS}) is None


def test_nothing_but_the_command_line_needs_the_command_line() -> None:
    needing = {
        module for module, others in needs_of_package().items() if any(other[:1] == ("cli",) for other in others)
    }
    assert {module[0] for module in needing} == {"cli", "__main__"}


def test_results_are_read_without_what_draws_them() -> None:
    for module, others in needs_of_package(typing=True).items():
        if module[:1] == ("data",):
            assert not {other for other in others if other[:1] in {("plotting",), ("reporting",)}}, module


def test_a_circle_through_the_root_is_found(tmp_path: Path) -> None:
    package = tmp_path / "headway"
    package.mkdir()
    (package / "_native.pyi").write_text("def version() -> str: ...\n", "utf-8")
    (package / "__init__.py").write_text("if TYPE_CHECKING:\n    from headway.a import thing\n", "utf-8")
    (package / "a.py").write_text("from headway import _native, b\n", "utf-8")
    (package / "b.py").write_text("", "utf-8")
    assert python_needs(package) == {(): {("a",)}, ("a",): {("b",)}, ("b",): set()}
    (package / "b.py").write_text("def f():\n    from headway import __version__\n", "utf-8")
    assert python_needs(package)["b",] == {()}
    assert circle(python_needs(package)) is not None
    assert circle(by_folder(python_needs(package))) is not None


def test_a_circle_of_types_is_found(tmp_path: Path) -> None:
    package = tmp_path / "headway"
    package.mkdir()
    (package / "__init__.py").write_text("", "utf-8")
    (package / "a.py").write_text("from headway import b\n", "utf-8")
    (package / "b.py").write_text("if TYPE_CHECKING:\n    from headway.a import Thing\n", "utf-8")
    assert circle(python_needs(package)) is None
    assert circle(python_needs(package, typing=True)) is not None


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
    (tmp_path / "b/mod.rs").write_text("mod c;\npub struct Thing;\n", "utf-8")
    (tmp_path / "b/c.rs").write_text("use crate::{\n    other::X,\n    a::Y,\n};\n", "utf-8")
    assert needs(tmp_path)["b", "c"] == {("a",)}
    assert circle(needs(tmp_path)) is None
    (tmp_path / "b/mod.rs").write_text("use crate::a; // crate::nothing\n", "utf-8")
    (tmp_path / "a.rs").write_text("fn f() -> crate::b::c::Thing {}\n", "utf-8")
    found = circle(needs(tmp_path))
    assert found is not None
    assert {"a", "b/c"} <= set(found.split(" needs "))


def test_a_circle_through_re_exports_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text(
        "mod a;\n#[cfg(test)]\nmod tried;\npub mod b;\npub use a::{One, Two};\npub use b::{c::Three as Drei, Four};\n",
        "utf-8",
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b/mod.rs").write_text("mod c;\npub(crate) mod d;\npub use c::Three;\npub use d::Four;\n", "utf-8")
    (tmp_path / "a.rs").write_text("use crate::{One, b::{self, Four}};\n", "utf-8")
    (tmp_path / "b/c.rs").write_text("use crate::Two;\n", "utf-8")
    (tmp_path / "b/d.rs").write_text(
        "#[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    use crate::One;\n}\n", "utf-8"
    )
    assert needs(tmp_path) == {("a",): {("b",), ("b", "d")}, ("b",): set(), ("b", "c"): {("a",)}, ("b", "d"): set()}
    assert circle(needs(tmp_path)) is None
    (tmp_path / "a.rs").write_text("fn f(_: crate::Drei) {}\n", "utf-8")
    assert needs(tmp_path)["a",] == {("b", "c")}
    assert circle(needs(tmp_path)) is not None
    (tmp_path / "a.rs").write_text("use crate::b::Three;\n", "utf-8")
    assert circle(needs(tmp_path)) is not None


def test_files_of_a_folder_may_need_its_head_but_not_each_other(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/mod.rs").write_text("mod c;\nmod d;\nuse c::One;\npub use d::Two;\npub struct Own(One);\n", "utf-8")
    (tmp_path / "b/c.rs").write_text("use super::{Own, Two};\npub struct One;\n", "utf-8")
    (tmp_path / "b/d.rs").write_text("pub struct Two(super::Own);\n", "utf-8")
    assert needs(tmp_path) == {("b",): set(), ("b", "c"): {("b", "d")}, ("b", "d"): set()}
    (tmp_path / "b/d.rs").write_text("pub struct Two(super::One);\n", "utf-8")
    assert circle(needs(tmp_path)) is not None


def test_what_a_registry_hands_on_is_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/mod.rs").write_text("mod keys;\n\nkinds! {\n    c::One,\n    d::Two,\n}\n", "utf-8")
    (tmp_path / "b/keys.rs").write_text("", "utf-8")
    (tmp_path / "b/c.rs").write_text("use super::Two;\npub struct One;\n", "utf-8")
    (tmp_path / "b/d.rs").write_text("pub struct Two;\n", "utf-8")
    assert needs(tmp_path)["b", "c"] == {("b", "d")}
    (tmp_path / "b/d.rs").write_text("pub struct Two(super::One);\n", "utf-8")
    assert circle(needs(tmp_path)) is not None


# Crates that a crate names in these files only: the lab stands on the network, and runs the simulator in one room.
ONLY_IN = {("lab", "headway_sim"): {"run.rs", "run/live.rs", "run/scaling.rs", "run/threads.rs"}}


@pytest.mark.parametrize(("crate", "named_crate"), ONLY_IN)
def test_a_crate_is_named_in_its_place_only(crate: str, named_crate: str) -> None:
    source = CRATES / crate / "src"
    naming = {
        str(path.relative_to(source))
        for path in source.rglob("*.rs")
        if re.search(rf"\b{named_crate}\b", re.sub(r"//.*", "", path.read_text("utf-8")))
    }
    assert naming == ONLY_IN[crate, named_crate]
