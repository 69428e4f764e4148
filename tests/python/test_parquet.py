"""Files of tables, which polars makes for the native module."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import headway
from headway import forks
from headway._headway import compiled_parquet
from headway.data import parquet
from headway.data.schema import schema

TABLES = ("flows", "links", "series")
BY_POLARS = pytest.mark.skipif(compiled_parquet(), reason="this module writes tables by itself")


@pytest.fixture
def run(scenario_file: Path, tmp_path: Path) -> headway.Run:
    """A run in its directory."""
    return headway.Scenario.load(scenario_file).run(tmp_path / "out")


@pytest.mark.parametrize("name", TABLES)
def test_a_file_holds_what_is_in_memory(run: headway.Run, tmp_path: Path, name: str) -> None:
    table = getattr(run, name)
    # Straight from the simulator, and not by way of the package's reader.
    made = polars.DataFrame(table)
    for file in (tmp_path / "out" / f"{name}.parquet", by_polars(table, tmp_path / "polars.parquet")):
        read = polars.read_parquet(file)
        assert read.schema == made.schema
        assert read.equals(made)


@pytest.mark.parametrize("name", TABLES)
def test_a_file_says_units_and_meanings_of_its_columns(run: headway.Run, tmp_path: Path, name: str) -> None:
    table = getattr(run, name)
    assert len(table.columns) > 3
    by_module, by_python = tmp_path / "out" / f"{name}.parquet", by_polars(table, tmp_path / "polars.parquet")
    assert polars.read_parquet_metadata(by_python)["headway"] == headway.__version__
    for file in (by_module, by_python):
        said = base64.b64decode(polars.read_parquet_metadata(file)["ARROW:schema"])
        for column in table.columns:
            declared = schema()[name][column]
            assert declared.doc.encode() in said
            assert declared.unit.encode() in said


def by_polars(table: Any, file: Path) -> Path:  # noqa: ANN401  (what a run gives, with the module's own table in it)
    """The file that a module without the feature `parquet` would get."""
    source = table._source
    file.write_bytes(parquet.write(source, source.schema()))
    return file


def test_a_child_of_a_process_that_used_polars_says_what_it_cannot_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "_left_behind", True)
    with pytest.raises(headway.errors.FeatureMissing, match=r"forked.*spawn"):
        parquet.read("flows.parquet")


def raising(error: BaseException) -> Callable[..., bytes]:
    """A writer that fails."""

    def write(*_: object) -> bytes:
        raise error

    return write


@BY_POLARS
def test_what_the_writer_raises_is_said_of_the_file(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "write", raising(MemoryError("no room")))
    with pytest.raises(headway.ScenarioError, match=r"cannot write .*flows\.parquet: no room"):
        headway.Scenario.load(scenario_file).run(tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


@BY_POLARS
def test_ctrl_c_in_the_writer_is_no_fault_of_the_file(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "write", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        headway.Scenario.load(scenario_file).run(tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()
