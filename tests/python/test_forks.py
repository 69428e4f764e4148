"""An endpoint belongs to the process that bound it: forked children get an error at once, and do no harm to it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("headway.endpoints is for Linux", allow_module_level=True)

from headway.endpoints import BlockingEndpoint, Closed, Endpoint, Forked
from support import LIMIT

LONG = float(LIMIT)


def sockets() -> list[str]:
    """The sockets that this process has open."""
    found = []
    for fd in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(fd.readlink()))
        except FileNotFoundError:  # the one of the list itself
            continue
    return sorted(link for link in found if link.startswith("socket:"))


def forked(work: Callable[[], None]) -> None:
    """Runs something in a forked child, which must end well within the limit."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    ended = time.monotonic() + LONG
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > ended:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the forked child does not end")
        time.sleep(0.005)
    assert os.waitstatus_to_exitcode(found[1]) == 0


class Serving:
    """A server in a thread, which reverses requests until it is closed."""

    def __init__(self, **settings: str) -> None:
        self.endpoint = BlockingEndpoint.bind(**settings)  # type: ignore[arg-type]
        self.address = self.endpoint.address
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for message in self.endpoint:
            message.reply_nowait(bytes(message.data)[::-1])

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.endpoint.close()
        self._thread.join(LONG)


@pytest.fixture
def key(tmp_path: Path) -> str:
    """A file with a key that hosts share, so that datagrams are sealed."""
    path = tmp_path / "key"
    path.write_text("7" * 63 + "8", "ascii")
    path.chmod(0o600)
    return str(path)


def test_every_call_in_a_forked_child_is_an_error_of_its_own_and_closing_closes_there_alone(key: str) -> None:
    with Serving(key_file=key) as server, BlockingEndpoint.bind(key_file=key) as client:
        assert bytes(client.call(server.address, b"abc", timeout=LONG)) == b"cba"
        client.send(client.address, b"to itself", timeout=LONG)
        kept = client.recv(timeout=LONG)
        # A message counts as sent once it is acknowledged, which on a busy machine is later than its reply.
        end = time.monotonic() + LONG
        while client.stats()["messages_sent"] < 2 and time.monotonic() < end:
            time.sleep(0.01)
        before = client.stats()

        def child() -> None:
            calls: list[Callable[[], object]] = [
                lambda: client.send(server.address, b"x"),
                lambda: client.send_nowait(server.address, b"x" * 20_000),
                lambda: client.call(server.address, b"x"),
                client.recv,
                lambda: next(iter(client)),
                client.stats,
                client.prometheus,
                client.memory_used,
                lambda: kept.reply(b"x"),
                lambda: kept.reply_nowait(b"x"),
            ]
            for call in calls:
                with pytest.raises(Forked, match="belongs to the process that bound it"):
                    call()
            assert bytes(kept.data) == b"to itself" and client.address
            held = sockets()
            client.close()
            assert len(sockets()) == len(held) - 1
            client.close()
            assert len(sockets()) == len(held) - 1
            with pytest.raises(Closed):
                client.send(server.address, b"x")
            # The server's threads stayed in the parent; nothing here waits for them.
            server.endpoint.close()
            assert len(sockets()) == len(held) - 2
            with BlockingEndpoint.bind(key_file=key) as own:
                assert bytes(own.call(server.address, b"child", timeout=LONG)) == b"dlihc"

        forked(child)
        after = client.stats()
        assert after["messages_sent"] == before["messages_sent"]
        for n in range(20):
            text = b"%d and on" % n
            assert bytes(client.call(server.address, text, timeout=LONG)) == text[::-1]
        assert client.stats()["dropped_forged"] == 0


