"""A case of a comparison: the same network and flows for Headway, for ns-3 and for the kernel."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from headway.loading import Scenario

NS3 = Path(os.environ.get("HEADWAY_NS3", Path(__file__).with_name("ns3_tcp")))
# Point-to-point framing of ns-3, and its acknowledgements.
FRAMING = 2
CONTROL = 42


class Missing(Exception):
    """A prerequisite of a comparison that this machine lacks."""


@dataclass(frozen=True)
class Flow:
    """A message from host to host."""

    source: int
    destination: int
    size: int
    start_ns: int = 0


@dataclass(frozen=True)
class Case:
    """A two-level network: `racks` of `hosts`, joined by `spines`; one rack and no spine is a single switch.

    Flow i takes the spine of its destination, `destination % spines`, so that both simulators use the same paths.
    """

    control: str
    flows: tuple[Flow, ...]
    stop_ns: int
    skip_ns: int = 0
    racks: int = 1
    hosts: int = 3
    spines: int = 0
    host_bps: int = 1_000_000_000
    spine_bps: int = 1_000_000_000
    narrow: int | None = None  # host whose link has `host_bps`; all others have ten times that
    delay_ns: int = 20_000
    buffer: int = 250
    threshold: int = 20
    params: tuple[tuple[str, object], ...] = ()
    settings: tuple[tuple[str, str], ...] = field(default=())
    turns: bool = True  # whether connections of a host of ns-3 take turns, as they do here; else a FIFO holds all
    watch: int = 0  # the port towards this host

    @property
    def marks(self) -> bool:
        """True if ports mark."""
        return self.control == "dctcp"

    def rate_of(self, host: int) -> int:
        """Rate of a host's link."""
        return self.host_bps if self.narrow in (None, host) else 10 * self.host_bps

    def links(self, flow: Flow) -> int:
        """Links from a flow's source to its destination."""
        return 2 if flow.source // self.hosts == flow.destination // self.hosts else 4

    def routes(self) -> list[tuple[int, int, int]]:
        """At a node, packets to a host go to a node: hosts are numbered first, then leaves, then spines."""
        total, leaves = self.racks * self.hosts, self.racks
        rows = []
        for destination in range(total):
            home = total + destination // self.hosts
            rows += [(host, destination, total + host // self.hosts) for host in range(total) if host != destination]
            rows.append((home, destination, destination))
            if self.spines:
                spine = total + leaves + destination % self.spines
                rows += [(leaf, destination, spine) for leaf in range(total, total + leaves) if leaf != home]
                rows.append((spine, destination, home))
        return rows


@dataclass(frozen=True)
class Outcome:
    """Results that both simulators report."""

    counted: tuple[int, ...]  # bytes of each flow after `skip`
    finish_s: tuple[float | None, ...]
    queue_packets: float
    hops: int
    events: int
    cpu_s: float  # of the whole run, set-up and results included

    def goodput_bps(self, case: Case) -> float:
        """All flows together, after `skip`."""
        return 8e9 * sum(self.counted) / (case.stop_ns - case.skip_ns)

    def completion(self, case: Case) -> list[float]:
        """Completion times in ascending order."""
        pairs = zip(self.finish_s, case.flows, strict=True)
        return sorted(end - flow.start_ns / 1e9 for end, flow in pairs if end is not None)


# --- Headway ---


def scenario_text(case: Case, folder: Path) -> str:
    """The case as a scenario, with its network as a graph and its flows as a table."""
    total = case.racks * case.hosts
    links = [
        f'  {{ a = "h{h}", b = "s{h // case.hosts}", rate = "{case.rate_of(h)} bps", delay = "{case.delay_ns} ns" }},'
        for h in range(total)
    ]
    for rack in range(case.racks):
        for spine in range(case.spines):
            ends = f'a = "s{rack}", b = "s{case.racks + spine}"'
            links.append(f'  {{ {ends}, rate = "{case.spine_bps} bps", delay = "{case.delay_ns} ns" }},')
    graph = [f"hosts = {total}", f"switches = {case.racks + case.spines}", "link = [", *links, "]"]
    (folder / "graph.toml").write_text("\n".join(graph) + "\n", encoding="utf-8")
    if case.spines:
        topology = (
            f'kind = "leaf-spine"\nracks = {case.racks}\nhosts_per_rack = {case.hosts}\nspines = {case.spines}\n'
            f'host_rate = "{case.host_bps} bps"\nspine_rate = "{case.spine_bps} bps"\n'
            f'host_delay = "{case.delay_ns} ns"\nspine_delay = "{case.delay_ns} ns"\n'
        )
    else:
        topology = f'kind = "graph"\nfile = "{folder / "graph.toml"}"\n'
    rows = []
    for i, flow in enumerate(case.flows):
        crosses = flow.source // case.hosts != flow.destination // case.hosts
        path = f", path = {flow.destination % case.spines}" if case.spines and crosses else ""
        rows.append(
            f'  {{ name = "f{i}", src = {flow.source}, dst = {flow.destination}, bytes = {flow.size}, '
            f'start = "{flow.start_ns} ns"{path} }},'
        )
    routing = "pinned" if case.spines else "ecmp"
    discipline = f'"ecn-threshold"\nthreshold = {case.threshold}' if case.marks else '"drop-tail"'
    params = "".join(f"{key} = {_toml(value)}\n" for key, value in case.params)
    sample = f'[sample]\nevery = "{case.skip_ns} ns"\nflows = "all"\n' if case.skip_ns else ""
    return (
        f'title = "comparison"\nstop = "{case.stop_ns} ns"\n[topology]\n{topology}\n[fabric]\nrouting = "{routing}"\n'
        f'discipline = {discipline}\nbuffer = "{case.buffer} packets"\ncontrol_buffer = "100000 packets"\n'
        f"payload = 1460\nheader = 40\nframing = {FRAMING}\ncontrol = {CONTROL}\n[transport]\n"
        f'name = "{case.control}"\n{params}\n[[traffic]]\nkind = "flows"\nflows = [\n' + "\n".join(rows) + "\n]\n"
        f"{sample}"
    )


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def port_to(case: Case, host: int) -> str:
    """Name of the link from a host's switch to it."""
    leaf = f"leaf{host // case.hosts}" if case.spines else f"s{host // case.hosts}"
    return f"{leaf}->h{host}"


def run_headway(case: Case, folder: Path) -> Outcome:
    """Run the case in Headway's simulator."""
    text, begin = scenario_text(case, folder), time.process_time()
    result = Scenario.from_text(text, "comparison").run()
    cpu_s = time.process_time() - begin
    flows, links = result.flows.to_polars(), result.links.to_polars()
    if case.skip_ns:
        series = result.series.to_polars().filter(pl.col("metric") == "throughput_bps")
        kept = series.filter(pl.col("t_s") > case.skip_ns / 1e9 * 1.5)
        sums = dict(kept.group_by("entity").agg(pl.col("value").sum()).iter_rows())
        counted = tuple(round(sums.get(name, 0.0) * case.skip_ns / 8e9) for name in flows["name"].to_list())
    else:
        counted = tuple(flows["delivered_bytes"].to_list())
    manifest = result.manifest
    queue = links.filter(pl.col("name") == port_to(case, case.watch))["queue_mean_bytes"][0] / (1500 + FRAMING)
    # A run ends with its last flow, and ns-3's at a given time.
    queue *= float(manifest["virtual_s"]) / (case.stop_ns / 1e9)
    return Outcome(
        counted,
        tuple(flows["finish_s"].to_list()),
        float(queue),
        int(manifest["packet_hops"]),
        int(manifest["events"]),
        cpu_s,
    )


# --- ns-3 ---

NS3_NAMES = {"tcp": "TcpLinuxReno", "cubic": "TcpCubic", "dctcp": "TcpDctcp", "vegas": "TcpVegas", "bbr": "TcpBbr"}
NS3_DEFAULTS = (
    ("ns3::TcpSocket::DelAckCount", "1"),
    ("ns3::TcpSocketBase::MinRto", "10ms"),
    ("ns3::TcpSocket::ConnTimeout", "10ms"),
    ("ns3::TcpSocket::InitialCwnd", "2"),
    ("ns3::TcpSocketBase::ClockGranularity", "1us"),
    ("ns3::RttEstimator::InitialEstimation", "1ms"),
)
# The first window of BBR here, which is paced.
NS3_BBR = (("ns3::TcpSocket::InitialCwnd", "4"), ("ns3::TcpSocketState::PaceInitialWindow", "true"))
# ns-3 brings windows down in proportion to delivered bytes, for marks as for losses, and by the rules of Linux 4.19.
HEADWAY_DEFAULTS = (
    ("handshake", True), ("prime_rtt", False), ("initial_window", 2), ("initial_rto", "10 ms"),
    ("reduction", "prr-linux-4.19"),
)  # fmt: skip


def ns3_text(case: Case) -> str:
    """The case as the program's input."""
    total, leaves = case.racks * case.hosts, case.racks
    lines = [f"tcp ns3::{NS3_NAMES[case.control]}"]
    ecn = (("ns3::TcpSocketBase::UseEcn", "On"),) if case.marks else ()
    bbr = NS3_BBR if case.control == "bbr" else ()
    lines += [f"set {key} {value}" for key, value in (*NS3_DEFAULTS, *ecn, *bbr, *case.settings)]
    lines.append(f"nodes {total + leaves + case.spines} {total}")
    lines.append(f"port {case.buffer} {case.threshold if case.marks else 0}")
    lines += ["turns"] if case.turns else []
    leaf_of = [total + host // case.hosts for host in range(total)]
    lines += [f"link {h} {leaf_of[h]} {case.rate_of(h)} {case.delay_ns}" for h in range(total)]
    for leaf in range(leaves):
        for spine in range(case.spines):
            lines.append(f"link {total + leaf} {total + leaves + spine} {case.spine_bps} {case.delay_ns}")
    lines += [f"route {at} {to} {following}" for at, to, following in case.routes()]
    lines += [f"flow {f.source} {f.destination} {f.size} {f.start_ns}" for f in case.flows]
    lines += [f"watch {leaf_of[case.watch]} {case.watch}", f"time {case.skip_ns} {case.stop_ns}"]
    return "\n".join(lines) + "\n"


def run_ns3(case: Case) -> Outcome:
    """Run the case in ns-3; raises `Missing` if the program is not built."""
    if not NS3.is_file():
        raise Missing(f"{NS3} is not built; tests/cross/README.md says how")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(NS3)], input=ns3_text(case), capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    rows = [line.split() for line in done.stdout.splitlines()]
    flows = [row[1:] for row in rows if row[0] == "flow"]
    queue = next(float(row[1]) for row in rows if row[0] == "queue")
    sent, events, _ = next(row[1:] for row in rows if row[0] == "work")
    finish = tuple(None if int(end) < 0 else int(end) / 1e9 for _, end in flows)
    return Outcome(tuple(int(count) for count, _ in flows), finish, queue, int(sent), int(events), cpu_s)


def headway_case(case: Case) -> Case:
    """The case with ns-3's behaviour where Headway leaves it to parameters."""
    return replace(case, params=(*HEADWAY_DEFAULTS, *case.params))
