"""The functions that measures are made of. Times are text with a unit (`'1.2 ms'`) or a number of seconds."""

from __future__ import annotations

import ast
import json
import math
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

from headway import _headway
from headway.claims.context import Context
from headway.claims.language import CannotMeasure, Evaluator, Vocabulary
from headway.claims.models import MODELS
from headway.claims.series import Series, sampled
from headway.data.bounds import Bound, Sample, bounded, ends, in_document, joined
from headway.data.later import pl
from headway.data.nested import inside
from headway.data.point import Point
from headway.data.units import parse_seconds
from headway.errors import HeadwayError, nearest
from headway.programs import program

WORKLOADS = Path(__file__).parents[1] / "workloads"
# So many names are listed whole.
FEW = 12


def seconds(value: str | float) -> float:
    """A time as seconds."""
    if not isinstance(value, str):
        return float(value)
    found = parse_seconds(value)
    if found is None or not found >= 0:
        raise CannotMeasure(f"'{value}' is not a time such as '1.2 ms'")
    return found


def number(value: Any, what: str) -> float:  # noqa: ANN401
    """A value that must be a number; None means that the run had nothing to average."""
    if value is None:
        raise CannotMeasure(f"{what} is empty in this run")
    if not isinstance(value, int | float):
        raise CannotMeasure(f"{what} is no number")
    return value if isinstance(value, Bound) else float(value)


# --- one run ---


def summary(context: Context, key: str) -> float:
    """A number of `summary.json`; `a.b` goes into `a`, `a.0` to the first of the list `a`."""
    return _numbered(context.point().run.summary, "summary", key)


def manifest(context: Context, key: str) -> float:
    """A number of `manifest.json`; `a.b` goes into `a`, `a.0` to the first of the list `a`."""
    return _numbered(context.point().run.manifest, "manifest", key)


def _numbered(document: Any, what: str, key: str) -> float:  # noqa: ANN401  (what JSON holds)
    value = document
    for part in key.split("."):
        try:
            value = inside(value, part)
        except KeyError:
            hint = near(part, value if isinstance(value, dict) else ())
            raise CannotMeasure(f"the {what} has no {key}{hint}") from None
    if isinstance(value, dict) and value:
        raise CannotMeasure(f"{key} is a table; name one of its numbers, such as {key}.{next(iter(value))}")
    return in_document(document, key, number(value, key))


