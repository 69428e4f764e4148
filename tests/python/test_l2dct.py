"""Features that the L2DCT ledger needs: models, quantiles, classes, and runs compared with each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.claims.context import Context
from headway.claims.evaluate import evaluate_claims
from headway.claims.functions import VOCABULARY
from headway.claims.language import CannotMeasure, parse
from headway.claims.ledger import load_ledger
from headway.data.point import Point
from headway.data.run import Run
from headway.errors import ClaimsError
from headway.explaining.points import Trace, place
from headway.loading import Scenario
from headway.reporting.assemble import assemble
from headway.reporting.load import load
from headway.reporting.spec import Panel
from support import Answer, HandMade

Headway = Callable[..., Answer]
L2DCT = Path(__file__).parents[2] / "scenarios" / "l2dct"


MEAN = "of('{}', summary('fct_mean_s'))"


def value(text: str, context: Context) -> object:
    return parse(text, VOCABULARY).evaluate(context)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fluid('ps', [1, 2, 0], [1, 2, 4])", [2.5, 4.5, 7.0]),
        ("fluid('srpt', [1, 2, 0], [1, 2, 4])", [1.0, 2.0, 7.0]),
        ("fluid('las', [1, 2, 0], [1, 2, 4])", [1.0, 3.0, 7.0]),
        ("cycle('amplitude', 1, 25, 20, 1, 1)", 4.77),
        ("cycle('queue_max', 2, 25, 20, 1, 1)", 22.0),
        ("backoff(0.25, 0.5)", 0.5),
        ("least_threshold(1)", 1 / 7),
        ("increase(1000000)", 0.05),
        ("sizes_below('homa_w1_fb_memcached', 10)", 0.31931),
        ("sizes_below('homa_w1_fb_memcached', 1e9)", 1.0),
        ("sizes_below('l2dct_uniform', 50000)", 0.5),
        ("sizes_below('l2dct_uniform', 1)", 0.0),
    ],
)
def test_models_are_the_native_ones(text: str, expected: object) -> None:
    assert value(text, Context(())) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fluid('fifo', [0], [1])", "is not one of ps, srpt, las"),
        ("fluid('ps', [0], [1, 2])", "an arrival and a size"),
        ("cycle('amplitude', 0, 25, 20, 1, 1)", "the number of flows must be more than 0"),
        ("cycle('colour', 1, 25, 20, 1, 1)", "the model has no colour"),
        ("backoff(2, 1)", "alpha must be from 0 to 1"),
        ("least_threshold(0)", "the weight must be more than 0"),
        ("cannot('it is quoted')", "it is quoted"),
        ("sizes_below('l2dct_unifrom', 1)", "no workload 'l2dct_unifrom'"),
    ],
)
def test_what_models_do_not_cover_cannot_be_measured(text: str, message: str) -> None:
    with pytest.raises(CannotMeasure, match=message):
        value(text, Context(()))


@pytest.fixture
def runs(tmp_path: Path) -> list[Point]:
    """Two variants at three sizes; the second is slower from 400 on. Flows end at 1, 2 and 3 s, or a tenth later."""
    found = []
    table = {"src": 0, "dst": 1, "bytes": 1000, "fct_s": None, "ideal_s": 1.0, "slowdown": 1.0}
    for variant in ("fast", "slow"):
        for size in (200, 400, 600):
            late = 0.1 if variant == "slow" and size >= 400 else 0.0
            flows = [
                {
                    "flow": i,
                    "name": f"f{i}",
                    "class": i % 2,
                    "start_s": 0.0,
                    "finish_s": i + 1.0 + late,
                    "state": "done",
                    **table,
                    "fct_s": i + 1.0 + late,
                }
                for i in range(3)
            ]
            flows.append(
                {**table, "flow": 3, "name": "f3", "class": 1, "start_s": 0.0, "finish_s": None, "state": "unfinished"}
            )
            made = HandMade(flows=flows, manifest={"scenario": {"warmup": "0 s"}}, summary={"fct_mean_s": 2.0 + late})
            found.append(
                Point(variant, variant, {"size": size}, 1, results=Run(made.write(tmp_path / f"{variant}{size}")))
            )
    return found


def test_quantiles_classes_and_comparisons(runs: list[Point]) -> None:
    context = Context(runs, "slow", {"size": 400})
    assert value("flows_quantile('finish_s', 0.5)", context) == 2.1
    assert value("flows_quantile('finish_s', 1)", context) == 3.1
    assert value("class_mean('finish_s', 0)", context) == pytest.approx(2.1)
    assert value("sooner('fast', 'slow')", context) == 1.0
    assert value("at(sooner('fast', 'slow'), {'size': 200})", context) == 0.0
    gap = "of('slow', summary('fct_mean_s')) > of('fast', summary('fct_mean_s'))"
    assert value(f"first('size', {gap})", Context(runs)) == 400
    assert value("first('size', summary('fct_mean_s') > 5)", Context(runs, "fast")) == float("inf")
    for wrong in ("class_mean('finish_s', 9)", "flows_quantile('colour', 0.5)", "first('load', 1 > 0)"):
        with pytest.raises(CannotMeasure):
            value(wrong, context)


@pytest.mark.parametrize(
    "measure",
    [
        f"first('size', {MEAN.format('slow')} > {MEAN.format('fast')})",
        f"first('size', {MEAN.format('slow')} > 0 or {MEAN.format('fast')} > 0)",
        f"largest({MEAN.format('slow')} > 9 and {MEAN.format('fast')} > 0)",
        f"largest(9 < {MEAN.format('slow')} < {MEAN.format('fast')})",
    ],
)
def test_which_runs_a_measure_looks_at_does_not_depend_on_what_they_gave(runs: list[Point], measure: str) -> None:
    trace = Trace()
    value(measure, Context(trace.watch(runs)))
    assert trace.seen == {place(point) for point in runs}


def test_rises_count_crossings_and_falls_are_measured(tmp_path: Path) -> None:
    made = HandMade()
    made.sample("s0->s1", "utilisation", [0.0, 1.0, 1.0, 0.2, 0.9, 0.1])
    point = Point("x", "x", {}, 1, results=Run(made.write(tmp_path / "run")))
    assert value("rises(utilisation('s0->s1'), 0.5, 0, '6 ms')", Context([point])) == 2.0
    assert value("mean_fall(utilisation('s0->s1'), 0, '6 ms')", Context([point])) == pytest.approx(0.8)
    made.sample("s1->s2", "utilisation", [1.0, 0.7, 0.4, 0.4, 0.9, 0.5])
    point = Point("x", "x", {}, 1, results=Run(made.write(tmp_path / "other")))
    assert value("mean_fall(utilisation('s1->s2'), 0, '6 ms')", Context([point])) == pytest.approx(0.5)
    with pytest.raises(CannotMeasure, match="never fall"):
        value("mean_fall(utilisation('s1->s2'), '3 ms', '4 ms')", Context([point]))


LEDGER = """
[[claim]]
id = "one"
figure = "fig1"
place = ["§I"]
metric = "fct_mean"
published = 2
unit = "s"
qualifier = "exact"
scenario = "s"
transports = []
variant = "slow"
at = { size = 200 }
beside_at = [BESIDE]
how = "the mean"
measure = "summary('fct_mean_s')"
"""


def test_a_measure_is_shown_at_other_values_of_the_axes(runs: list[Point], tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(LEDGER.replace("BESIDE", "{ size = 400 }, { size = 800 }"), encoding="utf-8")
    (result,) = evaluate_claims(load_ledger(path), runs)
    assert result.beside == {"size = 400": pytest.approx(2.1), "size = 800": None}
    assert "[beside: size = 400 2.1, size = 800 -]" in result.judgement.reason
    path.write_text(LEDGER.replace("BESIDE", "{}"), encoding="utf-8")
    with pytest.raises(ClaimsError, match="list of tables of axes"):
        load_ledger(path)


def test_the_ledger_holds_every_claim_of_the_paper() -> None:
    claims = load_ledger(L2DCT / "claims.toml")
    assert len(claims) == 83
    assert all(claim.id.startswith("l2dct-") and claim.scenario.startswith("l2dct/") for claim in claims)
    assert {claim.scenario.removeprefix("l2dct/") for claim in claims} <= {path.stem for path in L2DCT.glob("*.toml")}


MODELS = {
    "scheduling": 'jobs = [{ name = "A", arrival = 1, size = 1 }, { name = "B", arrival = 0, size = 2 }]',
    "l2dct-backoff": "weights = [0.5, 1.0]",
    "l2dct-cycle": 'rate = "1 Gbps"\nrtt = "300 us"\npacket = 1500\nthreshold = 20\n'
    "cases = [{ flows = 1, weight = 1, increase = 1 }, { flows = 1, weight = 0.5, increase = 0.2 }]",
}


@pytest.mark.parametrize("name", MODELS)
def test_each_model_has_its_figure(name: str, headway: Headway, tmp_path: Path) -> None:
    file, out = tmp_path / "m.toml", tmp_path / "out"
    file.write_text(f'[model]\nname = "{name}"\n{MODELS[name]}\n[report]\nfigure = "model"\n', encoding="utf-8")
    assert headway("reproduce", file, "--out", out).status == 0
    (drawn,) = assemble(load(out)).figures
    assert drawn.absent is None
    lines = {line.name: line for panel in drawn.panels if isinstance(panel, Panel) for line in panel.series}
    if name == "scheduling":
        assert [panel.title for panel in drawn.panels if isinstance(panel, Panel)] == [
            "PS: mean time 2.50", "SRPT: mean time 2.00", "LAS: mean time 2.00",
        ]  # fmt: skip
        assert max(lines["job B"].y) == 1.0
    elif name == "l2dct-backoff":
        line = lines["w = 0.5"]
        assert all(y == pytest.approx(x**0.5) for x, y in zip(line.x, line.y, strict=True))
    else:
        line = lines["w = 1, k = 1"]
        assert (max(line.y), max(line.y) - min(line.y)) == pytest.approx((46.0, 4.77), abs=0.01)


def test_the_kernels_figure_is_the_simulated_one_where_machines_stand_for_the_kernel() -> None:
    simulated, real = (Scenario.load(f"l2dct/{name}") for name in ("fig14-linux", "fig14-kernel"))
    label = "{},senders=2,seed=3"
    for variant in ("l2dct", "dctcp", "newreno-ecn"):
        one, other = (each.at(label.format(variant)).resolved for each in (simulated, real))
        for key in ("topology", "fabric", "stop", "bottleneck", "sample", "transport"):
            assert one[key] == other[key], (variant, key)
        own = ("stack", "congestion", "mptcp", "ecn", "initial_window", "settings")
        flows = [{key: value for key, value in entry.items() if key not in own} for entry in other["traffic"]]
        assert one["traffic"] == flows
