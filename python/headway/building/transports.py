"""Transports: a function for each, with its parameters.

Written by tools/building.py, do not edit.
"""

from __future__ import annotations

from typing import Literal

from headway.building.parts import Bytes, Duration, Rate, Transport, given

__all__ = [
    "amrt",
    "bbr",
    "bbr3",
    "cubic",
    "d2tcp",
    "dcpim",
    "dcqcn",
    "dctcp",
    "eqds",
    "expresspass",
    "expresspass_aeolus",
    "homa",
    "homa_aeolus",
    "hpcc",
    "l2dct",
    "mptcp_balia",
    "mptcp_cubic",
    "mptcp_lia",
    "mptcp_olia",
    "mptcp_reno",
    "mptcp_wvegas",
    "ndp",
    "phost",
    "powertcp",
    "powertcp_theta",
    "proactmp",
    "rcp",
    "rpo",
    "sird",
    "swift",
    "tcp",
    "template",
    "timely",
    "uet_nscc",
    "uet_rccc",
    "vegas",
]


def amrt(
    *,
    window: int | None = None,
    loss_timeout: float | None = None,
    loss_timer: Literal["max-rtt", "base-rtt"] | None = None,
    reissue: Literal["paced", "at-once"] | None = None,
    backoff: int | None = None,
    restart_timeout: float | None = None,
    fair_marks: bool | None = None,
) -> Transport:
    """Receiver-driven; switches mark gaps with anti-ECN, a marked grant releases two packets (AMRT, IEEE TNSM 2022
    (ICPP 2020)).

    window: Packets sent before the first grant; 0 = one bandwidth-delay product of the pair. AMRT §IV-C (a whole number
        from 0 to 1000000; default: `0`)
    loss_timeout: Time after which a granted packet that has not arrived is granted again, in round trips. AMRT §IV-B (a
        number from 0.1 to 1000; default: `1.0`)
    loss_timer: Which round trip `loss_timeout` counts (max-rtt, base-rtt; default: `"max-rtt"`)
    reissue: When overdue packets are granted again. AMRT §IV-B (paced, at-once; default: `"at-once"`)
    backoff: Doublings of the time-out of a packet granted again and again, at most. AMRT §IV-B (a whole number from 0
        to 20; default: `0`)
    restart_timeout: Silence after which a sender repeats packet 0, in largest round trips; doubles each time (a number
        from 0.5 to 1000; default: `3.0`)
    fair_marks: Receivers hand marks to the message that has used fewest, instead of the one that brought them. AMRT
        §VIII-F (true or false; default: `false`)
    """
    keys = given(
        window=window,
        loss_timeout=loss_timeout,
        loss_timer=loss_timer,
        reissue=reissue,
        backoff=backoff,
        restart_timeout=restart_timeout,
        fair_marks=fair_marks,
    )
    return Transport("transports.amrt", {"name": "amrt", **keys})


def homa(
    *,
    preset: Literal["sigcomm18", "linux", "amrt"] | None = None,
    overcommit: int | None = None,
    rtt_bytes: Bytes | None = None,
    unscheduled_bytes: Bytes | None = None,
    max_incoming: Bytes | None = None,
    grant_window: Literal["rtt-bytes", "first-window"] | None = None,
    loss_timer: Literal["packet", "silence"] | None = None,
    resend_rtts: float | None = None,
    resend_floor: Duration | None = None,
    backoff: int | None = None,
    asking: Literal["paced", "at-once"] | None = None,
    priorities: int | None = None,
    unscheduled_levels: int | None = None,
    unscheduled_by: Literal["remaining", "length"] | None = None,
    scheduled_from: Literal["lowest", "highest"] | None = None,
    scheduled_by: Literal["receiver", "message-length", "remaining-length"] | None = None,
    boost_tail: bool | None = None,
    fifo_share: float | None = None,
    cutoff_1: Bytes | None = None,
    cutoff_2: Bytes | None = None,
    cutoff_3: Bytes | None = None,
    cutoff_4: Bytes | None = None,
    cutoff_5: Bytes | None = None,
    cutoff_6: Bytes | None = None,
    cutoff_7: Bytes | None = None,
    scheduled_cutoff_1: Bytes | None = None,
    scheduled_cutoff_2: Bytes | None = None,
    scheduled_cutoff_3: Bytes | None = None,
    scheduled_cutoff_4: Bytes | None = None,
    scheduled_cutoff_5: Bytes | None = None,
    scheduled_cutoff_6: Bytes | None = None,
    scheduled_cutoff_7: Bytes | None = None,
) -> Transport:
    """Receiver-driven messages, shortest remaining first, over switch priorities with controlled overcommitment (Homa,
    SIGCOMM 2018).

    preset: Which Homa: the values of all parameters that are not given (sigcomm18, linux, amrt; default: `"sigcomm18"`)
    overcommit: Messages granted at a time, the degree of overcommitment; 0 = as many as there are scheduled priorities.
        Homa §3.5. linux: 8, amrt: 2 of the paper's 2 to 8 (a whole number from 0 to 1000; default: `0`)
    rtt_bytes: RTTbytes: bytes granted beyond what has arrived, in whole packets; 0 = a bandwidth-delay product of the
        pair. linux: 40000 (bytes, such as 1500 or "1 MB", from 0 to 1000000000; default: `0`)
    unscheduled_bytes: Bytes sent without a grant, in whole packets; 0 = RTTbytes (bytes, such as 1500 or "1 MB", from 0
        to 1000000000; default: `0`)
    max_incoming: Bytes that all messages of a receiver may have on their way; each of n gets this divided by n + 1. 0 =
        RTTbytes for each. linux: 400000 (bytes, such as 1500 or "1 MB", from 0 to 1000000000000; default: `0`)
    grant_window: What a granted message may have on its way, where `max_incoming` does not say: differs for flows that
        start as fair sharers. amrt: first-window (rtt-bytes, first-window; default: `"rtt-bytes"`)
    loss_timer: When a packet counts as missing. linux: silence (packet, silence; default: `"packet"`)
    resend_rtts: Base round trips in the time-out, to which one drain of full buffers on the way is added (a number from
        0.5 to 1000; default: `3.0`)
    resend_floor: The time-out is no shorter than this. linux: 5 ms (a duration with a unit, such as "40 us", from 0 s
        to 86400 s; default: `"0 s"`)
    backoff: Doublings of the time-out at most, while asking has no result. linux: 0 (a whole number from 0 to 20;
        default: `5`)
    asking: How missing packets are asked for. linux: at-once (paced, at-once; default: `"paced"`)
    priorities: Priorities of data; control has one above them (a whole number from 1 to 31; default: `8`)
    unscheduled_levels: Priorities among them for unscheduled packets; 0 = by their share of the bytes, where the sizes
        are known, else half. linux: 4 (a whole number from 0 to 8; default: `0`)
    unscheduled_by: What the priority of an unscheduled packet follows. linux, amrt: length (remaining, length; default:
        `"remaining"`)
    scheduled_from: Which scheduled priorities are used while fewer messages are granted than there are of them. Homa
        §3.4 (lowest, highest; default: `"lowest"`)
    scheduled_by: What the priority of a scheduled packet follows. Homa §3.4: the receiver's ranks (receiver,
        message-length, remaining-length; default: `"receiver"`)
    boost_tail: Scheduled packets among the last RTTbytes of a message have at least the priority that unscheduled ones
        would have. linux, amrt: false (true or false; default: `true`)
    fifo_share: Share of grants, and of packets sent, that go to the oldest message. linux: 0.05 (a number from 0 to
        0.5; default: `0.0`)
    cutoff_1: Largest size in bytes of the first unscheduled priority; 0 = by the sizes, where they are known, else 200
        (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_2: The same of the second; else 2800 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_3: The same of the third; else 15000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_4: The same of the fourth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_5: The same of the fifth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_6: The same of the sixth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_7: The same of the seventh (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_1: Largest size in bytes of the first scheduled priority, where that follows a length; 0 = by the
        sizes, where they are known, else 100000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_2: The same of the second; else 1000000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_3: The same of the third; else 10000000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_4: The same of the fourth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_5: The same of the fifth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_6: The same of the sixth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_7: The same of the seventh (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    """
    keys = given(
        preset=preset,
        overcommit=overcommit,
        rtt_bytes=rtt_bytes,
        unscheduled_bytes=unscheduled_bytes,
        max_incoming=max_incoming,
        grant_window=grant_window,
        loss_timer=loss_timer,
        resend_rtts=resend_rtts,
        resend_floor=resend_floor,
        backoff=backoff,
        asking=asking,
        priorities=priorities,
        unscheduled_levels=unscheduled_levels,
        unscheduled_by=unscheduled_by,
        scheduled_from=scheduled_from,
        scheduled_by=scheduled_by,
        boost_tail=boost_tail,
        fifo_share=fifo_share,
        cutoff_1=cutoff_1,
        cutoff_2=cutoff_2,
        cutoff_3=cutoff_3,
        cutoff_4=cutoff_4,
        cutoff_5=cutoff_5,
        cutoff_6=cutoff_6,
        cutoff_7=cutoff_7,
        scheduled_cutoff_1=scheduled_cutoff_1,
        scheduled_cutoff_2=scheduled_cutoff_2,
        scheduled_cutoff_3=scheduled_cutoff_3,
        scheduled_cutoff_4=scheduled_cutoff_4,
        scheduled_cutoff_5=scheduled_cutoff_5,
        scheduled_cutoff_6=scheduled_cutoff_6,
        scheduled_cutoff_7=scheduled_cutoff_7,
    )
    return Transport("transports.homa", {"name": "homa", **keys})


