"""Captures of the simulator: the file, tshark's reading of it, and failures."""

from __future__ import annotations

import ipaddress
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import headway as package
import lacking
import wireshark
from support import LIMIT, Answer

Headway = Callable[..., Answer]


@pytest.fixture
def capture(headway: Headway, scenario_file: Path, tmp_path: Path) -> Callable[..., Path]:
    """Run the small scenario and capture it."""

    def call(*arguments: str) -> Path:
        path = tmp_path / "out.pcapng"
        answer = headway("run", scenario_file, "--capture", path, "--out", tmp_path / "out", *arguments)
        assert answer.status == 0, answer.err
        return path

    return call


@pytest.mark.parametrize("transport", ["amrt", "phost"])
@pytest.mark.long
def test_tshark_shows_every_field_as_it_was_written(capture: Callable[..., Path], transport: str) -> None:
    counts = wireshark.compare(capture("--set", f"transport.name={transport}"))
    assert {"amrt": {"data", "grant"}, "phost": {"data", "rts", "token"}}[transport] <= set(counts)


@pytest.mark.parametrize(
    ("transport", "preference", "kind", "token", "remaining"),
    [
        ("rcp", 0, "data", "Rate in kb/s, which ports may lower", "round trip in ns"),
        ("rcp", 7, "ack", "Third SACK block", "Rate in kb/s that the packet answered brought"),
        ("proactmp", 6, "data", "Subflow, and above 16 bits how many", "smoothed round trip in ns"),
        ("proactmp", 0, "data", None, None),
        ("dctcp", 9, "ack", "Third SACK block", "Receive window in packets"),
    ],
)
@pytest.mark.long
def test_what_token_and_remaining_hold_is_said_where_it_is_known(
    capture: Callable[..., Path], transport: str, preference: int, kind: str, token: str | None, remaining: str | None
) -> None:
    path = capture("--set", f"transport.name={transport}")
    text = wireshark.tshark(
        path, "-o", f"headway.transport:{preference}", "-V", "-c", "400", "-Y", f'headway.kind == "{kind}"'
    )
    for name, held in (("token", token), ("remaining", remaining)):
        lines = [line.strip() for line in text.splitlines() if line.strip().startswith(f"{name}: ")]
        assert lines
        if held is None:
            assert not any("(" in line for line in lines)
        else:
            assert all(held in line for line in lines), (lines[0], held)


def test_a_capture_agrees_with_the_links_of_the_run(capture: Callable[..., Path], tmp_path: Path) -> None:
    packets = wireshark.read_pcapng(capture())
    links = package.read(tmp_path / "out").links.to_polars()
    seen = Counter(p.interface.name for p in packets)
    marked = Counter(p.interface.name for p in packets if p.fields["ecn"] in (1, 3))
    wire = Counter[str]()
    for p in packets:
        wire[p.interface.name] += p.fields["wire"]
    for row in links.iter_rows(named=True):
        name = row["name"]
        assert (seen[name], marked[name], wire[name]) == (row["dequeued"], row["marks"], row["wire_bytes"]), name
    assert {p.interface.speed for p in packets} == {10_000_000_000}
    assert marked["s0->h2"] > 0
    times = [p.nanoseconds for p in packets]
    assert times == sorted(times)


def test_addresses_lengths_and_times(capture: Callable[..., Path]) -> None:
    packets = wireshark.read_pcapng(capture())
    for p in packets:
        fields, ip = p.fields, p.data[14:34]
        hosts = [
            int(ipaddress.IPv4Address(ip[at : at + 4])) - int(ipaddress.IPv4Address("10.0.0.1")) for at in (12, 16)
        ]
        assert hosts == [fields["src"], fields["dst"]]
        assert ip[1] == (7 - fields["priority"]) << 5 | fields["ecn"]
        assert len(p.data) == wireshark.HEADERS
        simulated = 14 + fields["wire"] - 38
        assert p.original == (simulated if simulated > wireshark.HEADERS else wireshark.HEADERS + fields["payload"])
    sent = [p for p in packets if p.interface.name == "h0->s0" and p.fields["kind"] == 0]
    assert (sent[0].nanoseconds, sent[0].original) == (0, 1514)
    assert {p.fields["message_bytes"] for p in sent} == {100_000}
    # A full frame takes 1230.4 ns at 10 Gb/s.
    for name in {p.interface.name for p in packets}:
        here = [p for p in packets if p.interface.name == name]
        assert all(b.nanoseconds - a.nanoseconds >= int(a.fields["wire"] * 0.8) for a, b in pairwise(here))


def test_chosen_links_are_the_interfaces(capture: Callable[..., Path]) -> None:
    packets = wireshark.read_pcapng(capture("--capture-links", "s0->h2, h2->s0"))
    assert {p.interface.name for p in packets} == {"s0->h2", "h2->s0"}


