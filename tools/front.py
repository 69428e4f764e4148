"""The front page of the documentation site, and its pictures: a gap that AMRT fills, in motion, and three of proof.

The motion is that of the packets of two runs, recorded as the replay of a report records them. It is an animation by
style, so that it needs no script, and stands still where the reader's system asks for less motion. The other pictures
are drawn from records in the repository.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from svgs import finished

from headway import Scenario
from headway.catalogues import catalogue
from headway.comparison import peers
from headway.drawing import save, tape_of
from headway.pages import title
from headway.reporting.paper import paper_style

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
# The run of the moving picture: Fig. 1 of AMRT, from shortly before f0 is squeezed on another link of its path.
GAP = "amrt/fig01-multi-bottleneck"
LINK = "s0->s1"
FLOWS = ("f0", "f1")
LANES = (
    ("pHost", ("transport.name=phost", "transport.mode=arrival")),
    ("AMRT", ("transport.name=amrt",)),
)
STOP = "stop=1.3 ms"
FROM_NS, TO_NS = 960_000, 1_260_000
# One packet in an interval more or less is a tenth of the rate: intervals are long enough that the lines are calm.
BIN_NS = 20_000
SECONDS = 14
WIDTH, PIPE, SEEN_NS = 560, 18, 32_000
COLOURS = {"f0": ("#0072b2", "#4d9ff5"), "f1": ("#d55e00", "#ff9a4d")}
DOORS = (
    ("Reproduce a paper", "gallery/index.md", "Every figure of the papers, with a verdict on each claim."),
    ("Answer a question of your own", "tutorial.md", None),
    ("Build a cluster", "clusters.md", None),
    ("Send messages between hosts", "real-hosts.md", None),
)  # fmt: skip


@dataclass(frozen=True)
class Lane:
    """Packets of one run on the link: when each starts and ends, in ns from the beginning, by flow; and the rates."""

    name: str
    packets: Mapping[str, Sequence[tuple[float, float]]]
    rates: Mapping[str, Sequence[float]]
    unused: float


def lane(name: str, sets: Sequence[str]) -> Lane:
    """Run the figure with a transport, and keep the packets of the link."""
    tape = tape_of(Scenario.load(GAP, sets=[*sets, STOP]))
    number = next(i for i, one in enumerate(tape.links) if f"{one.a}->{one.b}" == LINK)
    capacity = tape.links[number].rate_bps
    packets: dict[str, list[tuple[float, float]]] = defaultdict(list)
    bits = {flow: [0.0] * ((TO_NS - FROM_NS) // BIN_NS) for flow in FLOWS}
    for start, link, size, flow in zip(tape.start, tape.link, tape.wire_bytes, tape.flow, strict=True):
        name_of = tape.flows[flow] if flow >= 0 else ""
        ends = start + size * 8 / capacity * 1e9
        if link != number or name_of not in FLOWS or ends < FROM_NS - SEEN_NS or start > TO_NS:
            continue
        packets[name_of].append((start - FROM_NS, ends - FROM_NS))
        # A packet may lie in two intervals.
        for part in range(max(0, int((start - FROM_NS) // BIN_NS)), len(bits[name_of])):
            low, high = FROM_NS + part * BIN_NS, FROM_NS + (part + 1) * BIN_NS
            if low > ends:
                break
            bits[name_of][part] += capacity * max(0.0, min(ends, high) - max(start, low)) / 1e9
    rates = {flow: [one / BIN_NS * 1e9 / capacity for one in found] for flow, found in bits.items()}
    late = [sum(both) for both in zip(*rates.values(), strict=True)][len(bits[FLOWS[0]]) * 2 // 3 :]
    return Lane(name, packets, rates, 1 - sum(late) / len(late))


def gap_pictures() -> tuple[str, str, str]:
    """The moving picture as SVG, its end as a still one, and what they show in words."""
    lanes = [lane(*one) for one in LANES]
    length = (TO_NS - FROM_NS) / SEEN_NS * WIDTH
    height = 150 * len(lanes) + 26
    light = "".join(f".{flow}{{fill:{pair[0]}}}" for flow, pair in COLOURS.items())
    dark = "".join(f".{flow}{{fill:{pair[1]}}}" for flow, pair in COLOURS.items())
    moves = f"animation-duration:{SECONDS}s;animation-timing-function:linear;animation-iteration-count:infinite"
    style = (
        f"text{{font:13px system-ui,sans-serif;fill:#1f2328}}.q{{fill:#57606a}}.n{{fill:#1f2328;opacity:.1}}{light}"
        f"@media (prefers-color-scheme:dark){{text{{fill:#e6edf3}}.q{{fill:#9aa4b0}}.n{{fill:#e6edf3}}{dark}}}"
        f".s{{transform:translateX({length:.0f}px)}}"
    )
    motion = (
        f"@keyframes go{{from{{transform:translateX(0)}}to{{transform:translateX({length:.0f}px)}}}}"
        "@keyframes draw{from{transform:scaleX(0)}to{transform:scaleX(1)}}"
        f".s{{animation-name:go;{moves}}}.c{{animation-name:draw;{moves}}}"
    )
    legend = (
        '<rect class="f0" y="3" width="12" height="12"/>'
        '<text x="17" y="13">f0, squeezed on another link of its path</text>'
        '<rect class="f1" x="290" y="3" width="12" height="12"/>'
        '<text x="307" y="13">f1, which could take the rest</text>'
    )
    parts = [legend, *(_lane(one, 26 + 150 * place, place) for place, one in enumerate(lanes))]
    said = "; ".join(f"with {one.name} {100 * one.unused:.0f} % of the link stays unused" for one in lanes)
    alt = (
        "Packets of two flows cross one link of 10 Gb/s, and below it their rates over 0.3 ms: "
        f"after f0 loses bandwidth elsewhere, {said}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{alt}">'
    still, moving = (f"{head}<style>{one}</style>{''.join(parts)}</svg>" for one in (style, style + motion))
    return moving, still, alt


def _lane(one: Lane, top: float, place: int) -> str:
    """The link with its packets, and the rates of its flows below it."""
    speed = WIDTH / SEEN_NS
    chart, tall = top + 50, 84.0
    drawn = []
    for flow in FLOWS:
        boxes = "".join(
            f"M{-end * speed:.1f} 0h{(end - start) * speed - 1:.1f}v{PIPE}h-{(end - start) * speed - 1:.1f}z"
            for start, end in one.packets[flow]
        )
        drawn.append(f'<path class="{flow}" d="{boxes}"/>')
    step = WIDTH / len(one.rates[FLOWS[0]])
    below = [0.0] * len(one.rates[FLOWS[0]])
    areas = []
    for flow in FLOWS:
        above = [low + rate for low, rate in zip(below, one.rates[flow], strict=True)]
        up = "".join(
            f"{i * step:.1f},{chart + tall * (1 - y):.1f} {(i + 1) * step:.1f},{chart + tall * (1 - y):.1f} "
            for i, y in enumerate(above)
        )
        down = "".join(
            f"{(i + 1) * step:.1f},{chart + tall * (1 - y):.1f} {i * step:.1f},{chart + tall * (1 - y):.1f} "
            for i, y in reversed(list(enumerate(below)))
        )
        areas.append(f'<polygon class="{flow}" points="{up}{down}"/>')
        below = above
    # Unused time has an area of its own, so that a gap is seen to be one.
    return (
        f'<text x="0" y="{top + 14}" font-weight="bold">{one.name}</text>'
        f'<text class="q" x="{WIDTH}" y="{top + 14}" text-anchor="end">'
        f"{100 * one.unused:.0f} % of the link unused</text>"
        f'<clipPath id="p{place}"><rect y="{top + 22}" width="{WIDTH}" height="{PIPE}"/></clipPath>'
        f'<clipPath id="k{place}"><rect class="c" y="{chart}" width="{WIDTH}" height="{tall}"/></clipPath>'
        f'<rect class="n" y="{top + 22}" width="{WIDTH}" height="{PIPE}"/>'
        f'<g clip-path="url(#p{place})"><g transform="translate(0 {top + 22})">'
        f'<g class="s">{"".join(drawn)}</g></g></g>'
        f'<rect class="n" y="{chart}" width="{WIDTH}" height="{tall}"/>'
        f'<g clip-path="url(#k{place})">{"".join(areas)}</g>'
    )


def _canvas(wide: float, tall: float) -> tuple[Figure, Axes]:
    canvas = Figure(figsize=(wide, tall), layout="constrained")
    return canvas, canvas.subplots()


def speeds() -> list[tuple[str, float, float]]:
    """Packet-hops a second over those of csg-htsim, by hosts: the range over machines and days on record."""
    page = (DOCS / "measurements/engine.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\d,]+) \| [^|]*\| ([\d.]+) to ([\d.]+) \|$", page, flags=re.MULTILINE)
    if not rows:
        raise ValueError("docs/measurements/engine.md has no table of the speed over csg-htsim")
    return [(hosts, float(low), float(high)) for hosts, low, high in rows]


def draw_speed(path: Path) -> str:
    """Speed over csg-htsim."""
    rows = speeds()
    canvas, axes = _canvas(3.4, 2.2)
    for place, (_, low, high) in enumerate(rows):
        axes.plot([low, high], [place, place], color="#0072b2", linewidth=7, solid_capstyle="round")
        axes.annotate(
            f"{low:g} to {high:g} ×", (high, place), (8, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.axvline(1, color="#d55e00", linewidth=1.2)
    axes.annotate("csg-htsim", (1, len(rows) - 0.45), (3, 0), textcoords="offset points", color="#b34700", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{hosts} hosts" for hosts, _, _ in rows])
    axes.set(xlim=(0, 36), ylim=(-0.6, len(rows) - 0.2), xlabel="packet-hops a second, times those of csg-htsim")
    axes.tick_params(axis="y", length=0)
    save(canvas, path)
    said = ", ".join(f"{low:g} to {high:g} times at {hosts} hosts" for hosts, low, high in rows)
    return f"Speed over csg-htsim for NDP on one core: {said}"


def draw_agreement(path: Path) -> str:
    """Our numbers over those of other programs, a point a number."""
    found = peers.read_record(REPOSITORY / "scenarios/peers")
    ratios = {
        peer.name: [100 * (one.ratio[0] - 1) for _, numbers in rows for one in numbers if one.ratio is not None]
        for peer, rows in found
    }
    ratios = {name: values for name, values in ratios.items() if values}
    canvas, axes = _canvas(3.4, 0.17 * len(ratios) + 0.6)
    axes.axvspan(-5, 5, color="#0072b2", alpha=0.1, linewidth=0)
    for place, values in enumerate(ratios.values()):
        shown = [min(30.0, max(-30.0, one)) for one in values]
        # Each point is a line without length: a marker takes five times the bytes.
        xs = [part for one in shown for part in (one, one + 1e-3, math.nan)]
        axes.plot(xs, [place] * len(xs), color="#0072b2", linewidth=3.2, solid_capstyle="round")
    axes.set_yticks(range(len(ratios)), ratios)
    axes.tick_params(axis="y", length=0, labelsize=7)
    axes.set(xlim=(-31, 31), ylim=(len(ratios) - 0.4, -0.6), xlabel="difference (%), 30 or more at the edge")
    save(canvas, path)
    every = [abs(one) for values in ratios.values() for one in values]
    near = sum(one <= 5 for one in every)
    return f"Differences from {len(ratios)} other programs and codes: {near} of {len(every)} numbers are within 5 %"


VERDICTS = {
    "reproduced": "#0072b2",
    "direction-only": "#7db8dd",
    "not-reproduced": "#d55e00",
    "contradicts itself": "#8a8f99",
    "unreachable as set up": "#b9a5c9",
    "pending": "#d9dde3",
    "outdated": "#ece3c0",
}


def draw_claims(path: Path) -> str:
    """Claims by paper and verdict."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in catalogue("claims"):
        counts[one.scenario.partition("/")[0]][str(one.verdict)] += 1
    papers = sorted((name for name in counts if name != "clusters"), key=lambda name: -counts[name].total())
    canvas, axes = _canvas(3.4, 2.2)
    for place, name in enumerate(papers):
        left = 0
        for verdict, colour in VERDICTS.items():
            axes.barh(place, counts[name][verdict], 0.62, left, color=colour, linewidth=0)
            left += counts[name][verdict]
    present = [verdict for verdict in VERDICTS if any(counts[name][verdict] for name in papers)]
    axes.set_yticks(range(len(papers)), [paper_name(name) for name in papers])
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(len(papers) - 0.4, -0.6), xlabel="claims")
    canvas.legend(
        handles=[Patch(color=VERDICTS[one], label=one) for one in present],
        loc="outside lower center", ncols=3, frameon=False, fontsize=6.5, handlelength=1, columnspacing=1,
    )  # fmt: skip
    save(canvas, path)
    return "Claims by verdict: " + "; ".join(
        f"{paper_name(name)}: {counts[name]['reproduced']} of {counts[name].total()} reproduced" for name in papers
    )


