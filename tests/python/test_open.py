"""Flows and calls that are open at the end of a run are in every number: as the lab says it, and as Python tells it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import headway
from headway.claims.evaluate import judge_over_seeds, whatever_is_open
from headway.claims.ledger import Claim
from headway.claims.verdict import Qualifier
from headway.data.bounds import Bound, Sample, certain, told
from headway.data.statistics import estimate, ratio_over_seeds
from headway.data.units import display, duration
from headway.reporting.summaries import summary_number

HUNG = """
stop = "{stop}"

[topology]
kind = "single-switch"
hosts = 48
rate = "25 Gbps"
delay = "1 us"

[transport]
name = "dctcp"
preset = "linux-4.19"
handshake = false

[fabric]
buffer = "250 packets"

[[traffic]]
kind = "rpc"
clients = 8
servers = 40
fan_out = 40
request = "200 B"
reply = "10 kB"
calls = 40

[sweep]
"traffic.0.reply" = ["1 kB", "10 kB"]
"""


@pytest.fixture(scope="module")
def hung(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep: calls of small replies, which all end, and of large ones, of which one for each client hangs."""
    folder = tmp_path_factory.mktemp("hung")
    file = folder / "hung.toml"
    file.write_text(HUNG.format(stop="15 ms"))
    headway.sweep(file, folder / "out", jobs=1)
    return folder / "out"


def test_the_first_line_says_who_waits(hung: Path) -> None:
    """The clients that hang come before anything else, and bounds are marked as such."""
    run = headway.read_sweep(hung).runs[1].run
    line = repr(run)
    assert "8 of 8 clients wait since " in line
    assert "mean FCT >= " in line
    assert "wait" not in repr(headway.read_sweep(hung).runs[0].run)


def test_python_counts_as_the_lab_does(hung: Path) -> None:
    """A number of flows of all sizes is the summary's, bound or not."""
    for point in headway.read_sweep(hung):
        for part in ("mean", "p50", "p99", "max"):
            for start in ("fct_", "slowdown_"):
                name = f"{start}{part}" + ("_s" if start == "fct_" else "")
                whole, some = summary_number(point, name), summary_number(point, f"{start}{part}[>=0 B]")
                assert some == pytest.approx(whole, rel=1e-12)
                assert isinstance(some, Bound) == isinstance(whole, Bound)


def test_a_comparison_says_that_a_ratio_is_a_bound(hung: Path) -> None:
    """The slowest call, of which only the least is known."""
    points = headway.read_sweep(hung).runs
    name = "jobs.0.rounds.p99_s"
    few, many = (summary_number(point, name) for point in points)
    assert not isinstance(few, Bound)
    assert isinstance(many, Bound)
    ratio = ratio_over_seeds([(many, few)])
    assert ratio is not None
    assert told(ratio.mean, "x") == ">= x"
    under = ratio_over_seeds([(few, many)])
    assert under is not None
    assert told(under.mean, "x") == "<= x"
    assert ratio_over_seeds([(many, many)]) is None


def test_measures_of_what_is_open(hung: Path) -> None:
    """The language of claims keeps what is known about a number."""
    run = headway.read_sweep(hung).runs[1].run
    measures = ("a=summary('fct_max_s')", "b=1 / a", "c=percent_lower(a, 1)", "d=flows_quantile('fct_s', 1)")
    measured = headway.measure(run, *measures)
    assert [told(measured[name], "") for name in "abcd"] == [">= ", "<= ", "<= ", ">= "]
    assert measured["a"] == pytest.approx(measured["d"])
    with pytest.raises(headway.HeadwayError, match="flows were open"):
        headway.measure(run, "most(summary('fct_max_s') < 1, 0)")


@pytest.mark.parametrize(
    ("qualifier", "published", "measured", "verdict"),
    [
        ("at least", 2.0, Bound(3.0, 1), "reproduced"),
        ("at least", 5.0, Bound(3.0, 1), "pending"),
        ("at most", 2.0, Bound(3.0, 1), "not-reproduced"),
        ("at most", 5.0, Bound(3.0, 1), "pending"),
        ("exact", 3.0, Bound(3.0, 1), "pending"),
        ("exact", 9.0, Bound(3.0, 1), "pending"),
        ("exact", 1.0, Bound(3.0, 1), "not-reproduced"),
        ("exact", 1.0, Bound(3.0, -1), "pending"),
        ("exact", 3.0, 3.0, "reproduced"),
    ],
)
def test_a_verdict_holds_whatever_is_open(qualifier: str, published: float, measured: float, verdict: str) -> None:
    """Only what no value of the open flows could change is a verdict."""
    claim = Claim("one", "f", ("here",), "m", published, "1", Qualifier(qualifier), "x", (), "by hand", None)
    assert str(whatever_is_open(claim, [measured], "published", judge_over_seeds).verdict) == verdict


def test_arithmetic_of_bounds() -> None:
    """Bounds survive where they can, and nowhere else."""
    low, high = Bound(2.0, 1), Bound(2.0, -1)
    assert told(low + 1, "") == told(3 * low, "") == told(1 - high, "") == told(5 / high, "") == ">= "
    assert told(1 - low, "") == told(1 / low, "") == told(-2 * low, "") == "<= "
    assert told(low - low, "x") == told(low / low, "x") == "x (of those that ended)"
    assert certain(lambda x: x > 1, low) is True
    assert certain(lambda x: x > 3, low) is None
    assert certain(lambda x: x > 3, high) is False
    assert display("time", low) == ">= 2 s"
    assert duration(Bound(2e-3, 1)) == ">= 2 ms"
    assert json.dumps(low) == "2.0"
    assert estimate([1.0, low]).half_width is None


def test_a_sample_is_exact_where_nothing_open_moves_it() -> None:
    """In addition to all values that the open one could have."""
    ended = [1.0, 2.0, 3.0, 4.0]
    for least in (0.5, 1.5, 3.5, 9.0):
        sample = Sample([*ended, least], [False] * 4 + [True])
        for q in (0.2, 0.5, 0.8, 0.99):
            found = sample.quantile(q)
            later = [value for value in (least, 2.5, 3.7, 50.0, math.inf) if value >= least]
            possible = {Sample([*ended, value], [False] * 5).quantile(q) for value in later}
            assert found == min(one for one in possible if one is not None)
            assert isinstance(found, Bound) == (len(possible) > 1)
