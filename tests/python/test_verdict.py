"""Verdicts from samples: numbers by qualifier, statements, orders."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import strategies as st

from drawn import drawn
from headway.claims.language import CannotMeasure
from headway.claims.verdict import (
    TOLERANCE_PERCENT,
    Qualifier,
    judge_number,
    judge_order,
    judge_statement,
)
from headway.data.claims import Value, Verdict

R, D, N = Verdict.REPRODUCED, Verdict.DIRECTION_ONLY, Verdict.NOT_REPRODUCED


def positive(value: Value) -> bool:
    return isinstance(value, float) and value > 0


@pytest.mark.parametrize(
    ("published", "qualifier", "measured", "verdict"),
    [
        (100, Qualifier.EXACT, 104.9, R),
        (100, Qualifier.EXACT, 105.1, D),
        (100, Qualifier.EXACT, -1.0, N),
        (100, Qualifier.ABOUT, 90.1, R),
        (100, Qualifier.ABOUT, 89.9, D),
        (42, Qualifier.UP_TO, 40.0, R),
        (42, Qualifier.UP_TO, 60.0, D),
        (50, Qualifier.OVER, 50.0, D),
        (50, Qualifier.OVER, 50.1, R),
        (50, Qualifier.AT_LEAST, 50.0, R),
        (50, Qualifier.AT_MOST, 50.0, R),
        (50, Qualifier.BELOW, 50.0, D),
        (50, Qualifier.BELOW, -3.0, R),
    ],
)
def test_numbers(published: float, qualifier: Qualifier, measured: float, verdict: Verdict) -> None:
    found = judge_number(published, qualifier, [measured], positive)
    assert found.verdict is verdict
    assert found.measured == measured
    assert found.ci95 is None
    assert found.seeds == 1


def test_without_a_direction_a_missed_number_is_not_reproduced() -> None:
    assert judge_number(100, Qualifier.EXACT, [50.0], None).verdict is N


def test_direction_must_hold_over_the_whole_interval() -> None:
    assert judge_number(100, Qualifier.EXACT, [10.0, 11.0, 12.0], positive).verdict is D
    assert judge_number(100, Qualifier.EXACT, [1.0, 30.0, 2.0], positive).verdict is N


def test_a_pair_must_agree_in_both() -> None:
    assert judge_number([5.0, 6.6], Qualifier.ABOUT, [[5.1, 6.5]], None).verdict is R
    assert judge_number([5.0, 6.6], Qualifier.ABOUT, [[5.1, 5.1]], None).verdict is N


def test_one_published_number_holds_for_every_measured_one() -> None:
    assert judge_number(5.0, Qualifier.ABOUT, [[4.9, 5.1]], None).verdict is R
    assert judge_number(5.0, Qualifier.ABOUT, [[4.0, 6.0]], None).verdict is N


def test_a_measure_with_the_wrong_count_is_no_measure() -> None:
    with pytest.raises(CannotMeasure):
        judge_number([1.0, 2.0], Qualifier.ABOUT, [[1.0, 2.0, 3.0]], None)


def test_range_has_slack_at_both_ends() -> None:
    assert judge_number([19, 42], Qualifier.RANGE, [[18.1, 30.0, 44.0]], None).verdict is R
    assert judge_number([19, 42], Qualifier.RANGE, [[17.0, 30.0]], None).verdict is N


def test_never_reached_is_not_reproduced_and_shows_no_number() -> None:
    found = judge_number(3, Qualifier.EXACT, [math.inf], None)
    assert (found.verdict, found.measured, found.ci95) == (N, None, None)
    assert "never" in found.reason


def test_interval_is_of_the_mean() -> None:
    found = judge_number(3, Qualifier.EXACT, [1.0, 2.0, 3.0, 4.0, 5.0], None)
    assert found.measured == 3.0
    assert isinstance(found.ci95, tuple)
    assert found.ci95 == pytest.approx((3 - 1.9632, 3 + 1.9632), abs=1e-3)


def test_statements_need_every_seed() -> None:
    assert judge_statement([1.0, 2.0], positive, None).verdict is R
    assert judge_statement([1.0, -2.0], positive, None).verdict is N
    assert judge_statement([-1.0, -2.0], positive, lambda _: True).verdict is D


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([{"a": 1.0, "b": 2.0, "c": 3.0}], R),
        ([{"a": 1.0, "b": 3.0, "c": 2.0}], D),  # the first place is right
        ([{"a": 2.0, "b": 1.0, "c": 3.0}], N),
        ([{"a": 1.0, "b": 2.0, "c": 9.0}, {"a": 1.0, "b": 2.1, "c": 9.0}, {"a": 1.0, "b": 1.9, "c": 9.0}], R),
        ([{"a": 1.0, "b": 2.0, "c": 9.0}, {"a": 2.0, "b": 1.0, "c": 9.0}, {"a": 1.0, "b": 2.0, "c": 9.0}], D),
    ],
)
def test_orders(samples: Sequence[Value], verdict: Verdict) -> None:
    assert judge_order(["a", "b", "c"], "lowest first", samples).verdict is verdict


def test_groups_share_a_place_and_the_order_can_run_down() -> None:
    sample: Value = {"a": 9.0, "b": 2.0, "c": 1.0}
    assert judge_order(["a", "c|b"], "highest first", [sample]).verdict is R
    assert judge_order(["b", "a|c"], "highest first", [sample]).verdict is N


def test_equal_is_within_the_tolerance_of_a_statement() -> None:
    assert judge_order(["a = b"], "equal", [{"a": 100.0, "b": 104.0}]).verdict is R
    assert judge_order(["a = b"], "equal", [{"a": 100.0, "b": 106.0}]).verdict is N


def test_an_order_needs_a_number_for_each_name() -> None:
    with pytest.raises(CannotMeasure):
        judge_order(["a", "b"], "lowest first", [{"a": 1.0}])


finite = st.floats(0.1, 1e6)


@drawn(
    published=finite, name=st.sampled_from([str(one) for one in sorted(TOLERANCE_PERCENT)]), off=st.floats(-0.4, 0.4)
)
def test_tolerance_is_a_share_of_the_published_value(published: float, name: str, off: float) -> None:
    qualifier = Qualifier(name)
    if qualifier is Qualifier.RANGE:
        return
    allowed = TOLERANCE_PERCENT[qualifier] / 100.0
    if abs(abs(off) - allowed) < 1e-9:
        return
    found = judge_number(published, qualifier, [published * (1.0 + off)], None)
    assert (found.verdict is R) == (abs(off) < allowed)


@drawn(order=st.permutations(["a", "b", "c", "d"]), values=st.lists(finite, min_size=4, max_size=4, unique=True))
def test_an_order_is_reproduced_exactly_when_the_values_are_sorted(order: list[str], values: list[float]) -> None:
    found = judge_order(order, "lowest first", [dict(zip(order, values, strict=True))])
    assert (found.verdict is R) == (values == sorted(values))
