"""The HTML page: self-contained, complete, and its hover data are the data."""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway import Scenario
from headway.reporting import build
from headway.reporting.assemble import assemble
from headway.reporting.figures import NAMES
from headway.reporting.load import load
from headway.reporting.model import figure
from headway.reporting.spec import Panel
from report.conftest import KINDS
from report.make_runs import CLAIMS, amrt_gains
from report.page_reader import Page, structure

EXPECTED = {
    "parking": ["throughput-time", "topology", "utilisation-time", "queue-time", "link-utilisation"],
    "sweep": ["fct-load", "topology", "slowdown-size", "cdf", "link-utilisation"],
    "single": ["topology", "slowdown-size", "cdf", "link-utilisation"],
    "model": ["model"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_reaches_for_nothing_outside(kind: str, pages: dict[str, Page]) -> None:
    text = pages[kind].text
    parsed = structure(text)
    assert all(reference.startswith("#") for reference in parsed.references)
    assert {reference[1:] for reference in parsed.references} <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data
    readable = text.replace(data[1], "") + json.dumps(pages[kind].content)
    assert not re.findall(r"(?:https?:|wss?:|ftp:)?//[a-z0-9]", readable.replace("//#", ""), re.IGNORECASE)
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)
    assert len(text.encode()) < 1_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_each_figure_is_drawn_or_says_why_not(kind: str, pages: dict[str, Page]) -> None:
    page = pages[kind]
    # A figure that was added is drawn, too, where it has data.
    known = {"round-trips", *(name for names in EXPECTED.values() for name in names)}
    assert [name for name in page.figures if name in known] == EXPECTED[kind]
    assert not set(page.figures) & set(page.absent)
    assert all(len(reason) > 10 for reason in page.absent.values())
    if kind != "model":
        everything = set(page.figures) | set(page.absent)
        assert everything == set(NAMES) - {"model"}


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_well_formed_and_focusable(kind: str, pages: dict[str, Page]) -> None:
    page = pages[kind]
    panels = [picture for picture in page.pictures if "data-panel" in picture.attrib]
    assert {picture.attrib["data-panel"] for picture in panels} == set(page.data)
    for picture in panels:
        assert picture.attrib["tabindex"] == "0"
        assert picture.attrib["aria-label"]
        assert not re.search(r"nan|inf(?!o)", " ".join(path.attrib.get("d", "") for path in picture.iter("path")))


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_has_a_colour_in_both_modes_and_a_unit_on_its_axis(kind: str, pages: dict[str, Page]) -> None:
    page = pages[kind]
    for panel in page.data.values():
        for axis in (panel["x"], panel["y"]):
            assert axis["label"]
            assert axis["quantity"] in ("time", "bytes", "rate", "percent", "ratio", "count")
        assert panel["series"]
    for slot in set(re.findall(r'class="(k\d+)', page.text)):
        assert f".{slot}{{--c:#" in page.text
        assert f":root[data-mode=dark] .{slot}{{--c:#" in page.text


def test_throughput_hover_values_are_the_sampled_ones(pages: dict[str, Page], results: Path) -> None:
    page = pages["parking"]
    stored = pl.read_parquet(results / "parking/points/phost-arrival,seed=1/series.parquet")
    for flow in ("f0", "f1", "f2", "f3"):
        rows = stored.filter((pl.col("entity") == flow) & (pl.col("metric") == "throughput_bps")).sort("t_s")
        x, y = page.series(page.panel("throughput-time", "phost-arrival"), flow)
        np.testing.assert_allclose(x, rows["t_s"].to_numpy(), rtol=1e-5)
        np.testing.assert_allclose(y, rows["value"].to_numpy(), rtol=1e-5)


def test_throughput_panels_share_their_axes_and_mark_the_starts(pages: dict[str, Page]) -> None:
    page = pages["parking"]
    axes = {
        json.dumps([panel["x"], panel["y"]]) for name, panel in page.data.items() if name.startswith("throughput-time")
    }
    assert len(axes) == 1
    assert len([name for name in page.data if name.startswith("throughput-time")]) == 4
    labels = [t for p in page.pictures for t in p.iter("text") if t.attrib.get("class") == "label" and len(t)]
    assert {span.text for label in labels for span in label} == {"f0", "f1", "f2", "f3"}


def test_queue_shows_the_largest_of_each_interval_and_the_buffer(pages: dict[str, Page], results: Path) -> None:
    page = pages["parking"]
    stored = pl.read_parquet(results / "parking/points/phost-line-rate,seed=1/series.parquet")
    rows = stored.filter((pl.col("entity") == "s0->s1") & (pl.col("metric") == "queue_max_bytes")).sort("t_s")
    _, y = page.series(page.panel("queue-time", "s0 → s1"), "phost-line-rate")
    np.testing.assert_allclose(y, rows["value"].to_numpy(), rtol=1e-5)
    assert "buffer 197 kB" in page.text


def test_fct_over_load_is_the_mean_over_seeds_with_its_interval(pages: dict[str, Page], results: Path) -> None:
    page = pages["sweep"]
    name = page.panel("fct-load", "vl2_datamining · p99 FCT")
    values = []
    for seed in (1, 2, 3):
        label = f"phost,cdf=vl2_datamining,load=0.7,seed={seed}"
        summary = json.loads((results / "sweep/points" / label / "summary.json").read_text(encoding="utf-8"))
        values.append(summary["fct_p99_s"])
    x, y = page.series(name, "phost")
    at = x.index(0.7)
    line = next(line for line in page.data[name]["series"] if line["name"] == "phost")
    half = 4.3027 * np.std(values, ddof=1) / math.sqrt(3)
    assert y[at] == pytest.approx(np.mean(values), rel=1e-5)
    assert line["hi"][at] == pytest.approx(np.mean(values) + half, rel=1e-4)
    assert line["lo"][at] == pytest.approx(max(0.0, np.mean(values) - half), rel=1e-4)


def test_the_distribution_is_that_of_the_finished_flows_after_warmup(pages: dict[str, Page], results: Path) -> None:
    page = pages["single"]
    flows = pl.read_parquet(results / "single/flows.parquet")
    kept = flows.filter((pl.col("state") == "done") & (pl.col("start_s") >= 50e-6))["slowdown"].sort().to_numpy()
    assert len(kept) < flows.height - 2
    x, y = page.series(page.panel("cdf", "slowdown"), "amrt")
    for value, share in zip(x, y, strict=True):
        below, at = np.mean(kept <= value * (1 - 1e-5)), np.mean(kept <= value * (1 + 1e-5))
        assert below - 1e-5 <= share <= at + 1e-5
    assert y[-1] == 1.0


def test_slowdown_by_size_counts_every_flow_once(pages: dict[str, Page], results: Path) -> None:
    page = pages["single"]
    flows = pl.read_parquet(results / "single/flows.parquet")
    kept = flows.filter((pl.col("state") == "done") & (pl.col("start_s") >= 50e-6))
    edges, means = page.series(page.panel("slowdown-size", "mean slowdown"), "amrt")
    sizes, slowdown = kept["bytes"].to_numpy(), kept["slowdown"].to_numpy()
    assert edges[-1] == pytest.approx(sizes.max(), rel=1e-5)
    first = slowdown[sizes <= edges[0] * (1 + 1e-5)]
    assert means[0] == pytest.approx(first.mean(), rel=1e-5)


def test_model_curves_are_the_equations(pages: dict[str, Page]) -> None:
    page = pages["model"]
    x, y = page.series(page.panel("model", "U gain, latest convergence"), "1 MB")
    at = x.index(0.5)
    assert y[at] == pytest.approx(amrt_gains(25 / 3, 0.5, 1e6 / 1500, 0.0)["u_gain_latest"], rel=1e-5)
    x, y = page.series(page.panel("model", "FCT gain, earliest convergence"), "1 MB")
    assert y[x.index(0.0)] == pytest.approx(320, rel=1e-3)


def test_the_model_is_evaluated_for_the_scenario_s_own_table(tmp_path: Path) -> None:
    table = {
        "name": "amrt-gain",
        "rate": "2 Gbps",
        "rtt": "100 us",
        "packet": 1500,
        "path_packets": 2e9 * 100e-6 / 8 / 1500,
        "sizes": [1_000_000],
        "sizes_packets": [1e6 / 1500],
        "rate_shares": [0.25, 0.5],
        "loss_shares": [0.0, 0.5],
        "fixed_rate_share": 0.5,
    }
    scenario = {"title": "Model", "model": table, "report": {"figure": "model"}}
    (tmp_path / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
    for name in ("sweep.json", "claims.json"):
        (tmp_path / name).write_text("[]", encoding="utf-8")
    found = figure(load(tmp_path))
    assert [entry.text for entry in found.legend] == ["1 MB"]
    panel = next(p for p in found.panels if p.title == "U gain, earliest convergence")
    assert isinstance(panel, Panel)
    (curve,) = panel.series
    assert (curve.x[0], curve.x[-1]) == (0.25, 0.5)
    assert curve.y[0] == pytest.approx(amrt_gains(2e9 * 100e-6 / 8 / 1500, 0.25, 1e6 / 1500, 0.0)["u_gain_earliest"])


def test_the_figure_comes_first_and_then_one_strip_of_counts(pages: dict[str, Page]) -> None:
    text = pages["parking"].text.replace("\u00a0", " ")
    places = [text.index(part) for part in ("<figure", 'id="claims"', "<table", 'class="notes"', 'id="topology"')]
    assert places == sorted(places)
    strip = text[text.index('<details class="strip">') :]
    assert strip.index("</summary>") < strip.index("<table")
    for claim in CLAIMS:
        assert text.count(str(claim["id"])) >= 1
        assert str(claim["reason"]) in text
    counts = re.findall(r'<strong>(\d+)</strong><span class="badge (\w+)"', text)
    assert counts == [("5", "good"), ("1", "fair"), ("1", "bad"), ("1", "open"), ("1", "good")]
    assert "83.02 ± 0.31" in text
    assert "5.020 ± 0.020, 4.970 ± 0.020" in text
    assert "amrt 0.9930 ± 0.0020, phost 0.8300 ± 0.0030" in text
    assert "about 66" in text
    assert "1 pending claim" in text


def test_expectations_are_told_apart_from_claims(pages: dict[str, Page]) -> None:
    text = pages["parking"].text.replace("\u00a0", " ")
    assert text.index("amrt-fig1-phost-start") < text.index("Expected beyond") < text.index("expect-fig1-amrt-full")
    assert "over 99" in text
    assert "99.40 ± 0.10, 99.70 ± 0.10" in text


def test_unfinished_flows_are_counted_and_listed(pages: dict[str, Page]) -> None:
    assert "2 flows did not finish" in pages["single"].text
    assert "f399" in pages["single"].text
    assert "6 flows did not finish" in pages["sweep"].text


def test_what_headway_expects_is_not_called_published(pages: dict[str, Page]) -> None:
    text = pages["parking"].text
    start = text.index("Expected beyond")
    assert "published" not in text[start : text.index("</section>", start)]


def test_no_flow_is_listed_twice(pages: dict[str, Page]) -> None:
    """The table of flows shows one seed; the other one's unfinished flows are listed apart."""
    text = pages["parking"].text
    assert '<a href="#unfinished">' in text
    assert "Those in the table of flows are not repeated." in text
    first, second = (text[text.index(f'<section id="{name}">') :] for name in ("flows", "unfinished"))
    runs = [set(re.findall(r"\S+,seed=\d", part[: part.index("</section>")])) for part in (first, second)]
    assert runs[0]
    assert runs[1]
    assert not runs[0] & runs[1]


def test_backticks_are_set_as_code(single: Path) -> None:
    path = single / "manifest.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["scenario"] |= {"description": "Uses `a<b>` here, 5` there.", "report": {"notes": "see `x`"}}
    record["warnings"] = ["`every` is long"]
    path.write_text(json.dumps(record), encoding="utf-8")
    text = build(single)[0].read_text(encoding="utf-8")
    assert "Uses <code>a&lt;b&gt;</code> here, 5` there." in text
    assert "see <code>x</code>" in text
    assert "<code>every</code> is long" in text
    assert "<code>every</code> and <code>flows</code>" in text


def test_claims_stack_on_narrow_screens_with_names_for_their_values(pages: dict[str, Page]) -> None:
    text = pages["parking"].text
    for label in ("published", "measured", "measured ÷ published", "seeds", "expected", "measured ÷ expected"):
        assert f'data-label="{label}"' in text


def test_other_variants_are_told_once(pages: dict[str, Page]) -> None:
    assert "[beside:" not in pages["parking"].text


def test_run_facts_are_told(pages: dict[str, Page], results: Path) -> None:
    record = json.loads((results / "single/manifest.json").read_text(encoding="utf-8"))
    text = html.unescape(pages["single"].text)
    for key in ("order_digest", "version", "ideal_fct_formula"):
        assert record[key] in text
    assert record["warnings"][0] in text


def test_a_figure_name_nobody_knows_is_told(single: Path) -> None:
    path = single / "manifest.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["scenario"]["report"] = {"figure": ["cdf", "fct-laod"], "notes": "Two <b>figures</b> & more"}
    path.write_text(json.dumps(record), encoding="utf-8")
    page = Page(build(single)[0].read_text(encoding="utf-8"))
    assert page.figures[0] == "cdf"
    assert "fct-laod" in page.text
    assert "Two &lt;b&gt;figures&lt;/b&gt; &amp; more" in page.text


def test_long_series_are_thinned_and_the_caption_says_so(single: Path) -> None:
    times = np.arange(1, 5001) * 1e-6
    rows = [(float(t), "leaf0->spine1", "queue_max_bytes", float(i % 100)) for i, t in enumerate(times)]
    series = pl.DataFrame(rows, schema=["t_s", "entity", "metric", "value"], orient="row")
    series.write_parquet(single / "series.parquet")
    page = Page(build(single)[0].read_text(encoding="utf-8"))
    line = page.data["queue-time.0"]["series"][0]
    assert len(line["y"]) == 500
    assert line["y"][0] == pytest.approx(4.5)
    assert (line["lo"][0], line["hi"][0]) == (0.0, 9.0)
    assert "the minimum and maximum of 10 sampling intervals" in page.text


def test_any_other_sampled_metric_gets_a_figure(single: Path) -> None:
    rows = [(i * 1e-6, "f0", "window_bytes", 1000.0 * i) for i in range(1, 9)]
    series = pl.DataFrame(rows, schema=["t_s", "entity", "metric", "value"], orient="row")
    series.write_parquet(single / "series.parquet")
    assert "series-window-bytes" in Page(build(single)[0].read_text(encoding="utf-8")).figures


def test_the_page_is_the_same_every_time(results: Path) -> None:
    first = build(results / "parking")[0].read_bytes()
    assert build(results / "parking")[0].read_bytes() == first


WAITING = """
title = "A flow that waits for one that is not over when the run ends"
stop = "300 us"
[topology]
kind = "single-switch"
hosts = 3
rate = "10 Gbps"
delay = "1 us"
[transport]
name = "amrt"
[[traffic]]
kind = "flows"
flows = [
  { name = "first", src = 0, dst = 1, bytes = "1 MB" },
  { name = "then", src = 1, dst = 2, bytes = "1 MB", after = ["first"] },
]
[sample]
every = "20 us"
flows = "all"
links = "all"
causes = true
"""


def test_a_flow_that_never_began_is_in_no_figure_and_stops_none(tmp_path: Path) -> None:
    Scenario.from_text(WAITING).run(tmp_path / "run")
    (page,) = build(tmp_path / "run")
    assert "Throughput of each flow over time" in page.read_text("utf-8")
    drawn = assemble(load(tmp_path / "run")).drawn
    (panel,) = next(figure for figure in drawn if figure.id == "throughput-time").panels
    assert isinstance(panel, Panel)
    assert [(event.text, event.x) for event in panel.events] == [("first", 0.0)]
