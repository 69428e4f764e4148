"""Choices that a paper leaves open, as its ledger declares them: `[[choice]]` tables, and the overrides each value
stands for.

A choice is joint: one value of it governs every transport and every figure of the paper. At its default it overrides
nothing, so that the scenarios as they are written are one reading of the paper.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from headway import _headway
from headway.claims.formula import Formula, FormulaError, LongestPath, formula
from headway.claims.tables import Source, TableReader, near, read_document, read_text
from headway.data.point import Point
from headway.errors import HeadwayError, nearest
from headway.layout import AS_STATED
from headway.loading import Scenario, assignments

Value = str | int | float | bool

REQUIRED: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "question": (str,),
    "default": (str, int, float, bool),
    "evidence": (str, dict),
    "natural": (str,),
    "set": (list,),
}
OPTIONAL: Mapping[str, tuple[type, ...]] = {
    "values": (list,),
    "range": (list,),
    "scale": (str,),
    "unit": (str,),
    "scope": (list,),
    "excludes": (list,),
    "joint": (bool,),
    "refines": (str,),
    "costly": (bool,),
}
# Naturalness of reading a paper so, the most natural first.
NATURAL = ("usual", "plausible", "strained")
SCALES = ("linear", "log")
SILENT = "silent"


@dataclass(frozen=True)
class Setting:
    """Overrides of a choice: for these transports, or every run; at one value, or every value but the default."""

    transports: tuple[str, ...]
    at: Value | None
    overrides: Mapping[str, Value | Formula]

    def applies(self, value: Value, transport: str) -> bool:
        """True if it affects a run."""
        return (not self.transports or transport in self.transports) and self.at in (None, value)

    def facts(self) -> dict[str, Any]:
        """Its effect, as it is written."""
        written = {key: v.expression.text if isinstance(v, Formula) else v for key, v in self.overrides.items()}
        return {"transports": self.transports, "at": self.at, "overrides": written}


@dataclass(frozen=True)
class Exclusion:
    """Another choice that goes not together with this one: at one of its values, or at any but its default."""

    choice: str
    value: Value | None
    at: Value | None


@dataclass(frozen=True)
class Choice:
    """Something that a paper does not say, or says in two ways, and that runs cannot do without."""

    id: str
    question: str
    default: Value
    values: tuple[Value, ...]
    span: tuple[float, float] | None
    scale: str
    unit: str
    scope: tuple[str, ...]
    place: str
    quotation: str
    natural: str
    excludes: tuple[Exclusion, ...]
    joint: bool
    refines: str
    costly: bool
    settings: tuple[Setting, ...] = field(repr=False)

    @property
    def silent(self) -> bool:
        """True if the paper says nothing about it."""
        return not self.quotation

    @property
    def degrees(self) -> int:
        """Degrees of freedom that a value off the default costs."""
        return 1 if self.joint else 2

    def in_scope(self, scenario: str) -> bool:
        """True if it affects a scenario."""
        return not self.scope or scenario in self.scope

    def grid(self, levels: int) -> tuple[Value, ...]:
        """Its values, or `levels` of a range, the ends among them; the default is always there."""
        if self.span is None:
            return self.values
        points = [self.within(i / (levels - 1)) for i in range(levels)]
        return tuple(sorted({*points, float(self.default)}))

    def within(self, share: float) -> float:
        """The value that lies at a share of the range's length, on its scale."""
        assert self.span is not None
        low, high = self.span
        if self.scale == "log":
            return _rounded(low * (high / low) ** share)
        return _rounded(low + (high - low) * share)

    def middle(self, low: float, high: float) -> float:
        """The value halfway between two, on its scale."""
        return _rounded((low * high) ** 0.5 if self.scale == "log" else (low + high) / 2.0)

    def show(self, value: Value) -> str:
        """A value in words."""
        text = _short(value)
        return f"{text} {self.unit}".strip()

    def sets(self, value: Value, transport: str, path: LongestPath | None) -> dict[str, Value]:
        """The overrides of a run under a value of this choice."""
        if value == self.default:
            return {}
        found: dict[str, Value] = {}
        for setting in self.settings:
            if setting.applies(value, transport):
                for key, written in setting.overrides.items():
                    full, kind = _key(key, transport)
                    found[full] = written.value(value, path, kind) if isinstance(written, Formula) else written
        return found


