"""Files of tables, which polars makes for the native module."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

import headway
from headway.data import parquet
from headway.data.schema import schema

TABLES = ("flows", "links", "series")


@pytest.fixture
def run(scenario_file: Path, tmp_path: Path) -> headway.Run:
    """A run in its directory."""
    return headway.Scenario.load(scenario_file).run(tmp_path / "out")


@pytest.mark.parametrize("name", TABLES)
def test_a_file_holds_what_is_in_memory(run: headway.Run, tmp_path: Path, name: str) -> None:
    table = getattr(run, name)
    file = tmp_path / "out" / f"{name}.parquet"
    # Straight from the simulator, and not by way of the package's reader.
    read, made = polars.read_parquet(file), polars.DataFrame(table)
    assert read.schema == made.schema
    assert read.equals(made)


@pytest.mark.parametrize("name", TABLES)
def test_a_file_says_units_and_meanings_of_its_columns(run: headway.Run, tmp_path: Path, name: str) -> None:
    assert len(getattr(run, name).columns) > 3
    notes = polars.read_parquet_metadata(tmp_path / "out" / f"{name}.parquet")
    assert notes["headway"] == headway.__version__
    said = base64.b64decode(notes["ARROW:schema"])
    for column in getattr(run, name).columns:
        declared = schema()[name][column]
        assert declared.doc.encode() in said
        assert declared.unit.encode() in said


def raising(error: BaseException) -> Callable[..., bytes]:
    """A writer that fails."""

    def write(*_: object) -> bytes:
        raise error

    return write


def test_what_the_writer_raises_is_said_of_the_file(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "write", raising(MemoryError("no room")))
    with pytest.raises(headway.ScenarioError, match=r"cannot write .*flows\.parquet: no room"):
        headway.Scenario.load(scenario_file).run(tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_ctrl_c_in_the_writer_is_no_fault_of_the_file(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "write", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        headway.Scenario.load(scenario_file).run(tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()
