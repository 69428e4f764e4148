"""Writes docs/errors.md: every kind of error, with an example that this script executes and what to do.

    .venv/bin/python tools/errors.py

Kinds of mistakes in scenarios and what they mean are read from crates/lab/src/text/error.rs; a kind without an example
ends the script. A test compares the page with what the script would write.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headway import errors
from headway.cli.main import cli, status_of

ROOT = Path(__file__).resolve().parent.parent
KINDS = ROOT / "crates/lab/src/text/error.rs"
PAGE = ROOT / "docs/errors.md"

SMALL = """\
[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "flows"
flows = [{ src = 0, dst = 1, bytes = "1 MB" }]
"""
APART = """\
hosts = 2
switches = 2
link = [
  { a = "h0", b = "s0", rate = "10 Gbps", delay = "1 us" },
  { a = "h1", b = "s1", rate = "10 Gbps", delay = "1 us" },
]
"""
TWICE = APART.replace('"h1", b = "s1"', '"h0", b = "s1"')


@dataclass(frozen=True)
class Example:
    """Example of an error: its cause, and its remedy."""

    remedy: str
    arguments: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    # Commands that have to run first.
    before: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        return typed(self.arguments)


def typed(arguments: tuple[str, ...]) -> str:
    """A command as it is typed."""
    return " ".join(["headway", *(f"'{word}'" if re.search(r"[ {\"]", word) else word for word in arguments)])


def override(text: str, remedy: str, *files: tuple[str, str]) -> Example:
    return Example(remedy, ("check", "small.toml", "--set", text), files)


SCENARIOS = {
    "Syntax": Example(
        "Mend the text at the caret. A bracket or a quotation mark that is not closed is the usual cause.",
        ("check", "torn.toml"),
        (("torn.toml", '[topology\nkind = "single-switch"\n'),),
    ),
    "UnknownKey": override(
        "topology.host=4", "Use the name in the help, or look in [Scenarios: every key](scenario-format.md)."
    ),
    "UnusedKey": override(
        'traffic.0.flows.0.path=["s0"]',
        "Remove the key, or choose the kind or the mode that uses it.",
    ),
    "MissingKey": Example(
        "Add the key. [Scenarios: every key](scenario-format.md) says what it means.",
        ("check", "short.toml"),
        (("short.toml", '[topology]\nkind = "single-switch"\nrate = "10 Gbps"\ndelay = "1 us"\n'),),
    ),
    "Type": override("topology.hosts=true", "Write a value of the kind that the message names."),
    "Quantity": override(
        "topology.rate=10 gbps", "Write a number, a space and a unit, such as `10 Gbps`, `1.5 us` or `64 kB`."
    ),
    "Range": override("topology.hosts=0", "Choose a value in the range that the message names."),
    "NotFinite": override("run.scale=nan", "Write a finite number."),
    "NoSuchName": override("transport.name=dctp", "Use the name in the help. `headway list` shows all names."),
    "Path": override(
        "traffic.3.bytes=1",
        "Name a key by the tables that lead to it, joined by dots. Entries of a list are numbered from 0.",
    ),
    "SelfFlow": override("traffic.0.flows.0.dst=0", "Choose two different hosts."),
    "NoSuchHost": override("traffic.0.flows.0.dst=9", "Choose a host of the network, or give the network more hosts."),
    "Unreachable": override(
        'topology={kind = "graph", file = "apart.toml"}',
        "Add a link that joins the two parts of the network, or send between hosts of one part.",
        ("apart.toml", APART),
    ),
    "Topology": override(
        'topology={kind = "graph", file = "twice.toml"}',
        "Change the network as the message says. [Your own topology](own-topology.md) has the rules.",
        ("twice.toml", TWICE),
    ),
    "Distribution": override(
        'traffic.0={kind = "poisson", load = 0.5, cdf = "sizes.csv"}',
        "Mend the table of sizes. [Your own workload](own-workload.md) shows the forms that are read.",
        ("sizes.csv", "bytes,cdf\n1000,0.5\n2000,0.4\n3000,1\n"),
    ),
    "Overload": override(
        'traffic.0={kind = "poisson", load = 1.5, cdf = "dctcp_websearch"}', "Lower the load to 1 or less."
    ),
    "Unreadable": override(
        'traffic.0={kind = "file", path = "lost.csv"}',
        "Correct the path, which is relative to the scenario's folder, or the rights of the file.",
    ),
    "TooBig": override(
        'topology={kind = "single-switch", hosts = 4000000, rate = "10 Gbps", delay = "1 us"}',
        "Make the network smaller, shorten the run, or allow more memory (`memory_limit`).",
    ),
    "Contradiction": override('sample={every = "1 us"}', "Do what the help says: two parts exclude each other."),
}
# The limit on memory is that of the machine unless the scenario has one.
LIMITED = {"TooBig": 'memory_limit = "1 GB"\n\n'}

# No command causes the first where everything is installed, and commands show the second as a mistake in their use.
LEFT_OUT = {"FeatureMissing", "ArgumentError"}

OTHERS = {
    "NameNotFound": Example(
        "Use a name in the help, or the path of a file that ends in `.toml`.", ("run", "examples/quikstart")
    ),
    "ResultsError": Example(
        "Name the directory that `headway run` or `headway sweep` wrote (its `--out`).", ("report", "nowhere")
    ),
    "ClaimsError": Example(
        "Mend the line. [Expressions over runs](measures.md) lists the functions and what they take.",
        ("check", "small.toml"),
        (("claims.toml", '[[claim]]\nid = "first"\n'),),
    ),
    "TableError": Example(
        "Mend the line of the table. [Compare with other numbers](comparing.md) says which columns it needs.",
        ("compare", "ran", "theirs.csv"),
        (("theirs.csv", "flow,fct_us\n0,900\n1,fast\n"),),
        ("run", "small.toml", "--out", "ran", "-q"),
    ),
}

INTRO = """\
# Errors

An error says what is wrong, shows the place, and often what would be right. Commands print it after `error:` and end
with status 2. In Python it is an exception, and every exception of this page is a `headway.HeadwayError`. This page is
written by `tools/errors.py`, which executes each example; `small.toml` is this scenario:

"""


def kinds() -> dict[str, tuple[str, str]]:
    """The kinds of mistakes in a scenario, each with its meaning and a pattern of its message, from the source."""
    text = KINDS.read_text("utf-8")
    body = text[text.index("pub enum Problem {") : text.index("\n}\n", text.index("pub enum Problem {"))]
    found = re.findall(r"\n    /// (.+)\n    #\[error\(\"(.*)\".*\)\]\n    (\w+)", body)
    return {name: (doc, ".+".join(map(re.escape, re.split(r"\{[^}]*\}", form)))) for doc, form, name in found}


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """A working directory and a width of the terminal, as pages are executed with."""
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ.update(COLUMNS="120", NO_COLOR="1")
    try:
        yield
    finally:
        os.chdir(before)
        if width is None:
            os.environ.pop("COLUMNS")
        else:
            os.environ["COLUMNS"] = width


def printed(example: Example, form: str) -> str:
    """Output of an example's command. It has to fail as a user's mistake does, and in the form of its kind."""
    said, out = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
        status = status_of(list(example.arguments))
    if status != 2 or not re.match(f"error: {form}", said.getvalue()):
        raise SystemExit(f"`{example.command}` ends with status {status}, not as its kind does:\n{said.getvalue()}")
    return "\n".join(line.rstrip() for line in said.getvalue().rstrip().splitlines())


def raised(example: Example) -> str:
    """The name of the exception that the command of an example ends with."""
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            cli.main(list(example.arguments), prog_name="headway", standalone_mode=False)
    except errors.HeadwayError as error:
        return type(error).__name__
    return "nothing"


def section(name: str, meaning: str, example: Example, form: str = "") -> str:
    """A kind of error: what it means, what to do, and the example."""
    for file, text in example.files:
        Path(file).write_text(text, "utf-8")
    if example.before and status_of(list(example.before)) != 0:
        raise SystemExit(f"`{typed(example.before)}` fails")
    blocks = [f"```{Path(file).suffix[1:]} file={file}\n{text}```\n" for file, text in example.files]
    before = f"$ {typed(example.before)}\n" if example.before else ""
    blocks.append(f"```console\n{before}$ {example.command}\n{printed(example, form)}\n```\n")
    return "\n".join([f"## `{name}`\n", f"{meaning} {example.remedy}\n", *blocks])


def complete(found: Iterable[str], examples: dict[str, Example], where: str) -> None:
    """Ends the script where kinds and examples are not the same."""
    if differing := sorted({*found} ^ examples.keys()):
        raise SystemExit(f"tools/errors.py and {where} differ in {', '.join(differing)}")


def page() -> str:
    """The page."""
    problems = kinds()
    complete(problems, SCENARIOS, str(KINDS.relative_to(ROOT)))
    classes = {
        name: (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
        for name, thing in vars(errors).items()
        if inspect.isclass(thing) and thing.__module__ == errors.__name__ and name not in LEFT_OUT
    }
    complete(classes, OTHERS, "headway.errors")
    with tempfile.TemporaryDirectory(prefix="headway-errors-") as folder, inside(Path(folder)):
        Path("small.toml").write_text(SMALL, "utf-8")
        parts = [INTRO + f"```toml file=small.toml\n{SMALL}```\n"]
        parts.append(
            "# Mistakes in a scenario\n\nIn Python these are `headway.ScenarioError`. "
            "The names of the sections are those of the source.\n"
        )
        for name, (meaning, form) in problems.items():
            example = SCENARIOS[name]
            if prefix := LIMITED.get(name):
                limited = (("limited.toml", prefix + SMALL),)
                example = Example(
                    example.remedy,
                    tuple("limited.toml" if w == "small.toml" else w for w in example.arguments),
                    limited,
                )
            parts.append(section(name, meaning, example, form))
        parts.append("# Other mistakes\n\nThe names of the sections are those of the exceptions in Python.\n")
        for name, meaning in classes.items():
            parts.append(section(name, meaning, OTHERS[name]))
            if (ended := raised(OTHERS[name])) != name:
                raise SystemExit(f"`{OTHERS[name].command}` ends with {ended}, not with {name}")
    return "\n".join(parts).replace("\n# ", "\n## ").replace("\n## `", "\n### `")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