def test_a_child_that_leaves_the_endpoint_to_its_interpreter_ends_quietly() -> None:
    program = (
        "import os, sys\n"
        "from headway.endpoints import BlockingEndpoint\n"
        "endpoint = BlockingEndpoint.bind()\n"
        "child = os.fork()\n"
        "if child == 0:\n    sys.exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "endpoint.send(endpoint.address, b'on', timeout=30)\n"
        "print(bytes(endpoint.recv(timeout=30).data))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("7\nb'on'\n", "", 0)


def _worker(inherited: BlockingEndpoint, server: str, results: multiprocessing.SimpleQueue[str]) -> None:
    try:
        inherited.call(server, b"x")
    except Forked as error:
        results.put(type(error).__name__)
    with BlockingEndpoint.bind() as own:
        results.put(bytes(own.call(server, b"own", timeout=LONG)).decode())


def test_workers_of_multiprocessing_bind_their_own() -> None:
    context = multiprocessing.get_context("fork")
    with Serving() as server, BlockingEndpoint.bind() as client:
        client.call(server.address, b"before", timeout=LONG)
        results = context.SimpleQueue()
        workers = [context.Process(target=_worker, args=(client, server.address, results)) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(LONG)
            assert worker.exitcode == 0
        found = sorted(results.get() for _ in range(6))
        assert found == ["Forked"] * 3 + ["nwo"] * 3
        assert bytes(client.call(server.address, b"after", timeout=LONG)) == b"retfa"


def test_a_pre_forking_server_serves_with_an_endpoint_of_each_worker() -> None:
    shared = BlockingEndpoint.bind()
    workers, read, write = [], *os.pipe()
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with pytest.raises(Forked):
                    shared.recv()
                with BlockingEndpoint.bind() as own:
                    os.write(write, f"{own.address}\n".encode())
                    for message in own:
                        message.reply(str(os.getpid()).encode(), timeout=LONG)
                        if bytes(message.data) == b"last":
                            break
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        workers.append(child)
    os.close(write)
    with os.fdopen(read) as lines:
        addresses = [lines.readline().strip() for _ in workers]
    served = {bytes(shared.call(address, b"who", timeout=LONG)) for address in addresses}
    served |= {bytes(shared.call(address, b"last", timeout=LONG)) for address in addresses}
    assert served == {str(worker).encode() for worker in workers}
    for worker in workers:
        assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == 0
    shared.close()


def test_a_program_that_is_started_inherits_nothing_and_the_endpoint_goes_on() -> None:
    program = (
        "import os\n"
        "links = (f'/proc/self/fd/{fd}' for fd in os.listdir('/proc/self/fd'))\n"
        "print(sum(os.readlink(link).startswith('socket:') for link in links if os.path.islink(link)))\n"
    )
    command = [sys.executable, "-c", program]
    without = subprocess.run(command, capture_output=True, text=True, close_fds=False, check=True).stdout
    with Serving() as server, BlockingEndpoint.bind() as client:
        client.call(server.address, b"before", timeout=LONG)
        for options in ({"close_fds": False}, {"close_fds": True}, {"preexec_fn": lambda: None, "close_fds": False}):
            found = subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout
            assert found == without
            assert bytes(client.call(server.address, b"after", timeout=LONG)) == b"retfa"


def test_a_child_does_not_take_the_endpoint_of_a_loop_from_its_parent() -> None:
    async def use(endpoint: Endpoint, peer: str) -> None:
        for wait in (endpoint.recv(), endpoint.send(peer, b"x"), endpoint.call(peer, b"x")):
            with pytest.raises(Forked):
                await wait
        with pytest.raises(Forked):
            async for _ in endpoint:
                pass
        endpoint.close()
        async with Endpoint.bind() as own:
            assert bytes(await own.call(peer, b"own", timeout=LONG)) == b"nwo"

    async def main() -> None:
        with Serving() as server:
            async with Endpoint.bind() as endpoint:
                assert bytes(await endpoint.call(server.address, b"before", timeout=LONG)) == b"erofeb"

                def child() -> None:
                    # The loop of the parent is still the running one of this thread.
                    asyncio.events._set_running_loop(None)
                    asyncio.run(use(endpoint, server.address))

                forked(child)
                assert bytes(await endpoint.call(server.address, b"after", timeout=LONG)) == b"retfa"

    asyncio.run(asyncio.wait_for(main(), LONG))
