"""The command line: its output, its exit status, and that no mistake of a user gives a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.claims.ledger import known_claims
from headway.data.sentences import UNSAMPLED
from support import HOW_MANY, LIMIT, Answer, chosen

Headway = Callable[..., Answer]
LONG = pytest.mark.long


def start(*arguments: object) -> subprocess.Popen[str]:
    """The command line in a process of its own that leads a group, with both outputs piped."""
    command = [sys.executable, "-m", "headway", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def test_run_prints_one_line_that_scripts_can_find(headway: Headway, scenario_file: Path) -> None:
    answer = headway("run", scenario_file)
    assert answer.status == 0
    assert re.fullmatch(r"two-flows: 2/2 flows done, finished at .*, mean FCT .* events in .*\n", answer.out)


def test_run_json_prints_the_summary_and_nothing_else(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    answer = headway("run", scenario_file, "--json", "--out", tmp_path / "out")
    assert json.loads(answer.out) == json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert answer.err == ""


def test_run_writes_a_run_directory(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    answer = headway("run", scenario_file, "--out", tmp_path / "out", "--csv", "--set", "transport.name=phost")
    assert answer.status == 0
    run = package.read(tmp_path / "out")
    assert set(run.flows.to_polars()["transport"]) == {"phost"}
    assert (tmp_path / "out" / "flows.csv").exists()


def test_a_pipe_gets_no_progress(scenario_file: Path) -> None:
    process = start("run", scenario_file)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert out.count("\n") == 1
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "amrt/fig01-multi-botleneck"], "did you mean amrt/fig01-multi-bottleneck"),
        (["run", "amrt/fig"], "start of several scenarios"),
        (["run", "no/such/file.toml"], "no such file"),
        (["run"], "Missing argument"),
        (["rnu", "x"], "Did you mean run"),
        (["run", "FILE", "--scael", "smoke"], "--scale"),
        (["run", "FILE", "--scale", "huge"], "'smoke', 'proxy', 'paper'"),
        (["run", "FILE", "--csv"], "--csv needs --out"),
        (["run", "FILE", "--set", "transport.nmae=phost"], "transport.nmae"),
        (["run", "FILE", "--set", "transport.name=phots"], "phost"),
        (["run", "FILE", "--set", "nonsense"], "nonsense"),
        (["run", "FILE", "--out", "FILE"], "cannot be written"),
        (["run", "FILE", "--out", "/proc/headway"], "cannot be written"),
        (["sweep", "FILE", "--out", "FILE"], "cannot be written"),
        (["sweep", "FILE"], "Missing option '--out'"),
        (["sweep", "FILE", "--out", "OUT", "--jobs", "0"], "not in the range"),
        (["reproduce", "FILE", "--out", "OUT", "--seeds", "x"], "not a valid integer"),
        (["report", "no/such/directory"], "no such directory"),
        (["report", "."], "neither a run"),
        (
            ["report", "FILE"],
            "FILE: is a file, not a directory of results\n  help: of a scenario, `headway run FILE --out ",
        ),
        (["list", "transprots"], "Did you mean transports?"),
        (
            ["list", "nonsense"],
            "transports, topologies, traffic, workloads, disciplines, models, figures, examples, claims",
        ),
        (["run", "scenarios/amrt/fig01-multi-botleneck.toml"], "did you mean amrt/fig01-multi-bottleneck"),
        (["run", "DIR/tow-flows.toml"], "did you mean DIR/two-flows.toml"),
        (
            ["report", "DIR/two-flows"],
            "DIR/two-flows.toml is a scenario: `headway run DIR/two-flows.toml --out DIR/two-flows`",
        ),
        (["view", "FILE"], "FILE: is a file, not a directory of results"),
        (["check", "no-such-scenario"], "no scenario is called"),
        (["check", ""], "an empty name is no scenario"),
        (["check", "DIR/two-flows"], "did you mean DIR/two-flows.toml?"),
    ],
)
def test_mistakes_end_with_status_2_and_one_message(
    headway: Headway,
    scenario_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"FILE": str(scenario_file), "OUT": str(tmp_path / "out")}
    answer = headway(*[places.get(a, a).replace("DIR", str(tmp_path)) for a in arguments])
    assert answer.status == 2
    assert message.replace("FILE", places["FILE"]).replace("DIR", str(tmp_path)) in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_a_sweep_is_resumed_and_a_run_keeps_away_from_it(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert headway("sweep", scenario_file, "--out", out).status == 0
    assert "4 from before" in headway("sweep", scenario_file, "--out", out).out
    answer = headway("run", scenario_file, "--out", out)
    assert answer.status == 2
    assert "holds a sweep" in answer.err


def test_a_failed_point_gives_status_1(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    points = tmp_path / "out" / "points"
    headway("sweep", scenario_file, "--out", tmp_path / "out")
    victim = sorted(points.iterdir())[0]
    (victim / "flows.parquet").write_bytes(b"PAR1")
    victim.with_name(victim.name + ".partial").write_text("in the way", encoding="utf-8")
    answer = headway("sweep", scenario_file, "--out", tmp_path / "out")
    assert answer.status == 1
    assert "3/4 points done" in answer.out
    assert "failed" in answer.err


def test_reproduce_prints_verdicts_and_writes_the_report(headway: Headway, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = headway("reproduce", "amrt/fig01", "--scale", "smoke", "--out", out)
    assert answer.status == 0
    assert f"report: {out / 'report.html'}" in answer.out
    claims = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    assert all(f"{c['verdict']} " in answer.out and c["id"] in answer.out for c in claims)
    verdicts = {c["id"]: c["verdict"] for c in claims}
    assert verdicts["amrt-fig1-phost-util-after-f2"] == "reproduced"
    assert "pending" not in verdicts.values()
    again = headway("reproduce", "amrt/fig01", "--scale", "smoke", "--out", out, "--json")
    assert json.loads(again.out) == claims


@pytest.mark.parametrize(
    "figure", ["fig01", *(pytest.param(f"fig{at}", marks=LONG) for at in ("02", "03", "08", "11", "13"))]
)
def test_every_claim_whose_transports_are_there_is_measured(headway: Headway, tmp_path: Path, figure: str) -> None:
    answer = headway("reproduce", f"amrt/{figure}", "--scale", "smoke", "--out", tmp_path)
    assert answer.status == 0
    stated = {claim.id for claim in known_claims() if claim.pending}
    for name in ("claims.json", "expectations.json"):
        for claim in json.loads((tmp_path / name).read_text(encoding="utf-8")):
            assert (claim["measured"] is None) == (claim["verdict"] == "pending"), claim["id"]
            if claim["verdict"] == "pending":
                assert claim["id"] in stated, claim
    assert (tmp_path / "report.html").is_file()


def test_reproduce_without_claims_says_so(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    answer = headway("reproduce", scenario_file, "--out", tmp_path / "out", "--seeds", 1)
    assert answer.status == 0
    assert "no claim of the paper" in answer.out
    assert json.loads((tmp_path / "out" / "claims.json").read_text(encoding="utf-8")) == []
    assert len(json.loads((tmp_path / "out" / "sweep.json").read_text(encoding="utf-8"))) == 2


def test_report_of_a_run(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    headway("run", scenario_file, "--out", tmp_path / "out")
    answer = headway("report", tmp_path / "out")
    assert answer.status == 0
    assert all(Path(line).is_file() for line in answer.out.split())


@pytest.mark.parametrize(
    ("thing", "entry"),
    [
        ("transports", "amrt"),
        ("topologies", "leaf-spine"),
        ("workloads", "xpass_websearch"),
        ("disciplines", "drop-tail"),
        ("figures", "amrt/fig01-multi-bottleneck"),
        ("examples", "examples/quickstart"),
        ("claims", "amrt-fig1-phost-util-after-f2"),
    ],
)
def test_lists(headway: Headway, thing: str, entry: str) -> None:
    answer = headway("list", thing)
    assert answer.status == 0
    assert entry in answer.out
    names = [e.get("name", e.get("id")) for e in json.loads(headway("list", thing, "--json").out)]
    assert entry in names


def test_figures_are_published_and_examples_are_not(headway: Headway) -> None:
    figures, examples = (headway("list", thing).out for thing in ("figures", "examples"))
    assert "quickstart" not in figures
    assert "amrt/" not in examples
    assert "homa/incast" in examples, "it names a publication, and reproduces no figure of it"


def test_a_list_can_be_narrowed_to_a_name(headway: Headway) -> None:
    rcp, everything = headway("list", "transports", "rcp").out, headway("list", "transports").out
    assert "reordering = 3" in rcp
    assert "reordering = 3" not in everything
    assert "recovery = sack (or newreno)" in headway("list", "transports", "tcp").out
    claims = json.loads(headway("list", "claims", "rpo/fig12", "--json").out)
    assert {claim["scenario"] for claim in claims} == {"rpo/fig12-multi-bottleneck"}
    both = json.loads(headway("list", "claims", "fig17", "--json").out)
    assert {claim["scenario"] for claim in both} == {"amrt/fig17-fat-tree", "rpo/fig17-utilisation"}
    missed = headway("list", "transports", "hmoa")
    assert missed.status == 2
    assert "did you mean homa" in missed.err


def test_the_runs_of_a_sweep_are_warned_about(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    sets = ("--set", 'fabric.discipline="drop-tail"', "--set", "stop=20 us")
    answer = headway("sweep", scenario_file, "--out", tmp_path / "out", *sets)
    assert "4/4 points done" in answer.out
    told = [line for line in answer.err.splitlines() if line.startswith("warning, ")]
    amrt, phost = "`amrt` is meant to run over `anti-ecn`, and the ports are `drop-tail`", "no flow finished"
    assert [line for line in told if "amrt,seed=1 and 1 more: " in line and amrt in line]
    assert [line for line in told if "all 4 points: " in line and phost in line]
    assert len(told) == len({line.partition(": ")[2] for line in told}), "each is told once"


def test_every_module_with_a_command_is_on_the_command_line(headway: Headway) -> None:
    listed = headway("--help").out
    for name in ("check", "export", "list", "report", "reproduce", "run", "sweep"):
        assert re.search(rf"^  {name} ", listed, re.MULTILINE)


def test_a_run_that_samples_nothing_is_not_warned_about(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    text = scenario_file.read_text(encoding="utf-8")
    start, end = text.index("[sample]"), text.index("[variants.amrt]")
    scenario_file.write_text(text[:start] + text[end:], encoding="utf-8")
    answer = headway("run", scenario_file, "--out", tmp_path / "out")
    assert "warning" not in answer.err
    assert UNSAMPLED in package.read(tmp_path / "out").manifest["warnings"]
    assert headway("report", tmp_path / "out").status == 0
    assert "no [sample] table" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_check_refuses_what_a_run_refuses(headway: Headway, scenario_file: Path) -> None:
    """With the same words, whichever of its points it is about."""
    text = scenario_file.read_text(encoding="utf-8")
    for table, sets in (
        ("", ["--set", 'sample={every="1 us",flows=["nobody"]}']),
        ('[variants.named.sample]\nevery = "1 us"\nflows = ["nobody"]\n', []),
    ):
        scenario_file.write_text(f"{text}\n{table}", encoding="utf-8")
        checked = headway("check", scenario_file, *sets)
        ran = headway("run", scenario_file, *sets, *(["--variant", "named"] if table else []))
        assert (checked.status, ran.status) == (2, 2)
        assert "there is no flow `nobody`" in checked.err
        # The place is in the file, or in what overrides it.
        assert checked.err.splitlines()[0] == ran.err.splitlines()[0]
        assert "nobody" in checked.err.partition("╭")[2]
    scenario_file.write_text(text, encoding="utf-8")
    idle = ("--set", "transport.name=amrt", "--set", "transport.name=phost")
    assert headway("check", scenario_file, *idle).status == headway("run", scenario_file, *idle).status


def test_check_says_how_big_it_is(headway: Headway, scenario_file: Path) -> None:
    answer = headway("check", scenario_file)
    assert answer.status == 0
    assert "two-flows: ok; 3 hosts" in answer.out
    assert "4 points" in answer.out
    resolved = json.loads(headway("check", scenario_file, "--json").out)
    assert resolved["fabric"]["payload"] == 1460


def test_check_says_what_looks_odd_before_anything_is_run(headway: Headway, scenario_file: Path) -> None:
    assert headway("check", scenario_file).err == ""
    answer = headway("check", scenario_file, "--set", 'fabric.discipline="drop-tail"')
    assert answer.status == 0
    odd, other = (
        f"`{name}` is meant to run over `{ports}`, and the ports are `drop-tail`"
        for name, ports in (("amrt", "anti-ecn"), ("phost", "strict-priority"))
    )
    told = [f"warning, amrt,seed=1 and 1 more: {odd}", f"warning, phost,seed=1 and 1 more: {other}"]
    assert answer.err.splitlines() == told
    fabric = {"fabric.discipline": "drop-tail", "transport.name": "amrt"}
    assert package.Scenario.load(scenario_file, sets=fabric).warnings == [odd]


@HOW_MANY
def test_check_reads_every_scenario_of_the_project(headway: Headway, how_many: str) -> None:
    listed = [json.loads(headway("list", thing, "--json").out) for thing in ("figures", "examples")]
    assert all(listed)
    checked = {"expresspass/incast", *chosen((entry["name"] for entries in listed for entry in entries), how_many)}
    odd = {}
    for name in sorted(checked):
        answer = headway("check", name)
        assert answer.status == 0, answer.err
        # Of how long arrivals would have to last, see test_steadiness, and of unlike time-outs, test_fairness.
        if told := [line for line in answer.err.splitlines() if not line.startswith(("note, ", "note: `transport."))]:
            odd[name] = "\n".join(told)
    # One shows what other routes cost, three exclude timing noise, three a transport on the ports of others.
    names = ["expresspass/incast", "peers/hpcc-ns3/crossing", "peers/hpcc-ns3/dctcp", "peers/hpcc-ns3/hadoop"]
    names += ["proactmp/fig07-kernel", "proactmp/fig07-sharing", "proactmp/fig08-fairness"]
    assert sorted(odd) == [name for name in names if name in checked]
    assert '`expresspass` needs `fabric.routing = "symmetric"`' in odd["expresspass/incast"]


def test_version_and_help(headway: Headway) -> None:
    assert headway("--version").out == f"headway, version {package.__version__}\n"
    assert "reproduce" in headway("--help").out


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_ctrl_c_ends_with_130_and_readable_results(long_scenario_file: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    process = start(command, long_scenario_file, "--out", out)
    begun = [out] if command == "run" else []
    deadline = time.monotonic() + LIMIT
    while not any(p.exists() for p in begun or out.rglob("*.partial")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "Traceback" not in err
    places = [out] if command == "run" else list(out.rglob("*.partial"))
    assert places
    for place in places:
        assert package.read(place).interrupted


def test_ctrl_c_while_workers_begin_is_no_traceback(long_scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("sweep", long_scenario_file, "--out", out)
    deadline = time.monotonic() + LIMIT
    while not (out / "sweep.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, err = process.communicate(timeout=LIMIT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert "Traceback" not in err


CLOSED = [["list", "claims"], ["list", "claims", "--json"], ["--help"], ["--version"]]


@pytest.mark.parametrize("arguments", [["list", "transports"], *(pytest.param(one, marks=LONG) for one in CLOSED)])
def test_a_closed_pipe_is_no_error_of_ours(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "headway", *arguments]
    process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT)
    os.close(writer)
    assert process.stderr == ""
    assert process.returncode == 141
