"""A transport to copy: a window, and for every packet an acknowledgement and a time-out.

It is the registry's `template` in Python, packet for packet. docs/python-transport.md explains it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import headway
from headway.transport import End, Event, Host, Message, Packet, Parameter

# A packet's turn to leave: the receiver, the message, the packet's index, and how often it has left before.
Turn = tuple[int, int, int, int]


@dataclass
class Outgoing:
    """A message being sent; `next` is its first packet that has not had its turn."""

    message: Message
    packets: int
    window: int
    next: int
    acked: set[int] = field(default_factory=set)


class Template(headway.Transport):
    """A fixed window, with an acknowledgement and a time-out for every packet."""

    discipline = "drop-tail"
    # Packets sent and not acknowledged at the most; 0 is one bandwidth-delay product.
    parameters: ClassVar[Mapping[str, Parameter]] = {"window": 0}
    window: int

    def __init__(self, host: Host, **parameters: Parameter) -> None:
        super().__init__(host, **parameters)
        self.ready: deque[Turn] = deque()
        self.sending: dict[tuple[int, int], Outgoing] = {}
        self.receiving: dict[tuple[int, int], set[int]] = {}
        self.finished: set[tuple[int, int]] = set()

    def open(self, now: int, message: Message) -> None:
        """Gives the packets of the first window their turns."""
        times = self.host.first_window(message, now, self.window)
        for index, at in enumerate(times):
            self.arm(at, (message.dst, message.id, index, 0))
        packets = self.host.packets(message.bytes)
        self.sending[message.dst, message.id] = Outgoing(message, packets, len(times), len(times))
        while (due := self.pop_due(now)) is not None:
            self.ready.append(due[1])

    def expired(self, now: int, at: int, key: Turn) -> None:
        """A packet of the first window may leave, or one that has left was not acknowledged in time."""
        self.ready.append(key)

    def poll_data(self, now: int) -> Packet | None:
        """The next packet whose turn it is, unless it has been acknowledged meanwhile."""
        while self.ready:
            peer, number, index, times = self.ready.popleft()
            out = self.sending.get((peer, number))
            if out is None or index in out.acked:
                continue
            timeout = self.host.path(peer).max_rtt * (2 << min(times, 10))
            self.arm(now + timeout, (peer, number, index, times + 1))
            return self.host.data_packet(out.message, index, out.window, again=times > 0)
        return None

    def receive(self, now: int, packet: Packet) -> None:
        """Data at the receiver, acknowledgements at the sender."""
        if packet.kind == "data":
            self.data(packet)
        elif packet.kind == "ack":
            self.ack(packet)

    def data(self, packet: Packet) -> None:
        """Every copy is acknowledged: the acknowledgement of the one before may be lost."""
        ack = self.host.reply("ack", packet)
        ack.index = packet.index
        self.control.append(ack)
        key = (packet.src, packet.message)
        if key in self.finished:
            return
        received = self.receiving.setdefault(key, set())
        if packet.index not in received:
            received.add(packet.index)
            self.events.append(Event.delivered(packet))
        if len(received) == self.host.packets(packet.message_bytes):
            del self.receiving[key]
            self.finished.add(key)
            self.events.append(Event.completed(packet))

    def ack(self, packet: Packet) -> None:
        """Each acknowledgement lets the next packet leave."""
        key = (packet.src, packet.message)
        out = self.sending.get(key)
        if out is None:
            return
        new = packet.index not in out.acked
        out.acked.add(packet.index)
        if len(out.acked) == out.packets:
            self.events.append(Event.acknowledged(out.message))
            del self.sending[key]
        elif new and out.next < out.packets and out.message.responsive:
            self.ready.append((*key, out.next, 0))
            out.next += 1

    def abandon(self, now: int, end: End) -> None:
        """Forgets a message that is over; a receiver remembers it as finished."""
        self.control = deque(packet for packet in self.control if packet.tag != end.tag)
        key = (end.peer, end.message)
        if end.sends:
            out = self.sending.pop(key, None)
            if out is not None:
                self.events.append(Event.failed(out.message))
        else:
            self.receiving.pop(key, None)
            self.finished.add(key)

    def live_messages(self) -> int:
        """Messages in either direction."""
        return len(self.sending) + len(self.receiving)
