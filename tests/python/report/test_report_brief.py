"""The page to decide by, the heat map and the frontier, on results of real runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.data.statistics import ratio_over_seeds
from headway.reporting.figures.frontier import _best
from support import Answer

Headway = Callable[..., Answer]

TEXT = """
[topology]
kind = "single-switch"
hosts = 6
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "rpc"
clients = 2
servers = 4
request = "100 B"
reply = "15 kB"
calls = 30
fan_out = 2

[variants.dctcp]
"transport.name" = "dctcp"

[variants.ndp]
"transport.name" = "ndp"

[sweep]
seeds = 3
"traffic.0.fan_out" = [2, 4]
"fabric.buffer" = ["8 packets", "64 packets"]
"""
CALLS = "jobs.0.rounds.p99_s"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of calls over two keys."""
    folder = tmp_path_factory.mktemp("brief")
    (folder / "mine.toml").write_text(TEXT, "utf-8")
    sweep = package.sweep(folder / "mine.toml", folder / "out", progress=False)
    assert sweep.failed == {}
    return folder / "out"


def test_a_brief_is_one_page_with_three_sentences_a_picture_and_a_table(headway: Headway, out: Path) -> None:
    answer = headway("report", out, "--brief")
    assert (answer.status, answer.out.strip()) == (0, str(out / "brief.html"))
    text = (out / "brief.html").read_text("utf-8")
    assert len(text.encode()) < 100_000
    assert len(re.findall("<svg", text)) == 1
    assert len(re.findall("<table", text)) == 1
    answer_part = text[text.index('id="answer"') : text.index("</ol>")]
    sentences = re.findall("<li>(.*?)</li>", answer_part)
    assert len(sentences) == 3
    assert re.search(r" \(\S+ \S+ to \S+ \S+\)", sentences[0]), sentences
    for known in ("single-switch", "of buffer a port", "fan out" if "fan out" in text else "rpc", "preset"):
        assert known in text[text.index('id="assumptions"') :]
    assert not re.findall(r"https?://", text)


def test_the_brief_names_the_variant_with_the_lowest_tail(headway: Headway, out: Path) -> None:
    headway("report", out, "--brief")
    text = (out / "brief.html").read_text("utf-8")
    found = package.compare_variants(out, of=CALLS)
    place = max((row.place for row in found.rows), key=lambda place: "fan_out=4" in place)
    rows = [row for row in found.rows if "fan_out=4" in row.place and "buffer=8" in row.place]
    best = min(rows, key=lambda row: row.value or 0.0)
    assert place
    assert f"<li>{best.variant} has the lowest" in text


@pytest.mark.parametrize("more", [["--format", "pdf"], ["--replay"], ["--width", "3"]])
def test_a_brief_takes_no_look(headway: Headway, out: Path, more: list[str]) -> None:
    answer = headway("report", out, "--brief", *more)
    assert answer.status == 2
    assert "a brief is one page" in answer.err


def test_cells_of_the_heat_map_are_means_and_the_best_is_the_lowest(headway: Headway, out: Path) -> None:
    assert headway("report", out, "--format", "csv").status == 0
    with (out / "figures" / "heat-map.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["panel"].startswith("dctcp") and "p99" in row["y_is"]]
    cells = {(row["x"], row["series"]): float(row["y"]) for row in rows if row["y_is"].startswith("job 0")}
    found = package.compare_variants(out, of=CALLS)
    known = {row.place: row.value for row in found.rows if row.variant == "dctcp"}
    assert len(cells) == len(known) == 4
    assert sorted(cells.values()) == pytest.approx(sorted(value or 0.0 for value in known.values()))
    headway("report", out)
    page = (out / "report.html").read_text("utf-8")
    part = page[page.index('id="heat-map"') :]
    part = part[: part.index("</figure>")]
    panels = part.count("<svg")
    assert len(re.findall('class="heat best"', part)) == panels


def test_cells_that_are_alike_are_those_whose_interval_contains_one(out: Path) -> None:
    from headway.data.statistics import over_seeds
    from headway.reporting.figures.heat_map import _alike

    numbers = {(0, 0): {1: 1.0, 2: 1.1, 3: 0.9}, (1, 0): {1: 1.05, 2: 1.0, 3: 0.95}, (2, 0): {1: 9.0, 2: 9.1, 3: 9.2},
               (3, 0): {1: 1.0, 2: 1.1, 3: 0.9}}  # fmt: skip
    means = {place: over_seeds(list(own.values())) for place, own in numbers.items()}
    ratio = ratio_over_seeds([(1.05, 1.0), (1.0, 1.1), (0.95, 0.9)])
    assert ratio and ratio.interval and ratio.interval[0] <= 1.0 <= ratio.interval[1]
    # The last is as good as the best, and beyond a cell that is not: no neighbour leads there.
    assert _alike((0, 0), numbers, means) == {(1, 0)}  # type: ignore[arg-type]


def test_nothing_beats_what_is_on_the_frontier() -> None:
    marks = [(1.0, 1.0), (2.0, 2.0), (1.5, 3.0), (3.0, 5.0), (3.0, 6.0), (2.0, 2.0)]
    # More of x is better, less of y.
    assert _best(marks, True, False) == [(1.0, 1.0), (2.0, 2.0), (3.0, 5.0)]
    assert _best(marks, False, False) == [(1.0, 1.0)]


def test_a_frontier_is_drawn_of_calls_and_where_it_is_asked_for(headway: Headway, out: Path) -> None:
    headway("report", out, "--format", "csv")
    with (out / "figures" / "frontier.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["series"] for row in rows} >= {"dctcp", "ndp"}
    assert {(row["x_is"], row["x_unit"]) for row in rows} == {("goodput", "bit/s")}
    assert all(0 < float(row["x"]) < 60e9 for row in rows)
