"""Colours and line styles, shared by the page and the paper figures.

Every transport has one colour in every figure of every report. Several variants of one transport share its hue and
differ in shade and dash, so that colour is never the only cue. Flows inside one panel use a second set. The first set
begins with Okabe and Ito's blue and vermilion; the rest was searched so that every colour has a contrast of at least
3:1 against the page in light and in dark mode, and any two of a set stay apart for readers with deuteranopia or
protanopia (tests compute both).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LIGHT_PAGE = "#ffffff"
DARK_PAGE = "#14171c"

_HUES: tuple[tuple[str, str], ...] = (
    ("#0072b2", "#4d9ff5"),
    ("#d55e00", "#ff9a4d"),
    ("#00875f", "#8ff5d2"),
    ("#a8328a", "#e5518a"),
    ("#8468ea", "#c4b0ff"),
    ("#4a2010", "#bf6a2a"),
    ("#15068a", "#6b73ff"),
    ("#8a8f99", "#f2a7c3"),
)
_FLOWS: tuple[tuple[str, str], ...] = (
    ("#332f9c", "#6f7bff"),
    ("#117733", "#7fe88a"),
    ("#e0607e", "#f490c8"),
    ("#b18e15", "#d9c03a"),
    ("#472400", "#c9651a"),
    ("#9a7bea", "#dcc8ff"),
    ("#7d0451", "#f04a8a"),
    ("#2f9fb0", "#9af7ee"),
)
# The hue of each transport, and how many steps it is from the hue itself. Transports that papers compare with each
# other have different hues. A transport that is not here takes the next hue that its report does not use.
_FIXED = {
    "amrt": (0, 0), "phost": (1, 0), "homa": (2, 0), "ndp": (3, 0), "expresspass": (4, 0), "rpo": (5, 0),
    "proactmp": (6, 0), "rcp": (7, 0), "homa-aeolus": (2, 1), "expresspass-aeolus": (4, 1),
    "dctcp": (0, 1), "l2dct": (1, 1), "d2tcp": (3, 1), "tcp": (7, 1), "cubic": (5, 1), "bbr": (6, 1), "vegas": (2, 2),
    "mptcp-reno": (7, 2), "mptcp-cubic": (5, 2), "mptcp-lia": (0, 2), "mptcp-olia": (1, 2), "mptcp-balia": (3, 2),
    "mptcp-wvegas": (4, 2), "swift": (6, 2), "sird": (7, 3), "dcpim": (5, 3),
    "uet-nscc": (0, 3), "uet-rccc": (1, 3), "eqds": (3, 3), "hpcc": (2, 3), "dcqcn": (4, 3), "timely": (6, 3),
    "powertcp": (5, 4), "powertcp-theta": (0, 4),
}  # fmt: skip
_DASHES = ("", "7 3", "2 2.5", "9 3 2 3")


@dataclass(frozen=True)
class Style:
    """Colour of one series in light and dark mode, and its dash pattern (SVG units, empty for solid)."""

    light: str
    dark: str
    dash: str = ""


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(colour: str, other: str, share: float) -> str:
    """`colour` with `share` of `other` mixed in."""
    mixed = (round(a + (b - a) * share) for a, b in zip(_channels(colour), _channels(other), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def contrast(one: str, two: str) -> float:
    """Contrast ratio of two colours as WCAG 2 defines it (1 to 21)."""

    def luminance(colour: str) -> float:
        parts = [c / 255 for c in _channels(colour)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _shade(hue: int, step: int, dash: int) -> Style:
    """Step 0 is the hue itself; further steps go towards the ink of the mode, never towards the page."""
    light, dark = _HUES[hue % len(_HUES)]
    amount = min(0.36 * step, 0.75)
    return Style(mix(light, "#000000", amount), mix(dark, "#ffffff", amount), _DASHES[dash % len(_DASHES)])


def variant_styles(variants: Sequence[tuple[str, str]]) -> dict[str, Style]:
    """Style of each variant, given (variant, transport) in order of appearance."""
    transports = list(dict.fromkeys(transport for _, transport in variants))
    if len(transports) == 1 and len(variants) > 1:
        # Nothing else is in the report: hues tell the variants apart, and the first has that of the transport.
        own, step = _FIXED.get(transports[0], (0, 0))
        rounds = [(i, i // len(_HUES)) for i in range(len(variants))]
        shades = [_shade(own + i, step + turn, turn) for i, turn in rounds]
        return {variant: shade for (variant, _), shade in zip(variants, shades, strict=True)}
    places = {name: _FIXED[name] for name in transports if name in _FIXED}
    used = {hue for hue, _ in places.values()}
    free = [i for i in range(len(_HUES)) if i not in used] or list(range(len(_HUES)))
    others = [name for name in transports if name not in places]
    places.update({name: (free[i % len(free)], 0) for i, name in enumerate(others)})
    reserved: dict[tuple[int, int], str] = {}
    for name in transports:
        reserved.setdefault(places[name], name)
    taken: set[tuple[int, int]] = set()
    counts: dict[int, int] = {}
    styles = {}
    for variant, transport in variants:
        hue, step = places[transport]
        # The first variant has the transport's own shade, the others the next ones that nobody has.
        while (hue, step) in taken or reserved.get((hue, step), transport) != transport:
            step += 1
        taken.add((hue, step))
        dash = counts.get(hue, 0)
        counts[hue] = dash + 1
        styles[variant] = _shade(hue, step, dash)
    return styles


def base_colours() -> dict[str, tuple[tuple[str, str], ...]]:
    """The two sets as (light, dark) pairs."""
    return {"variants": _HUES, "flows": _FLOWS}


def flow_styles(names: Iterable[str]) -> dict[str, Style]:
    """Style of each flow; beyond the set's length the colours repeat with another dash."""
    styles = {}
    for i, name in enumerate(names):
        light, dark = _FLOWS[i % len(_FLOWS)]
        styles[name] = Style(light, dark, _DASHES[i // len(_FLOWS) % len(_DASHES)])
    return styles
