"""Traffic: a function for each kind that a `[[traffic]]` entry may have.

Written by tools/building.py, do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from headway.building.parts import Bytes, Duration, Hosts, Part, PathLike, Rate, Sizes, Traffic, Transport, Value, given

__all__ = [
    "all_to_all",
    "allgather",
    "allreduce",
    "barrier",
    "broadcast",
    "external",
    "file",
    "flows",
    "incast",
    "many_to_many",
    "on_off",
    "permutation",
    "pipeline",
    "poisson",
    "reduce_scatter",
    "rpc",
    "trace",
]


def flows(
    *,
    flows: Sequence[Mapping[str, Value] | Part],
    steps: Sequence[Mapping[str, Value] | Part] | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Flows written out one by one.

    flows: the flows (list of tables)
    steps: time that passes between flows, and joins of several flows (list of tables; default: none)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        flows=flows,
        steps=steps,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("flows", {"kind": "flows", **keys})


def file(
    *,
    path: PathLike,
    start_unit: Literal["ps", "us"] | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Flows from a connection matrix (.cm) or a table (.csv), perhaps compressed (.gz).

    path: of the file, relative to the scenario (path)
    start_unit: what start times of a matrix count (`ps`, `us`; default: `ps`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        path=path,
        start_unit=start_unit,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("file", {"kind": "file", **keys})


def poisson(
    *,
    cdf: Sizes,
    load: float,
    interpolation: Literal["linear", "step"] | None = None,
    size_unit: Literal["bytes", "packets"] | None = None,
    load_reference: Literal["host-links", "core-links", "receiver-links"] | None = None,
    load_bytes: Literal["payload", "wire"] | None = None,
    mean: Literal["exact", "published"] | None = None,
    pairs: Literal["any", "inter-rack"] | None = None,
    senders: Hosts | None = None,
    receivers: Hosts | None = None,
    flows: int | None = None,
    duration: Duration | None = None,
    start: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Poisson arrivals over a flow-size distribution at a load.

    cdf: flow sizes (name (`headway list workloads`), a path to a file, or a table)
    load: see the page (above 0, at most 1)
    interpolation: of a file: straight lines between rows, or only the rows' own sizes; by default lines, but steps
        where the first probability is not 0 or the file's mean says so (`linear`, `step`; default: by the file)
    size_unit: of a file that does not say it: what its sizes count; a packet has 1460 bytes (`bytes`, `packets`;
        default: by the file)
    load_reference: which links the load is a share of (`host-links`, `core-links`, `receiver-links`; default:
        `host-links`; with `senders` `receiver-links`)
    load_bytes: application bytes, or also headers, framing and padding (`payload`, `wire`; default: `wire`)
    mean: mean of the table, or the constant that the source's scripts divide by (`exact`, `published`; default:
        `exact`)
    pairs: whether source and destination may hang on one switch (`any`, `inter-rack`; default: `any`)
    senders: the senders, instead of `pairs`; a count means the first hosts (list of hosts, or count; default: all
        hosts)
    receivers: the receivers, with `senders`; a count means the hosts after the last sender (list of hosts, or count;
        default: all hosts)
    flows: when arrivals end (count; default: or `duration`)
    duration: when arrivals end (duration; default: or `flows`)
    start: when it begins (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        cdf=cdf,
        load=load,
        interpolation=interpolation,
        size_unit=size_unit,
        load_reference=load_reference,
        load_bytes=load_bytes,
        mean=mean,
        pairs=pairs,
        senders=senders,
        receivers=receivers,
        flows=flows,
        duration=duration,
        start=start,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("poisson", {"kind": "poisson", **keys})


def incast(
    *,
    senders: Hosts,
    receiver: int,
    bytes: Bytes | None = None,
    cdf: Sizes | None = None,
    interpolation: Literal["linear", "step"] | None = None,
    size_unit: Literal["bytes", "packets"] | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    period: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Many senders to one receiver at once, perhaps repeated.

    senders: the senders; a count means the first hosts that are not the receiver (list of hosts, or count)
    receiver: the receiver (host)
    bytes: of each message (bytes; default: or `cdf`)
    cdf: sizes, drawn for each flow (as of `poisson`; default: or `bytes`)
    interpolation: of a file: straight lines between rows, or only the rows' own sizes; by default lines, but steps
        where the first probability is not 0 or the file's mean says so (`linear`, `step`; default: by the file)
    size_unit: of a file that does not say it: what its sizes count; a packet has 1460 bytes (`bytes`, `packets`;
        default: by the file)
    start: when it begins (duration; default: `"0 s"`)
    repeat: rounds (count; default: `1`)
    period: from one round to the next (duration; default: with `repeat`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        senders=senders,
        receiver=receiver,
        bytes=bytes,
        cdf=cdf,
        interpolation=interpolation,
        size_unit=size_unit,
        start=start,
        repeat=repeat,
        period=period,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("incast", {"kind": "incast", **keys})


def permutation(
    *,
    bytes: Bytes,
    start: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Every host sends to one other, every host receives from one.

    bytes: of each message (bytes)
    start: when it begins (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        bytes=bytes,
        start=start,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("permutation", {"kind": "permutation", **keys})


def many_to_many(
    *,
    senders: Hosts,
    receivers: Hosts,
    bytes: Bytes,
    fan_out: int | None = None,
    start: Duration | None = None,
    responsive_ratio: float | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Some hosts send to some others, of which not all may answer.

    senders: the senders; a count means the first hosts (list of hosts, or count)
    receivers: the receivers; a count means the hosts after the last sender (list of hosts, or count)
    bytes: of each message (bytes)
    fan_out: to how many receivers each sender sends, in rotation (count; default: all)
    start: when it begins (duration; default: `"0 s"`)
    responsive_ratio: share of senders that go on after their first window, chosen at random (from 0 to 1; default:
        `1.0`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        senders=senders,
        receivers=receivers,
        bytes=bytes,
        fan_out=fan_out,
        start=start,
        responsive_ratio=responsive_ratio,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("many_to_many", {"kind": "many-to-many", **keys})


def on_off(
    *,
    src: int,
    dst: int,
    rate: Rate,
    on: Duration,
    off: Duration,
    until: Duration,
    start: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """One source that sends a message in each ON period.

    src: the sender (host)
    dst: the receiver (host)
    rate: of an ON period, which is one message of rate x `on` (rate)
    on: length of an ON period (duration)
    off: pause between two ON periods (duration)
    until: no ON period begins from then on (time)
    start: when it begins (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        src=src,
        dst=dst,
        rate=rate,
        on=on,
        off=off,
        until=until,
        start=start,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("on_off", {"kind": "on-off", **keys})


def allreduce(
    *,
    bytes: Bytes,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    algorithm: Literal["ring", "double-binary-tree", "halving-doubling"] | None = None,
    channels: int | None = None,
    chunks: int | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    compute: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """All ranks get the sum of what all of them have.

    bytes: size of the buffer of a rank, as nccl-tests counts it (bytes)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    algorithm: which messages that takes; `halving-doubling` takes a power of two of ranks (`ring`,
        `double-binary-tree`, `halving-doubling`; default: `ring`)
    channels: parts of the buffer that go round at the same time (count; default: `1`)
    chunks: parts of each message that go on as soon as they have arrived (count; default: `1`)
    start: when it begins (duration; default: `"0 s"`)
    repeat: iterations, one after the other (count; default: `1`)
    compute: what a rank computes between two iterations (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        bytes=bytes,
        ranks=ranks,
        placement=placement,
        first=first,
        algorithm=algorithm,
        channels=channels,
        chunks=chunks,
        start=start,
        repeat=repeat,
        compute=compute,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("allreduce", {"kind": "allreduce", **keys})


def allgather(
    *,
    bytes: Bytes,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    channels: int | None = None,
    chunks: int | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    compute: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Every rank gets what each of them has, round a ring.

    bytes: size of the buffer of a rank, as nccl-tests counts it (bytes)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    channels: parts of the buffer that go round at the same time (count; default: `1`)
    chunks: parts of each message that go on as soon as they have arrived (count; default: `1`)
    start: when it begins (duration; default: `"0 s"`)
    repeat: iterations, one after the other (count; default: `1`)
    compute: what a rank computes between two iterations (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        bytes=bytes,
        ranks=ranks,
        placement=placement,
        first=first,
        channels=channels,
        chunks=chunks,
        start=start,
        repeat=repeat,
        compute=compute,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("allgather", {"kind": "allgather", **keys})


def reduce_scatter(
    *,
    bytes: Bytes,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    channels: int | None = None,
    chunks: int | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    compute: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Each rank gets its part of the sum of what all of them have, round a ring.

    bytes: size of the buffer of a rank, as nccl-tests counts it (bytes)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    channels: parts of the buffer that go round at the same time (count; default: `1`)
    chunks: parts of each message that go on as soon as they have arrived (count; default: `1`)
    start: when it begins (duration; default: `"0 s"`)
    repeat: iterations, one after the other (count; default: `1`)
    compute: what a rank computes between two iterations (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        bytes=bytes,
        ranks=ranks,
        placement=placement,
        first=first,
        channels=channels,
        chunks=chunks,
        start=start,
        repeat=repeat,
        compute=compute,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("reduce_scatter", {"kind": "reduce-scatter", **keys})


def all_to_all(
    *,
    bytes: Bytes,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    at_once: int | None = None,
    skew: float | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    compute: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Every rank sends something else to every other rank.

    bytes: size of the buffer of a rank, as nccl-tests counts it (bytes)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    at_once: messages that a rank sends before it has received one: 1 is one after the other, in step with the others
        (count; default: all)
    skew: inequality, as of experts in a mixture of experts: the rank that is k-th in a random order gets a share of
        1/k^`skew` of what each other rank sends; 0 is equal shares (number; default: `0`)
    start: when it begins (duration; default: `"0 s"`)
    repeat: iterations, one after the other (count; default: `1`)
    compute: what a rank computes between two iterations (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        bytes=bytes,
        ranks=ranks,
        placement=placement,
        first=first,
        at_once=at_once,
        skew=skew,
        start=start,
        repeat=repeat,
        compute=compute,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("all_to_all", {"kind": "all-to-all", **keys})


def broadcast(
    *,
    bytes: Bytes,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    algorithm: Literal["binomial-tree", "chain"] | None = None,
    chunks: int | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    compute: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Rank 0 sends the same to all others.

    bytes: size of the buffer of a rank, as nccl-tests counts it (bytes)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    algorithm: in each round every rank that has it sends it to one more, or each rank sends it to the next
        (`binomial-tree`, `chain`; default: `binomial-tree`)
    chunks: parts of each message that go on as soon as they have arrived (count; default: `1`)
    start: when it begins (duration; default: `"0 s"`)
    repeat: iterations, one after the other (count; default: `1`)
    compute: what a rank computes between two iterations (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        bytes=bytes,
        ranks=ranks,
        placement=placement,
        first=first,
        algorithm=algorithm,
        chunks=chunks,
        start=start,
        repeat=repeat,
        compute=compute,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("broadcast", {"kind": "broadcast", **keys})


def barrier(
    *,
    bytes: Bytes,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    compute: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """No rank goes on before all have arrived: in round k each tells the one 2^k further.

    bytes: of each message (bytes)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    start: when it begins (duration; default: `"0 s"`)
    repeat: iterations, one after the other (count; default: `1`)
    compute: what a rank computes between two iterations (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        bytes=bytes,
        ranks=ranks,
        placement=placement,
        first=first,
        start=start,
        repeat=repeat,
        compute=compute,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("barrier", {"kind": "barrier", **keys})


def pipeline(
    *,
    micro_batches: int,
    bytes: Bytes,
    forward: Duration,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    backward: Duration | None = None,
    order: Literal["gpipe", "1f1b"] | None = None,
    start: Duration | None = None,
    repeat: int | None = None,
    compute: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Stages of a model that pass micro-batches on, and gradients back: each rank is a stage.

    micro_batches: of an iteration (count)
    bytes: that a stage passes to the next for a micro-batch, and gets back (bytes)
    forward: what a stage computes for a micro-batch (duration)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    backward: the same on the way back; without it nothing goes back (duration; default: none)
    order: all micro-batches forward and then all backward, or one by one as soon as the pipeline is full (`gpipe`,
        `1f1b`; default: `1f1b`)
    start: when it begins (duration; default: `"0 s"`)
    repeat: iterations, one after the other (count; default: `1`)
    compute: what a rank computes between two iterations (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        micro_batches=micro_batches,
        bytes=bytes,
        forward=forward,
        ranks=ranks,
        placement=placement,
        first=first,
        backward=backward,
        order=order,
        start=start,
        repeat=repeat,
        compute=compute,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("pipeline", {"kind": "pipeline", **keys})


def rpc(
    *,
    clients: Hosts,
    servers: Hosts,
    request: Value,
    reply: Value,
    calls: int,
    interpolation: Literal["linear", "step"] | None = None,
    size_unit: Literal["bytes", "packets"] | None = None,
    outstanding: int | None = None,
    fan_out: int | None = None,
    think: Duration | None = None,
    think_time: Literal["fixed", "exponential"] | None = None,
    service: Duration | None = None,
    start: Duration | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Clients that call servers in a closed loop: the next call waits for the reply.

    clients: who calls; a count means the first hosts (list of hosts, or count)
    servers: who answers, chosen at random for each call; a count means the hosts after the last client (list of hosts,
        or count)
    request: size of a request, or the distribution that it is drawn from (bytes, or as of `poisson`)
    reply: size of a reply, or the distribution that it is drawn from (bytes, or as of `poisson`)
    calls: that a client makes in each of its loops (count)
    interpolation: of a file: straight lines between rows, or only the rows' own sizes; by default lines, but steps
        where the first probability is not 0 or the file's mean says so (`linear`, `step`; default: by the file)
    size_unit: of a file that does not say it: what its sizes count; a packet has 1460 bytes (`bytes`, `packets`;
        default: by the file)
    outstanding: loops of a client: calls that it has open at a time (count; default: `1`)
    fan_out: servers that each call goes to; it is over when all have replied (count; default: `1`)
    think: from a reply to the next call of a loop (duration; default: `"0 s"`)
    think_time: whether `think` is always the same, or a mean (`fixed`, `exponential`; default: `fixed`)
    service: from a request to its reply, at the server (duration; default: `"0 s"`)
    start: when it begins (duration; default: `"0 s"`)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        clients=clients,
        servers=servers,
        request=request,
        reply=reply,
        calls=calls,
        interpolation=interpolation,
        size_unit=size_unit,
        outstanding=outstanding,
        fan_out=fan_out,
        think=think,
        think_time=think_time,
        service=service,
        start=start,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("rpc", {"kind": "rpc", **keys})


def external(
    *,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """Messages that another program hands over while the run goes on, through the C interface.

    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("external", {"kind": "external", **keys})


def trace(
    *,
    path: PathLike,
    format: Literal["cm", "goal", "chakra", "simai", "hpcc"] | None = None,
    ranks: Hosts | None = None,
    placement: Literal["packed", "scattered", "rails"] | None = None,
    first: int | None = None,
    start: Duration | None = None,
    start_unit: Literal["ps", "us"] | None = None,
    failures: Literal["refused", "elsewhere"] | None = None,
    overhead: Duration | None = None,
    byte_overhead: Duration | None = None,
    gap: Duration | None = None,
    eager: Bytes | None = None,
    allreduce: Literal["ring", "double-binary-tree", "halving-doubling"] | None = None,
    operations_per_second: float | None = None,
    collective_bytes: Bytes | None = None,
    equal_groups: Literal["each", "one"] | None = None,
    groups: PathLike | None = None,
    class_: int | None = None,
    deadline: Duration | None = None,
    mean_deadline: Duration | None = None,
    least_deadline: Duration | None = None,
    jitter: Duration | None = None,
    share: Value | None = None,
    clump: int | None = None,
    stop: Duration | None = None,
    transport: str | Mapping[str, Value] | Transport | None = None,
    stack: Literal["headway", "kernel"] | None = None,
    congestion: str | Mapping[str, Value] | None = None,
    mptcp: bool | None = None,
    ecn: bool | None = None,
    initial_window: int | None = None,
) -> Traffic:
    """A program of ranks from a file: a connection matrix of htsim with triggers (.cm), a GOAL schedule as text or
    binary (.goal, .bin), a Chakra execution trace with a file for each rank (.0.et), a workload of SimAI, or a flow
    list of HPCC's ns-3.

    path: of the file, or of that of any rank, relative to the scenario, perhaps compressed (.gz) (path)
    format: what kind of file it is (`cm`, `goal`, `chakra`, `simai`, `hpcc`; default: by its content)
    ranks: the hosts of the job, rank by rank; a count means hosts in the order of `placement` (list of hosts, or count;
        default: all hosts)
    placement: order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn
        (`packed`, `scattered`, `rails`; default: `packed`)
    first: position in that order of the host that is rank 0: jobs with other positions share no host (whole number;
        default: `0`)
    start: when it begins (duration; default: `"0 s"`)
    start_unit: what start times of a matrix count (`ps`, `us`; default: `ps`)
    failures: a matrix with failed links is refused, or a `[[fault]]` says the same of them (`refused`, `elsewhere`;
        default: `refused`)
    overhead: what a send and a receive each take on their processor: o of LogGOPS (duration; default: `"0 s"`)
    byte_overhead: the same of each byte but the first: O of LogGOPS (duration; default: `"0 s"`)
    gap: least time between the beginnings of two messages that a host sends, and of two that it receives: g of LogGOPS
        (duration; default: `"0 s"`)
    eager: larger messages are over for their sender when it knows that they have arrived, others when they leave its
        processor: S of LogGOPS (bytes; default: by the format)
    allreduce: how an allreduce of the trace is done (`ring`, `double-binary-tree`, `halving-doubling`; default: `ring`)
    operations_per_second: how long computations take that the trace gives in operations, without a duration (number;
        default: none)
    collective_bytes: the buffer of a collective whose messages the trace gives in chunks of it (bytes; default: none)
    equal_groups: whether every group of a workload of SimAI does its collectives, or one of each kind for all that are
        equal (`each`, `one`; default: `each`)
    groups: a list of the ranks of each group in JSON, `{"1": [0, 1]}`; without it `NAME.json` or `comm_group.json`
        beside the trace (path; default: beside the trace)
    class_: application class; a lower one comes first with transports that order messages by it (`ndp`) (whole number;
        default: `0`)
    deadline: from a flow's start (duration; default: none)
    mean_deadline: instead of `deadline`: drawn for each flow from an exponential distribution (duration; default: none)
    least_deadline: smallest that is drawn; `mean_deadline` is the mean with it (duration; default: `"0 s"`)
    jitter: each flow starts later by a random time below this, and its deadline with it (duration; default: `"0 s"`)
    share: Each flow starts as if it were one of this many flows that share the path (number from 1, to three decimals;
        default: `1`)
    clump: packets back to back before a pause (count; default: `[start] clump`)
    stop: the time at which flows are over at both ends, whatever has arrived; no flow starts from then on (time;
        default: none)
    transport: for mixtures (name or table; default: `[transport]`)
    stack: `kernel`: on real packets the operating system's TCP sends these flows (`headway`, `kernel`; default:
        `headway`)
    congestion: the kernel's congestion control, with `stack = "kernel"`; settings are those of `headway kernel load`
        (`reno`, `cubic`, `bbr`, `dctcp`, `d2tcp`, `l2dct`, `vegas`, or a table with `name` and settings; default: with
        `stack`)
    mptcp: whether connections are multipath TCP, with `stack = "kernel"` (true or false; default: false)
    ecn: whether connections ask for marks though their control does not, with `stack = "kernel"` (true or false;
        default: false)
    initial_window: packets of the first window, with `stack = "kernel"` (count; default: the kernel's)
    """
    keys = given(
        path=path,
        format=format,
        ranks=ranks,
        placement=placement,
        first=first,
        start=start,
        start_unit=start_unit,
        failures=failures,
        overhead=overhead,
        byte_overhead=byte_overhead,
        gap=gap,
        eager=eager,
        allreduce=allreduce,
        operations_per_second=operations_per_second,
        collective_bytes=collective_bytes,
        equal_groups=equal_groups,
        groups=groups,
        class_=class_,
        deadline=deadline,
        mean_deadline=mean_deadline,
        least_deadline=least_deadline,
        jitter=jitter,
        share=share,
        clump=clump,
        stop=stop,
        transport=transport,
        stack=stack,
        congestion=congestion,
        mptcp=mptcp,
        ecn=ecn,
        initial_window=initial_window,
    )
    return Traffic("trace", {"kind": "trace", **keys})
