"""Makes a new transport, discipline, controller, topology, traffic pattern, figure or model from a template.

    make new-transport NAME=mine       make new-discipline NAME=mine
    make new-controller NAME=mine      make new-topology NAME=mine
    make new-traffic NAME=mine         make new-figure NAME=mine
    make new-model NAME=mine

What it writes compiles and passes the tests as it stands; `git status` shows it. Needs Python and cargo only. Several
at once, `tools/new.py transport mine topology my-row`, are built once.
"""

from __future__ import annotations

import argparse
import keyword
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRANSPORTS = Path("crates/transport/src")
CONTROLLERS = TRANSPORTS / "tcp/control"
DISCIPLINES = Path("crates/fabric/src")
TOPOLOGIES = Path("crates/network/src/topology")
TRAFFIC = Path("crates/lab/src/traffic")
FIGURES = Path("python/headway/reporting/figures")
MODELS = Path("crates/lab/src/model")
PAGES = Path("docs/transports")

# Words that cannot name a module.
RESERVED = {
    "as",
    "async",
    "await",
    "box",
    "const",
    "crate",
    "dyn",
    "else",
    "enum",
    "extern",
    "fn",
    "impl",
    "let",
    "loop",
}
RESERVED |= {"match", "mod", "move", "mut", "priv", "pub", "ref", "self", "static", "struct", "super", "trait", "type"}
RESERVED |= {"unsafe", "use", "virtual", "where", "while", "yield", "abstract", "become", "do", "final", "gen", "macro"}
RESERVED |= {"override", "try", "typeof", "unsized", "true", "false", "test", "core", "std", "alloc"} | set(
    keyword.kwlist
)

PAGE = """# {title}

{title} (authors, place and year of the paper) is ...

```
 a picture of one message: who sends what when
```

## A message

What the sender does, what the receiver does, and what happens when a packet is lost.

## What to expect

What a user sees first, with numbers of a run.

<!-- declared: transport {name} -->
"""


# The tests that write what follows from a declaration: packets that Wireshark reads, order of events, behaviour.
WRITTEN = ("dissector::", "order::", "behaviour::")
# The crates that hold what can be made. With the crate of the Python module, dependencies have the features that they
# have in the whole workspace, as `make test` builds it: with other features, every dependency would be built again.
CRATES = ("fabric", "network", "transport", "lab", "python")
INTEGRATION = (
    "test",
    *(word for crate in CRATES for word in ("--package", f"headway-{crate}")),
    *("--all-features", "--test", "it", "--"),
)


class Mistake(Exception):
    """A mistake that the caller can correct."""


@dataclass(frozen=True)
class Name:
    """A name in the forms that it is written in."""

    text: str

    @property
    def module(self) -> str:
        return self.text.replace("-", "_")

    @property
    def type(self) -> str:
        return "".join(part.capitalize() for part in self.text.split("-"))


@dataclass(frozen=True)
class Made:
    """Files that were made: the file to begin with, the tests that write the rest, and what to try."""

    name: Name
    place: Path
    tests: tuple[str, ...]
    hints: tuple[str, ...]


def main() -> int:
    """Make what the command line asks for; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("name", help="in scenarios: small letters and digits, words joined by -")
    parser.add_argument("more", nargs="*", metavar="kind name", help="further ones")
    arguments = parser.parse_args()
    words = [arguments.kind, arguments.name, *arguments.more]
    if len(words) % 2 or not set(words[::2]) <= set(KINDS):
        parser.error(f"say a kind and a name for each; kinds are {', '.join(sorted(KINDS))}")
    try:
        names = [checked(word) for word in words[1::2]]
        finish([KINDS[kind](name) for kind, name in zip(words[::2], names, strict=True)])
    except Mistake as mistake:
        print(f"error: {mistake}", file=sys.stderr)
        return 2
    return 0


def checked(text: str) -> Name:
    """The name, if it can be one."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", text):
        raise Mistake(f"{text!r} cannot name it: small letters and digits, beginning with a letter, words joined by -")
    name = Name(text)
    if name.module in RESERVED:
        raise Mistake(f"{text!r} is a word of Rust's or of its libraries: choose another name")
    return name


