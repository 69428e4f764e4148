"""`headway view`: its pages, its refusals, and a sweep that it follows, with a real HTTP client."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import headway
from headway.reporting import page_text
from headway.view import HOST, Server
from headway.view.pages import Busy
from report import make_runs
from report.browser import Visit, chromium
from support import LIMIT, TWO_FLOWS

POINT = "sweep/points/amrt,cdf=xpass_websearch,load=0.3,seed=1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep, and two real runs of the same flows."""
    root = tmp_path_factory.mktemp("view")
    make_runs.make_load_sweep(root / "sweep", loads=(0.3, 0.7), seeds=(1,), count=60)
    text = TWO_FLOWS.format(stop="2 ms", size="100 kB")
    for name in ("amrt", "phost"):
        headway.Scenario.from_text(text, sets={"transport.name": name}).run(root / "runs" / name)
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "served", symlinks=True))


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    with Server(root) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join(timeout=LIMIT)


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
    """The answer to one request, sent as it is."""
    connection = http.client.HTTPConnection(HOST, server.port, timeout=LIMIT)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {key.lower(): value for key, value in answer.getheaders()}
    finally:
        connection.close()


def test_the_list_has_runs_and_sweeps_and_how_far_they_are(server: Server) -> None:
    status, text, headers = ask(server, "/")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    for path in ("sweep", "runs/amrt", "runs/phost"):
        assert f'href="/watch/{path}"' in text
    state = json.loads(ask(server, "/state")[1])
    entries = {entry["path"]: entry for entry in state["entries"]}
    assert set(entries) == {"sweep", "runs/amrt", "runs/phost"}
    assert (entries["sweep"]["done"], entries["sweep"]["open"]) == (entries["sweep"]["total"], False)


def test_results_are_listed_by_their_titles(server: Server, root: Path) -> None:
    entries = {entry["path"]: entry for entry in json.loads(ask(server, "/state")[1])["entries"]}
    point = json.loads((root / "sweep/sweep.json").read_text("utf-8"))[0]["dir"]
    for path, run in (("sweep", f"sweep/{point}"), ("runs/amrt", "runs/amrt")):
        title = json.loads((root / run / "manifest.json").read_text("utf-8"))["scenario"]["title"]
        assert title
        assert entries[path]["title"] == title
        assert title in ask(server, "/")[1]


def test_a_click_shows_something_before_the_report_is_made(server: Server) -> None:
    """The page around a report needs none of it."""
    text = ask(server, "/watch/sweep")[1]
    assert text.index('class="making"') < text.index("<iframe")
    assert "Making the report of" in text


def test_a_report_is_the_one_that_headway_report_writes(server: Server, root: Path) -> None:
    status, text, _ = ask(server, "/report/runs/amrt")
    assert status == 200
    assert text == page_text(root / "runs" / "amrt")
    assert ask(server, f"/report/{quote(POINT)}")[0] == 200
    assert not (root / "runs" / "amrt" / "report.html").exists(), "nothing is written"


def test_two_runs_are_compared(server: Server) -> None:
    status, text, _ = ask(server, "/compare?run=runs/amrt&reference=runs/phost")
    assert status == 200
    assert "runs/amrt" in text
    assert 'id="distributions"' in text
    assert ask(server, "/compare?run=runs/amrt")[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        "/report/../secret", "/report/%2e%2e/secret", "/report/..%2fsecret", "/report//etc", "/report/%2fetc",
        "/report/linked", "/report/sweep/points", "/report/nothing", "/report/%00", "/report/runs/amrt/flows.parquet",
        "/watch/../secret", "/progress/..%2fsecret", "/compare?run=../secret&reference=runs/amrt",
        "/compare?run=runs/amrt&reference=linked", "/secret", "/flows.parquet",
    ],
)  # fmt: skip
def test_nothing_outside_and_no_file_is_given_away(path: str, server: Server, root: Path) -> None:
    secret = root.parent / "secret"
    shutil.copytree(root / "runs" / "amrt", secret)
    (root / "linked").symlink_to(secret)
    status, text, _ = ask(server, path)
    assert status == 404
    assert "<svg" not in text


def test_pages_of_elsewhere_are_refused(server: Server) -> None:
    assert ask(server, "/", Host="runs.example:80")[0] == 421
    assert ask(server, "/", Host=f"localhost:{server.port}")[0] == 200
    assert ask(server, "/state", method="POST")[0] == 501
    status, text, headers = ask(server, "/", method="HEAD")
    assert (status, text) == (200, "")
    assert int(headers["content-length"]) > 100


