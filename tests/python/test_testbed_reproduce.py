"""Claims judged on real packets: the runs, the subject of the verdict, the record, and the pages that show it.

The simulator stands for the testbed where only the bookkeeping is looked at; one test sends packets.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import testbeds
from headway.claims.ledger import load_ledger
from headway.claims.testbed import judge_over_repetitions, load_real_runs, variants_needed
from headway.cli import testbed_reproduce
from headway.cli.controls import asked_for
from headway.data.machine import Work
from headway.errors import ClaimsError, HeadwayError
from headway.loading import Scenario
from headway.names import known_scenarios
from support import LIMIT, TWO_FLOWS, Answer

Headway = Callable[..., Answer]

CLAIM = """
[[testbed]]
scenario = "mine/two-flows"
runs = "mine/real"
slowdown = 50

[[claim]]
id = "two-share"
figure = "fig0"
place = ["§1"]
metric = "fct"
published = 0
unit = "s"
qualifier = "over"
scenario = "mine/two-flows"
transports = ["amrt"]
variant = "amrt"
how = "when f0 ends"
measure = "flow('f0', 'finish_s')"

[[claim]]
id = "two-quoted"
figure = "fig0"
place = ["§1"]
metric = "fct"
published = 1
unit = "s"
qualifier = "over"
scenario = "mine/two-flows"
transports = ["amrt"]
variant = "amrt"
how = "not measured"
measure = "cannot('a number of somebody else')"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A paper with a figure, its scenario on real packets, and a ledger."""
    folder = tmp_path / "scenarios" / "mine"
    folder.mkdir(parents=True)
    text = TWO_FLOWS.format(stop="2 ms", size="100 kB")
    text = text.replace("title =", 'paper = "Mine, NSDI 2030, Fig. 1 (§V)"\ntitle =')
    (folder / "two-flows.toml").write_text(text, encoding="utf-8")
    (folder / "real.toml").write_text(text, encoding="utf-8")
    (folder / "claims.toml").write_text(CLAIM, encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    return folder


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None]]:
    """The runs that the testbed was to make, by label, with their slowdown; the simulator makes their results."""
    asked: list[tuple[str, int | None]] = []

    def arguments(path: Path, sets: Sequence[str], *more: object, simulated: bool) -> list[Any]:
        assert not simulated
        return [path, sets, *more]

    def measure(name: str, command: list[Any]) -> tuple[int, dict[str, Any] | None]:
        path, sets, out, scale, slowdown = command
        asked.append((name, slowdown))
        Scenario.load(path, sets=sets, scale=scale).run(out)
        return 0, {}

    monkeypatch.setattr(testbed_reproduce, "probe", lambda: None)
    monkeypatch.setattr(testbed_reproduce, "arguments", arguments)
    monkeypatch.setattr(testbed_reproduce, "measure", measure)
    return asked


def listed(headway: Headway, name: str = "two-share") -> dict[str, Any]:
    rows = json.loads(headway("list", "claims", "mine", "--json").out)
    row: dict[str, Any] = next(row for row in rows if row["id"] == name)
    return row


Asked = list[tuple[str, int | None]]


def test_what_claims_need_is_run_by_repetition_and_put_on_record(
    headway: Headway, home: Path, measured: Asked, tmp_path: Path
) -> None:
    assert listed(headway)["testbed"] is None
    out = tmp_path / "out"
    answer = headway("testbed", "reproduce", "mine/two-flows", "--repetitions", "3", "--out", out, "--record")
    assert answer.status == 0, answer.err
    assert measured == [(f"amrt,seed={seed}", 50) for seed in (1, 2, 3)], "no claim is about the other variant"
    entry = json.loads((home / "testbed.json").read_text(encoding="utf-8"))
    assert list(entry) == ["two-share"], "what could not be measured is not kept"
    kept = entry["two-share"]
    assert (kept["arm"], kept["verdict"], kept["repetitions"]) == ("testbed", "reproduced", 3)
    assert (kept["runs"], kept["slowdown"]) == ("mine/real", 50)
    assert kept["range"][0] <= kept["measured"] <= kept["range"][1]
    (machine,) = kept["machine"]
    assert machine["cores"] >= 1
    assert machine["kernel"]
    assert f"machine: {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}" in answer.out
    row = listed(headway)
    assert row["verdict"] == "pending", "the simulator has measured nothing yet"
    assert row["testbed"]["verdict"] == "reproduced"
    command = "headway testbed reproduce mine/two-flows --repetitions 3 --out out/testbed/mine/two-flows"
    assert row["testbed"]["command"] == command
    assert listed(headway, "two-quoted")["testbed"] is None


def test_what_is_known_of_the_simulator_is_not_said_of_real_packets(
    headway: Headway, home: Path, measured: Asked, tmp_path: Path
) -> None:
    """A claim's `otherwise` is about the simulator; the table has one about hosts."""
    ledger = home / "claims.toml"
    text = CLAIM.replace("published = 0", "published = 9").replace(
        'metric = "fct"\n', 'metric = "fct"\notherwise = "no host"\n', 1
    )
    ledger.write_text(text, encoding="utf-8")
    command = ("testbed", "reproduce", "mine/two-flows", "--repetitions", "1", "--out", tmp_path / "out", "--record")

    def reason() -> str:
        entry = json.loads((home / "testbed.json").read_text(encoding="utf-8"))["two-share"]
        return str(entry["reason"])

    assert headway(*command).status == 0
    assert reason().endswith("; no host")
    ledger.write_text(text.replace("slowdown = 50", 'slowdown = 50\notherwise = "hosts are late"'), encoding="utf-8")
    assert headway(*command).status == 0
    assert reason().endswith("; hosts are late")
    assert len(measured) == 1, "words change no run"
    assert not listed(headway)["testbed"].get("outdated")


