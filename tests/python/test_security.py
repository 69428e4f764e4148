"""The page on security: every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs/security.md").read_text("utf-8")
PROMISES = re.search(r"\| Promise \|.*?\n\n", PAGE, re.DOTALL)
ROWS = PROMISES.group().splitlines()[2:-1] if PROMISES else []


def test_there_are_promises() -> None:
    assert len(ROWS) > 15


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:40])
def test_every_promise_has_tests_that_exist(row: str) -> None:
    named = row.rsplit("|", 2)[1]
    groups = [group.split(":", 1) for group in named.split(";")]
    assert groups
    for file, names in groups:
        text = (REPOSITORY / "crates/host" / file.strip().strip("`")).read_text("utf-8")
        tests = re.findall(r"`(\w+)`", names)
        assert tests, row
        for test in tests:
            assert re.search(rf"\n\s*#\[test\]\n(\s*#\[.*\]\n)*\s*fn {test}\(", text), f"{file}: no test {test}"
