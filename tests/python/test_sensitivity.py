"""Claims judged again under other choices."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.claims.ledger import load_ledger
from headway.claims.sensitivity import sensitivity_claims
from headway.errors import ClaimsError

LEDGER = """
[define]
afct = "summary('fct_mean_s')"
gain = "percent_lower(of('ours', afct), of('peer', afct))"

[[claim]]
id = "one"
figure = "fig1"
place = ["§I"]
metric = "fct_mean"
published = 42
unit = "percent lower"
qualifier = "exact"
scenario = "a/figure"
transports = ["amrt"]
how = "measured so"
measure = "gain"

[[claim]]
id = "two"
figure = "fig1"
place = ["§I"]
metric = "fct_mean"
published = 1
unit = "s"
qualifier = "exact"
scenario = "a/figure"
transports = ["amrt"]
variant = "peer"
beside = ["other"]
how = "measured so"
measure = "afct"

[[sensitivity]]
scenario = "a/sensitivity"
choice = "how the peer begins"
claims = ["one", "two"]
replace = "peer"
by = ["peer", "peer-slow"]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claims.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_claim_is_judged_once_for_each_variant(tmp_path: Path) -> None:
    path = write(tmp_path, LEDGER)
    judged = sensitivity_claims("a/sensitivity", path)
    assert [claim.id for claim in judged] == ["one@peer", "one@peer-slow", "two@peer", "two@peer-slow"]
    first, slow, _, variant = judged
    assert first.measure is not None
    assert slow.measure is not None
    assert "of('peer', afct)" in first.measure.spelt_out()[1]
    assert "of('ours', afct), of('peer-slow', afct)" in slow.measure.spelt_out()[1]
    assert (variant.variant, variant.beside, variant.scenario) == ("peer-slow", (), "a/sensitivity")
    assert (slow.published, slow.variant) == (42, None)
    assert "how the peer begins" in slow.how


def test_it_adds_nothing_to_the_ledger_or_to_other_scenarios(tmp_path: Path) -> None:
    path = write(tmp_path, LEDGER)
    assert [claim.id for claim in load_ledger(path)] == ["one", "two"]
    assert sensitivity_claims("a/figure", path) == []
    assert sensitivity_claims("a/sensitivity", tmp_path / "none.toml") == []


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ('by = ["peer", "peer-slow"]', "by = []", "'by' is a list of names", 39),
        ('choice = "how', 'chioce = "how', "unknown key 'chioce'; nearest: choice", 36),
        ('replace = "peer"\n', "", "the key 'replace' is missing", 35),
        ('["one", "two"]', '["one", "tow"]', "no claim 'tow'; nearest: two", 37),
        ('replace = "peer"', 'replace = "ours"', "'two' does not speak of the variant 'ours'", 38),
    ],
)
def test_mistakes_are_shown_at_their_line(tmp_path: Path, old: str, new: str, message: str, line: int) -> None:
    assert old in LEDGER
    with pytest.raises(ClaimsError) as caught:
        sensitivity_claims("a/sensitivity", write(tmp_path, LEDGER.replace(old, new)))
    assert message in str(caught.value)
    assert f"claims.toml:{line}\n" in str(caught.value)
