"""`headway compare`: runs compared with tables, other runs and sweeps."""

from __future__ import annotations

import gzip
import html
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest

from headway import HeadwayError, Scenario, compare, compare_variants, read_sweep, sweep
from headway.comparison import Row, Variants, bound
from headway.comparison.numbers import BEYOND, NOISE, WITHIN, ratios
from headway.errors import TableError
from support import TWO_FLOWS, Answer

Headway = Callable[..., Answer]

SCENARIO = """
title = "Three flows"
stop = "10 ms"

[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"

[fabric]
buffer = "128 packets"

[transport]
name = "amrt"

[[traffic]]
kind = "file"
path = "flows.csv"
"""
FLOWS = "id,src,dst,bytes,start_s,fct_us\na,0,3,100000,0,{a}\nb,1,3,100000,0,{b}\nc,1,2,1000,5e-3,{c}\n"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario whose flows come from a table, in which the times of the flows are those of a run of it."""
    path = tmp_path / "three.toml"
    path.write_text(SCENARIO, "utf-8")
    write(tmp_path, a="1", b="1", c="1")
    times = Scenario.load(path).run().flows.to_polars()["fct_s"].to_list()
    write(tmp_path, **{name: repr(time * 1e6) for name, time in zip("abc", times, strict=True)})
    return path


def write(folder: Path, **times: str) -> Path:
    """The table of flows with these times."""
    path = folder / "flows.csv"
    path.write_text(FLOWS.format(**times), "utf-8")
    return path


def test_a_run_is_as_long_as_itself_by_every_way_to_name_it(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "out", tmp_path / "flows.csv"
    assert headway("run", scenario, "--out", out).status == 0
    with gzip.open(tmp_path / "packed.csv.gz", "wb") as packed:
        packed.write(table.read_bytes())
    polars.read_csv(table).write_parquet(tmp_path / "flows.parquet")
    references: list[list[object]] = [
        [],
        [table],
        [tmp_path / "packed.csv.gz"],
        [tmp_path / "flows.parquet"],
        [out],
        [table, "--match", "order"],
    ]
    for reference in references:
        for run in (scenario, out):
            answer = headway(
                "compare", run, *reference, "--within", "0%" if reference == [out] else "0.0001%", "--json"
            )
            found = json.loads(answer.out)
            assert (answer.status, found["same_to_1_ns"], found["flows"]) == (0, 1.0, 3), reference
    assert "100 % take as long to 1 ns, 100 % to 1 %" in headway("compare", out).out


def test_what_is_apart_is_told_with_its_neighbours(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    times = polars.read_csv(tmp_path / "flows.csv")["fct_us"].to_list()
    other = tmp_path / "other.csv"
    rows = [("c", times[2]), ("b", ""), ("a", times[0] / 2), ("x", 7)]
    other.write_text("name,fct_us\n" + "".join(f"{name},{time}\n" for name, time in rows), "utf-8")
    answer = headway("compare", scenario, other, "--json", "--page", tmp_path / "page.html")
    assert answer.status == 1
    found = json.loads(answer.out)
    assert found["unfinished"] == {"run": 0, "reference": 1, "both": 0}
    assert (found["only_in_run"], found["only_in_reference"]) == (0, 1)
    assert found["numbers"]["max"]["ratio"] == pytest.approx(2.0)
    assert found["numbers"]["max"]["verdict"] == "beyond"
    assert found["beyond"] == ["mean", "p99", "max", "unfinished"]
    (far,) = found["furthest"]
    assert (far["name"], far["ratio"]) == ("a", pytest.approx(2.0))
    # Flow b goes to the same host at the same time; flow c is alone.
    assert [(n["name"], n["links"]) for n in far["neighbours"]] == [("b", ["s0->h3"])]
    assert [band["bytes"] for band in found["bands"]] == [[1000, 10_000], [100_000, 1_000_000]]
    page = (tmp_path / "page.html").read_text("utf-8")
    assert 'class="sample' in page
    assert "s0-&gt;h3" in page
    # The median is the same: judged alone, and with the flow that did not end in one of them allowed, all is well.
    assert headway("compare", scenario, other, "--of", "median", "--within", "40%").status == 0


def test_without_pairs_only_distributions_are_compared(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    times = polars.read_csv(tmp_path / "flows.csv")["fct_us"].to_list()
    other = tmp_path / "other.csv"
    other.write_text("fct_us\n" + "".join(f"{time}\n" for time in sorted(times) * 2), "utf-8")
    answer = headway("compare", scenario, other)
    assert answer.status == 2
    assert "has 6 rows" in answer.err
    found = json.loads(headway("compare", scenario, other, "--match", "none", "--json").out)
    assert (found["ok"], found["matched_by"], found["same_to_1_ns"]) == (True, "none", None)


def test_a_sweep_of_seeds_says_what_is_noise(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    assert headway("sweep", scenario_file, "--out", out, "--jobs", 1).status == 0
    ambiguous = headway("compare", out, out)
    assert ambiguous.status == 2
    assert "has several points: amrt, phost" in ambiguous.err
    found = json.loads(headway("compare", out, out, "--at", "amrt", "--json").out)
    assert (found["seeds"], found["flows"], found["same_to_1_ns"]) == (2, 4, 1.0)
    assert found["numbers"]["mean"]["half_width"] == 0.0
    one = json.loads(headway("compare", out, out, "--at", "amrt,seed=2", "--json").out)
    assert (one["seeds"], one["numbers"]["mean"]["half_width"]) == (1, None)


def test_a_ratio_is_noise_if_seeds_make_as_much_of_it() -> None:
    def of(*means: float) -> str:
        samples = [(np.array([mean]), np.array([1.0])) for mean in means]
        return ratios(samples)[0].verdict(0.03)

    assert of(1.02) == WITHIN
    assert of(1.05) == BEYOND
    assert of(0.9, 1.3, 1.0) == NOISE
    assert of(1.28, 1.3, 1.29) == BEYOND


def test_a_point_is_read_alone(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    """A file that only some variants can read may be overridden for them: a run does not read the others."""
    (tmp_path / "flows.cm").write_text("Nodes 4\nConnections 1\n0->3 start 5 size 1000\n", "utf-8")
    path = tmp_path / "two.toml"
    of_matrix = SCENARIO.replace("flows.csv", "flows.cm")
    path.write_text(of_matrix + '[variants.m]\n[variants.t]\n"traffic.0.path" = "flows.csv"\n', "utf-8")
    (tmp_path / "theirs.csv").write_text("id,fct_us\n0,1\n", "utf-8")
    unit = ("--set", "traffic.0.start_unit=us")
    assert headway("run", path, *unit).status == 0
    # Their times differ, and that is what it says.
    for at in ("m", "m,seed=1"):
        found = headway("compare", path, tmp_path / "theirs.csv", "--match", "order", "--at", at, *unit)
        assert found.status == 1, found.err
    refused = headway("compare", path, tmp_path / "theirs.csv", "--at", "t", *unit)
    assert refused.status == 2
    assert "key `start_unit` has no effect" in refused.err
    checked = headway("check", path, *unit)
    assert checked.status == 0, checked.err
    assert "warning, t: key `start_unit` has no effect" in checked.err
    assert "1 point," in checked.out
    # A key that no variant takes, or a mistake in the file itself, is an error as before.
    for wrong in ("traffic.0.start_unit=hours", "traffic.0.strat_unit=us"):
        assert headway("check", path, "--set", wrong).status == 2
    path.write_text(of_matrix + '[variants.m]\n[variants.t]\n"traffic.0.pth" = "flows.csv"\n', "utf-8")
    assert headway("check", path, *unit).status == 2


def test_an_arrow_table_is_a_reference_too(scenario: Path, tmp_path: Path) -> None:
    run = Scenario.load(scenario).run()
    table = run.flows.to_polars().select("name", "fct_s")
    assert compare(run, table, within=0.0).same == 1.0
    with pytest.raises(HeadwayError, match="row 1 of the table: a completion time is above 0 and not -1"):
        compare(run, table.with_columns(fct_s=polars.Series([1.0, -1.0, 1.0])))
    with pytest.raises(HeadwayError, match="the table has no column `fct_s`; it has name"):
        compare(run, table.select("name"))


def test_until_the_sender_knows_is_a_way_back_later(scenario: Path, tmp_path: Path) -> None:
    run = Scenario.load(scenario).run()
    found = compare(run, tmp_path / "flows.csv", until="sender")
    way_back = (found.pairs[0].ours - found.pairs[0].theirs).tolist()
    # Two links of 10 Gb/s and 1 us, and a control packet on each.
    control = run.fabric["control"] * 8 / 10e9
    assert way_back == pytest.approx([2 * (1e-6 + control)] * 3, abs=2e-12)
    assert "until the sender knows: with the way of a control packet back" in str(found)
    noted = compare(Scenario.load(scenario, sets=['until="known"']).run(), tmp_path / "flows.csv", until="sender")
    assert "until the sender knows: as it noted" in str(noted)
    assert "control packet" not in str(noted)


@pytest.mark.parametrize(
    ("start", "factor", "fct"),
    [
        ("start_s", 1.0, "fct_us"),
        ("start_us", 1e6, "fct_us"),
        ("start_ns", 1e9, "fct_us"),
        ("start_ms", 1e3, "FCT (us)"),
        ("Start Time [us]", 1e6, "fct [µs]"),
        ("start(ps)", 1e12, "Flow completion time (us)"),
    ],
)
def test_units_in_names_of_columns_are_read(
    start: str, factor: float, fct: str, scenario: Path, tmp_path: Path
) -> None:
    """Rows stand in another order than flows: only their starts, hosts and sizes say which is which."""
    whole = polars.read_csv(tmp_path / "flows.csv")
    starts = polars.Series(start, [f"{value * factor:.9g}" for value in whole["start_s"].to_list()])
    table = whole.drop("id", "start_s").with_columns(starts).rename({"fct_us": fct}).reverse()
    path = tmp_path / "other.csv"
    table.write_csv(path)
    found = compare(scenario, path)
    assert found.same == 1.0
    assert "matched by" in str(found) and "place" not in str(found)
    assert compare(scenario, path, column=fct).same == 1.0
    # Two columns of starts may not agree.
    table.with_columns(polars.lit(0).alias("start_us" if start != "start_us" else "start_ns")).write_csv(path)
    if start != "start_s":
        with pytest.raises(HeadwayError, match="has several columns of start times"):
            compare(scenario, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the table is empty\n   ╭─[{path}:1:1]"),
        ("id,fct_s\n", "the table has no row: nothing follows its header\n   ╭─[{path}:1:1]"),
        (
            "id,fct\na,1\n",
            "has no column `fct_s`; nearest: fct; another one can be named (--reference)\n   ╭─[{path}:1:1]",
        ),
        (
            "id,fct_us,fct_ms\na,1,1\n",
            "has several columns of completion times: fct_us, fct_ms; name one (--reference)",
        ),
        ("id,fct_s,id\na,1,2\n", "the column `id` is there twice\n   ╭─[{path}:1:1]"),
        (
            "# by hand\nid,fct_s\n\na,1\nb,x\n",
            "column `fct_s`: `x` is not a number\n   ╭─[{path}:5:3]\n 5 │ b,x\n   ·   ┬",
        ),
        ("id,fct_s\na,-1\n", "column `fct_s`: a completion time is above 0, and empty if the flow did not end"),
        ("id,bytes,fct_s\na,1.5,1\n", "column `bytes`: `1.5` is not a whole number\n   ╭─[{path}:2:3]"),
        ("id,fct_s\na,1,2\n", "3 fields under 2 columns\n   ╭─[{path}:2:5]"),
        ('id,fct_s\n"a,1\n', "is not CSV: unexpected end of data\n   ╭─[{path}:2:1]"),
    ],
)
def test_a_bad_table_is_shown_where_it_is_wrong(text: str, message: str, scenario: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(TableError) as caught:
        compare(scenario, path)
    assert str(caught.value).startswith(message.format(path=path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,fct_s\nz,1\n", "no flow of {path} has a name that a flow of three has: the first is called 'z'"),
        (
            "id,bytes,fct_s\na,5,1\n",
            "flow 'a' is not the same on both sides: bytes is 100000 in three and 5 in {path}, line 2",
        ),
        ("src,dst,bytes,start_s,fct_s\n0,1,5,0,1\n", "no flow of {path} is between the same hosts"),
        ("fct_s\n1\n", "{path} has 1 rows, three has 3 flows: which is which is not known"),
    ],
)
def test_flows_that_are_not_the_same_are_refused(text: str, message: str, scenario: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(HeadwayError) as caught:
        compare(scenario, path)
    assert str(caught.value).startswith(message.format(path=path))
    unpaired = message.startswith("no flow of")
    assert ("--match none" in str(caught.value)) == unpaired


@pytest.mark.parametrize(
    ("odd", "near", "kept"),
    [
        ("nmae", "name", []),
        ("ID", "id", []),
        ("flow_id", "id", []),
        ("start", "start_s", ["src", "dst", "bytes"]),
        ("size", "bytes", ["src", "dst", "start_s"]),
        ("source", "src", ["dst", "bytes", "start_s"]),
    ],
)
def test_a_key_under_another_name_is_no_reason_to_pair_by_place(
    headway: Headway, odd: str, near: str, kept: list[str], scenario: Path, tmp_path: Path
) -> None:
    """Rows in another order than the flows would be compared with the wrong ones, and hardly anything would say so."""
    table = tmp_path / "other.csv"
    whole = polars.read_csv(tmp_path / "flows.csv").with_columns(polars.col("id").alias("name"))
    whole.rename({near: odd}).select([*kept, odd, "fct_us"]).write_csv(table)
    head = table.read_text("utf-8").splitlines()[0]
    refused = headway("compare", scenario, table)
    assert refused.status == 2
    said = f"the column `{odd}` is not read; nearest: {near};"
    assert said in refused.err
    assert f"╭─[{table}:1:{head.index(odd) + 1}]" in refused.err
    assert said in headway("compare", scenario, table, "--match", "name" if near in ("name", "id") else "fields").err
    # A user may choose to pair by places, and a comparison of distributions alone needs no pairs.
    for way in ("order", "none"):
        assert headway("compare", scenario, table, "--match", way).status != 2
    frame = polars.read_csv(table).with_columns(fct_s=polars.col("fct_us") * 1e-6).drop("fct_us")
    with pytest.raises(HeadwayError, match=f"the table: the column `{odd}` is not read"):
        compare(scenario, frame)


def test_a_run_without_flows_is_compared_with_nothing(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    """All of them may have begun before the warm-up, or have waited for others until the end."""
    empty = tmp_path / "empty"
    assert headway("run", scenario, "--set", 'warmup="9 ms"', "--out", empty).status == 0
    for run, reference in ((empty, empty), (empty, tmp_path / "flows.csv"), (scenario, empty)):
        refused = headway("compare", run, reference)
        assert refused.status == 2
        assert f"error: {empty} has no flow to compare\n  help: " in refused.err


def test_other_columns_are_left_alone(scenario: Path, tmp_path: Path) -> None:
    """A column that cannot be a start is none, whatever its name is; where an id says which flow is which, none is
    missed."""
    times = polars.read_csv(tmp_path / "flows.csv")["fct_us"].to_list()
    for head, cells in (
        ("state,fct_us", "done"),
        ("size,fct_us", "1e999"),
        ("id,start,fct_us", None),
        ("class,rate_bps,fct_us", "0,1e9"),
    ):
        rows = [f"{cells}" if cells is not None else f"{name},0" for name in "abc"]
        table = tmp_path / "other.csv"
        table.write_text(f"{head}\n" + "".join(f"{row},{t}\n" for row, t in zip(rows, times, strict=True)), "utf-8")
        assert compare(scenario, table).same == 1.0, head


def test_what_is_asked_for_wrongly_is_said(headway: Headway, scenario: Path, tmp_path: Path) -> None:
    table = tmp_path / "flows.csv"
    cases = [
        (["--within", "3"], "`3` is no bound: write 3% or 0.03"),
        (["--of", "men"], "no number is called 'men'\n  help: did you mean mean"),
        (["--of", "slowdown_p9"], "did you mean slowdown_p95, slowdown_p99"),
        (["--of", "slowdown_p99"], "flows.csv is a table, and `slowdown_p99` is of the summary of a run"),
        (["--reference", "fct"], "the column `fct` says no unit"),
        (["--match", "names"], "'names' is not one of"),
    ]
    for options, message in cases:
        answer = headway("compare", scenario, table, *options)
        assert answer.status == 2, options
        assert message in answer.err
    assert "no such table" in headway("compare", scenario, tmp_path / "none.csv").err
    ran = tmp_path / "ran"
    assert headway("run", scenario, "--out", ran).status == 0
    assert f"{ran} is one run, and has no point 'amrt'" in headway("compare", ran, ran, "--at", "amrt").err
    assert headway("compare", ran, ran).status == 0
    assert "makes one of a scenario" in headway("compare", ran, scenario).err
    assert [bound("3%"), bound(" 2.5 % "), bound("0.01")] == [0.03, 0.025, 0.01]


def test_a_place_without_results_is_told_with_what_makes_them(
    headway: Headway, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = headway("compare", "out/nothing", "--of", "slowdown_p99")
    assert answer.status == 2
    assert "out/nothing: is neither a directory of results nor the name of a scenario" in answer.err
    assert "`headway run SCENARIO --out out/nothing` makes one run, `headway sweep` all variants" in answer.err
    assert headway("run", scenario, "--out", "out/mine").status == 0
    assert "did you mean out/mine?" in headway("compare", "out/mien").err
    (tmp_path / "out" / "empty").mkdir()
    for command in ("compare", "report"):
        neither = headway(command, "out/empty").err
        assert "out/empty: holds neither a run (manifest.json) nor a sweep (sweep.json)" in neither
        assert "--out out/empty` makes one run" in neither
        assert "it is in out/mine" in headway(command, "out").err
    assert "holds neither" in headway("compare", "out/mine", "out/empty").err


LOADS = """
[topology]
kind = "single-switch"
hosts = 8
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "poisson"
cdf = { kind = "uniform", mean = "100 kB", spread = 0.9 }
load = 0.6
flows = 40