def new_transport(name: Name) -> Made:
    """A folder from the template, its lines, its page, its digest."""
    registry = TRANSPORTS / "registry.rs"
    refuse_taken(name, registry, TRANSPORTS, "transport")
    words = {"TemplateParams": f"{name.type}Params", "TemplateEndpoint": f"{name.type}Endpoint", "Template": name.type}
    head = "//! {name}: say here what it is, which paper and section, and what is deliberately different.\n"
    source = (ROOT / TRANSPORTS / "template/mod.rs").read_text(encoding="utf-8")
    source = head.format(name=name.text) + re.sub(r"\A(//!.*\n)+", "", source)
    source = exchange(source, words).replace('name: "template"', f'name: "{name.text}"')
    source = source.replace("Parameters of the template", f"Parameters of {name.text}").replace(
        "a fixed window with an acknowledgement and a time-out for every packet: the one to copy",
        "a fixed window with an acknowledgement and a time-out for every packet",
    )
    write(TRANSPORTS / name.module / "mod.rs", source)
    packets = (ROOT / TRANSPORTS / "template/packets.rs").read_text(encoding="utf-8")
    write(
        TRANSPORTS / name.module / "packets.rs",
        packets.replace('"template"', f'"{name.text}"').replace("the template", name.text),
    )
    declare_module(TRANSPORTS / "lib.rs", f"pub mod {name.module};")
    declare_deployment(name)
    append_line(
        registry, "transports! {", f'    "{name.text}" => crate::{name.module}::{name.type}: {name.module.upper()},'
    )
    return a_transport(name, TRANSPORTS / name.module)


def declare_deployment(name: Name) -> None:
    """What it needs of a real network, until its author says it: nothing of switches, and user space."""
    constant, text = name.module.upper(), '"say here what it does to flows next to it"'
    append_line(TRANSPORTS / "deploy.rs", "deployments! {", f'    {constant}: [], [UserSpace("")], {text};')


def new_controller(name: Name) -> Made:
    """Make the file of a controller from NewReno's, its lines in the registry, its page, and its digest."""
    registry = TRANSPORTS / "registry.rs"
    refuse_taken(name, registry, CONTROLLERS, "transport")
    source = (ROOT / CONTROLLERS / "newreno.rs").read_text(encoding="utf-8")
    head = f"//! {name.text}: say here what it decides, and by which paper and section.\n"
    source = head + re.sub(r"\A(//!.*\n)+", "", source)
    source = exchange(source, {"NewRenoParams": f"{name.type}Params", "NewReno adds": "It adds", "NewReno": name.type})
    source = source.replace('name: "tcp"', f'name: "{name.text}"')
    source = re.sub(r'summary: ".*"', 'summary: "additive increase, half the window for a loss"', source)
    write(CONTROLLERS / f"{name.module}.rs", source)
    declare_module(CONTROLLERS / "mod.rs", f"pub mod {name.module};")
    alias = f"/// `{name.text}`.\npub type {name.type} = Tcp<control::{name.module}::{name.type}>;\n"
    before(TRANSPORTS / "tcp/mod.rs", "\n/// The machine's states", alias)
    declare_deployment(name)
    line = f'    "{name.text}" => crate::tcp::{name.type} as Controlled: {name.module.upper()},'
    append_line(registry, "transports! {", line)
    return a_transport(name, CONTROLLERS / f"{name.module}.rs")


def new_discipline(name: Name) -> Made:
    """Make the file of a discipline from drop-tail's, and its lines in the registry."""
    registry = DISCIPLINES / "registry.rs"
    refuse_taken(name, registry, DISCIPLINES, "discipline")
    source = (ROOT / DISCIPLINES / "drop_tail.rs").read_text(encoding="utf-8")
    head = f"//! {name.text}: say here what it does to packets, and by which paper and section.\n"
    source = head + re.sub(r"\A(//!.*\n)+", "", source)
    words = {"DropTailParams": f"{name.type}Params", "Drop-tail has": "It has", "DropTail": name.type}
    source = exchange(source, words).replace('name: "drop-tail"', f'name: "{name.text}"')
    write(DISCIPLINES / f"{name.module}.rs", source)
    declare_module(DISCIPLINES / "lib.rs", f"mod {name.module};")
    append_line(registry, "disciplines! {", f'    "{name.text}" => crate::{name.module}::{name.type},')
    hint = "headway run examples/quickstart --set fabric.discipline=" + name.text
    return Made(name, DISCIPLINES / f"{name.module}.rs", (), (hint,))


