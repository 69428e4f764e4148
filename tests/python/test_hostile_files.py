"""Every reader survives every file: an answer or one named error, never a traceback, and nothing read without end."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
import mutants
from headway import HeadwayError
from headway.comparison.tables import read_flows
from headway.data.qlog import read_trace
from headway.errors import ResultsError
from headway.inputs import formula_free, plain_text, read_bytes, unpacked
from support import Answer

Headway = Callable[..., Answer]

# Of each kind of file; the long tests try so many times more.
QUICK, TIMES = 40, 25
HOW_MANY = pytest.mark.parametrize("count", [QUICK, pytest.param(QUICK * TIMES, marks=pytest.mark.long)])


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep of four runs, without checksums, so that changed files are read."""
    from support import TWO_FLOWS

    root = tmp_path_factory.mktemp("hostile")
    file = root / "two-flows.toml"
    file.write_text(TWO_FLOWS.format(stop="2 ms", size="20 kB"), encoding="utf-8")
    package.sweep(file, out=root / "out", jobs=1)
    for sums in (root / "out").rglob("SHA256SUMS"):
        sums.unlink()
    return root / "out"


def survives(headway: Headway, *arguments: object, seed: int) -> None:
    """The command answers, or reports the fault."""
    try:
        answer = headway(*arguments)
    except Exception as error:
        raise AssertionError(f"seed {seed}: headway {' '.join(map(str, arguments))}") from error
    assert answer.status in (0, 1, 2), seed
    assert answer.status != 2 or answer.err.strip(), seed
    assert len(answer.err) < 20_000, seed


def commands(sweep: Path, point: Path) -> list[list[object]]:
    """Commands that read results, one after the other."""
    return [
        ["measure", point, "summary('fct_mean_s')"],
        ["compare", sweep],
        ["report", sweep],
        ["compare", point, sweep.with_name("out") / "points/phost,seed=1"],
        ["export", point, "--format", "perfetto", "--out", sweep.parent / "trace.pftrace", "--force"],
        ["report", point],
    ]


@HOW_MANY
@pytest.mark.parametrize("name", ["sweep.json", "manifest.json", "summary.json", "point.json"])
def test_documents_of_results(count: int, name: str, swept: Path, tmp_path: Path, headway: Headway) -> None:
    sweep = Path(shutil.copytree(swept, tmp_path / "out"))
    point = sweep / "points/amrt,seed=1"
    file = sweep / name if name == "sweep.json" else point / name
    data = file.read_bytes()
    document = json.loads(data)
    listed = commands(sweep, point)
    for seed in range(count):
        file.write_bytes(mutants.of_json(document, seed) if seed % 4 else mutants.of_bytes(data, seed))
        survives(headway, *listed[seed % len(listed)], seed=seed)


@HOW_MANY
@pytest.mark.parametrize("name", ["flows", "links", "series"])
def test_tables_of_results(count: int, name: str, swept: Path, tmp_path: Path, headway: Headway) -> None:
    sweep = Path(shutil.copytree(swept, tmp_path / "out"))
    point = sweep / "points/amrt,seed=1"
    file = point / f"{name}.parquet"
    data = file.read_bytes()
    listed = commands(sweep, point)
    for seed in range(count):
        file.write_bytes(mutants.of_bytes(data, seed))
        survives(headway, *listed[seed % len(listed)], seed=seed)


