"""Answers requests from this machine's own browser, about one directory, and changes nothing in it."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from threading import BoundedSemaphore, Lock, Timer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from headway.errors import HeadwayError

from .pages import Busy, Pages

HOST = "127.0.0.1"
CONNECTIONS = 32
# A request is sent within this time, and its answer taken within the other.
REQUEST_S = 10.0
ANSWER_S = 30.0
FULL = (
    b"HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\n"
    b"Connection: close\r\n\r\nToo many requests at once. Try again in a moment.\n"
)
# Nothing from elsewhere, and no page of elsewhere around it.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; form-action 'self'; base-uri 'none'"
)


class Server(ThreadingHTTPServer):
    """Serves the runs below a directory on the loopback interface; `port` 0 takes a free one."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, root: Path, port: int = 0) -> None:
        self.pages = Pages(root)
        self.places = BoundedSemaphore(CONNECTIONS)
        # Connections whose request is not there yet, the oldest first.
        self._asking: OrderedDict[socket, None] = OrderedDict()
        self._lock = Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Address of the list."""
        return f"http://{HOST}:{self.port}/"

    @property
    def names(self) -> tuple[str, str]:
        """Host names that a browser of this machine uses; another name belongs to a foreign page that points here."""
        return f"{HOST}:{self.port}", f"localhost:{self.port}"

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  (as its base declares)
        """Ignore errors of a browser that went away."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  (as its base declares)
        """As its base does, but no more connections at once than there are places.

        The one that has taken longest over its request gives way to a new one.
        """
        if not self.places.acquire(blocking=False) and not (self._cut_oldest() and self.places.acquire(timeout=1.0)):
            with suppress(OSError):
                request.settimeout(1.0)
                request.sendall(FULL)
            self.shutdown_request(request)
            return
        with self._lock:
            self._asking[request] = None
        super().process_request(request, client_address)

    def has_asked(self, request: socket) -> None:
        """The whole request of a connection is there."""
        with self._lock:
            self._asking.pop(request, None)

    def _cut_oldest(self) -> bool:
        """End the connection that has taken longest over its request; returns true if there is one."""
        with self._lock:
            if not self._asking:
                return False
            oldest, _ = self._asking.popitem(last=False)
        cut_off(oldest)
        return True

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """As its base does, and frees the place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.has_asked(request)
            self.places.release()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    timeout = ANSWER_S
    server_version = "headway"
    sys_version = ""

    def handle(self) -> None:
        """As its base does, but a request that is not there in time is not waited for."""
        clock = Timer(REQUEST_S, cut_off, [self.connection])
        clock.daemon = True
        clock.start()
        self._clock = clock
        try:
            super().handle()
        finally:
            clock.cancel()

    def do_GET(self) -> None:
        """A page, or the data that it follows."""
        self._answer(body=True)

    def do_HEAD(self) -> None:
        """The head of the answer that GET would give."""
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        self._clock.cancel()
        self.server.has_asked(self.connection)
        pages = self.server.pages
        status, kind = HTTPStatus.OK, "text/html"
        try:
            kind, make = self._wanted(pages)
            text = make()
        except _Refused as error:
            status, kind, text = error.status, "text/html", pages.error(error.status.phrase, str(error))
        except Busy:
            status, kind = HTTPStatus.SERVICE_UNAVAILABLE, "text/html"
            text = pages.error("Busy", "Other pages are being made. Try again in a moment.")
        except (HeadwayError, OSError) as error:
            # A file that is replaced while it is read is there again at the next request.
            status, kind = HTTPStatus.NOT_FOUND, "text/html"
            text = pages.error("Nothing to show", str(error))
        except Exception as error:
            # No results should lead here; if some do, the browser shows why and the server goes on.
            status, kind = HTTPStatus.INTERNAL_SERVER_ERROR, "text/html"
            text = pages.error("This page could not be made", f"{type(error).__name__}: {error}")
        self._send(status, kind, text, body=body)

    def _wanted(self, pages: Pages) -> tuple[str, Callable[[], str]]:
        if self.headers.get("Host", "") not in self.server.names:
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, f"this is {self.server.url}, and has no other name")
        try:
            parts = urlsplit(self.path)
        except ValueError as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, f"this is no address of a page: {error}") from None
        _, _, rest = parts.path.partition("/")
        name, _, path = rest.partition("/")
        path = unquote(path, errors="replace")
        makers: dict[str, tuple[str, Callable[[], str]]] = {
            "": ("text/html", pages.index),
            "state": ("application/json", pages.state),
            "watch": ("text/html", lambda: pages.watch(path)),
            "progress": ("application/json", lambda: pages.progress(path)),
            "report": ("text/html", lambda: pages.report(path)),
            "compare": ("text/html", lambda: self._comparison(pages, parts.query)),
        }
        if name not in makers:
            raise _Refused(HTTPStatus.NOT_FOUND, f"there is no page /{name}")
        return makers[name]

    @staticmethod
    def _comparison(pages: Pages, query: str) -> str:
        try:
            found = parse_qs(query, max_num_fields=4)
        except ValueError:
            raise _Refused(HTTPStatus.BAD_REQUEST, "a comparison takes a run and a reference, and no more") from None
        if not {"run", "reference"} <= set(found):
            raise _Refused(HTTPStatus.BAD_REQUEST, "a comparison takes a run and a reference")
        return pages.comparison(found["run"][0], found["reference"][0])

    def _send(self, status: HTTPStatus, kind: str, text: str, *, body: bool) -> None:
        # Names in results may hold bytes that are no text.
        data = text.encode(errors="replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: every request comes from the user's own browser."""


def cut_off(connection: socket) -> None:
    """End a connection, also while a thread waits for it."""
    with suppress(OSError):
        connection.shutdown(SHUT_RDWR)


class _Refused(Exception):
    """A request that is refused."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status
