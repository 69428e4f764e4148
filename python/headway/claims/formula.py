"""Overrides that are formulas of the path: `window = "0.5 * bdp"`.

A formula is made of numbers, `value` (what the choice is set to) and quantities of the longest path among the
scenario's flows: `rtt`, `delay`, `rate`, `bdp` and `packet`. What it is a quantity of follows from how it is made, and
is checked against what it is given to: bytes that are given to a count are taken in full packets.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headway.claims.language import CannotMeasure, Expression, ExpressionError, Vocabulary, parse
from headway.data.units import parse_seconds
from headway.errors import HeadwayError

VALUE = "value"
# Bytes and seconds in each quantity of a path: bdp is bytes, a rate is bytes a second.
DIMENSIONS: Mapping[str, tuple[int, int]] = {
    "rtt": (0, 1),
    "delay": (0, 1),
    "rate": (1, -1),
    "bdp": (1, 0),
    "packet": (1, 0),
}
NAMES = frozenset({VALUE, *DIMENSIONS})
BYTES, SECONDS, RATE, NUMBER = (1, 0), (0, 1), (1, -1), (0, 0)
WORDS = {BYTES: "bytes", SECONDS: "a time", RATE: "a rate", NUMBER: "a number"}


class FormulaError(Exception):
    """A text that should be a formula but is not a valid one."""


@dataclass(frozen=True)
class LongestPath:
    """The longest path among a scenario's flows, with nothing else on it."""

    rtt: float
    delay: float
    rate: float
    bdp: float
    packet: float

    @classmethod
    def of(cls, facts: Mapping[str, float] | None) -> LongestPath | None:
        """From the native module; none without flows."""
        if facts is None:
            return None
        rate = facts["rate_bps"] / 8.0
        return cls(facts["rtt_s"], facts["delay_s"], rate, facts["bdp_bytes"], facts["packet_bytes"])

    def names(self, byte: float = 1.0, second: float = 1.0) -> dict[str, float]:
        """Its quantities, measured in other units: what changes with the unit has its dimension."""
        return {name: getattr(self, name) * byte**b * second**s for name, (b, s) in DIMENSIONS.items()}


def _literal(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds is None:
        raise CannotMeasure(f"'{text}' is not a time such as '1 ms'")
    return seconds


VOCABULARY = Vocabulary(
    plain={"least": lambda _, *numbers: min(numbers), "most": lambda _, *numbers: max(numbers)},
    forms={},
    literal=_literal,
)


@dataclass(frozen=True)
class Formula:
    """A formula of the path and of the choice's value."""

    expression: Expression

    def value(self, value: str | float | bool, path: LongestPath | None, kind: str = "") -> str | int | float | bool:
        """Value for a scenario; `kind` is that of the parameter it is given to, where it is declared."""
        text = self.expression.text
        if text == VALUE:
            return round(value) if kind == "int" and isinstance(value, float) else value
        if isinstance(value, str):
            if any(isinstance(node, ast.Name) and node.id == VALUE for node in ast.walk(self.expression.tree)):
                raise HeadwayError(f"`{text}` computes with a value that is a text, {value!r}")
            value = 0.0
        if path is None:
            raise HeadwayError(f"`{text}` needs a path, and the scenario has no flows")
        number = self._at(value, path)
        return _written(number, self._dimension(value, path), kind, path, text)

    def _at(self, value: float | bool, path: LongestPath, byte: float = 1.0, second: float = 1.0) -> float:
        names = {**path.names(byte, second), VALUE: float(value)}
        vocabulary = replace(VOCABULARY, literal=lambda text: _literal(text) * second)
        try:
            number = replace(self.expression, vocabulary=vocabulary).evaluate(None, names)
        except CannotMeasure as error:
            raise HeadwayError(f"`{self.expression.text}` has no value here: {error}") from None
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            raise HeadwayError(f"`{self.expression.text}` is no number here")
        return float(number)

    def _dimension(self, value: float | bool, path: LongestPath) -> tuple[int, int]:
        """Dimension of the value: in other units, a quantity changes by a power of the unit, and a sum of unlike
        quantities by none."""
        base = self._at(value, path)
        if base == 0:
            return NUMBER
        found = []
        for units in ({"byte": 2.0}, {"second": 2.0}):
            ratio = self._at(value, path, **units) / base
            power = math.log2(ratio) if ratio > 0 else math.nan
            if not math.isclose(power, round(power) if math.isfinite(power) else 0.0, abs_tol=1e-9):
                raise HeadwayError(f"`{self.expression.text}` adds quantities that are not alike")
            found.append(round(power))
        return found[0], found[1]


def _written(number: float, dimension: tuple[int, int], kind: str, path: LongestPath, text: str) -> str | int | float:
    if kind == "int":
        if dimension == BYTES:
            number /= path.packet
        elif dimension != NUMBER:
            raise HeadwayError(f"`{text}` is {_word(dimension)}, and what it is given to takes a count")
        return max(1, round(number))
    wanted = {"bytes": BYTES, "duration": SECONDS, "rate": RATE, "float": NUMBER}.get(kind, dimension)
    if wanted != dimension:
        raise HeadwayError(f"`{text}` is {_word(dimension)}, and what it is given to takes {_word(wanted)}")
    if dimension == BYTES:
        return max(1, round(number))
    if dimension == SECONDS:
        return f"{round(number * 1e12)} ps"
    if dimension == RATE:
        return f"{round(number * 8.0)} bps"
    if dimension == NUMBER:
        return number
    raise HeadwayError(f"`{text}` is neither bytes nor a time nor a rate nor a number")


def _word(dimension: tuple[int, int]) -> str:
    return WORDS.get(dimension, "something else")


def formula(text: str) -> Formula | None:
    """The formula that a text is; none if it is a text like `spray` or `1 ms`. Raises `FormulaError` for a mistake."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return None
    nodes = list(ast.walk(tree))
    computes = any(isinstance(node, (ast.Mult, ast.Div, ast.Add, ast.Call)) for node in nodes)
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    if not computes and not (used and used <= NAMES):
        return None
    try:
        return Formula(parse(text, VOCABULARY, NAMES))
    except ExpressionError as error:
        raise FormulaError(f"{error}; a formula is made of {', '.join(sorted(NAMES))} and numbers") from None
