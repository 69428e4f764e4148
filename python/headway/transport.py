"""Transports written in Python: a class whose objects are the machines of hosts, as those of the registry are.

docs/python-transport.md is the guide.
"""

from __future__ import annotations

import heapq
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from headway import _headway
from headway._headway import End, Event, Host, Message, Packet, Path
from headway.errors import FeatureMissing, HeadwayError

__all__ = ["End", "Event", "Host", "Message", "Packet", "Path", "Transport", "check"]

Parameter = bool | int | float


class Transport:
    """A transport: a subclass is one, and its objects are its machines, one at each host.

    After each input (`open`, `receive`, `timeout`, `abandon`), the simulator takes all events (`poll_event` until it
    answers None) and asks for the deadline (`next_timeout`). It asks for a packet (`poll_transmit`) whenever the link
    of the host is free. Times are whole picoseconds since the start of the run.

    A subclass has `open`, `receive`, `poll_data` and `live_messages`, and `expired` if it arms deadlines. The queues
    of this class hold the rest: `control`, packets that leave before data; `events`; deadlines (`arm`).

    `discipline` is the port discipline that it is meant to run over. `parameters` are the keys that a scenario may set,
    with their defaults; `__init__` is given all of them by name.
    """

    discipline: ClassVar[str] = "drop-tail"
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    # Behaviour that `check` allows; see docs/python-transport.md.
    window_grows: ClassVar[bool] = False
    grants_name: ClassVar[bool] = True
    credits: ClassVar[bool] = False
    first_window: ClassVar[bool] = True

    def __init__(self, host: Host, **parameters: Parameter) -> None:
        self.host = host
        self.control: deque[Packet] = deque()
        self.events: deque[Event] = deque()
        self._deadlines: list[tuple[int, int, Any]] = []
        self._armed = 0
        for name, value in parameters.items():
            setattr(self, name, value)

    def open(self, now: int, message: Message) -> None:
        """A message to send."""
        raise NotImplementedError(f"{type(self).__name__} has no `open`")

    def receive(self, now: int, packet: Packet) -> None:
        """A packet for this host arrived."""
        raise NotImplementedError(f"{type(self).__name__} has no `receive`")

    def poll_data(self, now: int) -> Packet | None:
        """The next packet for a free link that no control packet waits for; None: none until the next input."""
        raise NotImplementedError(f"{type(self).__name__} has no `poll_data`")

    def live_messages(self) -> int:
        """Messages that it holds state for, in both directions."""
        raise NotImplementedError(f"{type(self).__name__} has no `live_messages`")

    def expired(self, now: int, at: int, key: Any) -> None:  # noqa: ANN401  (what `arm` was given)
        """The deadline `at`, which `arm` was given with `key`, has come."""
        raise NotImplementedError(f"{type(self).__name__} arms deadlines and has no `expired`")

    def abandon(self, now: int, end: End) -> None:
        """A message is over before it is complete, because its flow has a `stop`: nothing more of it is sent or wanted.

        If this host sends it, `Event.failed` is the answer.
        """
        raise NotImplementedError(f"a flow has a `stop`, and {type(self).__name__} has no `abandon`")

    def forget(self, now: int, peer: int) -> None:
        """The host `peer` is gone: all state about it is dropped. No run of the simulator asks for it."""
        raise NotImplementedError(f"{type(self).__name__} has no `forget`")

    def timeout(self, now: int) -> None:
        """The instant of `next_timeout` has come, or an earlier one: calls `expired` for each deadline that is due."""
        while (due := self.pop_due(now)) is not None:
            self.expired(now, *due)

    def poll_transmit(self, now: int) -> Packet | None:
        """The next packet for a link that is free now: control first, then data."""
        return self.control.popleft() if self.control else self.poll_data(now)

    def wants_transmit(self) -> bool:
        """True if `poll_transmit` may have a packet; True is always right."""
        return True

    def next_timeout(self) -> int | None:
        """The earliest instant at which `timeout` is wanted."""
        return self._deadlines[0][0] if self._deadlines else None

    def poll_event(self) -> Event | None:
        """The next thing that the simulator should know."""
        return self.events.popleft() if self.events else None

    def arm(self, at: int, key: Any) -> None:  # noqa: ANN401  (whatever the subclass likes)
        """Arms a deadline. A deadline cannot be cancelled: `expired` looks whether its reason still stands."""
        heapq.heappush(self._deadlines, (at, self._armed, key))
        self._armed += 1

    def pop_due(self, now: int) -> tuple[int, Any] | None:
        """Takes the earliest deadline that is not after `now`; those of one instant in the order of their arming."""
        if not self._deadlines or self._deadlines[0][0] > now:
            return None
        at, _, key = heapq.heappop(self._deadlines)
        return at, key


Factory = type[Transport] | Callable[..., Transport]
# Declaration of a transport for the native module: name, factory, discipline, parameters, source.
Declared = tuple[str, Factory, str, dict[str, Parameter], str]


def declared(name: str, factory: Factory) -> Declared:
    """Declaration of a transport for scenarios and the native module."""
    if not callable(factory):
        raise TypeError(f"transport {name!r} is {factory!r}: give a class that is made from headway.Transport")
    discipline = getattr(factory, "discipline", Transport.discipline)
    parameters = dict(getattr(factory, "parameters", Transport.parameters))
    return name, factory, discipline, parameters, _source(factory)


def all_declared(transports: Mapping[str, Factory]) -> list[Declared]:
    """Declarations of several transports, given by name."""
    return [declared(name, factory) for name, factory in transports.items()]


def class_name(factory: type[Transport]) -> str:
    """Name in scenarios of the transport of a class: `MyTransport` is `my-transport`."""
    name = factory.__name__
    words = [f"-{letter.lower()}" if letter.isupper() and at else letter.lower() for at, letter in enumerate(name)]
    return "".join(words).replace("_", "-").strip("-")


def _source(factory: Factory) -> str:
    """Source that distinguishes two transports of one name: the text of the class and of those that it is made from."""
    classes: Iterable[Any] = [factory]
    if isinstance(factory, type):
        classes = [one for one in factory.__mro__ if one not in (Transport, object)]
    texts = []
    for one in classes:
        try:
            texts.append(inspect.getsource(one))
        except (OSError, TypeError):
            # Typed at a prompt: the class has no source text.
            texts.append(repr(one))
    return "\n".join(texts)


def check(transport: type[Transport], *, seeds: int = 200) -> None:
    """Runs a transport over `seeds` random networks that lose, repeat, delay and reorder packets.

    Raises `HeadwayError` at the first promise that it breaks, with the smallest example that was found: every message
    arrives exactly once, no state is left, nothing hangs, nothing leaves without permission, and over a network
    without faults nothing is sent twice. Parameters have their defaults. docs/python-transport.md lists the promises.
    """
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise ValueError(f"seeds is a number from 1, not {seeds!r}")
    if not hasattr(_headway, "check_transport"):
        raise FeatureMissing("headway.transport.check", "the feature `check` of the native module")
    one = declared(class_name(transport), transport)
    found = _headway.check_transport(
        one,
        seeds,
        window_grows=transport.window_grows,
        grants_name=transport.grants_name,
        credits=transport.credits,
        first_window=transport.first_window,
    )
    if found is not None:
        raise HeadwayError(f"{transport.__name__} breaks a promise: {found}")