NAMES = {"amrt": "AMRT", "rpo": "RPO", "l2dct": "L2DCT", "proactmp": "ProactMP", "sird": "SIRD", "hpcc": "HPCC"}


def paper_name(folder: str) -> str:
    """The name of a paper by its folder."""
    return NAMES.get(folder, folder)


def draw_front(folder: Path) -> None:
    """All pictures of the front page, and a file with their texts."""
    moving, still, alt = gap_pictures()
    (folder / "gap.svg").write_text(moving, "utf-8")
    (folder / "gap-still.svg").write_text(still, "utf-8")
    alts = {"gap": alt}
    for name, drawn in (("speed", draw_speed), ("agreement", draw_agreement), ("claims", draw_claims)):
        path = folder / f"{name}.svg"
        with paper_style():
            alts[name] = drawn(path)
        path.write_text(finished(path.read_text("utf-8")), "utf-8")
    (folder / "alts.json").write_text(json.dumps(alts), "utf-8")


PROOFS = (
    ("speed", "Fast", "measurements/engine.md"),
    ("agreement", "Close to others", "compared.md"),
    ("claims", "Judged", "verdicts.md"),
)


def about() -> list[str]:
    """The two sentences that say what Headway is, as README.md has them."""
    text = (REPOSITORY / "README.md").read_text("utf-8").split("\n\n")[1]
    return re.findall(r"[^.]+\.", " ".join(text.split()))


