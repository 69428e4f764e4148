"""`headway export RUN --format perfetto`: a trace that Perfetto's own `trace_processor` opens, checked by its SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import headway as package
from processor import Query, trace_processor
from support import Answer

Headway = Callable[..., Answer]

JOB = """
stop = "2 ms"
seed = 1

[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "allreduce"
bytes = "400 kB"
algorithm = "ring"

[[traffic]]
kind = "flows"
flows = [
  { name = "ask", src = 0, dst = 1, bytes = "1 kB" },
  { name = "reply", src = 1, dst = 0, bytes = "50 kB", after = ["think"] },
  { name = "late", src = 2, dst = 3, bytes = "10 MB" },
]
steps = [
  { name = "think", host = 1, takes = "5 us", after = ["ask"] },
  { name = "join", takes = "0 s", after = ["think"] },
]

[sample]
every = "20 us"
flows = ["reply"]
links = ["s0->h0"]
causes = true
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> package.Run:
    """A run of a job, a request with its reply, and a flow that is not done at the end."""
    folder = tmp_path_factory.mktemp("perfetto")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    return package.Scenario.load(folder / "job.toml").run(folder / "run")


@pytest.fixture(scope="module")
def query(run: package.Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    """Answers of SQL over the trace of the run."""
    with trace_processor(run.export(tmp_path_factory.mktemp("trace") / "run.perfetto-trace")) as ask:
        yield ask


@pytest.mark.long
def test_trace_processor_finds_no_fault(query: Query) -> None:
    assert query("select name, value from stats where severity != 'info' and value != 0") == []


def nanoseconds(seconds: float | None) -> int | None:
    """The nanosecond in which a time is."""
    return None if seconds is None else round(seconds * 1e12) // 1000


@pytest.mark.long
def test_every_message_is_a_slice_at_its_sender(run: package.Run, query: Query) -> None:
    found = query(
        "select s.name, s.ts, s.dur, h.name from slice s join track t on s.track_id = t.id "
        "join track h on t.parent_id = h.id where t.name = 'messages' order by s.name"
    )
    wanted = []
    for flow in run.flows.to_polars().sort("name").iter_rows(named=True):
        start, finish = nanoseconds(flow["start_s"]), nanoseconds(flow["finish_s"])
        assert start is not None
        wanted.append((flow["name"], start, -1 if finish is None else finish - start, f"h{flow['src']}"))
    assert found == wanted
    assert ("late", 0, -1, "h2") in found, "what is not over has no end"


@pytest.mark.long
def test_slices_of_a_track_never_overlap(query: Query) -> None:
    assert query("select count(*) from slice where depth > 0") == [(0,)]


@pytest.mark.long
def test_arrows_are_the_edges_between_what_began(run: package.Run, query: Query) -> None:
    assert run.edges is not None and run.steps is not None
    flows, steps = run.flows.to_polars()["name"].to_list(), run.steps.to_polars()["name"].to_list()
    wanted = sorted(
        (
            steps[edge["from"]] if edge["cause"] == "step" else flows[edge["from"]],
            steps[edge["to"]] if edge["node"] == "step" else flows[edge["to"]],
        )
        for edge in run.edges.to_polars().iter_rows(named=True)
    )
    arrows = "select a.name, b.name from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id"
    assert sorted(query(arrows)) == wanted
    assert ("ask", "think") in wanted and ("think", "reply") in wanted and len(wanted) > 12
    early = "select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id "
    assert query(early + "where b.ts < a.ts + a.dur") == [(0,)], "nothing begins before what it waits for is over"


@pytest.mark.long
def test_arguments_of_a_message_add_up_to_its_time(run: package.Run, query: Query) -> None:
    keys = ", ".join(f"'debug.{part}_ps'" for part in ("host", "wait", "serialise", "propagate", "queue", "retransmit"))
    sums = query(
        f"select s.name, sum(a.int_value) from slice s join args a on s.arg_set_id = a.arg_set_id "
        f"where a.key in ({keys}) group by s.name order by s.name"
    )
    done = run.flows.to_polars().filter(pl.col("state") == "done").sort("name")
    assert sums == [(name, round(fct * 1e12)) for name, fct in done.select("name", "fct_s").iter_rows()]
    critical = query(
        "select s.name from slice s join args a on s.arg_set_id = a.arg_set_id where a.key = 'debug.critical'"
    )
    paths = [link for job in run.summary["jobs"] for link in job["critical_path"] or []]
    assert {name for (name,) in critical} == {link.get("flow") or link["step"] for link in paths}


@pytest.mark.long
def test_ports_have_their_volume_and_what_was_sampled(run: package.Run, query: Query) -> None:
    volumes = query(
        "select s.name, a.int_value from slice s join args a on s.arg_set_id = a.arg_set_id "
        "join track t on s.track_id = t.id where a.key = 'debug.wire_bytes' and t.name like 'port %' order by s.name"
    )
    assert volumes == list(run.links.to_polars().sort("name").select("name", "wire_bytes").iter_rows())
    counters = query(
        "select c.name, c.unit, p.name from counter_track c join track t on c.id = t.id "
        "join track p on t.parent_id = p.id"
    )
    assert ("queue_bytes", "B", "port s0->h0") in counters
    assert ("throughput_bps of reply", "bit/s", "h1") in counters
    queue = query(
        "select c.ts, c.value from counter c join counter_track t on c.track_id = t.id where t.name = 'queue_bytes' "
        "order by c.ts"
    )
    series = run.series.to_polars().filter(pl.col("metric") == "queue_bytes").sort("t_s")
    assert queue == [(nanoseconds(at), value) for at, value in series.select("t_s", "value").iter_rows()]
    # A mean over an interval holds from its begin, and a flow has throughput only until its end.
    rates = query(
        "select c.ts, c.value from counter c join counter_track t on c.track_id = t.id where t.name like 'throughput%' "
        "order by c.ts"
    )
    rows = run.series.to_polars().filter(pl.col("metric") == "throughput_bps").sort("t_s")
    bits = sum((after[0] - at) * value for (at, value), after in pairwise(rates))
    assert rates[-1][1] == 0.0
    assert bits / 8e9 == pytest.approx(50_000)
    assert len(rates) == rows.height + 1


def test_a_run_in_memory_and_the_command_write_the_same(run: package.Run, headway: Headway, tmp_path: Path) -> None:
    out = tmp_path / "x.perfetto-trace"
    assert run.directory is not None
    answer = headway("export", run.directory, "--format", "perfetto", "--out", out)
    assert answer.status == 0, answer.err
    other = run.export(tmp_path / "memory")
    assert out.read_bytes() == other.read_bytes()
    again = headway("export", run.directory, "--format", "perfetto", "--out", out)
    assert again.status == 2 and "is there already" in again.err
    assert headway("export", run.directory, "--format", "perfetto", "--out", out, "--force").status == 0


def test_mistakes_say_what_helps(run: package.Run, headway: Headway, tmp_path: Path) -> None:
    out = str(tmp_path / "x")
    for arguments, message in (
        (["examples/quickstart", "--out", out], "is a scenario; perfetto is made from the directory of a run"),
        ([str(run.directory)], "name a file with --out"),
        ([str(run.directory), "--out", out, "--set", "seed=2"], "--set and --scale are for scenarios"),
        ([str(tmp_path / "none"), "--out", out], "no such directory"),
        ([str(run.directory), "--out", str(tmp_path / "no" / "such")], "cannot be written"),
    ):
        answer = headway("export", *arguments, "--format", "perfetto")
        assert answer.status == 2, answer
        assert message in answer.err
    with pytest.raises(package.NameNotFound, match="did you mean perfetto"):
        run.export(out, format="perfeto")
