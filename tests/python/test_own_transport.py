"""Transports written in Python: the same runs as their twins in Rust, mistakes that are errors, and promises kept."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import headway
from headway import Host, Message, Packet, Scenario
from headway.templates.transport import Template
from headway.transport import class_name

NETWORK = headway.dumbbell(senders=3, receivers=3, rate="10 Gbps", delay="2 us", bottleneck_rate="5 Gbps")
FLOWS = [headway.flow(src=n, dst=3 + n % 2, bytes=40_000 + 7_001 * n, start=f"{n} us") for n in range(3)]


def scenario(transport: str | type[headway.Transport], **keys: object) -> Scenario:
    """Three flows that lose packets at a small buffer."""
    return headway.scenario(
        topology=NETWORK,
        transport=transport,
        fabric=headway.fabric(buffer="12 packets"),
        traffic=headway.flows(flows=FLOWS),
        **keys,  # type: ignore[arg-type]
    )


class Mine(Template):
    """The template under another name, for mistakes."""


def test_the_template_is_its_twin_in_rust_event_by_event() -> None:
    for sets in ({}, {"transport.window": 7}, {"traffic.0.stop": "60 us"}, {"fabric.buffer": "100 packets"}):
        name = {"transport.name": "template"}
        twin = Scenario.from_text(scenario(Mine).text, sets={**name, **sets}).run()
        own = Scenario.from_text(scenario(Mine).text, sets=sets, transports={"mine": Mine}).run()
        assert own.manifest["order_digest"] == twin.manifest["order_digest"], sets
        assert (
            own.flows.to_polars()
            .drop("transport", strict=False)
            .equals(twin.flows.to_polars().drop("transport", strict=False))
        )
        assert own.manifest["events"] == twin.manifest["events"]


def test_random_messages_at_a_load_are_those_of_the_twin() -> None:
    def at(transport: str | type[headway.Transport]) -> headway.Run:
        return headway.scenario(
            topology=headway.leaf_spine(racks=2, hosts_per_rack=3, spines=2, host_rate="10 Gbps", host_delay="1 us"),
            transport=transport,
            fabric=headway.fabric(buffer="20 packets"),
            traffic=headway.poisson(cdf="homa_w3_google_all", load=0.8, flows=150),
            seed=4,
        ).run()

    assert at(Mine).manifest["order_digest"] == at("template").manifest["order_digest"]


def test_it_shares_hosts_with_transports_of_the_registry() -> None:
    both = headway.scenario(
        topology=NETWORK,
        traffic=[
            headway.flows(flows=FLOWS, transport={"name": "own", "window": 6}),
            headway.flows(flows=[headway.flow(src=0, dst=3, bytes=90_000)], transport="dctcp"),
        ],
        fabric=headway.fabric(discipline=headway.disciplines.ecn_threshold(threshold=20)),
        transports={"own": Mine},
    )
    run = both.run()
    assert run.summary["flows_done"] == 4
    assert both.own_transports == ["own"]
    assert both.resolved["transports"][0]["window"] == 6


def test_the_template_keeps_every_promise() -> None:
    headway.check(Template, seeds=60)


class Forgetful(Template):
    """Completes each message a second time when its last packet comes again."""

    def data(self, packet: Packet) -> None:
        self.finished.discard((packet.src, packet.message))
        super().data(packet)


class Eager(Template):
    """Sends everything at once."""

    def open(self, now: int, message: Message) -> None:
        super().open(now, message)
        out = self.sending[message.dst, message.id]
        while out.next < out.packets:
            self.ready.append((message.dst, message.id, out.next, 0))
            out.next += 1


class Deaf(Template):
    """Never sends a packet again."""

    def expired(self, now: int, at: int, key: tuple[int, int, int, int]) -> None:
        if key[3] == 0:
            super().expired(now, at, key)


class Typo(Template):
    """Fails at its first acknowledgement."""

    def ack(self, packet: Packet) -> None:
        raise KeyError(packet.index)


@pytest.mark.parametrize(
    ("wrong", "broken"),
    [
        (Forgetful, r"DeliveredTooMuch|CompletedAgain"),
        (Eager, "Unauthorised"),
        (Deaf, "Hang"),
        (Typo, "KeyError"),
    ],
)
def test_broken_promises_are_found_and_made_small(wrong: type[Template], broken: str) -> None:
    with pytest.raises(headway.HeadwayError, match=broken) as found:
        headway.check(wrong, seeds=60)
    assert "smallest plan" in str(found.value)


def test_an_exception_ends_the_run_with_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(headway.HeadwayError) as found:
        scenario(Typo).run(tmp_path / "run")
    text = str(found.value)
    assert "`receive` of transport `typo` at host 0, at " in text
    assert "raise KeyError(packet.index)" in text
    assert Path(__file__).name in text
    assert isinstance(found.value.__cause__, KeyError)
    assert not (tmp_path / "run" / "manifest.json").exists()


class Wrong(Template):
    """Transport whose answers a test sets."""

    answer: object = None
    field: tuple[str, int] | None = None

    def poll_data(self, now: int) -> Packet | None:
        packet = super().poll_data(now)
        if packet is not None and self.field is not None:
            setattr(packet, *self.field)
        return packet if packet is None or self.answer is None else self.answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("field", "answer", "message"),
    [
        (("tag", 99), None, "there is no flow 99"),
        (("src", 4), None, "it comes from host 4"),
        (("dst", 1), None, "its flow goes from host 0 to host 3"),
        (("wire", 0), None, "no bytes on the wire"),
        (("index", 2**33), None, "OverflowError"),
        (None, 7, "a Packet or None, and answered 7"),
    ],
)
def test_packets_that_cannot_be_are_errors(field: tuple[str, int] | None, answer: object, message: str) -> None:
    class Here(Wrong):
        pass

    Here.field, Here.answer = field, answer
    with pytest.raises(headway.HeadwayError, match=message):
        scenario(Here).run()


class Stuck(Template):
    """Its deadline never moves."""

    def next_timeout(self) -> int | None:
        return 0


class Twice(Template):
    """Says twice that a message is complete."""

    def data(self, packet: Packet) -> None:
        super().data(packet)
        if (packet.src, packet.message) in self.finished:
            self.events.append(headway.Event.completed(packet))


class Mute(headway.Transport):
    """Has none of the methods that a transport needs."""


class Broken(Template):
    """Cannot be made."""

    def __init__(self, host: Host, **parameters: bool | int | float) -> None:
        raise ValueError("no host today")


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        (Stuck, "time cannot go on"),
        (Twice, "complete a second time"),
        (Mute, "Mute has no `open`"),
        (Broken, "could not make the machine of host 0"),
    ],
)
def test_machines_that_cannot_be_are_errors(transport: type[headway.Transport], message: str) -> None:
    with pytest.raises(headway.HeadwayError, match=message):
        scenario(transport).run()


def test_names_parameters_and_disciplines_are_checked() -> None:
    assert class_name(Template) == "template"
    with pytest.raises(headway.HeadwayError, match="there is a transport called `template` already"):
        scenario(Template)
    with pytest.raises(headway.ScenarioError, match="did you mean `window`"):
        Scenario.from_text(scenario(Mine).text, sets={"transport.windo": 3}, transports={"mine": Mine})
    with pytest.raises(headway.ScenarioError, match="whole number"):
        Scenario.from_text(scenario(Mine).text, sets={"transport.window": 0.5}, transports={"mine": Mine})
    with pytest.raises(headway.ScenarioError, match="there is no transport `mine`"):
        Scenario.from_text(scenario(Mine).text)

    class Elsewhere(Template):
        discipline = "drop-tale"

    with pytest.raises(headway.ScenarioError, match="did you mean `drop-tail`"):
        scenario(Elsewhere)

    class Odd(Template):
        parameters = {"window": "seven"}  # type: ignore[dict-item]  # noqa: RUF012

    with pytest.raises(TypeError, match="a parameter is a bool, an int from 0, or a float"):
        scenario(Odd)


def test_what_needs_other_processes_or_threads_says_so(tmp_path: Path) -> None:
    mine = scenario(Mine)
    with pytest.raises(headway.HeadwayError, match="one thread"):
        mine.run(threads=2)
    assert mine.run(threads="auto").summary["flows_done"] == 3
    assert headway.sweep(mine, tmp_path / "sweep").failed == {}


def test_runs_are_told_apart_by_the_text_of_the_class_and_are_not_kept(tmp_path: Path) -> None:
    class Other(Mine):
        """Another text."""

    one, other = scenario(Mine), Scenario.from_text(scenario(Mine).text, transports={"mine": Other})
    assert one.digest != other.digest
    assert not one.run(tmp_path / "a").reused
    assert not one.run(tmp_path / "b").reused
    again = pickle.loads(pickle.dumps(one))
    assert again.digest == one.digest
    assert again.run().summary == one.run().summary
    assert headway.read(tmp_path / "a").summary["flows_done"] == 3


def test_a_sweep_runs_point_by_point(tmp_path: Path) -> None:
    varied = scenario(
        "template", transports={"mine": Mine}, variants={"rust": {}, "python": {"transport.name": "mine"}}
    )
    runs = {point.variant: varied.at(point).run() for point in varied.points()}
    assert runs["rust"].manifest["order_digest"] == runs["python"].manifest["order_digest"]
