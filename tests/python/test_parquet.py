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
from headway._headway import ArrowTable, compiled_parquet, write_perfetto
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
    """Write a table as a module without the feature `parquet` does, and return the file."""
    source = table._source
    file.write_bytes(parquet.write(source.columns(), source.schema()))
    return file


@pytest.mark.parametrize("name", TABLES)
def test_a_table_crosses_the_border_by_its_columns(run: headway.Run, tmp_path: Path, name: str) -> None:
    table = getattr(run, name)
    made = polars.DataFrame(table)
    assert parquet.frame(table._source.columns()).equals(made)
    # As a module without the feature `parquet` reads it for a trace.
    for file in (tmp_path / "out" / f"{name}.parquet", by_polars(table, tmp_path / "polars.parquet")):
        read = polars.DataFrame(ArrowTable(parquet.read(str(file))))
        assert read.schema == made.schema
        assert read.equals(made)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_gaps_cross_the_border(tmp_path: Path, rows: int) -> None:
    gaps = polars.DataFrame(
        {
            "whole": [None, 7, 2**64 - 1][:rows],
            "small": [1, None, 65535][:rows],
            "number": [0.5, None, float("inf")][:rows],
            "some": ["\u00e4\n", None, ""][:rows],
            "none": [None, None, None][:rows],
        },
        schema={
            "whole": polars.UInt64,
            "small": polars.UInt16,
            "number": polars.Float64,
            "some": polars.String,
            "none": polars.String,
        },
    )
    gaps.write_parquet(tmp_path / "gaps.parquet")
    table = ArrowTable(parquet.read(str(tmp_path / "gaps.parquet")))
    for read in (polars.DataFrame(table), parquet.frame(table.columns())):
        assert read.schema == gaps.schema
        assert read.equals(gaps)


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    polars.DataFrame({"flow": [True, None]}).write_parquet(tmp_path / "flows.parquet")
    with pytest.raises(ValueError, match="the column flow holds boolean, which no table of a run does"):
        ArrowTable(parquet.read(str(tmp_path / "flows.parquet")))


def test_a_trace_is_made_of_files_by_polars(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = headway.Scenario.load(scenario_file).run(out)
    write_perfetto(out, tmp_path / "one.pftrace")
    for name in TABLES:
        by_polars(getattr(run, name), out / f"{name}.parquet")
    write_perfetto(out, tmp_path / "other.pftrace")
    assert (tmp_path / "one.pftrace").read_bytes() == (tmp_path / "other.pftrace").read_bytes()


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
