"""`make new-transport` and its like, in a copy of the repository: their results pass the suite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from new import INTEGRATION

from lacking import absent, lack

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = REPOSITORY / "tools/new.py"
# Files of a built dependency; everything else in a target directory is the workspace's own.
LIBRARIES = (".rlib", ".rmeta", ".so", ".d")
SUITE = (
    "properties",
    "contract",
    "tables",
    "pages",
    "order",
    "behaviour",
    "sequences",
    "topologies",
    "traffic",
    "docs",
    "models",
)

# A figure that was made is drawn where something is swept. Everywhere else it is absent, which the tests of pages look
# at; tests of those results in browsers and papers are in the suite itself, as are the colours of transports that all
# scenarios draw together.
DRAWN = "sweep or selectors or click or table_of_runs or without_a_script or print"
FIGURES = f"not (test_report_browser or test_report_paper or drawn_together) or {DRAWN}"

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason=absent("cargo"))


def run(folder: Path, *command: str, timeout: float = 1500) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, with a target directory of its own."""
    environment = {key: value for key, value in os.environ.items() if key != "CARGO_TARGET_DIR"}
    # The build is thrown away, so that debug information would be wasted.
    environment |= {"CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "none"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository as they are now, and its built dependencies: only the workspace is compiled."""
    folder = tmp_path_factory.mktemp("repository")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        source = REPOSITORY / name
        if source.is_file() or source.is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name, follow_symlinks=False)
    built = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug"
    for part in ("deps", "build", ".fingerprint"):
        if (built / part).is_dir():
            link = _linked if part == "deps" else shutil.copy2
            shutil.copytree(built / part, folder / "target/debug" / part, ignore=_of_the_workspace, copy_function=link)
    # It is large, and the suite's work in it takes less time than optimising it.
    with (folder / "Cargo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write("\n[profile.dev.package.headway-lab]\nopt-level = 0\n")
    return folder


def _linked(source: str, target: str) -> None:
    """The same file under another name: libraries are a gigabyte, and are never written to."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _of_the_workspace(folder: str, names: list[str]) -> list[str]:
    libraries = Path(folder).name == "deps"
    return [name for name in names if "headway" in name or (libraries and Path(name).suffix not in LIBRARIES)]


def dependencies(folder: Path) -> set[str]:
    """The builds of crates that are not the workspace's, each with a digest of its features."""
    built = folder / "target/debug/.fingerprint"
    return {one.name for one in built.iterdir() if "headway" not in one.name} if built.is_dir() else set()


@needs_cargo
@pytest.mark.long
def test_what_is_made_passes_the_suite(copy: Path) -> None:
    wanted = {
        "discipline": "plain-fifo",
        "transport": "my-thing",
        "controller": "quarter",
        "topology": "my-row",
        "traffic": "my-pattern",
        "model": "my-lines",
    }
    for kind, name in wanted.items():
        (called,) = run(
            copy, "make", "--no-print-directory", "--dry-run", f"new-{kind}", f"NAME={name}"
        ).stdout.splitlines()[-1:]
        assert f"tools/new.py {kind} '{name}'" in called
    pairs = [word for pair in wanted.items() for word in pair]
    before = dependencies(copy)
    made = run(copy, sys.executable, "tools/new.py", *pairs)
    assert made.returncode == 0, made.stderr
    # Everything that was there behaves as before, although all tables were written again.
    for table in (REPOSITORY / "tests/golden/behaviour").glob("*.txt"):
        assert (copy / "tests/golden/behaviour" / table.name).read_text("utf-8") == table.read_text("utf-8")
    # From here on only those that were made: all others are there at the same time, in the suite itself.
    ours = "HEADWAY_TRANSPORTS=my-thing,quarter"
    suite = run(copy, "env", ours, "cargo", *INTEGRATION, *(f"{name}::" for name in SUITE))
    assert suite.returncode == 0, suite.stdout[-4000:] + suite.stderr[-4000:]
    again = sorted(dependencies(copy) - before) if before else []
    assert not again, f"compiled again, for other features than the workspace: {again}"
    digests = dict(line.split() for line in (copy / "tests/golden/order.digests").read_text("utf-8").splitlines())
    assert digests["my-thing"] == digests["template"]
    assert digests["quarter"] == digests["tcp"]
    for name in ("my-thing", "quarter"):
        table = copy / f"tests/golden/behaviour/{name}.txt"
        assert table.read_text("utf-8").startswith("scenario")
        assert f"<!-- declared: transport {name} -->" in (copy / f"docs/transports/{name}.md").read_text("utf-8")
    twice = run(copy, "make", "new-transport", "NAME=my-thing")
    assert "there is a transport `my-thing` already" in twice.stderr
    assert twice.returncode != 0


@pytest.mark.long
def test_a_figure_that_is_made_is_drawn(copy: Path) -> None:
    made = run(copy, "make", "new-figure", "NAME=my-share")
    assert made.returncode == 0, made.stdout + made.stderr
    native = next((REPOSITORY / "python/headway").glob("_headway*.so"), None)
    if native is None:
        lack("the native module in python/headway")
    shutil.copy2(native, copy / "python/headway" / native.name)
    tests = ("tests/python/test_figures.py", "tests/python/test_circles.py", "tests/python/report")
    suite = run(
        copy, "env", f"PYTHONPATH={copy / 'python'}", sys.executable, "-m", "pytest", "-q", "-k", FIGURES, *tests
    )
    assert suite.returncode == 0, suite.stdout[-4000:] + suite.stderr[-4000:]


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("transport", "amrt", "there is a transport `amrt` already"),
        ("controller", "dctcp", "there is a transport `dctcp` already"),
        ("discipline", "drop-tail", "there is a discipline `drop-tail` already"),
        ("topology", "fat-tree", "there is a topology `fat-tree` already"),
        ("figure", "cdf", "there is a figure `cdf` already"),
        ("figure", "kind", "python/headway/reporting/figures/kind.py is there already"),
        ("topology", "sketch", "crates/network/src/topology/sketch.rs is there already"),
        ("traffic", "incast", "there is a traffic pattern `incast` already"),
        ("traffic", "sizes", "crates/lab/src/traffic/sizes.rs is there already"),
        ("model", "l2dct-cycle", "there is a model `l2dct-cycle` already"),
        ("model", "picture", "crates/lab/src/model/picture.rs is there already"),
        ("transport", "shared", "crates/transport/src/shared.rs is there already"),
        ("discipline", "port", "crates/fabric/src/port is there already"),
        ("transport", "My_Thing", "small letters and digits"),
        ("transport", "loop", "is a word of Rust's"),
    ],
)
def test_a_name_that_cannot_be_is_refused(kind: str, name: str, message: str) -> None:
    before = subprocess.run(["git", "status", "--porcelain"], cwd=REPOSITORY, capture_output=True, check=True).stdout
    refused = run(REPOSITORY, sys.executable, str(PROGRAM), kind, name, timeout=60)
    assert refused.returncode == 2
    assert message in refused.stderr
    after = subprocess.run(["git", "status", "--porcelain"], cwd=REPOSITORY, capture_output=True, check=True).stdout
    assert before == after