def homa_aeolus(
    *,
    preset: Literal["sigcomm18", "linux", "amrt"] | None = None,
    overcommit: int | None = None,
    rtt_bytes: Bytes | None = None,
    unscheduled_bytes: Bytes | None = None,
    max_incoming: Bytes | None = None,
    grant_window: Literal["rtt-bytes", "first-window"] | None = None,
    loss_timer: Literal["packet", "silence"] | None = None,
    resend_rtts: float | None = None,
    resend_floor: Duration | None = None,
    backoff: int | None = None,
    asking: Literal["paced", "at-once"] | None = None,
    priorities: int | None = None,
    unscheduled_levels: int | None = None,
    unscheduled_by: Literal["remaining", "length"] | None = None,
    scheduled_from: Literal["lowest", "highest"] | None = None,
    scheduled_by: Literal["receiver", "message-length", "remaining-length"] | None = None,
    boost_tail: bool | None = None,
    fifo_share: float | None = None,
    cutoff_1: Bytes | None = None,
    cutoff_2: Bytes | None = None,
    cutoff_3: Bytes | None = None,
    cutoff_4: Bytes | None = None,
    cutoff_5: Bytes | None = None,
    cutoff_6: Bytes | None = None,
    cutoff_7: Bytes | None = None,
    scheduled_cutoff_1: Bytes | None = None,
    scheduled_cutoff_2: Bytes | None = None,
    scheduled_cutoff_3: Bytes | None = None,
    scheduled_cutoff_4: Bytes | None = None,
    scheduled_cutoff_5: Bytes | None = None,
    scheduled_cutoff_6: Bytes | None = None,
    scheduled_cutoff_7: Bytes | None = None,
    loss_sign: Literal["holes", "probe"] | None = None,
) -> Transport:
    """Homa whose first window is dropped where there is a queue, and sent again with grants (Aeolus, SIGCOMM 2020, over
    Homa, SIGCOMM 2018).

    preset: Which Homa: the values of all parameters that are not given (sigcomm18, linux, amrt; default: `"sigcomm18"`)
    overcommit: Messages granted at a time, the degree of overcommitment; 0 = as many as there are scheduled priorities.
        Homa §3.5. linux: 8, amrt: 2 of the paper's 2 to 8 (a whole number from 0 to 1000; default: `0`)
    rtt_bytes: RTTbytes: bytes granted beyond what has arrived, in whole packets; 0 = a bandwidth-delay product of the
        pair. linux: 40000 (bytes, such as 1500 or "1 MB", from 0 to 1000000000; default: `0`)
    unscheduled_bytes: Bytes sent without a grant, in whole packets; 0 = RTTbytes (bytes, such as 1500 or "1 MB", from 0
        to 1000000000; default: `0`)
    max_incoming: Bytes that all messages of a receiver may have on their way; each of n gets this divided by n + 1. 0 =
        RTTbytes for each. linux: 400000 (bytes, such as 1500 or "1 MB", from 0 to 1000000000000; default: `0`)
    grant_window: What a granted message may have on its way, where `max_incoming` does not say: differs for flows that
        start as fair sharers. amrt: first-window (rtt-bytes, first-window; default: `"rtt-bytes"`)
    loss_timer: When a packet counts as missing. linux: silence (packet, silence; default: `"packet"`)
    resend_rtts: Base round trips in the time-out, to which one drain of full buffers on the way is added (a number from
        0.5 to 1000; default: `3.0`)
    resend_floor: The time-out is no shorter than this. linux: 5 ms (a duration with a unit, such as "40 us", from 0 s
        to 86400 s; default: `"0 s"`)
    backoff: Doublings of the time-out at most, while asking has no result. linux: 0 (a whole number from 0 to 20;
        default: `5`)
    asking: How missing packets are asked for. linux: at-once (paced, at-once; default: `"paced"`)
    priorities: Priorities of data; control has one above them (a whole number from 1 to 31; default: `8`)
    unscheduled_levels: Priorities among them for unscheduled packets; 0 = by their share of the bytes, where the sizes
        are known, else half. linux: 4 (a whole number from 0 to 8; default: `0`)
    unscheduled_by: What the priority of an unscheduled packet follows. linux, amrt: length (remaining, length; default:
        `"remaining"`)
    scheduled_from: Which scheduled priorities are used while fewer messages are granted than there are of them. Homa
        §3.4 (lowest, highest; default: `"lowest"`)
    scheduled_by: What the priority of a scheduled packet follows. Homa §3.4: the receiver's ranks (receiver,
        message-length, remaining-length; default: `"receiver"`)
    boost_tail: Scheduled packets among the last RTTbytes of a message have at least the priority that unscheduled ones
        would have. linux, amrt: false (true or false; default: `true`)
    fifo_share: Share of grants, and of packets sent, that go to the oldest message. linux: 0.05 (a number from 0 to
        0.5; default: `0.0`)
    cutoff_1: Largest size in bytes of the first unscheduled priority; 0 = by the sizes, where they are known, else 200
        (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_2: The same of the second; else 2800 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_3: The same of the third; else 15000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_4: The same of the fourth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_5: The same of the fifth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_6: The same of the sixth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    cutoff_7: The same of the seventh (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_1: Largest size in bytes of the first scheduled priority, where that follows a length; 0 = by the
        sizes, where they are known, else 100000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_2: The same of the second; else 1000000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_3: The same of the third; else 10000000 (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_4: The same of the fourth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_5: The same of the fifth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_6: The same of the sixth (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    scheduled_cutoff_7: The same of the seventh (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    loss_sign: What tells a sender that a packet of the first window was lost: `probe` where packets are sprayed over
        paths (holes, probe; default: `"holes"`)
    """
    keys = given(
        preset=preset,
        overcommit=overcommit,
        rtt_bytes=rtt_bytes,
        unscheduled_bytes=unscheduled_bytes,
        max_incoming=max_incoming,
        grant_window=grant_window,
        loss_timer=loss_timer,
        resend_rtts=resend_rtts,
        resend_floor=resend_floor,
        backoff=backoff,
        asking=asking,
        priorities=priorities,
        unscheduled_levels=unscheduled_levels,
        unscheduled_by=unscheduled_by,
        scheduled_from=scheduled_from,
        scheduled_by=scheduled_by,
        boost_tail=boost_tail,
        fifo_share=fifo_share,
        cutoff_1=cutoff_1,
        cutoff_2=cutoff_2,
        cutoff_3=cutoff_3,
        cutoff_4=cutoff_4,
        cutoff_5=cutoff_5,
        cutoff_6=cutoff_6,
        cutoff_7=cutoff_7,
        scheduled_cutoff_1=scheduled_cutoff_1,
        scheduled_cutoff_2=scheduled_cutoff_2,
        scheduled_cutoff_3=scheduled_cutoff_3,
        scheduled_cutoff_4=scheduled_cutoff_4,
        scheduled_cutoff_5=scheduled_cutoff_5,
        scheduled_cutoff_6=scheduled_cutoff_6,
        scheduled_cutoff_7=scheduled_cutoff_7,
        loss_sign=loss_sign,
    )
    return Transport("transports.homa_aeolus", {"name": "homa-aeolus", **keys})


def expresspass(
    *,
    preset: Literal["released", "ns2-defaults", "paper"] | None = None,
    alpha: float | None = None,
    w_init: float | None = None,
    w_min: float | None = None,
    w_max: float | None = None,
    feedback: Literal["adaptive", "constant"] | None = None,
    target_loss: float | None = None,
    adaptive_start: int | None = None,
    early_stop: int | None = None,
    recovery: Literal["selective", "go-back-n"] | None = None,
    jitter: float | None = None,
    jitter_from: Literal["numbers", "seed"] | None = None,
    credit_shorter: Bytes | None = None,
    credit_longer: Bytes | None = None,
    credit_queue: int | None = None,
    credit_burst: int | None = None,
    retry: Duration | None = None,
    linger: Duration | None = None,
) -> Transport:
    """Receivers send a credit a packet, switches drop the credits whose data would not fit (ExpressPass, SIGCOMM 2017).

    preset: Values of all parameters that are not given: released (the fat-tree script of the authors' simulator),
        ns2-defaults, paper (released, ns2-defaults, paper; default: `"released"`)
    alpha: Rate at which credits start, as a share of the highest. ExpressPass §3.2 (a number from 0.0001 to 1; default:
        `0.5`)
    w_init: Weight of the highest rate in an increase, at first. ns2-defaults, paper: 0.5. ExpressPass §3.2 (a number
        from 0.0001 to 1; default: `0.0625`)
    w_min: The same, at least. ExpressPass §3.2 (a number from 0.0001 to 1; default: `0.01`)
    w_max: The same, at most. ExpressPass §3.2 (a number from 0.0001 to 1; default: `0.5`)
    feedback: How a receiver changes its rate. paper: constant (adaptive, constant; default: `"adaptive"`)
    target_loss: Share of credits that may be lost; where feedback is adaptive, at a rate near 0. paper: 0.1.
        ExpressPass §3.2 (a number from 0 to 0.9; default: `0.125`)
    adaptive_start: Messages of fewer packets start at a rate that is less in proportion; 0 = none. paper: 0 (a whole
        number from 0 to 1000000; default: `40`)
    early_stop: A sender stops credits early that got this many times as many in the last round trip as it needs; 0 =
        never. paper: 0 (a whole number from 0 to 1000; default: `1`)
    recovery: What is sent again after a loss (selective, go-back-n; default: `"selective"`)
    jitter: Greatest deviation of the gap between two credits from its mean, as a share of it. ExpressPass §3.1 (a
        number from 0 to 0.9; default: `0.1`)
    jitter_from: What this jitter, and the sizes of credits, come from: with `seed`, runs of other seeds differ in them.
        Hosts on real packets have no seed (numbers, seed; default: `"numbers"`)
    credit_shorter: Bytes by which a credit may be shorter than a control packet. ns2-defaults, paper: 0 (bytes, such as
        1500 or "1 MB", from 0 to 60; default: `8`)
    credit_longer: Bytes by which a credit may be longer. ns2-defaults: 0. ExpressPass §3.1 (bytes, such as 1500 or "1
        MB", from 0 to 1000; default: `8`)
    credit_queue: Credits that wait at a host's own link at most, as at a switch port. ns2-defaults: 10 (a whole number
        from 1 to 1000000; default: `8`)
    credit_burst: Credits that may leave a host back to back. ns2-defaults: 10 (a whole number from 1 to 1000000;
        default: `2`)
    retry: Time after which requests and negative acknowledgements are repeated; a largest round trip, where that is
        more. ns2-defaults: 100 ms (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"100 us"`)
    linger: Time after which a stop is repeated, while no round trip is measured; a base round trip, where that is more.
        Later it is two round trips (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"2 ms"`)
    """
    keys = given(
        preset=preset,
        alpha=alpha,
        w_init=w_init,
        w_min=w_min,
        w_max=w_max,
        feedback=feedback,
        target_loss=target_loss,
        adaptive_start=adaptive_start,
        early_stop=early_stop,
        recovery=recovery,
        jitter=jitter,
        jitter_from=jitter_from,
        credit_shorter=credit_shorter,
        credit_longer=credit_longer,
        credit_queue=credit_queue,
        credit_burst=credit_burst,
        retry=retry,
        linger=linger,
    )
    return Transport("transports.expresspass", {"name": "expresspass", **keys})


def expresspass_aeolus(
    *,
    preset: Literal["released", "ns2-defaults", "paper"] | None = None,
    alpha: float | None = None,
    w_init: float | None = None,
    w_min: float | None = None,
    w_max: float | None = None,
    feedback: Literal["adaptive", "constant"] | None = None,
    target_loss: float | None = None,
    adaptive_start: int | None = None,
    early_stop: int | None = None,
    recovery: Literal["selective", "go-back-n"] | None = None,
    jitter: float | None = None,
    jitter_from: Literal["numbers", "seed"] | None = None,
    credit_shorter: Bytes | None = None,
    credit_longer: Bytes | None = None,
    credit_queue: int | None = None,
    credit_burst: int | None = None,
    retry: Duration | None = None,
    linger: Duration | None = None,
    loss_sign: Literal["holes", "probe"] | None = None,
    unheard: Literal["overdue", "at-once"] | None = None,
) -> Transport:
    """ExpressPass with a first window that is dropped where there is a queue, and sent again with credits (Aeolus,
    SIGCOMM 2020, over ExpressPass, SIGCOMM 2017).

    preset: Values of all parameters that are not given: released (the fat-tree script of the authors' simulator),
        ns2-defaults, paper (released, ns2-defaults, paper; default: `"released"`)
    alpha: Rate at which credits start, as a share of the highest. ExpressPass §3.2 (a number from 0.0001 to 1; default:
        `0.5`)
    w_init: Weight of the highest rate in an increase, at first. ns2-defaults, paper: 0.5. ExpressPass §3.2 (a number
        from 0.0001 to 1; default: `0.0625`)
    w_min: The same, at least. ExpressPass §3.2 (a number from 0.0001 to 1; default: `0.01`)
    w_max: The same, at most. ExpressPass §3.2 (a number from 0.0001 to 1; default: `0.5`)
    feedback: How a receiver changes its rate. paper: constant (adaptive, constant; default: `"adaptive"`)
    target_loss: Share of credits that may be lost; where feedback is adaptive, at a rate near 0. paper: 0.1.
        ExpressPass §3.2 (a number from 0 to 0.9; default: `0.125`)
    adaptive_start: Messages of fewer packets start at a rate that is less in proportion; 0 = none. paper: 0 (a whole
        number from 0 to 1000000; default: `40`)
    early_stop: A sender stops credits early that got this many times as many in the last round trip as it needs; 0 =
        never. paper: 0 (a whole number from 0 to 1000; default: `1`)
    recovery: What is sent again after a loss (selective, go-back-n; default: `"selective"`)
    jitter: Greatest deviation of the gap between two credits from its mean, as a share of it. ExpressPass §3.1 (a
        number from 0 to 0.9; default: `0.1`)
    jitter_from: What this jitter, and the sizes of credits, come from: with `seed`, runs of other seeds differ in them.
        Hosts on real packets have no seed (numbers, seed; default: `"numbers"`)
    credit_shorter: Bytes by which a credit may be shorter than a control packet. ns2-defaults, paper: 0 (bytes, such as
        1500 or "1 MB", from 0 to 60; default: `8`)
    credit_longer: Bytes by which a credit may be longer. ns2-defaults: 0. ExpressPass §3.1 (bytes, such as 1500 or "1
        MB", from 0 to 1000; default: `8`)
    credit_queue: Credits that wait at a host's own link at most, as at a switch port. ns2-defaults: 10 (a whole number
        from 1 to 1000000; default: `8`)
    credit_burst: Credits that may leave a host back to back. ns2-defaults: 10 (a whole number from 1 to 1000000;
        default: `2`)
    retry: Time after which requests and negative acknowledgements are repeated; a largest round trip, where that is
        more. ns2-defaults: 100 ms (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"100 us"`)
    linger: Time after which a stop is repeated, while no round trip is measured; a base round trip, where that is more.
        Later it is two round trips (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"2 ms"`)
    loss_sign: What tells a sender that a packet of the first window was lost: `probe` where packets are sprayed over
        paths (holes, probe; default: `"holes"`)
    unheard: When a credit is used for a packet of the first window of which nothing is known, if nothing else is to be
        sent. Aeolus §4 (overdue, at-once; default: `"overdue"`)
    """
    keys = given(
        preset=preset,
        alpha=alpha,
        w_init=w_init,
        w_min=w_min,
        w_max=w_max,
        feedback=feedback,
        target_loss=target_loss,
        adaptive_start=adaptive_start,
        early_stop=early_stop,
        recovery=recovery,
        jitter=jitter,
        jitter_from=jitter_from,
        credit_shorter=credit_shorter,
        credit_longer=credit_longer,
        credit_queue=credit_queue,
        credit_burst=credit_burst,
        retry=retry,
        linger=linger,
        loss_sign=loss_sign,
        unheard=unheard,
    )
    return Transport("transports.expresspass_aeolus", {"name": "expresspass-aeolus", **keys})


