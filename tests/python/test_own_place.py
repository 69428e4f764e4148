"""Transports in Python that are named by their files: runs, sweeps in processes, comparisons, mistakes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

import headway as package
from headway import HeadwayError, Scenario
from headway.own import imported, place_of
from support import Answer

Headway = Callable[..., Answer]

TEXT = """
[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "mine.py:Mine"

[[traffic]]
kind = "permutation"
bytes = "20 kB"

[variants.mine]
"transport.name" = "mine.py:Mine"
"transport.window" = 2

[variants.template]
"transport.name" = "template"
"transport.window" = 2

[sweep]
seeds = 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A scenario beside a transport, which is the template's."""
    source = resources.files("headway") / "templates" / "transport.py"
    (tmp_path / "mine.py").write_text(source.read_text("utf-8").replace("Template", "Mine"), "utf-8")
    (tmp_path / "mine.toml").write_text(TEXT, "utf-8")
    return tmp_path / "mine.toml"


def test_a_sweep_in_processes_imports_the_class_by_its_file(headway: Headway, file: Path, tmp_path: Path) -> None:
    answer = headway("sweep", file, "--out", tmp_path / "out", "--jobs", "2")
    assert answer.status == 0, answer.err
    found = package.compare_variants(tmp_path / "out", of="mean,slowdown_p99")
    for number in ("fct_mean_s", "slowdown_p99"):
        assert found.row("template", number).ratio == pytest.approx(1.0, abs=1e-12)
    assert "2 runs" not in answer.err, "such runs are in no store"
    assert headway("report", tmp_path / "out").status == 0
    again = headway("sweep", file, "--out", tmp_path / "out")
    assert "4 from before" in again.out


def test_a_change_of_its_file_is_another_run(headway: Headway, file: Path, tmp_path: Path) -> None:
    before = Scenario.load(file).digest
    text = (tmp_path / "mine.py").read_text("utf-8")
    (tmp_path / "mine.py").write_text(text.replace('"window": 0', '"window": 7'), "utf-8")
    assert Scenario.load(file).digest != before


def test_a_class_is_swept_by_its_file_or_else_here(file: Path, tmp_path: Path) -> None:
    mine = imported(tmp_path / "mine.py", "Mine")

    class Here(mine):  # type: ignore[misc, valid-type]
        """A class that no file has at its top."""

    sets = {"variants.mine.transport.name": "own"}
    for name, own in (("by-file", mine), ("here", Here)):
        scenario = Scenario.load(file, sets=sets, transports={"own": own})
        assert place_of("own", own).startswith(":") is (own is Here)
        sweep = package.sweep(scenario, tmp_path / name, progress=False)
        assert (len(sweep), sweep.failed) == (4, {})
    with pytest.raises(HeadwayError, match="put the class into a file of its own"):
        package.sweep(Scenario.load(file, sets=sets, transports={"own": Here}), tmp_path / "x", executor="local")


@pytest.mark.parametrize(
    ("place", "source", "words"),
    [
        ("mine.py:Mien", None, "did you mean Mine?"),
        ("mien.py:Mine", None, "/mine.py?"),
        ("mine.py:deque", None, "is not made from headway.Transport"),
        ("bad.py:Mine", "import nothing_like_it", "bad.py:1: ModuleNotFoundError"),
        ("bad.py:Mine", "class Mine(:", "SyntaxError"),
    ],
)
def test_mistakes_are_named(headway: Headway, file: Path, tmp_path: Path, place: str, source: str | None,
                            words: str) -> None:  # fmt: skip
    if source is not None:
        (tmp_path / "bad.py").write_text(source, "utf-8")
    answer = headway("run", file, "--set", f"transport.name={place}")
    assert answer.status == 2
    assert words in answer.err


def test_a_scenario_with_one_moves_with_it(headway: Headway, file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "moved"
    folder.mkdir()
    for name in ("mine.py", "mine.toml"):
        shutil.copy(tmp_path / name, folder / name)
    assert Scenario.load(folder / "mine.toml").digest == Scenario.load(file).digest
