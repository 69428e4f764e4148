"""What transports need of a network that somebody has: the list, its JSON, and the page made of it."""

from __future__ import annotations

import json
from pathlib import Path

import headway as package
from headway import pages
from test_cli import Headway


def test_transports_for_a_network(headway: Headway) -> None:
    answer = headway("list", "transports", "--deploy", "plain-ecn")
    assert answer.status == 0
    names = [line.split()[0] for line in answer.out.splitlines() if not line.startswith("lacks ")]
    assert {"dctcp", "cubic", "sird"} <= set(names)
    assert not {"homa", "phost", "ndp"} & set(names)
    found = json.loads(headway("list", "transports", "--deploy", "plain-ecn", "--json").out)
    assert set(found["transports"]) | set(found["lacking"]) == {one.name for one in package.catalogue("transports")}
    assert found["lacking"]["phost"] == ["3 priorities"]
    assert found["transports"]["dctcp"]["here"] == ["user space: over UDP", 'kernel: stack = "kernel" with `dctcp`']


def test_a_network_that_there_is_not(headway: Headway) -> None:
    assert "did you mean plain" in headway("list", "transports", "--deploy", "plan").err
    assert headway("list", "topologies", "--deploy", "plain").status == 2
    assert "plain-ecn" in headway("list", "transports", "--deploy", "all").out
    assert "switches: ECN; runs in kernel: Linux 3.18" in headway("list", "transports", "dctcp").out


def test_the_page_has_the_table_and_no_other() -> None:
    page = pages.read(Path(package.__file__).parent / "docs" / "choosing.md")
    for entry in package.catalogue("transports"):
        assert f"| `{entry.name}` | " in page
    assert "Switches are plain: no marks" not in page