def ndp(
    *,
    window: int | None = None,
    rto: float | None = None,
    backoff: int | None = None,
    pull_rate: float | None = None,
    pull_order: Literal["classes", "fair"] | None = None,
    pull_ack: bool | None = None,
    pull_duplicates: bool | None = None,
    spray: Literal["permuted", "random", "single"] | None = None,
    paths: int | None = None,
    outliers: bool | None = None,
    outlier_samples: int | None = None,
) -> Transport:
    """First window pushed over all paths, switches trim to headers, receivers pull the rest (NDP, SIGCOMM 2017).

    window: Packets pushed before the first pull; 0 = the paper's 30, or a bandwidth-delay product if that is more. NDP
        §6.2 (a whole number from 0 to 1000000; default: `0`)
    rto: Time after which a packet that nothing was heard of is sent again, in largest round trips. NDP §3.2.4 (a number
        from 0.5 to 1000; default: `2.5`)
    backoff: Doublings of that time at most, while nothing at all is heard (a whole number from 0 to 20; default: `5`)
    pull_rate: Pulls sent for each frame time of the receiver's link. NDP §3.2 (a number from 0.05 to 1; default: `1.0`)
    pull_order: Whom a receiver pulls next. NDP §3.2 (classes, fair; default: `"classes"`)
    pull_ack: A pull that need not wait rides in the acknowledgement. NDP §3.2 (true or false; default: `true`)
    pull_duplicates: A packet that arrives again earns another pull (true or false; default: `false`)
    spray: How packets are spread over the paths. NDP §3.1.1 (permuted, random, single; default: `"permuted"`)
    paths: Paths to use at most; 0 = all that have numbers, or 64 where switches hash (a whole number from 0 to 65535;
        default: `0`)
    outliers: Paths with many more trimmed packets than the mean are left out for a while. NDP §3.2.3 (true or false;
        default: `true`)
    outlier_samples: What must be known of a path before it can be an outlier, in packets (a whole number from 1 to
        1000000; default: `100`)
    """
    keys = given(
        window=window,
        rto=rto,
        backoff=backoff,
        pull_rate=pull_rate,
        pull_order=pull_order,
        pull_ack=pull_ack,
        pull_duplicates=pull_duplicates,
        spray=spray,
        paths=paths,
        outliers=outliers,
        outlier_samples=outlier_samples,
    )
    return Transport("transports.ndp", {"name": "ndp", **keys})


def phost(
    *,
    mode: Literal["paced", "arrival"] | None = None,
    scheduler: Literal["srpt", "fair"] | None = None,
    source_scheduler: Literal["srpt", "fair"] | None = None,
    free_tokens: int | None = None,
    free_rule: Literal["paper", "yaps"] | None = None,
    token_lifetime: float | None = None,
    outstanding_limit: int | None = None,
    downgrade_time: float | None = None,
    downgrade_frames: int | None = None,
    restore: Literal["window", "token"] | None = None,
    resend_wait: int | None = None,
    short_wait: float | None = None,
    rts_retry: float | None = None,
    hold_back: bool | None = None,
    priorities: bool | None = None,
) -> Transport:
    """Receiver-driven; receivers schedule their downlink with tokens that name packets and expire (pHost, ACM CoNEXT
    2015).

    mode: When a receiver issues tokens: one a frame time (CoNEXT'15) or one for each arriving packet (the AMRT and RPO
        papers) (paced, arrival; default: `"paced"`)
    scheduler: Which message a receiver gives a token to. pHost §3; AMRT §VIII-A simulates fair, AMRT §VII explains SRPT
        (srpt, fair; default: `"srpt"`)
    source_scheduler: Which message a source sends from, among those that hold tokens. pHost §3 (srpt, fair; default:
        `"srpt"`)
    free_tokens: Packets sent before the first token; 0 = one bandwidth-delay product of the pair. pHost §3 (a whole
        number from 0 to 1000000; default: `0`)
    free_rule: Which messages get free tokens (paper, yaps; default: `"paper"`)
    token_lifetime: Frame times a token is valid for after its arrival at the source; 0 = 1.5 when paced, for ever on
        arrival. pHost §3 (a number from 0 to 1000000; default: `0.0`)
    outstanding_limit: Unanswered tokens at which a source is downgraded; 0 = the bandwidth-delay product plus 2. pHost
        §3 (a whole number from 0 to 1000000; default: `0`)
    downgrade_time: How long a silent source stays downgraded, in base round trips. AMRT §VII (a number from 0.1 to
        1000; default: `3.0`)
    downgrade_frames: The same in frame times; 0 = as `downgrade_time` says. The authors' simulator: 25 (a whole number
        from 0 to 1000000; default: `0`)
    restore: What a source gets when the downgrade is over; paced only (window, token; default: `"window"`)
    resend_wait: Frame times after the last token before missing packets get new ones; 0 = the bandwidth-delay product
        plus 2 when paced, the largest round trip plus 2 on arrival. pHost §3 (a whole number from 0 to 1000000;
        default: `0`)
    short_wait: Frame times for each packet of a message within its free tokens, from its announcement on, before what
        is missing of it gets tokens; 0 = as any other, `resend_wait` after the last free packet. Paced only. The
        authors' simulator: twice a packet's 1.2 us at any rate, so 2 at 10 Gb/s (a number from 0 to 1000; default:
        `0.0`)
    rts_retry: Silence after which a source announces a message again, in largest round trips; doubles each time (a
        number from 0.5 to 1000; default: `3.0`)
    hold_back: An announcement makes a paced receiver skip the token slots that its free packets need, as far as other
        messages fill the pipe. pHost §3 (true or false; default: `true`)
    priorities: Messages of at most a bandwidth-delay product travel in class 1 and others in 2; otherwise all in 1.
        pHost §3 (true or false; default: `true`)
    """
    keys = given(
        mode=mode,
        scheduler=scheduler,
        source_scheduler=source_scheduler,
        free_tokens=free_tokens,
        free_rule=free_rule,
        token_lifetime=token_lifetime,
        outstanding_limit=outstanding_limit,
        downgrade_time=downgrade_time,
        downgrade_frames=downgrade_frames,
        restore=restore,
        resend_wait=resend_wait,
        short_wait=short_wait,
        rts_retry=rts_retry,
        hold_back=hold_back,
        priorities=priorities,
    )
    return Transport("transports.phost", {"name": "phost", **keys})


def proactmp(
    *,
    preset: Literal["physical", "seed"] | None = None,
    subflows: int | None = None,
    path_manager: Literal["ndiffports", "full-mesh"] | None = None,
    order: Literal["fifo", "rr", "srpt"] | None = None,
    weights: Literal["saturating", "seed", "window"] | None = None,
    clamp: bool | None = None,
    charge_unscheduled: bool | None = None,
    cap: bool | None = None,
    always_join: bool | None = None,
    raw_rtt: bool | None = None,
    request: bool | None = None,
    capable: bool | None = None,
    owd_bytes: Bytes | None = None,
    owd: Duration | None = None,
    weight_limit: int | None = None,
    idle_reset: Duration | None = None,
    buffer: Bytes | None = None,
    timeout_rtts: float | None = None,
    timeout_srtts: float | None = None,
    timeout_full: bool | None = None,
    timeout_floor: Duration | None = None,
    backoff: int | None = None,
    removal: int | None = None,
) -> Transport:
    """Credit of the receiver's downlink, overcommitted with time, divided among the paths of a message (ProactMP, IEEE
    TNSM 2024).

    preset: Which reading of the paper: the values of all parameters that are not given (physical, seed; default:
        `"physical"`)
    subflows: Subflows of a message at most; 1 = a single path (a whole number from 1 to 64; default: `2`)
    path_manager: Which paths they take (ndiffports, full-mesh; default: `"full-mesh"`)
    order: Which of the waiting messages is given credit first (fifo, rr, srpt; default: `"fifo"`)
    weights: How a subflow's weight follows its grants, equation 2. seed: seed (saturating, seed, window; default:
        `"saturating"`)
    clamp: Whether at most 2 OWDbytes are outstanding, instead of the 3 that algorithm 1 allows (true or false; default:
        `false`)
    charge_unscheduled: Whether unscheduled bytes are taken out of the credit as well, when a message is first heard of
        (true or false; default: `false`)
    cap: Whether a subflow may have OWDbytes in flight, and no more, where a message has several (true or false;
        default: `true`)
    always_join: Whether subflows are joined whatever is left of the message; otherwise only while more than 2 OWDbytes
        are (true or false; default: `false`)
    raw_rtt: Whether equation 2 takes the newest round trip, instead of the smoothed one. seed: true (true or false;
        default: `false`)
    request: Whether a message waits for its Request: the sender announces it, and the receiver asks for it (true or
        false; default: `false`)
    capable: Whether this host knows Pro_Capable; if either end does not, a message has one path (true or false;
        default: `true`)
    owd_bytes: OWDbytes; 0 = `owd` times the payload rate of the host's link, in whole packets. At least one packet.
        seed: 125 (bytes, such as 1500 or "1 MB", from 0 to 1000000000; default: `0`)
    owd: The base one-way delay; 0 = half the base round trip of the pair. seed: 1 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"0 s"`)
    weight_limit: Where a `saturating` weight stops (a whole number from 1 to 1000000; default: `16`)
    idle_reset: Silence after which the weights are 1 again; 0 = never. seed: 0 (a duration with a unit, such as "40
        us", from 0 s to 86400 s; default: `"10 ms"`)
    buffer: Bytes of unfinished messages that a receiver holds; when they are there, only the oldest is granted. 0 = no
        limit (bytes, such as 1500 or "1 MB", at least 0; default: `0`)
    timeout_rtts: Base round trips in the time-out (a number from 1 to 1000; default: `8.0`)
    timeout_srtts: Smoothed round trips of the slowest subflow in the time-out, if that is more (a number from 1 to
        1000; default: `4.0`)
    timeout_full: Whether the time-out is at least the drain of full buffers on the path. seed: false (true or false;
        default: `true`)
    timeout_floor: The time-out is no shorter than this: a host's timer tick (a duration with a unit, such as "40 us",
        from 0 s to 86400 s; default: `"0 s"`)
    backoff: Doublings of the time-out at most, while it has no result (a whole number from 0 to 20; default: `6`)
    removal: RESENDs about a subflow that brings no grant in between, after which it is removed. seed: 3 (a whole number
        from 1 to 1000; default: `1`)
    """
    keys = given(
        preset=preset,
        subflows=subflows,
        path_manager=path_manager,
        order=order,
        weights=weights,
        clamp=clamp,
        charge_unscheduled=charge_unscheduled,
        cap=cap,
        always_join=always_join,
        raw_rtt=raw_rtt,
        request=request,
        capable=capable,
        owd_bytes=owd_bytes,
        owd=owd,
        weight_limit=weight_limit,
        idle_reset=idle_reset,
        buffer=buffer,
        timeout_rtts=timeout_rtts,
        timeout_srtts=timeout_srtts,
        timeout_full=timeout_full,
        timeout_floor=timeout_floor,
        backoff=backoff,
        removal=removal,
    )
    return Transport("transports.proactmp", {"name": "proactmp", **keys})


