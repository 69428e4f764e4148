"""Endpoints for threads."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from headway import _headway
from headway.endpoints.errors import Closed
from headway.endpoints.received import ReceivedMessage
from headway.endpoints.settings import Peer, Settings, texts

if TYPE_CHECKING:
    from typing_extensions import Buffer


class BlockingMessage(ReceivedMessage):
    """A message that was received. It takes memory of its endpoint for as long as it or a view of it is held."""

    __slots__ = ()

    def reply(self, data: Buffer, *, timeout: float | None = None) -> None:
        """Replies, and waits until the peer has the reply, for `timeout` seconds at most.

        Raises:
            PeerRestarted, Unreachable, Stalled, TooLong, Full, GaveUp, Closed: the reply was not delivered, or may not
                have been.
            TimedOut: it was not acknowledged in time, and is still under way.
        """
        self._native.reply(data, timeout)


class BlockingEndpoint:
    """A host's end of messages to and from any number of peers. Threads may share it; forked processes may not.

    A thread that waits in `call`, `send` or `recv` does the endpoint's work itself, without Python's global lock.
    Ctrl-C ends the wait of the main thread. Data may be anything with a contiguous buffer: bytes, a bytearray, a
    memoryview, a NumPy array. From 16,384 bytes on it is not copied, and must not change until the peer has it.
    """

    def __init__(self, native: _headway.HostEndpoint) -> None:
        self._native = native

    @classmethod
    def bind(cls, address: str = "127.0.0.1:0", **settings: Unpack[Settings]) -> Self:
        """An endpoint at an address and port, as "127.0.0.1:0" or "[::1]:0"; port 0 = any.

        Raises:
            SettingError: a setting that cannot be, with what would be right.
            BindError: an address that other hosts can reach, without `allow` or `key_file`; one that is in use.
        """
        return cls(_headway.HostEndpoint.bind(address, texts(settings)))

    @property
    def address(self) -> str:
        """The address and port that it is bound to."""
        return self._native.address

    def send(self, peer: Peer, data: Buffer, *, timeout: float | None = None) -> None:
        """Sends a message, and waits until the peer has received all of it, for `timeout` seconds at most.

        Raises:
            PeerRestarted, Unreachable, Refused, Stalled, NotAdmitted, TooLong, Full, TooManyPeers, GaveUp, Closed: the
                message was not delivered, or may not have been.
            TimedOut: it was not acknowledged in time, and is still under way.
        """
        self._native.send(peer, data, timeout)

    def send_nowait(self, peer: Peer, data: Buffer) -> None:
        """Sends a message without waiting; its outcome is not reported.

        Raises:
            NotAdmitted, TooLong, Full: nothing was sent.
        """
        self._native.send_nowait(peer, data)

    def call(self, peer: Peer, data: Buffer, *, timeout: float | None = None) -> memoryview:
        """Sends a request, and returns its reply, for which it waits `timeout` seconds at most, or `call_timeout`.

        Raises:
            PeerRestarted, Unreachable, Refused, Stalled, NotAdmitted, TooLong, Full, TooManyPeers, GaveUp, Closed: the
                request was not delivered, or may not have been, or the peer is gone.
            TimedOut: no reply came in time.
        """
        return self._native.call(peer, data, timeout)

    def recv(self, *, timeout: float | None = None) -> BlockingMessage:
        """The next message, for which it waits `timeout` seconds at most. Replies to calls do not come here.

        Raises:
            TimedOut: no message came in time.
            Closed: the endpoint is closed.
        """
        return BlockingMessage(self._native.recv(timeout))

    def __iter__(self) -> Iterator[BlockingMessage]:
        """Messages as they come, until the endpoint is closed."""
        while True:
            try:
                message = self.recv()
            except Closed:
                return
            yield message

    def stats(self) -> dict[str, int]:
        """Counters since it was bound, by name; docs/real-hosts.md has the meaning of each."""
        return self._native.stats()

    def paths(self) -> list[dict[str, str | int | float | None]]:
        """What is known of the paths to peers, where one end has several addresses; docs/python-hosts.md has more."""
        return self._native.paths()

    def add_address(self, address: str) -> str:
        """Another address of this host, as "10.0.1.2" or "10.0.1.2:7000", for more paths; where it is bound.

        Raises:
            BindError: an address that cannot be one more of this endpoint's; the endpoint goes on as before.
        """
        return self._native.add_address(address)

    def remove_address(self, address: str) -> None:
        """An address with its port is gone for good: paths from there end, and peers are told.

        Raises:
            BindError: it is none of the endpoint's, or its last one.
        """
        self._native.remove_address(address)

    def prometheus(self) -> str:
        """The counters as text for Prometheus, each with the address as label `endpoint`."""
        return self._native.prometheus()

    def memory_used(self) -> int:
        """Bytes of memory that messages take."""
        return self._native.memory_used()

    def close(self) -> None:
        """Closes it: threads that wait for it get `Closed`, and messages that were not acknowledged fail."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BlockingEndpoint {self.address}>"
