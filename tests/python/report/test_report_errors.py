"""Damage that a user can do to a results directory: always a `ResultsError` that names the file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from headway.errors import HeadwayError, ResultsError
from headway.reporting import build

TABLES = ("flows.parquet", "links.parquet", "series.parquet")
DOCUMENTS = ("manifest.json", "summary.json")


def complaint(directory: Path, fmt: str = "html") -> ResultsError:
    with pytest.raises(ResultsError) as caught:
        build(directory, fmt)
    assert isinstance(caught.value, HeadwayError)
    return caught.value


@pytest.mark.parametrize("name", [*TABLES, *DOCUMENTS])
@pytest.mark.parametrize("fmt", ["html", "svg"])
def test_a_missing_file_is_named(single: Path, name: str, fmt: str) -> None:
    (single / name).unlink()
    error = complaint(single, fmt)
    assert error.path == single / name
    assert "missing" in str(error)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_truncated_table_is_named(single: Path, name: str, share: float) -> None:
    path = single / name
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    error = complaint(single)
    assert error.path == path
    assert "truncated" in str(error)


@pytest.mark.parametrize("name", TABLES)
def test_a_truncated_table_is_named_also_where_no_figure_reads_it(results: Path, tmp_path: Path, name: str) -> None:
    sweep = Path(shutil.copytree(results / "sweep", tmp_path / "sweep"))
    for place in (sweep / "points").iterdir():
        path = place / name
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        assert complaint(sweep).path == path
        path.write_bytes(data)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_truncated_document_is_named_with_its_line(single: Path, name: str) -> None:
    path = single / name
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    error = complaint(single)
    assert error.path == path
    assert "line" in str(error)


def test_a_document_of_the_wrong_kind_is_named(single: Path) -> None:
    (single / "summary.json").write_text("[1, 2]", encoding="utf-8")
    assert complaint(single).path == single / "summary.json"


def test_a_missing_column_is_named(single: Path) -> None:
    path = single / "flows.parquet"
    pl.read_parquet(path).drop("slowdown", "ideal_s").write_parquet(path)
    error = complaint(single)
    assert error.path == path
    assert "ideal_s, slowdown" in str(error)


def test_a_column_of_the_wrong_type_is_named(single: Path) -> None:
    path = single / "links.parquet"
    pl.read_parquet(path).with_columns(pl.lit("much").alias("busy_fraction")).write_parquet(path)
    error = complaint(single)
    assert error.path == path
    assert "busy_fraction" in str(error)


def test_a_directory_without_results_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    assert "holds no results" in str(complaint(tmp_path))
    assert "is not a directory" in str(complaint(tmp_path / "nowhere"))


def test_a_point_that_is_said_to_be_done_must_be_there(parking: Path) -> None:
    shutil.rmtree(parking / "points" / "amrt,seed=2")
    assert complaint(parking).path == parking / "points" / "amrt,seed=2" / "manifest.json"


def test_points_not_run_yet_are_told_and_the_others_reported(parking: Path) -> None:
    path = parking / "sweep.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    records[0]["state"], records[1]["state"] = "pending", "failed"
    records[1]["error"] = "its process died twice"
    for record in records[:2]:
        shutil.rmtree(parking / record["dir"])
    path.write_text(json.dumps(records), encoding="utf-8")
    text = build(parking)[0].read_text(encoding="utf-8")
    assert "amrt,seed=1: pending" in text
    assert "amrt,seed=2: failed (its process died twice)" in text


def test_of_many_points_not_run_yet_the_first_are_named(parking: Path) -> None:
    path = parking / "sweep.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    for record in records[:5]:
        record["state"] = "pending"
        shutil.rmtree(parking / record["dir"])
    records[4] |= {"state": "failed", "error": "its process died twice"}
    path.write_text(json.dumps(records), encoding="utf-8")
    text = build(parking)[0].read_text(encoding="utf-8")
    assert "This sweep is not finished: 4 points have no results, " in text
    assert f"{records[0]['label']}, " in text and " and 1 more." in text
    assert f"No results for the point {records[4]['label']}: failed (its process died twice)." in text


def test_a_sweep_without_one_finished_point_is_an_error(parking: Path) -> None:
    path = parking / "sweep.json"
    records = [{**record, "state": "pending"} for record in json.loads(path.read_text(encoding="utf-8"))]
    path.write_text(json.dumps(records), encoding="utf-8")
    shutil.rmtree(parking / "points")
    (parking / "claims.json").unlink()
    assert complaint(parking).path == path


def test_claims_are_reported_even_when_no_point_is_finished(parking: Path) -> None:
    path = parking / "sweep.json"
    records = [{**record, "state": "pending"} for record in json.loads(path.read_text(encoding="utf-8"))]
    path.write_text(json.dumps(records), encoding="utf-8")
    shutil.rmtree(parking / "points")
    text = build(parking)[0].read_text(encoding="utf-8")
    assert "No run is finished" in text
    assert "amrt-fig1-phost-start" in text


def test_an_interrupted_run_is_told(single: Path) -> None:
    path = single / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "interrupted": True}), encoding="utf-8")
    assert "interrupted; its results are partial" in build(single)[0].read_text(encoding="utf-8")


def test_a_run_without_a_finished_flow_says_so(single: Path) -> None:
    path = single / "flows.parquet"
    none = pl.lit(None, dtype=pl.Float64)
    frame = pl.read_parquet(path).with_columns(pl.lit("unfinished").alias("state"), fct_s=none, slowdown=none)
    frame.write_parquet(path)
    text = build(single)[0].read_text(encoding="utf-8")
    assert "0 finished flows a variant" in text


def test_a_report_that_cannot_be_written_is_an_error(single: Path) -> None:
    (single / "report.html").mkdir()
    assert complaint(single).path == single / "report.html"
    (single / "figures").write_text("in the way", encoding="utf-8")
    assert complaint(single, "svg").path == single / "figures"


def test_an_unknown_format_is_the_caller_s_fault(single: Path) -> None:
    with pytest.raises(ValueError, match="gif"):
        build(single, "gif")
