"""The order of events is the same in every build: here in the release build of the native module."""

from pathlib import Path

import pytest

import headway

GOLDEN = Path(__file__).parents[1] / "golden"
COMMITTED = [line.split() for line in (GOLDEN / "order.digests").read_text().splitlines()]


# The Rust tests have all of them on the same build, if it is not the one of a release.
SOME = ("amrt", "ndp", "tcp")


@pytest.mark.parametrize(
    ("transport", "digest"),
    [pytest.param(*row, marks=() if row[0] in SOME else pytest.mark.long) for row in COMMITTED],
)
def test_the_release_build_orders_events_as_the_debug_build_does(transport: str, digest: str) -> None:
    scenario = headway.Scenario.load(GOLDEN / "order.toml", sets={"transport.name": transport})
    assert scenario.run().manifest["order_digest"] == digest
