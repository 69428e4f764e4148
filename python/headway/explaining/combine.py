"""Combinations of choices: which values of each, and the readings that they make together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from headway.claims.choices import Choice, Choices, Reading, Value

# Values of a range that are tried by itself, and together with others.
LEVELS, FEWER_LEVELS = 5, 3
# Values of one choice that are tried in pairs, and in any combination, at most.
IN_A_PAIR, IN_COMBINATIONS = 3, 4
# Choices that are tried in every combination, and combinations at most.
TOGETHER, COMBINATIONS = 4, 48

# A choice with the values that are combined.
Values = tuple[Choice, tuple[Value, ...]]


def few(choice: Choice, worth: Callable[[Value], tuple[float, ...]]) -> tuple[Value, ...]:
    """The values that are tried together with others.

    Of a range its ends, its middle, its default and the best by itself; of a long list its ends, its default and the
    best by itself.
    """
    if choice.span is not None:
        return tuple(sorted({*choice.grid(FEWER_LEVELS), max(choice.grid(LEVELS), key=worth)}))
    if len(choice.values) <= IN_COMBINATIONS:
        return choice.values
    kept = (choice.default, max(choice.values, key=worth), choice.values[0], choice.values[-1])
    return tuple(value for value in choice.values if value in kept)


def changed(choice: Choice) -> tuple[Value, ...]:
    """The values off the default that are tried in pairs: all, or the first, the last and the one in the middle."""
    off = [value for value in choice.grid(FEWER_LEVELS) if value != choice.default]
    if len(off) <= IN_A_PAIR:
        return tuple(off)
    return (off[0], off[len(off) // 2], off[-1])


def all_of(choices: Choices, factors: Sequence[Values], *, changed: bool = False) -> Iterator[Reading]:
    """Every combination of the values of some choices; with `changed`, none with a choice at its default."""
    names = [choice.id for choice, _ in factors]
    for values in itertools.product(*(values for _, values in factors)):
        if not changed or all(value != choice.default for (choice, _), value in zip(factors, values, strict=True)):
            yield choices.reading(dict(zip(names, values, strict=True)))