def near(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that is not there: those most like it, or all if they are few."""
    known = sorted(known)
    if close := nearest(name, known):
        return f"; nearest: {', '.join(close)}"
    return f"; there are {', '.join(known)}" if 0 < len(known) <= FEW else ""


def flow(context: Context, name: str, column: str) -> float:
    """A column of one flow, by its name."""
    return _cell(context.point(), "flows", name, column)


def link(context: Context, name: str, column: str) -> float:
    """A column of one link, by its name."""
    return _cell(context.point(), "links", name, column)


def flows_sum(context: Context, column: str) -> float:
    """The sum of a column over all flows. The time of one that is open at the end is at least what it was open for."""
    values = _column(context.point(), "flows", column)
    return bounded(math.fsum(values), joined(values))


def flows_below(context: Context, column: str, limit: str | float) -> float:
    """The share of the flows with a column below `limit`; at least that if open ones may still be."""
    values, most = _column(context.point(), "flows", column), seconds(limit)
    below = sum(1.0 for value in values if max(ends(value)) < most) / len(values)
    return bounded(below, 1 if any(min(ends(v)) < most <= max(ends(v)) for v in values) else None)


def flows_quantile(context: Context, column: str, q: float, largest: float = math.inf) -> float:
    """A quantile by nearest rank, `q` from 0 to 1, over the flows that count and have at most `largest` bytes: done and
    started after the warm-up, or open at the end."""
    if not 0 <= q <= 1:
        raise CannotMeasure(f"a quantile is from 0 to 1, not {q}")
    kept = context.point().counted_flows
    _look_for(column, "flows", kept)
    if largest < math.inf:
        kept = kept.filter(kept["bytes"] <= largest)
    kept = kept.filter(kept[column].is_not_null())
    # Of what is no time, an open flow has its value as any other.
    is_open = kept["is_open"] if column in OF_TIMES else pl.repeat(value=False, n=kept.height, eager=True)
    found = Sample(kept[column].cast(pl.Float64).to_numpy(), is_open.to_numpy()).quantile(q)
    if found is None:
        small = f" of at most {largest:g} bytes" if largest < math.inf else ""
        raise CannotMeasure(f"{column} of the flows{small} is empty in this run")
    return found


def class_mean(context: Context, column: str, number: float) -> float:
    """The mean of a column over the flows of one application class, open ones included."""
    frame = context.point().flows
    _look_for(column, "flows", frame)
    values = _values(frame.filter(frame["class"] == int(number)), column)
    if not values:
        raise CannotMeasure(f"{column} of class {int(number)} is empty in this run")
    return bounded(math.fsum(values) / len(values), joined(values))


def round_trips_below(context: Context, limit: str | float) -> float:
    """The share of the packets whose round trip is at most `limit`, to a hundredth of it."""
    trips = context.point().run.summary.get("round_trips")
    if not isinstance(trips, dict) or not trips["histogram"]:
        raise CannotMeasure("this run has no round trips: its machine does not measure them, or nothing was answered")
    most = seconds(limit)
    return float(sum(count for end, count in trips["histogram"] if end <= most) / trips["samples"])


def links_sum(context: Context, column: str, like: str = "*") -> float:
    """The sum of a column over all links, or over those called like `'leaf*->h*'`."""
    return float(math.fsum(_column(context.point(), "links", column, like)))


def links_largest(context: Context, column: str, like: str = "*") -> float:
    """The largest value of a column over all links, or over those called like `'leaf*->h*'`."""
    return max(_column(context.point(), "links", column, like))


# --- sampled series ---


def series(context: Context, entity: str, metric: str) -> Series:
    """A sampled series by entity and metric."""
    return sampled(context.point().run, entity, metric)


def throughput(context: Context, *flows: str) -> Series:
    """New payload bits a second delivered of one flow, or of several together."""
    point = context.point()
    parts = [sampled(point.run, name, "throughput_bps", absent=0.0) for name in flows]
    return reduce(lambda a, b: a + b, parts)


def rate(context: Context, *flows: str) -> Series:
    """Throughput counted in bytes on the wire, so that the rates of the flows of a full link add up to its rate."""
    parts = [throughput(context, name) * _frame_over_payload(context.point(), name) for name in flows]
    return reduce(lambda a, b: a + b, parts)


def _frame_over_payload(point: Point, flow: str) -> float:
    """Bytes that a full packet of a flow takes on the wire over those it delivers, of the packets that there were."""
    sizes = _kernel_sizes(point, flow) or point.run.fabric
    payload, header, framing = (float(sizes[part]) for part in ("payload", "header", "framing"))
    return (payload + header + framing) / payload


def _kernel_sizes(point: Point, flow: str) -> Mapping[str, Any] | None:
    """Sizes of the segments of a flow that the kernel's TCP sent on real packets; None of any other flow."""
    sizes = (point.run.manifest.get("testbed") or {}).get("kernel_packet_sizes")
    if sizes is None:
        return None
    flows = point.run.flows.to_polars()
    transports = flows.filter(flows["name"] == flow)["transport"].to_list()
    return sizes if any(str(name).startswith("kernel-") for name in transports) else None


def utilisation(context: Context, name: str) -> Series:
    """Share of each interval in which a link was sending."""
    return sampled(context.point().run, name, "utilisation")


def queue(context: Context, name: str) -> Series:
    """Largest queue of a link in each interval, in full packets."""
    return _packets(context.point(), name, "queue_max_bytes")


def waiting(context: Context, name: str) -> Series:
    """Queue of a link at the end of each interval, in full packets."""
    return _packets(context.point(), name, "queue_bytes")


def switches_largest(context: Context, like: str = "*") -> float:
    """The most bytes in all sampled queues of one switch at the end of an interval, over those like `'leaf*'`."""
    frame = context.point().run.series.to_polars()
    frame = frame.filter(pl.col("metric") == "queue_bytes").with_columns(
        pl.col("entity").cast(pl.String).str.split("->").list.first().alias("switch")
    )
    if frame.height == 0:
        raise CannotMeasure('no queue was sampled; `[sample]` with `links = "all"` does that')
    known = sorted(set(frame["switch"].to_list()))
    named = [name for name in known if fnmatchcase(name, like)]
    if not named:
        raise CannotMeasure(f"no sampled switch is called like {like}{near(like, known)}")
    together = frame.filter(pl.col("switch").is_in(named)).group_by("switch", "t_s").agg(pl.col("value").sum())
    return number(together["value"].max(), "what waits in switches")


def _packets(point: Point, name: str, metric: str) -> Series:
    fabric = point.run.manifest["scenario"]["fabric"]
    frame = float(fabric["payload"]) + float(fabric["header"]) + float(fabric["framing"])
    return sampled(point.run, name, metric) * (1.0 / frame)


def mean(_: Context, samples: Series, start: str | float, end: str | float) -> float:
    """Mean over a window."""
    values = [value for _, value in samples.window(seconds(start), seconds(end))]
    return math.fsum(values) / len(values)


def peak(_: Context, samples: Series, start: str | float, end: str | float) -> float:
    """Largest sample of a window."""
    return max(value for _, value in samples.window(seconds(start), seconds(end)))


def trough(_: Context, samples: Series, start: str | float, end: str | float) -> float:
    """Smallest sample of a window."""
    return min(value for _, value in samples.window(seconds(start), seconds(end)))


def when_above(_: Context, samples: Series, level: float, start: str | float, end: str | float) -> float:
    """End of the first interval of a window whose sample is at least `level`; infinite if there is none."""
    for at_s, value in samples.window(seconds(start), seconds(end)):
        if value >= level:
            return at_s
    return math.inf


def when_below(_: Context, samples: Series, level: float, start: str | float, end: str | float) -> float:
    """End of the first interval of a window whose sample is below `level`; infinite if there is none."""
    for at_s, value in samples.window(seconds(start), seconds(end)):
        if value < level:
            return at_s
    return math.inf


def rises(_: Context, samples: Series, level: float, start: str | float, end: str | float) -> float:
    """Number of times that the samples of a window go from below `level` to at least `level`."""
    values = [value for _, value in samples.window(seconds(start), seconds(end))]
    return float(sum(before < level <= after for before, after in pairwise(values)))


def mean_fall(_: Context, samples: Series, start: str | float, end: str | float) -> float:
    """Mean size of one fall of the samples of a window, from where they begin to fall to where they end."""
    values = [value for _, value in samples.window(seconds(start), seconds(end))]
    steps = [before - after for before, after in pairwise(values)]
    number = sum(step > 0 and not last > 0 for last, step in pairwise([0.0, *steps]))
    if number == 0:
        raise CannotMeasure("the samples of this window never fall")
    return sum(step for step in steps if step > 0) / number


# --- numbers ---


def percent_lower(_: Context, subject: float, versus: float) -> float:
    """By how many percent `subject` is lower than `versus`."""
    return 100.0 * (1.0 - subject / versus)


def percent_higher(_: Context, subject: float, versus: float) -> float:
    """By how many percent `subject` is higher than `versus`."""
    return 100.0 * (subject / versus - 1.0)


def within(_: Context, value: float, reference: float, percent: float) -> bool:
    """True if `value` is at most `percent` percent of `reference` away from it."""
    return abs(value - reference) <= abs(reference) * percent / 100.0


def jain(_: Context, *shares: float) -> float:
    """Jain's index of fairness."""
    return math.fsum(shares) ** 2 / (len(shares) * math.fsum(x * x for x in shares))


def sizes_below(_: Context, workload: str, limit: float) -> float:
    """The share of the sizes of a workload's table that are below `limit` bytes."""
    known = {entry["name"]: entry["interpolation"] for entry in json.loads(_headway.catalogue("workloads"))}
    if workload not in known:
        raise CannotMeasure(f"no workload '{workload}'{near(workload, list(known))}")
    text = (WORKLOADS / f"{workload}.csv").read_text(encoding="utf-8")
    rows = [tuple(map(float, line.split(","))) for line in text.splitlines() if line[:1].isdigit()]
    before = max((row for row in rows if row[0] < limit), default=(0.0, 0.0))
    after = next((row for row in rows if row[0] >= limit), None)
    if known[workload] == "step" or after is None:
        return before[1]
    return before[1] + (after[1] - before[1]) * (limit - before[0]) / (after[0] - before[0])


def least(_: Context, *values: float) -> float:
    """The smallest of some numbers."""
    return min(values)  # One that is known to be more than the smallest moves nothing.


def most(_: Context, *values: float) -> float:
    """The largest of some numbers."""
    return _largest(values)


def _largest(values: Sequence[float]) -> float:
    """The largest: at least that, if any of them is only known to be at least something."""
    return bounded(max(values), joined(values))


# --- programs for the kernel ---


def code_lines(_: Context, control: str) -> float:
    """Lines of C that a congestion control takes beyond DCTCP in the kernel, as `headway kernel lines` counts them."""
    try:
        command = [str(program("headway-kernel")), "lines", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except HeadwayError as error:
        raise CannotMeasure(str(error)) from None
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotMeasure(f"the lines of {control} cannot be counted: {error}") from None
    counts = json.loads(done.stdout)
    if control not in counts:
        raise CannotMeasure(f"no control {control} for the kernel is built on DCTCP; there are {', '.join(counts)}")
    return number(counts[control], f"lines of {control}")


# --- which runs are meant: these get their arguments unevaluated ---


def of(evaluator: Evaluator, context: Context, variant: ast.expr, measure: ast.expr) -> Any:  # noqa: ANN401
    """`measure` of another variant."""
    return evaluator.value(measure, context.of(evaluator.value(variant, context)))


def among(evaluator: Evaluator, context: Context, transport: ast.expr, measure: ast.expr) -> Any:  # noqa: ANN401
    """`measure` over the flows of one of a run's several transports: `among('dctcp', summary('fct_mean_s'))`."""
    return evaluator.value(measure, context.among(str(evaluator.value(transport, context))))


def at(evaluator: Evaluator, context: Context, measure: ast.expr, axes: ast.expr) -> Any:  # noqa: ANN401
    """`measure` at values of the sweep's axes: `at(m, {'traffic.0.load': 0.7})`."""
    return evaluator.value(measure, context.at(evaluator.value(axes, context)))


def largest(evaluator: Evaluator, context: Context, measure: ast.expr) -> float:
    """The largest value of `measure` over all combinations of the axes."""
    return _largest([evaluator.value(measure, place) for place in context.combinations()])


def smallest(evaluator: Evaluator, context: Context, measure: ast.expr) -> float:
    """The smallest value of `measure` over all combinations of the axes."""
    return float_of(min(evaluator.value(measure, place) for place in context.combinations()))


def float_of(value: float) -> float:
    """A truth value as a number too."""
    return value if isinstance(value, Bound) else float(value)


def share(evaluator: Evaluator, context: Context, measure: ast.expr) -> float:
    """The share of the combinations of the axes at which `measure` is true."""
    places = context.combinations()
    return sum(1.0 for place in places if evaluator.value(measure, place)) / len(places)


def first(evaluator: Evaluator, context: Context, axis: ast.expr, measure: ast.expr) -> float:
    """The smallest value of an axis at which `measure` is true; infinite if there is none."""
    key = str(evaluator.value(axis, context))
    values = sorted({float(place.axes[key]) for place in context.combinations() if key in place.axes})
    if not values:
        raise CannotMeasure(f"the sweep does not vary {key}")
    for i, value in enumerate(values):
        if evaluator.value(measure, context.at({key: value})):
            for later in values[i + 1 :]:
                evaluator.look(measure, context.at({key: later}))
            return value
    return math.inf


def sooner(evaluator: Evaluator, context: Context, variant: ast.expr, versus: ast.expr) -> float:
    """The share of the flows that end sooner under the first of two variants. One that is open under the other counts
    for it if that ran at least as long; flows that are open under both do not count."""
    ours, theirs = (context.of(str(evaluator.value(name, context))).point() for name in (variant, versus))
    first, second = _finish(ours), _finish(theirs)
    found = [first[flow] < second[flow] for flow in first if flow in second]
    found += [True for flow, at in first.items() if flow not in second and at <= _end(theirs)]
    found += [False for flow, at in second.items() if flow not in first and at <= _end(ours)]
    if not found:
        raise CannotMeasure("no flow is done under both variants")
    return sum(map(float, found)) / len(found)


def cannot(evaluator: Evaluator, context: Context, why: ast.expr) -> float:
    """Nothing: what no run here can show, and why."""
    raise CannotMeasure(str(evaluator.value(why, context)))


_PLAIN: tuple[Callable[..., Any], ...] = (
    *(
        summary,
        manifest,
        flow,
        link,
        flows_sum,
        flows_below,
        flows_quantile,
        class_mean,
        round_trips_below,
        links_sum,
        links_largest,
    ),
    *(series, throughput, rate, utilisation, queue, waiting, switches_largest),
    *(mean, peak, trough, when_above, when_below, rises, mean_fall),
    *(percent_lower, percent_higher, within, jain, least, most, sizes_below),
    code_lines,
    *MODELS,
)
_FORMS = (of, at, among, largest, smallest, share, first, sooner, cannot)

VOCABULARY = Vocabulary({f.__name__: f for f in _PLAIN}, {f.__name__: f for f in _FORMS}, literal=seconds)


def _cell(point: Point, table: str, name: str, column: str) -> float:
    frame = getattr(point.run, table).to_polars()
    rows = frame.filter(frame["name"] == name)
    if rows.height == 0:
        known = [str(one) for one in frame["name"].drop_nulls().unique().to_list() if one != ""]
        hint = near(name, known) if known else f": the {table} of this run have no names"
        raise CannotMeasure(f"none of the {table} is called {name}{hint}")
    if rows.height > 1:
        raise CannotMeasure(f"{rows.height} {table} are called {name}; the function needs one")
    _look_for(column, table, rows)
    values = _values(rows, column)
    return number(values[0] if values else None, f"{column} of {name}")


def _look_for(column: str, table: str, frame: pl.DataFrame) -> None:
    """Raise if a table lacks a column."""
    if column not in frame.columns:
        raise CannotMeasure(f"{table} have no column {column}{near(column, frame.columns)}")


# Columns of flows of which an open flow is known to have at least so much.
OF_TIMES = ("fct_s", "slowdown")


def _values(frame: pl.DataFrame, column: str) -> list[float]:
    """The values of a column; of times, the least that those of open flows are."""
    if column not in OF_TIMES or "at_least_s" not in frame.columns:
        return [float(value) for value in frame[column].drop_nulls().to_list()]
    least = (
        pl.col("at_least_s") if column == "fct_s" else pl.max_horizontal(pl.col("at_least_s") / pl.col("ideal_s"), 1.0)
    )
    both = frame.select(pl.col(column), pl.when(pl.col("at_least_s").is_not_null()).then(least).alias("least"))
    known = [
        (bounded(least, 1) if value is None else value)
        for value, least in both.iter_rows()
        if (value, least) != (None, None)
    ]
    return [value if isinstance(value, Bound) else float(value) for value in known]


def _end(point: Point) -> float:
    """End of a run, in virtual time."""
    return float(point.run.manifest.get("virtual_s") or 0.0)


def _finish(point: Point) -> dict[int, float]:
    """Finish time of each flow that is done, by its position."""
    frame = point.run.flows.to_polars().filter(pl.col("state") == "done")
    return dict(zip(frame["flow"].to_list(), frame["finish_s"].to_list(), strict=True))


def _column(point: Point, table: str, column: str, like: str = "*") -> list[float]:
    frame = getattr(point.run, table).to_polars()
    _look_for(column, table, frame)
    if like != "*":
        frame = frame.filter(
            pl.Series([fnmatchcase(str(name), like) for name in frame["name"].to_list()], dtype=pl.Boolean)
        )
    if not frame.height:
        raise CannotMeasure(f"no {table} are called like {like}")
    values = _values(frame, column)
    if not values:
        raise CannotMeasure(f"{column} of the {table} is empty in this run")
    return values
