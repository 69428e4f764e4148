"""The native module: scenarios, the simulator and the catalogue, written in Rust."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from typing_extensions import Buffer

class HeadwayError(Exception):
    """Something a user can put right; the text says what and, where it can, how."""

class ScenarioError(HeadwayError):
    """A mistake in a scenario; ``str()`` is the whole diagnostic: file, line, caret, nearest name."""

# Of a transport written in Python: name, what makes its machines, discipline, parameters, source.
_Declared = tuple[str, Callable[..., Any], str, dict[str, Any], str]

# A column: its name, NumPy's type of its values, and the values; whether each row has one, unless all have; and of text
# what it is that the values number.
_Column = tuple[str, str, bytes, bytes | None, list[str] | None]

class ArrowTable:
    """A table that any Arrow library reads."""

    def __init__(self, columns: list[_Column]) -> None: ...
    def columns(self) -> list[_Column]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def schema(self) -> ArrowSchema: ...

class ArrowSchema:
    """Description of a table's columns in a file: names, types, units and meanings."""

    def __arrow_c_schema__(self) -> object: ...

class RunResult:
    """Results of one run."""

    @property
    def flows(self) -> ArrowTable: ...
    @property
    def links(self) -> ArrowTable: ...
    @property
    def series(self) -> ArrowTable: ...
    @property
    def steps(self) -> ArrowTable | None: ...
    @property
    def edges(self) -> ArrowTable | None: ...
    def write_perfetto(self, out: str | PathLike[str]) -> None: ...
    def summary_json(self) -> str: ...
    def manifest_json(self) -> str: ...

class Packet:
    """One packet; numbers and flags as the transport declares for itself. Times are in picoseconds."""

    kind: str
    """Kind of the packet: `data`, `ack`, `grant`, `rts` and others."""
    ecn: str
    """`not-ect`, `spare`, `ect` or `ce`."""
    src: int
    """Sending host."""
    dst: int
    """Receiving host."""
    message: int
    """Number of the message among those of its sender to its receiver, from 0."""
    index: int
    """Position in the message, in packets."""
    count: int
    """Packets spoken of. In a data packet: those of the first window."""
    token: int
    """A number, as the transport has it."""
    remaining: int
    """A number, as the transport has it."""
    entropy: int
    """Number that switches hash together with the addresses."""
    message_bytes: int
    """Bytes of the whole message."""
    lifetime: int
    """A time, as the transport has it."""
    tag: int
    """The simulator's number of the flow."""
    wire: int
    """Bytes on the wire, framing included."""
    payload: int
    """Application bytes carried."""
    priority: int
    """Class at every port; 0 is served first and is for control."""
    again: bool
    """True if it repeats a packet sent before."""
    unscheduled: bool
    """True if it was sent without permission, in the first window."""
    echo: bool
    """The receiver's echo of a mark."""

class Message:
    """A message to send: bytes for one host, delivered whole and once."""

    @property
    def id(self) -> int:
        """Its number among this host's messages to `dst`, from 0."""
    @property
    def dst(self) -> int:
        """Receiving host."""
    @property
    def bytes(self) -> int:
        """Payload in bytes; 0 counts as one empty packet."""
    @property
    def class_(self) -> int:
        """Application class."""
    @property
    def deadline(self) -> int | None:
        """Deadline, in picoseconds since the start of the run."""
    @property
    def responsive(self) -> bool:
        """False for an application that has nothing to send after the first window."""
    @property
    def entropy(self) -> int:
        """Number that switches hash in its packets."""
    @property
    def tag(self) -> int:
        """The simulator's number of the flow."""

class End:
    """One end of a message that is over before it is complete."""

    @property
    def sends(self) -> bool:
        """True if this host sends it."""
    @property
    def peer(self) -> int:
        """The host at the other end."""
    @property
    def message(self) -> int:
        """The message's number."""
    @property
    def tag(self) -> int:
        """The simulator's number of the flow."""

