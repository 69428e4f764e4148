"""docs/errors.md is what tools/errors.py writes: every kind of error has an example that is of its kind."""

from __future__ import annotations

from errors import PAGE, page


def test_the_page_is_what_is_declared() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: .venv/bin/python tools/errors.py"
