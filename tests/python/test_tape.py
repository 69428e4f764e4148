"""The packets of a small run, as a replay has them, against the results of the run."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import headway
from headway import tape
from headway.errors import ResultsError

FIG01 = ["stop=0.4 ms"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tape") / "run"
    headway.Scenario.load("amrt/fig01", sets=FIG01).run(out)
    return out


def test_every_packet_on_every_link_is_there_and_no_two_share_a_wire(run: Path) -> None:
    found = tape.record(run)
    links = pl.read_parquet(run / "links.parquet")
    counts = Counter(f"{found.links[place].a}->{found.links[place].b}" for place in found.link)
    assert dict(counts) == {name: n for name, n in links.select("name", "dequeued").iter_rows() if n}
    for place, link in enumerate(found.links):
        own = [i for i, one in enumerate(found.link) if one == place]
        for one, other in pairwise(own):
            # Times of a capture are whole nanoseconds.
            assert found.start[other] >= found.start[one] + found.wire_bytes[one] * 8e9 / link.rate_bps - 1.01


def test_queues_are_those_of_the_results(run: Path) -> None:
    found = tape.record(run)
    links = {row["name"]: row for row in pl.read_parquet(run / "links.parquet").to_dicts()}
    virtual = headway.read(run).manifest["virtual_s"]
    for place, link in enumerate(found.links):
        if link.a.startswith("h"):
            continue
        own = [i for i, one in enumerate(found.link) if one == place]
        mean = sum(found.waited[i] * found.wire_bytes[i] for i in own) / (virtual * 1e9)
        stored = links[f"{link.a}->{link.b}"]
        # Packets that still wait at the end are in the results alone.
        late = stored["queue_max_bytes"] * stored["queue_max_bytes"] * 8 / link.rate_bps / virtual
        assert mean == pytest.approx(stored["queue_mean_bytes"], abs=late + 2.0, rel=1e-3)
    assert max(found.waited) > 0
    assert not any(found.lost)


def test_each_packet_belongs_to_a_flow_and_marks_are_told_apart(run: Path) -> None:
    found = tape.record(run)
    assert {found.flows[i] for i in found.flow} == {"f0", "f1"}
    marks = sum(1 for i, what in enumerate(found.what) if what == 1 and found.links[found.link[i]].b.startswith("h"))
    delivered = headway.read(run).summary["marks"]
    # Those on their last link at the end have not arrived.
    assert delivered <= marks <= delivered + 20


def test_dropped_packets_are_lost_where_they_were_dropped(tmp_path: Path) -> None:
    sets = ["stop=1 ms", "transport.name=tcp", "fabric.discipline=drop-tail", "fabric.buffer=4 packets"]
    headway.Scenario.load("amrt/fig01", sets=sets).run(tmp_path / "run")
    found = tape.record(tmp_path / "run")
    drops = headway.read(tmp_path / "run").summary["data_drops"]
    assert drops > 5
    assert 0.5 * drops <= sum(found.lost) <= drops


def test_a_large_run_is_refused_with_its_size_and_the_limit(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hops = headway.read(run).manifest["packet_hops"]
    monkeypatch.setattr(tape, "MOST_HOPS", hops - 1)
    with pytest.raises(ResultsError, match=f"has {hops} packets on links, and a replay shows at most {hops - 1}"):
        tape.record(run)


def test_a_sweep_is_refused_and_a_point_of_it_named(tmp_path: Path) -> None:
    (tmp_path / "points" / "a,seed=1").mkdir(parents=True)
    (tmp_path / "points" / "a,seed=1" / "manifest.json").write_text("{}")
    (tmp_path / "sweep.json").write_text("[]")
    with pytest.raises(ResultsError, match=r"is a sweep; .* a,seed=1|points/a,seed=1"):
        tape.record(tmp_path)
