"""The page in a real Chromium: selectors, keys, the pointer, and its looks at three widths."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl
import pytest

import headway
import lacking
from headway.reporting import build
from headway.tape import record
from report.browser import Visit, chromium
from report.conftest import KINDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.long

# The inside of every picture, as the page brought it and as the script draws it at the same width.
BOTH_DRAWINGS = """() => [...document.querySelectorAll("svg[data-panel]")].map((svg) => {
  const before = svg.innerHTML;
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
  return [svg.dataset.panel, before, svg.innerHTML];
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def urls(results: Path) -> dict[str, str]:
    return {kind: build(results / kind)[0].resolve().as_uri() for kind in KINDS}


def pieces(svg: str) -> list[tuple[str, list[float]]]:
    """The elements of a picture with their numbers apart from their text."""
    found = []
    for part in re.findall(r"<[^>]+>|[^<>]+", svg):
        numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", part)]
        found.append((re.sub(r"-?\d+\.?\d*", "#", part).replace("&amp;", "&"), numbers))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_script_draws_what_the_page_brought(kind: str, browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls[kind]) as visit:
        drawings = visit.page.evaluate(BOTH_DRAWINGS)
        assert drawings
        for name, before, after in drawings:
            old, new = pieces(before), pieces(after)
            assert [text for text, _ in old] == [text for text, _ in new], name
            for (_, one), (_, other) in zip(old, new, strict=True):
                # Values in the page have six digits, positions one decimal.
                assert one == pytest.approx(other, abs=0.21), name


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [("parking", 1280, "dark"), ("parking", 420, "light"), ("sweep", 800, "light"), ("sweep", 420, "dark")],
)
def test_it_fits_asks_for_nothing_and_complains_of_nothing(
    kind: str, width: int, scheme: Literal["light", "dark"], browser: Browser, urls: dict[str, str]
) -> None:
    with Visit(browser, urls[kind], width=width, scheme=scheme) as visit:
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.requests == [urls[kind]]
        assert visit.complaints == []
        smallest = visit.page.evaluate(
            """() => Math.min(...[...document.querySelectorAll("svg.chart:not(.sketch) :is(.tick, .row)")]
              .map((text) => [text, text.ownerSVGElement]).filter(([, svg]) => svg.getBoundingClientRect().width)
              .map(([text, svg]) => parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width /
                svg.viewBox.baseVal.width))"""
        )
        assert smallest >= 9.0, "text of axes and rows, in pixels"
        seen = visit.page.locator(".panels .rows > svg:visible").all()
        assert len(seen) == visit.page.locator(".panels .rows").count() > 0, "one of two drawings"
        rightmost = max(box["x"] + box["width"] for box in (svg.bounding_box() for svg in seen) if box)
        assert rightmost <= width, "nothing of it has to be scrolled for"
        figure = visit.page.locator("figure:has(.rows)").first
        with visit.page.expect_download() as waiting:
            figure.locator("[data-save=svg]").click()
        saved = Path(waiting.value.path()).read_text(encoding="utf-8")
        names = Counter(figure.locator(".rows > svg:visible .row").all_text_contents())
        assert names
        assert {name: saved.count(f">{name}<") for name in names} == names, "each row as often as it is seen"
        back = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(20, 23, 28)") == (scheme == "dark")


def test_selectors_bring_another_load_and_say_so(browser: Browser, urls: dict[str, str], results: Path) -> None:
    with Visit(browser, urls["sweep"]) as visit:
        page = visit.page
        first = page.locator("#cdf .panels path.line").first.get_attribute("d")
        page.get_by_label("load", exact=True).select_option("0.3")
        assert "load 0.3" in page.locator("#cdf .asked").inner_text()
        other = page.locator("#cdf .panels path.line").first.get_attribute("d")
        assert other != first
        page.get_by_role("button", name="as at first").click()
        assert page.locator("#cdf .panels path.line").first.get_attribute("d") != other
        assert not page.locator("#cdf .asked").is_visible()
        page.get_by_label("seed", exact=True).select_option("2")
        with page.expect_download() as waiting:
            page.locator("#fct-load [data-save=csv]").click()
        saved = pl.read_csv(Path(waiting.value.path()).read_bytes())
        row = saved.row(0, named=True)
        workload, label = row["panel"].split(" · ")
        assert label == "mean FCT"
        point = f"{row['series']},cdf={workload},load={row['x']:g},seed=2"
        summary = json.loads((results / "sweep/points" / point / "summary.json").read_text(encoding="utf-8"))
        assert row["y"] == pytest.approx(summary["fct_mean_s"], rel=1e-3)


def test_a_drag_zooms_every_figure_over_time_and_keys_undo_it(browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls["parking"]) as visit:
        page = visit.page
        chart = page.locator("#throughput-time svg[data-panel]").first
        chart.scroll_into_view_if_needed()
        whole = page.locator("#queue-time path.line").first.get_attribute("d")
        box = chart.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=4)
        page.mouse.up()
        assert page.locator("#queue-time path.line").first.get_attribute("d") != whole
        assert page.locator("#queue-time .ways .whole").is_visible()
        chart.focus()
        page.keyboard.press("0")
        assert page.locator("#queue-time path.line").first.get_attribute("d") == whole
        page.keyboard.press("ArrowRight")
        assert "time" in page.locator("#tip").inner_text()
        page.keyboard.press("+")
        assert page.locator("#queue-time path.line").first.get_attribute("d") != whole
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        assert page.locator("#queue-time path.line").first.get_attribute("d") == whole


