"""Numbers by short names: of flows of some sizes, of a class or of a transport, compared with numpy's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

import headway as package
from headway.data.point import Point
from headway.errors import HeadwayError, NameNotFound
from headway.reporting.chosen import chosen
from headway.reporting.summaries import is_number, summary_label, summary_number
from support import Answer, HandMade

SIZES = [1_000 * i for i in range(1, 201)]


@pytest.fixture
def point(tmp_path: Path) -> Point:
    """A run of 200 flows of two classes."""
    flows = [
        {
            "flow": i, "name": f"f{i}", "src": 0, "dst": 1, "bytes": size, "start_s": 0.0, "finish_s": 1e-6 * (i + 1),
            "fct_s": 1e-6 * (i + 1), "ideal_s": 1e-6, "slowdown": float(i + 1), "state": "done",
            "class": "web" if i % 2 else "bulk", "transport": "amrt",
        }
        for i, size in enumerate(SIZES)
    ]  # fmt: skip
    directory = HandMade(flows=flows).write(tmp_path / "run")
    return Point("x", "x", {}, 1, results=package.Run(directory))


@pytest.mark.parametrize(
    ("name", "chooses"),
    [
        ("p99[<=150kB]", lambda size, odd: size <= 150_000),
        ("p99[<151 kB]", lambda size, odd: size < 151_000),
        ("p99[>50kB]", lambda size, odd: size > 50_000),
        ("p99[>= 50 kB]", lambda size, odd: size >= 50_000),
        ("p99[20kB..180kB]", lambda size, odd: 20_000 <= size <= 180_000),
        ("p99[web]", lambda size, odd: odd == 1),
        ("p99[amrt]", lambda size, odd: True),
    ],
)
def test_flows_are_chosen_by_size_class_and_transport(
    point: Point, name: str, chooses: Callable[[int, int], bool]
) -> None:
    kept = [1e-6 * (i + 1) for i, size in enumerate(SIZES) if chooses(size, i % 2)]
    assert summary_number(point, name) == np.quantile(kept, 0.99, method="inverted_cdf")
    assert summary_number(point, name.replace("p99", "max")) == max(kept)
    assert summary_number(point, name.replace("p99", "fct_mean_s")) == pytest.approx(np.mean(kept))
    assert summary_number(point, name.replace("p99", "count")) == len(kept)
    assert (
        summary_number(point, name.replace("p99", "slowdown_median"))
        == np.quantile([1e6 * one for one in kept], 0.5, method="inverted_cdf").round()
    )


def test_a_quantile_needs_its_flows(point: Point) -> None:
    assert summary_number(point, "p99[<=99kB]") is None
    assert summary_number(point, "p99[<=100kB]") is not None
    assert summary_number(point, "p99.9[<=200kB]") is None
    assert summary_number(point, "mean[another]") is None
    assert summary_number(point, "count[another]") == 0.0


def test_labels_and_errors() -> None:
    assert summary_label("slowdown_p99[<=64kB]") == ("p99 slowdown, <=64kB", "ratio")
    assert summary_label("median[web]") == ("median FCT, web", "time")
    assert chosen("fct_p99_s") is None
    assert is_number("p99[<=64kB]")
    with pytest.raises(NameNotFound, match="did you mean p99"):
        chosen("pp99[<=64kB]")
    for name in ("p99[<=64 miles]", "p99[1MB..10kB]", "p99[<=]"):
        with pytest.raises(HeadwayError):
            chosen(name)


def test_every_number_of_the_list_can_be_asked_for(headway: Callable[..., Answer]) -> None:
    listed = package.catalogue("numbers")
    assert len({one.name for one in listed}) == len(listed)
    for one in listed:
        assert is_number(one.name), one.name
        assert one.summary
    answer = headway("list", "numbers", "queue_max")
    assert (answer.status, "queue_max_bytes" in answer.out) == (0, True)
    assert polars.DataFrame([one.document() for one in listed]).height == len(listed)


def test_variants_are_compared_by_short_names(
    scenario_file: Path, tmp_path: Path, headway: Callable[..., Answer]
) -> None:
    package.sweep(scenario_file, tmp_path / "out", jobs=1)
    answer = headway("compare", tmp_path / "out", "--of", "mean[<=1MB],slowdown_max[1kB..1MB]")
    assert answer.status == 0
    assert "mean FCT, <=1MB" in answer.out
    assert "max slowdown, 1kB..1MB" in answer.out
    one, other = (tmp_path / "out/points" / f"{name},seed=1" for name in ("amrt", "phost"))
    assert "mean[<=1MB]" in headway("compare", one, other, "--of", "mean[<=1MB]").out
