"""The comparisons with other simulators stay in their bounds and are on record, and docs/compared.md shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.comparison.peers import (
    RECORD_FILE,
    Found,
    Number,
    Peer,
    Row,
    measure,
    read_peer,
    read_peers,
    read_record,
    table_lines,
    write_record,
)
from headway.errors import HeadwayError
from headway.pages import read

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "scenarios/peers"
PEERS = read_peers(FOLDER)
# `make compared` runs the slow rows, and `tools/compared.py PEER` those that run by name.
QUICK = [[row for row in peer.rows if not row.slow and not row.by_name] for peer in PEERS]
# The first row of each peer in every run.
ROWS = [
    pytest.param(peer, row, id=f"{peer.folder.name}: {row.what}", marks=pytest.mark.long if at else ())
    for peer, rows in zip(PEERS, QUICK, strict=True)
    for at, row in enumerate(rows)
]
PAGE = read(REPOSITORY / "docs/compared.md")


@pytest.mark.parametrize(("peer", "row"), ROWS)
def test_a_comparison_stays_in_its_bounds(peer: Peer, row: Row) -> None:
    found = measure(peer, row)
    beyond = [f"{one.number.name}: {one.ours}, theirs {one.theirs}" for one in found if not one.ok]
    assert not beyond
    for line in table_lines(row, found):
        assert line in PAGE, "scenarios/peers/measured.json is not of this version: make compared"


def test_the_page_has_a_section_for_each_peer() -> None:
    assert len(PEERS) >= 7
    for peer in PEERS:
        assert f"## {peer.name}\n" in PAGE
        assert peer.commit in PAGE


def test_the_record_is_written_as_it_is_read(tmp_path: Path) -> None:
    write_record(tmp_path / RECORD_FILE, read_record(FOLDER))
    assert (tmp_path / RECORD_FILE).read_text("utf-8") == (FOLDER / RECORD_FILE).read_text("utf-8")


def test_a_row_without_a_result_is_an_error(tmp_path: Path) -> None:
    number = '{ name = "mean", theirs = "4 us", within = "3 %" }'
    (tmp_path / "new").mkdir()
    (tmp_path / "new/peer.toml").write_text(f"{HEAD}{ROW}numbers = [{number}]", "utf-8")
    (tmp_path / RECORD_FILE).write_text("{}", "utf-8")
    with pytest.raises(HeadwayError, match="`new: w` has no `mean`\n  help: make compared"):
        read_record(tmp_path)


def test_cases_that_run_by_name_are_not_on_the_page_but_counted() -> None:
    peer = next(peer for peer in PEERS if peer.folder.name == "uet-validate")
    by_name = [row for row in peer.rows if row.by_name]
    assert by_name
    assert len(peer.rows) == 95
    assert not any(f"| {row.what} |" in PAGE for row in by_name)
    assert all(f"| {row.what} |" in PAGE for row in peer.rows if not row.by_name)
    assert f"{len(by_name)} more cases run by name" in PAGE


def test_a_bound_is_about_the_nearer_end_of_a_range() -> None:
    def found(ours: float, theirs: tuple[float, float] | None, **bounds: object) -> bool:
        within, least = bounds.get("within"), bounds.get("least")
        assert within is None or isinstance(within, tuple)
        assert least is None or isinstance(least, float)
        return Found(Number("x", "mean", theirs, within, least, "s"), ours, theirs).ok

    even = (0.9, 1.1)
    assert found(1.05, (1.0, 1.0), within=even)
    assert not found(1.2, (1.0, 1.0), within=even)
    assert found(1.2, (1.0, 1.1), within=even)
    assert not found(0.8, (1.0, 1.1), within=even)
    assert found(2.3, (1.0, 1.0), within=(2.2, 2.4))
    assert not found(1.0, (1.0, 1.0), within=(2.2, 2.4))
    assert found(1.0, None, least=1.0)
    assert not found(0.999, None, least=1.0)


HEAD = "".join(f'{key} = "x"\n' for key in ("name", "about", "repository", "commit", "measured", "how"))
ROW = '[[row]]\nwhat = "w"\nscenario = "s"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "peer.toml: Invalid value"),
        (HEAD.replace("how", "hows"), "no key of the peer is called 'hows'\n  help: did you mean how"),
        (HEAD, "peer.toml: the peer lacks `row`"),
        (HEAD + ROW + "numbers = []\nslwo = true", "no key of a row is called 'slwo'\n  help: did you mean slow"),
        (HEAD + ROW + 'numbers = [{ name = "mean", within = "3 %" }]', "row 1: `mean` has no value of the peer"),
        (HEAD + ROW + 'numbers = [{ name = "mean", theirs = "4 u", within = "3 %" }]', "`4 u` is no number, no list"),
        (HEAD + ROW + 'numbers = [{ name = "mean", theirs = 4 }]', "`mean` has no bound"),
        (HEAD + ROW + 'numbers = [{ name = "mean", theirs = 4, within = 3 }]', "a bound is a text such as"),
    ],
)
def test_a_mistake_in_a_peer_is_said(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "peer.toml").write_text(text, "utf-8")
    with pytest.raises(HeadwayError) as caught:
        read_peer(tmp_path)
    assert message in str(caught.value)