def new_topology(name: Name) -> Made:
    """Make the file of a topology from the parking lot's, and its line in the registry."""
    registry = TOPOLOGIES / "mod.rs"
    if f'name: "{name.text}"' in "".join(path.read_text(encoding="utf-8") for path in (ROOT / TOPOLOGIES).glob("*.rs")):
        raise Mistake(f"there is a topology `{name.text}` already")
    refuse_taken(name, registry, TOPOLOGIES, "topology")
    source = (ROOT / TOPOLOGIES / "parking_lot.rs").read_text(encoding="utf-8")
    head = "//! Say here which nodes there are, and which links join them.\n"
    source = head + re.sub(r"\A(//!.*\n)+", "", source)
    source = exchange(source, {"ParkingLot": name.type}).replace('name: "parking-lot"', f'name: "{name.text}"')
    write(TOPOLOGIES / f"{name.module}.rs", source)
    append_line(registry, "topologies! {", f"    {name.module}::{name.type},")
    hint = "cargo test -p headway-network holds it against what every topology promises"
    return Made(name, TOPOLOGIES / f"{name.module}.rs", (), (hint,))


def new_traffic(name: Name) -> Made:
    """Make the file of a traffic pattern from the permutation's, and its line in the registry."""
    registry = TRAFFIC / "mod.rs"
    if f'name: "{name.text}"' in "".join(path.read_text(encoding="utf-8") for path in (ROOT / TRAFFIC).glob("*.rs")):
        raise Mistake(f"there is a traffic pattern `{name.text}` already")
    refuse_taken(name, registry, TRAFFIC, "traffic pattern")
    source = (ROOT / TRAFFIC / "permutation.rs").read_text(encoding="utf-8")
    head = "//! Say here which hosts send, to which receivers, how much, and when.\n"
    source = head + re.sub(r"\A(//!.*\n)+", "", source)
    # The purpose of a random stream is not a name of the pattern.
    source = exchange(source, {"Purpose::Permutation": "Purpose::Permutation", "Permutation": name.type})
    source = source.replace('name: "permutation"', f'name: "{name.text}"')
    write(TRAFFIC / f"{name.module}.rs", source)
    append_line(registry, "patterns! {", f"    {name.module}::{name.type},")
    hint = "cargo test -p headway-lab --test it traffic:: holds it against what every pattern promises"
    return Made(name, TRAFFIC / f"{name.module}.rs", (), (hint,))


def new_figure(name: Name) -> Made:
    """Make the file of a figure from the template, and its line in the registry."""
    registry = FIGURES / "__init__.py"
    if f'"{name.module}",' in (ROOT / registry).read_text(encoding="utf-8"):
        raise Mistake(f"there is a figure `{name.text}` already")
    path = FIGURES / f"{name.module}.py"
    if (ROOT / path).exists():
        raise Mistake(f"{path} is there already, and is no figure of that name: choose another name")
    source = (ROOT / FIGURES / "template.py").read_text(encoding="utf-8")
    source = re.sub(r'\A""".*"""', '"""Say here what it shows, and of what."""', source)
    write(path, exchange(source, {'"template"': f'"{name.text}"'}))
    last = '    "model",\n)'
    before(registry, last, f'    "{name.module}",\n')
    return Made(name, path, (), ("pytest tests/python/test_figures.py holds it against what every figure promises",))


def new_model(name: Name) -> Made:
    """Make the file of a closed-form model from the template, and its line in the registry."""
    registry = MODELS / "mod.rs"
    if f'name: "{name.text}"' in "".join(path.read_text(encoding="utf-8") for path in (ROOT / MODELS).glob("*.rs")):
        raise Mistake(f"there is a model `{name.text}` already")
    refuse_taken(name, registry, MODELS, "model")
    source = (ROOT / "tools/model.rs").read_text(encoding="utf-8")
    # The first is the model's, the other its function's, which expressions call: a word.
    source = source.replace('name: "template"', f'name: "{name.text}"', 1)
    source = exchange(source, {'"template"': f'"{name.module}"', "Template": name.type})
    write(MODELS / f"{name.module}.rs", source)
    append_line(registry, "models! {", f"    {name.module}::{name.type},")
    hint = "cargo test -p headway-lab --test it models:: holds it against what every model promises"
    return Made(name, MODELS / f"{name.module}.rs", (), (hint,))


def a_transport(name: Name, place: Path) -> Made:
    """Its page, and what is written from the declaration: digest of its order of events, behaviour."""
    write(PAGES / f"{name.text}.md", PAGE.format(title=name.text, name=name.text))
    hints = (
        f"{PAGES / name.text}.md: its page, which waits for your words",
        "make develop && .venv/bin/headway run examples/quickstart --set transport.name=" + name.text,
    )
    return Made(name, place, WRITTEN, hints)


