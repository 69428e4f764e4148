"""Figures of time by cause and of critical paths show the contents of the tables, and say why there is nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure as Canvas

import headway
import headway as package
from headway.building.parts import Sample
from headway.reporting.assemble import Report, assemble
from headway.reporting.causes import CAUSES, cause_key, label
from headway.reporting.load import load
from headway.reporting.spec import BarPanel, Figure
from support import Answer

Headway = Callable[..., Answer]


def scenario(*, causes: bool) -> headway.Scenario:
    """A job together with a flow, and web search."""
    return headway.scenario(
        topology=headway.single_switch(hosts=4, rate="10 Gbps", delay="1 us"),
        traffic=[
            headway.traffic.allreduce(bytes="400 kB", algorithm="halving-doubling"),
            headway.poisson(cdf="dctcp_websearch", load=0.3, flows=30),
        ],
        transport="dctcp",
        sample=headway.sample(causes=True) if causes else headway.sample(every="20 us", links="all"),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> headway.Run:
    """A run that was asked."""
    return scenario(causes=True).run(tmp_path_factory.mktemp("causes") / "run")


def drawn(report: Report, name: str) -> Figure:
    """The figure of a name."""
    return next(figure for figure in report.figures if figure.id == name)


def bars(figure: Figure) -> list[BarPanel]:
    """Its panels, which are of bars."""
    assert figure.absent is None
    return [panel for panel in figure.panels if isinstance(panel, BarPanel)]


def report_of(run: headway.Run) -> Report:
    """The report of the run."""
    assert run.directory is not None
    return assemble(load(run.directory))


def test_bars_are_shares_of_the_time_of_flows_of_a_size(run: headway.Run) -> None:
    (panel,) = bars(drawn(report_of(run), "causes"))
    flows = run.flows.to_polars()
    for row in panel.rows:
        assert row.bars[0].start == 0.0
        assert row.bars[-1].end == pytest.approx(1.0)
        assert all(one.end - other.start == 0.0 for one, other in pairwise(row.bars))
    widths = {bar.key: bar.end - bar.start for bar in panel.rows[-1].bars}
    whole = float(flows["fct_s"].sum())
    for cause in CAUSES:
        assert widths.get(cause_key(cause), 0.0) == pytest.approx(float(flows[cause].sum()) / whole), cause


def test_a_critical_path_has_a_bar_for_each_link_of_the_chain(run: headway.Run) -> None:
    (panel,) = bars(drawn(report_of(run), "critical-path"))
    path = run.summary["jobs"][0]["critical_path"]
    for row, link in zip(panel.rows, path, strict=True):
        assert row.bars[0].start == pytest.approx(link["start_s"])
        assert row.bars[-1].end == pytest.approx(link["finish_s"])
    assert [row.name.split(" ")[0] for row in panel.rows] == [link["flow"] for link in path]
    flows = {flow["name"]: flow for flow in run.flows.to_polars().iter_rows(named=True)}
    for row, link in zip(panel.rows, path, strict=True):
        held = flows[link["flow"]]["held_by"]
        assert held is None or held.replace("->", " → ") in row.name
        widths = {bar.key: bar.end - bar.start for bar in row.bars}
        assert widths == {
            cause_key(cause): pytest.approx(flows[link["flow"]][cause])
            for cause in CAUSES
            if flows[link["flow"]][cause] > 0
        }


def test_they_are_drawn_everywhere_and_tables_name_the_last(run: headway.Run) -> None:
    assert run.directory is not None
    page = headway.report(run.directory)[0].read_text("utf-8")
    for part in ('id="causes"', 'id="critical-path"', 'id="jobs"', 'id="stragglers"'):
        assert part in page
    assert isinstance(run.plot.causes(), Canvas)
    assert isinstance(run.plot.critical_path(), Canvas)
    stragglers = next(table for table in report_of(run).jobs if table.id == "stragglers")
    assert [row[2] for row in stragglers.rows] == [f"h{one['host']}" for one in run.summary["jobs"][0]["stragglers"]]
    assert [one["finish_s"] for one in run.summary["jobs"][0]["stragglers"]] == sorted(
        (one["finish_s"] for one in run.summary["jobs"][0]["stragglers"]), reverse=True
    )


def test_links_tell_volumes_apart_by_entry(tmp_path: Path) -> None:
    def asked(sample: Sample) -> headway.Run:
        whole = headway.scenario(
            topology=headway.single_switch(hosts=4, rate="10 Gbps", delay="1 us"),
            traffic=[
                headway.traffic.allreduce(bytes="400 kB", algorithm="halving-doubling"),
                headway.poisson(cdf="dctcp_websearch", load=0.3, flows=30),
            ],
            transport="dctcp",
            sample=sample,
        )
        return whole.run(tmp_path / f"run{len(list(tmp_path.iterdir()))}")

    run = asked(headway.sample(volumes=True))
    told = run.summary["busiest_links"]
    links = {row["name"]: row for row in run.links.to_polars().iter_rows(named=True)}
    sizes = [one["bytes"] for one in told]
    assert sizes == sorted(sizes, reverse=True)
    assert len(told) == 8
    for one in told:
        assert one["bytes"] == sum(entry["bytes"] for entry in one["entries"]) == links[one["link"]]["wire_bytes"]
        assert [entry["kind"] for entry in one["entries"]] == ["allreduce", "poisson"]
        assert sum(entry["share"] for entry in one["entries"]) == pytest.approx(1.0)
    # Each of four hosts sends 3/4 of its buffer twice, in packets with a header of 78 B, and acknowledges as much.
    jobs = [one["entries"][0]["bytes"] for one in told]
    assert all(600_000 < size < 700_000 for size in jobs), jobs
    (table,) = report_of(run).volumes
    assert len(table.rows) == 16
    # It changes no event.
    other = asked(headway.sample(causes=True))
    assert run.manifest["order_digest"] == other.manifest["order_digest"]
    assert "busiest_links" not in other.summary


def test_without_the_question_there_is_no_cause_and_the_path_is_plain(tmp_path: Path) -> None:
    run = scenario(causes=False).run(tmp_path / "run")
    report = report_of(run)
    assert "causes = true" in (drawn(report, "causes").absent or "")
    (panel,) = bars(drawn(report, "critical-path"))
    assert {bar.key for row in panel.rows for bar in row.bars} <= {"p:flow", "p:step"}
    with pytest.raises(headway.HeadwayError, match="causes = true"):
        run.plot.causes()


RACKS = """
warmup = "500 us"
[topology]
kind = "single-switch"
hosts = 6
rate = "10 Gbps"
delay = "1 us"
[transport]
name = "dctcp"
[[traffic]]
kind = "poisson"
cdf = { kind = "uniform", mean = "50 kB", spread = 0.9 }
load = 0.6
flows = 250
[variants.dctcp]
"transport.name" = "dctcp"
[variants.homa]
"transport.name" = "homa"
[sweep]
seeds = 2
"""


def test_a_comparison_tells_the_causes_of_all_flows_and_of_the_slowest(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "racks.toml"
    file.write_text(RACKS, encoding="utf-8")
    out = tmp_path / "out"
    assert headway("sweep", file, "--out", out).status == 0
    missing = headway("compare", out, "--causes")
    assert missing.status == 2
    assert "no run has the time of its flows by cause" in missing.err
    assert "help: `headway sweep SCENARIO --set sample.causes=true --out NEW`" in missing.err
    out = tmp_path / "why"
    assert headway("sweep", file, "--out", out, "--set", "sample.causes=true").status == 0
    found = package.compare_causes(out)
    for variant in ("dctcp", "homa"):
        frames = [one.measured_flows for one in package.read_sweep(out) if one.variant == variant]
        assert all(frame.height < 250 for frame in frames), "those of the warm-up do not count"
        slowest = [frame.sort("slowdown", descending=True).head(frame.height // 100) for frame in frames]
        for of, parts in (("all", frames), ("slowest 1 %", slowest)):
            row = found.row(variant, of)
            flows = pl.concat(parts)
            assert row.flows == flows.height
            assert row.fct_mean_s == pytest.approx(flows["fct_s"].mean())
            assert sum(row.shares.values()) == pytest.approx(1.0)
            for cause in CAUSES:
                assert row.shares[cause] == pytest.approx(float(flows[cause].sum()) / float(flows["fct_s"].sum()))
    told = headway("compare", out, "--causes")
    assert told.status == 0
    lines = told.out.splitlines()
    heads = "variant  flows mean FCT  host busy  waiting  sending  flight  queues  resending"
    assert lines[1].split() == heads.split()
    assert [line.split()[0] for line in lines[2:6]] == ["dctcp", "dctcp", "homa", "homa"]
    much = {cause: found.row("dctcp").shares[cause] for cause in CAUSES if found.row("dctcp").shares[cause] >= 0.1}
    assert much
    for cause, share in much.items():
        assert any(line.startswith(f"  {label(cause)}: ") and f"dctcp {100 * share:.0f} %" in line for line in lines)
    assert str(found).splitlines()[1:] != [] and str(found).startswith(lines[0])
    document = json.loads(headway("compare", out, "--causes", "--json").out)
    assert document["rows"][1]["of"] == "slowest 1 %"
    assert set(document["rows"][1]["shares"]) == set(CAUSES)
    refused = headway("compare", out, out, "--causes")
    assert refused.status == 2 and "--causes is of all variants of a sweep, and `REFERENCE` is not" in refused.err


def test_causes_name_the_variants_that_do_not_sample_them(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "racks.toml"
    file.write_text(RACKS + "[variants.homa.sample]\ncauses = true\n", encoding="utf-8")
    assert headway("sweep", file, "--out", tmp_path / "out").status == 0
    told = headway("compare", tmp_path / "out", "--causes").out
    assert "dctcp: its runs do not sample causes" in told
    assert "homa     slowest 1 %" in told


def test_a_comparison_tells_the_transports_of_one_run_apart(tmp_path: Path) -> None:
    text = RACKS.replace("[transport]", '[fabric]\ndiscipline = "ecn-threshold"\n[sample]\ncauses = true\n[transport]')
    more = '[[traffic]]\nkind = "poisson"\nload = 0.2\nflows = 150\ntransport = "cubic"\n'
    more += 'cdf = { kind = "uniform", mean = "50 kB", spread = 0.9 }\n'
    head, _, rest = text.partition("[variants.dctcp]")
    variants, _, seeds = rest.partition("[sweep]")
    assert "homa" in variants
    file = tmp_path / "mixed.toml"
    file.write_text(f'{head}{more}[sweep]\n"traffic.1.load" = [0.1, 0.2]{seeds}', encoding="utf-8")
    swept = package.sweep(file, tmp_path / "out", progress=False)
    found = package.compare_causes(swept)
    assert {row.variant for row in found.rows} == {"dctcp", "cubic"}
    for row in found.rows:
        frames = [one.measured_flows for one in swept if f"load={one.axes['traffic.1.load']}" == row.place]
        own = [frame.filter(frame["transport"].cast(str) == row.variant) for frame in frames]
        if row.of != "all":
            own = [one.sort("slowdown", descending=True).head(max(1, one.height // 100)) for one in own]
        flows = pl.concat(own)
        assert row.flows == flows.height > 0
        for cause in CAUSES:
            assert row.shares[cause] == pytest.approx(float(flows[cause].sum()) / float(flows["fct_s"].sum()))
    assert len(found.rows) == 2 * 2 * 2
    assert found.row("cubic").called.startswith("cubic,load=0.1")
    with pytest.raises(package.HeadwayError, match="did you mean cubic"):
        found.row("cubik")
    assert "<td style='text-align:left'>cubic</td>" in found._repr_html_()
