"""A case in ns-2: its one-way TCP with selective acknowledgements, over links that drop at the tail."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from dataclasses import dataclass

from support import CONTROL, FRAMING, Case, Missing

PROGRAM = os.environ.get("HEADWAY_NS2", "ns")
PAYLOAD = 1460
# Bytes that its TCP adds to a packet's size.
ADDED = 40


@dataclass(frozen=True)
class Outcome:
    """Results of ns-2."""

    goodput_bps: float  # of all flows together, after `skip`
    queue_packets: float  # mean of what waits at the watched port
    sent: tuple[tuple[int, int], ...]  # packets of each flow, and acknowledgements it got
    acknowledged: tuple[int, ...]  # packets of each flow
    cpu_s: float  # without set-up, which is Tcl

    def hops(self, case: Case) -> int:
        """Packets on links; dropped ones are counted to the end of their way."""
        return sum(sum(pair) * case.links(flow) for pair, flow in zip(self.sent, case.flows, strict=True))


def script(case: Case) -> str:
    """The case as a script of ns-2."""
    total, leaves = case.racks * case.hosts, case.racks
    nodes = total + leaves + case.spines
    leaf_of = [total + host // case.hosts for host in range(total)]
    lines = [
        "remove-all-packet-headers",
        "add-packet-header IP TCP Flags",
        "set ns [new Simulator]",
        "$ns rtproto Manual",
        f"Agent/TCP set packetSize_ {PAYLOAD + FRAMING}",
        f"Agent/TCPSink set packetSize_ {CONTROL}",
        "Agent/TCP set window_ 1000000",
        "Agent/TCP set windowInit_ 2",
        "Agent/TCP set minrto_ 0.01",
        "Agent/TCP set rtxcur_init_ 0.01",
        "Agent/TCP set tcpTick_ 0.000001",
        "Queue set limit_ 1000000",
        f"for {{set i 0}} {{$i < {nodes}}} {{incr i}} {{set n($i) [$ns node]}}",
        f"proc join {{a b bps up down}} {{global ns n; $ns simplex-link $n($a) $n($b) $bps {case.delay_ns}ns DropTail; "
        f"$ns simplex-link $n($b) $n($a) $bps {case.delay_ns}ns DropTail; "
        "$ns queue-limit $n($a) $n($b) $up; $ns queue-limit $n($b) $n($a) $down}",
        "proc route {at to next} {global ns n; $n($at) add-route [$n($to) id] [[$ns link $n($at) $n($next)] head]}",
    ]
    lines += [f"join {h} {leaf_of[h]} {case.rate_of(h)} 1000000 {case.buffer}" for h in range(total)]
    for leaf in range(total, total + leaves):
        for spine in range(total + leaves, nodes):
            lines.append(f"join {leaf} {spine} {case.spine_bps} {case.buffer} {case.buffer}")
    lines += [f"route {at} {to} {following}" for at, to, following in case.routes()]
    for i, flow in enumerate(case.flows):
        packets = -(-flow.size // PAYLOAD)
        lines += [
            f"set t({i}) [new Agent/TCP/Sack1]; set k({i}) [new Agent/TCPSink/Sack1]",
            f"$ns attach-agent $n({flow.source}) $t({i}); $ns attach-agent $n({flow.destination}) $k({i})",
            f"$ns connect $t({i}) $k({i})",
            f"$ns at {flow.start_ns / 1e9:.9f} {{$t({i}) advance {min(packets, 1 << 30)}}}",
        ]
    count, watch = len(case.flows), case.watch
    lines += [
        f"set m [$ns monitor-queue $n({leaf_of[watch]}) $n({watch}) stdout 1000]; set w [$m get-pkts-integrator]",
        f"proc note {{}} {{global t at; for {{set i 0}} {{$i < {count}}} {{incr i}} {{set at($i) [$t($i) set ack_]}}}}",
        f"$ns at {case.skip_ns / 1e9:.9f} note",
        "proc finish {} {global ns t at w; $w newpoint [$ns now] [$w set lasty_]; "
        'puts "queue [expr [$w set sum_] / [$ns now]]"; '
        f"for {{set i 0}} {{$i < {count}}} {{incr i}} {{puts "
        '"flow [$t($i) set ack_] $at($i) [$t($i) set ndatapack_] [$t($i) set nackpack_]"}; exit 0}',
        f"$ns at {case.stop_ns / 1e9:.9f} finish",
        "$ns run",
    ]
    return "\n".join(lines) + "\n"


def run(case: Case) -> Outcome:
    """Run the case in ns-2; raises `Missing` if it is not installed."""
    if shutil.which(PROGRAM) is None:
        raise Missing(f"the program {PROGRAM} is not installed (package ns2)")
    text = script(case)
    output, cpu_s = _timed(text)
    cpu_s -= _timed(text.replace("$ns run", "exit 0"))[1]
    rows = [line.split() for line in output.splitlines()]
    flows = [[int(cell) for cell in row[1:]] for row in rows if row[0] == "flow"]
    queue = next(float(row[1]) for row in rows if row[0] == "queue")
    counted = sum(ack - max(then, 0) for ack, then, _, _ in flows)
    goodput = 8e9 * PAYLOAD * counted / (case.stop_ns - case.skip_ns)
    sent = tuple((data, acks) for _, _, data, acks in flows)
    return Outcome(goodput, queue, sent, tuple(ack + 1 for ack, _, _, _ in flows), cpu_s)


def _timed(text: str) -> tuple[str, float]:
    """Output of a script, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([PROGRAM, "-"], input=text, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
