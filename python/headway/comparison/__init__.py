"""Comparison of a run with other numbers: which of its flows take as long as elsewhere, and which do not.

`tables` reads a table, `sides` what else is compared, `pairs` says which flow is which, `numbers` and `neighbours` what
follows, and `result` tells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway.data.reader import of_results
from headway.errors import HeadwayError, NameNotFound
from headway.loading import assignments

from .causes import Causes, Shares, compare_causes
from .neighbours import Far, Neighbour
from .numbers import NUMBERS, Band, Ratio, bound, checked, full_name
from .pairs import WAYS, pair
from .result import Comparison, judged_names, lines
from .sides import Sample, Side, of_own_list, of_reference, of_run, summaries_of
from .until import noted_by_senders, until_sender
from .variants import Row, Variants, compare_variants, is_of_variants, leading

__all__ = [
    "NUMBERS",
    "WAYS",
    "Band",
    "Causes",
    "Comparison",
    "Far",
    "Neighbour",
    "Ratio",
    "Row",
    "Shares",
    "Variants",
    "bound",
    "compare",
    "compare_causes",
    "compare_variants",
    "full_name",
    "is_of_variants",
    "leading",
    "lines",
    "summaries_of",
]

DEFAULT_BOUND = 0.03


def compare(
    run: Any,  # noqa: ANN401  (a run, a sweep, a scenario, or where one of them is)
    reference: Any = None,  # noqa: ANN401  (the same, or a table)
    *,
    column: str | None = None,
    match: str | None = None,
    within: float | str = DEFAULT_BOUND,
    of: Sequence[str] = NUMBERS,
    at: str | None = None,
    reference_at: str | None = None,
    until: str = "receiver",
    sets: Mapping[str, Any] | Sequence[str] = (),
) -> Comparison:
    """Compare the completion times of a run with those of a table, of another run, or of a sweep of seeds.

    `run` is a directory, a `Run`, a `Sweep`, or a scenario, which is then run with `sets`. `reference` is one of these
    or a table: a `.csv` (perhaps `.csv.gz`) or `.parquet` file, or any Arrow table. Without one, the run's own table of
    flows is the reference. `column` names its completion times with their unit (`fct_us`, or `fct=us`); default:
    `fct_s`.

    `match` says how flows are paired: by `name`, by `fields` (src, dst, bytes, start_s), by `order`, or `none`: then
    only distributions are compared. Default: the first that the table allows. `within` is how far apart the ratios of
    the numbers `of` may be: `mean`, `median`, `p99` and `max` of completion times, or numbers of summaries, such as
    `slowdown_p99`, where both sides are runs. `at` and `reference_at` choose a point of a sweep with
    several. `until="sender"` adds to the run's times the way of a control packet back, for references that end with
    the last acknowledgement. Raises `HeadwayError` for what cannot be compared, with the place where a table is wrong.

    >>> headway.compare("out/r", "theirs.csv", column="fct_us").ratio("p99").ratio.mean
    """
    of = [full_name(name) for name in of]
    if match is not None and match not in WAYS:
        raise NameNotFound("way to match flows", match, WAYS, f"there is {', '.join(WAYS)}")
    if until not in ("receiver", "sender"):
        raise NameNotFound("end of a flow", until, ("receiver", "sender"), "there is receiver, sender")
    return _compared(run, reference, column, match, within, of, (at, reference_at), until, assignments(sets))


@of_results
def _compared(
    run: Any,  # noqa: ANN401
    reference: Any,  # noqa: ANN401
    column: str | None,
    match: str | None,
    within: float | str,
    of: Sequence[str],
    at: tuple[str | None, str | None],
    until: str,
    sets: Sequence[str],
) -> Comparison:
    """Result of `compare`, once its arguments are checked."""
    ours = of_run(run, at=at[0], sets=sets)
    theirs = of_own_list(ours, column) if reference is None else of_reference(reference, column, at=at[1])
    both = _beside(ours, theirs)
    noted = noted_by_senders([mine for mine, _ in both])
    if until == "sender":
        both = [(until_sender(mine), others) for mine, others in both]
    pairs = tuple(pair(mine, others, match) for mine, others in both)
    limit = bound(within) if isinstance(within, str) else checked(within)
    extra = tuple(name for name in of if name not in NUMBERS)
    found = Comparison(
        ours.name,
        theirs.name,
        tuple(both),
        pairs,
        limit,
        judged_names(of),
        until == "sender",
        of_summaries=extra,
        sender_noted=noted,
    )
    # A number that one side lacks raises an error before anything is printed.
    _ = found.summaries
    return found


def _beside(ours: Side, theirs: Side) -> list[tuple[Sample, Sample]]:
    """Each run with its reference: by seed where both have several, else each with the only one."""
    if len(theirs.samples) == 1:
        return [(mine, theirs.samples[0]) for mine in ours.samples]
    if len(ours.samples) == 1:
        return [(ours.samples[0], others) for others in theirs.samples]
    of_seed = {sample.seed: sample for sample in theirs.samples}
    both = [(mine, of_seed[mine.seed]) for mine in ours.samples if mine.seed in of_seed]
    if not both:
        raise HeadwayError(f"{ours.name} and {theirs.name} have no seed in common")
    return both