def test_a_machine_that_cannot_is_told_once_and_finished_runs_are_judged_without_it(
    headway: Headway, home: Path, measured: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse() -> None:
        raise HeadwayError("the testbed needs root: it makes network namespaces and opens packet sockets")

    monkeypatch.setattr(testbed_reproduce, "probe", refuse)
    command = ("testbed", "reproduce", "mine/two-flows", "--repetitions", "2", "--out", tmp_path / "out")
    answer = headway(*command)
    assert (answer.status, answer.err.count("needs root"), measured) == (2, 1, [])
    monkeypatch.setattr(testbed_reproduce, "probe", lambda: None)
    headway(*command)
    monkeypatch.setattr(testbed_reproduce, "probe", refuse)
    assert headway(*command).status == 0


def test_what_is_finished_is_kept_and_more_repetitions_are_added(
    headway: Headway, home: Path, measured: Asked, tmp_path: Path
) -> None:
    command = ("testbed", "reproduce", "mine/two-flows", "--out", tmp_path / "out")
    headway(*command, "--repetitions", "2")
    assert len(measured) == 2
    again = headway(*command, "--repetitions", "3", "--record")
    assert [name for name, _ in measured[2:]] == ["amrt,seed=3"]
    assert "3/3 runs on real packets (2 from before)" in again.out
    other = headway(*command, "--repetitions", "3", "--slowdown", "60")
    assert other.status == 2, "runs at another slowdown are other runs"
    assert "--force" in other.err


def test_a_run_that_fails_costs_the_others_nothing_and_keeps_the_record_as_it_was(
    headway: Headway, home: Path, measured: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fine: Callable[[str, list[Any]], tuple[int, dict[str, Any] | None]] = vars(testbed_reproduce)["measure"]

    def failing(name: str, command: list[Any]) -> tuple[int, dict[str, Any] | None]:
        if name == "amrt,seed=2":
            raise HeadwayError("the testbed's host h0 failed")
        return fine(name, command)

    monkeypatch.setattr(testbed_reproduce, "measure", failing)
    command = ("testbed", "reproduce", "mine/two-flows", "--repetitions", "3", "--out", tmp_path / "out", "--record")
    answer = headway(*command)
    assert answer.status == 1
    assert "amrt,seed=2: failed: the testbed's host h0 failed" in answer.err
    assert "some runs are missing" in answer.err
    assert [name for name, _ in measured] == ["amrt,seed=1", "amrt,seed=3"]
    assert not (home / "testbed.json").exists()
    monkeypatch.setattr(testbed_reproduce, "measure", fine)
    assert headway(*command).status == 0
    assert [name for name, _ in measured[2:]] == ["amrt,seed=2"]
    assert (home / "testbed.json").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "verdict"),
    [
        ("real.toml", '"10 Gbps"', '"20 Gbps"', "outdated"),
        ("two-flows.toml", '"10 Gbps"', '"20 Gbps"', "reproduced"),
        ("claims.toml", "slowdown = 50", "slowdown = 51", "outdated"),
        ("claims.toml", "flow('f0'", "flow('f1'", "outdated"),
    ],
)
def test_a_verdict_speaks_for_what_was_run(
    headway: Headway, home: Path, measured: Asked, tmp_path: Path, name: str, old: str, new: str, verdict: str
) -> None:
    headway("testbed", "reproduce", "mine/two-flows", "--repetitions", "1", "--out", tmp_path / "out", "--record")
    assert len(measured) == 1
    text = (home / name).read_text(encoding="utf-8")
    assert old in text
    (home / name).write_text(text.replace(old, new), encoding="utf-8")
    row = listed(headway)
    assert row["testbed"]["verdict"] == verdict


