"""Pictures of packets over time, and of networks: they hold the packets of the run, and refuse impossible drawings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headway
from headway import drawing
from headway.data.tape import WHATS
from headway.errors import ArgumentError, NameNotFound
from headway.tape import record
from support import Answer

SCENARIO = """
topology = { kind = "dumbbell", senders = 2, receivers = 2, rate = "10 Gbps", delay = "1 us" }
transport = { name = "dctcp" }
fabric = { buffer = "4 packets" }
[[traffic]]
kind = "flows"
flows = [{ name = "one", src = 0, dst = 2, bytes = "30 kB" }, { name = "two", src = 1, dst = 2, bytes = "30 kB" }]
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The directory of a run in which packets are lost."""
    headway.Scenario.from_text(SCENARIO, "small").run(tmp_path / "run")
    return tmp_path / "run"


def test_every_packet_on_a_link_is_a_line(run: Path) -> None:
    tape = record(run)
    axes = drawing.sequence(run).axes[0]
    kinds = len({WHATS[what] for what in tape.what})
    # For each kind of packet the packets on links, and then those that wait.
    lines = [collection.get_segments() for collection in axes.collections]  # type: ignore[attr-defined]
    assert len(lines) == 2 * kinds
    assert sum(map(len, lines[::2])) == len(tape)
    early = drawing.sequence(run, end="60 us").axes[0].collections[1::2]
    assert sum(len(one.get_segments()) for one in early) > 0, "packets of two senders wait for one link"  # type: ignore[attr-defined,misc]
    assert len(axes.lines[0].get_xdata()) == sum(tape.lost) > 0  # type: ignore[arg-type]
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names.index("h0") < names.index("s0") < names.index("s1") < names.index("h2")
    few = drawing.sequence(run, flow="two", end="5 us").axes[0]
    assert 0 < sum(len(one.get_segments()) for one in few.collections[::2]) < len(tape)  # type: ignore[attr-defined,misc]
    assert "h0" not in [label.get_text() for label in few.get_xticklabels()]


def test_what_cannot_be_drawn_is_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NameNotFound, match="did you mean two"):
        drawing.sequence(run, flow="twoo")
    with pytest.raises(ArgumentError, match="a time with a unit"):
        drawing.sequence(run, start="5")
    with pytest.raises(ArgumentError, match="no packet is on a link"):
        drawing.sequence(run, start="1 s")
    monkeypatch.setattr(drawing, "MOST_LINES", 3)
    with pytest.raises(ArgumentError, match=r"up to .* there are 3"):
        drawing.sequence(run)


def test_the_command_writes_the_same_bytes_every_time_and_overwrites_nothing(
    headway: Callable[..., Answer], run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.svg"
    assert headway("draw", "sequence", str(run), "--out", str(out)).out.strip() == str(out)
    before = out.read_bytes()
    assert b"<svg" in before
    assert "is there already" in headway("draw", "sequence", str(run), "--out", str(out)).err
    headway("draw", "sequence", str(run), "--out", str(out), "--force")
    assert out.read_bytes() == before
    scenario = tmp_path / "small.toml"
    scenario.write_text(SCENARIO, "utf-8")
    assert headway("draw", "topology", str(scenario), "--out", str(tmp_path / "t.pdf")).status == 0
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")
    assert "ends in none of" in headway("draw", "topology", str(scenario), "--out", str(tmp_path / "t.txt")).err


def test_the_course_of_a_link_holds_its_packets(run: Path) -> None:
    tape = record(run)
    found = drawing.course(run, "s0->s1", end="400 us", bins=80)
    number = next(n for n, link in enumerate(tape.links) if (link.a, link.b) == ("s0", "s1"))
    packets = zip(tape.link, tape.start, tape.wire_bytes, strict=True)
    sizes = [size for link, start, size in packets if link == number and start < 400_000]
    assert sum(found.rate) * 1e9 * 5e-6 / 8 == pytest.approx(sum(sizes))
    # The tape has whole nanoseconds.
    assert max(found.rate) <= found.capacity * 1.001
    # Four packets wait at most, and one more may arrive in the nanosecond in which the next one leaves.
    assert max(found.queue_kb) in (pytest.approx(4 * 1.538), pytest.approx(5 * 1.538))
    assert found.queue_kb[-1] == 0
    rate, queue = drawing.courses([("all", found)], most_kb=20).axes
    assert rate.get_title(loc="left") == "all"
    assert queue.get_ylim() == (0, 20)
    with pytest.raises(NameNotFound, match="s0->s2"):
        drawing.course(run, "s0->s2", end="1 ms")
