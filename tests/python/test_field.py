"""The questions that all transports are asked: every transport is there, and the page shows the results."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars
import pytest

import headway
from headway import _headway
from headway.comparison import field
from headway.comparison.field_record import RECORD_FILE, Measured, Record
from headway.data.reader import read_object
from headway.data.sweep import Sweep
from headway.data.toml import parsed
from headway.errors import HeadwayError
from headway.files import write_text
from headway.loading import Scenario
from headway.pages import read

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "scenarios/field"
PAGE = read(REPOSITORY / "docs/field.md")
# A part of all, run again here: messages that leave a host as the page has them.
SOME = ("amrt", "ndp", "dctcp")


def variants() -> dict[str, dict[str, object]]:
    return dict(parsed((FOLDER / "variants.toml").read_text(encoding="utf-8"))["variants"])


def test_every_transport_is_asked() -> None:
    known = {entry["name"] for entry in json.loads(_headway.catalogue("transports"))} - {"template"}
    named = {variant["transport"]["name"] for variant in variants().values()}  # type: ignore[index]
    assert named == known


def test_every_question_is_a_file_and_takes_every_variant() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == {*field.QUESTIONS, "variants"}
    for question in field.QUESTIONS:
        scenario = Scenario.from_text(field.text_of(FOLDER, question), folder=FOLDER)
        assert {point.variant for point in scenario.points()} == set(variants())


def measured(swept: Sweep) -> list[Measured]:
    return [Measured.of("permutation", point) for point in swept]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """The permutation at the page's scale, over some transports."""
    folder = tmp_path_factory.mktemp("field")
    write_text(folder / "permutation.toml", field.text_of(FOLDER, "permutation", only=SOME))
    return headway.sweep(folder / "permutation.toml", folder / "out", jobs=1, progress=False)


@pytest.mark.parametrize("question", field.QUESTIONS)
def test_the_page_says_what_is_asked_and_whether_it_is_a_beginning(question: str) -> None:
    text = (FOLDER / f"{question}.toml").read_text(encoding="utf-8")
    about = text.partition("\n")[0].removeprefix("# ")
    loads = parsed(text)["sweep"].get("traffic.0.load", [None])
    for load in loads:
        case = field.Case(question, "", about, load, {}, field.arrivals(FOLDER, question, load))
        assert "\n".join(field.introduction(case)) in PAGE


@pytest.mark.long
def test_the_page_has_the_numbers_of_this_version(done: Sweep) -> None:
    (case,) = field.cases(FOLDER, "permutation", measured(done))
    assert set(case.rows) == set(SOME)
    lines = [line for line in field.section(case) if line.startswith(("| **amrt", "| ndp", "| dctcp"))]
    assert len(lines) == len(SOME)
    for line in lines:
        assert line in PAGE, "scenarios/field/measured.json is not of this version: make field"


def worst(run: headway.Run) -> float:
    """The slowdown that all but 1 % of 64 messages do not exceed: the largest."""
    return float(run.flows.to_polars()["slowdown"].to_numpy().max())


@pytest.mark.long
def test_numbers_are_those_of_the_flows(done: Sweep) -> None:
    (case,) = field.cases(FOLDER, "permutation", measured(done))
    p99, goodput, ratios = [], [], []
    base = {point.seed: worst(point.run) for point in done if point.variant == "dctcp"}
    for point in done:
        if point.variant != "ndp":
            continue
        flows = point.run.flows.to_polars()
        p99.append(worst(point.run))
        goodput.append(float(np.mean((8 * flows["bytes"] / flows["fct_s"]).to_numpy())))
        ratios.append(math.log(p99[-1] / base[point.seed]))
    row = case.rows["ndp"]
    assert len(p99) == 3
    assert row.p99 == pytest.approx(sum(p99) / 3)
    assert row.slowdowns["long"][1] == pytest.approx(row.p99), "all of a permutation's messages are long"
    assert list(row.slowdowns) == ["long"]
    assert row.goodput == pytest.approx(sum(goodput) / 3)
    assert row.ratio is not None
    assert row.ratio.mean == pytest.approx(sum(ratios) / 3)
    assert row.unfinished == 0


