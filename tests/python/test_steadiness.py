"""Warnings about arrivals that are too short for a steady state: before a run, after a sweep, in its report."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headway as package
from headway.checksums import replace
from headway.data.steadiness import rise, start_up, unsteady
from support import Answer

Headway = Callable[..., Answer]

SHORT = """
seed = 1
[topology]
kind = "single-switch"
hosts = 8
rate = "10 Gbps"
delay = "1 us"
[transport]
name = "dctcp"
[[traffic]]
kind = "poisson"
cdf = { kind = "uniform", mean = "50 kB", spread = 0.9 }
load = 0.95
flows = 1500
[variants.dctcp]
"transport.name" = "dctcp"
[variants.ndp]
"transport.name" = "ndp"
[sweep]
seeds = 3
"""


def halves(early: float | None, late: float | None, share: float = 0.0) -> dict[str, Any]:
    return {"slowdown_mean_early": early, "slowdown_mean_late": late, "start_up_share": share}


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of it that is done."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "short.toml").write_text(SHORT)
    return package.sweep(folder / "short.toml", folder / "out", progress=False).directory


@pytest.fixture
def out(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished sweep, for a test to change."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


def test_a_rise_has_the_interval_of_the_ratios_and_is_told_if_it_is_more_than_chance() -> None:
    runs = [halves(2.0, 2.0 * ratio) for ratio in (1.3, 1.5, 1.7)]
    found = rise(runs)
    assert found is not None and found.low is not None and found.high is not None
    assert found.ratio == pytest.approx((1.3 * 1.5 * 1.7) ** (1 / 3))
    logs = [math.log(ratio) for ratio in (1.3, 1.5, 1.7)]
    mean = sum(logs) / 3
    half = 4.302652729911275 * math.sqrt(sum((one - mean) ** 2 for one in logs) / 2 / 3)
    assert (found.low, found.high) == pytest.approx((math.exp(mean - half), math.exp(mean + half)))
    assert found.is_told
    by_chance = rise([halves(2.0, 2.0 * ratio) for ratio in (0.8, 1.3, 1.7)])
    little = rise([halves(2.0, 2.0 * ratio) for ratio in (1.04, 1.05, 1.06)])
    assert by_chance is not None and not by_chance.is_told
    assert little is not None and not little.is_told


def test_one_run_is_told_only_where_it_is_much_and_missing_halves_are_no_rise() -> None:
    one, more = rise([halves(2.0, 2.8)]), rise([halves(2.0, 3.2)])
    assert one is not None and one.low is None and not one.is_told
    assert more is not None and more.is_told
    assert rise([halves(None, None), {}]) is None
    assert unsteady({"a": [{}], "b": []}) == []


def test_the_worst_is_named_and_the_others_are_counted() -> None:
    groups = {
        "homa": [halves(2.0, 2.0)] * 3,
        "ndp": [halves(2.0, 3.0, 0.2)] * 3,
        "dctcp": [halves(2.0, 4.0, 0.6)] * 3,
    }
    rising, missing = unsteady(groups)
    assert rising.startswith("dctcp and 1 more: flows of the second half of the arrivals have 2 (2 to 2) times")
    assert missing.startswith("dctcp and 1 more: ") and "up to 60 % of" in missing
    (alone,) = unsteady({"ndp": [halves(2.0, 2.0, 0.2)]})
    assert alone.startswith("the network was empty when arrivals began")


def test_a_backlog_that_grows_is_told_with_its_interval_and_chance_is_not() -> None:
    grows = [{"backlog_growth": share} for share in (0.14, 0.155, 0.17)]
    chance = [{"backlog_growth": share} for share in (-0.1, 0.05, 0.3)]
    little = [{"backlog_growth": share} for share in (0.01, 0.011, 0.012)]
    (said,) = unsteady({"phost": grows, "homa": little, "dctcp": chance})
    assert said.startswith("phost: of the bytes that arrive in the second half of the arrivals, 15.5 % (11.8 to 19.2)")
    assert unsteady({"one run": grows[:1]}) == []


def test_check_and_show_say_what_would_be_long_enough_and_that_is(headway: Headway, scenario: Path) -> None:
    note = headway("check", scenario)
    assert note.status == 0
    assert "note, dctcp,seed=1: arrivals last for " in note.err
    found = package.Scenario.load(scenario).run_length
    assert found is not None and found["missing"] > 0.1
    shown = headway("show", scenario, "--no-keys").out
    assert "random arrivals for " in shown and "note: arrivals last for " in shown
    flows = round(found["per_second"] * found["advised_arrivals_s"])
    sets = [f'warmup="{found["advised_warmup_s"] * 1e6:.0f} us"', f"traffic.0.flows={flows}"]
    longer = package.Scenario.load(scenario, sets=sets).run_length
    assert longer is not None and longer["missing"] < 0.04
    assert start_up(longer) is None and start_up(None) is None


def test_a_load_that_links_do_not_carry_is_told_with_one_that_they_do() -> None:
    overloaded = {"arrivals_s": 1.0, "warmup_s": 0.1, "relaxation_s": None, "missing": 1.0, "load": 1.25}
    told = start_up(overloaded)
    assert told is not None
    assert "asked to carry 1.25 of their rate" in told
    assert "there is one at less than 0.8 times this load" in told


def test_a_warm_up_that_leaves_nothing_is_told_before_and_after_the_runs(
    headway: Headway, scenario: Path, tmp_path: Path
) -> None:
    out, sets = tmp_path / "out", ("--set", 'warmup="1 s"')
    told = "and all of them are in the warm-up: no number will count any of these messages; warmup = "
    assert told in headway("check", scenario, *sets).err
    assert told in headway("show", scenario, "--no-keys", *sets).out
    assert "in the warm-up" not in headway("check", scenario).err
    assert headway("sweep", scenario, "--out", out, *sets).status == 0
    lost = headway("compare", out, "--of", "slowdown_p99")
    assert lost.status == 2
    assert (
        "no run of it has the number `slowdown_p99`\n  help: every flow that finished started in the warm-up"
        in lost.err
    )
    page = package.report(out)[0].read_text("utf-8")
    for figure in ("Numbers of each variant", "Ratios to a baseline", "The same flows, compared"):
        assert re.search(f"<dt>{figure}</dt>\\s*<dd>every flow that finished started in the warm-up", page), figure


def test_a_sweep_and_its_report_say_it(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = headway("sweep", scenario, "--out", out)
    assert said.status == 0, said.out
    assert "times the mean slowdown of those of the first half: this is not a steady state" in said.err
    assert "% of the mean queue of a steady state is missing" in said.err
    assert headway("report", out).status == 0
    page = (out / "report.html").read_text()
    assert "times the mean slowdown of those of the first half" in page


@pytest.mark.long
def test_of_a_sweep_that_is_long_enough_nothing_is_said(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    long = ["--set", "traffic.0.flows=6000", "--set", 'warmup="4 ms"', "--set", "traffic.0.load=0.4"]
    said = headway("sweep", scenario, "--out", tmp_path / "long", *long)
    assert said.status == 0, said.out
    assert "steady state" not in said.err


def test_a_comparison_says_it_too(headway: Headway, out: Path, tmp_path: Path) -> None:
    note = "% of the mean queue of a steady state is missing"
    said = headway("compare", out, "--of", "slowdown_p99")
    assert said.status == 0 and said.err.startswith("note: ") and note in said.err
    assert note not in said.out
    as_json = json.loads(headway("compare", out, "--of", "slowdown_p99", "--json").out)
    assert any(note in text for text in as_json["notes"])
    two = headway("compare", out, "--at", "ndp", "--reference-at", "dctcp", "--page", tmp_path / "page.html")
    assert note in two.err and note not in two.out
    assert note in (tmp_path / "page.html").read_text("utf-8")
    assert "±: half of the 95 % confidence interval of the mean ratio over 3 seeds" in two.out
    alone = headway("compare", out / "points" / "ndp,seed=1", out / "points" / "dctcp,seed=1")
    assert note in alone.err and "±" not in alone.out


def test_a_comparison_says_what_runs_of_some_variants_warn_of(headway: Headway, out: Path, tmp_path: Path) -> None:
    for path in out.glob("points/*/manifest.json"):
        manifest = json.loads(path.read_text())
        manifest["warnings"] = ["of all", *(["full ports dropped data"] if "ndp" in path.parent.name else [])]
        path.write_text(json.dumps(manifest))
        replace(path.parent, path.name)
    said = headway("compare", out, "--of", "slowdown_p99").err
    assert "note: ndp,seed=1 and 2 more: full ports dropped data\n" in said
    assert "of all" not in said, "what every run warns of sets no variant apart"


def test_what_an_earlier_build_did_not_compute_is_told(
    headway: Headway, scenario: Path, out: Path, tmp_path: Path
) -> None:
    assert "earlier build" not in headway("compare", out).err
    new = ("relaxation_s", "start_up_share", "slowdown_mean_early", "slowdown_mean_late", "backlog_growth")
    for label in ("dctcp,seed=1", "dctcp,seed=2", "dctcp,seed=3", "ndp,seed=2"):
        path = out / "points" / label / "summary.json"
        kept = {key: value for key, value in json.loads(path.read_text()).items() if key not in new}
        path.write_text(json.dumps(kept))
        replace(path.parent, path.name)
    told = (
        "4 of 6 runs (the first is dctcp,seed=1) are of an earlier build, which did not compute `relaxation_s`,"
        " `start_up_share`, `slowdown_mean_early` and 2 more"
    )
    anew = "`HEADWAY_STORE=off headway sweep SCENARIO --out NEW` computes all anew"
    for said in (headway("sweep", scenario, "--out", out), headway("compare", out)):
        assert said.status == 0 and f"note: {told}" in said.err and anew in said.err
    assert headway("report", out).status == 0
    page = (out / "report.html").read_text("utf-8")
    assert "are of an earlier build" in page
    of = ["--of", "backlog_growth"]
    lost = headway("compare", out, "--at", "dctcp", "--reference-at", "ndp", *of)
    assert lost.status == 2 and "has no `backlog_growth` in its summary\n  help: it is of an earlier build" in lost.err
    for path in out.glob("points/*/summary.json"):
        kept = {key: value for key, value in json.loads(path.read_text()).items() if key not in new}
        path.write_text(json.dumps(kept))
        replace(path.parent, path.name)
    lost = headway("compare", out, *of)
    assert lost.status == 2 and "no run of it has the number `backlog_growth`\n  help: 6 of 6 runs" in lost.err


def test_more_than_links_carry_has_no_steady_state(headway: Headway, scenario: Path) -> None:
    text = SHORT.replace("load = 0.95", 'load = 1.0\nload_bytes = "payload"')
    scenario.write_text(text)
    note = headway("check", scenario).err
    assert "queues grow for as long as messages arrive, and there is no steady state" in note
