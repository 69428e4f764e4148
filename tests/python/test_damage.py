"""A file that was changed after it was written is never shown as a result, by any command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.errors import ResultsError
from support import Answer

Headway = Callable[..., Answer]


@pytest.fixture
def sweep(scenario_file: Path, tmp_path: Path, headway: Headway) -> Path:
    """Four finished points."""
    assert headway("sweep", scenario_file, "--out", tmp_path / "out").status == 0
    return tmp_path / "out"


def changed(path: Path, old: bytes, new: bytes) -> None:
    """Exchange some bytes of a file, so that it is still one of its kind."""
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def test_no_reader_takes_a_number_that_was_changed(sweep: Path, headway: Headway) -> None:
    point = sweep / "points/amrt,seed=1"
    changed(point / "summary.json", b'"flows_done": 2', b'"flows_done": 7')
    for arguments in (["report", sweep], ["report", point], ["measure", point, "summary('flows_done')"]):
        answer = headway(*arguments)
        assert answer.status == 2, arguments
        assert "summary.json: is damaged: its checksum is not the one in SHA256SUMS" in answer.err, arguments
    assert not (sweep / "report.html").exists()
    (first, *_) = package.read_sweep(sweep)
    with pytest.raises(ResultsError, match="is damaged"):
        _ = first.run.summary


def test_a_table_that_was_changed_is_found_when_it_is_read(sweep: Path, headway: Headway) -> None:
    point = sweep / "points/amrt,seed=1"
    # A name in the table: the file stays readable.
    changed(point / "flows.parquet", b"f0", b"f9")
    (first, *_) = package.read_sweep(sweep)
    with pytest.raises(ResultsError, match=r"flows\.parquet: is (truncated or )?damaged"):
        _ = first.run.flows
    assert headway("report", sweep).status == 2


def test_checksums_that_are_cut_off_are_no_checksums(sweep: Path, headway: Headway) -> None:
    sums = sweep / "points/amrt,seed=1/SHA256SUMS"
    sums.write_bytes(sums.read_bytes()[:20])
    answer = headway("report", sweep)
    assert (answer.status, "is damaged" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"series.parquet", b"series.parqudt"), (b"point.json", b"poiot.json")],
    ids=["a table", "a record"],
)
def test_a_list_of_checksums_with_a_wrong_name_is_what_is_damaged(
    sweep: Path, headway: Headway, old: bytes, new: bytes
) -> None:
    point = sweep / "points/amrt,seed=1"
    changed(point / "SHA256SUMS", old, new)
    with pytest.raises(
        ResultsError, match=rf"SHA256SUMS: is damaged: it lists {new.decode()}, which is no file of a run"
    ):
        package.read(point)
    answer = headway("report", sweep)
    assert (answer.status, f"it lists {new.decode()}, which is no file of a run" in answer.err) == (2, True)


def test_a_file_that_is_gone_is_missing(sweep: Path) -> None:
    (sweep / "points/amrt,seed=1/flows.parquet").unlink()
    with pytest.raises(ResultsError, match=r"flows\.parquet: is missing"):
        package.read(sweep / "points/amrt,seed=1")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"variant": "amrt"', b'"variant": "amrs"'), (b'"seed": 1', b'"seed": 7'), (b"amrt,seed=1", b"amrt,seed=2")],
)
def test_a_list_of_points_that_was_edited_is_not_drawn(sweep: Path, headway: Headway, old: bytes, new: bytes) -> None:
    changed(sweep / "sweep.json", old, new)
    with pytest.raises(ResultsError, match=r"sweep\.json: is damaged: it says \w+ "):
        package.read_sweep(sweep)
    answer = headway("report", sweep)
    assert (answer.status, "sweep.json: is damaged: it says" in answer.err) == (2, True)
    assert not (sweep / "report.html").exists()


@pytest.mark.parametrize("name", ["links.parquet", "series.parquet", "point.json", "manifest.json"])
def test_every_file_of_every_point_is_checked_before_anything_is_drawn(
    sweep: Path, headway: Headway, name: str
) -> None:
    path = sweep / "points/amrt,seed=1" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    answer = headway("report", sweep)
    assert (answer.status, name in answer.err) == (2, True)
    assert not (sweep / "report.html").exists()
