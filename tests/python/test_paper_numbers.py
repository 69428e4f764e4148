"""Numbers of papers and of transports: `paper_numbers.toml` compared with the defaults and the declared deviations."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from headway.catalogues import catalogue

NUMBERS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("paper_numbers.toml").read_text(encoding="utf-8")
)["number"]
PAPERS = ("amrt", "rpo", "l2dct", "proactmp")


def defaults(transport: str) -> dict[str, object]:
    """The defaults of a transport and, behind its name and a dot, of the port discipline that it is designed for."""
    (entry,) = catalogue("transports", transport)
    (ports,) = catalogue("disciplines", entry.discipline)
    own: dict[str, object] = {one["name"]: one["default"] for one in entry.facts["params"]}
    return own | {f"{ports.name}.{one['name']}": one["default"] for one in ports.facts["params"]}


def deviations(transport: str) -> tuple[str, ...]:
    (entry,) = catalogue("transports", transport)
    return entry.deviations


def answers(declared: str, number: dict[str, Any]) -> bool:
    """True if a declared deviation is about this number: its section, and its key by name."""
    place, _, text = declared.partition(":")
    return number["place"] in place.split() and any(f"`{number['key']}{rest}" in text for rest in ("`", " ="))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda one: f"{one['transport']}.{one['key']}")
def test_what_differs_from_the_paper_is_declared(number: dict[str, Any]) -> None:
    known = defaults(number["transport"])
    assert number["key"] in known, "a number of something that is no parameter"
    assert ("paper" in number) != number.get("open", False), "a paper gives a value or leaves it open"
    if number.get("open") or known[number["key"]] != number["paper"]:
        name = f"{number['transport']}.{number['key']}"
        said = f"{name} is {known[number['key']]}, the paper has {number.get('paper', 'no value')}"
        declared = [one for one in deviations(number["transport"]) if answers(one, number)]
        assert declared, f"{said}: no deviation of {number['place']} names it"


@pytest.mark.parametrize("transport", PAPERS)
def test_every_parameter_that_cites_a_paper_has_its_number(transport: str) -> None:
    (entry,) = catalogue("transports", transport)
    cites = {one["name"] for one in entry.facts["params"] if "§" in one["doc"]}
    assert cites <= {one["key"] for one in NUMBERS if one["transport"] == transport}


def test_a_changed_default_is_noticed() -> None:
    """The comparison itself: a default against another number of the paper's, with and without a deviation."""
    number = {"transport": "amrt", "key": "backoff", "paper": 7, "place": "§IV-B"}
    assert defaults("amrt")["backoff"] != 7
    assert not any(answers(one, number) for one in deviations("amrt"))
    assert answers("§IV-B: it doubles; `backoff = 7` is the paper's.", number)
    assert answers("AMRT §IV-B: `backoff` is another.", number)
    assert not answers("§IV-C: `backoff` is another.", number)
    assert not answers("§IV-B: `backoffs` is another.", number)
