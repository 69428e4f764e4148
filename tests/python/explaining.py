"""Common parts of the tests of `headway explain`: claims of a ledger, and the command on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.layout import EXPLAIN_FILE
from support import Answer

Headway = Callable[..., Answer]


def claim(name: str, published: object, qualifier: str, measure: str, figure: str, unit: str = "us") -> str:
    return f"""
[[claim]]
id = "{name}"
figure = "fig0"
place = ["§1"]
metric = "fct"
published = {published}
unit = "{unit}"
qualifier = "{qualifier}"
scenario = "mine/{figure}"
transports = ["amrt"]
variant = "amrt"
how = "how long f0 takes"
measure = "{measure}"
"""


def explained(headway: Headway, out: Path, *arguments: str) -> dict[str, Any]:
    answer = headway("explain", *arguments, "--out", out, "--seeds", "1", "--search-seeds", "1")
    assert answer.status == 0, answer.err
    found: dict[str, Any] = json.loads((out / EXPLAIN_FILE).read_text(encoding="utf-8"))
    return found