def rcp(
    *,
    timeout: float | None = None,
    backoff: int | None = None,
    reordering: int | None = None,
    reference: float | None = None,
    window: int | None = None,
) -> Transport:
    """Routers compute one rate for all flows through a port, packets bring the lowest back, senders pace at it (RCP,
    IWQoS 2005, and the authors' ns-2 code).

    timeout: Time after which a SYN or a packet that nothing was heard of is sent again, in largest round trips.
        rcp-host.cc §retrans_timeout (a number from 0.5 to 1000; default: `2.0`)
    backoff: Doublings of that time at most, while nothing at all is heard (a whole number from 0 to 20; default: `10`)
    reordering: Packets above one that must have arrived before it is sent again (a whole number from 1 to 1000;
        default: `3`)
    reference: A sender whose packets are further apart than this many smallest round trips asks for its rate in
        between. rcp-host.cc §ref_timeout (a number from 0.1 to 1000; default: `1.0`)
    window: Packets sent and not acknowledged at most; 0 = the largest round trip at the rate of the host's link (a
        whole number from 0 to 1000000; default: `0`)
    """
    keys = given(
        timeout=timeout,
        backoff=backoff,
        reordering=reordering,
        reference=reference,
        window=window,
    )
    return Transport("transports.rcp", {"name": "rcp", **keys})


def rpo(
    *,
    window: int | None = None,
    detection: Literal["acknowledgements", "timer", "both"] | None = None,
    reordering: int | None = None,
    loss_timeout: float | None = None,
    loss_timer: Literal["base-rtt", "max-rtt", "measured"] | None = None,
    reissue: Literal["paced", "at-once"] | None = None,
    backoff: int | None = None,
    restart_timeout: float | None = None,
    meeting_patience: float | None = None,
    opportunistic_mark: Literal["inherit", "never"] | None = None,
    opportunistic: bool | None = None,
    nic_marks: bool | None = None,
) -> Transport:
    """Receiver-driven; a grant releases a normal packet and, unless marked, an opportunistic one from the message's end
    (RPO, ICNP 2021).

    window: Packets sent before the first grant; 0 = one bandwidth-delay product of the pair. RPO §IV-A (a whole number
        from 0 to 1000000; default: `0`)
    detection: How lost packets are found. RPO §IV-C (acknowledgements, timer, both; default: `"timer"`)
    reordering: Packets that may overtake one of the same queue before it counts as lost (a whole number from 0 to
        1000000; default: `0`)
    loss_timeout: Time after which a receiver asks again, in round trips: since the grant, or without any arrival. RPO
        §IV-C (a number from 0.1 to 1000; default: `3.0`)
    loss_timer: Which round trip `loss_timeout` counts; `restart_timeout` counts the one through empty queues where it
        is measured (base-rtt, max-rtt, measured; default: `"measured"`)
    reissue: When overdue packets are granted again. RPO §IV-C (paced, at-once; default: `"at-once"`)
    backoff: Doublings of that time-out, at most. RPO §IV-C (a whole number from 0 to 20; default: `0`)
    restart_timeout: Silence after which a sender repeats packet 0, in round trips; doubles each time (a number from 0.5
        to 1000; default: `3.0`)
    meeting_patience: Age, in base round trips, at which an opportunistic packet without acknowledgement is sent again
        as a normal one once the two ends have met; 0 = at once. RPO §IV-A (a number from 0 to 1000; default: `0.0`)
    opportunistic_mark: What grants for opportunistic packets say of marks (inherit, never; default: `"inherit"`)
    opportunistic: Whether unmarked grants release an opportunistic packet as well; without, what they cost can be told
        (true or false; default: `true`)
    nic_marks: The host's own link marks by its opportunistic queue, as ports do (true or false; default: `true`)
    """
    keys = given(
        window=window,
        detection=detection,
        reordering=reordering,
        loss_timeout=loss_timeout,
        loss_timer=loss_timer,
        reissue=reissue,
        backoff=backoff,
        restart_timeout=restart_timeout,
        meeting_patience=meeting_patience,
        opportunistic_mark=opportunistic_mark,
        opportunistic=opportunistic,
        nic_marks=nic_marks,
    )
    return Transport("transports.rpo", {"name": "rpo", **keys})


def tcp(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
) -> Transport:
    """NewReno: additive increase, half the window for a loss; SACK or NewReno recovery (RFC 5681, RFC 6675, RFC 6582,
    RFC 6298).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
    )
    return Transport("transports.tcp", {"name": "tcp", **keys})


def dctcp(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    g: float | None = None,
    alpha_init: float | None = None,
    arithmetic: Literal["exact", "fixed-point"] | None = None,
) -> Transport:
    """ECN-driven: the window is cut by half the share of packets that are marked (DCTCP, SIGCOMM 2010; RFC 8257).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    g: Weight of the newest window in the share of marked packets. DCTCP §3.4 (a number from 0.001 to 1; default:
        `0.0625`)
    alpha_init: Share of marked packets assumed at first; messages of less than about ten round trips never leave it (a
        number from 0 to 1; default: `1.0`)
    arithmetic: In which numbers share and cut are computed. linux-4.19: fixed-point (exact, fixed-point; default:
        `"exact"`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        g=g,
        alpha_init=alpha_init,
        arithmetic=arithmetic,
    )
    return Transport("transports.dctcp", {"name": "dctcp", **keys})


def d2tcp(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    g: float | None = None,
    alpha_init: float | None = None,
    d_min: float | None = None,
    d_max: float | None = None,
    on_expired: Literal["neutral", "patient", "urgent"] | None = None,
    arithmetic: Literal["exact", "fixed-point"] | None = None,
) -> Transport:
    """DCTCP with deadlines: the nearer one is, the gentler the cut (D2TCP, SIGCOMM 2012).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    g: Weight of the newest window in the share of marked packets, as in DCTCP (a number from 0.001 to 1; default:
        `0.0625`)
    alpha_init: Share of marked packets assumed at first (a number from 0 to 1; default: `1.0`)
    d_min: Smallest urgency d. D2TCP §3.2 (a number from 0.01 to 1; default: `0.5`)
    d_max: Largest urgency d. D2TCP §3.2 (a number from 1 to 100; default: `2.0`)
    on_expired: How urgent a message is whose deadline has passed (neutral, patient, urgent; default: `"neutral"`)
    arithmetic: In which numbers share, urgency and cut are computed; fixed-point is that of the congestion control for
        Linux (exact, fixed-point; default: `"exact"`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        g=g,
        alpha_init=alpha_init,
        d_min=d_min,
        d_max=d_max,
        on_expired=on_expired,
        arithmetic=arithmetic,
    )
    return Transport("transports.d2tcp", {"name": "d2tcp", **keys})


def l2dct(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    g: float | None = None,
    alpha_init: float | None = None,
    weights: Literal["las", "srpt", "ps", "fixed"] | None = None,
    w_max: float | None = None,
    w_min: float | None = None,
    young: Bytes | None = None,
    old: Bytes | None = None,
    weight: float | None = None,
    increase: float | None = None,
    attained: Literal["acked", "sent"] | None = None,
    arithmetic: Literal["exact", "fixed-point"] | None = None,
) -> Transport:
    """DCTCP with weights: young messages grow faster and back off less than old ones (L2DCT, INFOCOM 2013).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    g: Weight of the newest window in the share of marked packets. L2DCT §II-A (a number from 0.001 to 1; default:
        `0.0625`)
    alpha_init: Share of marked packets assumed at first; compare with DCTCP at the same value only (a number from 0 to
        1; default: `1.0`)
    weights: What the weight follows: data sent (las), data left (srpt), nothing (ps), or `weight`. L2DCT §III-E (las,
        srpt, ps, fixed; default: `"las"`)
    w_max: Largest weight. L2DCT §II-A (a number from 0.001 to 100; default: `2.5`)
    w_min: Smallest weight. L2DCT §II-A (a number from 0.001 to 100; default: `0.125`)
    young: Bytes up to which the weight is the largest. L2DCT §II-A (bytes, such as 1500 or "1 MB", at least 0; default:
        `200000`)
    old: Bytes from which on the weight is the smallest. L2DCT §II-A (bytes, such as 1500 or "1 MB", at least 1;
        default: `1000000`)
    weight: The weight under `weights = "fixed"` (a number from 0.001 to 100; default: `1.0`)
    increase: Packets added a round trip under `weights = "fixed"`; 0 = weight / w_max (a number from 0 to 100; default:
        `0.0`)
    attained: What counts as data sent (acked, sent; default: `"acked"`)
    arithmetic: In which numbers weight, share and cut are computed. linux-4.19: fixed-point (exact, fixed-point;
        default: `"exact"`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        g=g,
        alpha_init=alpha_init,
        weights=weights,
        w_max=w_max,
        w_min=w_min,
        young=young,
        old=old,
        weight=weight,
        increase=increase,
        attained=attained,
        arithmetic=arithmetic,
    )
    return Transport("transports.l2dct", {"name": "l2dct", **keys})


def cubic(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    scale: float | None = None,
    beta: float | None = None,
    fast_convergence: bool | None = None,
    dialect: Literal["rfc-9438", "linux-4.19"] | None = None,
    hystart: Literal["off", "ideal", "linux-4.19"] | None = None,
) -> Transport:
    """The window follows a cubic of the time since the last loss, and Reno where that is faster (RFC 9438; HyStart and
    Linux 4.19 by parameter).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    scale: C, in packets per cubic second. RFC9438 §4.2 (a number from 0.001 to 1000; default: `0.4`)
    beta: What a loss leaves of the window. RFC9438 §4.6 (a number from 0.1 to 0.99; default: `0.7`)
    fast_convergence: Whether a window that did not reach the last maximum gives way further. RFC9438 §4.7 (true or
        false; default: `true`)
    dialect: Where specification and kernel differ: which. linux-4.19: linux-4.19 (rfc-9438, linux-4.19; default:
        `"rfc-9438"`)
    hystart: How slow start ends before a loss. linux-4.19: linux-4.19 (off, ideal, linux-4.19; default: `"off"`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        scale=scale,
        beta=beta,
        fast_convergence=fast_convergence,
        dialect=dialect,
        hystart=hystart,
    )
    return Transport("transports.cubic", {"name": "cubic", **keys})


def vegas(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    alpha: int | None = None,
    beta: int | None = None,
    gamma: int | None = None,
) -> Transport:
    """Delay-based: holds alpha to beta packets in the queue (Vegas, IEEE JSAC 1995).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    alpha: Packets in the queue below which the window grows. Vegas §III (a whole number from 0 to 10000; default: `2`)
    beta: Packets in the queue above which it shrinks. Vegas §III (a whole number from 0 to 10000; default: `4`)
    gamma: Packets in the queue above which slow start ends. Vegas §III (a whole number from 0 to 10000; default: `1`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        alpha=alpha,
        beta=beta,
        gamma=gamma,
    )
    return Transport("transports.vegas", {"name": "vegas", **keys})


