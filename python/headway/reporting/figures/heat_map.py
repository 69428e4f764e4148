"""One number over two swept keys: a cell for each pair of values, the best one, and what is not apart from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.data.point import Point
from headway.data.statistics import Estimate, over_seeds, ratio_over_seeds
from headway.data.units import display, parse_any

from ..metrics import ends, is_higher_better, metrics_of, number_of, owner, without
from ..spec import Figure, HeatCell, HeatPanel
from ..study import Study, short_axis, value_text
from ..summaries import summary_label
from .kind import Facts, FigureKind

Place = tuple[int, int]
TWO_KEYS = "a heat map needs two keys that are swept over several values each"


def heat_map(study: Study) -> Figure:
    """A panel a variant and number: the last two swept keys are its sides, other keys are the first of their values."""
    figure_id, title = "heat-map", "Two swept keys"
    keys = [key for key in study.axis_keys if len({value_text(point.axes.get(key, "")) for point in study.points}) > 1]
    if len(keys) < 2:
        return Figure(figure_id, title, absent=TWO_KEYS)
    across, down = _sides(study, keys)
    fixed = {key: study.points[0].axes.get(key, "") for key in keys if key not in (across, down)}
    panels = []
    for metric in metrics_of(study, ("fct_mean_s", "fct_p99_s"))[:2]:
        own = owner(study, metric)
        panels += [panel for name in own.variants if (panel := _panel(own, name, metric, across, down, fixed))]
    if not panels:
        return Figure(figure_id, title, absent=study.unmeasured or "no point of the sweep finished a flow")
    several = len(study.seeds) > 1
    caption = (
        "Thick frame: the best cell. Thin frame: cells next to it, or next to such a cell, that are not apart from it:"
        " the 95 % interval of their ratio over the seeds contains 1."
        if several
        else "Thick frame: the best cell. One seed, so that no cell is known to be apart from it."
    )
    if fixed:
        caption += f" Shown at {', '.join(f'{short_axis(key)} {value_text(value)}' for key, value in fixed.items())}."
    label = summary_label(metrics_of(study, ("fct_mean_s",))[0])[0]
    title = f"{label} over {short_axis(across)} and {short_axis(down)}"
    title = title[0].upper() + title[1:]
    return Figure(figure_id, title, caption + without(study), tuple(panels), 1 if len(panels) == 1 else 2)


def _sides(study: Study, keys: Sequence[str]) -> tuple[str, str]:
    """The keys across and down: `x` of the report, or the load, is across."""
    across = study.x_key if study.x_key is not None and study.x_key in keys else keys[0]
    return across, next(key for key in keys if key != across)


def _panel(
    study: Study, variant: str, metric: str, across: str, down: str, fixed: Mapping[str, object]
) -> HeatPanel | None:
    mine = [p for p in study.points if p.variant == variant and all(p.axes.get(k) == v for k, v in fixed.items())]
    columns, rows = (_values(mine, key) for key in (across, down))
    by_place: dict[Place, list[Point]] = {}
    for point in mine:
        place = (columns.index(_text(point, across)), rows.index(_text(point, down)))
        by_place.setdefault(place, []).append(point)
    numbers = {
        place: {point.seed: number_of(point, metric, None) for point in points} for place, points in by_place.items()
    }
    means = {place: found for place, own in numbers.items() if (found := over_seeds(list(own.values()))) is not None}
    if len(means) < 2:
        return None
    choose = max if is_higher_better(metric) else min
    best = choose(means, key=lambda place: means[place].mean)
    alike = _alike(best, numbers, means)
    label, quantity = summary_label(metric)
    low, high = (choose_end(found.mean for found in means.values()) for choose_end in (min, max))
    cells = []
    for (column, row), found in means.items():
        share = (found.mean - low) / (high - low) if high > low else 0.0
        where = f"{short_axis(across)} {columns[column]}, {short_axis(down)} {rows[row]}"
        mark = "best" if (column, row) == best else "alike" if (column, row) in alike else ""
        about = (display(quantity, found.mean, 3), _detail(metric, quantity, found, where), mark)
        known = ends(found, metric) if found.half_width is not None else (None, None)
        cells.append(HeatCell(column, row, found.mean, share, *about, *known))
    title = f"{variant} · {label}" if len(study.variants) > 1 else label
    return HeatPanel(
        title, short_axis(across), short_axis(down), tuple(columns), tuple(rows), tuple(cells), label, quantity
    )


def _alike(
    best: Place, numbers: Mapping[Place, Mapping[int, float | None]], means: Mapping[Place, Estimate]
) -> set[Place]:
    """The cells that are not apart from the best, and that such cells connect with it."""
    base = numbers[best]
    found: set[Place] = set()
    edge = [best]
    while edge:
        x, y = edge.pop()
        for place in means:
            near = max(abs(place[0] - x), abs(place[1] - y)) == 1
            if not near or place in found or place == best:
                continue
            ratio = ratio_over_seeds([(value, base.get(seed)) for seed, value in numbers[place].items()])
            if ratio is not None and ratio.contains_one:
                found.add(place)
                edge.append(place)
    return found


def _values(points: Sequence[Point], key: str) -> list[str]:
    """Values of a key as text: numbers by size, others as they come."""
    found = dict.fromkeys(_text(point, key) for point in points)
    sizes = {text: parse_any(_bare(text)) for text in found}
    if all(size is not None for size in sizes.values()):
        return sorted(found, key=lambda text: (sizes[text] or (0.0, ""))[0])
    return list(found)


def _bare(text: str) -> float | str:
    """A number as one, for what is a number without a unit."""
    try:
        return float(text)
    except ValueError:
        return text


def _text(point: Point, key: str) -> str:
    return value_text(point.axes.get(key, ""))


def _detail(metric: str, quantity: str, found: Estimate, where: str) -> str:
    text = f"{where}: {display(quantity, found.mean)}"
    if found.half_width is None:
        return text
    low, high = ends(found, metric)
    return f"{text} ({display(quantity, low)} to {display(quantity, high)})"


def two_swept(facts: Facts) -> str:
    """Two keys with several values each."""
    several = [key for key, values in facts.swept.items() if len(set(map(str, values))) > 1]
    return "" if len(several) > 1 else TWO_KEYS


KIND = FigureKind(
    "numbers of the summary (`y`) over two swept keys: the best cell, and what is not apart from it",
    heat_map,
    aliases=("heat",),
    needs=(two_swept,),
    uses=("y",),
)
