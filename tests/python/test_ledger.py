"""The claims file: strict keys with line and caret, and the project's own ledgers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway import _headway
from headway.claims.evaluate import evaluate_claims
from headway.claims.ledger import load_ledger
from headway.claims.verdict import groups_of
from headway.errors import ClaimsError, HeadwayError
from headway.loading import Scenario
from headway.names import known_scenarios

SCENARIOS = Path(__file__).parents[2] / "scenarios"
AMRT = SCENARIOS / "amrt"
RPO = SCENARIOS / "rpo"
CLAIM = """
[define]
window_end = "'2 ms'"

[[claim]]
id = "one"
figure = "fig1"
place = ["§I"]
metric = "utilisation"
published = 42
unit = "percent"
qualifier = "exact"
scenario = "amrt/fig01-multi-bottleneck"
transports = ["amrt"]
variant = "amrt"
how = "measured so"
measure = "mean(utilisation('s0->s1'), 0, window_end)"
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claims.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_claim_is_read(tmp_path: Path) -> None:
    (claim,) = load_ledger(write(tmp_path, CLAIM))
    assert claim.id == "one"
    assert claim.published == 42
    assert claim.published_facts()["qualifier"] == "exact"


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ('unit = "percent"', 'unti = "percent"', "nearest: unit", 11),
        ('metric = "utilisation"\n', "", "'metric' is missing", 6),
        ('qualifier = "exact"', 'qualifier = "exactly"', "no qualifier 'exactly'", 12),
        ("published = 42", 'published = "a statement"', "needs 'holds'", 10),
        ("published = 42", 'published = ["a", "b"]', "the unit of an order", 11),
        ("published = 42", 'published = "a statement"\nholds = "measured > x"', "no name 'x'", 11),
        ('how = "measured so"', 'how = "measured so"\nholds = "measured > 1"', "judged by its qualifier", 17),
        ('variant = "amrt"\n', 'beside = ["b"]\n', "'beside' replaces 'variant'", 15),
        ("mean(", "maen(", "no function 'maen'; nearest: mean", 17),
        ('place = ["§I"]', 'place = "§I"', "'place' is of the wrong type", 8),
        ("window_end)", "1)", "'window_end' is defined and never used", 3),
        ("window_end = ", "mean = ", "'mean' cannot be defined so", 3),
        ("[define]", "[defines]", "unknown key 'defines'", 2),
        ('how = "measured so"', 'how = "measured so"\npending = "why"', "either 'measure', or 'pending'", 6),
        ('measure = "mean(', 'otherwise = "mean(', "either 'measure', or 'pending'", 6),
    ],
)
def test_mistakes_are_shown_at_their_line(tmp_path: Path, old: str, new: str, message: str, line: int) -> None:
    assert old in CLAIM
    with pytest.raises(ClaimsError) as caught:
        load_ledger(write(tmp_path, CLAIM.replace(old, new)))
    assert message in str(caught.value)
    assert f"claims.toml:{line}:" in str(caught.value)
    assert "╰── here" in str(caught.value)


def test_the_caret_stands_under_the_word(tmp_path: Path) -> None:
    with pytest.raises(ClaimsError) as caught:
        load_ledger(write(tmp_path, CLAIM.replace("utilisation(", "utilisatoin(")))
    *_, source, caret, _, _ = str(caught.value).splitlines()
    assert source[caret.index("┬") :].startswith("utilisatoin(")


def test_an_id_is_used_once(tmp_path: Path) -> None:
    again = CLAIM[CLAIM.index("[[claim]]") :]
    with pytest.raises(ClaimsError, match="used twice"):
        load_ledger(write(tmp_path, CLAIM + again))


@pytest.mark.parametrize("text", ["[[claim]\n", "\udcff"])
def test_what_is_not_toml_is_told_with_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(HeadwayError, match=r"claims\.toml"):
        load_ledger(path)


def test_a_claim_can_say_why_it_is_not_measured(tmp_path: Path) -> None:
    text = CLAIM[CLAIM.index("[[claim]]") : CLAIM.index("measure = ")] + 'pending = "a drawing"\n'
    (claim,) = load_ledger(write(tmp_path, text))
    assert (claim.measure, claim.pending) == (None, "a drawing")
    (result,) = evaluate_claims([claim], [], needs_runs=False)
    assert (str(result.judgement.verdict), result.judgement.reason) == ("pending", "a drawing")


@pytest.mark.parametrize("ledgers", [[AMRT / "claims.toml", AMRT / "expectations.toml"], [RPO / "claims.toml"]])
def test_the_projects_claims_stand_on_scenarios_variants_and_transports_that_exist(ledgers: list[Path]) -> None:
    known = {entry["name"] for entry in json.loads(_headway.catalogue("transports"))}
    scenarios = known_scenarios()
    claims = [claim for ledger in ledgers for claim in load_ledger(ledger)]
    assert len({claim.id for claim in claims}) == len(claims) > 50
    variants: dict[str, set[str]] = {}
    for claim in claims:
        assert claim.scenario in scenarios, claim.id
        assert set(claim.transports) <= known, claim.id
        if scenarios[claim.scenario].name not in variants:
            points = Scenario.load(scenarios[claim.scenario].path).points()
            variants[claim.scenario] = {point.variant for point in points}
        named = {claim.variant} - {None} | set(claim.beside)
        assert named <= variants[claim.scenario], claim.id


def test_the_projects_orders_name_each_transport_once() -> None:
    for claim in load_ledger(AMRT / "claims.toml") + load_ledger(RPO / "claims.toml"):
        if claim.holds is None and isinstance(claim.published, list) and isinstance(claim.published[0], str):
            names = [name for group in groups_of([str(p) for p in claim.published]) for name in group]
            assert len(names) == len(set(names)) > 1, claim.id