def finish(made: list[Made]) -> None:
    """Build what was made, write what follows from it, and print what was created."""
    if any(one.place.suffix != ".py" for one in made):
        cargo("fmt", "--all")
        # `cargo fmt` finds no module that a registry's macro declares.
        command("rustfmt", *(str(one.place) for one in made if one.place.suffix == ".rs"))
        tests = dict.fromkeys(test for one in made for test in one.tests)
        if tests:
            cargo(*INTEGRATION, *tests, extra={"HEADWAY_BLESS": "1"})
        else:
            cargo("check", "--package", "headway-lab")
        written = "make develop, for its function in Python"
        made[-1] = replace(made[-1], hints=(*made[-1].hints, written))
    for one in made:
        print(f"made {one.name.text}; git status shows every file")
        print(f"  {one.place}: begin here, CONTRIBUTING.md says how")
        for hint in one.hints:
            print(f"  {hint}")


def refuse_taken(name: Name, registry: Path, folder: Path, kind: str) -> None:
    """Raise if there is one of that name, or a module of that name that is something else."""
    if f'"{name.text}" =>' in (ROOT / registry).read_text(encoding="utf-8"):
        raise Mistake(f"there is a {kind} `{name.text}` already")
    for path in (folder / name.module, folder / f"{name.module}.rs"):
        if (ROOT / path).exists():
            raise Mistake(f"{path} is there already, and is no {kind} of that name: choose another name")


def exchange(source: str, words: Mapping[str, str]) -> str:
    """Every word replaced; longer ones first, so that none is taken for the start of another."""
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.sub(pattern, lambda match: words[match[0]], source)


def write(path: Path, text: str) -> None:
    """A new file."""
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / path).write_text(text, encoding="utf-8")


def edit(path: Path, change: Mapping[str, str]) -> None:
    """Exchange texts that stand in a file once."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for old, new in change.items():
        if text.count(old) != 1:
            raise Mistake(f"{path} is not as this program knows it: it should hold {old!r} once")
        text = text.replace(old, new)
    (ROOT / path).write_text(text, encoding="utf-8")


def before(path: Path, place: str, lines: str) -> None:
    """Put lines before a place that a file holds once."""
    edit(path, {place: lines + place})


def append_line(path: Path, list_begin: str, line: str) -> None:
    """Add a line to the end of a list that runs from `list_begin` to a brace of its own."""
    text = (ROOT / path).read_text(encoding="utf-8")
    begin = text.rfind("\n" + list_begin) + 1
    end = text.find("\n}", begin) + 1
    if not begin or not end:
        raise Mistake(f"{path} is not as this program knows it: it should hold a list that begins with {list_begin!r}")
    (ROOT / path).write_text(f"{text[:end]}{line}\n{text[end:]}", encoding="utf-8")


def declare_module(path: Path, line: str) -> None:
    """Add a module behind the last one that the file declares; `cargo fmt` sorts them."""
    text = (ROOT / path).read_text(encoding="utf-8")
    last = [match.end() for match in re.finditer(r"^(pub(\(crate\))? )?mod \w+;\n", text, flags=re.MULTILINE)]
    if not last:
        raise Mistake(f"{path} is not as this program knows it: it should declare modules")
    (ROOT / path).write_text(f"{text[: last[-1]]}{line}\n{text[last[-1] :]}", encoding="utf-8")


def cargo(*arguments: str, extra: Mapping[str, str] | None = None) -> None:
    """Run cargo; its output is shown if it fails."""
    if shutil.which("cargo") is None:
        raise Mistake("cargo, the Rust build tool, is not there: https://rustup.rs")
    print(f"cargo {' '.join(arguments)}", file=sys.stderr)
    command("cargo", *arguments, extra=extra)


def command(program: str, *arguments: str, extra: Mapping[str, str] | None = None) -> None:
    """Run a program in the repository; its output is shown if it fails."""
    done = subprocess.run(
        [program, *arguments],
        cwd=ROOT,
        env={**os.environ, **(extra or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Mistake(f"{program} {arguments[0]} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


KINDS = {
    "transport": new_transport,
    "discipline": new_discipline,
    "controller": new_controller,
    "topology": new_topology,
    "traffic": new_traffic,
    "figure": new_figure,
    "model": new_model,
}

if __name__ == "__main__":
    sys.exit(main())
