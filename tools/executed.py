"""The commands and programs in Markdown pages, executed, and the output on the page compared with the real one.

docs/writing-pages.md explains the convention. In short, by the words after the three backticks:

    console             every line after `$ ` runs, and the lines below it are what it prints; `...` stands for anything
    python              runs; the block `output` directly below it is what it prints
    KIND file=NAME      is written to the file NAME before the next block runs
    KIND not run: WHY   is not executed; the commands and options of `headway` in it still have to exist
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).resolve().parents[1]
EXECUTED = ("console", "sh", "python")
LONGEST_S = 600.0
# Reads programs of one page, a JSON string a line, and runs them in one namespace. A NUL ends what each prints.
INTERPRETER = """\
import json, sys
space = {"__name__": "__main__"}
for line in sys.stdin:
    exec(compile(json.loads(line), "<page>", "exec"), space)
    sys.stdout.write("\\0")
    sys.stdout.flush()
"""


class PageError(Exception):
    """A page shows another output than the real one. The text names page and line."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: the words behind its backticks, its text, and the line that it starts at."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def kind(self) -> str:
        return self.info.split(" ")[0]

    @property
    def why_not(self) -> str | None:
        """Why the block is not executed, or None if it is."""
        found = re.search(r" not run: (.+)", self.info)
        return found[1] if found else None

    @property
    def file(self) -> str | None:
        """The file that the block is the content of."""
        found = re.search(r" file=(\S+)", self.info)
        return found[1] if found else None

    def fault(self, what: str, below: int = 0) -> PageError:
        return PageError(f"{self.page}:{self.line + below}: {what}")


@dataclass(frozen=True)
class Command:
    """A command of a console block, the output that the page shows below it, and the line in the block."""

    command: str
    shown: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text("utf-8"))
    fences = [token for token in tokens if token.type == "fence"]
    return [Block(page, (one.map or [0])[0] + 1, one.info.strip(), one.content) for one in fences]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block. A backslash at the end of a line continues the command."""
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        found = re.match(r"(?:\w*)\$ (.*)", lines[at])
        if not found:
            raise block.fault("a console block begins with a command: `$ ` and the command", at + 1)
        start, command = at, found[1]
        at += 1
        while command.endswith("\\") and at < len(lines):
            command += "\n" + lines[at].removeprefix("> ")
            at += 1
        shown = []
        while at < len(lines) and not re.match(r"\w*\$ ", lines[at]):
            shown.append(lines[at])
            at += 1
        yield Command(command, "\n".join(shown), start + 1)


def differs(shown: str, printed: str) -> str | None:
    """None if the page shows the printed output, else both, line by line."""
    want, got = (re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip("\n") + "\n" for text in (shown, printed))
    checker = doctest.OutputChecker()
    if checker.check_output(want, got, doctest.ELLIPSIS):
        return None
    return checker.output_difference(doctest.Example("", want), got, doctest.ELLIPSIS | doctest.REPORT_NDIFF)


def environment(scratch: Path) -> dict[str, str]:
    """The surroundings of a page's commands: `headway` of this interpreter, and a store of runs for all pages."""
    programs = scratch / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    shim = programs / "headway"
    # Another page may be executing it.
    if not shim.exists():
        shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m headway "$@"\n', "utf-8")
        shim.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY_", "PYTHONWARN"))}
    path = f"{programs}:{Path(sys.executable).parent}:{kept.get('PATH', '')}"
    return {**kept, "PATH": path, "HEADWAY_STORE": str(scratch / "store"), "COLUMNS": "120", "NO_COLOR": "1"}


def folder_of(page: Path, scratch: Path) -> Path:
    """The directory that a page's blocks are executed in."""
    return scratch / "pages" / re.sub(r"\W+", "-", str(page.resolve().with_suffix("")))


