"""The statistics, units, ticks, colours and label places behind the figures."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from headway import Scenario, _headway
from headway.data.claims import JudgedClaim
from headway.data.samples import by_size, cdf, equal_count_edges, thin
from headway.data.statistics import over_seeds, student_quantile
from headway.data.units import display, parse_bytes, parse_rate, parse_seconds
from headway.names import known_scenarios
from headway.reporting.assemble import assemble
from headway.reporting.claims import claim_rows
from headway.reporting.load import load
from headway.reporting.palette import DARK_PAGE, LIGHT_PAGE, base_colours, contrast, flow_styles, variant_styles
from headway.reporting.spec import Axis
from headway.reporting.svg import spread
from headway.reporting.ticks import linear_axis, log_axis, slowdown_axis, ticks
from support import HOW_MANY, chosen


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 29, 30, 31, 80])
def test_t95_leaves_five_percent_outside(freedom: int) -> None:
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    x = np.linspace(0, student_quantile(0.95, freedom), 200_001)
    density = np.exp(log_scale) * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    assert 2 * np.trapezoid(density, x) == pytest.approx(0.95, abs=2e-5)


def test_over_seeds_leaves_gaps_out_and_needs_two_for_an_interval() -> None:
    assert over_seeds([None, math.nan]) is None
    one = over_seeds([None, 3.0])
    assert one is not None
    assert (one.mean, one.half_width, one.count) == (3.0, None, 1)
    three = over_seeds([1.0, 2.0, 3.0])
    assert three is not None
    assert three.half_width == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)


def test_equal_count_bins_are_equal_and_never_part_equal_sizes() -> None:
    sizes = np.random.default_rng(1).permutation(np.arange(1, 1001)).astype(float)
    binned = by_size(sizes, sizes, equal_count_edges(sizes, 10))
    assert list(binned.count) == [100] * 10
    assert list(binned.mean) == [50.5 + 100 * i for i in range(10)]
    assert binned.p99[0] == 99.0
    lumpy = np.array([10.0] * 90 + [20.0] * 10)
    binned = by_size(lumpy, lumpy, equal_count_edges(lumpy, 10))
    assert binned.size.tolist() == [10.0, 20.0]
    assert list(binned.count) == [90, 10]


def test_a_thinned_cdf_lies_on_the_whole_one_and_keeps_its_ends() -> None:
    values = np.random.default_rng(2).exponential(1.0, 10_000)
    x, share = cdf(values, 240)
    assert len(x) <= 240
    assert x[0] == values.min()
    assert (x[-1], share[-1]) == (values.max(), 1.0)
    np.testing.assert_allclose(share, [(values <= v).mean() for v in x])
    assert (share > 0.95).sum() > 40


def test_thinning_keeps_mean_and_envelope_and_the_end_of_the_interval() -> None:
    time, value = np.arange(1.0, 1002.0), np.random.default_rng(3).uniform(0, 9, 1001)
    thinned = thin(time, value, 100)
    assert thinned.factor == 11
    assert thinned.low is not None
    assert thinned.high is not None
    assert thinned.time[0] == 11.0
    assert thinned.time[-1] == 1001.0
    assert thinned.value[0] == pytest.approx(value[:11].mean())
    assert (thinned.low[0], thinned.high[0]) == (value[:11].min(), value[:11].max())
    assert thin(time, value, 1001).low is None


@pytest.mark.parametrize("quantity", ["time", "bytes", "rate", "percent", "ratio", "count"])
@pytest.mark.parametrize("largest", [3.7e-7, 1e-3, 0.5, 1.0, 97.0, 4096.0, 9.49e9])
def test_ticks_are_few_round_and_inside(quantity: str, largest: float) -> None:
    axis = linear_axis("y", quantity, [largest])
    found = ticks(axis)
    assert 2 <= len(found) <= 8
    assert axis.high >= largest
    assert axis.high <= largest * 1.6
    assert all(axis.low <= tick.value <= axis.high * 1.000001 for tick in found)
    assert len({tick.text for tick in found}) == len(found)


@pytest.mark.parametrize("decades", [0.2, 0.6, 1.0, 2.0, 4.0, 7.5])
def test_a_logarithmic_axis_names_at_least_two_ticks(decades: float) -> None:
    named = [tick for tick in ticks(log_axis("size", "bytes", [130.0, 130.0 * 10**decades])) if tick.text]
    assert 2 <= len(named) <= 9
    assert all(tick.text.split()[-1] in ("B", "kB", "MB", "GB") for tick in named)


def test_slowdown_starts_at_one() -> None:
    assert ticks(slowdown_axis([1.2, 3.0]))[0].text.startswith("1")
    assert slowdown_axis([1.2, 300.0]).log


@pytest.mark.parametrize(
    ("low", "high"), [(0.524207, 1.75), (0.778944, 1.8), (0.93, 1.06), (0.38, 0.46), (1.01, 1.9), (0.61, 2.4)]
)
def test_a_short_logarithmic_axis_has_round_numbers(low: float, high: float) -> None:
    found = ticks(Axis("ratio", "ratio", low, high, log=True))
    named = [tick.text for tick in found if tick.text]
    assert len(named) >= 2
    assert all(len(text) <= 4 for text in named), named


def test_wanted_marks_are_the_ticks() -> None:
    assert [t.text for t in ticks(Axis("load", "ratio", 0.0, 1.0, marks=(0.1, 0.7)))] == ["0.1", "0.7"]


def test_quantities_are_read_and_written_with_units() -> None:
    assert parse_seconds("4 us") == pytest.approx(4e-6)
    assert parse_bytes("128 packets", 1538) == 196_864
    assert parse_bytes(1460) == 1460
    assert parse_rate("10 Gb/s") == parse_rate("10 Gbps") == 1e10
    assert parse_seconds("4 GB") is None
    assert display("time", 43.9e-6) == "43.9 µs"
    assert display("rate", 9.49e9) == "9.49 Gb/s"
    assert display("percent", 0.8333) == "83.3 %"
    assert display("time", None) == display("time", math.nan) == "–"
    assert display("time", 0.0) == "0 s"
    assert display("count", 1500.0) == "1\u202f500"


@pytest.mark.parametrize("page", [LIGHT_PAGE, DARK_PAGE])
def test_colours_stand_out_from_the_page(page: str) -> None:
    variants = [(f"{transport}{i}", transport) for transport in ("amrt", "phost", "homa", "x", "y") for i in range(3)]
    styles = [*variant_styles(variants).values(), *flow_styles(str(i) for i in range(16)).values()]
    styles += variant_styles([(str(i), "amrt") for i in range(8)]).values()
    for style in styles:
        assert contrast(style.light if page == LIGHT_PAGE else style.dark, page) >= 3.0


DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
TO_CONES = np.array([[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]])
TO_LAB = np.array([[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]])


def seen(colour: str, sight: np.ndarray) -> np.ndarray:
    """A colour in OKLab as a person with this colour vision sees it (Machado et al. 2009)."""
    encoded = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    cones = np.clip(TO_CONES @ np.clip(sight @ linear, 0, 1), 0, None)
    return np.asarray(TO_LAB @ np.cbrt(cones))


@pytest.mark.parametrize("colours", ["variants", "flows"])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("sight", [np.eye(3), DEUTERANOPIA, PROTANOPIA], ids=["full", "deuteranopia", "protanopia"])
def test_any_two_colours_of_a_set_can_be_told_apart(colours: str, mode: int, sight: np.ndarray) -> None:
    pairs = itertools.combinations([pair[mode] for pair in base_colours()[colours]], 2)
    assert min(float(np.linalg.norm(seen(a, sight) - seen(b, sight))) for a, b in pairs) > 0.06


# Transports that papers and questions compare with each other, beyond those of the scenarios here.
TOGETHER = (
    ("amrt", "phost", "homa", "ndp", "expresspass", "rpo", "proactmp", "dctcp", "swift"),
    ("amrt", "phost", "homa", "ndp", "expresspass", "rcp", "dctcp", "cubic"),
    ("homa", "homa-aeolus", "expresspass", "expresspass-aeolus", "ndp", "dctcp"),
    ("tcp", "dctcp", "d2tcp", "l2dct"),
    ("tcp", "cubic", "bbr", "vegas", "dctcp", "swift"),
    ("dcqcn", "timely", "hpcc", "powertcp", "powertcp-theta", "dctcp", "swift", "homa"),
    ("sird", "dcpim", "homa", "expresspass", "dctcp", "swift", "ndp", "phost", "amrt"),
    ("uet-nscc", "uet-rccc", "eqds", "ndp", "swift", "dctcp", "dcqcn", "hpcc"),
    ("mptcp-reno", "mptcp-cubic", "mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-wvegas"),
)
# Scenarios with more transports draw all that there are.
MOST_TOGETHER = 9


def drawn_together(how_many: str) -> set[tuple[str, str]]:
    """Pairs of transports that one figure is likely to show."""
    groups = {frozenset(group) for group in TOGETHER}
    known = known_scenarios()
    for name in chosen(known, how_many):
        scenario = Scenario.load(known[name].path)
        named: set[str] = set()
        for point in {point.variant: point for point in scenario.points()}.values():
            table = scenario.at(point).resolved
            named |= {str(one["name"]) for one in table.get("transports") or [table.get("transport")] if one}
        if len(named) <= MOST_TOGETHER:
            groups.add(frozenset(named))
    return {(a, b) for group in groups for a, b in itertools.combinations(sorted(group), 2)}


@HOW_MANY
def test_transports_that_are_drawn_together_can_be_told_apart(how_many: str) -> None:
    pairs = drawn_together(how_many)
    assert ("dctcp", "swift") in pairs
    assert ("bbr", "proactmp") in pairs, "of the scenarios"
    styles = {name: variant_styles([(name, name)])[name] for name in {name for pair in pairs for name in pair}}
    for a, b in sorted(pairs):
        for mode in ("light", "dark"):
            one, other = getattr(styles[a], mode), getattr(styles[b], mode)
            distances = [
                float(np.linalg.norm(seen(one, sight) - seen(other, sight)))
                for sight in (np.eye(3), DEUTERANOPIA, PROTANOPIA)
            ]
            assert distances[0] > 0.1, (a, b, mode)
            assert min(distances) > 0.05, (a, b, mode)


def test_every_transport_has_a_colour_of_its_own_that_stands_out() -> None:
    known = [str(one["name"]) for one in json.loads(_headway.catalogue("transports")) if one["name"] != "template"]
    styles = [variant_styles([(name, name)])[name] for name in known]
    assert len({style.light for style in styles}) == len({style.dark for style in styles}) == len(known)
    for name, style in zip(known, styles, strict=True):
        assert contrast(style.light, LIGHT_PAGE) >= 3.0, name
        assert contrast(style.dark, DARK_PAGE) >= 3.0, name


def test_variants_of_one_transport_share_a_hue_and_differ_in_dash() -> None:
    styles = variant_styles([("amrt", "amrt"), ("fair", "phost"), ("amrt-fast", "amrt"), ("rcp-a", "tcp")])
    assert styles["amrt"].dash != styles["amrt-fast"].dash
    assert styles["amrt"].light != styles["amrt-fast"].light
    assert len({style.light for style in styles.values()}) == 4
    assert variant_styles([("a", "phost")])["a"].light == styles["fair"].light


def test_a_transport_has_the_same_colour_whoever_is_beside_it() -> None:
    names = sorted(json.loads(_headway.catalogue("transports")), key=lambda one: str(one["name"]))
    known = [str(one["name"]) for one in names if one["name"] != "template"]
    alone = {name: variant_styles([(name, name)])[name] for name in known}
    together = variant_styles([(name, name) for name in known])
    for name in known:
        assert (together[name].light, together[name].dark) == (alone[name].light, alone[name].dark), name
    assert len({(style.light, style.dash) for style in together.values()}) == len(known)
    assert variant_styles([("a", "homa"), ("b", "homa")])["a"].light == alone["homa"].light


@pytest.mark.parametrize("seed", range(20))
def test_labels_never_touch_and_stay_inside_if_there_is_room(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.uniform(40, 220, int(rng.integers(1, 14))).tolist()
    moved = spread(places, 14.0, 40.0, 222.0)
    ordered = sorted(moved)
    assert all(b - a >= 14.0 - 1e-9 for a, b in itertools.pairwise(ordered))
    assert np.argsort(moved, kind="stable").tolist() == np.argsort(places, kind="stable").tolist()
    if len(places) <= 13:
        assert ordered[0] >= 40.0 - 1e-9
        assert ordered[-1] <= 222.0 + 1e-9


def test_agreement_pairs_each_measured_number_with_its_own_published_one() -> None:
    claim = {"id": "a", "published": [2.0, 4.0], "measured": [1.0, 4.4], "ci95": [[0.9, 1.1], [4.0, 4.8]]}
    (row,) = claim_rows([JudgedClaim.read(claim)])
    assert [found.ratio for found in row.agreement] == pytest.approx([0.5, 1.1])
    assert row.agreement[0].low == pytest.approx(0.45)
    (row,) = claim_rows([JudgedClaim.read({"id": "b", "published": "stays flat", "measured": 3.0, "ci95": None})])
    assert row.agreement == ()
    assert row.measured == "3"


def test_the_summary_comes_in_parts_that_hold_every_column_once(results: Path) -> None:
    report = assemble(load(results / "sweep"))
    whole = report.summary
    assert whole is not None
    parts = report.summaries
    assert [part.id for part in parts] == ["summary", "links", "packets"]
    flows, links, packets = (part.head for part in parts)
    assert {"mean FCT", "p99 slowdown"} <= set(flows) and "drops" not in flows
    assert "bottleneck utilisation" in links and "drops" in packets
    named = [name for name in whole.head if all(name in part.head for part in parts)]
    assert named[0] == "variant"
    for name in whole.head:
        assert sum(name in part.head for part in parts) == (3 if name in named else 1 if name != "discipline" else 2)
        for part in parts:
            if name in part.head:
                here, there = part.head.index(name), whole.head.index(name)
                assert [row[here] for row in part.rows] == [row[there] for row in whole.rows]
                assert [row[here] for row in part.sort] == [row[there] for row in whole.sort]