def bbr(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    bursts: Literal["ideal", "linux-4.19"] | None = None,
    refresh: Literal["lower", "not-higher"] | None = None,
) -> Transport:
    """Model-based: paces at the measured bandwidth, probes it and the round trip in turn (BBR, ACM Queue 2016; Linux
    4.19).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    bursts: Packets handed over together, three times which the window has to spare: at 1 Gb/s 3 packets or 132.
        linux-4.19: linux-4.19 (ideal, linux-4.19; default: `"ideal"`)
    refresh: Which measurement keeps the smallest round trip from growing old. linux-4.19: not-higher (lower,
        not-higher; default: `"lower"`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        bursts=bursts,
        refresh=refresh,
    )
    return Transport("transports.bbr", {"name": "bbr", **keys})


def bbr3(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    ecn: bool | None = None,
    bursts: Literal["ideal", "linux"] | None = None,
) -> Transport:
    """Model-based: BBR with bounds of what is in flight, which losses and marks lower (BBR v3, draft-ietf-ccwg-bbr;
    google/bbr).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    ecn: Whether packets are ECN-capable, and marks answered where the round trip is 5 ms at most: the route feature
        `ecn_low` of Linux, for ports that mark early (true or false; default: `true`)
    bursts: Packets handed over together, three times which the window is at least: 4 packets or, over a short path,
        132. linux-4.19: linux (ideal, linux; default: `"ideal"`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        ecn=ecn,
        bursts=bursts,
    )
    return Transport("transports.bbr3", {"name": "bbr3", **keys})


def mptcp_reno(
    *,
    subflows: int | None = None,
    path_manager: Literal["ndiffports", "full-mesh"] | None = None,
    scheduler: Literal["min-rtt", "round-robin"] | None = None,
    opportunistic: bool | None = None,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
) -> Transport:
    """MPTCP whose subflows are NewReno connections that know nothing of each other (RFC 8684, RFC 5681).

    subflows: Subflows of a message, the first included (a whole number from 1 to 32; default: `2`)
    path_manager: Which paths the subflows take. `ndiffports`: other ports, where two may meet; `full-mesh`: different
        paths (ndiffports, full-mesh; default: `"ndiffports"`)
    scheduler: Which subflow carries the next packet, among those whose windows have room (min-rtt, round-robin;
        default: `"min-rtt"`)
    opportunistic: Whether a subflow that the receive window keeps from sending repeats the packet that it waits for,
        and halves the window of the slow subflow that has it (true or false; default: `true`)
    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    """
    keys = given(
        subflows=subflows,
        path_manager=path_manager,
        scheduler=scheduler,
        opportunistic=opportunistic,
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
    )
    return Transport("transports.mptcp_reno", {"name": "mptcp-reno", **keys})


def mptcp_cubic(
    *,
    subflows: int | None = None,
    path_manager: Literal["ndiffports", "full-mesh"] | None = None,
    scheduler: Literal["min-rtt", "round-robin"] | None = None,
    opportunistic: bool | None = None,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    scale: float | None = None,
    beta: float | None = None,
    fast_convergence: bool | None = None,
    dialect: Literal["rfc-9438", "linux-4.19"] | None = None,
    hystart: Literal["off", "ideal", "linux-4.19"] | None = None,
) -> Transport:
    """MPTCP whose subflows are CUBIC connections that know nothing of each other (RFC 8684, RFC 9438).

    subflows: Subflows of a message, the first included (a whole number from 1 to 32; default: `2`)
    path_manager: Which paths the subflows take. `ndiffports`: other ports, where two may meet; `full-mesh`: different
        paths (ndiffports, full-mesh; default: `"ndiffports"`)
    scheduler: Which subflow carries the next packet, among those whose windows have room (min-rtt, round-robin;
        default: `"min-rtt"`)
    opportunistic: Whether a subflow that the receive window keeps from sending repeats the packet that it waits for,
        and halves the window of the slow subflow that has it (true or false; default: `true`)
    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    scale: C, in packets per cubic second. RFC9438 §4.2 (a number from 0.001 to 1000; default: `0.4`)
    beta: What a loss leaves of the window. RFC9438 §4.6 (a number from 0.1 to 0.99; default: `0.7`)
    fast_convergence: Whether a window that did not reach the last maximum gives way further. RFC9438 §4.7 (true or
        false; default: `true`)
    dialect: Where specification and kernel differ: which. linux-4.19: linux-4.19 (rfc-9438, linux-4.19; default:
        `"rfc-9438"`)
    hystart: How slow start ends before a loss. linux-4.19: linux-4.19 (off, ideal, linux-4.19; default: `"off"`)
    """
    keys = given(
        subflows=subflows,
        path_manager=path_manager,
        scheduler=scheduler,
        opportunistic=opportunistic,
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        scale=scale,
        beta=beta,
        fast_convergence=fast_convergence,
        dialect=dialect,
        hystart=hystart,
    )
    return Transport("transports.mptcp_cubic", {"name": "mptcp-cubic", **keys})


def mptcp_lia(
    *,
    subflows: int | None = None,
    path_manager: Literal["ndiffports", "full-mesh"] | None = None,
    scheduler: Literal["min-rtt", "round-robin"] | None = None,
    opportunistic: bool | None = None,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
) -> Transport:
    """MPTCP with linked increases: all subflows together are as aggressive as one TCP on the best path (RFC 6356, RFC
    8684).

    subflows: Subflows of a message, the first included (a whole number from 1 to 32; default: `2`)
    path_manager: Which paths the subflows take. `ndiffports`: other ports, where two may meet; `full-mesh`: different
        paths (ndiffports, full-mesh; default: `"ndiffports"`)
    scheduler: Which subflow carries the next packet, among those whose windows have room (min-rtt, round-robin;
        default: `"min-rtt"`)
    opportunistic: Whether a subflow that the receive window keeps from sending repeats the packet that it waits for,
        and halves the window of the slow subflow that has it (true or false; default: `true`)
    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    """
    keys = given(
        subflows=subflows,
        path_manager=path_manager,
        scheduler=scheduler,
        opportunistic=opportunistic,
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
    )
    return Transport("transports.mptcp_lia", {"name": "mptcp-lia", **keys})


def mptcp_olia(
    *,
    subflows: int | None = None,
    path_manager: Literal["ndiffports", "full-mesh"] | None = None,
    scheduler: Literal["min-rtt", "round-robin"] | None = None,
    opportunistic: bool | None = None,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
) -> Transport:
    """MPTCP with opportunistic linked increases: fair, and moves its windows to the best paths (OLIA, IEEE/ACM ToN
    2013; RFC 8684).

    subflows: Subflows of a message, the first included (a whole number from 1 to 32; default: `2`)
    path_manager: Which paths the subflows take. `ndiffports`: other ports, where two may meet; `full-mesh`: different
        paths (ndiffports, full-mesh; default: `"ndiffports"`)
    scheduler: Which subflow carries the next packet, among those whose windows have room (min-rtt, round-robin;
        default: `"min-rtt"`)
    opportunistic: Whether a subflow that the receive window keeps from sending repeats the packet that it waits for,
        and halves the window of the slow subflow that has it (true or false; default: `true`)
    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    """
    keys = given(
        subflows=subflows,
        path_manager=path_manager,
        scheduler=scheduler,
        opportunistic=opportunistic,
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
    )
    return Transport("transports.mptcp_olia", {"name": "mptcp-olia", **keys})


def mptcp_balia(
    *,
    subflows: int | None = None,
    path_manager: Literal["ndiffports", "full-mesh"] | None = None,
    scheduler: Literal["min-rtt", "round-robin"] | None = None,
    opportunistic: bool | None = None,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
) -> Transport:
    """MPTCP with balanced linked adaptation: increase and decrease follow a path's rate over the best's (BALIA,
    IEEE/ACM ToN 2016; RFC 8684).

    subflows: Subflows of a message, the first included (a whole number from 1 to 32; default: `2`)
    path_manager: Which paths the subflows take. `ndiffports`: other ports, where two may meet; `full-mesh`: different
        paths (ndiffports, full-mesh; default: `"ndiffports"`)
    scheduler: Which subflow carries the next packet, among those whose windows have room (min-rtt, round-robin;
        default: `"min-rtt"`)
    opportunistic: Whether a subflow that the receive window keeps from sending repeats the packet that it waits for,
        and halves the window of the slow subflow that has it (true or false; default: `true`)
    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    """
    keys = given(
        subflows=subflows,
        path_manager=path_manager,
        scheduler=scheduler,
        opportunistic=opportunistic,
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
    )
    return Transport("transports.mptcp_balia", {"name": "mptcp-balia", **keys})


def mptcp_wvegas(
    *,
    subflows: int | None = None,
    path_manager: Literal["ndiffports", "full-mesh"] | None = None,
    scheduler: Literal["min-rtt", "round-robin"] | None = None,
    opportunistic: bool | None = None,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    total_alpha: int | None = None,
    least_alpha: int | None = None,
    gamma: int | None = None,
) -> Transport:
    """MPTCP by delay: subflows hold packets in queues, shared out among them by their rates (wVegas, IEEE ICNP 2012;
    RFC 8684).

    subflows: Subflows of a message, the first included (a whole number from 1 to 32; default: `2`)
    path_manager: Which paths the subflows take. `ndiffports`: other ports, where two may meet; `full-mesh`: different
        paths (ndiffports, full-mesh; default: `"ndiffports"`)
    scheduler: Which subflow carries the next packet, among those whose windows have room (min-rtt, round-robin;
        default: `"min-rtt"`)
    opportunistic: Whether a subflow that the receive window keeps from sending repeats the packet that it waits for,
        and halves the window of the slow subflow that has it (true or false; default: `true`)
    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"paper-ns2"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `2`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"10 ms"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    total_alpha: Packets in the queues of all paths together. wVegas §III (a whole number from 1 to 10000; default:
        `10`)
    least_alpha: Packets in the queue of a path at least, and at first. wVegas §III (a whole number from 1 to 10000;
        default: `2`)
    gamma: Packets in the queue above which slow start ends. wVegas §III (a whole number from 0 to 10000; default: `1`)
    """
    keys = given(
        subflows=subflows,
        path_manager=path_manager,
        scheduler=scheduler,
        opportunistic=opportunistic,
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        total_alpha=total_alpha,
        least_alpha=least_alpha,
        gamma=gamma,
    )
    return Transport("transports.mptcp_wvegas", {"name": "mptcp-wvegas", **keys})


def dcpim(
    *,
    rounds: int | None = None,
    channels: int | None = None,
    beta: float | None = None,
    alpha: float | None = None,
    smallest_rounds: int | None = None,
    control_rtt: Duration | None = None,
    bdp_packets: int | None = None,
    token_window: int | None = None,
    window_timeout: float | None = None,
    resend_wait: float | None = None,
    prompt: bool | None = None,
    rules: Literal["usual", "simulator"] | None = None,
    skew: Duration | None = None,
) -> Transport:
    """Receivers and senders are matched in rounds, an epoch ahead; short messages begin at once (dcPIM, SIGCOMM 2022).

    rounds: Rounds of matching in an epoch: the paper's r. dcPIM §3.2 (a whole number from 1 to 16; default: `4`)
    channels: Parts into which a host's link is divided: the paper's k. dcPIM §3.3 (a whole number from 1 to 64;
        default: `4`)
    beta: Length of a round, in round trips of control. dcPIM §3.4 (a number from 1.1 to 100; default: `1.3`)
    alpha: Length of the data phase, in matching phases. dcPIM §3.4 (a number from 1 to 100; default: `1.0`)
    smallest_rounds: Rounds in which the message with the fewest packets to come is chosen; later ones choose by lot.
        dcPIM §3.3 (a whole number from 0 to 16; default: `1`)
    control_rtt: Round trip of control through empty queues; 0 = that of the longest path (a duration with a unit, such
        as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    bdp_packets: Packets of a bandwidth-delay product: up to so many begin at once; 0 = those of the longest path (a
        whole number from 0 to 4294967295; default: `0`)
    token_window: Packets with tokens that have not arrived at most; 0 = a bandwidth-delay product (a whole number from
        0 to 1000000; default: `0`)
    window_timeout: Silence after the last token after which the window is forgiven, in bandwidth-delay products of
        frame times (a number from 0.1 to 1000; default: `1.1`)
    resend_wait: How long a receiver waits for what is under way before it asks for what is missing, in the same (a
        number from 0.1 to 1000; default: `1.0`)
    prompt: Whether a match begins at once on channels that are idle. dcPIM §3.3 (true or false; default: `true`)
    rules: Whose rules hold: with `simulator` a receiver takes part from the next round on, asks for what has not
        arrived, and every match begins anew; with `usual` it takes part from the next epoch on, asks for what has no
        token, and a match keeps the pace of a prompt one (usual, simulator; default: `"simulator"`)
    skew: Hosts begin their epochs later than others by up to this, by lot (a duration with a unit, such as "40 us",
        from 0 s to 86400 s; default: `"0 s"`)
    """
    keys = given(
        rounds=rounds,
        channels=channels,
        beta=beta,
        alpha=alpha,
        smallest_rounds=smallest_rounds,
        control_rtt=control_rtt,
        bdp_packets=bdp_packets,
        token_window=token_window,
        window_timeout=window_timeout,
        resend_wait=resend_wait,
        prompt=prompt,
        rules=rules,
        skew=skew,
    )
    return Transport("transports.dcpim", {"name": "dcpim", **keys})


