"""Paired flows, deadlines, the names of tails, and the effect of selectors: numbers against the results."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import headway
from headway.data.statistics import estimate
from headway.reporting import page
from headway.reporting.assemble import assemble
from headway.reporting.content import PAGE_BYTES
from headway.reporting.distributions import tail_name
from headway.reporting.figures import kind_of
from headway.reporting.figures.paired import ratio_of
from headway.reporting.load import load
from headway.reporting.page import render
from headway.reporting.spec import Figure, Panel
from headway.reporting.study import Study
from headway.reporting.tables import summary
from report import make_runs
from report.page_reader import Page

FLOWS = """
stop = "30 ms"
[topology]
kind = "single-switch"
hosts = 8
rate = "10 Gbps"
delay = "2 us"
[transport]
name = "dctcp"
[[traffic]]
kind = "poisson"
cdf = "xpass_websearch"
load = 0.6
load_reference = "host-links"
flows = 60
deadline = "400 us"
[variants.dctcp]
"transport.name" = "dctcp"
[variants.tcp]
"transport.name" = "tcp"
[sweep]
seeds = 2
"traffic.0.load" = [0.3, 0.7]
[report]
baseline = "tcp"
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("paired")
    (out / "scenario.toml").write_text(FLOWS, encoding="utf-8")
    headway.sweep(out / "scenario.toml", out / "sweep", jobs=1)
    return out / "sweep"


@pytest.fixture(scope="module")
def study(sweep: Path) -> Study:
    return Study(load(sweep))


def drawn(study: Study, name: str) -> Figure:
    (figure,) = kind_of(name).figures(study)
    return figure


def panel(panels: Any, **about: str) -> Panel:  # noqa: ANN401  (of any kind)
    (found,) = [p for p in panels if isinstance(p, Panel) and about.items() <= dict(p.about).items()]
    return found


def flows(sweep: Path, variant: str, load: float, seed: int) -> pl.DataFrame:
    return pl.read_parquet(sweep / "points" / f"{variant},load={load},seed={seed}" / "flows.parquet")


def paired_with_first(directory: Path) -> set[str]:
    """The variants whose flows are paired with those of the first variant."""
    panels = [one for one in drawn(Study(load(directory)), "paired").panels if isinstance(one, Panel)]
    return {curve.key for one in panels for curve in one.series}


def test_a_ratio_is_the_geometric_mean_over_the_same_flows_with_its_interval(sweep: Path, study: Study) -> None:
    figure = drawn(study, "paired")
    (curve,) = panel(figure.panels, size="all").series
    for place, load_ in enumerate((0.3, 0.7)):
        logs = []
        for seed in study.seeds:
            ours, theirs = (flows(sweep, variant, load_, seed) for variant in ("dctcp", "tcp"))
            both = ours.join(theirs, on=["src", "dst", "bytes", "start_s"], suffix="_there").filter(
                (pl.col("state") == "done") & (pl.col("state_there") == "done")
            )
            logs.append(float((both["fct_s"] / both["fct_s_there"]).log().mean()))  # type: ignore[arg-type]
        found = estimate(logs)
        assert found.half_width is not None
        assert curve.y[place] == pytest.approx(math.exp(found.mean))
        assert curve.low is not None
        assert curve.low[place] == pytest.approx(math.exp(found.mean - found.half_width))
    assert "confidence interval over 2 seeds" in figure.caption


def test_another_baseline_turns_the_ratio_over(study: Study) -> None:
    figure = drawn(study, "paired")
    (one,) = panel(figure.panels, size="all", baseline="tcp").series
    (other,) = panel(figure.more, size="all", baseline="dctcp", seed="all").series
    assert [a * b for a, b in zip(one.y, other.y, strict=True)] == pytest.approx([1.0, 1.0])


def test_with_one_seed_the_interval_is_over_flows_and_few_pairs_have_none() -> None:
    logs = np.log(np.array([0.5, 0.8, 1.0, 1.1, 0.9, 0.7]))
    found = ratio_of([logs])
    expected = estimate(logs.tolist())
    assert found is not None
    assert expected.half_width is not None
    assert found == pytest.approx([math.exp(expected.mean + sign * expected.half_width) for sign in (0, -1, 1)])
    assert ratio_of([logs[:4]]) is None