def test_only_this_machine_can_connect(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others:
        if not str(address).startswith("127."):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((str(address), server.port), timeout=5)


def test_requests_beyond_the_bound_are_told_to_wait(server: Server) -> None:
    places = server.pages._places
    taken = 0
    while places.acquire(blocking=False):
        taken += 1
    status, text, _ = ask(server, "/report/runs/amrt")
    assert status == 503
    assert "Try again" in text
    with pytest.raises(Busy):
        server.pages.report("runs/amrt")
    for _ in range(taken):
        places.release()
    assert ask(server, "/report/runs/amrt")[0] == 200


def test_what_cannot_be_read_is_told_and_the_rest_is_served(server: Server, root: Path) -> None:
    (root / "runs" / "phost" / "summary.json").write_text("{")
    status, text, _ = ask(server, "/report/runs/phost")
    assert status == 404
    assert "summary.json" in text
    assert ask(server, "/report/runs/amrt")[0] == 200


def raw(server: Server, request: bytes) -> bytes:
    """The whole answer to the sent bytes, which need not be a request."""
    with socket.create_connection((HOST, server.port), timeout=LIMIT) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return answer.read()


def test_one_odd_folder_hides_nothing_else(server: Server, root: Path) -> None:
    odd = os.fsencode(root) + b"/runs/\xff\xfe"
    shutil.copytree(root / "runs" / "amrt", os.fsdecode(odd))
    for name, text in (
        ("a-pipe", None),
        ("b-number", "7"),
        ("c-deep", "[" * 100_000),
        ("d-points", '[{"dir": "\\ud800"}]'),
    ):
        (root / name).mkdir()
        if text is None:
            os.mkfifo(root / name / "sweep.json")
        else:
            (root / name / "sweep.json").write_text(text)
    status, text, _ = ask(server, "/")
    assert status == 200
    assert 'href="/watch/runs/amrt"' in text
    assert "1 folder with a name that is not UTF-8 is left out" in text
    assert ask(server, "/state")[0] == 200
    for name in ("b-number", "c-deep", "d-points"):
        status, text, _ = ask(server, f"/report/{name}")
        assert (status, "sweep.json" in text) == (404, True), name


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/compare?run=a&reference=b&x=1&y=2&z=3", 400), ("http://[", 400), ("/report/%ff%fe", 404),
        ("/" + "a" * 70_000, 414), ("/compare?run=%ff&reference=%00", 404),
    ],
)  # fmt: skip
def test_every_request_has_an_answer_with_a_reason(path: str, status: int, server: Server) -> None:
    answer = raw(server, f"GET {path} HTTP/1.0\r\nHost: {HOST}:{server.port}\r\n\r\n".encode())
    assert int(answer.split()[1]) == status
    assert len(answer.partition(b"\r\n\r\n")[2]) > 20


def test_a_point_elsewhere_is_refused_with_a_reason(server: Server, root: Path) -> None:
    path = root / "sweep" / "sweep.json"
    rows = json.loads(path.read_text())
    path.write_text(json.dumps([{**rows[0], "dir": str(root / "runs" / "amrt")}, *rows[1:]]))
    status, text, _ = ask(server, "/report/sweep")
    assert status == 404
    assert "is no folder in points/" in text


def test_what_nobody_thought_of_is_a_page(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_path: str) -> str:
        raise ZeroDivisionError("as it happens")

    monkeypatch.setattr(server.pages, "report", fails)
    status, text, _ = ask(server, "/report/runs/amrt")
    assert (status, "ZeroDivisionError: as it happens" in text) == (500, True)


def test_slow_clients_give_way(server: Server) -> None:
    slow = [socket.create_connection((HOST, server.port), timeout=LIMIT) for _ in range(40)]
    try:
        for connection in slow:
            with contextlib.suppress(OSError):
                connection.sendall(b"GET / HTTP/1.0\r\nX-Slow:")
        for _ in range(5):
            assert ask(server, "/state")[0] == 200
    finally:
        for connection in slow:
            connection.close()


def test_a_request_that_does_not_come_is_not_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.view.server.REQUEST_S", 0.2)
    assert raw(server, b"GET / HTTP/1.0\r\n") == b""


def states(root: Path, done: int) -> None:
    """The sweep as it is while it runs: its first points are done, the others are not there yet."""
    path = root / "sweep" / "sweep.json"
    records = json.loads(path.read_text())
    for place, record in enumerate(records):
        record["state"] = "done" if place < done else "pending"
    path.write_text(json.dumps(records))
    for record in records[done:]:
        folder = root / "sweep" / "points" / record["label"]
        if folder.exists():
            folder.rename(root.parent / f"kept {record['label']}")
    for record in records[:done]:
        kept = root.parent / f"kept {record['label']}"
        if kept.exists():
            kept.rename(root / "sweep" / "points" / record["label"])


@pytest.mark.long
def test_a_sweep_is_followed_in_a_browser(server: Server, root: Path) -> None:
    total = len(json.loads((root / "sweep" / "sweep.json").read_text()))
    states(root, total - 2)
    with chromium() as browser, Visit(browser, server.url + "watch/sweep") as visit:
        page = visit.page
        page.get_by_text(f"{total - 2} of {total} points").wait_for()
        frame = page.frame_locator("iframe")
        frame.get_by_text(f"{total - 2} runs,").wait_for()
        states(root, total)
        page.get_by_text(f"{total} of {total} points, ended").wait_for()
        frame.get_by_text(f"{total} runs,").wait_for()
        page.goto(server.url)
        page.get_by_label("reference").select_option("runs/phost")
        page.get_by_label("run", exact=True).select_option("runs/amrt")
        page.get_by_role("button", name="Compare").click()
        page.locator("#distributions path.line").first.wait_for()
        assert visit.complaints == []
        assert all(url.startswith(server.url) for url in visit.requests)


def test_the_command_says_where_it_is_and_ends_with_ctrl_c(root: Path) -> None:
    command = [sys.executable, "-m", "headway", "view", str(root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as program:
        try:
            assert program.stdout is not None
            assert select.select([program.stdout], [], [], LIMIT)[0]
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", program.stdout.readline())
            assert found
            connection = http.client.HTTPConnection(HOST, int(found[1]), timeout=LIMIT)
            connection.request("GET", "/state")
            assert json.loads(connection.getresponse().read())["entries"]
            connection.close()
            program.send_signal(signal.SIGINT)
            assert program.wait(timeout=LIMIT) == 0
        finally:
            program.kill()
