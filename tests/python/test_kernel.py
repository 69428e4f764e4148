"""`headway kernel`: real TCP connections through a bottleneck that marks, and the state after the loader has ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import kernel_peer
import lacking
import testbeds
from support import LIMIT

PROGRAM = testbeds.PROGRAMS / "headway-kernel"
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
SUFFIX = f"_{os.getpid() % 10**8}"
"""Names are the kernel's, in all namespaces: other tests may run at the same time."""
COMMAND = [sys.executable, "-m", "headway", "kernel"]


def need_kernel() -> None:
    """Skip the test where this machine cannot load a congestion control; the reason is the program's own."""
    if not PROGRAM.is_file():
        lacking.lack("headway-kernel", "`make install` builds it, on Linux")
    probe = subprocess.run([PROGRAM, "probe"], capture_output=True, text=True, check=False, timeout=LIMIT)
    if probe.returncode != 0:
        pytest.skip(probe.stderr.strip().removeprefix("error: "))


def registered(name: str) -> bool:
    return name in AVAILABLE.read_text(encoding="utf-8").split()


def said(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Output of a command that ends by itself."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT)


def ended(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(timeout=LIMIT)


@contextmanager
def holding(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A command that has said its first line, for as long as the block lasts."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            line = process.stdout.readline()
            assert "Ctrl-C" in line or line == "ready\n", process.stderr.read()
            yield process
        finally:
            ended(process)


@contextmanager
def loaded(control: str, *arguments: str, suffix: str = SUFFIX) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A congestion control under a name of this process."""
    need_kernel()
    with holding([*COMMAND, "load", control, f"--suffix={suffix}", *arguments]) as process:
        yield control + suffix, process
    testbeds.until(lambda: not registered(control + suffix), f"{control + suffix} is unloaded")


@dataclass(frozen=True)
class Path3:
    """Sender, router and receiver: the processes whose network namespaces they are."""

    sender: int
    router: int
    receiver: int

    @staticmethod
    def within(pid: int, *command: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{pid}/ns/net", *command]

    def run(self, pid: int, *lines: str) -> None:
        for line in lines:
            command = self.within(pid, *line.split())
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
            assert done.returncode == 0, f"{line}: {done.stderr}"

    def build(self) -> None:
        """100 Mb/s from router to receiver, with a queue of 100 packets that marks from 8 on."""
        for host, net in ((self.sender, 1), (self.receiver, 2)):
            self.run(self.router, f"ip link add h{net} type veth peer name eth0 netns {host}")
            self.run(self.router, f"ip address add 10.77.{net}.254/24 dev h{net}", f"ip link set h{net} up")
            self.run(host, f"ip address add 10.77.{net}.1/24 dev eth0", "ip link set eth0 up")
            self.run(host, f"ip route add default via 10.77.{net}.254")
            # One packet in the queue is one packet on the wire.
            self.run(host, "ip link set eth0 gso_max_segs 1 gso_max_size 1514")
        self.run(self.router, "sysctl -qw net.ipv4.ip_forward=1")
        self.run(self.router, "tc qdisc add dev h2 root tbf rate 100mbit burst 3028 limit 151400")


@pytest.fixture(scope="module")
def path() -> Iterator[Path3]:
    """A bottleneck that marks."""
    need_kernel()
    for tool in ("ip", "tc", "unshare", "nsenter", "sysctl"):
        lacking.program(tool)
    with ExitStack() as stack:
        spaces = []
        for _ in range(3):
            command = ["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep 600"]
            spaces.append(stack.enter_context(holding(command)).pid)
        made = Path3(*spaces)
        made.build()
        mark = [sys.executable, "-m", "headway", "kernel", "mark", "h2", "--threshold=8"]
        stack.enter_context(holding(made.within(made.router, *mark)))
        yield made


def carry(path: Path3, control: str, count: int, port: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """One connection through the bottleneck: the reports of the sender and the receiver."""
    peer = [sys.executable, kernel_peer.__file__]
    end = ["10.77.2.1", str(port), control]
    with holding(path.within(path.receiver, *peer, "receive", *end)) as receiver:
        sending = path.within(path.sender, *peer, "send", *end, str(count))
        sender = subprocess.run(sending, capture_output=True, text=True, check=False, timeout=LIMIT)
        assert sender.returncode == 0, sender.stderr
        out, error = receiver.communicate(timeout=LIMIT)
        assert receiver.returncode == 0, error
    return json.loads(sender.stdout), json.loads(out)


@pytest.mark.parametrize(
    ("control", "sets", "port"),
    [("dctcp", (), 7001), ("l2dct", (), 7002), ("d2tcp", ("--set=deadline=500 ms", "--set=bytes=8 MB"), 7003)],
)
@pytest.mark.long
def test_marks_reduce_the_window_of_a_real_connection(
    path: Path3, control: str, sets: tuple[str, ...], port: int
) -> None:
    count = 8_000_000
    with loaded(control, *sets) as (name, _):
        sent, got = carry(path, name, count, port)
    assert (got["bytes"], got["digest"]) == (count, sent["digest"])
    # Without ECN both would have become Reno.
    assert (sent["control"], got["control"]) == (name, name)
    assert (sent["ecn"], got["ecn"]) == (1, 1)
    assert 0 < sent["marked"] < sent["delivered"]
    assert sent["cuts"] > 1
    assert 2 <= sent["smallest_cut"] < sent["largest"]
    # A threshold that was not set lasts one acknowledgement at most: see docs/kernel.md.
    assert sent["strange"] <= 5


@pytest.mark.long
def test_vegas_holds_a_short_queue_without_marks(path: Path3) -> None:
    count = 8_000_000
    with loaded("vegas") as (name, _):
        sent, got = carry(path, name, count, 7005)
    assert (got["bytes"], got["digest"]) == (count, sent["digest"])
    assert (sent["control"], got["control"]) == (name, name)
    assert (sent["ecn"], got["ecn"], sent["marked"]) == (0, 0, 0)
    # It leaves slow start, and long before the window fills the queue of 100 packets.
    assert sent["cuts"] > 0
    assert 2 <= sent["largest"] < 100


def nginx(folder: Path) -> list[str]:
    """A web server of the files of a folder, at port 8000."""
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path"
        f" {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;"
        f" server {{ listen 8000; root {folder}; }} }}\n",
        encoding="utf-8",
    )
    folder.chmod(0o755)
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "user root;"]


FILE = ["curl", "--silent", "--fail", "--retry", "9", "--retry-connrefused", "--max-time", "40"]


IPERF3 = ["iperf3", "--json", "-c", "10.77.1.1", "-R", "-n", "20000000"]


def iperf3(_: Path) -> list[str]:
    """A server for one test."""
    return ["iperf3", "--server", "--one-off"]


@pytest.mark.parametrize(
    ("control", "server", "client"),
    [
        ("l2dct", nginx, [*FILE, "http://10.77.1.1:8000/file"]),
        ("l2dct", iperf3, IPERF3),
        ("vegas", iperf3, IPERF3),
    ],
    ids=["nginx and curl", "iperf3", "iperf3 by Vegas"],
)
@pytest.mark.long
def test_an_unmodified_application_runs_through_it(
    path: Path3,
    tmp_path_factory: pytest.TempPathFactory,
    control: str,
    server: Callable[[Path], list[str]],
    client: list[str],
) -> None:
    folder = tmp_path_factory.mktemp("served")
    command: list[str] = server(folder)
    for program in (command[0], client[0]):
        lacking.program(program)
    data = os.urandom(1000) * 20_000
    (folder / "file").write_bytes(data)
    seen = ""
    with loaded(control) as (name, _):
        for host in (path.sender, path.receiver):
            path.run(host, f"sysctl -qw net.ipv4.tcp_congestion_control={name}")
        serving = subprocess.Popen(path.within(path.sender, *command), stdout=subprocess.DEVNULL)
        try:
            # It may take a while until it listens.
            testbeds.until(lambda: "LISTEN" in sockets(path, "-tln"), f"{command[0]} listens")
            with (folder / "got").open("wb") as got:
                asking = subprocess.Popen(path.within(path.receiver, *client), stdout=got)
                try:
                    while asking.poll() is None:
                        seen += sockets(path, "-tin")
                finally:
                    asking.kill()
                    asking.wait(timeout=LIMIT)
        finally:
            serving.terminate()
            serving.wait(timeout=LIMIT)
            for host in (path.sender, path.receiver):
                path.run(host, "sysctl -qw net.ipv4.tcp_congestion_control=reno")
    assert asking.returncode == 0
    found = (folder / "got").read_bytes()
    assert found == data or json.loads(found)["end"]["sum_received"]["bytes"] >= len(data)
    assert name in seen, "connections are under it"
    assert ("delivered_ce:" in seen) == (control != "vegas"), "and are marked, where it asks for that"


def sockets(path: Path3, how: str) -> str:
    """Output of `ss` in the sender's network namespace."""
    return subprocess.run(
        path.within(path.sender, "ss", how), capture_output=True, text=True, check=True, timeout=LIMIT
    ).stdout


@pytest.mark.long
def test_without_ecn_a_connection_becomes_reno(path: Path3) -> None:
    with loaded("l2dct") as (name, _):
        path.run(path.receiver, "sysctl -qw net.ipv4.tcp_ecn=0")
        try:
            peer = [sys.executable, kernel_peer.__file__]
            with holding(path.within(path.receiver, *peer, "receive", "10.77.2.1", "7004", "reno")) as receiver:
                sending = path.within(path.sender, *peer, "send", "10.77.2.1", "7004", name, "100000")
                sender = subprocess.run(sending, capture_output=True, text=True, check=False, timeout=LIMIT)
                receiver.communicate(timeout=LIMIT)
        finally:
            path.run(path.receiver, "sysctl -qw net.ipv4.tcp_ecn=2")
    sent = json.loads(sender.stdout)
    assert (sent["ecn"], sent["control"], sent["marked"]) == (0, "reno", 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.long
def test_it_goes_with_its_loader_however_that_ends(number: signal.Signals) -> None:
    with loaded("dctcp") as (name, process):
        assert registered(name)
        process.send_signal(number)
        status = process.wait(timeout=LIMIT)
        testbeds.until(lambda: not registered(name), f"{name} is unloaded")
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("before", ["", "clsact"])
@pytest.mark.long
def test_an_interface_is_as_it_was_when_marking_ends(number: signal.Signals, before: str) -> None:
    need_kernel()
    lacking.program("tc")
    make = "tc qdisc add dev lo clsact && " if before else ""
    space = ["unshare", "--net", "sh", "-c", f"ip link set lo up && {make}echo ready && exec sleep 600"]
    with holding(space) as host:

        def disciplines() -> str:
            command = Path3.within(host.pid, "tc", "qdisc", "show", "dev", "lo")
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT).stdout

        def filters() -> str:
            command = Path3.within(host.pid, "tc", "filter", "show", "dev", "lo", "egress")
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT).stdout

        with holding(Path3.within(host.pid, *COMMAND, "mark", "lo", "--threshold=8")) as marking:
            assert "clsact" in disciplines()
            assert "bpf" in filters()
            marking.send_signal(number)
            assert marking.wait(timeout=LIMIT) == 0
        assert ("clsact" in disciplines()) == bool(before)
        assert "bpf" not in filters()


@pytest.mark.long
def test_it_is_listed_and_unloaded_by_name() -> None:
    with loaded("d2tcp") as (name, process):
        listed = subprocess.run([*COMMAND, "list", "--json"], capture_output=True, text=True, check=True, timeout=LIMIT)
        entry = next(entry for entry in json.loads(listed.stdout) if entry["name"] == name)
        assert entry == {"name": name, "control": "d2tcp", "processes": [process.pid], "pin": None}
        again = said("load", "d2tcp", f"--suffix={SUFFIX}")
        assert again.returncode == 2
        assert again.stderr.startswith(f"error: a congestion control named {name} is registered already")
        done = subprocess.run([*COMMAND, "unload", name], capture_output=True, text=True, check=True, timeout=LIMIT)
        assert done.stdout == f"{name} is unloaded; connections that use it keep it until they end\n"
        assert process.wait(timeout=LIMIT) == 0
        assert not registered(name)
    gone = said("unload", name)
    assert gone.returncode == 2
    assert gone.stderr.startswith(f"error: no congestion control named {name} is loaded")


@pytest.mark.long
def test_a_pinned_one_stays_until_it_is_unloaded() -> None:
    need_kernel()
    # Another mount namespace: pins, if any were left, would go with it.
    headway = " ".join(COMMAND)
    script = f"""set -e
    mount --make-rprivate / && mount -t bpf bpf /sys/fs/bpf
    {headway} load dctcp --pin --suffix={SUFFIX}p
    {headway} list --json
    {headway} unload dctcp{SUFFIX}p
    {headway} list --json"""
    command = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    said, before, _, after = done.stdout.splitlines()
    name = f"dctcp{SUFFIX}p"
    assert said.startswith(f"{name} is loaded and pinned in /sys/fs/bpf/headway/{name};")
    mine = [entry for entry in json.loads(before) if entry["name"] == name]
    assert mine == [{"name": name, "control": "dctcp", "processes": [], "pin": f"/sys/fs/bpf/headway/{name}"}]
    assert all(entry["name"] != name for entry in json.loads(after))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("load", "l2dct", "--set=yuong=1"), "error: --set yuong: l2dct has no such parameter; did you mean young?\n"),
        (("load", "dctcp", "--suffix=_a_name_too_long"), "error: `dctcp_a_name_too_long` cannot be the name"),
        (("mark", "nowhere0", "--threshold=8"), "error: marking on nowhere0: there is no such interface"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    need_kernel()
    done = said(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


def test_it_needs_root() -> None:
    need_kernel()
    command = ["setpriv", "--reuid=65534", str(PROGRAM), "list"]
    lacking.program(command[0])
    # If users cannot reach the program, it cannot print a hint for them either.
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    if "ermission denied" in done.stderr:
        pytest.skip("the program is in a folder of root's")
    assert done.returncode == 2
    assert done.stderr == "error: congestion controls in the kernel need root: it loads programs into the kernel\n"