def _rounded(value: float) -> float:
    """Few enough digits to be written down and read again."""
    return float(f"{value:.4g}")


@dataclass(frozen=True)
class Reading:
    """A value for each choice that is not at its default, in the order of the ledger."""

    values: tuple[tuple[str, Value], ...] = ()

    @property
    def key(self) -> str:
        """Name of the reading: `first-window=0.5, paths=spray`."""
        shown = (f"{name}={_short(value)}" for name, value in self.values)
        return ", ".join(shown) or AS_STATED

    def of(self, choice: Choice) -> Value:
        """The value of a choice in it."""
        return dict(self.values).get(choice.id, choice.default)


def _short(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Choices:
    """The choices of a ledger."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self.all = tuple(choices)
        self._by_id = {choice.id: choice for choice in choices}

    def __getitem__(self, name: str) -> Choice:
        return self._by_id[name]

    def __len__(self) -> int:
        return len(self.all)

    def about(self, scenario: str) -> tuple[Choice, ...]:
        """Choices whose scope includes a scenario."""
        return tuple(choice for choice in self.all if choice.in_scope(scenario))

    def reading(self, values: Mapping[str, Value]) -> Reading:
        """The reading with these values; raises `HeadwayError` for a choice or a value that is not declared."""
        for name, value in values.items():
            self._check(name, value)
        kept = ((c.id, values[c.id]) for c in self.all if values.get(c.id, c.default) != c.default)
        return Reading(tuple(kept))

    def parse(self, texts: Iterable[str]) -> Reading:
        """A reading from `choice=value` texts."""
        values: dict[str, Value] = {}
        for text in texts:
            name, equals, written = text.partition("=")
            if not equals:
                raise HeadwayError(f"{text!r} is no CHOICE=VALUE, such as {self._example()}")
            values[name.strip()] = self._value(name.strip(), written.strip())
        return self.reading(values)

    def _example(self) -> str:
        first = self.all[0] if self.all else None
        return f"{first.id}={_short(first.grid(3)[0])}" if first else "first-window=0.5"

    def _value(self, name: str, written: str) -> Value:
        choice = self._known(name)
        if choice.span is not None:
            try:
                return float(written)
            except ValueError:
                raise HeadwayError(f"{name} takes a number, not {written!r}") from None
        return next((value for value in choice.values if written in (_short(value), str(value))), written)

    def _known(self, name: str) -> Choice:
        if name not in self._by_id:
            close = nearest(name, self._by_id)
            hint = f"; nearest: {', '.join(close)}" if close else ""
            raise HeadwayError(f"no choice {name!r} is declared{hint} (there are: {', '.join(self._by_id) or 'none'})")
        return self._by_id[name]

    def _check(self, name: str, value: Value) -> None:
        choice = self._known(name)
        if choice.span is None:
            if value not in choice.values:
                known = ", ".join(map(_short, choice.values))
                raise HeadwayError(f"{name} has no value {value!r}; its values: {known}")
            return
        low, high = choice.span
        if isinstance(value, str) or not low <= float(value) <= high:
            raise HeadwayError(f"{name} is {value!r}, outside {low:g} to {high:g}")

    def degrees(self, reading: Reading) -> int:
        """Degrees of freedom that a reading takes."""
        return sum(self[name].degrees for name, _ in reading.values)

    def strain(self, reading: Reading) -> int:
        """Distance of a reading from a natural one, over its choices; 0 if all are usual."""
        return sum(NATURAL.index(self[name].natural) for name, _ in reading.values)

    def conflict(self, reading: Reading) -> str:
        """Why a reading makes no sense, or nothing."""
        off = dict(reading.values)
        for name, value in reading.values:
            for other in self[name].excludes:
                there = other.choice in off and other.value in (None, off[other.choice])
                if there and other.at in (None, value):
                    return f"{name}={_short(value)} excludes {other.choice}={_short(off[other.choice])}"
        return ""

    def sets(self, reading: Reading, scenario: str, point: Scenario) -> list[str]:
        """The overrides of one run under a reading; raises `HeadwayError` for two choices that set one key apart."""
        if not reading.values:
            return []
        path = LongestPath.of(point.longest_path)
        resolved = point.settled
        found = _Overrides()
        chosen = sorted(reading.values, key=lambda one: bool(self[one[0]].refines))
        for name, value in chosen:
            if self[name].in_scope(scenario):
                for transport in transports_of(resolved):
                    found.add(self[name], transport, self[name].sets(value, transport, path))
        return assignments(found.keys(resolved, shared=point.shares_transport))

    def check(self, name: str, scenario: Scenario) -> None:
        """Load the scenario at the values of every choice; raises `HeadwayError` for one that it cannot take."""
        if not self.about(name):
            return
        first: dict[str, Point] = {}
        for point in scenario.points():
            first.setdefault(point.variant, point)
        stated = [(point, scenario.at(point)) for point in first.values()]
        for choice in self.about(name):
            for value in choice.grid(2):
                self._check_value(choice, value, name, scenario, stated)

    def _check_value(
        self, choice: Choice, value: Value, name: str, scenario: Scenario, stated: Iterable[tuple[Point, Scenario]]
    ) -> None:
        reading = self.reading({choice.id: value})
        for point, run in stated:
            try:
                sets = self.sets(reading, name, run)
                if sets:
                    scenario.at(replace(point, sets=(*point.sets, *sets)))
            except HeadwayError as error:
                text = f"the choice {choice.id} at {choice.show(value)}, variant {point.variant}: {error}"
                raise HeadwayError(text) from None

    def show(self, reading: Reading) -> str:
        """A reading in words."""
        shown = [f"{name} {self[name].show(value)}" for name, value in reading.values]
        return ", ".join(shown) or AS_STATED


class _Overrides:
    """Settings of a reading: keys of the scenario, and parameters of each of its transports."""

    def __init__(self) -> None:
        self._keys: dict[str, Value] = {}
        self._params: dict[str, dict[str, Value]] = {}
        self._by: dict[tuple[str, str], str] = {}

    def add(self, choice: Choice, transport: str, wanted: Mapping[str, Value]) -> None:
        """Add the settings of a choice; raises `HeadwayError` if another has set it to something else.

        What a choice refines comes before it, and gives way to it.
        """
        for key, value in wanted.items():
            param = key.removeprefix("transport.")
            of = transport if param != key else ""
            table: dict[str, Value] = self._params.setdefault(transport, {}) if of else self._keys
            by = self._by.get((of, param), "")
            if table.get(param, value) != value and by != choice.refines:
                raise HeadwayError(f"the choices {by} and {choice.id} both set {key}, to different values")
            table[param], self._by[of, param] = value, choice.id

    def keys(self, resolved: Mapping[str, Any], *, shared: bool) -> dict[str, Any]:
        """As overrides of the scenario; `shared` says whether it has a transport for all of its traffic.

        Where entries of traffic have transports of their own, each gets the whole table of its transport; of two that
        are of one name with different parameters, which are written as tables, only the parameter is set.
        """
        several = resolved.get("transports")
        if shared and not several:
            params = next(iter(self._params.values()), {})
            return {**{f"transport.{param}": value for param, value in params.items()}, **self._keys}
        found: dict[str, Any] = dict(self._keys)
        for index, entry in enumerate(resolved["traffic"]):
            # Flows of the kernel have no parameters of a transport.
            if entry.get("stack") == "kernel":
                continue
            own = self._params.get(str(entry["transport"]), {})
            alike = [one for one in several or [resolved["transport"]] if one["name"] == entry["transport"]]
            key = f"traffic.{index}.transport"
            if own and len(alike) == 1:
                found[key] = {**alike[0], **own}
            elif own:
                found |= {f"{key}.{param}": value for param, value in own.items()}
        return found


def transports_of(resolved: Mapping[str, Any]) -> list[str]:
    """The transports of a run, each once."""
    several = resolved.get("transports") or [resolved["transport"]]
    return list(dict.fromkeys(str(one["name"]) for one in several))


@cache
def _parameters() -> Mapping[str, Mapping[str, str]]:
    """Every transport, and the source of each of its parameters."""
    listed = json.loads(_headway.catalogue("transports"))
    return {entry["name"]: {one["name"]: one["kind"] for one in entry["params"]} for entry in listed}


def _kinds(transport: str) -> Mapping[str, str]:
    """Kinds of a transport's parameters."""
    return _parameters().get(transport, {})


def _key(key: str, transport: str) -> tuple[str, str]:
    """The scenario's key that an override means, and the kind of its value where a transport declares it."""
    if "." in key:
        return key, _kinds(transport).get(key.removeprefix("transport."), "")
    return f"transport.{key}", _kinds(transport).get(key, "")


def load_choices(path: Path) -> Choices:
    """The choices of a ledger; raises `ClaimsError` at the line of the first mistake."""
    return _choices(path, read_text(path)) if path.exists() else Choices([])


@lru_cache(maxsize=32)
def _choices(path: Path, text: str) -> Choices:
    """The choices of a ledger's text: every claim of a list asks for them."""
    document, source = read_document(path, text)
    read: list[Choice] = []
    for index, entry in enumerate(document.get("choice", [])):
        read.append(_Reader(source, index, entry, {choice.id for choice in read}).choice())
    known = {choice.id: choice for choice in read}
    for index, choice in enumerate(read):
        for other in choice.excludes:
            if other.choice not in known or other.choice == choice.id:
                text = f"'excludes' names no other choice '{other.choice}'{near(other.choice, known)}"
                raise source.error("choice", index, "excludes", text)
        coarse = known.get(choice.refines)
        if choice.refines and (coarse is None or coarse.refines or coarse.id == choice.id):
            text = f"'refines' names another choice, which refines none itself{near(choice.refines, known)}"
            raise source.error("choice", index, "refines", text)
        if choice.refines and choice.joint:
            text = "a choice that refines another treats transports differently: joint = false"
            raise source.error("choice", index, "refines", text)
    return Choices(read)


class _Reader(TableReader):
    """Turns one table into a choice."""

    def __init__(self, source: Source, index: int, entry: Mapping[str, Any], taken: set[str]) -> None:
        super().__init__(source, "choice", index, entry)
        self._taken = taken

    def choice(self) -> Choice:
        """The choice; raises at the first key that is wrong."""
        self._check_id()
        entry = self.entry
        values, span = self._values()
        place, quotation = self._evidence()
        return Choice(
            id=entry["id"],
            question=entry["question"],
            default=entry["default"],
            values=values,
            span=span,
            scale=entry.get("scale", "linear"),
            unit=entry.get("unit", ""),
            scope=self._scope(),
            place=place,
            quotation=quotation,
            natural=self._word("natural", NATURAL),
            excludes=tuple(self._exclusion(one, values) for one in entry.get("excludes", [])),
            joint=entry.get("joint", True),
            refines=entry.get("refines", ""),
            costly=entry.get("costly", False),
            settings=tuple(self._setting(one, values) for one in entry["set"]),
        )

    def _check_id(self) -> None:
        self.check_keys(REQUIRED, OPTIONAL)
        name = self.entry["id"]
        if name in self._taken:
            self.fail("id", f"the id '{name}' is used twice")
        if not name or any(c in name for c in "=, \t\n"):
            self.fail("id", "an id has neither blanks nor '=' nor ','")

    def _word(self, key: str, known: Sequence[str]) -> str:
        word = str(self.entry[key])
        if word not in known:
            self.fail(key, f"'{key}' is one of: {', '.join(known)}")
        return word

    def _values(self) -> tuple[tuple[Value, ...], tuple[float, float] | None]:
        entry = self.entry
        if ("values" in entry) == ("range" in entry):
            self.fail("id", "a choice has either 'values' or a 'range'")
        default = entry["default"]
        if "values" in entry:
            values = entry["values"]
            if len(values) < 2 or not all(isinstance(v, (str, int, float, bool)) for v in values):
                self.fail("values", "'values' lists at least two texts, numbers or booleans")
            if any(same(a, b) for a, b in itertools.combinations(values, 2)):
                self.fail("values", "a value stands there twice")
            if default not in values:
                self.fail("default", "the default is one of the values")
            for key in ("scale",):
                if key in entry:
                    self.fail(key, f"'{key}' is for a range")
            return tuple(values), None
        span = entry["range"]
        numbers = [v for v in span if isinstance(v, (int, float)) and not isinstance(v, bool)]
        if len(span) != 2 or len(numbers) != 2 or not numbers[0] < numbers[1]:
            self.fail("range", "'range' is two numbers, the lower first")
        scale = self._word("scale", SCALES) if "scale" in entry else "linear"
        if scale == "log" and numbers[0] <= 0:
            self.fail("range", "a range on a log scale begins above 0")
        if isinstance(default, (str, bool)) or not numbers[0] <= default <= numbers[1]:
            self.fail("default", f"the default lies in the range, from {numbers[0]:g} to {numbers[1]:g}")
        return (), (float(numbers[0]), float(numbers[1]))

    def _scope(self) -> tuple[str, ...]:
        scope = self.entry.get("scope", [])
        if not all(isinstance(name, str) for name in scope):
            self.fail("scope", "'scope' lists scenarios by name")
        return tuple(scope)

    def _evidence(self) -> tuple[str, str]:
        evidence = self.entry["evidence"]
        if evidence == SILENT:
            return "", ""
        if not isinstance(evidence, dict) or evidence.keys() != {"place", "quotation"}:
            self.fail("evidence", f"'evidence' is \"{SILENT}\", or {{ place = ..., quotation = ... }}")
        if not all(isinstance(text, str) and text for text in evidence.values()):
            self.fail("evidence", "'place' and 'quotation' are texts")
        return evidence["place"], evidence["quotation"]

    def _exclusion(self, table: Any, values: Sequence[Value]) -> Exclusion:  # noqa: ANN401  (what TOML holds)
        known = {"choice", "value", "at"}
        if not isinstance(table, dict) or "choice" not in table or table.keys() - known:
            self.fail("excludes", "'excludes' lists tables { choice = ..., value = ..., at = ... }")
        at = table.get("at")
        if at is not None and values and at not in values:
            self.fail("excludes", f"'at' is one of the choice's own values, not {at!r}")
        return Exclusion(str(table["choice"]), table.get("value"), at)

    def _setting(self, table: Any, values: Sequence[Value]) -> Setting:  # noqa: ANN401  (what TOML holds)
        known = {"transports", "at", "overrides"}
        if not isinstance(table, dict) or not isinstance(table.get("overrides"), dict) or not table["overrides"]:
            self.fail("set", "each [[choice.set]] has a table 'overrides' of keys and values")
        if unknown := sorted(table.keys() - known):
            self.fail("set", f"unknown key '{unknown[0]}' in [[choice.set]]{near(unknown[0], known)}")
        transports = table.get("transports", [])
        if not isinstance(transports, list) or not all(isinstance(name, str) for name in transports):
            self.fail("set", "'transports' lists transports by name")
        self._check_names(transports, table["overrides"])
        at = table.get("at")
        if at is not None and (not values or at not in values or at == self.entry["default"]):
            self.fail("set", f"'at' is one of the choice's values but its default, not {at!r}")
        overrides = {key: self._override(key, value) for key, value in table["overrides"].items()}
        return Setting(tuple(transports), at, overrides)

    def _check_names(self, transports: Sequence[str], overrides: Mapping[str, Any]) -> None:
        """Transports and their parameters exist: a misspelt one would silently have no effect."""
        known = _parameters()
        for name in transports:
            if name not in known:
                self.fail("set", f"no transport '{name}'{near(name, known)}")
        for key in overrides:
            if "." in key:
                continue
            if not transports:
                self.fail("set", f"'{key}' is a parameter: 'transports' says of which")
            for name in transports:
                if key not in _kinds(name):
                    self.fail("set", f"{name} has no parameter '{key}'{near(key, _kinds(name))}")

    def _override(self, key: str, value: Any) -> Value | Formula:  # noqa: ANN401  (what TOML holds)
        if not isinstance(value, (str, int, float, bool)):
            self.fail("set", f"'{key}' takes a text, a number or a boolean")
        if not isinstance(value, str):
            return value
        try:
            return formula(value) or value
        except FormulaError as error:
            self.fail("set", f"'{key}': {error}")


def same(one: object, other: object) -> bool:
    """True if two values are the same, of the same kind: `true` is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other
