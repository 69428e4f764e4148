"""The pages that the server sends: the list, a report with its progress, and a comparison of two runs."""

from __future__ import annotations

import json
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import BoundedSemaphore, Lock

from markupsafe import Markup

from headway.comparison import compare
from headway.layout import MANIFEST_FILE, SWEEP_FILE
from headway.reporting import page_text
from headway.reporting.page import asset, environment

from .found import entry_of, inside, look

KEPT = 8  # pages that are kept until what they show changes
WAITING = 8  # requests that may wait for a page to be made


class Busy(Exception):
    """Too many pages are being made."""


class Pages:
    """Pages about the runs below `root`. Those that take a while are made one at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._kept: OrderedDict[tuple[object, ...], str] = OrderedDict()
        self._making = Lock()
        self._places = BoundedSemaphore(WAITING)

    def index(self) -> str:
        """List of results, and a form that compares two runs."""
        found = look(self.root)
        return self._page(
            "view.html.j2", entries=[e.document() for e in found.entries], runs=found.runs, cut=found.cut, odd=found.odd
        )

    def state(self) -> str:
        """List of results as JSON, for pages that follow it."""
        found = look(self.root)
        return json.dumps({"entries": [entry.document() for entry in found.entries], "cut": found.cut})

    def watch(self, path: str) -> str:
        """A report below a line that says how far its sweep is."""
        folder = inside(self.root, path)
        entry = entry_of(self.root, folder)
        return self._page("watch.html.j2", entry=entry.document() if entry else {}, path=path)

    def progress(self, path: str) -> str:
        """Progress of a sweep, as JSON."""
        entry = entry_of(self.root, inside(self.root, path))
        return json.dumps(entry.document() if entry else {})

    def report(self, path: str) -> str:
        """The report of a run or a sweep."""
        folder = inside(self.root, path)
        return self._made(("report", folder, _stamp(folder)), lambda: page_text(folder))

    def comparison(self, run: str, reference: str) -> str:
        """Comparison of two runs."""
        ours, theirs = inside(self.root, run), inside(self.root, reference)

        def make() -> str:
            found = compare(ours, theirs)
            with tempfile.TemporaryDirectory(prefix="headway-view-") as folder:
                return found.page(Path(folder) / "page.html").read_text(encoding="utf-8")

        return self._made(("compare", ours, theirs, _stamp(ours), _stamp(theirs)), make)

    def error(self, title: str, text: str) -> str:
        """Page for an error."""
        return self._page("view_error.html.j2", title=title, text=text)

    def _page(self, template: str, **parts: object) -> str:
        css = Markup(asset("report.css") + asset("view.css"))
        return (
            environment().get_template(template).render(parts, root=self.root, css=css, script=Markup(asset("view.js")))
        )

    def _made(self, key: tuple[object, ...], make: Callable[[], str]) -> str:
        """A page that was kept, or is made now."""
        if not self._places.acquire(blocking=False):
            raise Busy
        try:
            with self._making:
                if key not in self._kept:
                    self._kept[key] = make()
                    while len(self._kept) > KEPT:
                        self._kept.popitem(last=False)
                self._kept.move_to_end(key)
                return self._kept[key]
        finally:
            self._places.release()


def _stamp(folder: Path) -> tuple[int, ...]:
    """Stamp that changes whenever results do: runs are written whole, and their manifest last."""
    files = (folder / SWEEP_FILE, folder / MANIFEST_FILE, folder / "claims.json")
    return tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)
