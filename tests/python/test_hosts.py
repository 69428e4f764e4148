"""Messages between endpoints in Python, over real sockets on the loopback interface."""

from __future__ import annotations

import array
import asyncio
import gc
import math
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("headway.endpoints is for Linux", allow_module_level=True)

import headway
from headway.endpoints import (
    BindError,
    BlockingEndpoint,
    BlockingMessage,
    Closed,
    Endpoint,
    Message,
    NotAdmitted,
    Refused,
    SettingError,
    TimedOut,
    TooLong,
    errors,
)
from headway.endpoints.settings import Settings, texts
from headway.errors import HeadwayError
from support import LIMIT

LONG = float(LIMIT)
T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine, for a minute at most."""
    return asyncio.run(asyncio.wait_for(coroutine, LONG))


def reversing(server: BlockingEndpoint, count: int) -> threading.Thread:
    """A thread that answers so many requests with their bytes in reverse."""

    def serve() -> None:
        for _ in range(count):
            message = server.recv(timeout=LONG)
            assert message.wants_reply
            message.reply(bytes(message.data)[::-1], timeout=LONG)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("length", [0, 1, 100, 16_383, 16_384, 1_000_000])
def test_every_kind_of_buffer_arrives_and_comes_back(length: int) -> None:
    plain = bytes(i * 7 % 256 for i in range(length))
    kinds: list[Any] = [
        plain,
        bytearray(plain),
        memoryview(plain),
        memoryview(bytearray(plain)),
        array.array("B", plain),
    ]
    with BlockingEndpoint.bind() as server, BlockingEndpoint.bind() as client:
        serving = reversing(server, len(kinds) + 1)
        for data in kinds:
            reply = client.call(server.address, data, timeout=LONG)
            assert isinstance(reply, memoryview) and reply.readonly and reply == plain[::-1]
        # Larger items are sent as their bytes.
        numbers = array.array("d", range(length // 8))
        host, port = server.address.split(":")
        assert client.call((host, int(port)), numbers, timeout=LONG) == numbers.tobytes()[::-1]
        serving.join(LONG)
        assert client.stats()["messages_sent"] >= len(kinds)


def test_long_buffers_are_lent_and_given_back() -> None:
    with BlockingEndpoint.bind() as server, BlockingEndpoint.bind() as client:
        data = bytearray(1_000_000)
        client.send(server.address, data, timeout=LONG)
        until = time.monotonic() + LONG
        while True:
            try:
                data.append(1)  # refused for as long as the endpoint has the buffer
                break
            except BufferError:
                assert time.monotonic() < until
                client.stats()
        assert len(data) == 1_000_001
        assert len(server.recv(timeout=LONG).data) == 1_000_000


def test_views_outlive_messages_and_endpoints() -> None:
    server, client = BlockingEndpoint.bind(), BlockingEndpoint.bind()
    client.send(server.address, b"x" * 50_000, timeout=LONG)
    message = server.recv(timeout=LONG)
    view, peer = message.data, message.peer
    assert peer == client.address and not message.wants_reply
    assert server.memory_used() >= 50_000
    del message
    gc.collect()
    assert server.memory_used() >= 50_000
    server.close()
    client.close()
    assert view == b"x" * 50_000 and hash(view[:3]) == hash(b"xxx")


def test_what_cannot_be_is_said_by_type() -> None:
    cases: list[tuple[type[Exception], str, Settings]] = [
        (SettingError, "did you mean `homa`", {"transport": "homma"}),
        (SettingError, "a whole number from 256 to 9216", {"mtu": 1}),
        (SettingError, "takes a rate with a unit", {"rate": "25"}),
        (
            SettingError,
            "did you mean `transport.token_lifetime`",
            {"transport": "phost", "transport_params": {"token_lifetme": 1.0}},
        ),
        (SettingError, "excludes it", {"allow": ["10.0.0.0/8"], "key_file": Path("key")}),
    ]
    for kind, words, settings in cases:
        with pytest.raises(kind, match=re.escape(words)):
            BlockingEndpoint.bind(**settings)
    with pytest.raises(SettingError, match="did you mean `mtu`"):
        Endpoint.bind(mtuu=1500)  # type: ignore[call-arg]
    with pytest.raises(BindError, match="key_file"):
        BlockingEndpoint.bind("0.0.0.0:0")
    assert issubclass(SettingError, ValueError) and issubclass(BindError, OSError)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) == 18 and all(issubclass(kind, HeadwayError) for kind in kinds)
    with BlockingEndpoint.bind(message_bytes="1 kB") as endpoint:
        with pytest.raises(TooLong, match="1001 bytes"):
            endpoint.send(endpoint.address, bytes(1001))
        with pytest.raises(NotAdmitted):
            endpoint.call("8.8.8.8:9", b"?", timeout=LONG)
        with pytest.raises(TimedOut, match="no message"):
            endpoint.recv(timeout=0.01)
        with pytest.raises(TimeoutError):
            endpoint.recv(timeout=0)
        with pytest.raises(ValueError, match="is no address with a port"):
            endpoint.send("localhost", b"")
        with pytest.raises(TypeError, match="a peer is an address"):
            endpoint.send(7, b"")  # type: ignore[arg-type]
        for timeout in (-1.0, math.nan, -math.inf):
            with pytest.raises(ValueError, match="is no time"):
                endpoint.recv(timeout=timeout)
        with pytest.raises(TypeError):
            endpoint.send(endpoint.address, "text")  # type: ignore[arg-type]
        with pytest.raises(BufferError, match="one after another"):
            endpoint.send(endpoint.address, memoryview(b"abcdef")[::2])
    with pytest.raises(Closed):
        endpoint.stats()
    endpoint.close()


def test_a_peer_with_another_transport_refuses() -> None:
    with BlockingEndpoint.bind(transport="homa") as server, BlockingEndpoint.bind() as client:
        with pytest.raises(Refused, match=r"the peer speaks `homa`, this endpoint `amrt`"):
            client.call(server.address, b"?", timeout=LONG)
        assert server.stats()["handshakes_refused"] >= 1
        text = client.prometheus()
        assert f'headway_messages_failed_total{{endpoint="{client.address}"}} 1\n' in text


def test_a_thread_that_waits_lets_others_run_and_is_woken_by_close() -> None:
    endpoint = BlockingEndpoint.bind()
    seen: list[object] = []

    def wait() -> None:
        try:
            endpoint.recv()
        except Closed as closed:
            seen.append(closed)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.05)  # it waits, without the global lock
    assert waiting.is_alive()
    endpoint.close()
    waiting.join(LONG)
    assert len(seen) == 1


def test_messages_come_until_the_endpoint_is_closed() -> None:
    server, client = BlockingEndpoint.bind(), BlockingEndpoint.bind()
    found: list[bytes] = []

    def collect(message: BlockingMessage) -> None:
        found.append(bytes(message.data))
        if found[-1] == b"last":
            server.close()

    for data in (b"first", b"last"):
        client.send_nowait(server.address, data)
    for message in server:
        collect(message)
    assert sorted(found) == [b"first", b"last"]
    client.close()


def test_ctrl_c_ends_the_wait_of_the_main_thread() -> None:
    program = (
        "from headway.endpoints import BlockingEndpoint\n"
        "with BlockingEndpoint.bind() as endpoint:\n"
        "    try:\n"
        "        print('waits', flush=True)\n"
        "        endpoint.recv()\n"
        "    except KeyboardInterrupt:\n        print('interrupted')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == "waits\n"
        time.sleep(0.2)  # by now it most likely sleeps
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=LONG)
    finally:
        child.kill()
        child.communicate()
    assert (out, child.returncode) == ("interrupted\n", 0)


def test_hundreds_of_calls_at_once_find_their_own_replies() -> None:
    async def handler(message: Message) -> bytes:
        await asyncio.sleep(0)
        return bytes(message.data)[::-1]

    async def main() -> None:
        async with Endpoint.bind() as server, Endpoint.bind() as client:
            serving = asyncio.create_task(server.serve(handler))
            sent = [bytes((i * n) % 251 for i in range(37 * n)) for n in range(300)]
            replies = await asyncio.gather(*(client.call(server.address, data) for data in sent))
            assert [bytes(reply) for reply in replies] == [data[::-1] for data in sent]
            server.close()
            await serving
        assert server.address != client.address

    run(main())


def test_cancelled_waits_lose_nothing() -> None:
    async def main() -> None:
        async with Endpoint.bind() as server, Endpoint.bind() as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(server.recv(), 0.01)
            call = asyncio.create_task(client.call(server.address, b"given up"))
            first = await server.recv()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await first.reply(b"nobody waits")
            with pytest.raises(TimedOut):
                await client.call(server.address, b"never answered", timeout=0.02)
            await client.send(server.address, b"plain")
            received = {bytes((await server.recv()).data) for _ in range(2)}
            assert received == {b"never answered", b"plain"}
            reply = asyncio.create_task(client.call(server.address, b"again"))
            again = await server.recv()
            assert again.wants_reply and again.peer == client.address
            again.reply_nowait(b"!")
            assert bytes(await reply) == b"!"

    run(main())


def test_closing_fails_what_is_open() -> None:
    async def main() -> None:
        async with Endpoint.bind() as server, Endpoint.bind() as client:
            call = asyncio.create_task(client.call(server.address, b"?"))
            waiting = asyncio.create_task(client.recv())
            await server.recv()
            client.close()
            with pytest.raises(Closed):
                await call
            with pytest.raises(Closed):
                await waiting
            with pytest.raises(Closed):
                await client.send(server.address, b"late")
            assert [message async for message in client] == []

    run(main())


def test_a_handler_that_fails_ends_the_serving() -> None:
    async def handler(message: Message) -> None:
        raise LookupError(bytes(message.data))

    async def main() -> None:
        async with Endpoint.bind() as server, Endpoint.bind() as client:
            serving = asyncio.create_task(server.serve(handler))
            await client.send(server.address, b"key")
            with pytest.raises(ExceptionGroup) as caught:
                await serving
            assert caught.group_contains(LookupError, match="key")

    run(main())


def test_settings_are_those_of_the_library() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/real-hosts.md").read_text("utf-8")
    table = page.split("## Settings\n")[1].split("\n## ")[0]
    names = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert names | {"transport_params", "discipline_params"} == set(Settings.__annotations__)
    given: Settings = {"transport": "tcp", "transport_params": {"sack": True}, "allow": ["10.0.0.0/8", "10.1.0.0/16"]}
    assert texts(given) == [("transport", "tcp"), ("transport.sack", "true"), ("allow", "10.0.0.0/8, 10.1.0.0/16")]


def test_the_function_for_a_table_of_scenarios_keeps_its_name() -> None:
    assert headway.hosts(jitter="1 us") is not None
    with pytest.raises(AttributeError, match="no attribute 'Endpont'"):
        headway.endpoints.Endpont  # noqa: B018


def test_messages_travel_over_ipv6() -> None:
    try:
        server = BlockingEndpoint.bind("[::1]:0")
    except BindError:
        pytest.skip("this kernel has no IPv6")
    with server, BlockingEndpoint.bind("[::1]:0") as client:
        serving = reversing(server, 1)
        assert bytes(client.call(server.address, b"stressed", timeout=LONG)) == b"desserts"
        serving.join(LONG)
        with pytest.raises(NotAdmitted, match="sends to IPv4 addresses"):
            client.send("127.0.0.1:9", b"x", timeout=LONG)


def test_two_addresses_are_two_paths_that_come_and_go() -> None:
    settings: Settings = {"transport": "proactmp", "addresses": ["127.0.0.2"]}
    with BlockingEndpoint.bind(**settings) as server, BlockingEndpoint.bind(**settings) as client:
        began = time.monotonic()
        while [path["state"] for path in client.paths()] != ["open", "open"]:
            client.send(server.address, bytes(300_000), timeout=LONG)
            assert len(server.recv(timeout=LONG).data) == 300_000
            assert time.monotonic() < began + LONG, client.paths()
        first, second = client.paths()
        assert (first["peer"], second["peer"]) == (server.address, server.address)
        assert str(second["local"]).startswith("127.0.0.2:")
        assert isinstance(second["round_trip"], float) and second["mtu"] == 1500
        assert 'headway_path_open{endpoint="' in client.prometheus()
        client.remove_address(str(second["local"]))
        # The server has two addresses still.
        assert {path["local"] for path in client.paths()} == {client.address}
        with pytest.raises(BindError, match="is none of the endpoint's addresses"):
            client.remove_address(str(second["local"]))
        with pytest.raises(BindError, match="last address"):
            client.remove_address(client.address)
        assert client.add_address("127.0.0.3").startswith("127.0.0.3:")
        with pytest.raises(ValueError, match="is no address"):
            client.add_address("nowhere")
