"""Checks of the documentation site, each on a site that has just its fault; diagrams of states; parts that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept import keep_only, kept
from site_checks import site_faults
from states import diagram, machine_of
from svgs import MOST_BYTES, finished

GOOD = '<html><img src="a.svg" alt="Two lines rise over time"><a href="b.html">A title</a></html>'
FAULTS = {
    "no alt": ('<img src="a.svg">', "has no alt text"),
    "a word": ('<img src="a.svg" alt="A figure">', "does not say what is seen"),
    "empty": ('<img src="a.svg" alt="">', "is empty"),
    "elsewhere": ('<script src="https://example.org/x.js"></script>', "asks another server"),
    "style of elsewhere": ('<link rel="stylesheet" href="//example.org/x.css">', "asks another server"),
    "a file name": ('<a href="own.html"><code>own-topology.md</code></a>', "is a file name"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found(name: str, tmp_path: Path) -> None:
    html, fault = FAULTS[name]
    (tmp_path / "index.html").write_text(GOOD, "utf-8")
    assert site_faults(tmp_path) == []
    (tmp_path / "page.html").write_text(f"<html>{html}</html>", "utf-8")
    (found,) = site_faults(tmp_path)
    assert found.startswith("page.html: ") and fault in found


def test_sizes_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(GOOD, "utf-8")
    (tmp_path / "a.svg").write_bytes(b" " * (MOST_BYTES + 1))
    (tmp_path / "rust").mkdir()
    (tmp_path / "rust/large.svg").write_bytes(b" " * (MOST_BYTES + 1))
    (found,) = site_faults(tmp_path)
    assert found.startswith("a.svg has 300001 bytes")
    (tmp_path / "a.svg").write_bytes(b" " * 10)
    (tmp_path / "index.html").write_text(GOOD + " " * 500_000, "utf-8")
    assert "first view" in site_faults(tmp_path)[0]


def test_a_picture_has_no_background_and_short_numbers() -> None:
    drawn = '<g id="patch_1">\n<path d="M 0.123456 7.000000 \nL 1.25 2 \n" style="fill: #ffffff"/></g>'
    assert finished(drawn) == '<g id="patch_1">\n<path d="M 0.1 7\nL 1.2 2\n" style="fill: none"/></g>'


def test_states_are_drawn_with_every_event() -> None:
    lines = (
        "[*] --> Idle",
        "Idle --> Busy: Start",
        "Busy --> Busy: Tick",
        "Busy --> Idle: Stop",
        "Busy --> Idle: Fail",
    )
    text = "".join(f"    {line}\n" for line in lines)
    machine = machine_of(text)
    assert machine.first == "Idle" and machine.states == ("Idle", "Busy")
    drawn = diagram(text)
    assert "\n" not in drawn.strip(), "Markdown ends a block of HTML at an empty line"
    for word in (">Idle<", ">Busy<", ">Start<", ">stays: Tick<", ">Stop, Fail<", "Busy goes to Idle on Stop, Fail"):
        assert word in drawn


def test_a_part_is_made_again_only_when_what_it_is_made_from_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kept.FOLDER", tmp_path)
    made: list[Path] = []
    for made_from in ("a", "a", "b"):
        kept("part", made_from, made.append)
    assert made == [tmp_path / "part"] * 2

    (tmp_path / "part/old/a.svg").parent.mkdir(parents=True)
    (tmp_path / "part/old/a.svg").touch()
    (tmp_path / "part/new").mkdir()
    (tmp_path / "part/new/b.svg").touch()
    keep_only("part", [tmp_path / "part/new"])
    assert [path.name for path in sorted((tmp_path / "part").rglob("*"))] == ["new", "b.svg"]

    def fail(_: Path) -> None:
        raise ValueError

    with pytest.raises(ValueError):
        kept("part", "c", fail)
    kept("part", "c", made.append)
    assert len(made) == 3, "a part that failed is not kept"
