"""Numbers that are only known to be at least, or at most, what stands there, because flows were open at the end.

Results decide which these are (`bounds` in summaries, `at_least_s` of flows); docs/measures.md has the rule.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsFloat

from headway.data.later import np
from headway.data.nested import inside

# Their names in results, and the side of the true value: 1 is at least, -1 at most, 0 neither.
SIGNS: Mapping[str, int] = {"at least": 1, "at most": -1, "of those that ended": 0}
NAMES: Mapping[int, str] = {sign: name for name, sign in SIGNS.items()}


class Bound(float):
    """A number with what is known about the true one. Arithmetic keeps that as far as it can be known."""

    sign: int

    def __new__(cls, value: SupportsFloat, sign: int) -> Bound:
        """The number `value`, and how the true one lies to it."""
        made = super().__new__(cls, float(value))
        made.sign = sign
        return made

    @property
    def name(self) -> str:
        """Its name in results."""
        return NAMES[self.sign]

    def __add__(self, other: float) -> float:
        """The sum is bounded from the side from which both terms are."""
        return bounded(float(self) + float(other), joined((self, other)))

    __radd__ = __add__

    def __neg__(self) -> float:
        """The negated number: a bound from below becomes one from above."""
        return bounded(-float(self), -self.sign)

    def __sub__(self, other: float) -> float:
        """The difference, as a sum with the negated number."""
        return self + (-other)

    def __rsub__(self, other: float) -> float:
        """The difference where this number is subtracted."""
        return (-self) + other

    def __mul__(self, other: float) -> float:
        """The product; a negative number turns a bound from below into one from above."""
        low = float(self) < 0 or float(other) < 0
        if isinstance(other, Bound):
            return Bound(float(self) * float(other), 0 if low else (joined((self, other)) or 0))
        return Bound(float(self) * float(other), -self.sign if float(other) < 0 else self.sign)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> float:
        """The quotient, as a product with the inverse."""
        return self * inverse(other)

    def __rtruediv__(self, other: float) -> float:
        """The quotient where this number divides."""
        return inverse(self) * other


def inverse(value: float) -> float:
    """One over a number: a bound from below becomes one from above."""
    if isinstance(value, Bound):
        return Bound(1.0 / float(value), -value.sign)
    return 1.0 / value


def bounded(value: float, sign: int | None) -> float:
    """The number with what is known about it; None says that it is exact."""
    return float(value) if sign is None else Bound(value, sign)


def joined(values: Iterable[object]) -> int | None:
    """Sign of a number that grows with all of these; None if all are exact."""
    signs = {value.sign for value in values if isinstance(value, Bound)}
    return None if not signs else signs.pop() if len(signs) == 1 else 0


def sign_of(value: object) -> int | None:
    """Sign of a bound; None for an exact number."""
    return value.sign if isinstance(value, Bound) else None


def name_of(value: object) -> str | None:
    """Name of such a number in results; None if it is exact."""
    return value.name if isinstance(value, Bound) else None


def told(value: object, text: str) -> str:
    """The text of a number, with what is known about it."""
    match sign_of(value):
        case None:
            return text
        case 0:
            return f"{text} (of those that ended)"
        case sign:
            return f"{'>=' if sign > 0 else '<='} {text}"


def ends(value: float) -> tuple[float, ...]:
    """Ends of the range of the true number; the number alone if it is exact."""
    match sign_of(value):
        case None:
            return (value,)
        case 1:
            return (float(value), math.inf)
        case -1:
            return (-math.inf, float(value))
        case _:
            return (-math.inf, float(value), math.inf)


def certain(test: Callable[..., bool], *values: Any) -> bool | None:  # noqa: ANN401
    """True if a monotonic test holds for all possible true numbers, False if for none; None if it depends on them."""
    found = {test(*chosen) for chosen in itertools.product(*map(ends, values))}
    return found.pop() if len(found) == 1 else None


def in_document(document: object, key: str, value: float) -> float:
    """A number of a summary that lies at `key`, with what the summary says about it."""
    *way, last = key.split(".")
    try:
        for part in way:
            document = inside(document, part)
        sign = SIGNS.get(str(inside(inside(document, "bounds"), last)))
    except (KeyError, TypeError):
        return value
    return bounded(value, sign)


class Sample:
    """Values of which some are only known to be at least so much: those where `is_open` is true."""

    def __init__(self, values: Any, is_open: Any) -> None:  # noqa: ANN401  (arrays or lists)
        self.all = np.sort(np.asarray(values, dtype=np.float64))
        self.ended = np.sort(np.asarray(values, dtype=np.float64)[~np.asarray(is_open, dtype=bool)])

    @property
    def _sign(self) -> int | None:
        return 1 if self.ended.size < self.all.size else None

    def quantile(self, at: float) -> float | None:
        """The quantile by nearest rank: exact where no open value can move it. None if nothing ended."""
        if not self.ended.size:
            return None
        rank = max(math.ceil(at * self.all.size), 1) - 1
        value = float(self.all[rank])
        is_exact = rank < self.ended.size and float(self.ended[rank]) == value
        return bounded(value, None if is_exact else 1)

    def mean(self) -> float | None:
        """The mean. None if nothing ended."""
        return bounded(float(np.mean(self.all)), self._sign) if self.ended.size else None

    def largest(self) -> float | None:
        """The largest. None if nothing ended."""
        return bounded(float(self.all[-1]), self._sign) if self.ended.size else None
