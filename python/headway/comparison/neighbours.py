"""The flows whose times differ most from the reference, and the flows that used their links at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.data.later import np
from headway.data.samples import Array

from .pairs import Pairs
from .sides import Sample

FURTHEST = 10
NEIGHBOURS = 3


@dataclass(frozen=True)
class Neighbour:
    """A flow that was under way at the same time over the same links."""

    name: str
    links: tuple[str, ...]
    together_s: float


@dataclass(frozen=True)
class Far:
    """A flow whose time is far from the reference's, and its likely neighbours: those that overlap it longest first."""

    name: str
    src: int
    dst: int
    bytes: int
    start_s: float
    ours_s: float
    theirs_s: float
    neighbours: tuple[Neighbour, ...]
    others: int  # further neighbours

    @property
    def ratio(self) -> float:
        """Times as long as there."""
        return self.ours_s / self.theirs_s


def furthest(sample: Sample, pairs: Pairs) -> tuple[Far, ...]:
    """The flows with the largest and smallest ratios, the furthest first; those that are the same are none."""
    apart = np.abs(np.log(pairs.ours / pairs.theirs))
    order = [int(i) for i in np.argsort(-apart, kind="stable")[:FURTHEST] if apart[i] > 1e-9]
    if not order:
        return ()
    frame = sample.flows
    links = _links(sample)
    starts = frame["start_s"].to_numpy().astype(np.float64)
    # A flow that did not end was under way until the end of the run.
    ends = starts + np.nan_to_num(frame["fct_s"].to_numpy().astype(np.float64), nan=np.inf)
    found = []
    for i in order:
        place = pairs.position[i]
        beside = _beside(place, links, starts, ends, frame["name"].to_list())
        row = frame.row(place, named=True)
        found.append(
            Far(
                str(row["name"]), row["src"], row["dst"], row["bytes"], row["start_s"], float(pairs.ours[i]),
                float(pairs.theirs[i]), tuple(beside[:NEIGHBOURS]), max(0, len(beside) - NEIGHBOURS),
            )
        )  # fmt: skip
    return tuple(found)


def _links(sample: Sample) -> list[tuple[str, ...]]:
    """The links of each flow of the table, as far as all of its packets take them.

    They are those of the scenario; where it is not what it was when it was run, the hosts' own links.
    """
    frame = sample.flows
    if sample.native is None or sample.run is None:
        return [(f"h{src}->", f"->h{dst}") for src, dst in frame.select("src", "dst").iter_rows()]
    names = sample.run.links.to_polars()["name"].to_list()
    ways = sample.native.flow_ways()
    return [tuple(names[link] for link in ways[number][0]) for number in frame["flow"].to_list()]


def _beside(
    place: int, links: Sequence[tuple[str, ...]], starts: Array, ends: Array, names: Sequence[object]
) -> list[Neighbour]:
    together = np.minimum(ends, ends[place]) - np.maximum(starts, starts[place])
    together[place] = 0.0
    own = set(links[place])
    found = []
    for other in np.argsort(-together, kind="stable"):
        if together[other] <= 0.0:
            break
        if shared := tuple(link for link in links[other] if link in own):
            found.append(Neighbour(str(names[other]), shared, float(together[other])))
    return found
