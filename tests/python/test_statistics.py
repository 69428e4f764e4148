"""Mean and Student-t interval against tabulated quantiles."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from drawn import drawn
from headway.data.statistics import estimate, ratio_over_seeds, student_probability, student_quantile

# Two-sided 95 % points from the printed tables.
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 29: 2.045, 30: 2.042, 120: 1.980}


@pytest.mark.parametrize(("degrees", "quantile"), TABLE.items())
def test_quantile_is_the_tabulated_one(degrees: int, quantile: float) -> None:
    assert student_quantile(0.95, degrees) == pytest.approx(quantile, abs=5e-4)


def test_other_confidence() -> None:
    assert student_quantile(0.99, 7) == pytest.approx(3.499, abs=5e-4)


@drawn(a=st.floats(0.0, 50.0), b=st.floats(0.0, 50.0), degrees=st.integers(1, 60))
def test_probability_rises_and_stays_a_probability(a: float, b: float, degrees: int) -> None:
    low, high = sorted((a, b))
    assert 0.0 <= student_probability(low, degrees) <= student_probability(high, degrees) + 1e-12 <= 1.0 + 1e-9


def test_one_seed_has_no_interval() -> None:
    found = estimate([3.0])
    assert (found.mean, found.half_width, found.interval, found.count) == (3.0, None, None, 1)


def test_interval_of_known_values() -> None:
    # Mean 3, standard deviation sqrt(2.5), n = 5: 2.776 * sqrt(2.5 / 5).
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.half_width == pytest.approx(2.776 * math.sqrt(0.5), abs=1e-3)


def test_equal_values_have_an_interval_of_nothing_despite_rounding() -> None:
    assert estimate([0.1 + 0.2, 0.3, 0.3]).half_width == 0.0


def test_infinite_values_have_no_interval() -> None:
    assert estimate([1.0, math.inf]).half_width is None


def test_a_ratio_over_seeds_is_a_geometric_mean_of_what_both_have() -> None:
    found = ratio_over_seeds([(2.0, 1.0), (8.0, 1.0), (3.0, None), (None, 3.0)])
    assert found is not None and found.interval is not None
    assert found.mean == pytest.approx(4.0)
    half = student_quantile(0.95, 1) * math.log(2.0)
    assert found.interval == pytest.approx((4.0 * math.exp(-half), 4.0 * math.exp(half)))
    one = ratio_over_seeds([(3.0, 2.0)])
    assert one is not None and one.interval is None
    assert one.mean == pytest.approx(1.5)
    assert ratio_over_seeds([]) is None
    assert ratio_over_seeds([(1.0, 0.0), (1.0, 2.0)]) is None
    assert ratio_over_seeds([(math.inf, 1.0)]) is None
