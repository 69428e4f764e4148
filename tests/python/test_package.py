"""Promises of the package about itself: the compiler it needs, and a wheel that works without the repository."""

from __future__ import annotations

import ast
import builtins
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import headway
from lacking import absent, lack
from support import LIMIT

REPOSITORY = Path(__file__).resolve().parents[2]


PACKAGE = REPOSITORY / "python/headway"

# Modules that are imported when nothing but the package is.
IMPORTING = """
import sys
import headway
heavy = ("click", "headway.cli", "headway._headway", "polars", "numpy", "matplotlib", "jinja2", "rich")
print(*(name for name in heavy if name in sys.modules))
headway.reproduce, headway.reproduce_all, headway.explain, headway.report, headway.catalogue, headway.sweep
headway.Scenario.load("examples/quickstart")
unneeded = ("click", "headway.cli", "headway.building", "polars", "numpy", "matplotlib", "jinja2", "rich")
print(*(name for name in unneeded if name in sys.modules))
import headway.cli.main
print(*(name for name in unneeded[2:] if name in sys.modules))
"""


def test_the_package_does_not_import_the_command_line_or_what_is_heavy() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ran.stderr == ""
    assert ran.stdout == "\n\n\n"


def test_what_type_checkers_are_told_of_the_package_is_what_there_is() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    (types,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imported = [node for node in types.body if isinstance(node, ast.ImportFrom)]
    told = {(one.asname or one.name): node.module for node in imported for one in node.names if one.name != "*"}
    assert {name: f"headway.{module}" for name, module in headway._WHERE.items()} == {
        name: module for name, module in told.items() if module != "headway.building"
    }
    public = set(headway.__all__)
    assert public >= {*told}
    assert public >= {"leaf_spine", "poisson", "fabric", "__version__"}
    for name in public:
        assert getattr(headway, name) is not None
    assert public <= {*dir(headway)}
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        headway.no_such_name  # type: ignore[attr-defined]  # noqa: B018


def test_no_name_of_the_package_is_a_module_or_a_builtin_too() -> None:
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    public = {*headway.__all__}
    assert not public & modules
    assert not public & {*dir(builtins)} - {"__version__"}


def version(text: str) -> tuple[int, int]:
    """Major and minor."""
    major, minor, *_ = [*text.split("."), "0"]
    return int(major), int(minor)


@pytest.mark.skipif(shutil.which("cargo") is None, reason=absent("cargo"))
def test_no_dependency_needs_a_newer_compiler_than_the_workspace_says() -> None:
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    asked = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    packages = json.loads(subprocess.run(asked, cwd=REPOSITORY, capture_output=True, check=True).stdout)["packages"]
    needed = {f"{p['name']} {p['version']}": p["rust_version"] for p in packages if p["rust_version"]}
    assert len(needed) > 50, "dependencies say what they need"
    newer = {name: rust for name, rust in needed.items() if version(rust) > version(workspace["rust-version"])}
    assert newer == {}


@pytest.mark.skipif(shutil.which("cargo") is None, reason=absent("cargo"))
def test_a_demo_compiles_few_crates() -> None:
    # Each is something that a newcomer waits for.
    asked = ["cargo", "tree", "--locked", "--package", "headway-python", "--no-default-features"]
    asked += ["--edges", "normal,build", "--prefix", "none"]
    printed = subprocess.run(asked, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    crates = {line.removesuffix(" (*)") for line in printed.splitlines()}
    assert 50 < len(crates) <= 92, sorted(crates)


def test_the_readme_names_the_compiler_that_the_workspace_says() -> None:
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    assert f"Rust {workspace['rust-version']} or newer" in (REPOSITORY / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as pip installs it from a wheel, in a directory of its own, with the dependencies of the tests."""
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists() or shutil.which("cargo") is None:
        lack("maturin or cargo")
    folder = tmp_path_factory.mktemp("wheel")
    build = [str(maturin), "build", "--profile", "dev", "--quiet", "--out", str(folder)]
    # The module of an unoptimised build is large, and is not downloaded.
    build += ["--compression-method", "stored"]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=1500)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def data() -> set[str]:
    """Data of the repository in an installed package: names below the package."""
    paths = [path for name in ("scenarios", "docs", "workloads") for path in (REPOSITORY / name).rglob("*")]
    return {path.relative_to(REPOSITORY).as_posix() for path in paths if path.is_file()}


@pytest.mark.long
def test_a_wheel_holds_every_scenario_ledger_verdict_and_page(installed: Path) -> None:
    package = installed / "headway"
    held = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    assert data() - held == set()
    for name in ("scenarios/amrt/claims.toml", "scenarios/amrt/verdicts.json", "docs/scenario-format.md"):
        assert name in held
    assert "templates/scenario.toml" in held
    assert not [name for name in held if name.endswith((".pyc", ".rs"))]
    (tags,) = installed.glob("*.dist-info/WHEEL")
    assert "Tag: cp311-abi3-" in tags.read_text("utf-8"), "one wheel for every Python from 3.11 on"


@pytest.mark.long
def test_an_sdist_holds_what_a_wheel_is_built_from(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists() or shutil.which("cargo") is None:
        lack("maturin or cargo")
    command = [str(maturin), "sdist", "--out", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, timeout=LIMIT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert {f"python/headway/{name}" for name in data()} - held == set()
    distributions = {f"workloads/{path.name}" for path in (REPOSITORY / "workloads").glob("*.csv")}
    assert distributions - held == set()
    assert {"Cargo.lock", "pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"} <= held


def alone(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line of the installed package, in a folder outside the repository."""
    environment = {key: value for key, value in os.environ.items() if key != "HEADWAY_SCENARIOS"}
    environment["PYTHONPATH"] = str(site)
    command = [sys.executable, "-m", "headway", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )


@pytest.mark.long
def test_an_installed_package_has_its_scenarios(installed: Path, tmp_path: Path) -> None:
    where = [sys.executable, "-c", "import headway; print(headway.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    found = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(installed), "it is the installed package that is tried"
    listed = alone(installed, tmp_path, "list", "figures")
    assert "amrt/fig01" in listed.stdout, listed.stderr
    examples = alone(installed, tmp_path, "list", "examples")
    assert "ndp/htsim-permutation" in examples.stdout and "not readable" not in examples.stdout, examples.stdout
    ran = alone(installed, tmp_path, "reproduce", "amrt/fig01", "--scale", "smoke")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out/amrt/fig01-multi-bottleneck/report.html").exists()
    assert alone(installed, tmp_path, "docs", "scenario-format").stdout.startswith("# ")
    assert alone(installed, tmp_path, "new", "mine.toml").returncode == 0
    assert "reproduced" in alone(installed, tmp_path, "list", "claims", "amrt").stdout