def sird(
    *,
    bdp: Bytes | None = None,
    credit: float | None = None,
    bucket: float | None = None,
    unscheduled: Literal["short", "all"] | None = None,
    unscheduled_threshold: float | None = None,
    sender_threshold: float | None = None,
    gain: float | None = None,
    host_floor: float | None = None,
    network_floor: float | None = None,
    shortest_share: float | None = None,
    policy: Literal["srpt", "round-robin"] | None = None,
    credit_rate: float | None = None,
    priorities: bool | None = None,
    timeout: float | None = None,
) -> Transport:
    """Receiver-driven credit, bounded in all and for each sender by what it and the network can use (SIRD, NSDI 2025).

    bdp: Bytes that all others are multiples of, on the wire; 0 = a bandwidth-delay product of the longest path. The
        authors: 100 kB at 100 Gb/s (bytes, such as 1500 or "1 MB", from 0 to 18014398509481984; default: `0`)
    credit: Credit that a receiver has out at most, in bandwidth-delay products: the paper's B. SIRD §4 (a number from
        0.01 to 1000; default: `1.5`)
    bucket: Credit that one sender has at most, in bandwidth-delay products. SIRD §4.2 (a number from 0.01 to 1000;
        default: `1.0`)
    unscheduled: Which messages begin without credit. SIRD §4.3 (short, all; default: `"short"`)
    unscheduled_threshold: Size on the wire above which a message asks for credit first, in bandwidth-delay products:
        the paper's UnschT. SIRD §4.3 (a number from 0 to 1000; default: `1.0`)
    sender_threshold: Unused credit above which a sender says that it is congested, in bandwidth-delay products: the
        paper's SThr. SIRD §4.2 (a number from 0 to 1000; default: `0.5`)
    gain: Weight of the newest batch in both shares of marked packets. SIRD §4.2 (a number from 0.001 to 1; default:
        `0.08`)
    host_floor: Smallest bucket of the loop that follows senders, in bandwidth-delay products (a number from 0 to 1;
        default: `0.1`)
    network_floor: Smallest bucket of the loop that follows marks, in bandwidth-delay products (a number from 0 to 1;
        default: `0.03`)
    shortest_share: Share of a sender's link for the receiver of its shortest message; all receivers share the rest.
        SIRD §4.4 (a number from 0 to 1; default: `0.5`)
    policy: Which message gets credit first. SIRD §4.4 (srpt, round-robin; default: `"srpt"`)
    credit_rate: Rate of credited bytes, as a share of the receiver's link. The authors' simulator: 1 (a number from
        0.05 to 1; default: `1.0`)
    priorities: Whether unscheduled data travels in class 1 and scheduled in 2; otherwise all in 1. SIRD §4.5 (true or
        false; default: `true`)
    timeout: Silence after which credit is taken for lost and given again, in largest round trips (a number from 0.5 to
        1000; default: `3.0`)
    """
    keys = given(
        bdp=bdp,
        credit=credit,
        bucket=bucket,
        unscheduled=unscheduled,
        unscheduled_threshold=unscheduled_threshold,
        sender_threshold=sender_threshold,
        gain=gain,
        host_floor=host_floor,
        network_floor=network_floor,
        shortest_share=shortest_share,
        policy=policy,
        credit_rate=credit_rate,
        priorities=priorities,
        timeout=timeout,
    )
    return Transport("transports.sird", {"name": "sird", **keys})


def swift(
    *,
    preset: Literal["paper-ns2", "linux-4.19", "datacenter"] | None = None,
    initial_window: int | None = None,
    handshake: bool | None = None,
    prime_rtt: bool | None = None,
    min_rto: Duration | None = None,
    initial_rto: Duration | None = None,
    rto_floor: Literal["total", "variance"] | None = None,
    ack_every: int | None = None,
    ack_delay: Duration | None = None,
    quick_acks: int | None = None,
    min_window: int | None = None,
    reduction: Literal["immediate", "prr", "prr-linux-4.19"] | None = None,
    recovery: Literal["sack", "newreno"] | None = None,
    partial_ack: Literal["room", "resend"] | None = None,
    receive_window: int | None = None,
    slow_start: bool | None = None,
    base_target: Duration | None = None,
    hop_scaling: Duration | None = None,
    fs_range: Duration | None = None,
    fs_min_cwnd: float | None = None,
    fs_max_cwnd: float | None = None,
    ai: float | None = None,
    beta: float | None = None,
    max_mdf: float | None = None,
    min_cwnd: float | None = None,
    max_cwnd: float | None = None,
    retransmit_reset: int | None = None,
) -> Transport:
    """Delay-based: the window follows a target delay, below one packet by pacing (Swift, SIGCOMM 2020).

    preset: Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user
        space in datacenters (paper-ns2, linux-4.19, datacenter; default: `"datacenter"`)
    initial_window: Packets sent before anything is heard. linux-4.19: 10, datacenter: 15 (a whole number from 1 to
        100000; default: `15`)
    handshake: Whether a message begins with a SYN and its answer, a round trip. linux-4.19: true (true or false;
        default: `false`)
    prime_rtt: Whether the estimator starts with the unloaded round trip. linux-4.19: false (true or false; default:
        `true`)
    min_rto: Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"100 us"`)
    initial_rto: Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us (a duration with
        a unit, such as "40 us", from 1 ns to 86400 s; default: `"100 us"`)
    rto_floor: What `min_rto` is applied to. linux-4.19: variance (total, variance; default: `"total"`)
    ack_every: Packets in order that one acknowledgement answers. linux-4.19: 2 (a whole number from 1 to 64; default:
        `1`)
    ack_delay: How long an acknowledgement is put off at most (a duration with a unit, such as "40 us", from 0 s to
        86400 s; default: `"40 ms"`)
    quick_acks: Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16 (a whole number
        from 0 to 1000000; default: `0`)
    min_window: Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it (a whole
        number from 1 to 1000; default: `2`)
    reduction: How a window is brought down. linux-4.19: prr-linux-4.19 (immediate, prr, prr-linux-4.19; default:
        `"immediate"`)
    recovery: How losses are found and repaired (sack, newreno; default: `"sack"`)
    partial_ack: What a partial acknowledgement sends under `sack`: what there is room for, or one packet in any case,
        as in ns-3 (room, resend; default: `"room"`)
    receive_window: Packets that a receiver takes beyond the first one missing; 0 = without limit (a whole number from 0
        to 1000000; default: `0`)
    slow_start: Whether a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values
        (true or false; default: `true`)
    base_target: Delay that a message over no switch and with a large window aims at; 0 = 1.25 unloaded round trips of
        the path. Swift §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    hop_scaling: What each switch of the path adds to the target; 0 = the base target divided by 6.55. Swift §3.1.1 (a
        duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    fs_range: What a small window adds to the target at most; 0 = five base targets. Swift §3.1.2 (a duration with a
        unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    fs_min_cwnd: Window in packets from which down the target has all of `fs_range`. Swift §3.1.2 (a number from 0.001
        to 1; default: `0.1`)
    fs_max_cwnd: Window in packets from which up the target has nothing of it. Swift §3.1.2 (a number from 2 to 1000000;
        default: `100.0`)
    ai: Packets that the window grows by in a round trip below the target. Swift §3.1 (a number from 0.001 to 1;
        default: `1.0`)
    beta: Share of the excess delay that is taken from the window. Swift §3.1 (a number from 0.001 to 1; default: `0.8`)
    max_mdf: Share of the window that one decrease takes at most. Swift §3.1 (a number from 0.01 to 0.99; default:
        `0.5`)
    min_cwnd: Smallest window in packets. Swift §3.2 (a number from 0.0001 to 1; default: `0.001`)
    max_cwnd: Largest window in packets (a number from 2 to 1000000; default: `1000.0`)
    retransmit_reset: Time-outs in a row from which on the window is the smallest one. Swift §3.4 (a whole number from 1
        to 1000; default: `5`)
    """
    keys = given(
        preset=preset,
        initial_window=initial_window,
        handshake=handshake,
        prime_rtt=prime_rtt,
        min_rto=min_rto,
        initial_rto=initial_rto,
        rto_floor=rto_floor,
        ack_every=ack_every,
        ack_delay=ack_delay,
        quick_acks=quick_acks,
        min_window=min_window,
        reduction=reduction,
        recovery=recovery,
        partial_ack=partial_ack,
        receive_window=receive_window,
        slow_start=slow_start,
        base_target=base_target,
        hop_scaling=hop_scaling,
        fs_range=fs_range,
        fs_min_cwnd=fs_min_cwnd,
        fs_max_cwnd=fs_max_cwnd,
        ai=ai,
        beta=beta,
        max_mdf=max_mdf,
        min_cwnd=min_cwnd,
        max_cwnd=max_cwnd,
        retransmit_reset=retransmit_reset,
    )
    return Transport("transports.swift", {"name": "swift", **keys})


def eqds(
    *,
    window: int | None = None,
    pull: Bytes | None = None,
    pull_rate: float | None = None,
    spraying: Literal["oblivious", "bitmap", "reps", "mixed"] | None = None,
    entropies: int | None = None,
    rto: Duration | None = None,
    rto_factor: float | None = None,
    ack_bytes: Bytes | None = None,
) -> Transport:
    """A window pushed over all paths, switches trim, receivers pull in bytes and repair first (EQDS, NSDI 2022).

    window: Packets that a message sends before it hears anything, and most that it may have credit for. EQDS §5 (a
        whole number from 1 to 1000000; default: `64`)
    pull: Bytes on the wire that one pull permits. EQDS §5 (bytes, such as 1500 or "1 MB", from 1024 to 16777216;
        default: `4096`)
    pull_rate: Rate of pulls in bytes on the wire, as a share of the rate of the receiver's link. EQDS §5 (a number from
        0.05 to 1; default: `0.988`)
    spraying: How packets are spread over the paths. EQDS §5 (oblivious, bitmap, reps, mixed; default: `"bitmap"`)
    entropies: Entropies of a message where switches hash them; where paths have numbers, it has all paths. EQDS §5 (a
        whole number from 1 to 65536; default: `64`)
    rto: Time after which a packet that nothing was heard of is taken for lost; 0 = `rto_factor` says it. EQDS §5 (a
        duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    rto_factor: The same in largest round trips of the path (a number from 0.5 to 1000; default: `2.0`)
    ack_bytes: Bytes on the wire after whose arrival a receiver acknowledges without being asked; a sixteenth of the
        window at most. EQDS §5 (bytes, such as 1500 or "1 MB", from 1 to 1073741824; default: `16384`)
    """
    keys = given(
        window=window,
        pull=pull,
        pull_rate=pull_rate,
        spraying=spraying,
        entropies=entropies,
        rto=rto,
        rto_factor=rto_factor,
        ack_bytes=ack_bytes,
    )
    return Transport("transports.eqds", {"name": "eqds", **keys})