def front_page(alts: Mapping[str, str], images: str) -> str:
    """The page, with pictures from the folder `images` of the site."""
    doors = "\n".join(
        f'<a class="hw-door" href="{target.replace(".md", ".html")}"><strong>{name}</strong>'
        f"<span>{said or title(DOCS / target)}</span></a>"
        for name, target, said in DOORS
    )
    proofs = "\n".join(
        f'<figure class="hw-proof"><figcaption>{word}: '
        f'<a href="{page.replace(".md", ".html")}">{title(DOCS / page)}</a></figcaption>'
        f'<img class="hw-drawn" src="{images}/{name}.svg" alt="{alts[name]}"></figure>'
        for name, word, page in PROOFS
    )
    return f"""---
hide:
  - navigation
  - toc
---

# Headway

<div class="hw-front" markdown="1">
<div class="hw-said" markdown="1">

{about()[0].strip()} {about()[1].strip()}

```console
$ make demo             # installs, reproduces Fig. 1 of AMRT
$ headway new mine.toml # begins a question of your own
```

</div>
<picture>
<source media="(prefers-reduced-motion: reduce)" srcset="{images}/gap-still.svg">
<img class="hw-gap" src="{images}/gap.svg" alt="{alts["gap"]}">
</picture>
</div>

<div class="hw-doors">
{doors}
</div>

<div class="hw-proofs">
{proofs}
</div>

[All pages](all-pages.md) are listed by what they help with.
"""