@pytest.mark.long
def test_the_info_column_and_filters(capture: Callable[..., Path]) -> None:
    path = capture("--capture-links", "s0->h2,s0->h0")
    packets = {p.number: p.fields for p in wireshark.read_pcapng(path)}
    for number, text in wireshark.info(path).items():
        f = packets[number]
        start = f"{wireshark.KINDS[f['kind']]} {f['src']}->{f['dst']} msg {f['message']}"
        assert text.startswith(start)
        if f["kind"] == 0:
            assert re.match(rf"{start} idx {f['index']}/69( spare)?( |$)", text), text
            assert (" spare" in text) == (f["ecn"] == 1)
        assert (" again" in text) == bool(f["flags"] & 2)
    answers: dict[str, Callable[[dict[str, int]], bool]] = {
        'headway.kind == "data" and headway.ecn != "spare"': lambda f: f["kind"] == 0 and f["ecn"] != 1,
        'headway.kind == "grant" and headway.count == 2': lambda f: f["kind"] == 1 and f["count"] == 2,
        "headway.flags.again == 1": lambda f: bool(f["flags"] & 2),
    }
    for text, wanted in answers.items():
        assert wireshark.matching(path, text) == [n for n, f in packets.items() if wanted(f)], text
    assert wireshark.matching(path, 'headway.kind == "grant" and headway.count == 2')


@pytest.mark.long
def test_headway_on_another_port_is_recognised_and_other_things_are_not(
    capture: Callable[..., Path], tmp_path: Path
) -> None:
    file = capture("--capture-links", "s0->h2").read_bytes()
    count = len(wireshark.read_pcapng(tmp_path / "out.pcapng"))
    port = wireshark.PORT.to_bytes(2, "big")
    moved = tmp_path / "moved.pcapng"
    moved.write_bytes(file.replace(port + port, b"\x9c\x40\x9c\x41"))
    assert len(wireshark.matching(moved, "headway and udp.dstport == 40001")) == count
    strange = tmp_path / "strange.pcapng"
    # After the ports, a length and the checksum comes the header's first byte.
    strange.write_bytes(re.sub(b"(HWHW..\x00\x00)\x01", b"\\1\x07", file, flags=re.DOTALL))
    assert len(wireshark.matching(strange, "headway.unknown")) == count
    assert set(wireshark.info(strange).values()) == {"not a datagram of this version"}
    strange.write_bytes(strange.read_bytes().replace(port + port, b"\x9c\x40\x9c\x41"))
    assert wireshark.matching(strange, "headway") == []


@pytest.mark.parametrize(
    ("what", "offset", "byte"),
    [
        ("IPv4 checksum", 24, 0x55),
        ("reserved byte", 48, 1),
        ("envelope", 47, 7),
        ("payload that is not there", 53, 5),
        ("kind", 43, 99),
    ],
)
@pytest.mark.long
def test_the_comparison_finds_damage(capture: Callable[..., Path], what: str, offset: int, byte: int) -> None:
    path = capture("--capture-links", "h2->s0")
    victim = next(p for p in wireshark.read_pcapng(path) if p.fields["kind"] == 1)
    assert victim.data[offset] != byte
    file = bytearray(path.read_bytes())
    file[file.index(victim.data) + offset] = byte
    path.write_bytes(file)
    with pytest.raises((AssertionError, IndexError)):
        wireshark.compare(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--capture", "no/such/directory/x.pcapng"], "cannot write the capture no/such/directory/x.pcapng"),
        (["--capture", "DIR"], "is a directory"),
        (["--capture", "OUT", "--capture-links", "s0->h3"], "did you mean `s0->h"),
        (["--capture", "OUT", "--capture-links", "s0->h2,"], "names of links with commas"),
        (["--capture-links", "s0->h2"], "--capture-links needs --capture"),
        (["--capture", "/dev/full"], "cannot write the capture /dev/full"),
    ],
)
def test_mistakes_end_with_status_2(
    headway: Headway, scenario_file: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    if "/dev/full" in arguments and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    places = {"DIR": str(tmp_path), "OUT": str(tmp_path / "x.pcapng")}
    answer = headway("run", scenario_file, *[places.get(a, a) for a in arguments])
    assert answer.status == 2
    assert message in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "x.pcapng").exists()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