@pytest.mark.long
def test_both_arms_stand_side_by_side(headway: Headway, home: Path, measured: Asked, tmp_path: Path) -> None:
    headway("testbed", "reproduce", "mine/two-flows", "--repetitions", "2", "--out", tmp_path / "out", "--record")
    assert measured
    headway("reproduce", "mine/two-flows", "--record", "--out", tmp_path / "simulated")
    table = headway("list", "claims", "mine/two-flows").out
    assert "testbed" in table.splitlines()[1]
    assert "testbed: headway testbed reproduce mine/two-flows --repetitions 2" in table
    page = headway("list", "claims", "mine/two-flows", "--markdown").out
    (line,) = [line for line in page.splitlines() if line.startswith("| two-share") and " to " in line]
    assert line.count("reproduced") == 2
    headway("reproduce", "--all", "mine", "--out", tmp_path / "site")
    site = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "<td>on real packets</td>" in site
    assert "On real packets, median of 2 repetitions on " in site


def test_a_verdict_is_of_the_median_and_says_how_many_agree(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(CLAIM.replace("published = 0", "published = 10"), encoding="utf-8")
    claim = load_ledger(path)[0]
    found = judge_over_repetitions(claim, [9.0, 11.0, 40.0], "published")
    assert (found.verdict, found.measured, found.range, found.seeds) == ("reproduced", 11.0, (9.0, 40.0), 3)
    assert found.reason.endswith("; 2 of 3 repetitions alone give this verdict")
    several = judge_over_repetitions(claim, [[11.0, 1.0], [12.0, 99.0], [13.0, 98.0]], "published")
    assert (several.measured, several.range) == ([12.0, 98.0], [(11.0, 13.0), (1.0, 99.0)])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('scenario = "mine/two-flows"\nruns', 'scenario = "mine/two-flow"\nruns', "no claim is about 'mine/two-flow'"),
        ("slowdown = 50", "slowdown = 0", "'slowdown' is a whole number from 1 to 1000000, not 0"),
        ("slowdown = 50", "slow = 50", "unknown key 'slow'; nearest: slowdown"),
        ("slowdown = 50", 'claims = ["two-shar"]', "no claim 'two-shar' is about mine/two-flows; nearest: two-share"),
    ],
)
def test_a_table_that_means_nothing_is_refused_at_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(CLAIM.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ClaimsError) as caught:
        load_real_runs(path)
    assert said in str(caught.value)
    assert f"{path}:" in str(caught.value)


