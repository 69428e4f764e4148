"""Claims that cannot hold: tables with a proof that is evaluated, the verdict they give, and the project's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from headway import names
from headway.claims.choices import Choices, Value, load_choices
from headway.claims.contradictions import VOCABULARY, load_contradictions
from headway.claims.evaluate import evaluate_claims
from headway.claims.language import parse
from headway.claims.ledger import Claim, known_claims, load_ledger
from headway.data.claims import CONTRADICTS
from headway.data.toml import Document
from headway.errors import ClaimsError
from headway.explaining.record import listed
from headway.loading import Scenario
from support import Answer

Headway = Callable[..., Answer]
# A choice and a value of it.
Taken = tuple[str, Value]
SCENARIOS = Path(__file__).parents[2] / "scenarios"
LEDGERS = sorted(SCENARIOS.glob("*/claims.toml"))


def claim(name: str, published: object) -> str:
    return f"""
[[claim]]
id = "{name}"
figure = "fig0"
place = ["§1"]
metric = "fct"
published = {published}
unit = "s"
qualifier = "exact"
scenario = "mine/two-flows"
transports = ["amrt"]
variant = "amrt"
how = "when f0 ends"
measure = "flow('f0', 'finish_s')"
"""


TABLE = """
[[contradiction]]
claims = ["first", "second"]
because = "a flow has one end"
proof = "published('first') > published('second')"
"""
TEXT = claim("first", 7) + claim("second", 3) + TABLE


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claims.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_contradiction_is_read_and_named_beside_the_other_claim(tmp_path: Path) -> None:
    (one,) = load_contradictions(write(tmp_path, TEXT))
    assert one.claims == ("first", "second")
    assert one.reason("first") == "beside second: a flow has one end"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("because =", "becuase =", "unknown key 'becuase'; nearest: because"),
        ('because = "a flow has one end"\n', "", "the key 'because' is missing"),
        ('claims = ["first", "second"]', 'claims = "first"', "'claims' is of the wrong type"),
        ('claims = ["first", "second"]', 'claims = ["frist"]', "no claim 'frist'; nearest: first"),
        ('claims = ["first", "second"]', 'claims = ["first", "first"]', "each once"),
        ("published('first') > published('second')", "published('first') < published('second')", "and this is not"),
        ("published('first') > published('second')", "published('first')", "a proof is a comparison"),
        ("published('first') > published('second')", "published('thrid') > 1", "no claim 'thrid'"),
        ("published('first') > published('second')", "measured('first') > 1", "no function 'measured'"),
        ("published('first') > published('second')", "published('first') > ", "not an expression"),
    ],
)
def test_mistakes_are_shown_at_their_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ClaimsError) as caught:
        load_contradictions(write(tmp_path, TEXT.replace(old, new)))
    assert message in str(caught.value)
    assert "claims.toml:" in str(caught.value)


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.parent.name)
def test_every_proof_of_the_project_holds_and_no_pair_is_reproduced(path: Path) -> None:
    verdicts = json.loads((path.parent / "verdicts.json").read_text(encoding="utf-8"))
    for one in load_contradictions(path):
        came_out = [name for name in one.claims if verdicts.get(name, {}).get("verdict") == "reproduced"]
        assert len(came_out) < len(one.claims), one.because


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.parent.name)
def test_no_pair_is_reproduced_under_the_reading_on_record(path: Path) -> None:
    file = path.parent / "readings.json"
    readings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for one in load_contradictions(path):
        came_out = [name for name in one.claims if readings.get(name, {}).get("verdict") == "reproduced"]
        assert len(came_out) < len(one.claims), one.because


def brought(choices: Choices, name: str, value: Taken | None, claims: Sequence[Claim]) -> dict[str, object]:
    """Measures of a figure's claims in one short run of each of its variants, with a choice at a value."""
    scenario = Scenario.load(name, scale="smoke")
    points = []
    for point in scenario.points():
        run = scenario.at(point)
        if value is not None:
            choice, at = value
            sets = choices.sets(choices.reading({choice: at}), name, run)
            run = scenario.at(replace(point, sets=(*point.sets, *sets)))
        points.append(replace(point, results=run.run(progress=False, stored=False)))
    return {result.claim.id: result.judgement.measured for result in evaluate_claims(claims, points)}


@pytest.mark.long
def test_no_choice_brings_a_latency_below_what_the_links_need() -> None:
    """The proofs about Table II say that no run can be below a limit: here each choice tries, at each of its values."""
    ledger = SCENARIOS / "proactmp" / "claims.toml"
    proofs = load_contradictions(ledger)
    limited = {name for one in proofs for name in one.claims}
    claims = [claim for claim in load_ledger(ledger) if claim.id in limited]
    assert {claim.scenario for claim in claims} == {"proactmp/table2"}
    choices = load_choices(ledger)
    tried: list[Taken | None] = [None]
    tried += [
        (choice.id, at) for choice in choices.about("proactmp/table2") for at in choice.grid(3) if at != choice.default
    ]
    assert len(tried) > 10
    for value in tried:
        measured = brought(choices, "proactmp/table2", value, claims)
        assert all(isinstance(number, float) for number in measured.values()), (value, measured)
        broken = [one.because for one in proofs if parse(one.proof, VOCABULARY).evaluate(measured) is True]
        assert not broken, (value, measured)


def test_only_claims_that_do_not_come_out_have_the_verdict(
    headway: Headway, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scenarios" / "mine"
    folder.mkdir(parents=True)
    (folder / "two-flows.toml").write_text(scenario_file.read_text(encoding="utf-8"), encoding="utf-8")
    run = claim("first", 7) + claim("second", 3)
    (folder / "claims.toml").write_text(run, encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    headway("reproduce", "mine/two-flows", "--record", "--out", str(tmp_path / "out"))
    plain = {row["id"]: row["verdict"] for row in json.loads(headway("list", "claims", "mine", "--json").out)}
    assert plain == {"first": "not-reproduced", "second": "not-reproduced"}
    (folder / "claims.toml").write_text(TEXT, encoding="utf-8")
    rows = {row["id"]: row for row in json.loads(headway("list", "claims", "mine", "--json").out)}
    assert {row["verdict"] for row in rows.values()} == {CONTRADICTS}
    assert {row["judged"] for row in rows.values()} == {"not-reproduced"}
    assert "beside first: a flow has one end" in headway("list", "claims", "mine").out


def test_a_claim_that_comes_out_keeps_its_verdict() -> None:
    rows = listed(known_claims(), names.known_scenarios())
    assert all(row.judged == "not-reproduced" for row in rows if row.verdict == CONTRADICTS)
    assert any(row.verdict == CONTRADICTS for row in rows)


def test_a_list_of_all_claims_reads_each_text_a_few_times_and_not_once_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    claims, scenarios = known_claims(), names.known_scenarios()
    read: Counter[str] = Counter()
    first = Document.__init__

    def counted(self: Document, name: str, text: str) -> None:
        read[text] += 1
        first(self, name, text)

    monkeypatch.setattr(Document, "__init__", counted)
    listed(claims, scenarios)
    assert max(read.values(), default=0) <= 4, read.most_common(1)[0][0][:80]
