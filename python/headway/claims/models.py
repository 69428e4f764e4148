"""Functions of closed-form models, for expressions. The native module evaluates them."""

from __future__ import annotations

from collections.abc import Sequence

from headway import _headway
from headway.claims.context import Context
from headway.claims.language import CannotMeasure


def model(_: Context, key: str, c: float, r_over_c: float, size: float, t_r: float) -> float:
    """AMRT's closed-form model (§V, equations 2 to 10): packets per RTT, R/C, packets, RTTs."""
    return _of_model(_headway.amrt_model(c, r_over_c, size, t_r), key)


def rpo_model(_: Context, key: str, c: float, r_over_c: float, size: float, t_c: float) -> float:
    """RPO's closed-form model of one flow (§V, equations 1 to 6): packets per RTT, R/C, packets, RTTs."""
    return _of_model(_headway.rpo_model(c, r_over_c, size, t_c), key)


def _of_model(values: dict[str, float], key: str) -> float:
    if key not in values:
        raise CannotMeasure(f"the model has no {key} (it has {', '.join(sorted(values))})")
    return float(values[key])


def fluid(_: Context, discipline: str, arrivals: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Completion less arrival of each job on a server of rate 1 under `ps`, `srpt` or `las` (L2DCT §I)."""
    try:
        finish = _headway.schedule(discipline, [float(a) for a in arrivals], [float(s) for s in sizes])["finish"]
    except ValueError as error:
        raise CannotMeasure(str(error)) from None
    return [float(end - start) for end, start in zip(finish, arrivals, strict=True)]


def cycle(_: Context, key: str, flows: float, bdp: float, threshold: float, weight: float, increase: float) -> float:
    """L2DCT's steady state (§II-C, equations 6 to 12) of N synchronised flows: packets and round trips."""
    try:
        values = _headway.l2dct_cycle(flows, bdp, threshold, weight, increase)
    except ValueError as error:
        raise CannotMeasure(str(error)) from None
    if key not in values:
        raise CannotMeasure(f"the cycle has no {key} (it has {', '.join(sorted(values))})")
    return float(values[key])


def backoff(_: Context, alpha: float, weight: float) -> float:
    """L2DCT's penalty alpha^w (§II-A, equation 2)."""
    try:
        return float(_headway.l2dct_backoff(alpha, weight))
    except ValueError as error:
        raise CannotMeasure(str(error)) from None


def least_threshold(_: Context, weight: float) -> float:
    """Smallest marking threshold that keeps the link busy, over the path's packets (L2DCT §II-C, equation 13)."""
    try:
        return float(_headway.l2dct_least_threshold(weight))
    except ValueError as error:
        raise CannotMeasure(str(error)) from None


def increase(_: Context, size: float) -> float:
    """Packets a round trip that L2DCT adds after so many bytes (§III)."""
    return float(_headway.l2dct_increase(int(size)))


def credit(_: Context, packets: float, span: float) -> float:
    """What ProactMP's algorithm 1 gives packets that arrive evenly over a span of one-way delays, in OWDbytes."""
    try:
        return float(_headway.proactmp_credit(int(packets), span))
    except ValueError as error:
        raise CannotMeasure(str(error)) from None


def subflow_share(_: Context, weights: Sequence[float], round_trips: Sequence[float], number: float) -> float:
    """The share of subflow `number`, from 0, in new credit (ProactMP §III-C3, equation 2)."""
    try:
        return float(_headway.proactmp_shares(list(weights), list(round_trips))[int(number)])
    except ValueError as error:
        raise CannotMeasure(str(error)) from None


MODELS = (model, rpo_model, fluid, cycle, backoff, least_threshold, increase, credit, subflow_share)
