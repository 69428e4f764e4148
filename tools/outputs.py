"""Outputs of executed notebooks, for their pages in the documentation site: texts, tables and figures."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

from shots import SHOTS, place_of
from svgs import finished

OUTPUTS = "outputs.json"
# Texts of a figure that its alternative text names.
MOST_TEXTS = 6
_ENDS = re.compile(r"\x1b\[[0-9;]*m")


def outputs_of(book: Path) -> dict[str, list[str]]:
    """Markdown of the outputs of each cell, by its number; empty if the notebook has not been executed."""
    file = place_of(book) / OUTPUTS
    found: dict[str, list[str]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def keep_outputs(book: Path, executed: Any) -> None:  # noqa: ANN401  (nbformat's)
    """Keep the outputs of an executed notebook, and its figures as files."""
    place = place_of(book)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    found = {}
    for number, cell in enumerate(executed.cells):
        outputs = cell.get("outputs", []) if cell.cell_type == "code" else []
        shown = [_shown(one, f"{number}-{i}", place) for i, one in enumerate(outputs)]
        found[str(number)] = [one for one in shown if one]
    (place / OUTPUTS).write_text(json.dumps(found), "utf-8")


def _shown(output: Any, name: str, place: Path) -> str:  # noqa: ANN401  (nbformat's)
    """One output as Markdown."""
    if output.output_type == "stream":
        # Standard error is for the person who runs it.
        return _text(output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        svg = str(data["image/svg+xml"])
        (place / f"{name}.svg").write_text(finished(svg), "utf-8")
        return _picture(f"{name}.svg", place, seen_in(svg))
    if "text/html" in data:
        # Markdown ends a block of HTML at an empty line.
        return re.sub(r"\n\s*\n", "\n", str(data["text/html"]))
    if "image/png" in data:
        (place / f"{name}.png").write_bytes(base64.b64decode(data["image/png"]))
        return _picture(f"{name}.png", place, "A figure that the cell above draws")
    return _text(str(data.get("text/plain", "")))


def _picture(file: str, place: Path, alt: str) -> str:
    return f'<img class="hw-drawn" src="../images/{SHOTS}/{place.name}/{file}" alt="{alt}" loading="lazy">'


def _text(text: str) -> str:
    bare = _ENDS.sub("", text).rstrip()
    return f"```text\n{bare}\n```" if bare else ""


def seen_in(svg: str) -> str:
    """Description of a figure, from the words on its axes, titles and lines."""
    texts = (html.unescape(re.sub(r"<[^>]+>", "", one)).strip() for one in re.findall(r"<text[^>]*>(.*?)</text>", svg))
    words = dict.fromkeys(one for one in texts if re.search(r"[A-Za-z]{2}", one))
    return f"A figure with the words: {'; '.join([*words][:MOST_TEXTS])}".replace('"', "'")
