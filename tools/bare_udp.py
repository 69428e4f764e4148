"""Cost of the kernel alone to carry bytes by UDP: the bound of every program that sends and receives so.

    tools/bare_udp.py receive ADDRESS PORT                # in one place
    tools/bare_udp.py send ADDRESS PORT --seconds 2       # in another

The sender gives the kernel rows of equal datagrams (UDP_SEGMENT), the receiver takes rows (UDP_GRO), and nobody looks
at a byte. The receiver says every megabyte that it has it, and the sender never has more than four under way, so that
nothing is lost. `tools/bench_hosts.py` runs it beside the other columns. Python adds microseconds to a row of 64 kB.
"""

import argparse
import json
import resource
import socket
import struct
import time

UDP_SEGMENT, UDP_GRO = 103, 104
IP_UDP = 28
LARGEST, MOST_SEGMENTS = 65_000, 44
STEP, WINDOW = 1_000_000, 4_000_000
DONE = b"done"


def bound_socket(address: str, port: int) -> socket.socket:
    """A socket with the buffers of an endpoint."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        made.setsockopt(socket.SOL_SOCKET, option, 8 << 20)
    made.bind((address, port))
    return made


def cpu() -> float:
    """Processor time of this process, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def receive(address: str, port: int) -> None:
    """Counts the datagrams that arrive until the sender is done, and tells it the number."""
    made = bound_socket(address, port)
    made.setsockopt(socket.SOL_UDP, UDP_GRO, 1)
    print("receiving", flush=True)
    room = bytearray(1 << 16)
    received = told = 0
    begun = None
    while True:
        count, peer = made.recvfrom_into(room)
        if begun is None:
            begun = cpu()
        if count == len(DONE) and room[:count] == DONE:
            made.sendto(struct.pack("!Qd", received, cpu() - begun), peer)
            return
        received += count
        if received - told >= STEP:
            told = received
            made.sendto(struct.pack("!Q", received), peer)


def send(address: str, port: int, seconds: float, mtu: int) -> None:
    """Sends rows for so long, and prints the cost."""
    made = bound_socket("0.0.0.0", 0)
    made.connect((address, port))
    made.settimeout(5.0)
    segment = mtu - IP_UDP
    row = bytes(segment * min(MOST_SEGMENTS, LARGEST // segment))
    control = [(socket.SOL_UDP, UDP_SEGMENT, struct.pack("H", segment))]
    sent = heard = 0
    before, start = cpu(), time.monotonic()
    while time.monotonic() - start < seconds:
        while sent - heard > WINDOW:
            (heard,) = struct.unpack("!Q", made.recv(8))
        sent += made.sendmsg([row], control)
    made.send(DONE)
    while len(answer := made.recv(16)) < 16:
        pass
    took, used = time.monotonic() - start, cpu() - before
    received, server = struct.unpack("!Qd", answer)
    gigabytes = received / 1e9
    report = {
        "goodput_gbps": received * 8e-9 / took,
        "sent": sent,
        "received": received,
        "client": {"cpu": {"s_per_gb": used / gigabytes}},
        "server": {"cpu": {"s_per_gb": server / gigabytes}},
    }
    print(json.dumps(report))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("receive", "send"))
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--mtu", type=int, default=1500)
    args = parser.parse_args()
    if args.what == "receive":
        receive(args.address, args.port)
    else:
        send(args.address, args.port, args.seconds, args.mtu)


if __name__ == "__main__":
    main()