[variants.dctcp]
"transport.name" = "dctcp"

[variants.homa]
"transport.name" = "homa"

[sweep]
"traffic.0.load" = [0.3, 0.7]
seeds = 3

[report]
baseline = "homa"
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two variants at two loads."""
    folder = tmp_path_factory.mktemp("variants")
    (folder / "loads.toml").write_text(LOADS, "utf-8")
    return sweep(folder / "loads.toml", folder / "out", progress=False).directory


def test_variants_are_paired_by_seed_at_each_place(headway: Headway, swept: Path) -> None:
    table = read_sweep(swept).summary.to_polars()
    found = compare_variants(swept, of=["slowdown_p99", "p99"], baseline="dctcp")
    assert found.numbers == ("slowdown_p99", "fct_p99_s")
    assert len(found.rows) == 2 * 2 * 2
    for name in found.numbers:
        for load in (0.3, 0.7):
            of = {
                variant: table.filter((table["variant"] == variant) & (table["traffic.0.load"] == load)).sort("seed")[
                    name
                ]
                for variant in ("dctcp", "homa")
            }
            logs = np.log(of["homa"].to_numpy() / of["dctcp"].to_numpy())
            half = 4.302653 * logs.std(ddof=1) / 3**0.5
            row = found.row("homa", name, f"load={load}")
            assert row.ratio == pytest.approx(math.exp(logs.mean()))
            assert row.interval == pytest.approx((math.exp(logs.mean() - half), math.exp(logs.mean() + half)), rel=1e-5)
            assert row.value == pytest.approx(of["homa"].mean())
            assert row.seeds == 3
    answer = headway("compare", swept, "--of", "slowdown_p99")
    assert answer.status == 0
    lines = answer.out.splitlines()
    assert "each variant over homa" in lines[0], "the scenario says which is the baseline"
    *rows, footing = lines[2:]
    said = "±: half of the 95 % confidence interval of the mean over 3 seeds (Student's t)"
    assert footing.startswith(said)
    assert said in str(found)
    places = [tuple(line.split()[:2]) for line in rows]
    assert sorted(places) == sorted((v, f"load={load}") for v in ("dctcp", "homa") for load in (0.3, 0.7))
    assert [line.endswith("baseline") for line in rows] == [variant == "homa" for variant, _ in places]
    document = json.loads(headway("compare", swept, "--reference-at", "dctcp", "--of", "slowdown_p99", "--json").out)
    assert document["baseline"] == "dctcp"
    assert {row["verdict"] for row in document["rows"]} <= {"lower", "higher", "not apart"}


def test_an_interval_without_one_is_lower_or_higher() -> None:
    row = Row("homa", "", "slowdown_p99", 2.0, 0.1, 3.0, 0.7, (0.6, 0.8), 3, 0)
    assert row.verdict == "lower"
    assert replace(row, interval=(1.1, 1.2)).verdict == "higher"
    assert replace(row, interval=(0.9, 1.2)).verdict == "not apart"
    assert replace(row, interval=None).verdict == ""


def test_the_variant_with_the_lowest_number_is_named_with_what_sets_the_others_beside_it() -> None:
    def row(variant: str, ratio: float, place: str = "", unfinished: int = 0) -> Row:
        return Row(variant, place, "slowdown_p99", ratio, None, 1.0, ratio, None, 1, unfinished)

    rows = (row("dctcp", 1.0), row("homa", 0.7), row("ndp", 0.9))
    found = Variants("out", "dctcp", ("slowdown_p99",), rows)
    (said,) = found.footing()
    assert said == "lowest p99 slowdown: homa; the others over it, with their intervals: --reference-at homa"
    in_python = said.replace("--reference-at homa", 'baseline="homa"')
    assert in_python in str(found)
    assert html.escape(in_python) in found._repr_html_()
    (said,) = replace(found, rows=(row("dctcp", 1.0), row("homa", 1.7), row("ndp", 1.9))).footing()
    assert said == "lowest p99 slowdown: dctcp"
    # Of two the table says it; flows that did not end are in no percentile; and places have a lowest each.
    assert not replace(found, rows=rows[:2]).footing()
    assert not replace(found, rows=(rows[0], row("homa", 0.7, unfinished=3), rows[2])).footing()
    assert not replace(found, rows=(*rows, row("ndp", 0.5, "load=0.7"))).footing()
    drops = tuple(replace(one, number="drops") for one in rows)
    assert not replace(found, numbers=("drops",), rows=drops).footing()


def test_numbers_are_named_as_a_list_or_as_on_the_command_line(swept: Path) -> None:
    assert compare_variants(swept, of="p99, slowdown_p99") == compare_variants(swept, of=["p99", "slowdown_p99"])
    with pytest.raises(HeadwayError, match="no number is called 'p99_slowdown'\n  help: did you mean slowdown_p99"):
        compare_variants(swept, of="p99_slowdown")


def test_an_unfinished_sweep_says_what_is_not_in_its_numbers(headway: Headway, swept: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(swept, out)
    shutil.rmtree(out / "points" / "homa,load=0.3,seed=2")
    answer = headway("compare", out, "--of", "slowdown_p99")
    assert answer.status == 0
    assert "note: 1 of 12 points are not finished, and are in no number here" in answer.err
    assert "geometric mean of 2 to 3 seeds" in answer.out
    assert "of the mean over 2 to 3 seeds" in answer.out
    assert "note: 1 of 12 points are not finished" in str(compare_variants(out))
    # With one variant left it is a sweep of several still.
    for point in (out / "points").glob("homa,*"):
        shutil.rmtree(point)
    answer = headway("compare", out, "--of", "slowdown_p99")
    assert answer.status == 0, answer.err
    assert "note: 6 of 12 points are not finished" in answer.err
    assert not any("points are not finished" in note for note in compare_variants(swept).notes)


def test_two_variants_of_one_sweep_are_named_by_two_points(headway: Headway, swept: Path) -> None:
    points = ["--at", "homa,load=0.7", "--reference-at", "dctcp,load=0.7"]
    found = json.loads(headway("compare", swept, *points, "--of", "slowdown_p99", "--json").out)
    assert found["run"] == f"{swept} at homa,load=0.7"
    of = found["summaries"]["slowdown_p99"]
    table = compare_variants(swept, of=["slowdown_p99"], baseline="dctcp").row("homa", place="load=0.7")
    assert of["run"] == pytest.approx(table.value)
    assert of["reference"] == pytest.approx(table.baseline)
    text = headway("compare", swept, *points, "--of", "slowdown_p99,mean", "--page", swept / "page.html").out
    assert "slowdown_p99" in text.splitlines()[0]
    assert ">slowdown_p99<" in (swept / "page.html").read_text("utf-8")


def test_what_variants_cannot_have_is_refused(headway: Headway, swept: Path) -> None:
    for options, message in (
        (["--match", "name"], "`--match` is of the comparison of two"),
        (["--page", "x.html"], "`--page` is of the comparison of two"),
        (["--reference-at", "dctpc"], "no variant is called 'dctpc'\n  help: did you mean dctcp"),
        (["--of", "deadline_missed_fraction"], "no run of it has the number `deadline_missed_fraction`"),
    ):
        answer = headway("compare", swept, *options)
        assert answer.status == 2, options
        assert message in answer.err, options
    assert (
        "`drops` is 0"
        in headway("compare", swept, "--at", "homa,load=0.3", "--reference-at", "dctcp,load=0.3", "--of", "drops").err
    )


def test_help_says_how_two_variants_of_a_sweep_are_compared(headway: Headway) -> None:
    told = headway("compare", "--help").out
    assert "headway compare out/mine --of slowdown_p99" in told
    assert "headway compare out/mine --at homa --reference-at dctcp" in told


def test_values_of_a_swept_key_are_compared_as_variants_are(headway: Headway, tmp_path: Path) -> None:
    """One variant: the first value of the first key is the baseline; `--reference-at` names another key or value."""
    text = TWO_FLOWS.format(stop="2 ms", size="100 kB")
    text = text.partition("[variants")[0].partition("[sweep]")[0]
    text += '[sweep]\nseeds = 2\n"transport.window" = [2, 8]\n"fabric.buffer" = ["8 packets", "64 packets"]\n'
    (tmp_path / "one.toml").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    assert headway("sweep", tmp_path / "one.toml", "--out", out).status == 0
    found = compare_variants(out, of="mean")
    assert found.baseline == "window=2"
    assert {(row.variant, row.place) for row in found.rows} == {
        (f"window={window}", f"buffer={buffer} packets") for window in (2, 8) for buffer in (8, 64)
    }
    row = found.row("window=8", place="buffer=64 packets")
    assert row.ratio == pytest.approx((row.value or 0.0) / (row.baseline or 1.0))
    assert row.ratio is not None
    other = headway("compare", out, "--of", "mean", "--reference-at", "window=8")
    assert "each variant over window=8" in other.out
    assert compare_variants(out, of="mean", over="buffer").baseline == "buffer=8 packets"
    assert "did you mean window?" in headway("compare", out, "--reference-at", "windwo=8").err
