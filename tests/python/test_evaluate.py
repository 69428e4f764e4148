"""Measures on run directories made by hand, and the claims file that comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.claims.context import Context
from headway.claims.evaluate import evaluate_claims, finished_runs, write_results
from headway.claims.functions import VOCABULARY
from headway.claims.language import CannotMeasure, parse
from headway.claims.ledger import load_ledger
from headway.data.point import Point
from headway.data.run import Run
from support import HandMade, sweep_row

HALF_LINK = 5e9 * 1460 / 1538


@pytest.fixture
def point(tmp_path: Path) -> Point:
    """Ten samples of 1 ms: f0 at half of a 10 Gb/s link for 5 ms and gone then, f1 at half of it throughout."""
    made = HandMade(
        summary={
            "fct_mean_s": 2.0,
            "empty": None,
            "by": {"size": 3},
            "round_trips": {"samples": 4, "histogram": [[1e-5, 1], [2.9e-5, 2], [1e-3, 1]]},
        },
        flows=[
            {"flow": 0, "name": "f0", "start_s": 0.0, "finish_s": 0.005, "drops": 2},
            {"flow": 1, "name": "f1", "start_s": 0.0, "finish_s": None, "drops": 1},
        ],
        links=[
            {"name": "s0->s1", "rate_bps": 10_000_000_000, "queue_max_bytes": 3076},
            {"name": "s1->s0", "rate_bps": 10_000_000_000, "queue_max_bytes": 0},
        ],
        manifest={"events": 12},
    )
    made.sample("f0", "throughput_bps", [HALF_LINK] * 5)
    made.sample("f1", "throughput_bps", [HALF_LINK] * 10)
    made.sample("s0->s1", "utilisation", [1.0] * 5 + [0.5] * 5)
    made.sample("s0->s1", "queue_max_bytes", [1538.0 * i for i in range(10)])
    made.sample("s0->s1", "queue_bytes", [100.0 * i for i in range(10)])
    made.sample("s0->h2", "queue_bytes", [400.0 - 40.0 * i for i in range(10)])
    made.sample("s1->s0", "queue_bytes", [450.0] * 5)
    return Point("amrt,seed=1", "amrt", {}, 1, results=Run(made.write(tmp_path / "run")))


def measure(point: Point, text: str) -> object:
    return parse(text, VOCABULARY).evaluate(Context([point]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("summary('fct_mean_s')", 2.0),
        ("summary('by.size')", 3.0),
        ("manifest('events')", 12.0),
        ("flow('f0', 'finish_s')", 0.005),
        ("link('s0->s1', 'rate_bps')", 1e10),
        ("flows_sum('drops')", 3.0),
        ("flows_below('drops', 2)", 0.5),
        ("round_trips_below('30 us')", 0.75),
        ("round_trips_below(0)", 0.0),
        ("links_sum('queue_max_bytes')", 3076.0),
        ("links_largest('queue_max_bytes')", 3076.0),
        ("links_sum('queue_max_bytes', 's0->*')", 3076.0),
        ("mean(utilisation('s0->s1'), 0, '5 ms')", 1.0),
        ("mean(utilisation('s0->s1'), 0, '10 ms')", 0.75),
        ("mean(utilisation('s0->s1'), flow('f0', 'finish_s'), '10 ms')", 0.5),
        ("mean(rate('f0'), 0, '5 ms') / 1e9", 5.0),
        ("mean(rate('f0'), 0, '10 ms') / 1e9", 2.5),  # silent once it has ended
        ("mean(rate('f0', 'f1'), 0, '5 ms') / 1e9", 10.0),
        ("mean(throughput('f1'), 0, '10 ms')", HALF_LINK),
        ("peak(queue('s0->s1'), 0, '10 ms')", 9.0),
        ("trough(queue('s0->s1'), '4 ms', '10 ms')", 4.0),
        ("when_above(queue('s0->s1'), 3, 0, '10 ms')", 0.004),
        ("when_below(utilisation('s0->s1'), 1, 0, '10 ms')", 0.006),
        ("when_below(utilisation('s0->s1'), 0.1, 0, '10 ms')", float("inf")),
        ("switches_largest()", 940.0),
        ("switches_largest('s1')", 450.0),
        ("when_above(queue('s0->s1'), 30, 0, '10 ms')", float("inf")),
    ],
)
def test_measures(point: Point, text: str, value: float) -> None:
    assert measure(point, text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("summary('fct_maen_s')", "the summary has no fct_maen_s"),
        ("summary('empty')", "empty is empty"),
        ("manifest('wall')", "the manifest has no wall"),
        ("flow('f9', 'finish_s')", "none of the flows is called f9; there are "),
        ("flow('f1', 'finish_s')", "finish_s of f1 is empty"),
        ("flow('f0', 'colour')", "flows have no column colour"),
        ("links_sum('colour')", "links have no column colour"),
        ("links_largest('queue_max_bytes', 'leaf*')", "no links are called like leaf*"),
        ("switches_largest('leaf*')", "no sampled switch is called like leaf*; there are s0, s1"),
        ("mean(utilisation('s9'), 0, 1)", "no utilisation of s9 was sampled; it was of s0->s1"),
        ("mean(utilisation('s0->s1'), '20 ms', '30 ms')", "has no sample between"),
        ("of('homa', summary('fct_mean_s'))", "no variant homa (it has amrt)"),
        ("at(summary('fct_mean_s'), {'load': 0.5})", "no run at load = 0.5"),
        ("model('no such', 8, 0.5, 600, 0)", "the model has no"),
        ("rpo_model('no such', 8, 0.5, 600, 0)", "the model has no"),
    ],
)
def test_what_a_run_does_not_hold_cannot_be_measured(point: Point, text: str, message: str) -> None:
    with pytest.raises(CannotMeasure) as caught:
        measure(point, text)
    assert message in str(caught.value)


@pytest.fixture
def grid(tmp_path: Path) -> list[Point]:
    """Two variants at two loads; the peer's completion time is higher by its load."""
    runs = []
    for variant, factor in (("amrt", 0.0), ("peer", 1.0)):
        for load in (0.1, 0.5):
            made = HandMade(summary={"fct_mean_s": 1.0 + factor * load})
            place = made.write(tmp_path / f"{variant}-{load}")
            runs.append(Point(variant, variant, {"load": load}, 1, results=Run(place)))
    return runs


