"""docs/results-sweeps.md describes directories as they are: every file and every key, and none that is not there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.data.schema import schema
from headway.pages import read
from support import Answer

SWEEPS = read(Path(__file__).parents[2] / "docs" / "results-sweeps.md")


def keys_of(table: str) -> set[str]:
    """The names in the first column of the table that follows `table` in the page."""
    rows = SWEEPS[SWEEPS.index(table) :].split("|---|---|", 1)[1].split("\n\n", 1)[0]
    first = [row.split("|")[1] for row in rows.strip().splitlines()]
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reproduction of a figure whose claims use everything a claim can have."""
    from headway.cli.main import status_of

    out = tmp_path_factory.mktemp("reproduced")
    assert status_of(["reproduce", "amrt/fig01", "--scale", "smoke", "--out", str(out)]) == 0
    return out


def test_every_key_of_the_lists_is_described(reproduced: Path) -> None:
    for name in ("claims.json", "expectations.json"):
        found = {key for row in json.loads((reproduced / name).read_text(encoding="utf-8")) for key in row}
        assert found <= keys_of("`claims.json` and `expectations.json` are lists")
        if name == "claims.json":
            # Only verdicts over repetitions on real packets have a range.
            assert found | {"range"} == keys_of("`claims.json` and `expectations.json` are lists")
    points = json.loads((reproduced / "sweep.json").read_text(encoding="utf-8"))
    assert {key for row in points for key in row} | {"error"} == keys_of("`sweep.json` is a list")
    record = json.loads((reproduced / points[0]["dir"] / "point.json").read_text(encoding="utf-8"))
    sentence = SWEEPS[SWEEPS.index("`point.json` holds") :].split(". A point", 1)[0]
    assert set(re.findall(r"`([a-z]+)`", sentence)) == record.keys()


def test_every_file_is_described(reproduced: Path) -> None:
    described = SWEEPS[: SWEEPS.index("`FOLDER` is")]
    for path in reproduced.iterdir():
        assert f"`{path.name}" in described


def test_the_scenario_is_what_check_prints(headway: Callable[..., Answer], reproduced: Path) -> None:
    printed = headway("check", "amrt/fig01", "--scale", "smoke", "--json").out
    assert printed == (reproduced / "scenario.json").read_text(encoding="utf-8")


def test_no_probe_is_called_as_what_ports_and_flows_show() -> None:
    known = schema()
    assert not set(known["probes"]) & set(known["metrics"]), "a series would not say what it is of"