def uet_nscc(
    *,
    spraying: Literal["oblivious", "bitmap", "reps", "mixed"] | None = None,
    entropies: int | None = None,
    base_rtt: Duration | None = None,
    rto: Duration | None = None,
    rto_factor: float | None = None,
    ack_bytes: Bytes | None = None,
    target_delay: Duration | None = None,
    target: float | None = None,
    most: float | None = None,
    quick_gate: int | None = None,
    quick_adapt: bool | None = None,
    base_rtt_on_nack: bool | None = None,
) -> Transport:
    """Packets sprayed over all paths; a window at the sender follows marks, delays and trimming (Ultra Ethernet 1.0,
    NSCC).

    spraying: How packets are spread over the paths. UET §4 (oblivious, bitmap, reps, mixed; default: `"mixed"`)
    entropies: Entropies of a message where switches hash them; where paths have numbers, it has all paths. UET §4 (a
        whole number from 1 to 65536; default: `64`)
    base_rtt: Round trip of an empty path, that of the longest one; 0 = the network's, as far as it is known. UET §0.2
        (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    rto: Time after which a packet that nothing was heard of is taken for lost; 0 = `rto_factor` says it. UET §2.6 (a
        duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    rto_factor: The same in largest round trips of the path (a number from 0.5 to 1000; default: `1.25`)
    ack_bytes: Bytes on the wire after whose arrival a receiver acknowledges without being asked; a sixteenth of the
        largest window at most. UET §1.1 (bytes, such as 1500 or "1 MB", from 1 to 1073741824; default: `16384`)
    target_delay: Queueing delay that the window aims at; 0 = as many base round trips as `target` says. NSCC §2.1 (a
        duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    target: Queueing delay that the window aims at, in base round trips: 0.75 where switches trim, 1 where they do not.
        NSCC §2.1 (a number from 0.01 to 100; default: `0.75`)
    most: Largest window, in bandwidth-delay products. NSCC §2.1 (a number from 0.1 to 100; default: `1.5`)
    quick_gate: Quick adapt acts if fewer bytes arrived in a period than the largest window divided by two to this
        power. NSCC §2.5 (a whole number from 0 to 32; default: `3`)
    quick_adapt: Whether the window is cut to what arrived in a period, after losses and long delays. NSCC §2.5 (true or
        false; default: `true`)
    base_rtt_on_nack: Whether the round trip of a trimmed header may be the base round trip: it skips the queues of
        data, and takes less time on each link. NSCC §2.3 (true or false; default: `false`)
    """
    keys = given(
        spraying=spraying,
        entropies=entropies,
        base_rtt=base_rtt,
        rto=rto,
        rto_factor=rto_factor,
        ack_bytes=ack_bytes,
        target_delay=target_delay,
        target=target,
        most=most,
        quick_gate=quick_gate,
        quick_adapt=quick_adapt,
        base_rtt_on_nack=base_rtt_on_nack,
    )
    return Transport("transports.uet_nscc", {"name": "uet-nscc", **keys})


def uet_rccc(
    *,
    spraying: Literal["oblivious", "bitmap", "reps", "mixed"] | None = None,
    entropies: int | None = None,
    base_rtt: Duration | None = None,
    rto: Duration | None = None,
    rto_factor: float | None = None,
    ack_bytes: Bytes | None = None,
    credit: float | None = None,
    pull: Bytes | None = None,
    pull_rate: float | None = None,
    window: bool | None = None,
    oversubscription: float | None = None,
) -> Transport:
    """Packets sprayed over all paths; receivers give credit at the rate of their link (Ultra Ethernet 1.0, RCCC).

    spraying: How packets are spread over the paths. UET §4 (oblivious, bitmap, reps, mixed; default: `"mixed"`)
    entropies: Entropies of a message where switches hash them; where paths have numbers, it has all paths. UET §4 (a
        whole number from 1 to 65536; default: `64`)
    base_rtt: Round trip of an empty path, that of the longest one; 0 = the network's, as far as it is known. UET §0.2
        (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    rto: Time after which a packet that nothing was heard of is taken for lost; 0 = `rto_factor` says it. UET §2.6 (a
        duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    rto_factor: The same in largest round trips of the path (a number from 0.5 to 1000; default: `1.25`)
    ack_bytes: Bytes on the wire after whose arrival a receiver acknowledges without being asked; a sixteenth of the
        largest window at most. UET §1.1 (bytes, such as 1500 or "1 MB", from 1 to 1073741824; default: `16384`)
    credit: Speculative credit of a message, and most credit that it may hold, in bandwidth-delay products. RCCC §3.1 (a
        number from 0.1 to 100; default: `1.5`)
    pull: Bytes on the wire that one pull permits at most. RCCC §3.2 (bytes, such as 1500 or "1 MB", from 4096 to
        16777216; default: `16384`)
    pull_rate: Rate of pulls in bytes on the wire, as a share of the rate of the receiver's link. RCCC §3.2 (a number
        from 0.05 to 1; default: `0.99`)
    window: Whether senders have a window as well, that of `uet-nscc` with its defaults. RCCC §3.3 (true or false;
        default: `false`)
    oversubscription: How many times more the hosts of a switch can send than its links upwards carry. Above 1, and
        without a window, the rate of pulls follows what is marked or trimmed on the way; 0 = the network's, as far as
        it is known. RCCC §3.4 (a number from 0 to 1000; default: `0.0`)
    """
    keys = given(
        spraying=spraying,
        entropies=entropies,
        base_rtt=base_rtt,
        rto=rto,
        rto_factor=rto_factor,
        ack_bytes=ack_bytes,
        credit=credit,
        pull=pull,
        pull_rate=pull_rate,
        window=window,
        oversubscription=oversubscription,
    )
    return Transport("transports.uet_rccc", {"name": "uet-rccc", **keys})


def dcqcn(
    *,
    preset: Literal["hpcc-sim", "paper"] | None = None,
    recovery: Literal["go-back-n", "selective-repeat"] | None = None,
    base_rtt: Duration | None = None,
    rto: Duration | None = None,
    rto_low: Duration | None = None,
    few: int | None = None,
    cap: Bytes | None = None,
    nack_interval: Duration | None = None,
    cnp_interval: Duration | None = None,
    g: float | None = None,
    alpha_period: Duration | None = None,
    decrease_period: Duration | None = None,
    increase_period: Duration | None = None,
    byte_counter: Bytes | None = None,
    fast_recovery: int | None = None,
    rate_ai: float | None = None,
    rate_hai: float | None = None,
    clamp_target: bool | None = None,
    min_rate: Rate | None = None,
    window: bool | None = None,
) -> Transport:
    """RoCE: marks come back as congestion notifications that cut the rate, timers raise it (DCQCN, SIGCOMM 2015).

    preset: Values of all parameters that are not given: those of HPCC's simulator, or of the controller's paper
        (hpcc-sim, paper; default: `"hpcc-sim"`)
    recovery: How losses are repaired (go-back-n, selective-repeat; default: `"go-back-n"`)
    base_rtt: Round trip of an empty path, that of the longest one; windows and utilisation are computed with it. 0 =
        the network's, as far as it is known. HPCC §3.2 (a duration with a unit, such as "40 us", from 0 s to 86400 s;
        default: `"0 s"`)
    rto: Time without any answer after which what is under way is taken for lost; 0 = three base round trips of the
        path, or its largest one if that is longer. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400
        s; default: `"0 s"`)
    rto_low: The same with selective repeat while no more than `few` packets are under way, `rto` at most; 0 = four base
        round trips of the path. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0
        s"`)
    few: Packets under way up to which `rto_low` stands. IRN §3.1 (a whole number from 0 to 1000000; default: `3`)
    cap: Bytes of payload between the first packet that is missing and the last one sent, with selective repeat; 0 = a
        bandwidth-delay product. IRN §3.2 (bytes, such as 1500 or "1 MB", from 0 to 1099511627776; default: `0`)
    nack_interval: Time between two negative acknowledgements of the same packet, with go-back-N (a duration with a
        unit, such as "40 us", from 0 s to 86400 s; default: `"500 us"`)
    cnp_interval: Time between two congestion notifications of a message; with 0 the answer to every marked packet is
        one. paper: 50 us. DCQCN §3.2 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    g: Weight of a notification in alpha. DCQCN §3.2 (a number from 0.000001 to 1; default: `0.00390625`)
    alpha_period: Time after which alpha falls if no notification came. paper: 55 us. DCQCN §3.2 (a duration with a
        unit, such as "40 us", from 100 ns to 86400 s; default: `"1 us"`)
    decrease_period: Time between two looks at whether to cut the rate; with 0 every notification cuts it. paper: 0 s.
        DCQCN §3.2 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"4 us"`)
    increase_period: Time between two increases of the rate. paper: 55 us. DCQCN §3.2 (a duration with a unit, such as
        "40 us", from 1 us to 86400 s; default: `"300 us"`)
    byte_counter: Bytes on the wire after which the rate is increased as well; 0 = never. paper: 10 MB. DCQCN §3.2
        (bytes, such as 1500 or "1 MB", from 0 to 1099511627776; default: `0`)
    fast_recovery: Increases that only return to the rate before the cut. paper: 5. DCQCN §3.2 (a whole number from 1 to
        1000; default: `1`)
    rate_ai: What an increase beyond these adds to the target, as a share of the link's rate. paper: 0.001. DCQCN §3.2
        (a number from 0.0000001 to 1; default: `0.0002`)
    rate_hai: The same when the rate has been increased for longer. paper: 0.01. DCQCN §3.2 (a number from 0.0000001 to
        1; default: `0.002`)
    clamp_target: Whether a cut sets the target to the rate before it, although nothing was increased since the last
        cut. paper: true. DCQCN §3.2 (true or false; default: `false`)
    min_rate: Lowest rate. paper: 1 Mbps (a rate with a unit, such as "10 Gbps", from 1 bps to 1000 Gbps; default: `"1
        Gbps"`)
    window: Whether no more than a bandwidth-delay product at the present rate may be under way. HPCC §5.1 (true or
        false; default: `false`)
    """
    keys = given(
        preset=preset,
        recovery=recovery,
        base_rtt=base_rtt,
        rto=rto,
        rto_low=rto_low,
        few=few,
        cap=cap,
        nack_interval=nack_interval,
        cnp_interval=cnp_interval,
        g=g,
        alpha_period=alpha_period,
        decrease_period=decrease_period,
        increase_period=increase_period,
        byte_counter=byte_counter,
        fast_recovery=fast_recovery,
        rate_ai=rate_ai,
        rate_hai=rate_hai,
        clamp_target=clamp_target,
        min_rate=min_rate,
        window=window,
    )
    return Transport("transports.dcqcn", {"name": "dcqcn", **keys})


