"""A received message, for blocking programs and for asyncio alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway import _headway

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ReceivedMessage:
    """A message that was received. It takes memory of its endpoint for as long as it or a view of it is held."""

    __slots__ = ("_native",)

    def __init__(self, native: _headway.HostMessage) -> None:
        self._native = native

    @property
    def peer(self) -> str:
        """Address and port of the sender, to which messages can be sent."""
        return self._native.peer

    @property
    def data(self) -> memoryview:
        """The bytes, which are not copied: `bytes(message.data)` copies them."""
        return self._native.data

    @property
    def wants_reply(self) -> bool:
        """True if its sender waits for a reply."""
        return self._native.wants_reply

    def reply_nowait(self, data: Buffer) -> None:
        """Replies without waiting; its outcome is not reported.

        Raises:
            TooLong, Full: nothing was sent.
        """
        self._native.reply_nowait(data)