class Event:
    """Event that a machine reports to the simulator."""

    @staticmethod
    def delivered(packet: Packet) -> Event:
        """The payload of a data packet arrived here for the first time."""
    @staticmethod
    def completed(packet: Packet) -> Event:
        """All bytes of the message of this data packet have arrived here. Exactly once for each message."""
    @staticmethod
    def acknowledged(message: Message) -> Event:
        """The sender knows that the message arrived, and has forgotten it."""
    @staticmethod
    def failed(message: Message) -> Event:
        """The sender gave the message up."""

class Path:
    """Properties of the path to a peer, in picoseconds and bits per second."""

    @property
    def base_rtt(self) -> int:
        """Round trip of a full data packet out and a control packet back through empty queues."""
    @property
    def max_rtt(self) -> int:
        """Longest round trip when nothing is lost: one full buffer drained at each switch."""
    @property
    def bottleneck_bps(self) -> int:
        """Rate of the slowest link."""
    @property
    def bdp_packets(self) -> int:
        """Full packets that fill the path for a base round trip at the rate of this host's link."""

class Host:
    """The host that a machine runs on."""

    @property
    def number(self) -> int:
        """Its number, from 0."""
    @property
    def link_bps(self) -> int:
        """Rate of its link, in bits per second."""
    @property
    def payload(self) -> int:
        """Application bytes of a full data packet."""
    @property
    def slot(self) -> int:
        """Picoseconds that a full data packet takes on its link."""
    @property
    def seed(self) -> int:
        """Seed of random choices, where the machine makes any."""
    def path(self, peer: int) -> Path:
        """The path to another host."""
    def packets(self, bytes: int) -> int:
        """Packets that a message of so many bytes is cut into."""
    def first_window(self, message: Message, now: int, window: int = 0) -> list[int]:
        """The times at which the packets of a message's first window may leave; there are as many as it has packets.

        `window` is its size in packets; 0 stands for one bandwidth-delay product.
        """
    def data_packet(self, message: Message, index: int, window: int, *, again: bool = False) -> Packet:
        """Packet `index` of a message whose first window has `window` packets, ready to leave."""
    def control_packet(self, kind: str, message: Message) -> Packet:
        """A control packet to the receiver of a message."""
    def reply(self, kind: str, packet: Packet) -> Packet:
        """A control packet to the host that a packet came from, about the same message."""

def check_transport(
    declared: _Declared,
    seeds: int,
    *,
    window_grows: bool = ...,
    grants_name: bool = ...,
    credits: bool = ...,
    first_window: bool = ...,
) -> str | None: ...

