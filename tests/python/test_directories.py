"""Result directories: nothing is overwritten unasked, nothing stale stays, nothing foreign goes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.directories import inputs_of, prepare_run
from headway.errors import ResultsError
from support import TWO_FLOWS, Answer

Headway = Callable[..., Answer]
MODEL = '[model]\nname = "amrt-gain"\nrate = "{rate} Gbps"\nrtt = "100 us"\npacket = 1500\nsizes = ["1 MB"]\n'
MODEL += 'rate_shares = [0.1, 0.9]\nloss_shares = [0.0, 0.5]\n[report]\nfigure = "model"\n'


@pytest.fixture
def other_file(tmp_path: Path) -> Path:
    """Another scenario, whose points bear the same labels."""
    path = tmp_path / "other.toml"
    path.write_text(TWO_FLOWS.format(stop="2 ms", size="50 kB"), encoding="utf-8")
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refused(answer: Answer, *words: str) -> None:
    assert answer.status == 2, answer
    assert answer.out == ""
    for word in ("--force", "another directory", *words):
        assert word in answer.err


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("sweep", "reproduce"),
        ("reproduce", "sweep"),
        pytest.param("sweep", "sweep", marks=pytest.mark.long),
        pytest.param("reproduce", "reproduce", marks=pytest.mark.long),
    ],
)
def test_another_sweep_is_refused_and_forced(
    headway: Headway, scenario_file: Path, other_file: Path, tmp_path: Path, first: str, second: str
) -> None:
    out = tmp_path / "out"
    assert headway(first, scenario_file, "--out", out).status == 0
    before = files(out)
    refused(headway(second, other_file, "--out", out), "4 finished points of two-flows, not of other")
    assert files(out) == before
    assert headway(second, other_file, "--out", out, "--force").status == 0
    assert json.loads((out / "scenario.json").read_text(encoding="utf-8"))["name"] == "other"
    assert (out / "report.html").exists() == (second == "reproduce")
    assert (out / "claims.json").exists() == (second == "reproduce")
    assert set(package.read(out / "points" / "amrt,seed=1").flows.to_polars()["bytes"]) == {50_000}


def test_the_same_scenario_resumes_and_a_changed_one_is_refused(
    headway: Headway, scenario_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    headway("sweep", scenario_file, "--out", out)
    assert "4 from before" in headway("sweep", scenario_file, "--out", out).out
    answer = headway("sweep", scenario_file, "--out", out, "--set", "traffic.0.flows.0.bytes=1000")
    refused(answer, "4 finished points of two-flows as it was then (amrt,seed=1 had traffic.0.flows.0.bytes ")
    assert ", now 1000)" in answer.err
    manifest = out / "points" / "amrt,seed=1" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"epoch": ', '"epoch": 9'), encoding="utf-8")
    sets = ("--set", "traffic.0.flows.0.bytes=1000", "--set", 'stop="9 ms"')
    refused(headway("sweep", scenario_file, "--out", out, *sets), "(epoch 9", "stop ", "traffic.0.flows.0.bytes ")


def test_points_of_a_forced_sweep_replace_all_others(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    headway("sweep", scenario_file, "--out", out)
    own = out / "points" / "amrt,seed=1" / "notes.txt"
    own.write_text("mine", encoding="utf-8")
    new = ["--set", "sweep.seeds=[7]"]
    refused(headway("sweep", scenario_file, "--out", out, *new))
    assert headway("sweep", scenario_file, "--out", out, *new, "--force").status == 0
    assert own.read_text(encoding="utf-8") == "mine"
    assert [p.name for p in own.parent.iterdir()] == ["notes.txt"]
    assert {p.name for p in (out / "points").iterdir()} == {"amrt,seed=1", "amrt,seed=7", "phost,seed=7"}


def test_another_run_is_refused_and_forced(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert headway("run", scenario_file, "--out", out).status == 0
    assert headway("run", scenario_file, "--out", out).status == 0
    other = ["run", scenario_file, "--out", out, "--set", "transport.name=phost"]
    refused(headway(*other), "another run, two-flows with amrt, seed 1")
    assert headway(*other, "--force").status == 0
    assert set(package.read(out).flows.to_polars()["transport"]) == {"phost"}


def test_a_run_leaves_nothing_of_the_run_before(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    headway("run", scenario_file, "--out", out, "--csv")
    headway("report", out)
    assert headway("report", out, "--format", "svg").status == 0
    (out / "figures" / "mine.svg").write_text("<svg/>", encoding="utf-8")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    refused(headway("run", scenario_file, "--out", out), f"{out / 'notes.txt'}: was not written by Headway")
    assert headway("run", scenario_file, "--out", out, "--force").status == 0
    run = {"manifest.json", "SHA256SUMS", "summary.json", "flows.parquet", "links.parquet", "series.parquet"}
    assert files(out).keys() == run | {"figures/mine.svg", "notes.txt"}


def test_a_run_and_a_sweep_keep_apart(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    headway("run", scenario_file, "--out", out)
    refused(headway("sweep", scenario_file, "--out", out), "holds a run of two-flows with amrt")
    assert headway("sweep", scenario_file, "--out", out, "--force").status == 0
    assert {p.name for p in out.iterdir()} == {"points", "sweep.json", "scenario.json", ".locks"}
    refused(headway("run", scenario_file, "--out", out), "holds a sweep of two-flows (4 finished points)")
    assert headway("run", scenario_file, "--out", out, "--force").status == 0
    package.read(out)
    assert not (out / "points").exists()
    assert not (out / "sweep.json").exists()


def test_a_manifest_that_is_not_ours_stays(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"name": "some web page"}', encoding="utf-8")
    refused(headway("run", scenario_file, "--out", tmp_path), "not of a run of Headway")
    assert manifest.read_text(encoding="utf-8") == '{"name": "some web page"}'


def test_an_interrupted_run_is_in_nobodys_way(
    headway: Headway, long_scenario_file: Path, scenario_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    package.Scenario.load(long_scenario_file).run(out, progress=lambda _: False)
    assert headway("run", scenario_file, "--out", out).status == 0


def test_models_are_told_apart(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "model.toml", tmp_path / "out"
    model.write_text(MODEL.format(rate=1), encoding="utf-8")
    for _ in range(2):
        assert headway("reproduce", model, "--out", out).status == 0
    refused(headway("reproduce", scenario_file, "--out", out), "holds the results of model, not of two-flows")
    model.write_text(MODEL.format(rate=2), encoding="utf-8")
    refused(headway("reproduce", model, "--out", out), "the results of model as it was then")
    assert headway("reproduce", scenario_file, "--out", out, "--force").status == 0
    model.write_text(MODEL.format(rate=1), encoding="utf-8")
    refused(headway("reproduce", model, "--out", out), "4 finished points of two-flows, not of model")


def test_verdicts_and_reports_go_when_points_are_added(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    headway("reproduce", scenario_file, "--out", out)
    assert headway("sweep", scenario_file, "--out", out).status == 0
    assert (out / "report.html").exists()
    assert headway("sweep", scenario_file, "--out", out, "--set", "sweep.seeds=3").status == 0
    assert not any((out / name).exists() for name in ("report.html", "claims.json", "expectations.json"))


@pytest.mark.parametrize("command", ["run", "sweep", "reproduce", "export"])
def test_an_empty_name_is_no_directory(
    headway: Headway, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    more = ["--format", "csv"] if command == "export" else []
    for empty in ("", " "):
        answer = headway(command, scenario_file, "--out", empty, *more)
        assert answer.status == 2
        assert "an empty name" in answer.err
    assert list((tmp_path / "here").iterdir()) == []
    assert headway("report", "").status == 2


def test_the_library_refuses_as_the_command_line_does(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    package.Scenario.load(scenario_file).run(out)
    other = package.Scenario.load(scenario_file, sets={"transport.name": "phost"})
    with pytest.raises(ResultsError, match="overwrite=True"):
        other.run(out)
    other.run(out, overwrite=True)
    with pytest.raises(package.HeadwayError, match="empty name"):
        other.run("")


def test_results_on_real_packets_are_not_replaced_by_simulated_ones(tmp_path: Path) -> None:
    digest, out = "1" * 16, tmp_path / "out"
    out.mkdir()
    conditions = {"slowdown": 100}
    for held, wanted, of in ((conditions, None, "on real packets"), (None, conditions, "of the simulator")):
        (out / "manifest.json").write_text(json.dumps({"digest": digest, "testbed": held, "name": "mine"}), "utf-8")
        with pytest.raises(ResultsError, match=f"holds results {of} of mine"):
            prepare_run(out, digest, real=wanted)
        prepare_run(out, digest, real=held)
        prepare_run(out, digest, real=wanted, overwrite=True)


def test_results_on_real_packets_are_not_replaced_by_those_of_other_conditions(tmp_path: Path) -> None:
    digest, out = "1" * 16, tmp_path / "out"
    out.mkdir()
    held = {"slowdown": 100, "sealed": False, "mtu": 1500, "wall_s": 0.7}
    (out / "manifest.json").write_text(json.dumps({"digest": digest, "testbed": held, "name": "mine"}), "utf-8")
    prepare_run(out, digest, real={"slowdown": 100, "sealed": False, "mtu": 1500})
    for other, said in (
        ({"slowdown": 50, "sealed": False}, "slowdown 100 instead of 50"),
        ({"slowdown": 100, "sealed": True}, "sealed false instead of true"),
        ({"slowdown": 50, "sealed": True}, "slowdown 100 instead of 50, sealed false instead of true"),
        ({"ideal_round_trips": False}, "ideal_round_trips unknown instead of false"),
    ):
        with pytest.raises(ResultsError, match=f"of mine, seed .* with {said}; choose another directory"):
            prepare_run(out, digest, real=other)
        prepare_run(out, digest, real=other, overwrite=True)


@pytest.mark.parametrize("name", ["notes.txt", "flows.csv", "summary.json", ".git"])
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_what_headway_did_not_write_is_refused_by_name(
    headway: Headway, scenario_file: Path, tmp_path: Path, command: str, name: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    refused(headway(command, scenario_file, "--out", out), f"{out / name}: was not written by Headway")
    assert [path.name for path in out.iterdir()] == [name] and (out / name).read_text() == "mine"
    assert headway(command, scenario_file, "--out", out, "--force").status == 0
    # Among results, files of others stay what they are.
    if name == "notes.txt":
        assert (out / name).read_text() == "mine"
        refused(headway(command, scenario_file, "--out", out), str(out / name))
        (out / name).unlink()
        assert headway(command, scenario_file, "--out", out).status == 0


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_input_is_never_overwritten(
    headway: Headway, scenario_file: Path, tmp_path: Path, force: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    own = out / "summary.json"
    text = scenario_file.read_text("utf-8")
    own.write_text(text)
    link = tmp_path / "linked.toml"
    link.symlink_to(own)

    def kept(*command: object) -> None:
        answer = headway(*command, *force)
        assert answer.status == 2 and f"{own}: is an input" in answer.err

    kept("run", link, "--out", out)
    assert own.read_text() == text
    # By a hard link the file has a second name.
    other = tmp_path / "hard.toml"
    other.hardlink_to(own)
    kept("sweep", other, "--out", out)
    assert own.read_text() == text
    kept("export", other, "--format", "csv", "--out", own)
    assert own.read_text() == text


def test_a_trace_in_the_directory_of_results_stays(tmp_path: Path) -> None:
    text = 'flows = "flows.csv"\nother = ["a.csv", { file = "deep/b.csv" }]'
    found = inputs_of(tmp_path / "one.toml", tomllib.loads(text))
    assert set(found) == {tmp_path / name for name in ("one.toml", "flows.csv", "a.csv", "deep/b.csv")}
    (tmp_path / "flows.csv").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(ResultsError, match="is an input"):
            prepare_run(tmp_path, "1" * 16, inputs=found, overwrite=overwrite)
    assert (tmp_path / "flows.csv").read_text() == "mine"