def run_page(page: Path, scratch: Path) -> int:
    """Executes the blocks of a page in order, in a directory of its own; returns the number of executed ones."""
    folder = folder_of(page, scratch)
    folder.mkdir(parents=True, exist_ok=True)
    surroundings = environment(scratch)
    all_blocks = blocks(page)
    ran = 0
    with Interpreter(folder, surroundings) as interpreter:
        for number, block in enumerate(all_blocks):
            if block.file:
                (folder / block.file).write_text(block.text, "utf-8")
            elif block.kind not in EXECUTED:
                continue
            elif block.why_not:
                check_only(block)
            elif block.kind == "python":
                below = all_blocks[number + 1] if number + 1 < len(all_blocks) else None
                printed = interpreter.run(block)
                shown = below.text if below and below.kind == "output" else None
                if shown is not None and (difference := differs(shown, printed)):
                    raise block.fault(f"the program prints something else than the page shows\n{difference}")
                ran += 1
            elif block.kind == "console":
                for command in commands(block):
                    run_command(block, command, folder, surroundings)
                ran += 1
            else:
                raise block.fault(
                    f"a block `{block.kind}` is not executed: write it as `console`, or say `not run: WHY`"
                )
    return ran


def run_command(block: Block, command: Command, folder: Path, surroundings: dict[str, str]) -> None:
    """Runs a command. Its status has to be 0, or 2 where the page shows an error."""
    try:
        done = subprocess.run(
            ["bash", "-c", command.command],
            cwd=folder,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise block.fault(f"`{command.command}` takes longer than {LONGEST_S:.0f} s", command.line) from None
    wrong = command.shown.startswith("error:")
    if done.returncode != (2 if wrong else 0):
        printed = f"{done.stdout}{done.stderr}"
        raise block.fault(f"`{command.command}` ends with status {done.returncode}\n{printed}", command.line)
    if command.shown and (difference := differs(command.shown, done.stderr if wrong else done.stdout)):
        raise block.fault(f"`{command.command}` prints something else than the page shows\n{difference}", command.line)


class Interpreter:
    """One Python process for the programs of a page, started by the first of them."""

    def __init__(self, folder: Path, surroundings: dict[str, str]) -> None:
        self.folder, self.surroundings = folder, surroundings
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.process.kill()
            self.process.communicate()

    def run(self, block: Block) -> str:
        """Runs a program and returns its output."""
        if self.process is None:
            with (self.folder / "python-errors").open("w") as errors:
                self.process = subprocess.Popen(
                    [sys.executable, "-c", INTERPRETER],
                    cwd=self.folder,
                    env=self.surroundings,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
        assert self.process.stdin and self.process.stdout
        late = threading.Timer(LONGEST_S, self.process.kill)
        late.start()
        try:
            self.process.stdin.write(json.dumps(block.text) + "\n")
            self.process.stdin.flush()
            printed = ""
            while (character := self.process.stdout.read(1)) not in ("\0", ""):
                printed += character
        finally:
            late.cancel()
        if character == "":
            self.process.wait()
            raise block.fault(f"the program fails\n{(self.folder / 'python-errors').read_text('utf-8')}")
        return printed


def check_only(block: Block) -> None:
    """The commands of `headway` in a block that is not executed: their names and options exist."""
    for number, line in enumerate(block.text.splitlines(), start=1):
        found = re.search(r"(?:^|[ /$])headway ([a-z].*)", line.split(" #")[0])
        if block.kind == "python" or not found:
            continue
        try:
            words = shlex.split(found[1].rstrip("\\"))
        except ValueError as error:
            raise block.fault(f"`{line}`: {error}", number) from None
        fault = unknown(words)
        if fault:
            raise block.fault(f"`{line}`: {fault}", number)


def unknown(words: list[str]) -> str | None:
    """A name in a command line that `headway` does not have, or None."""
    from headway.cli.main import cli

    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        # Several alternatives may be written at once: l2dct|dctcp.
        found = command.get_command(context, words[0])
        if found is None:
            return f"there is no command `{words[0]}`"
        command, words = found, words[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    options |= {"--help", "-h"}
    for word in words:
        if word in ("|", ";", "&&", ">", "&"):
            return None
        name = word.strip("[]").split("=")[0]
        if re.match(r"--?[a-z]", name) and name not in options:
            return f"`{command.name}` has no option `{name}`"
    return None
