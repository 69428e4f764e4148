"""What was changed after it was written is never shown as a result, whoever reads it."""

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