def test_a_figure_that_cannot_be_judged_is_refused(headway: Headway, home: Path, tmp_path: Path) -> None:
    nothing = headway("testbed", "reproduce", "mine/real", "--out", tmp_path / "out")
    assert (nothing.status, "no claim of a ledger is about mine/real" in nothing.err) == (2, True)
    (home / "real.toml").unlink()
    gone = headway("testbed", "reproduce", "mine/two-flows", "--out", tmp_path / "out")
    assert (gone.status, "there is no such scenario" in gone.err) == (2, True)
    changed = headway(
        "testbed", "reproduce", "mine/two-flows", "--record", "--slowdown", "2", "--out", tmp_path / "out"
    )
    assert (changed.status, "without --set and --slowdown" in changed.err) == (2, True)


def test_what_the_ledgers_run_on_real_packets_has_the_variants_and_axes_that_claims_name() -> None:
    known = known_scenarios()
    ledgers = {file.claims for file in known.values() if file.claims.exists()}
    seen = 0
    for path in sorted(ledgers):
        for runs in load_real_runs(path).values():
            claims = [claim for claim in runs.judged(load_ledger(path)) if claim.scenario == runs.scenario]
            names = {point.variant for point in Scenario.load(known[runs.scenario].path).points()}
            points = Scenario.load(known[runs.runs].path).points()
            needed = set(variants_needed(claims, sorted(names)))
            about = {name for claim in claims for name in names if claim.measure and claim.measure.quotes(name)}
            about |= {claim.variant for claim in claims if claim.variant}
            assert about & needed <= {point.variant for point in points}, runs.runs
            for claim in claims:
                for key, value in (claim.at or {}).items():
                    assert any(point.axes.get(key) == value for point in points), (claim.id, key)
            seen += 1
    assert seen > 0


def test_controls_that_a_scenario_asks_for_have_one_setting_each() -> None:
    entry = {"congestion": "l2dct", "settings": {"young": 5}}
    assert asked_for({"traffic": [entry, dict(entry), {"congestion": "cubic"}, {}]}) == {"l2dct": {"young": 5}}
    with pytest.raises(HeadwayError, match="two entries ask for `l2dct` with different settings"):
        asked_for({"traffic": [entry, {"congestion": "l2dct"}]})


def test_work_of_others_is_what_this_process_and_its_children_did_not_do() -> None:
    earlier, later = Work(100.0, 10.0, 0.0), Work(130.0, 30.0, 20.0)
    assert later.others_since(earlier) == 0.5
    before = Work.now()
    assert Work.now().all_s >= before.all_s >= 0.0


@pytest.mark.long
def test_a_tiny_figure_on_real_packets(home: Path, tmp_path: Path) -> None:
    testbeds.need_testbed()
    out = tmp_path / "out"
    command = [sys.executable, "-m", "headway", "testbed", "reproduce", "mine/two-flows", "--repetitions", "2"]
    command += ["--out", str(out), "--record"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    kept = json.loads((home / "testbed.json").read_text(encoding="utf-8"))["two-share"]
    assert kept["verdict"] == "reproduced"
    assert kept["late_s"] > 0
    assert kept["slowdown"] == 50
    assert "2/2 runs on real packets" in done.stdout
    assert (out / "report.html").is_file()


def test_a_table_may_change_what_is_run(headway: Headway, home: Path, measured: Asked, tmp_path: Path) -> None:
    path = home / "claims.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("slowdown = 50", 'set = { stop = "1 ms" }\nclaims = ["two-share"]'), encoding="utf-8")
    out = tmp_path / "out"
    answer = headway("testbed", "reproduce", "mine/two-flows", "--repetitions", "1", "--out", out, "--json")
    assert [row["id"] for row in json.loads(answer.out)] == ["two-share"]
    assert measured == [("amrt,seed=1", None)]
    (manifest,) = out.glob("points/*/manifest.json")
    assert json.loads(manifest.read_text(encoding="utf-8"))["scenario"]["stop"] == "1 ms"
