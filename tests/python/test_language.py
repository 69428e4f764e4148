"""The measure language: its results, and that everything outside it is refused at its column."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from drawn import drawn
from headway.claims.context import Context
from headway.claims.functions import VOCABULARY, seconds
from headway.claims.language import CannotMeasure, ExpressionError, parse


def evaluate(text: str, **names: object) -> object:
    return parse(text, VOCABULARY, frozenset(names)).evaluate(Context(()), names)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("-(2 - 5)", 3),
        ("1 < 2 <= 2 and not 3 > 4", True),
        ("1 > 2 or 2 == 2", True),
        ("[1, 2][1]", 2),
        ("{'a': 1, 'b': 2}['b']", 2),
        ("percent_lower(3, 4)", 25.0),
        ("percent_higher(5, 4)", 25.0),
        ("within(104, 100, 5)", True),
        ("within(106, 100, 5)", False),
        ("jain(1, 1, 1)", 1.0),
        ("least(3, 1, 2) + most(3, 1, 2)", 4),
        ("'200 us' + 1 - 1", pytest.approx(200e-6)),
        ("0.001 > '999 us'", True),
    ],
)
def test_values(text: str, value: object) -> None:
    assert evaluate(text) == value


def test_names_get_their_values() -> None:
    assert evaluate("measured[0] > 1 and measured[1] < 1", measured=[2.0, 0.5]) is True


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("mean(utilisatoin('a'), 0, 1)", 5, "nearest: utilisation"),
        ("1 + mesured", 4, "nearest: measured"),
        ("1 + [x for x in 2]", 4, "ListComp cannot be used"),
        ("(lambda: 1)()", 0, "only named functions"),
        ("1 ** 2", 0, "only + - * /"),
        ("1 != 2", 0, "only < <= > >= =="),
        ("summary(key='a')", 0, "by position"),
        ("summary()", 0, "it is summary(key)"),
        ("of('amrt')", 0, "it is of(variant, measure)"),
        ("jain(*[1])", 0, "by position"),
        ("True", 0, "only numbers and text"),
        ("().__class__", 0, "Attribute cannot be used"),
        ("1 + )", 4, "not an expression"),
        ("{1: 2, **{}}", 0, "keys are written as text"),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_its_column(text: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, VOCABULARY, frozenset({"measured"}))
    assert message in str(caught.value)
    assert caught.value.column == column


def test_definitions_stand_for_expressions() -> None:
    twice = parse("2 * 3", VOCABULARY)
    more = parse("twice + 1", VOCABULARY, defined={"twice": twice})
    assert parse("more * 10", VOCABULARY, defined={"more": more}).evaluate(Context(())) == 70


def test_division_by_zero_cannot_be_measured() -> None:
    with pytest.raises(CannotMeasure):
        evaluate("1 / (2 - 2)")


@pytest.mark.parametrize(("text", "value"), [("1.5 ms", 1.5e-3), ("10 us", 1e-5), ("2s", 2.0), ("1e3 ns", 1e-6)])
def test_times(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["1", "ms", "1 hour", "1,5 ms", ""])
def test_what_is_not_a_time(text: str) -> None:
    with pytest.raises(CannotMeasure):
        seconds(text)


numbers = st.integers(-50, 50).map(str)
arithmetic = st.recursive(
    numbers,
    lambda inner: st.builds(lambda a, op, b: f"({a} {op} {b})", inner, st.sampled_from(["+", "-", "*"]), inner),
    max_leaves=12,
)


@drawn(text=arithmetic)
def test_arithmetic_is_pythons(text: str) -> None:
    assert evaluate(text) == eval(text)


@drawn(text=st.text(max_size=60))
def test_no_text_gets_past_the_check_with_another_error(text: str) -> None:
    try:
        expression = parse(text, VOCABULARY)
    except ExpressionError:
        return
    assert expression.text == text.strip()


def test_infinity_is_a_value() -> None:
    assert evaluate("least(1, most(2, x))", x=math.inf) == 1