def test_a_click_goes_from_a_point_to_its_runs_and_back(browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls["sweep"]) as visit:
        page = visit.page
        page.locator("#fct-load [data-runs]").first.click()
        picked = page.locator("tr.picked")
        assert picked.count() == 3, "the three seeds of the point"
        assert picked.first.is_visible()
        assert "amrt" in picked.first.inner_text()
        picked.first.locator("[data-run]").click()
        assert page.locator("#ask [aria-pressed=true]").count() == 1


def test_the_table_of_runs_sorts(browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls["sweep"]) as visit:
        page = visit.page
        page.locator("#facts summary").click()
        page.locator("#facts th button", has_text="events").click()
        values = [float(cell.get_attribute("data-v") or "nan") for cell in page.locator("#facts td:nth-child(7)").all()]
        assert values == sorted(values)


def test_a_second_axis_draws_the_queue_over_the_utilisation(browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls["parking"]) as visit:
        page = visit.page
        page.locator("#utilisation-time select").select_option("queue-time")
        assert page.locator("#utilisation-time .second path.line").count() > 0
        assert "queue" in (page.locator("#utilisation-time .panels svg").first.text_content() or "")


def test_a_saved_svg_has_real_text_and_a_saved_png_has_ink(browser: Browser, urls: dict[str, str]) -> None:
    image = lacking.package("PIL.Image", "long")
    with Visit(browser, urls["single"]) as visit:
        for kind in ("svg", "png"):
            with visit.page.expect_download() as waiting:
                visit.page.locator(f"#cdf [data-save={kind}]").click()
            data = Path(waiting.value.path()).read_bytes()
            if kind == "svg":
                assert b">slowdown</text>" in data
                assert b"http" not in data.replace(b"http://www.w3.org/", b"")
            else:
                assert len(image.open(io.BytesIO(data)).convert("RGB").getcolors(1_000_000)) > 20
        assert visit.complaints == []


def test_without_a_script_there_is_everything_but_the_selectors(browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls["sweep"], script=False) as visit:
        page = visit.page
        assert page.locator("#fct-load path.line").first.is_visible()
        assert not page.locator("#ask").is_visible()
        assert not page.locator(".saves").first.is_visible()
        page.locator("#fct-load a[href^='#run-']").first.click()
        assert "#run-" in page.url


def test_print_has_the_figures_and_no_buttons(browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls["sweep"], scheme="dark") as visit:
        visit.page.emulate_media(media="print")
        assert not visit.page.locator("#ask").is_visible()
        assert not visit.page.locator(".save").first.is_visible()
        assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert visit.page.pdf().startswith(b"%PDF")


