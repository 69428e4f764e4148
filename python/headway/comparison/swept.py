"""The values of a swept key as if they were variants: the first one is what the others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.data.point import Point
from headway.errors import HeadwayError, NameNotFound


def axes_of(points: Sequence[Point]) -> dict[str, list[str]]:
    """The keys that are swept over more than one value, each with its values as labels have them."""
    found: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in point.axes.items():
            found.setdefault(key, {})[_text(value)] = None
    return {key: list(values) for key, values in found.items() if len(values) > 1}


def key_of(points: Sequence[Point], baseline: str | None) -> str | None:
    """The key of a baseline that is a value of a swept key, as `load=0.3`; None for one that is a variant, or none."""
    if baseline is None or "=" not in baseline or any(point.variant == baseline for point in points):
        return None
    return baseline.partition("=")[0].strip()


def over_axis(points: Sequence[Point], key: str | None) -> tuple[list[Point], str | None]:
    """The points with the values of a key as variants, and that key; as they are, if variants are to be compared.

    Without a key it is the first swept one, if there is one variant. A key may be its last part, as `window`. Raises
    `HeadwayError` for a key that is not swept.
    """
    axes = axes_of(points)
    variants = list(dict.fromkeys(point.variant for point in points))
    if key is None:
        if len(variants) > 1 or not axes:
            return list(points), None
        key = next(iter(axes))
    named = [one for one in axes if key in (one, _short(one))]
    if not named:
        hint = f"it sweeps {', '.join(axes)}" if axes else "it sweeps no key over several values"
        raise NameNotFound("swept key", key, (*axes, *map(_short, axes)), hint)
    if len(named) > 1:
        raise HeadwayError(f"`{key}` is the end of several swept keys: {', '.join(named)}")
    together = [named[0], *(one for one in axes if one != named[0] and _follows(points, one, named[0]))]
    return [_moved(point, together, alone=len(variants) == 1) for point in points], named[0]


def _follows(points: Sequence[Point], other: str, key: str) -> bool:
    """True if each value of a key has one value of another, as where both are zipped."""
    pairs = {(_text(point.axes.get(key)), _text(point.axes.get(other))) for point in points}
    return len(pairs) == len({value for value, _ in pairs})


def _moved(point: Point, keys: Sequence[str], *, alone: bool) -> Point:
    """A point whose variant is its value of the keys; its own variant is an axis then, if there are several."""
    axes = {one: value for one, value in point.axes.items() if one not in keys}
    variant = ",".join(f"{_short(key)}={_text(point.axes.get(key))}" for key in keys)
    place = [f"{_short(one)}={_text(value)}" for one, value in axes.items()]
    label = [variant, *([] if alone else [point.variant]), *place, f"seed={point.seed}"]
    return replace(
        point, variant=variant, axes=axes if alone else {"variant": point.variant, **axes}, label=",".join(label)
    )


def _short(key: str) -> str:
    return key.rpartition(".")[2]


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