def test_variants_with_other_flows_are_not_paired(tmp_path: Path) -> None:
    make_runs.make_load_sweep(tmp_path, loads=(0.3,), seeds=(1,), count=60)
    other = Study(load(tmp_path)).variants[1]
    assert f"v:{other}" in paired_with_first(tmp_path)
    for path in tmp_path.glob(f"points/{other},*/flows.parquet"):
        frame = pl.read_parquet(path)
        frame.with_columns(pl.col("bytes") + 1).write_parquet(path)
    left = paired_with_first(tmp_path)
    assert f"v:{other}" not in left
    assert left or len(Study(load(tmp_path)).variants) == 2


def test_missed_deadlines_are_those_of_the_summaries_and_of_the_flows(sweep: Path, study: Study) -> None:
    figure = drawn(study, "deadlines")
    missed = next(p for p in figure.panels if isinstance(p, Panel) and p.title.endswith("deadlines missed"))
    used = next(p for p in figure.panels if isinstance(p, Panel) and "time used" in p.title)
    for variant in ("dctcp", "tcp"):
        curve = next(c for c in missed.series if c.key == f"v:{variant}")
        shares = []
        for seed in study.seeds:
            path = sweep / "points" / f"{variant},load=0.7,seed={seed}" / "summary.json"
            shares.append(json.loads(path.read_text())["deadline_missed_fraction"])
        assert curve.y[curve.x.index(0.7)] == pytest.approx(np.mean(shares))
        line = next(c for c in used.series if c.key == f"v:{variant}")
        met = max((share for x, share in zip(line.x, line.y, strict=True) if x <= 1.0), default=0.0)
        assert 1.0 - met == pytest.approx(np.mean(shares), abs=0.02)
    assert used.shades[0].start == 1.0


def test_the_tail_of_few_flows_is_called_the_largest(study: Study) -> None:
    assert tail_name("p99 FCT", [100, 250]) == "p99 FCT"
    assert tail_name("mean FCT", [3]) == "mean FCT"
    assert tail_name("p99 FCT", [60, 70]) == "largest FCT (under 100 flows: no p99)"
    assert tail_name("p99 FCT", [60, 170]).startswith("p99 FCT (the largest where")
    figure = drawn(study, "fct-load")
    assert any("largest FCT" in one.title for one in figure.panels)
    table = summary(study)
    column = table.head.index("p99 FCT")
    assert all("largest of a run" in row[column] for row in table.rows)


def test_what_selectors_bring_is_the_chosen_runs(sweep: Path, study: Study) -> None:
    figure = drawn(study, "cdf")
    found = [p for p in figure.more if dict(p.about) == {"load": "0.3", "seed": "2", "size": "all"}]
    line = next(
        c for p in found if isinstance(p, Panel) and p.title == "slowdown" for c in p.series if c.key == "v:tcp"
    )
    own = flows(sweep, "tcp", 0.3, 2).filter(pl.col("state") == "done")["slowdown"]
    assert line.x[-1] == pytest.approx(own.max())
    assert line.x[0] == pytest.approx(own.min())


def test_a_page_keeps_below_its_size_and_says_what_is_left_out(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = assemble(load(sweep))
    whole = Page(render(report))
    assert len(whole.text.encode()) < PAGE_BYTES
    assert "further panels are not in this page" not in whole.text
    assert {ask["name"] for ask in whole.content["asks"]} >= {"load", "seed", "baseline"}
    monkeypatch.setattr(page, "PAGE_BYTES", len(whole.text.encode()) - 8_000)
    cut = Page(render(report))
    assert len(cut.text.encode()) < len(whole.text.encode())
    assert "further panels are not in this page" in cut.text


def test_a_baseline_that_is_no_variant_is_an_error_at_its_place() -> None:
    with pytest.raises(headway.ScenarioError, match=r"no variant is called `tpc`(.|\n)*did you mean `tcp`"):
        headway.Scenario.from_text(FLOWS.replace('baseline = "tcp"', 'baseline = "tpc"'))
