"""Keys of a scenario's `[report]` table. Checked when a scenario is loaded, long before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headway.data.toml import Document, Place
from headway.errors import ScenarioError, nearest
from headway.reporting.figures import NAMES, aliases

from .figures.kind import Facts
from .summaries import is_number, summary_names
from .wishes import never

KEYS = ("figure", "x", "y", "baseline", "notes")


def check_report(
    report: Mapping[str, Any],
    document: Document,
    sets: Sequence[str],
    swept: Callable[[], Iterable[str]],
    variants: Callable[[], Iterable[str]],
    resolved: Callable[[], Mapping[str, Any]],
) -> None:
    """Raise `ScenarioError` at the first key or value that no report understands.

    `report` is the table as loaded, with the overrides of `sets`; `swept` gives the keys that the sweep varies,
    `variants` the names of the variants, and `resolved` the scenario with every default.
    """
    _Check(report, document, sets).all(swept, variants)
    if "figure" in report:
        table = resolved()
        facts = Facts((), {}, (), runs="topology" in table, model="model" in table)
        if found := never(report, facts):
            _Check(report, document, sets).fail_figure(*found)


class _Check:
    def __init__(self, report: Mapping[str, Any], document: Document, sets: Sequence[str]) -> None:
        self._report = report
        self._document = document
        self._sets = sets

    def all(self, swept: Callable[[], Iterable[str]], variants: Callable[[], Iterable[str]]) -> None:
        """Keys first, then their values."""
        for key in self._report:
            if key not in KEYS:
                self._fail(f"key `{key}` has no effect: [report] does not use it", key, None, _hint(key, KEYS, KEYS))
        for name in self._texts("figure"):
            if name not in NAMES and name not in aliases():
                hint = _hint(name, (*NAMES, *aliases()), NAMES)
                self._fail(f"`report.figure`: no figure is called `{name}`", "figure", name, hint)
        for name in self._texts("y"):
            if not is_number(name):
                known = summary_names()
                self._fail(f"`report.y`: summary.json has no number `{name}`", "y", name, _hint(name, known, known))
        self._texts("notes")
        self._check_baseline(variants)
        self._check_x(swept)

    def fail_figure(self, name: str, reason: str) -> None:
        """Raise for a figure that can never be drawn."""
        self._fail(f"`report.figure`: `{name}` cannot be drawn: {reason}", "figure", name, "")

    def _check_baseline(self, variants: Callable[[], Iterable[str]]) -> None:
        if "baseline" not in self._report:
            return
        name, known = self._report["baseline"], list(variants())
        if not isinstance(name, str):
            self._fail("`report.baseline` takes a text", "baseline", name, "")
        if name not in known:
            hint = _hint(str(name), known, known) if known else "the scenario has no [variants]"
            self._fail(f"`report.baseline`: no variant is called `{name}`", "baseline", name, hint)

    def _check_x(self, swept: Callable[[], Iterable[str]]) -> None:
        if "x" not in self._report:
            return
        name = self._report["x"]
        if not isinstance(name, str):
            self._fail("`report.x` takes a text", "x", name, "")
        keys = list(swept())
        if name not in keys and name not in [key.rsplit(".", 1)[-1] for key in keys]:
            known = _hint(str(name), keys, keys) if keys else "[sweep] varies nothing"
            self._fail(f"`report.x`: the sweep does not vary `{name}`", "x", name, known)

    def _texts(self, key: str) -> list[str]:
        """The text, or list of texts, at `key`; none if it is not there."""
        value = self._report.get(key, [])
        items = value if isinstance(value, list) else [value]
        for item in items:
            if not isinstance(item, str):
                self._fail(f"`report.{key}` takes a text or a list of texts", key, item, "")
        return items

    def _fail(self, message: str, key: str, value: object, help_text: str) -> None:
        """At the value, or at the key if there is none to show."""
        origin, place = "", None
        overrides = [text for text in self._sets if text.split("=", 1)[0].strip() in (f"report.{key}", "report")]
        if overrides:
            origin = f"--set {overrides[-1]}"
        else:
            place = self._place(key, value)
        raise ScenarioError(self._document.diagnostic(message, place, help_text, origin))

    def _place(self, key: str, value: object) -> Place | None:
        path = ("report", key)
        found = self._document.value_at(path, value) if value is not None else None
        return found or self._document.key(path)


def _hint(name: str, known: Iterable[str], shown: Iterable[str]) -> str:
    """The nearest name, else all of them."""
    close = nearest(name, known, limit=1)
    return f"did you mean `{close[0]}`?" if close else f"it takes {', '.join(shown)}"
