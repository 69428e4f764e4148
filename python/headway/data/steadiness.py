"""Check that messages that arrive at random met a network in a steady state, and the warning if they did not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.data.statistics import Estimate, over_seeds
from headway.data.units import duration, quantity

# Smaller values are not reported: of the start-up share, and of a rise from the first half of the arrivals to the
# second.
LITTLE = 0.1
# A backlog may grow by so much of the bytes that arrive without being told of: a long message may be among the last.
LEFT_OVER = 0.05
# A single run has no interval: flows of one run depend on each other, so that only much more is reported.
MUCH = 0.5
# Other traffic that is told of, as a share of the links.
LITTLE_LOAD = 0.005
MORE = "headway docs run-length"


@dataclass(frozen=True)
class Rise:
    """Rise of the mean slowdown from the first half of the arrivals to the second, as a ratio.

    `low` and `high` are the 95 % interval over seeds; None of a single run.
    """

    ratio: float
    low: float | None
    high: float | None

    @property
    def is_told(self) -> bool:
        """True if it is large, and more than chance."""
        if self.low is None:
            return self.ratio >= 1 + MUCH
        return self.ratio >= 1 + LITTLE and self.low > 1

    def __str__(self) -> str:
        """The ratio with its interval."""
        if self.low is None:
            return f"{self.ratio:.3g}"
        return f"{self.ratio:.3g} ({self.low:.3g} to {self.high:.3g})"


def rise(summaries: Sequence[Mapping[str, Any]]) -> Rise | None:
    """Rise over runs that differ only in their seeds; None without numbers of both halves."""
    halves = [(one.get("slowdown_mean_early"), one.get("slowdown_mean_late")) for one in summaries]
    found: Estimate | None = over_seeds([math.log(late / early) if early and late else None for early, late in halves])
    if found is None:
        return None
    low, high = found.interval or (None, None)
    return Rise(math.exp(found.mean), *(None if end is None else math.exp(end) for end in (low, high)))


def unsteady(groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Sentences about summaries of no steady state, by the names of their runs."""
    rises = {name: found for name, runs in groups.items() if (found := rise(runs)) is not None and found.is_told}
    shares = {name: share for name, runs in groups.items() if (share := _share(runs)) > LITTLE}
    left = {name: more for name, runs in groups.items() if (more := growth(runs)) is not None and _is_left(more)}
    said = []
    if left:
        worst = max(left, key=lambda name: left[name].mean)
        low, high = (100 * end for end in left[worst].interval or (math.nan, math.nan))
        said.append(
            f"{_which(worst, len(left), len(groups))}of the bytes that arrive in the second half of the arrivals,"
            f" {100 * left[worst].mean:.3g} % ({low:.3g} to {high:.3g}) are left over: this transport does not carry"
            f" the load, or arrivals end too soon to show that it does ({MORE})"
        )
    if rises:
        worst = max(rises, key=lambda name: rises[name].ratio)
        said.append(
            f"{_which(worst, len(rises), len(groups))}flows of the second half of the arrivals have"
            f" {rises[worst]} times the mean slowdown of those of the first half: this is not a steady state ({MORE})"
        )
    if shares:
        worst = max(shares, key=lambda name: shares[name])
        said.append(
            f"{_which(worst, len(shares), len(groups))}the network was empty when arrivals began, and they did not last"
            f" long at this load: up to {100 * shares[worst]:.0f} % of the mean queue of a steady state is missing"
            f" ({MORE})"
        )
    return said


def growth(summaries: Sequence[Mapping[str, Any]]) -> Estimate | None:
    """By which share of the arriving bytes the backlog grows, over runs that differ in their seeds alone."""
    return over_seeds([one.get("backlog_growth") for one in summaries])


def _is_left(found: Estimate) -> bool:
    """True if it is much, and more than chance: a single run cannot show that."""
    return found.interval is not None and found.mean >= LEFT_OVER and found.interval[0] > 0


def _share(summaries: Sequence[Mapping[str, Any]]) -> float:
    return max((one.get("start_up_share") or 0.0 for one in summaries), default=0.0)


def _which(worst: str, count: int, of: int) -> str:
    """Start of a sentence about some runs: the worst of them, and how many more; empty if there is only one run."""
    if of == 1:
        return ""
    return f"{worst}{f' and {count - 1} more' if count > 1 else ''}: "


def arrivals_line(found: Mapping[str, Any]) -> str:
    """Time for which messages arrive at random, from `Scenario.run_length`."""
    text = f"random arrivals for {duration(found['arrivals_s'])}"
    if found["warmup_s"]:
        text += f", of which the warm-up leaves out {duration(found['warmup_s'])}"
    if found["relaxation_s"] is None:
        return f"{text}; load {_load(found)} of the links that are loaded most, so that there is no steady state"
    relaxation = duration(found["relaxation_s"])
    return f"{text}; load {_load(found)} of the links that are loaded most, relaxation time {relaxation}"


def _load(found: Mapping[str, Any]) -> str:
    """The load, and what of it does not arrive at random."""
    other = found.get("other_load") or 0.0
    return f"{found['load']:.3g}" + (f" (about {other:.2g} of it not at random)" if other >= LITTLE_LOAD else "")


def start_up(found: Mapping[str, Any] | None) -> str | None:
    """Fault of the length of its arrivals, and the right length; None if it is right."""
    if found is None:
        return None
    if is_unmeasured(found):
        advised, arrivals = found["advised_warmup_s"], found["advised_arrivals_s"]
        better = (
            ""
            if arrivals is None
            else (
                f'; warmup = "{_rounded(advised)}" with {_rounded(arrivals)} of arrivals,'
                f" {quantity(found['per_second'] * arrivals)} messages, would do"
            )
        )
        return (
            f"arrivals last for {duration(found['arrivals_s'])}, and all of them are in the warm-up: no number will"
            f" count any of these messages{better} ({MORE})"
        )
    if found["missing"] <= LITTLE:
        return None
    if found["relaxation_s"] is None:
        return (
            f"the links that are loaded most are asked to carry {_load(found)} of their rate: queues grow for as"
            f" long as messages arrive, and there is no steady state; there is one at less than {1 / found['load']:.2g}"
            f" times this load ({MORE})"
        )
    warmup, arrivals = found["advised_warmup_s"], found["advised_arrivals_s"]
    return (
        f"arrivals last for {duration(found['arrivals_s'])}, but queues at load {_load(found)} take about"
        f" {duration(found['relaxation_s'])} to forget that they were empty: up to {100 * found['missing']:.0f} % of"
        f' the mean queue of a steady state is missing. warmup = "{_rounded(warmup)}" with {_rounded(arrivals)} of'
        f" arrivals, {quantity(found['per_second'] * arrivals)} messages, would miss 3 % ({MORE})"
    )


def is_unmeasured(found: Mapping[str, Any]) -> bool:
    """True if the warm-up leaves out every message that arrives at random."""
    return bool(found["warmup_s"] >= found["arrivals_s"] > 0)


def unmeasured(summaries: Iterable[Mapping[str, Any]]) -> str:
    """Reason why runs that finished flows have no number of them; empty if some have."""
    every = [one for one in summaries if one.get("flows_measured") is not None]
    if any(one.get("flows_measured") for one in every) or not any(one.get("flows_done") for one in every):
        return ""
    return "every flow that finished started in the warm-up"


def _rounded(seconds: float) -> str:
    """Two digits of a time are enough for advice."""
    return duration(float(f"{seconds:.2g}"))
