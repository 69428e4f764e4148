"""Numbers of summaries as figures show them: the requested ones, their owners, and the ends of their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from headway.data.jobs import of_jobs
from headway.data.point import Point
from headway.data.sentences import of_calls
from headway.data.statistics import Estimate

from .chosen import chosen
from .distributions import few_flows
from .picks import Band
from .study import Study
from .summaries import least_of, summary_number


def asked(study: Study) -> list[str]:
    """Numbers that `[report] y` names."""
    wanted = study.results.report.get("y")
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, list) else []
    return [str(name) for name in names]


def metrics_of(study: Study, usual: Sequence[str]) -> list[str]:
    """The requested numbers that some run has, else the usual ones, those of calls and jobs first."""
    told = [name for name in asked(study) if _is_known(study, name)]
    summaries = [point.summary for point in study.points]
    return told or [*of_calls(summaries), *of_jobs(summaries), *usual]


def of_enough(study: Study, usual: Sequence[str]) -> Sequence[str]:
    """The usual numbers of flows where there are enough of these: of a few, the table of flows says more."""
    return usual if few_flows(study) is None else ()


# Parts of the names of numbers of which more is better.
HIGHER = ("goodput", "throughput", "utilisation", "bandwidth", "jain", "flows_done", "delivered")


def is_higher_better(name: str) -> bool:
    """True if more of a number is better, as of a bandwidth; of times, queues and losses, less is."""
    return any(part in name for part in HIGHER)


def without(study: Study) -> str:
    """A sentence about the requested numbers that no run has; empty if there are none."""
    lost = [name for name in asked(study) if not _is_known(study, name)]
    return f" No run has {', '.join(f'`{name}`' for name in lost)}, which [report] asks for." if lost else ""


def _is_known(study: Study, name: str) -> bool:
    return any(summary_number(point, name) is not None for point in (*study.points, *study.split.points))


def owner(study: Study, metric: str) -> Study:
    """Owner of a number: each transport if a run has several, or the run if it is a number of links."""
    of_parts = any(summary_number(p, metric) is not None for point in study.points for p in point.parts)
    return study.split if of_parts else study


def number_of(point: Point, metric: str, band: Band | None) -> float | None:
    """A number of a run; with a band, that of the flows of its sizes, where there is one."""
    if band is not None and chosen(metric) is not None:
        return None  # It chooses its own sizes.
    return summary_number(point, metric if band is None else f"by_size.bands.{band.key}.{metric}")


def ends(found: Estimate, metric: str) -> tuple[float, float]:
    """The ends of an interval. The lower one is not below the least possible value."""
    half = found.half_width or 0.0
    return above(found.mean, half, least_of(metric)), found.mean + half


def above(mean: float, half_width: float, least: float) -> float:
    """The lower end of an interval: not below the least, unless the mean itself is."""
    return max(mean - half_width, min(least, mean))
