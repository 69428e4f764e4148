"""End of a flow: with its last byte at the receiver, or when the sender knows.

A run that did not wait for its senders does not know when the last of them knew. The way of a control packet back
through the empty network is added then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.errors import HeadwayError

from .sides import Sample

PICOSECONDS = 1e12


def noted_by_senders(samples: Sequence[Sample]) -> bool:
    """True if each run noted when its senders knew."""
    return all(map(_noted, samples))


def _noted(sample: Sample) -> bool:
    import polars

    if "sender_fct_s" not in sample.flows.columns:
        return False
    done = sample.flows.filter(polars.col("fct_s").is_not_null())
    return bool(done.height) and not done["sender_fct_s"].null_count()


def until_sender(sample: Sample) -> Sample:
    """A copy whose times end when the sender knows: as the run noted it, else with the way back of a control packet."""
    import polars

    if _noted(sample):
        return replace(sample, flows=sample.flows.with_columns(polars.col("sender_fct_s").alias("fct_s")))
    if sample.native is None:
        raise HeadwayError(f"{sample.name}: the way back is not known; a file of the scenario has changed since")
    ways = sample.native.flow_ways()
    numbers = sample.flows["flow"].to_list()
    back = polars.Series([ways[number][1] / PICOSECONDS for number in numbers], dtype=polars.Float64)
    return replace(sample, flows=sample.flows.with_columns((sample.flows["fct_s"] + back).alias("fct_s")))
