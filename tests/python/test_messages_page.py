"""The page of traces of messages between real hosts: reading, drawing, and refusals."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.data.qlog import messages, read_trace
from headway.errors import ResultsError
from headway.reporting.messages import MOST_ROWS, render, write_messages
from support import LIMIT, Answer

CLIENT, SERVER = "10.0.0.1:4000", "10.0.0.2:18519"


def written(
    path: Path, local: str, reference_ms: float, events: list[tuple[float, str, str, int, int]], *, end: bool = True
) -> Path:
    """A trace: each event with its milliseconds, name, peer, number and bytes."""
    head: dict[str, object] = {
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "trace": {
            "vantage_point": {"name": local, "type": "unknown"},
            "common_fields": {"transport": "amrt", "time_format": "relative", "reference_time": reference_ms},
        },
    }
    records: list[dict[str, object]] = [head]
    for time, name, peer, number, size in events:
        data = {"peer": peer, "message": number, "bytes": size}
        records.append({"time": time, "name": f"headway:{name}", "data": data})
    if end:
        records.append({"time": 9.0, "name": "headway:trace_ended", "data": {"events": len(events)}})
    path.write_text("".join(f"\x1e{json.dumps(record)}\n" for record in records))
    return path


def both(folder: Path) -> list[Path]:
    """A call: a request of two packets, one of which leaves again, and its reply. One clock began 2 ms later."""
    client = written(
        folder / "client.sqlog", CLIENT, 1000.0,
        [
            (3.0, "message_opened", SERVER, 0, 3000), (3.01, "data_sent", SERVER, 0, 1500),
            (3.02, "data_sent", SERVER, 0, 1500), (3.5, "data_repeated", SERVER, 0, 1500),
            (3.7, "message_acknowledged", SERVER, 0, 0), (3.9, "data_received", SERVER, 0, 100),
            (3.9, "message_received", SERVER, 0, 100),
        ],
    )  # fmt: skip
    server = written(
        folder / "server.sqlog", "0.0.0.0:18519", 1002.0,
        [
            (1.1, "data_received", CLIENT, 0, 1500), (1.6, "mark_received", CLIENT, 0, 0),
            (1.6, "data_received", CLIENT, 0, 1500), (1.6, "message_received", CLIENT, 0, 3000),
            (1.8, "message_opened", CLIENT, 0, 100), (1.81, "data_sent", CLIENT, 0, 100),
        ],
        end=False,
    )  # fmt: skip
    return [client, server]


def test_both_halves_of_a_message_are_one_on_one_clock(tmp_path: Path) -> None:
    """Numbers are those of a sender to its receiver, and an endpoint at every address is known by its port."""
    request, reply = messages([read_trace(path) for path in both(tmp_path)])
    assert (request.sender, request.receiver, reply.sender) == (CLIENT, SERVER, SERVER)
    assert request.opened == pytest.approx(3.0e-3)
    assert request.received == pytest.approx(3.6e-3)
    assert request.acknowledged == pytest.approx(3.7e-3)
    assert [len(times) for times in (request.sent, request.repeated, request.arrived, request.marked)] == [2, 1, 2, 1]
    assert reply.opened == pytest.approx(3.8e-3)
    assert reply.received == pytest.approx(3.9e-3)


def test_the_page_draws_every_message_and_says_what_is_missing(tmp_path: Path, headway: Callable[..., Answer]) -> None:
    """`headway report` takes files, and tells of a trace without an end."""
    answer = headway("report", *both(tmp_path))
    page = tmp_path / "client.html"
    assert (answer.status, answer.out.strip()) == (0, str(page))
    assert "server.sqlog: has no end" in answer.err
    text = page.read_text()
    # Each form of the picture, wide and narrow, has a row for each message.
    assert text.count('class="row-group"') == 2 * 2
    assert "its sender knows: 700 us" in text
    assert "1 packets left again" in text
    assert "p99 until the sender knows (largest of 1)" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    # The function in Python takes the same files.
    page.unlink()
    assert package.report(both(tmp_path)).files == (page,)
    assert page.read_text() == text


def test_files_of_another_kind_are_no_traces(tmp_path: Path, headway: Callable[..., Answer]) -> None:
    """A trace is known by its name or its first byte, and is not mixed with other places."""
    client = both(tmp_path)[0]
    named = tmp_path / "messages"
    named.write_bytes(client.read_bytes())
    assert headway("report", named).status == 0
    scenario = tmp_path / "mine.toml"
    scenario.write_text('stop = "1 ms"\n')
    assert "is a file, not a directory of results" in headway("report", scenario).err
    assert "mine.toml: line 1 is not JSON" in headway("report", client, scenario).err


def test_of_many_messages_the_slowest_are_drawn(tmp_path: Path) -> None:
    """The picture stays one that can be read; the table goes on."""
    events = [
        event
        for number in range(MOST_ROWS + 30)
        for event in (
            (float(number), "message_opened", SERVER, number, 100),
            (number + 0.1 + number / 1e3, "message_acknowledged", SERVER, number, 0),
        )
    ]
    text, missing = render([read_trace(written(tmp_path / "many.sqlog", CLIENT, 0.0, events))])
    assert not missing
    assert text.count('class="row-group"') == 2 * MOST_ROWS
    assert "30 faster messages are left out" in text
    assert "p99 until the sender knows</th>" in text
    assert text.count(f'<tr><th scope="row">{CLIENT}') == MOST_ROWS + 30


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is no trace of messages"),
        ("\x1e{}\n", "is no trace of messages"),
        ("nonsense\n\x1e{}\n", "line 1 is not JSON"),
        ("\x1e[1]\n", "line 1 is no record"),
        ('\x1e{"trace": {}}\n', "is no trace of messages of Headway"),
    ],
)
def test_what_is_no_trace_is_refused(content: str, told: str, tmp_path: Path) -> None:
    """With the file and the line, and no page."""
    path = tmp_path / "x.sqlog"
    path.write_text(content)
    with pytest.raises(ResultsError, match=told):
        write_messages([path])
    assert list(tmp_path.iterdir()) == [path]


def test_a_record_that_is_cut_off_ends_the_trace(tmp_path: Path) -> None:
    """A process that was killed leaves half a record; earlier records are there."""
    path = both(tmp_path)[0]
    path.write_text(path.read_text()[:-40])
    trace = read_trace(path)
    assert not trace.ended
    assert len(trace.events) == 7


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="headway.endpoints is for Linux")
def test_real_endpoints_write_what_the_page_reads(tmp_path: Path) -> None:
    """A call between two endpoints: both messages, whole, and both traces with an end."""
    from headway.endpoints import BlockingEndpoint

    paths = [tmp_path / "client.sqlog", tmp_path / "server.sqlog"]
    bind = BlockingEndpoint.bind
    with bind(trace_file=paths[0]) as client, bind(trace_file=paths[1]) as server:

        def serve() -> None:
            server.recv(timeout=LIMIT).reply(bytes(20_000), timeout=LIMIT)

        thread = threading.Thread(target=serve)
        thread.start()
        assert len(client.call(server.address, bytes(30_000), timeout=LIMIT)) == 20_000
        thread.join()
    traces = [read_trace(path) for path in paths]
    assert all(trace.ended for trace in traces)
    request, reply = messages(traces)
    # Nine bytes in front say which call it is.
    assert (request.bytes, reply.bytes) == (30_009, 20_009)
    assert request.opened is not None and request.received is not None and reply.received is not None
    assert request.opened <= request.received <= reply.received
    assert len(request.sent) >= 20 and len(request.arrived) >= 20
