"""Pictures of the documentation site: crates, a packet, a gap that is filled, terminals, and the site from disk."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from built import crates, crates_picture, direct_only, layers, packet_picture
from executed import PageError
from front import LANES, about, lane, speeds
from outputs import seen_in
from shots import MARK, asked, on_terminal, terminal_picture

from headway import pages, site
from headway.errors import HeadwayError


def test_crates_lie_above_what_they_depend_on() -> None:
    needs = {name: own for name, (_, own) in crates().items()}
    assert len(needs) > 15
    height = {name: number for number, row in enumerate(layers(needs)) for name in row}
    assert all(height[name] < height[other] for name, own in needs.items() for other in own)
    assert height["transport"] == height["fabric"], "neither depends on the other"
    drawn = crates_picture()
    assert all(f">{name}</text>" in drawn for name in height)


def test_only_direct_dependencies_are_drawn() -> None:
    needs = {"a": frozenset("bcd"), "b": frozenset("d"), "c": frozenset(), "d": frozenset("c")}
    assert direct_only(needs) == {"a": {"b"}, "b": {"d"}, "c": set(), "d": {"c"}}


def test_a_packet_is_followed_to_its_answer() -> None:
    drawn = packet_picture()
    links = re.findall(r">(\w+)→(\w+)<", drawn)
    assert [a for a, _ in links[1:]] == [b for _, b in links[:-1]], "each link begins where the one before it ends"
    assert links[0][0] == links[-1][1], "the answer comes back"
    assert "waits" in drawn and "permission leaves" in drawn


def test_the_gap_stays_under_phost_and_is_filled_under_amrt() -> None:
    phost, amrt = (lane(*one) for one in LANES)
    assert phost.unused > 0.1 and amrt.unused < 0.02
    for one in (phost, amrt):
        starts = sorted(start for packets in one.packets.values() for start, _ in packets)
        ends = sorted(end for packets in one.packets.values() for _, end in packets)
        assert all(end <= start + 1 for end, start in zip(ends, starts[1:], strict=False)), "one packet at a time"


def test_the_front_page_says_what_headway_is_and_how_fast() -> None:
    assert [one.strip()[:10] for one in about()] == ["Headway si", "It is for "]
    assert all(1 < low < high for _, low, high in speeds())


def test_a_terminal_keeps_colours_and_asks_for_no_font(tmp_path: Path) -> None:
    printed = on_terminal(r"printf '\033[31merror\033[0m: x\n'; test -t 1 && echo terminal", tmp_path, dict(os.environ))
    assert printed.splitlines() == ["\x1b[31merror\x1b[0m: x", "terminal"]
    drawn = terminal_picture("a command", printed)
    assert "error" in drawn and "a&#160;command" in drawn
    assert "url(http" not in drawn and "@font-face" not in drawn


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_a_terminal_does_not_wait_for_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shots.PATIENCE_S", 1.0)
    with pytest.raises(PageError, match="does not end"):
        on_terminal("sleep 60", tmp_path, dict(os.environ))


def test_lines_that_ask_for_pictures_stay_out_of_the_terminal(tmp_path: Path) -> None:
    text = "# A\n\n<!-- drawn: report out/q#numbers -->\n\n```\nsketch\n```\n\n<!-- drawn: terminal ls -l -->\nB\n"
    assert asked(text) == [("report", "out/q#numbers"), ("terminal", "ls -l")]
    assert MARK.sub("P", "<!-- drawn: crates -->\n\nkept\n\n<!-- drawn: packet -->\n") == "P\n\nkept\n\nP\n"
    assert MARK.sub("P", text) == "# A\n\nP\n\nP\nB\n"
    (tmp_path / "a.md").write_text(text, "utf-8")
    assert pages.read(tmp_path / "a.md") == "# A\n\n```\nsketch\n```\n\nB\n"


def test_a_figure_is_described_by_its_words() -> None:
    svg = "<svg><text>0.5</text><text x='1'>load</text><text>mean FCT &amp; more</text><text>load</text></svg>"
    assert seen_in(svg) == "A figure with the words: load; mean FCT & more"


def test_the_site_is_opened_from_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(site, "ARCHIVE", tmp_path / "site.zip")
    with pytest.raises(HeadwayError, match="holds no site: `make docs` builds it"):
        site.unpacked_site()
    for text in ("one", "two"):
        with zipfile.ZipFile(tmp_path / "site.zip", "w") as archive:
            archive.writestr("index.html", text)
        for _ in range(2):
            assert site.unpacked_site().read_text("utf-8") == text, "an unpacked site of another build is left alone"