class Scenario:
    """A scenario with every default filled in."""

    @staticmethod
    def load(path: str, sets: list[str] = ..., scale: str | None = ..., own: list[_Declared] = ...) -> Scenario: ...
    @staticmethod
    def from_text(
        text: str,
        name: str,
        sets: list[str] = ...,
        scale: str | None = ...,
        folder: str | None = ...,
        own: list[_Declared] = ...,
    ) -> Scenario: ...
    def own_transports(self) -> list[str]: ...
    def diff(self, other: Scenario, go_on: Callable[[], bool]) -> str | None: ...
    def with_sets(self, sets: list[str]) -> Scenario: ...
    def with_variant(self, name: str) -> Scenario: ...
    def check_sets(self, sweep: bool) -> None: ...
    def idle_sets(self) -> list[tuple[int, str]]: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def paper(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def resolved_json(self) -> str: ...
    def about_json(self) -> str: ...
    def digest(self) -> str: ...
    def report_json(self) -> str: ...
    def topology_json(self) -> str: ...
    def swept(self) -> list[str]: ...
    def variants(self) -> list[str]: ...
    def check_points(self) -> None: ...
    def points(self, first: int, most: int) -> list[tuple[str, str, dict[str, Any], int, tuple[str, ...]]]: ...
    def survey(
        self, most: int
    ) -> tuple[int, list[tuple[int, dict[str, Any] | None, list[str], dict[str, Any] | None, bool]]]: ...
    def check_run(self) -> None: ...
    def estimate(self) -> dict[str, Any]: ...
    def expected_hops(self) -> int: ...
    def expected_file_bytes(self) -> int: ...
    def facts(self) -> list[str]: ...
    def fitting_chip(self) -> tuple[str, int] | None: ...
    def longest_path(self) -> dict[str, float] | None: ...
    def run_length(self) -> dict[str, float | None] | None: ...
    def flow_ways(self) -> list[tuple[list[int], int]]: ...
    def warnings(self) -> list[str]: ...
    def export_flows(self, format: str) -> str: ...
    def run(
        self,
        out: str | None = None,
        progress: Callable[[dict[str, Any]], bool] | None = None,
        csv: bool = False,
        capture: str | None = None,
        capture_links: list[str] = ...,
        threads: int = 1,
        or_one: bool = False,
    ) -> RunResult: ...
    def scaling_json(self, threads: list[int]) -> str: ...

def catalogue(thing: str) -> str: ...
def schema() -> str: ...
def filled_page(text: str) -> str: ...
def read_toml(text: str, name: str) -> str: ...
def show_problem(text: str, name: str, place: tuple[int, int], message: str, help: str | None = ...) -> str: ...
def keep_memory() -> int:
    """Let memory that becomes free stay with this process, for one that makes one run.

    Answers after how many milliseconds it went back to the kernel before; -1 for never.
    """

def compiled_parquet() -> bool:
    """True if the module writes tables by itself, without polars."""

def write_perfetto(directory: str | PathLike[str], out: str | PathLike[str]) -> None:
    """Write the run in a directory as a Perfetto trace."""

def version() -> str: ...
def epoch() -> int: ...
def import_trace(
    files: Sequence[tuple[str, str]],
    folder: str,
    format: str | None = ...,
    start_unit: str | None = ...,
    ranks: int | None = ...,
    operations_per_second: float | None = ...,
    collective_bytes: str | None = ...,
    groups: tuple[str, str] | None = ...,
) -> tuple[str, list[str], list[str]]: ...
def log_kind(head: bytes) -> str | None: ...
def log_columns() -> list[list[str]]: ...
def log_heads(header: str) -> list[str]: ...
def evaluate(name: str, *arguments: float | list[float] | str) -> float | list[float] | str: ...
def draw_model(table: str, name: str) -> str: ...

# Linux only.

class HostMessage:
    """A message that was received; it has a buffer that can be read."""

    @property
    def peer(self) -> str: ...
    @property
    def data(self) -> memoryview: ...
    @property
    def wants_reply(self) -> bool: ...
    def reply(self, data: Buffer, timeout: float | None = None) -> None: ...
    def reply_nowait(self, data: Buffer) -> None: ...

class HostEndpoint:
    """An endpoint of `headway-host`; timeouts are in seconds."""

    @staticmethod
    def bind(address: str, settings: list[tuple[str, str]]) -> HostEndpoint: ...
    @property
    def address(self) -> str: ...
    @property
    def forked(self) -> bool: ...
    def send(self, peer: str | tuple[str, int], data: Buffer, timeout: float | None = None) -> None: ...
    def send_nowait(self, peer: str | tuple[str, int], data: Buffer) -> None: ...
    def call(self, peer: str | tuple[str, int], data: Buffer, timeout: float | None = None) -> memoryview: ...
    def recv(self, timeout: float | None = None) -> HostMessage: ...
    def fileno(self) -> int: ...
    def begin_send(self, peer: str | tuple[str, int], data: Buffer, tag: int) -> int: ...
    def begin_call(self, peer: str | tuple[str, int], data: Buffer, tag: int, timeout: float | None = None) -> int: ...
    def begin_reply(self, request: HostMessage, data: Buffer, tag: int) -> int: ...
    def cancel(self, number: int) -> None: ...
    def next(self) -> tuple[int | None, Any] | None: ...
    def stats(self) -> dict[str, int]: ...
    def add_address(self, address: str) -> str: ...
    def remove_address(self, address: str) -> None: ...
    def paths(self) -> list[dict[str, str | int | float | None]]: ...
    def prometheus(self) -> str: ...
    def memory_used(self) -> int: ...
    def close(self) -> None: ...

def set_host_errors(classes: dict[str, type[HeadwayError]]) -> None:
    """Says of which classes the errors of endpoints are."""
