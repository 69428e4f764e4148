"""Every block of Python on docs/python.md runs, and prints what stands below it.

`HEADWAY_BLESS=1` writes what is printed into the page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PAGE = Path(__file__).resolve().parents[2] / "docs/python.md"
BLOCK = re.compile(r"(^```python\n(?P<code>.*?)^```\n)(\n```text\n(?P<printed>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def test_the_page_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLARS_FMT_TABLE_HIDE_DATAFRAME_SHAPE_INFORMATION", "1")
    page = PAGE.read_text("utf-8")
    names: dict[str, object] = {"__name__": "page"}

    def executed(block: re.Match[str]) -> str:
        printed = io.StringIO()
        line = page.count("\n", 0, block.start("code"))
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + block["code"], str(PAGE), "exec"), names)
        if block["printed"] is None:
            assert printed.getvalue() == "", f"line {line + 1}: the page does not show what is printed"
            return block[0]
        lines = [one.rstrip() + "\n" for one in printed.getvalue().rstrip("\n").split("\n")]
        return f"{block[1]}\n```text\n{''.join(lines)}```\n"

    fresh = BLOCK.sub(executed, page)
    assert len(BLOCK.findall(page)) > 5
    if "HEADWAY_BLESS" in os.environ:
        PAGE.write_text(fresh, "utf-8")
    assert PAGE.read_text("utf-8") == fresh, "run with HEADWAY_BLESS=1 to write what is printed"
