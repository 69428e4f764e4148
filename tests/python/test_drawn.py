"""Drawn cases are the same in every run, those that failed once come first, and absent tools are reported once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

import drawn
from lacking import absent, told


def tried() -> list[int]:
    """The cases of a property, in the order in which they are tried."""
    seen: list[int] = []

    @drawn.drawn(number=st.integers())
    def property_of_numbers(number: int) -> None:
        seen.append(number)

    property_of_numbers()
    return seen


@pytest.mark.skipif(bool(drawn.EXPLORES), reason="explores")
def test_cases_are_the_same_and_what_failed_once_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "FOUND", tmp_path / "found.jsonl")
    before = tried()
    assert before == tried() and len(set(before)) > 50
    for name in ("property_of_numbers", "another", "property_of_numbers"):
        drawn.keep(name, {"number": 123_456_789})
    assert len((tmp_path / "found.jsonl").read_text("utf-8").splitlines()) == 2
    assert tried() == [123_456_789, *before]


def test_what_is_absent_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWAY_ABSENT", raising=False)
    reasons = [f"Skipped: {absent('tshark', 'apt install tshark')}"] * 2 + ["Skipped: no IPv6", f"{absent('cargo')}"]
    assert told(reasons) == [
        "skipped, as a tool is absent: cargo: 1; tshark (apt install tshark): 2",
        "skipped: no IPv6: 1",
    ]
    assert told([]) == []
    everyone = tmp_path / "absent"
    monkeypatch.setenv("HEADWAY_ABSENT", str(everyone))
    assert told(reasons) == ["skipped: no IPv6: 1"], "`make test` says the rest"
    assert sorted(everyone.read_text("utf-8").splitlines()) == ["cargo", *["tshark (apt install tshark)"] * 2]
