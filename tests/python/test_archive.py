"""An archive has everything for a second run of its results, and reports differences."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.archive import verify_archive, write_archive
from headway.errors import HeadwayError, ResultsError
from support import TWO_FLOWS, Answer

Headway = Callable[..., Answer]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose flows are in a file next to the folder of its scenario."""
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "flows.csv").write_text("id,src,dst,bytes,start_s\na,0,2,20000,0\nb,1,2,20000,0\n", encoding="utf-8")
    text = TWO_FLOWS.format(stop="2 ms", size="20 kB")
    head, _, rest = text.partition("[[traffic]]")
    rest = rest[rest.index("[sample]") :]
    scenario = tmp_path / "scenarios/one.toml"
    scenario.write_text(f'{head}[[traffic]]\nkind = "file"\npath = "../flows.csv"\n\n{rest}', encoding="utf-8")
    package.Scenario.load(scenario).run(tmp_path / "run")
    return tmp_path / "run"


def test_a_run_comes_out_the_same_where_nothing_else_is_left(run: Path, tmp_path: Path, headway: Headway) -> None:
    answer = headway("archive", run)
    file = Path(answer.out.strip())
    assert (answer.status, file) == (0, tmp_path / "run.headway.tar.gz")
    first = file.read_bytes()
    assert headway("archive", run).status == 2
    assert headway("archive", run, "--force").status == 0
    assert file.read_bytes() == first, "the same results give the same file"
    for gone in (run, tmp_path / "scenarios"):
        shutil.rmtree(gone)
    (tmp_path / "flows.csv").unlink()
    answer = headway("verify", file)
    assert (answer.status, "1 of 1 runs came out the same" in answer.out) == (0, True), answer.err
    with tarfile.open(file) as tar:
        assert {"README.md", "archive.json", "inputs/flows.csv", "results/flows.parquet"} <= set(tar.getnames())


def test_a_sweep_comes_out_the_same(scenario_file: Path, tmp_path: Path) -> None:
    package.sweep(scenario_file, tmp_path / "out", jobs=1)
    found = verify_archive(write_archive(tmp_path / "out"))
    assert (found.ok, found.same) == (True, 4)


def changed(file: Path, name: str, data: bytes) -> Path:
    """The archive with another content of a file, and its checksum."""
    import hashlib

    other = file.with_name("other.tar.gz")
    with tarfile.open(file) as old, tarfile.open(other, "w:gz") as new:
        index = json.loads(old.extractfile("archive.json").read())  # type: ignore[union-attr]
        index["sha256"][name] = hashlib.sha256(data).hexdigest()
        for member in old.getmembers():
            held = old.extractfile(member).read()  # type: ignore[union-attr]
            held = (
                data if member.name == name else json.dumps(index).encode() if member.name == "archive.json" else held
            )
            member.size = len(held)
            new.addfile(member, io.BytesIO(held))
    return other


def test_what_differs_is_said(run: Path, headway: Headway) -> None:
    file = write_archive(run)
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    summary["fct_mean_s"] *= 1.01
    answer = headway("verify", changed(file, "results/summary.json", json.dumps(summary).encode()))
    assert (answer.status, "its summary has other numbers" in answer.err) == (1, True)
    other = changed(file, "inputs/flows.csv", b"id,src,dst,bytes,start_s\na,0,2,30000,0\nb,1,2,20000,0\n")
    answer = headway("verify", other)
    assert (answer.status, "its scenario has another digest" in answer.err) == (1, True)


def test_what_is_no_archive_is_refused(run: Path, tmp_path: Path, headway: Headway) -> None:
    file = write_archive(run)
    data = bytearray(file.read_bytes())
    for cut in (b"", bytes(data[:100]), bytes(data[: len(data) // 2]), b"\0" * 1000):
        (tmp_path / "bad").write_bytes(cut)
        assert headway("verify", tmp_path / "bad").status == 2
    assert headway("verify", tmp_path / "none").status == 2
    assert headway("archive", tmp_path / "none").status == 2
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as tar:
        about = tarfile.TarInfo("../evil")
        about.size = 1
        tar.addfile(about, io.BytesIO(b"x"))
    assert headway("verify", tmp_path / "evil.tar.gz").status == 2
    assert not (tmp_path / "evil").exists()


def test_runs_that_cannot_be_made_again_are_not_archived(run: Path, tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("id,src,dst,bytes,start_s\na,0,2,1,0\n", encoding="utf-8")
    with pytest.raises(HeadwayError, match="is another run now"):
        write_archive(run)
    (tmp_path / "flows.csv").unlink()
    with pytest.raises(HeadwayError, match="cannot be made again"):
        write_archive(run)


def test_an_absolute_path_is_refused(run: Path, tmp_path: Path) -> None:
    sets = {"traffic.0.path": str(tmp_path / "flows.csv")}
    package.Scenario.load(tmp_path / "scenarios/one.toml", sets=sets).run(tmp_path / "absolute")
    with pytest.raises(ResultsError, match="absolute path"):
        write_archive(tmp_path / "absolute")