@HOW_MANY
def test_checksums(count: int, tmp_path: Path, scenario_file: Path, headway: Headway) -> None:
    package.Scenario.load(scenario_file).run(tmp_path / "run")
    file = tmp_path / "run/SHA256SUMS"
    data = file.read_bytes()
    for seed in range(count):
        file.write_bytes(mutants.of_bytes(data, seed))
        survives(headway, "measure", tmp_path / "run", "summary('fct_mean_s')", seed=seed)


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_tables_from_elsewhere(count: int, tmp_path: Path) -> None:
    text = "# a comment\nname,src,dst,bytes,start_us,fct_us\n" + "\n".join(
        f"f{i},{i},{i + 1},{1000 * i},{i}.5,{10 * i + 1}" for i in range(20)
    )
    file = tmp_path / "table.csv"
    for seed in range(count):
        file.write_bytes(mutants.of_rows(text, seed) if seed % 2 else mutants.of_bytes(text.encode(), seed))
        try:
            read_flows(file)
        except HeadwayError as error:
            assert len(str(error)) < 2_000, seed
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.parametrize("count", [500, pytest.param(20_000, marks=pytest.mark.long)])
def test_lists_of_points(count: int, swept: Path, tmp_path: Path) -> None:
    sweep = Path(shutil.copytree(swept, tmp_path / "out"))
    file = sweep / "sweep.json"
    document = json.loads(file.read_bytes())
    for seed in range(count):
        file.write_bytes(mutants.of_json(document, seed))
        try:
            package.read_sweep(sweep)
        except HeadwayError as error:
            assert len(str(error)) < 12_000, seed
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.parametrize("count", [500, pytest.param(20_000, marks=pytest.mark.long)])
def test_traces_of_messages(count: int, tmp_path: Path) -> None:
    head = {
        "qlog_version": "0.4",
        "trace": {"vantage_point": {"name": "a"}, "common_fields": {"reference_time": 0.0, "transport": "amrt"}},
    }
    event = {"time": 1.0, "name": "headway:message_sent", "data": {"peer": "b", "id": 1, "bytes": 10}}
    file = tmp_path / "trace.sqlog"
    text = "".join(f"\x1e{json.dumps(one)}\n" for one in (head, *[event] * 5)).encode()
    for seed in range(count):
        parts = [mutants.of_json(one, seed + i) for i, one in enumerate((head, event, event))]
        whole = b"".join(b"\x1e" + part + b"\n" for part in parts)
        file.write_bytes(whole if seed % 2 else mutants.of_bytes(text, seed))
        try:
            read_trace(file)
        except HeadwayError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


def test_what_is_no_file_is_refused_and_not_waited_for(swept: Path, tmp_path: Path, headway: Headway) -> None:
    sweep = Path(shutil.copytree(swept, tmp_path / "out"))
    point = sweep / "points/amrt,seed=1"
    for name in ("summary.json", "manifest.json"):
        (point / name).unlink()
        os.mkfifo(point / name)
        answer = headway("measure", point, "summary('fct_mean_s')")
        assert (answer.status, "it is a pipe and no file" in answer.err) == (2, True)
        (point / name).unlink()
        (point / name).symlink_to("/dev/zero")
        answer = headway("measure", point, "summary('fct_mean_s')")
        assert (answer.status, "it is a device and no file" in answer.err) == (2, True)
        shutil.copyfile(swept / "points/amrt,seed=1" / name, tmp_path / name)
        (point / name).unlink()
        shutil.copyfile(tmp_path / name, point / name)


def test_a_file_beyond_its_bound_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as opened:
        opened.truncate(2_000_000_000)
    with pytest.raises(ResultsError, match=r"it holds 2\.00 GB, more than 1\.00 GB"):
        read_bytes(file)
    import gzip

    packed = gzip.compress(b"\0" * 1_000_000)
    assert len(unpacked(file, packed)) == 1_000_000
    assert unpacked(file, packed * 2) == b"\0" * 2_000_000
    with pytest.raises(ResultsError, match="unpacked it holds more than"):
        unpacked(file, packed, 999_999)
    with pytest.raises(ResultsError, match="cut off"):
        unpacked(file, packed[:-9])


def test_points_are_in_the_sweep(swept: Path, tmp_path: Path, headway: Headway) -> None:
    sweep = Path(shutil.copytree(swept, tmp_path / "out"))
    rows = json.loads((sweep / "sweep.json").read_text("utf-8"))
    for folder in ("../outside", str(swept / "points/amrt,seed=1"), "points/../..", "points", "points/a/b", ""):
        (sweep / "sweep.json").write_text(json.dumps([{**rows[0], "dir": folder}, *rows[1:]]), encoding="utf-8")
        for command in ("report", "compare"):
            answer = headway(command, sweep)
            assert (answer.status, "is no folder in points/" in answer.err) == (2, True), folder


def test_a_text_of_a_spreadsheet_is_no_formula() -> None:
    for text in ("=1+1", "+a", "-a", "@x", "\tx", "plain", "'quoted", ""):
        assert not formula_free(text).startswith(("=", "+", "-", "@", "\t", "\r"))
        assert plain_text(formula_free(text)) == text


def test_a_trace_that_fails_leaves_no_file(scenario_file: Path, tmp_path: Path, headway: Headway) -> None:
    package.Scenario.load(scenario_file).run(tmp_path / "run")
    for sums in ("SHA256SUMS", "manifest.json"):
        (tmp_path / "run" / sums).unlink()
    answer = headway("export", tmp_path / "run", "--format", "perfetto", "--out", tmp_path / "trace")
    assert answer.status == 2
    assert not (tmp_path / "trace").exists()
