"""`headway testbed run`: its results, its refusals, and that no process stays behind after any end."""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import headway as package
import testbeds
import wireshark
from headway.cli.testbed import _show as show
from support import LIMIT, TWO_FLOWS, Answer

Headway = Callable[..., Answer]

INCAST = str(Path(__file__).resolve().parents[1] / "golden/behaviour/incast.toml")
INTERFACES = {name for _, name in socket.if_nameindex()}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of one run on real packets; `answer.json` holds the command's output."""
    testbeds.need_testbed()
    folder = tmp_path_factory.mktemp("testbed")
    scenario = folder / "two-flows.toml"
    scenario.write_text(TWO_FLOWS.format(stop="200 ms", size="100 kB"), encoding="utf-8")
    command = [sys.executable, "-m", "headway", "testbed", "run", str(scenario)]
    command += ["--out", str(folder / "out"), "--csv", "--json", "--capture", str(folder / "real.pcapng")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    (folder / "answer.json").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A scenario that lasts minutes on real packets."""
    path = tmp_path / "endless.toml"
    text = TWO_FLOWS.format(stop="3 s", size="60 MB").replace('"20 us"', '"10 ms"')
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_leaves_the_results_and_the_simulators_beside_them(measured: Path) -> None:
    answer = json.loads((measured / "answer.json").read_text(encoding="utf-8"))
    real, simulated = (package.read(measured / "out" / place) for place in ("", "simulator"))
    assert real.summary == answer["summary"]
    assert simulated.summary == answer["simulator"]
    assert real.manifest["digest"] == simulated.manifest["digest"]
    assert answer["testbed"]["slowdown"] == 100
    assert answer["testbed"]["corrupted_flows"] == []
    assert real.manifest["testbed"]["switch_io"] == answer["testbed"]["switch_io"]
    assert answer["testbed"]["switch_io"]["kind"] in ("af-packet", "af-xdp")
    assert answer["testbed"]["switch_io"]["reason"]
    for run in (real, simulated):
        flows, series = run.flows.to_polars(), run.series.to_polars()
        assert flows["state"].to_list() == ["done", "done"]
        assert flows["delivered_bytes"].to_list() == [100_000, 100_000]
        assert (flows["slowdown"] >= 1).all()
        assert {"throughput_bps", "queue_bytes"} <= set(series["metric"])
        links = run.links.to_polars()
        assert set(links["rate_bps"]) == {10_000_000_000}
    assert polars.read_csv(measured / "out" / "flows.csv").height == 2
    assert real.links.to_polars()["name"].to_list() == simulated.links.to_polars()["name"].to_list()


def test_manifests_say_under_which_conditions_real_packets_ran(measured: Path) -> None:
    for place in ("", "simulator"):
        manifest = package.read(measured / "out" / place).manifest
        about, sizes = manifest["testbed"], manifest["packet_sizes"]
        conditions = {"slowdown": 100, "sealed": False, "ideal_round_trips": False, "mtu": 1500}
        assert {key: about[key] for key in conditions} == conditions
        assert about["fastest_link"] == "100 Mbps"
        # The packets that ran, which fill the interface, and not those that the scenario asks for.
        assert {key: sizes[key] for key in about["packet_sizes"]} == about["packet_sizes"]
        assert sizes["payload"] + sizes["header"] == 1500
        assert sizes["full_wire"] == 1500 + sizes["framing"]
        assert sizes["payload"] != manifest["scenario"]["fabric"]["payload"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--slowdown", "50"], "slowdown 100 instead of 50, fastest_link 100 Mbps instead of 200 Mbps"),
        (["--sealed"], "sealed false instead of true"),
        (["--ideal-round-trips"], "ideal_round_trips false instead of true"),
    ],
)
def test_a_run_under_other_conditions_does_not_take_the_place_of_one(
    headway: Headway, measured: Path, options: list[str], said: str
) -> None:
    out = measured / "out"
    before = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    answer = headway("testbed", "run", measured / "two-flows.toml", "--out", out, *options)
    assert answer.status == 2
    assert f"with {said}; choose another directory" in answer.err
    assert {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()} == before


def test_the_report_shows_testbed_and_simulator(measured: Path) -> None:
    page = (measured / "out" / "report.html").read_text(encoding="utf-8")
    for wanted in ("amrt, testbed", "amrt, simulator", "Measured on real packets"):
        assert wanted in page


@pytest.mark.long
def test_the_kernels_tcp_runs_beside_a_transport_and_its_timers_are_spoken_of(tmp_path: Path) -> None:
    testbeds.need_testbed()
    command = [sys.executable, "-m", "headway", "testbed", "run", "examples/kernel-beside", "--slowdown", "2"]
    command += ["--io", "af-packet"]
    command += ["--set", "traffic.0.flows.0.bytes='1 MB'", "--set", "traffic.1.flows.0.bytes='1 MB'"]
    command += ["--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert "2 times slower than written" in done.stdout
    assert "late by at most" in done.stdout
    assert "note: The kernel's timers are not slowed down" in done.stderr
    assert "frames by af-packet: it was asked for" in done.stderr
    for place in ("", "simulator"):
        run = package.read(tmp_path / "out" / place)
        assert run.transports == ("amrt", "kernel-cubic")
        assert run.flows.to_polars()["state"].to_list() == ["done"] * 3
        assert run.flows.to_polars()["delivered_bytes"].to_list() == [1_000_000, 1_000_000, 200_000]
        assert run.summary["by_transport"]["kernel-cubic"]["round_trips"]["samples"] > 0
    assert package.read(tmp_path / "out").manifest["testbed"]["corrupted_flows"] == []


def test_only_what_was_dropped_is_called_dropped(measured: Path) -> None:
    answer = json.loads((measured / "answer.json").read_text(encoding="utf-8"))
    for place in answer["testbed"]["dropped_outside_ports"]:
        assert not any(word in place for word in ("sent", "received", "accepted", "bytes"))


@pytest.mark.long
def test_tshark_shows_the_same_fields_of_simulated_and_of_real_packets(measured: Path, headway: Headway) -> None:
    simulated = measured / "simulated.pcapng"
    answer = headway("run", measured / "two-flows.toml", "--capture", simulated)
    assert answer.status == 0, answer.err
    shown = {}
    # Hosts are numbers in a simulation, and IPv4 addresses on real hosts.
    for path, first in ((simulated, 0), (measured / "real.pcapng", int(ipaddress.IPv4Address("10.0.0.1")))):
        counts = wireshark.compare(path, per_kind=1)
        assert counts["data"] >= 2 * 69
        packets = [p for p in wireshark.read_pcapng(path) if p.is_headway]
        assert {p.interface.name for p in packets} == {f"h{h}->s0" for h in range(3)} | {f"s0->h{h}" for h in range(3)}
        # The first message between two real hosts is a byte, so that they have met when the scenario begins.
        flows = [p for p in packets if p.name == "data" and p.fields["message_bytes"] > 1]
        assert {(p.fields["src"] - first, p.fields["dst"] - first, p.fields["message_bytes"]) for p in flows} == {
            (0, 2, 100_000),
            (1, 2, 100_000),
        }
        kinds = {p.name: p.number for p in reversed(packets) if p.name in ("data", "grant")}
        fields = wireshark.dissect(path, list(kinds.values()))
        shown[path.name] = {kind: {f for f in fields[number] if f[:8] == "headway."} for kind, number in kinds.items()}
    session = {f"headway.session.{name}" for name, _ in wireshark.SESSION}
    for kind in ("data", "grant"):
        real = shown["real.pcapng"][kind] - {"headway.data", "headway.cut"}
        assert real - session == shown["simulated.pcapng"][kind] - {"headway.cut"}
        assert session <= real


@pytest.mark.long
def test_a_real_capture_holds_the_handshake(measured: Path) -> None:
    path = measured / "real.pcapng"
    assert wireshark.matching(path, 'headway.handshake == "hello"')
    assert wireshark.matching(path, "headway.session.counter and headway.envelope == 1")
    texts = set(wireshark.info(path).values())
    assert {"hello", "welcome", "confirm", "accept"} <= texts
    assert any(text.startswith("data 10.0.0.1->10.0.0.3 msg 1 idx 3/") for text in texts)


ENDS = [
    ("python", signal.SIGINT, 130, ""),
    ("python", signal.SIGTERM, 130, ""),
    ("python", signal.SIGKILL, -9, ""),
    ("headway-testbed", signal.SIGKILL, 1, "headway-testbed was killed by SIGKILL"),
    ("headway-testbed", signal.SIGTERM, 130, ""),
    ("headway-switch", signal.SIGKILL, 2, "the testbed's switch failed: it ended with signal: 9 (SIGKILL)"),
    ("headway-agent", signal.SIGKILL, 2, " failed: it ended with signal: 9 (SIGKILL)"),
]


# Interruptions by users, and a program that fails.
OFTEN = (("python", signal.SIGINT), ("headway-switch", signal.SIGKILL))


@pytest.mark.parametrize(
    ("who", "number", "status", "message"),
    [pytest.param(*end, marks=() if end[:2] in OFTEN else pytest.mark.long) for end in ENDS],
)
def test_nothing_stays_behind(
    endless: Path, tmp_path: Path, who: str, number: signal.Signals, status: int, message: str
) -> None:
    testbeds.need_testbed()
    out = tmp_path / "out"
    with testbeds.underway(endless, tmp_path / "out.pcapng", "--out", str(out)) as run:
        victim = run.process.pid if who == "python" else run.member(who).pid
        os.kill(victim, number)
        if number == signal.SIGKILL and who == "python":
            run.process.wait(timeout=LIMIT)
        else:
            _, err = run.process.communicate(timeout=LIMIT)
            assert message in err
            assert "Traceback" not in err
            assert "panicked" not in err
        assert run.process.returncode == status
        run.check_nothing_is_left()
    new = {name for _, name in socket.if_nameindex()} - INTERFACES
    assert not {name for name in new if name.startswith(("host", "probe"))}
    if status == 130:
        assert package.read(out).manifest["interrupted"] is True
        assert not (out / "simulator").exists()
        assert "interrupted" in (out / "report.html").read_text(encoding="utf-8")
        assert len(wireshark.read_pcapng(tmp_path / "out.pcapng")) > 100


MISTAKES = [
    (["amrt/fig11-testbed-dinamic"], "amrt/fig11-testbed-dynamic"),
    (["FILE", "--set", "topology.rat=3"], "did you mean `rate`"),
    (["FILE", "--slowdown", "0"], "0 is not in the range"),
    (["FILE", "--slowdown", "-3"], "-3 is not in the range"),
    (["FILE", "--slowdown", "nan"], "'nan' is not a valid integer"),
    (["FILE", "--variant", "amrd"], "did you mean amrt"),
    ([INCAST, "--variant", "amrt"], "the scenario has no variants, and so no 'amrt'"),
    (["FILE", "--csv"], "--csv needs --out DIR"),
    (["FILE", "--out", "FILE"], "results cannot be written here"),
    (["FILE", "--out", "/proc/no"], "results cannot be written here"),
    (["FILE", "--set", "topology.hosts=100"], "100 hosts are more than the 64"),
    (["FILE", "--set", 'traffic.0={kind="allreduce", bytes="1 MB"}'], "begin by the clock"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_end_with_status_2(headway: Headway, scenario_file: Path, arguments: list[str], message: str) -> None:
    testbeds.need_programs()
    answer = headway("testbed", "run", *[str(scenario_file) if a == "FILE" else a for a in arguments])
    assert answer.status == 2
    assert message in answer.err
    assert "Traceback" not in answer.err


SWITCH_MISTAKES = [
    (["amrt/fig11-testbed-dinamic", "--port=h0=lo"], "amrt/fig11-testbed-dynamic"),
    (["amrt/fig11-testbed-dynamic"], "Missing option '--port'"),
    (["FILE", "--port=h0=lo", "--variant=amrd"], "did you mean amrt"),
    # Refusals of the program itself are seen by a caller of the command.
    (["amrt/fig11-testbed-dynamic", "--port=h99=lo"], "headway-switch: --port h99=lo: the topology has only the hosts"),
    (["FILE", "--port=h0=nothere0"], "there is no interface `nothere0`"),
]


@pytest.mark.parametrize(("arguments", "message"), SWITCH_MISTAKES)
def test_a_switch_on_its_own_takes_names(scenario_file: Path, arguments: list[str], message: str) -> None:
    testbeds.need_programs()
    words = [str(scenario_file) if a == "FILE" else a for a in arguments]
    command = [sys.executable, "-m", "headway", "testbed", "switch", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("place", ["no/such/directory/x.pcapng", "/dev/full"])
def test_a_capture_that_cannot_be_written_ends_the_run(headway: Headway, scenario_file: Path, place: str) -> None:
    testbeds.need_testbed()
    answer = headway("testbed", "run", scenario_file, "--capture", place)
    assert answer.status == 2
    assert f"cannot write the capture {place}" in answer.err


def test_a_missing_program_is_named(
    headway: Headway, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    answer = headway("testbed", "run", scenario_file)
    assert answer.status == 2
    assert f"{tmp_path / 'headway-testbed'} is not there: `make install` builds it" in answer.err


UNPRIVILEGED = [
    (["headway-testbed", "FILE"], "the testbed needs root"),
    (["headway-switch", "FILE", "--port=h0=lo"], "opening interface `lo` needs the privilege CAP_NET_RAW"),
    (["headway-switch", "FILE", "--port=h0=nothere0"], "there is no interface `nothere0`; there are: "),
    (["headway-switch", "FILE", "--port=h9=lo"], "the topology has only the hosts h0 to h2"),
    (["headway-switch", "amrt/fig11", "--port=h0=lo"], "`headway testbed switch` takes the names of scenarios"),
]


@pytest.mark.parametrize(("command", "message"), UNPRIVILEGED)
def test_without_a_privilege_or_an_interface_the_programs_say_so(
    scenario_file: Path, command: list[str], message: str
) -> None:
    testbeds.need_programs()
    name, *rest = command
    identity: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        # Not in pytest's folder, which is its user's alone.
        with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
            file.write(scenario_file.read_text(encoding="utf-8"))
            file.flush()
            Path(file.name).chmod(0o644)
            done = subprocess.run(
                [testbeds.PROGRAMS / name, *[file.name if a == "FILE" else a for a in rest]],
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT,
                cwd="/",
                **identity,
            )
    except PermissionError as error:
        pytest.skip(f"an ordinary user may not run {name}: {error}")
    assert done.returncode == 2
    assert message in done.stderr


def test_each_of_several_transports_has_a_line_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def summary(done: int, late: float) -> dict[str, Any]:
        numbers = {"flows_done": done, "flows_unfinished": 0, "fct_mean_s": late, "fct_p99_s": 2 * late}
        return {**numbers, "drops": None}

    def mixed(late: float) -> dict[str, Any]:
        parts = {"amrt": summary(2, late / 2), "homa": summary(3, late * 2)}
        return {**summary(5, late), "bottleneck_utilisation": 0.5, "drops": 7, "by_transport": parts}

    about: dict[str, Any] = {"wall_s": 1.0, "slowdown": 100, "frames": 9, "switch_late_ns": {"p99": 1000}}
    about |= {"kernel_notes": [], "dropped_outside_ports": {}, "corrupted_flows": [], "capture": None}
    about |= {"switch_io": {"kind": "af-packet", "reason": "it was asked for"}}
    last: dict[str, Any] = {"testbed": about, "summary": mixed(0.004), "simulator": mixed(0.002)}
    show("mixed", last, None, None, whole=True)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    whole, amrt, homa = (["5/5"], "50.0%", "7"), (["2/2"], "-", "-"), (["3/3"], "-", "-")
    shown = [(row[0], (row[1:2], *row[-2:])) for row in rows]
    each = [("amrt", amrt), ("homa", homa)]
    assert shown == [("testbed", whole), *each, ("simulator", whole), *each]
    last = {"testbed": about, "summary": summary(5, 0.004), "simulator": None}
    show("alone", last, None, None, whole=True)
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 3
    assert "warning" not in said.err


def test_flows_that_do_not_finish_are_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"flows_done": 5, "flows_unfinished": 2, "flows_failed": 1, "fct_mean_s": 0.1, "fct_p99_s": 0.1}
    about: dict[str, Any] = {"wall_s": 1.0, "slowdown": 1, "frames": 9, "switch_late_ns": {"p99": 1000}}
    about |= {"kernel_notes": [], "dropped_outside_ports": {}, "corrupted_flows": [], "capture": None}
    about |= {"switch_io": {"kind": "af-packet", "reason": "it was asked for"}}
    show("some", {"testbed": about, "summary": numbers, "simulator": None}, None, None, whole=True)
    warning = "warning: testbed: of 8 flows, 2 did not finish before the run ended and 1 failed; completion times are"
    assert warning in capsys.readouterr().err
