"""Names of files, variants and titles cannot steer a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from headway.cli.echo import harmless
from support import TWO_FLOWS, Answer

Headway = Callable[..., Answer]
COMMANDS = Path(__file__).parents[2] / "python/headway/cli"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \u00e9 text\n\twith lines", "plain \u00e9 text\n\twith lines"),
        ("\x1b[2J\x1b]0;title\x07", "\u241b[2J\u241b]0;title\u2407"),
        ("a\rb\x7f\x9b31m", "a\u240db\u2421\ufffd31m"),
        ("\u202eevil\u202c", "\ufffdevil\ufffd"),
        ("\udcff", "\ufffd"),
    ],
)
def test_signs_on_which_a_terminal_acts_are_shown(text: str, shown: str) -> None:
    assert harmless(text) == shown
    assert len(harmless(text)) == len(text), "carets stay where they are"


def test_colours_of_commands_stay() -> None:
    for style in ({"bold": True}, {"bold": False}, {"dim": True}, {"fg": "red"}, {"fg": "bright_black"}):
        text = click.style("x", **style)
        assert harmless(text) == text


def test_commands_print_in_no_other_way() -> None:
    other = re.compile(r"click\.s?echo\b|(?<!\.)\bprint\(|sys\.std(out|err)\.write")
    found = {path.name for path in COMMANDS.glob("*.py") if other.search(path.read_text("utf-8"))}
    assert found == {"echo.py"}


def test_a_title_with_escapes_is_printed_without(tmp_path: Path, headway: Headway) -> None:
    path = tmp_path / "evil.toml"
    text = TWO_FLOWS.format(stop="2 ms", size="20 kB").replace("Two flows", "\\u001b[2JTwo \\u202eflows")
    path.write_text(text.replace("variants.amrt", 'variants."\\u001b[31mx"'), encoding="utf-8")
    for command in (
        ["show", path],
        ["check", path],
        ["run", path],
        ["run", tmp_path / "none"],
        ["run", path, "--set", "=\x1b"],
    ):
        answer = headway(*command)
        assert "\x1b" not in answer.out + answer.err, command
        assert "\u202e" not in answer.out + answer.err, command


def test_an_argument_that_is_no_text_is_said_to_be_none(headway: Headway) -> None:
    answer = headway("run", "examples/quickstart", "--set", "title=\udcff")
    assert (answer.status, "is not UTF-8" in answer.err) == (2, True)