def timely(
    *,
    preset: Literal["hpcc-sim", "paper"] | None = None,
    recovery: Literal["go-back-n", "selective-repeat"] | None = None,
    base_rtt: Duration | None = None,
    rto: Duration | None = None,
    rto_low: Duration | None = None,
    few: int | None = None,
    cap: Bytes | None = None,
    nack_interval: Duration | None = None,
    rule: Literal["original", "patched"] | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    t_low: Duration | None = None,
    t_high: Duration | None = None,
    min_rtt: Duration | None = None,
    delta: float | None = None,
    hai_after: int | None = None,
    segment: Bytes | None = None,
    min_rate: Rate | None = None,
    window: bool | None = None,
) -> Transport:
    """RoCE: the rate follows the gradient of the round trip (TIMELY, SIGCOMM 2015).

    preset: Values of all parameters that are not given: those of HPCC's simulator, or of the controller's paper
        (hpcc-sim, paper; default: `"hpcc-sim"`)
    recovery: How losses are repaired (go-back-n, selective-repeat; default: `"go-back-n"`)
    base_rtt: Round trip of an empty path, that of the longest one; windows and utilisation are computed with it. 0 =
        the network's, as far as it is known. HPCC §3.2 (a duration with a unit, such as "40 us", from 0 s to 86400 s;
        default: `"0 s"`)
    rto: Time without any answer after which what is under way is taken for lost; 0 = three base round trips of the
        path, or its largest one if that is longer. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400
        s; default: `"0 s"`)
    rto_low: The same with selective repeat while no more than `few` packets are under way, `rto` at most; 0 = four base
        round trips of the path. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0
        s"`)
    few: Packets under way up to which `rto_low` stands. IRN §3.1 (a whole number from 0 to 1000000; default: `3`)
    cap: Bytes of payload between the first packet that is missing and the last one sent, with selective repeat; 0 = a
        bandwidth-delay product. IRN §3.2 (bytes, such as 1500 or "1 MB", from 0 to 1099511627776; default: `0`)
    nack_interval: Time between two negative acknowledgements of the same packet, with go-back-N (a duration with a
        unit, such as "40 us", from 0 s to 86400 s; default: `"500 us"`)
    rule: What happens between the two thresholds (original, patched; default: `"original"`)
    alpha: Weight of the new sample in the average of differences. TIMELY §4.3 (a number from 0.001 to 1; default:
        `0.875`)
    beta: How much a decrease takes. With the patched rule, its authors use 0.008. TIMELY §4.3 (a number from 0.0001 to
        1; default: `0.8`)
    t_low: Round trip below which the rate always rises. TIMELY §4.4 (a duration with a unit, such as "40 us", from 0 s
        to 86400 s; default: `"50 us"`)
    t_high: Round trip above which the rate always falls. TIMELY §4.4 (a duration with a unit, such as "40 us", from 1
        ns to 86400 s; default: `"500 us"`)
    min_rtt: Round trip that gradients are measured by; it is a constant, whatever the path is. TIMELY §4.3 (a duration
        with a unit, such as "40 us", from 1 ns to 86400 s; default: `"20 us"`)
    delta: What an increase adds, as a share of the link's rate. TIMELY §4.4 (a number from 0.0000001 to 1; default:
        `0.001`)
    hai_after: Increases in a row after which each adds five times as much. TIMELY §4.3 (a whole number from 1 to
        1000000; default: `5`)
    segment: Bytes of payload for which one decision is made; 0 = those of a round trip. paper: 16 kB. TIMELY §3.1
        (bytes, such as 1500 or "1 MB", from 0 to 1073741824; default: `0`)
    min_rate: Lowest rate (a rate with a unit, such as "10 Gbps", from 1 bps to 1000 Gbps; default: `"1 Gbps"`)
    window: Whether no more than a bandwidth-delay product at the present rate may be under way. HPCC §5.1 (true or
        false; default: `false`)
    """
    keys = given(
        preset=preset,
        recovery=recovery,
        base_rtt=base_rtt,
        rto=rto,
        rto_low=rto_low,
        few=few,
        cap=cap,
        nack_interval=nack_interval,
        rule=rule,
        alpha=alpha,
        beta=beta,
        t_low=t_low,
        t_high=t_high,
        min_rtt=min_rtt,
        delta=delta,
        hai_after=hai_after,
        segment=segment,
        min_rate=min_rate,
        window=window,
    )
    return Transport("transports.timely", {"name": "timely", **keys})


def hpcc(
    *,
    preset: Literal["hpcc-sim", "paper"] | None = None,
    recovery: Literal["go-back-n", "selective-repeat"] | None = None,
    base_rtt: Duration | None = None,
    rto: Duration | None = None,
    rto_low: Duration | None = None,
    few: int | None = None,
    cap: Bytes | None = None,
    nack_interval: Duration | None = None,
    eta: float | None = None,
    max_stage: int | None = None,
    rate_ai: float | None = None,
    min_rate: Rate | None = None,
    coarse: bool | None = None,
) -> Transport:
    """RoCE: ports write what they carry into packets, and the rate follows the busiest of them (HPCC, SIGCOMM 2019).

    preset: Values of all parameters that are not given: those of HPCC's simulator, or of the controller's paper
        (hpcc-sim, paper; default: `"hpcc-sim"`)
    recovery: How losses are repaired (go-back-n, selective-repeat; default: `"go-back-n"`)
    base_rtt: Round trip of an empty path, that of the longest one; windows and utilisation are computed with it. 0 =
        the network's, as far as it is known. HPCC §3.2 (a duration with a unit, such as "40 us", from 0 s to 86400 s;
        default: `"0 s"`)
    rto: Time without any answer after which what is under way is taken for lost; 0 = three base round trips of the
        path, or its largest one if that is longer. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400
        s; default: `"0 s"`)
    rto_low: The same with selective repeat while no more than `few` packets are under way, `rto` at most; 0 = four base
        round trips of the path. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0
        s"`)
    few: Packets under way up to which `rto_low` stands. IRN §3.1 (a whole number from 0 to 1000000; default: `3`)
    cap: Bytes of payload between the first packet that is missing and the last one sent, with selective repeat; 0 = a
        bandwidth-delay product. IRN §3.2 (bytes, such as 1500 or "1 MB", from 0 to 1099511627776; default: `0`)
    nack_interval: Time between two negative acknowledgements of the same packet, with go-back-N (a duration with a
        unit, such as "40 us", from 0 s to 86400 s; default: `"500 us"`)
    eta: Share of the busiest link that is aimed at. HPCC §3.2 (a number from 0.01 to 1; default: `0.95`)
    max_stage: Round trips of additive increase in a row, after which the rate is set by the utilisation although that
        is low. paper: 5. HPCC §3.2 (a whole number from 0 to 1000000; default: `0`)
    rate_ai: What each decision adds, as a share of the link's rate. paper: 0.0005, which is (1 - eta) of 100 messages.
        HPCC §3.3 (a number from 0.0000001 to 1; default: `0.0004`)
    min_rate: Lowest rate. paper: 1 Mbps (a rate with a unit, such as "10 Gbps", from 1 bps to 1000 Gbps; default: `"1
        Gbps"`)
    coarse: Whether stamps are read as coarse as HPCC's header of 64 bits a hop has them, but without its overflow. HPCC
        §4.1 (true or false; default: `false`)
    """
    keys = given(
        preset=preset,
        recovery=recovery,
        base_rtt=base_rtt,
        rto=rto,
        rto_low=rto_low,
        few=few,
        cap=cap,
        nack_interval=nack_interval,
        eta=eta,
        max_stage=max_stage,
        rate_ai=rate_ai,
        min_rate=min_rate,
        coarse=coarse,
    )
    return Transport("transports.hpcc", {"name": "hpcc", **keys})


def powertcp(
    *,
    preset: Literal["hpcc-sim", "paper"] | None = None,
    recovery: Literal["go-back-n", "selective-repeat"] | None = None,
    base_rtt: Duration | None = None,
    rto: Duration | None = None,
    rto_low: Duration | None = None,
    few: int | None = None,
    cap: Bytes | None = None,
    nack_interval: Duration | None = None,
    gamma: float | None = None,
    beta: float | None = None,
    target: float | None = None,
    min_rate: Rate | None = None,
) -> Transport:
    """RoCE: ports write what they carry into packets, and the window follows the power of the busiest (PowerTCP, NSDI
    2022).

    preset: Values of all parameters that are not given: those of HPCC's simulator, or of the controller's paper
        (hpcc-sim, paper; default: `"hpcc-sim"`)
    recovery: How losses are repaired (go-back-n, selective-repeat; default: `"go-back-n"`)
    base_rtt: Round trip of an empty path, that of the longest one; windows and utilisation are computed with it. 0 =
        the network's, as far as it is known. HPCC §3.2 (a duration with a unit, such as "40 us", from 0 s to 86400 s;
        default: `"0 s"`)
    rto: Time without any answer after which what is under way is taken for lost; 0 = three base round trips of the
        path, or its largest one if that is longer. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400
        s; default: `"0 s"`)
    rto_low: The same with selective repeat while no more than `few` packets are under way, `rto` at most; 0 = four base
        round trips of the path. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0
        s"`)
    few: Packets under way up to which `rto_low` stands. IRN §3.1 (a whole number from 0 to 1000000; default: `3`)
    cap: Bytes of payload between the first packet that is missing and the last one sent, with selective repeat; 0 = a
        bandwidth-delay product. IRN §3.2 (bytes, such as 1500 or "1 MB", from 0 to 1099511627776; default: `0`)
    nack_interval: Time between two negative acknowledgements of the same packet, with go-back-N (a duration with a
        unit, such as "40 us", from 0 s to 86400 s; default: `"500 us"`)
    gamma: Weight of the new window. PowerTCP §3.3 (a number from 0.001 to 1; default: `0.9`)
    beta: What the window grows by, as a share of a bandwidth-delay product. paper: 0.01, that of 100 messages. PowerTCP
        §3.3 (a number from 0.0000001 to 1; default: `0.006`)
    target: Power that is taken for 1. paper: 1. PowerTCP §3.3 (a number from 0.01 to 2; default: `0.95`)
    min_rate: Lowest rate. paper: 1 Mbps (a rate with a unit, such as "10 Gbps", from 1 bps to 1000 Gbps; default: `"100
        Mbps"`)
    """
    keys = given(
        preset=preset,
        recovery=recovery,
        base_rtt=base_rtt,
        rto=rto,
        rto_low=rto_low,
        few=few,
        cap=cap,
        nack_interval=nack_interval,
        gamma=gamma,
        beta=beta,
        target=target,
        min_rate=min_rate,
    )
    return Transport("transports.powertcp", {"name": "powertcp", **keys})


def powertcp_theta(
    *,
    preset: Literal["hpcc-sim", "paper"] | None = None,
    recovery: Literal["go-back-n", "selective-repeat"] | None = None,
    base_rtt: Duration | None = None,
    rto: Duration | None = None,
    rto_low: Duration | None = None,
    few: int | None = None,
    cap: Bytes | None = None,
    nack_interval: Duration | None = None,
    gamma: float | None = None,
    beta: float | None = None,
    target: float | None = None,
    min_rate: Rate | None = None,
) -> Transport:
    """RoCE: the window follows power, which is computed from round trips (PowerTCP, NSDI 2022).

    preset: Values of all parameters that are not given: those of HPCC's simulator, or of the controller's paper
        (hpcc-sim, paper; default: `"hpcc-sim"`)
    recovery: How losses are repaired (go-back-n, selective-repeat; default: `"go-back-n"`)
    base_rtt: Round trip of an empty path, that of the longest one; windows and utilisation are computed with it. 0 =
        the network's, as far as it is known. HPCC §3.2 (a duration with a unit, such as "40 us", from 0 s to 86400 s;
        default: `"0 s"`)
    rto: Time without any answer after which what is under way is taken for lost; 0 = three base round trips of the
        path, or its largest one if that is longer. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400
        s; default: `"0 s"`)
    rto_low: The same with selective repeat while no more than `few` packets are under way, `rto` at most; 0 = four base
        round trips of the path. IRN §3.1 (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0
        s"`)
    few: Packets under way up to which `rto_low` stands. IRN §3.1 (a whole number from 0 to 1000000; default: `3`)
    cap: Bytes of payload between the first packet that is missing and the last one sent, with selective repeat; 0 = a
        bandwidth-delay product. IRN §3.2 (bytes, such as 1500 or "1 MB", from 0 to 1099511627776; default: `0`)
    nack_interval: Time between two negative acknowledgements of the same packet, with go-back-N (a duration with a
        unit, such as "40 us", from 0 s to 86400 s; default: `"500 us"`)
    gamma: Weight of the new window. paper: 0.9. PowerTCP §3.4 (a number from 0.001 to 1; default: `0.7`)
    beta: What the window grows by, as a share of a bandwidth-delay product. paper: 0.01, that of 100 messages. PowerTCP
        §3.3 (a number from 0.0000001 to 1; default: `0.006`)
    target: Power that is taken for 1. paper: 1. PowerTCP §3.4 (a number from 0.01 to 2; default: `1.05`)
    min_rate: Lowest rate. paper: 1 Mbps (a rate with a unit, such as "10 Gbps", from 1 bps to 1000 Gbps; default: `"100
        Mbps"`)
    """
    keys = given(
        preset=preset,
        recovery=recovery,
        base_rtt=base_rtt,
        rto=rto,
        rto_low=rto_low,
        few=few,
        cap=cap,
        nack_interval=nack_interval,
        gamma=gamma,
        beta=beta,
        target=target,
        min_rate=min_rate,
    )
    return Transport("transports.powertcp_theta", {"name": "powertcp-theta", **keys})


def template(
    *,
    window: int | None = None,
) -> Transport:
    """A fixed window with an acknowledgement and a time-out for every packet: the one to copy (none).

    window: Packets sent and not acknowledged at most; 0 = one bandwidth-delay product of the pair (a whole number from
        0 to 1000000; default: `0`)
    """
    keys = given(
        window=window,
    )
    return Transport("transports.template", {"name": "template", **keys})
