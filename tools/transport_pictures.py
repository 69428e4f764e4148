"""Pictures of every transport for the documentation site, each from the packets of a small run.

    transport_pictures.py FOLDER [TRANSPORT ...]

For a transport X there are `X.svg`, a time-space diagram of two messages to one receiver, and `X-course.svg`, the
rate and the queue of one link in three runs that are the same for all transports.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headway import Scenario, catalogue, drawing

TEXT = """title = "Drawn for the documentation"
stop = "20 ms"

[topology]
kind = "dumbbell"
senders = {senders}
receivers = 2
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "{transport}"

[[traffic]]
kind = "flows"
flows = [
{flows}
]
"""
Row = tuple[int, int, str, str]


@dataclass(frozen=True)
class Question:
    """A run: its title, its number of senders, the messages (sender, receiver, size, start), and the time drawn."""

    title: str
    senders: int
    rows: Sequence[Row]
    until_s: float

    def scenario(self, transport: str) -> Scenario:
        """The run with a transport."""
        flows = ",\n".join(
            f'  {{ name = "m{number}", src = {src}, dst = {dst}, bytes = "{size}", start = "{start}" }}'
            for number, (src, dst, size, start) in enumerate(self.rows, 1)
        )
        return Scenario.from_text(TEXT.format(senders=self.senders, transport=transport, flows=flows), "drawn")


PAIR = Question("two messages to one receiver", 2, [(0, 2, "18 kB", "0 s"), (1, 2, "12 kB", "3 us")], 60e-6)
QUESTIONS = (
    Question("a lone message of 500 kB", 8, [(0, 8, "500 kB", "0 s")], 600e-6),
    Question("eight messages of 60 kB at once", 8, [(sender, 8, "60 kB", "0 s") for sender in range(8)], 600e-6),
    Question(
        "a message of 500 kB, the link free after 100 kB of another",
        8,
        [(0, 8, "500 kB", "0 s"), (1, 9, "100 kB", "0 s")],
        600e-6,
    ),
)


@dataclass(frozen=True)
class Picture:
    """A picture and the text for readers who do not see it."""

    file: str
    alt: str


def draw_sequence(folder: Path, transport: str) -> Picture:
    """The time-space diagram of a transport."""
    drawing.save(drawing.sequence(PAIR.scenario(transport), end=PAIR.until_s), folder / f"{transport}.svg")
    return Picture(
        f"{transport}.svg",
        f"Packets of {PAIR.title} with {transport}, time downwards, hosts and switches as vertical lines",
    )


def measure(transport: str) -> list[drawing.Course]:
    """Rate and queue of the link in each run."""
    return [drawing.course(one.scenario(transport), "s0->s1", end=one.until_s) for one in QUESTIONS]


def draw_courses(folder: Path, most_kb: float, transport: str, found: Sequence[drawing.Course]) -> Picture:
    """Rates and queues of a transport, on the axes of all."""
    rows = [(question.title, one) for question, one in zip(QUESTIONS, found, strict=True)]
    drawing.save(drawing.courses(rows, most_kb=most_kb), folder / f"{transport}-course.svg")
    peaks = [f"{max(one.queue_kb):.3g} kB in {question.title}" for question, one in zip(QUESTIONS, found, strict=True)]
    return Picture(
        f"{transport}-course.svg", f"Rate and queue of one link with {transport}; the queue peaks at {', '.join(peaks)}"
    )


def draw_all(folder: Path, names: Sequence[str] = ()) -> dict[str, tuple[Picture, Picture]]:
    """Both pictures of these transports, or of all, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    known = list(names) or [one.name for one in catalogue("transports")]
    # A process that was forked from one that has used polars hangs.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        sequences = list(pool.map(partial(draw_sequence, folder), known))
        found = list(pool.map(measure, known))
        most = 1.05 * max(max(one.queue_kb) for courses in found for one in courses)
        courses = list(pool.map(partial(draw_courses, folder, most), known, found))
    return dict(zip(known, zip(sequences, courses, strict=True), strict=True))


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]), sys.argv[2:])
