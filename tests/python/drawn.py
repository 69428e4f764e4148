"""Properties that are tried on drawn cases: the same ones in every run, and those that failed once among them.

Hypothesis draws from the name and the text of a property, so that a run says what the run before it said. With
`HEADWAY_EXPLORE=SEED` it draws others, and more of them (`make soak`). What fails then is written to `found.jsonl`, is
committed with its repair, and is tried first from then on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, seed, settings
from hypothesis.strategies import SearchStrategy

EXPLORES = int(os.environ.get("HEADWAY_EXPLORE") or 0)
FOUND = Path(__file__).with_name("found.jsonl")

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", max_examples=5000, database=None, deadline=None)
settings.load_profile("explore" if EXPLORES else "same")

# The case that a property failed with last, by its name: hypothesis ends with the smallest that it found.
FAILED: dict[str, dict[str, Any]] = {}


def found(name: str) -> list[dict[str, Any]]:
    """The cases with which a test failed once."""
    lines = FOUND.read_text("utf-8").splitlines() if FOUND.exists() else []
    return [kept["case"] for line in lines if (kept := json.loads(line))["test"] == name]


def keep(name: str, case: dict[str, Any]) -> None:
    """Writes a case down, for every run that comes; one line at once, as several processes may write."""
    if case not in found(name):
        with FOUND.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"test": name, "case": case}) + "\n")


def drawn(**strategies: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """A test whose arguments are drawn. They are numbers, texts and lists: values that JSON can hold."""

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        @wraps(test)
        def tried(**case: Any) -> None:  # noqa: ANN401  (whatever is drawn)
            try:
                test(**case)
            except Exception:
                FAILED[test.__name__] = case
                raise

        property_: Callable[..., None] = tried
        for case in found(test.__name__):
            property_ = example(**case)(property_)
        if EXPLORES:
            property_ = seed(EXPLORES)(property_)
        whole: Callable[[], None] = pytest.mark.explored(given(**strategies)(property_))
        return whole

    return decorate