def test_messages_that_never_arrive_come_last(tmp_path: Path) -> None:
    text = (FOLDER / "permutation.toml").read_text(encoding="utf-8").replace('stop = "1 s"', 'stop = "100 us"')
    write_text(tmp_path / "short.toml", f'{text}\n[variants.ndp.transport]\nname = "ndp"\n')
    sets = {"traffic.0.bytes": 1_000_000}
    swept = headway.sweep(tmp_path / "short.toml", tmp_path / "out", sets=sets, progress=False)
    (case,) = field.cases(FOLDER, "permutation", measured(swept))
    row = case.rows["ndp"]
    done = sum(run.run.flows.to_polars().filter(polars.col("state") == "done").height for run in swept)
    assert 0 < row.unfinished == 3 * 64 - done
    assert math.isinf(row.p99)
    assert row.ratio is None
    (line,) = [line for line in field.section(case) if line.startswith("| ndp")]
    assert f"({row.unfinished} unfinished)" in line
    assert line.endswith("| never ends |")


def test_an_unknown_question_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="there is no question `incats`"):
        field.run(FOLDER, "incats", tmp_path, Record())


def test_the_record_has_every_transport_in_every_case() -> None:
    for case in field.recorded(FOLDER):
        assert set(case.rows) == set(variants()), case.called
        assert "\n".join(field.section(case)) in PAGE


def test_an_unknown_part_of_the_page_is_an_error() -> None:
    with pytest.raises(HeadwayError, match="has no part `sumary`"):
        field.part(FOLDER, "sumary")


@pytest.mark.long
def test_the_record_has_the_runs_of_this_version(done: Sweep) -> None:
    """The digests of runs show which are known: those of other settings are made again."""
    record = read_object(FOLDER / RECORD_FILE)
    scenario = Scenario.from_text(field.text_of(FOLDER, "permutation"), folder=FOLDER)
    digests = {scenario.at(point).digest for point in scenario.points()}
    assert digests <= set(record), "scenarios/field/measured.json is not of this version: make field"
    for one in measured(done):
        assert one in [Measured.read(entry) for entry in record.values()]


@pytest.mark.long
def test_a_transport_that_is_new_costs_its_own_runs(tmp_path: Path) -> None:
    """The others are taken from the record, and missing ones are put there."""
    folder = tmp_path / "questions"
    folder.mkdir()
    write_text(folder / "permutation.toml", (FOLDER / "permutation.toml").read_text(encoding="utf-8"))
    file = folder / RECORD_FILE

    def ask(*names: str) -> list[tuple[str, int]]:
        blocks = [f'[variants.{name}.transport]\nname = "{name}"\n' for name in names]
        write_text(folder / "variants.toml", "\n".join(blocks))
        runs = field.run(folder, "permutation", tmp_path / "out", Record(file))
        return [(run.variant, run.seed) for run in runs]

    assert ask("ndp") == [("ndp", seed) for seed in (1, 2, 3)]
    before = read_object(file)
    assert ask("ndp", "dctcp") == [(name, seed) for name in ("ndp", "dctcp") for seed in (1, 2, 3)]
    after = read_object(file)
    assert {digest: after[digest] for digest in before} == before
    swept = [headway.read_sweep(path.parent) for path in (tmp_path / "out").glob("permutation-*/sweep.json")]
    asked = sorted(sorted({point.variant for point in one}) for one in swept)
    assert asked == [["dctcp"], ["ndp"]], "only what is new was run"
    assert ask("ndp") == [("ndp", seed) for seed in (1, 2, 3)], "and nothing is run where all is known"
    assert Record(file).get(next(iter(before))) is not None


def test_the_page_says_what_each_transport_needs() -> None:
    for name in variants():
        assert f"| **{name}** |" in PAGE or f"| {name} |" in PAGE