def test_a_replay_plays_steps_and_fills_queues(browser: Browser, tmp_path: Path) -> None:
    headway.Scenario.load("amrt/fig01", sets=["stop=0.2 ms"]).run(tmp_path / "run")
    (path,) = build(tmp_path / "run", tape=record(tmp_path / "run"))
    with Visit(browser, path.resolve().as_uri(), width=420) as visit:
        page, stage = visit.page, visit.page.locator("#replay .stage")

        def told(name: str) -> float:
            return float(stage.get_attribute(f"data-{name}") or "nan")

        page.locator("#replay [data-do=seek]").fill("500")
        assert told("moving") > 0
        assert told("waiting") > 0
        # Here it stands still. While it plays, a slow browser may look when the last packet has arrived.
        ink = page.evaluate(
            """() => { const c = document.querySelector(".stage canvas");
              return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0); }"""
        )
        assert ink
        then = told("now")
        page.locator("#replay [data-do=step]").click()
        assert then < told("now") < then + 5_000
        page.locator("#replay [data-do=speed]").select_option("1000000")
        stage.focus()
        page.keyboard.press("Home")
        page.keyboard.press(" ")
        page.wait_for_function("Number(document.querySelector('.stage').dataset.now) > 1000")
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert visit.complaints == []
        assert visit.requests == [path.resolve().as_uri()]


def test_the_busiest_four_links_are_drawn_and_a_picker_brings_others(browser: Browser, single: Path) -> None:
    links = pl.read_parquet(single / "links.parquet").filter(~pl.col("name").str.starts_with("h"))
    names = links["name"].head(6).to_list()
    busy = dict(zip(names, (0.2, 0.9, 0.5, 0.8, 0.1, 0.7), strict=True))
    everything = pl.read_parquet(single / "links.parquet").with_columns(
        pl.col("name").replace_strict(busy, default=pl.col("busy_fraction")).alias("busy_fraction")
    )
    everything.write_parquet(single / "links.parquet")
    rows = [(t * 1e-5, name, "utilisation", busy[name]) for name in names for t in range(1, 9)]
    frame = pl.DataFrame(rows, schema=["t_s", "entity", "metric", "value"], orient="row")
    frame.write_parquet(single / "series.parquet")
    with Visit(browser, build(single)[0].resolve().as_uri()) as visit:
        figure = visit.page.locator("#utilisation-time")
        titles = figure.locator(".panels .title")
        assert titles.all_text_contents() == [names[i].replace("->", " → ") for i in (1, 3, 5, 2)]
        figure.locator(".picker summary").click()
        figure.locator(".picker label", has_text=names[4].replace("->", " → ")).locator("input").check()
        assert titles.count() == 5
        assert "links: 5 of 6" in figure.locator(".picker summary").inner_text()


def test_summary_and_list_of_figures_are_not_cut_on_a_wide_screen(browser: Browser, urls: dict[str, str]) -> None:
    with Visit(browser, urls["sweep"]) as visit:
        visit.page.set_viewport_size({"width": 1280, "height": 900})
        assert visit.page.locator("nav ul").evaluate("list => list.scrollWidth <= list.clientWidth")
        for part in ("summary", "links", "packets"):
            box = visit.page.locator(f"#{part} .scroll")
            assert box.evaluate("box => box.scrollWidth <= box.clientWidth"), part


@pytest.mark.parametrize("width", [820, 420])
def test_a_narrow_screen_shows_the_whole_list_of_figures_and_words_in_one_piece(
    width: int, browser: Browser, urls: dict[str, str]
) -> None:
    with Visit(browser, urls["sweep"], width=width) as visit:
        assert visit.page.locator("nav ul").evaluate("list => list.scrollWidth <= list.clientWidth")
        visit.page.evaluate("scrollTo(0, 600)")
        assert visit.page.locator("nav").evaluate("nav => nav.getBoundingClientRect().bottom <= 0"), "it scrolls away"
        cells = visit.page.locator(".data:not(.claims) tbody td:first-child:visible")
        lines = cells.evaluate_all("cells => cells.map((cell) => cell.getBoundingClientRect().height / 18)")
        assert lines
        assert max(lines) < 3, "lines of the names of variants"