def test_axes_are_chosen_and_combined(grid: list[Point]) -> None:
    gain = "percent_lower(of('amrt', summary('fct_mean_s')), of('peer', summary('fct_mean_s')))"
    context = Context(grid)

    def value(text: str) -> float:
        return float(parse(text, VOCABULARY).evaluate(context))

    at_half = value(f"at({gain}, {{'load': 0.5}})")
    assert at_half == pytest.approx(100 / 3)
    assert value(f"largest({gain})") == at_half
    assert value(f"smallest({gain})") == pytest.approx(100 * 0.1 / 1.1)
    assert value(f"share({gain} > 20)") == 0.5
    with pytest.raises(CannotMeasure, match="say which at load"):
        value(gain)


LEDGER = """
[[claim]]
id = "gain"
figure = "fig1"
place = ["§I", "§IX"]
metric = "fct_mean"
published = 50
unit = "percent lower"
qualifier = "up to"
scenario = "s"
transports = ["amrt"]
variant = "phost"
how = "so"
measure = "percent_lower(of('amrt', summary('fct_mean_s')), summary('fct_mean_s'))"
direction = "measured > 0"
otherwise = "because of this"
beside = ["phost", "missing"]

[[claim]]
id = "needs-another"
figure = "fig1"
place = ["§I"]
metric = "fct_mean"
published = 1
unit = "s"
qualifier = "exact"
scenario = "s"
transports = ["amrt", "no-such-transport"]
how = "so"
measure = "summary('fct_mean_s')"
"""


@pytest.fixture
def swept(tmp_path: Path) -> list[dict[str, Any]]:
    """Three seeds of two variants, amrt faster by about a third; a fourth seed lacks its peer."""
    rows = []
    for seed, peer in ((1, 1.5), (2, 1.6), (3, 1.55)):
        for variant, value in (("amrt", 1.0), ("phost", peer)):
            HandMade(summary={"fct_mean_s": value}).write(tmp_path / f"points/{variant}-{seed}")
            rows.append(sweep_row(variant, seed, f"points/{variant}-{seed}"))
    HandMade(summary={"fct_mean_s": 1.0}).write(tmp_path / "points/amrt-4")
    rows.append(sweep_row("amrt", 4, "points/amrt-4"))
    rows.append({**sweep_row("phost", 4, "points/phost-4"), "state": "failed"})
    return rows


def test_claims_file_has_every_key_and_computed_verdicts(tmp_path: Path, swept: list[dict[str, Any]]) -> None:
    (tmp_path / "claims.toml").write_text(LEDGER, encoding="utf-8")
    results = evaluate_claims(load_ledger(tmp_path / "claims.toml"), finished_runs(tmp_path, swept))
    write_results(tmp_path / "claims.json", results)
    gain, needs = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    for row in (gain, needs):
        wanted = {"id", "place", "metric", "published", "measured", "ci95", "seeds", "verdict", "reason"}
        assert wanted <= row.keys()
    assert gain["verdict"] == "direction-only"
    assert gain["seeds"] == 3
    assert gain["measured"] == pytest.approx(100 * (1 - (1 / 1.5 + 1 / 1.6 + 1 / 1.55) / 3))
    assert gain["ci95"][0] < gain["measured"] < gain["ci95"][1]
    assert gain["beside"] == {"phost": pytest.approx(gain["measured"]), "missing": None}
    assert "because of this" in gain["reason"]
    assert "1 seeds left out: the sweep has no variant phost" in gain["reason"]
    assert (needs["verdict"], needs["measured"], needs["seeds"]) == ("pending", None, 0)
    assert "no-such-transport is not among the transports" in needs["reason"]


def test_without_runs_everything_is_pending(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text(LEDGER, encoding="utf-8")
    results = evaluate_claims(load_ledger(tmp_path / "claims.toml"), [])
    assert {str(r.judgement.verdict) for r in results} == {"pending"}
    assert results[0].judgement.reason == "no run of the scenario is finished"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("summary('by')", "by is a table; name one of its numbers, such as by.size"),
        ("summary('fct_maen_s')", "no fct_maen_s; nearest: fct_mean_s"),
        ("flows_quantile('drops', 99)", "from 0 to 1, not 99"),
        ("flows_sum('name')", r"flows_sum\('name'\) cannot be computed"),
        ("flows_quantile('fct_s', 0.99, '10 kB')", r"cannot be computed: `largest` is a number, and '10 kB' is a text"),
        ("flows_sum(3)", r"flows_sum\(3\) cannot be computed: `column` is a text, and 3 is none"),
        ("mean(3, '1 ms', '2 ms')", r"mean\(3, '1 ms', '2 ms'\) cannot be computed"),
        ("jain('a')", r"jain\('a'\) cannot be computed"),
        ("[1] + 1", "do not go together"),
        ("[1][5]", "do not go together"),
    ],
)
def test_values_that_do_not_fit_are_said_in_words(point: Point, text: str, message: str) -> None:
    with pytest.raises(CannotMeasure, match=message):
        measure(point, text)


def test_a_limit_may_be_a_time(point: Point) -> None:
    assert measure(point, "flows_below('start_s', '1 ms')") == 1.0