@pytest.mark.long
def test_ctrl_c_leaves_a_readable_file(long_scenario_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.pcapng"
    command = [sys.executable, "-m", "headway", "run", str(long_scenario_file), "--capture", str(path), "--yes"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        _until(lambda: path.exists() and path.stat().st_size > 1_000_000)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert len(wireshark.read_pcapng(path)) > 1000
    assert wireshark.tshark(path, "-c", "3").count("\n") == 3


@pytest.mark.long
def test_memory_stays_flat_while_capturing(scenario_file: Path, tmp_path: Path) -> None:
    peaks = []
    for size in ("2 MB", "50 MB"):
        path = tmp_path / "out.pcapng"
        text = scenario_file.read_text(encoding="utf-8")
        text = text.replace("100 kB", size).replace('stop = "2 ms"', 'stop = "1 s"').replace("20 us", "100 ms")
        (tmp_path / "sized.toml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "headway", "run", str(tmp_path / "sized.toml"), "--capture", str(path)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append((usage.ru_maxrss, path.stat().st_size))
    (small, small_file), (large, large_file) = peaks
    assert large_file - small_file > 30_000_000
    # In kilobytes on Linux; a capture kept in memory would add a third of its file at the very least.
    if sys.platform == "linux":
        assert large - small < 10_000, peaks


def _payload(packet: wireshark.Captured) -> bytes:
    return bytes(i % 251 for i in range(packet.fields["payload"]))


def _seen_on_loopback(datagrams: list[bytes], path: Path) -> None:
    """Send datagrams until dumpcap has twice as many."""
    dumpcap = lacking.program("dumpcap", "apt install tshark")
    if os.geteuid() != 0:
        lacking.lack("root")
    command = [dumpcap, "-q", "-i", "lo", "-f", f"udp dst port {wireshark.PORT}", "-w", str(path)]
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to,
    ):
        try:
            to.bind(("127.0.0.1", wireshark.PORT))
        except OSError as error:
            pytest.skip(f"port {wireshark.PORT} is taken: {error}")
        count = str(2 * len(datagrams))
        process = subprocess.Popen([*command, "-c", count, "-a", "duration:30"], stderr=subprocess.PIPE, text=True)
        try:
            # dumpcap does not say when it listens: send until it has its packets.
            while process.poll() is None:
                for datagram in datagrams:
                    out.sendto(datagram, ("127.0.0.1", wireshark.PORT))
                time.sleep(0.1)
            _, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    if process.returncode != 0:
        pytest.skip(f"dumpcap cannot capture here: {err}")


@pytest.mark.long
def test_a_real_datagram_with_payload_is_compared_the_same_way(capture: Callable[..., Path], tmp_path: Path) -> None:
    simulated = wireshark.read_pcapng(capture("--capture-links", "s0->h2,h2->s0"))
    chosen = [next(p for p in simulated if p.fields["kind"] == kind) for kind in (0, 1)]
    path = tmp_path / "real.pcapng"
    _seen_on_loopback([p.data[-60:] + _payload(p) for p in chosen], path)
    assert wireshark.compare(path) == {"data": 2, "grant": 2}


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.long
def test_stamps_of_ports_are_shown_as_far_as_they_are_filled(
    capture: Callable[..., Path], tmp_path: Path, *, sealed: bool
) -> None:
    simulated = wireshark.read_pcapng(capture("--capture-links", "s0->h2"))
    data = next(p for p in simulated if p.fields["kind"] == 0)

    def datagram(crossed: int) -> bytes:
        header = bytearray(data.data[-60:])
        header[5] = wireshark.STAMPED[sealed]
        stamps = crossed.to_bytes(2, "big") + bytes(range(1, 121))
        check, tag = (bytes(range(8)), bytes(range(16))) if sealed else (b"", b"")
        return bytes(header) + bytes(range(24)) + stamps + check + _payload(data) + tag

    path = tmp_path / "stamped.pcapng"
    _seen_on_loopback([datagram(crossed) for crossed in (0, 1, 5, 9)], path)
    assert wireshark.compare(path, per_kind=8) == {"data": 8}
    shown = [wireshark.matching(path, f"headway.stamps.crossed == {crossed}") for crossed in (0, 1, 5, 9)]
    assert [len(numbers) for numbers in shown] == [2, 2, 2, 2]
    _, one, five, nine = map(set, shown)
    # As many stamps as there is room for; the first port wrote 01 02 ... first.
    assert set(wireshark.matching(path, "headway.stamp.at == 0x0102030405060708")) == one | five | nine
    assert set(wireshark.matching(path, "headway.stamp.rate == 0x75767778")) == five | nine


@pytest.mark.long
def test_the_share_of_a_handshake_is_shown_where_hosts_have_a_key(tmp_path: Path) -> None:
    def said(kind: int, session: int) -> bytes:
        share = bytes(range(100, 132)) if session == wireshark.SEALED_SESSION and kind in (2, 3) else b""
        front = bytes([wireshark.FIRST_HANDSHAKE + kind, 1, session, 2]) + (1500).to_bytes(2, "big")
        return front + b"amrt".ljust(26, b"\0") + bytes(range(48)) + share

    path = tmp_path / "handshakes.pcapng"
    _seen_on_loopback([said(kind, session) for session in (2, 3) for kind in (0, 2, 3)], path)
    assert wireshark.compare(path, per_kind=8) == {"hello": 4, "confirm": 4, "accept": 4}
    assert len(wireshark.matching(path, "headway.handshake.share")) == 4
    assert len(wireshark.matching(path, "headway.handshake.session == 2 and not headway.short")) == 6
