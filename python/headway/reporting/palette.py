"""Colours and line styles, shared by the page and the paper figures.

Every transport has one colour in every figure of every report. Several variants of one transport share its hue and
differ in shade and dash, so that colour is never the only cue. Flows inside one panel use a second set. The first set
begins with Okabe and Ito's blue and vermilion; the rest was searched so that every colour has a contrast of at least
3:1 against the page in light and in dark mode, and any two of a set, and any two transports that are likely to be drawn
together, stay apart, also for readers with deuteranopia or protanopia (tests compute all of it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LIGHT_PAGE = "#ffffff"
DARK_PAGE = "#14171c"

# A colour in light and in dark mode.
Pair = tuple[str, str]

_HUES: tuple[Pair, ...] = (
    ("#0072b2", "#4d9ff5"),
    ("#d55e00", "#ff9a4d"),
    ("#00875f", "#8ff5d2"),
    ("#a8328a", "#e5518a"),
    ("#8468ea", "#c4b0ff"),
    ("#4a2010", "#bf6a2a"),
    ("#15068a", "#6b73ff"),
    ("#8a8f99", "#f2a7c3"),
)
_FLOWS: tuple[Pair, ...] = (
    ("#332f9c", "#6f7bff"),
    ("#117733", "#7fe88a"),
    ("#e0607e", "#f490c8"),
    ("#b18e15", "#d9c03a"),
    ("#472400", "#c9651a"),
    ("#9a7bea", "#dcc8ff"),
    ("#7d0451", "#f04a8a"),
    ("#2f9fb0", "#9af7ee"),
)
# The colour of each transport, in light and in dark mode. Those that are likely to be drawn together were searched to
# stay apart, and tests hold them to it. A transport that is not here takes the next hue that its report does not use.
_FIXED: dict[str, Pair] = {
    "amrt": ("#0072b2", "#4d9ff5"),
    "phost": ("#d55e00", "#ff9a4d"),
    "homa": ("#00875f", "#8ff5d2"),
    "ndp": ("#a8328a", "#e5518a"),
    "expresspass": ("#8468ea", "#c4b0ff"),
    "rpo": ("#4a2010", "#bf6a2a"),
    "proactmp": ("#15068a", "#6b73ff"),
    "rcp": ("#8a8f99", "#f2a7c3"),
    "homa-aeolus": ("#754a23", "#fed7a3"),
    "expresspass-aeolus": ("#ac8b26", "#9a932d"),
    "dctcp": ("#004972", "#daf3fe"),
    "l2dct": ("#541fd1", "#7965f0"),
    "d2tcp": ("#8c352a", "#fea47c"),
    "tcp": ("#5a91d7", "#5fb8f2"),
    "cubic": ("#ff2b5e", "#cb234a"),
    "bbr": ("#9c7c0b", "#ac8b26"),
    "bbr3": ("#4c6b1f", "#a3d64f"),
    "vegas": ("#c270a0", "#8c6088"),
    "mptcp-reno": ("#445282", "#6d49f4"),
    "mptcp-cubic": ("#9a1c37", "#ec8dab"),
    "mptcp-lia": ("#f0503d", "#fe6a00"),
    "mptcp-olia": ("#9c40bf", "#e2bff2"),
    "mptcp-balia": ("#4158fa", "#79b1f9"),
    "mptcp-wvegas": ("#3d98d1", "#2b88c0"),
    "swift": ("#9b2014", "#fbbea3"),
    "sird": ("#ab7da7", "#ad36a7"),
    "dcpim": ("#6f00c2", "#6b5fca"),
    "uet-nscc": ("#b98066", "#e58212"),
    "uet-rccc": ("#3b51d3", "#6b55df"),
    "eqds": ("#4390ee", "#3d98d1"),
    "hpcc": ("#ee1401", "#99624a"),
    "dcqcn": ("#eb37b0", "#f695ee"),
    "timely": ("#3646e8", "#6e92c0"),
    "powertcp": ("#877deb", "#4761e4"),
    "powertcp-theta": ("#745583", "#b716b2"),
}
_DASHES = ("", "7 3", "2 2.5", "9 3 2 3")
# Two colours that are nearer than this in OKLab need different dashes.
NEAR = 0.1
# Further steps of a shade are all the same.
MOST_STEPS = 3


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


def _oklab(colour: str) -> tuple[float, float, float]:
    """A colour where distances are as people see them (B. Ottosson)."""
    parts = [c / 255 for c in _channels(colour)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    cones = (
        0.41222 * r + 0.53633 * g + 0.05145 * b,
        0.21190 * r + 0.68070 * g + 0.10740 * b,
        0.08830 * r + 0.28172 * g + 0.62998 * b,
    )
    long, middle, short = (cone ** (1 / 3) for cone in cones)
    return (
        0.21045 * long + 0.79362 * middle - 0.00407 * short,
        1.97800 * long - 2.42859 * middle + 0.45059 * short,
        0.02590 * long + 0.78277 * middle - 0.80868 * short,
    )


def _near(one: Pair, other: Pair) -> bool:
    """True if two colours are hard to tell apart in one of the modes."""
    return any(math.dist(_oklab(a), _oklab(b)) < NEAR for a, b in zip(one, other, strict=True))


def _shade(colour: Pair, step: int) -> Pair:
    """Step 0 is the colour itself; further steps go towards the ink of the mode, never towards the page."""
    amount = min(0.36 * step, 0.75)
    return mix(colour[0], "#000000", amount), mix(colour[1], "#ffffff", amount)


def variant_styles(variants: Sequence[tuple[str, str]]) -> dict[str, Style]:
    """Style of each variant, given (variant, transport) in order of appearance."""
    transports = list(dict.fromkeys(transport for _, transport in variants))
    own = _own_colours(transports)
    first = own[transports[0]] if transports else _HUES[0]
    # Nothing else is in the report: hues tell the variants apart, and the first has that of the transport.
    apart = [first, *(hue for hue in _HUES if not _near(hue, first))]
    alone = len(transports) == 1 and len(variants) > 1
    drawn: list[tuple[str, Pair, str]] = []
    styles = {}
    for number, (variant, transport) in enumerate(variants):
        before = sum(other == transport for other, _, _ in drawn)
        colour = apart[number % len(apart)] if alone else own[transport]
        step = number // len(apart) if alone else before
        reserved = {own[other] for other in transports if other != transport} if not alone else set()
        while _shade(colour, step) in {*reserved, *(pair for _, pair, _ in drawn)} and step < MOST_STEPS:
            step += 1
        pair = _shade(colour, step)
        # Colour is never the only cue where two are near, or of one transport.
        taken = [dash for other, old, dash in drawn if _near(old, pair) or (other == transport and not alone)]
        dash = next((one for one in _DASHES if one not in taken), _DASHES[len(taken) % len(_DASHES)])
        drawn.append((transport, pair, dash))
        styles[variant] = Style(*pair, dash)
    return styles


def _own_colours(transports: Sequence[str]) -> dict[str, Pair]:
    """The colour of each transport; those without a colour of their own take hues that are free here."""
    found = {name: _FIXED[name] for name in transports if name in _FIXED}
    for name in transports:
        if name not in found:
            free = [hue for hue in _HUES if not any(_near(hue, other) for other in found.values())]
            unused = [hue for hue in _HUES if hue not in found.values()]
            found[name] = next(iter([*free, *unused]), _HUES[len(found) % len(_HUES)])
    return found


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
