"""When a flow ends: with its last byte at the receiver, or when the sender knows."""

from __future__ import annotations

from dataclasses import replace

from headway.errors import HeadwayError

from .sides import Sample

PICOSECONDS = 1e12


def until_sender(sample: Sample) -> Sample:
    """The same with the way of a control packet back through the empty network, when the sender knows."""
    import polars

    if sample.native is None:
        raise HeadwayError(f"{sample.name}: the way back is not known; a file of the scenario has changed since")
    ways = sample.native.flow_ways()
    numbers = sample.flows["flow"].to_list()
    back = polars.Series([ways[number][1] / PICOSECONDS for number in numbers], dtype=polars.Float64)
    return replace(sample, flows=sample.flows.with_columns((sample.flows["fct_s"] + back).alias("fct_s")))
