"""Endpoints for asyncio."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack, cast

from headway import _headway
from headway.endpoints.errors import Closed, Forked
from headway.endpoints.received import ReceivedMessage
from headway.endpoints.settings import Peer, Settings, texts

if TYPE_CHECKING:
    from typing_extensions import Buffer

# After so many outcomes in a row, other tasks take their turn.
_AT_A_TIME = 256


class Message(ReceivedMessage):
    """A message that was received. It takes memory of its endpoint for as long as it or a view of it is held."""

    __slots__ = ("_endpoint",)

    def __init__(self, endpoint: Endpoint, native: _headway.HostMessage) -> None:
        super().__init__(native)
        self._endpoint = endpoint

    async def reply(self, data: Buffer) -> None:
        """Replies, and waits until the peer has the reply.

        Raises:
            PeerRestarted, Unreachable, Stalled, TooLong, Full, GaveUp, Closed: the reply was not delivered, or may not
                have been.
        """
        await self._endpoint._reply(self._native, data)


class Endpoint:
    """A host's end of messages to and from any number of peers, for the tasks of one event loop.

    Every wait may be cancelled: a cancelled `recv` loses no message, a cancelled `send` is sent all the same, and a
    cancelled `call` gives its reply up. Data may be anything with a contiguous buffer: bytes, a bytearray, a
    memoryview, a NumPy array. From 16,384 bytes on it is not copied, and must not change until the peer has it.
    """

    def __init__(self, native: _headway.HostEndpoint) -> None:
        self._native = native
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1
        self._tags = itertools.count(1)
        self._open: dict[int, asyncio.Future[object]] = {}
        self._inbox: deque[_headway.HostMessage] = deque()
        self._arrived = asyncio.Event()
        self._closed = False

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

    async def send(self, peer: Peer, data: Buffer) -> None:
        """Sends a message, and waits until the peer has received all of it.

        Raises:
            PeerRestarted, Unreachable, Refused, Stalled, NotAdmitted, TooLong, Full, TooManyPeers, GaveUp, Closed: the
                message was not delivered, or may not have been.
        """
        self._start()
        tag = next(self._tags)
        await self._outcome(tag, self._native.begin_send(peer, data, tag))

    async def call(self, peer: Peer, data: Buffer, *, timeout: float | None = None) -> memoryview:
        """Sends a request, and returns its reply, for which it waits `timeout` seconds at most, or `call_timeout`.

        Raises:
            PeerRestarted, Unreachable, Refused, Stalled, NotAdmitted, TooLong, Full, TooManyPeers, GaveUp, Closed: the
                request was not delivered, or may not have been, or the peer is gone.
            TimedOut: no reply came in time.
        """
        self._start()
        tag = next(self._tags)
        reply = await self._outcome(tag, self._native.begin_call(peer, data, tag, timeout))
        return cast(memoryview, reply)

    async def recv(self) -> Message:
        """The next message. Replies to calls do not come here.

        Raises:
            Closed: the endpoint is closed.
            Forked: it belongs to another process.
        """
        self._start()
        while not self._inbox:
            if self._closed:
                raise Closed("the endpoint is closed")
            self._arrived.clear()
            await self._arrived.wait()
        return Message(self, self._inbox.popleft())

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Messages as they come, until the endpoint is closed."""
        while True:
            try:
                message = await self.recv()
            except Closed:
                return
            yield message

    async def serve(self, handler: Callable[[Message], Awaitable[Buffer | None]]) -> None:
        """Answers every request with the result of `handler`, each in a task of its own, until the endpoint is closed.

        After None no reply is sent: of a message that wants none, or where the handler has replied. A handler that
        raises ends the serving, with an `ExceptionGroup`; replies that cannot be delivered do not.
        """

        async def answer(message: Message) -> None:
            reply = await handler(message)
            if reply is not None:
                message.reply_nowait(reply)

        async with asyncio.TaskGroup() as tasks:
            async for message in self:
                tasks.create_task(answer(message))

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
        """Closes it: tasks that wait for it get `Closed`, and messages that were not acknowledged fail."""
        # A loop that a fork has copied shares its list of descriptors with the process that bound the endpoint.
        if self._loop is not None and not self._closed and not self._native.forked:
            self._loop.remove_reader(self._fd)
        self._end()
        self._native.close()

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Endpoint {self.address}>"

    def _start(self) -> None:
        """Registers the endpoint with the loop; this process has to own it."""
        if self._native.forked:
            raise Forked(
                "the endpoint belongs to the process that bound it, from which this one was forked: bind one here"
            )
        if self._loop is None and not self._closed:
            self._fd = self._native.fileno()
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._fd, self._take)

    async def _reply(self, request: _headway.HostMessage, data: Buffer) -> None:
        self._start()
        tag = next(self._tags)
        await self._outcome(tag, self._native.begin_reply(request, data, tag))

    async def _outcome(self, tag: int, number: int) -> object:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._open[tag] = future
        try:
            return await future
        except asyncio.CancelledError:
            if self._open.pop(tag, None) is not None:
                self._native.cancel(number)
            raise

    def _take(self) -> None:
        """Takes the outcomes of messages; the loop calls it again while there is more."""
        for _ in range(_AT_A_TIME):
            try:
                found = self._native.next()
            except Closed:
                self.close()
                return
            if found is None:
                return
            tag, result = found
            if tag is None:
                self._inbox.append(result)
                self._arrived.set()
                continue
            future = self._open.pop(tag, None)
            if future is None or future.done():
                continue
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _end(self) -> None:
        self._closed = True
        self._arrived.set()
        for future in self._open.values():
            if not future.done():
                future.set_exception(Closed("the endpoint is closed"))
        self._open.clear()
