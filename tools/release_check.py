"""Everything that a machine can check before a release, in a fresh clone of the last commit.

    make release-check                                 all steps; takes hours
    make release-check OPTIONS='--only versions'       one step, or several
    make release-check OPTIONS='--skip testbed-matrix' all others
    make release-check OPTIONS=--list                  the steps

Every step runs, even if earlier ones failed. The last lines are a table of outcomes, and what is left to a person.
The exit status is 1 if a step failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A heading is `## 0.1.0 - 2027-01-31`, and before its release `## 0.1.0 - unreleased`.
HEADING = re.compile(r"^## (?P<version>\S+) - (?P<date>\S.*)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
UNRELEASED = "unreleased"
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b")
# This program names the words.
MAY_BE_UNFINISHED = ("tools/release_check.py",)


def version(folder: Path) -> str:
    """The version of the workspace, which all other places repeat."""
    return str(tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"])


def found(folder: Path, file: str, pattern: str) -> str:
    """Capture of a pattern in a file; `nothing` if the file does not have it."""
    match = re.search(pattern, (folder / file).read_text("utf-8"), re.MULTILINE)
    return match[1] if match else "nothing"


def check_versions(folder: Path) -> list[str]:
    """Places that name another version than `[workspace.package]`."""
    expected = version(folder)
    manifest = tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))
    said = {
        f"Cargo.toml, {name}": dependency["version"]
        for name, dependency in manifest["workspace"]["dependencies"].items()
        # Crates that only tests use are not published, and have a path alone.
        if name.startswith("headway-") and "version" in dependency
    }
    lock = tomllib.loads((folder / "Cargo.lock").read_text("utf-8"))
    said |= {
        f"Cargo.lock, {package['name']}": package["version"]
        for package in lock["package"]
        if package["name"].startswith("headway-") and "source" not in package
    }
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    said |= {
        "pyproject.toml": project["version"],
        "CITATION.cff": found(folder, "CITATION.cff", r'^version: "?([^"\s]+)"?$'),
        "CHANGELOG.md, the first heading": found(folder, "CHANGELOG.md", r"^## (\S+)"),
        "docs/citing.md": found(folder, "docs/citing.md", r"version *= \{([^}]+)\}"),
        "docs/command-line.md": found(folder, "docs/command-line.md", r"headway-([^-\s]+)-cp"),
    }
    return [f"{place}: {value}, and the workspace has {expected}" for place, value in said.items() if value != expected]


def changelog_date(folder: Path) -> str | None:
    """The date of the version in CHANGELOG.md, or `unreleased`; `None` without a heading of this form."""
    headings = {
        match["version"]: match["date"] for match in HEADING.finditer((folder / "CHANGELOG.md").read_text("utf-8"))
    }
    return headings.get(version(folder))


def check_changelog(folder: Path, tag: str | None) -> list[str]:
    """Mistakes in the heading of CHANGELOG.md. A tagged commit needs a date there, and the tag of its version."""
    expected = version(folder)
    date = changelog_date(folder)
    problems = []
    if date is None:
        problems.append(f"CHANGELOG.md: no heading `## {expected} - DATE`")
    elif not DATE.fullmatch(date) and (tag or date != UNRELEASED):
        problems.append(f"CHANGELOG.md: {expected} has `{date}` where the date belongs, such as 2027-01-31")
    if tag and tag != f"v{expected}":
        problems.append(f"the tag is {tag}, and the version {expected}")
    return problems


def check_unfinished(folder: Path) -> list[str]:
    """Lines of the repository that say that something is still to be done."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True, check=True).stdout.decode()
    problems = []
    for name in filter(None, listed.split("\0")):
        path = folder / name
        if name in MAY_BE_UNFINISHED or path.is_symlink() or not path.is_file():
            continue
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        lines = enumerate(text.splitlines(), 1)
        problems += [f"{name}:{number}: {line.strip()[:100]}" for number, line in lines if UNFINISHED.search(line)]
    return problems


def needs_linux_root() -> str | None:
    """The reason why the testbed cannot run here, if there is one."""
    if platform.system() != "Linux":
        return "it needs Linux"
    return None if os.geteuid() == 0 else "it needs root"


@dataclass(frozen=True)
class Step:
    """One thing to check: by a function of the clone that returns problems, or by commands in it."""

    name: str
    about: str
    check: Callable[[Path], list[str]] | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    impossible: Callable[[], str | None] = field(default=lambda: None)


def make(*words: str) -> tuple[str, ...]:
    """A call of make."""
    return ("make", "--no-print-directory", *words)


def steps(tag: str | None = None) -> list[Step]:
    """All steps, the quick ones first."""
    return [
        Step("versions", "every file that names the version names the same one", check_versions),
        Step("changelog", "CHANGELOG.md has this version, with its date", lambda folder: check_changelog(folder, tag)),
        Step("unfinished", "no file says that something is still to be done", check_unfinished),
        Step("ci", "what continuous integration runs", commands=(("bash", ".ci/run"),)),
        Step("publish-check", "crates for crates.io, built from their packages", commands=(make("publish-check"),)),
        Step(
            "wheel",
            "the wheel as it is released and the sdist, installed and used in empty environments",
            commands=(make("wheel", "PGO=1"), make("sdist"), make("accept-wheel")),
        ),
        Step("test-long", "the tests that take too long for every push", commands=(make("test-long"),)),
        Step("soak", "random scenarios against the invariants", commands=(make("soak"),)),
        Step(
            "testbed-matrix",
            "every transport on real packets",
            commands=(make("testbed-matrix"),),
            impossible=needs_linux_root,
        ),
        Step("fuzz", "every fuzz target for ten minutes", commands=(make("fuzz", "SECONDS=600"),)),
    ]


@dataclass(frozen=True)
class Outcome:
    """The result of a step."""

    name: str
    passed: bool
    seconds: float
    why: str = ""


def environment() -> dict[str, str]:
    """The environment of the steps, without settings that would lead them out of the clone."""
    unwanted = ("CARGO_TARGET_DIR", "VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    return {key: value for key, value in os.environ.items() if key not in unwanted and not key.startswith("HEADWAY_")}


def changed(folder: Path) -> str:
    """Files that differ from the last commit."""
    status = ["git", "status", "--porcelain"]
    return subprocess.run(status, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def run(step: Step, folder: Path) -> Outcome:
    """Run one step in the clone. It fails if it changes files there, because the tag would lack the changes."""
    print(f"\n==== {step.name}: {step.about}", flush=True)
    began = time.monotonic()
    why = step.impossible()
    if why is None and step.check is not None:
        problems = step.check(folder)
        print("\n".join(problems), end="\n" if problems else "", flush=True)
        why = f"{len(problems)} found" if problems else None
    before = changed(folder)
    for command in step.commands if why is None else ():
        print("$", *command, flush=True)
        status = subprocess.run(command, cwd=folder, env=environment(), check=False).returncode
        if status != 0:
            why = f"`{' '.join(command)}` ended with status {status}"
            break
    after = changed(folder)
    if after != before:
        print(after, flush=True)
        why = f"{why}; it changed files" if why else "it changed files of the repository"
    return Outcome(step.name, why is None, time.monotonic() - began, why or "")


def left(folder: Path, skipped: list[str], tag: str | None) -> list[str]:
    """Steps that only a person can do, given the state of the clone."""
    number = version(folder)
    todo = []
    if skipped:
        todo.append(f"Run the steps that were left out: {', '.join(skipped)}.")
    if changelog_date(folder) == UNRELEASED:
        todo.append(f"Write the date of {number} into CHANGELOG.md.")
    manifest = tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (folder / "CITATION.cff").read_text("utf-8")
    without = [
        name
        for name, there in (
            ("[workspace.package] in Cargo.toml (`repository`)", "repository" in manifest),
            ("pyproject.toml (`[project.urls]`)", "urls" in project),
            ("CITATION.cff (`repository-code`)", "repository-code:" in citation),
        )
        if not there
    ]
    if without:
        todo.append(f"Add the address of the repository to {', '.join(without)}.")
    if not tag:
        todo.append(f"Tag the commit `v{number}` and push the tag. The workflow `release` builds and tries the wheels.")
    return [
        *todo,
        "Read CHANGELOG.md and the front page of the documentation once, as a user would.",
        "Upload the crates of `make publish-check` with `cargo publish`, in the order of their dependencies.",
        "Upload the wheels and the sdist of the workflow to PyPI.",
        "Set the next version (`versions` names the places), and start its section of CHANGELOG.md.",
    ]


def duration(seconds: float) -> str:
    """Seconds in a form that can be read."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {rest:02} s"


def table(outcomes: list[Outcome], skipped: list[str]) -> str:
    """The outcomes, one a line."""
    rows = [(o.name, "passed" if o.passed else "FAILED", duration(o.seconds), o.why) for o in outcomes]
    rows += [(name, "left out", "", "") for name in skipped]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join("  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3]]).rstrip() for row in rows)


def clone(source: Path, into: Path) -> Path:
    """A clone of the last commit of `source`, without anything that was built."""
    folder = into / "headway"
    subprocess.run(["git", "clone", "--quiet", str(source), str(folder)], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit.stdout.strip()], cwd=folder, check=True)
    return folder


def arguments(names: list[str], given: list[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="release_check.py", description="Checks a release in a fresh clone.")
    parser.add_argument("--list", action="store_true", help="show the steps and end")
    parser.add_argument("--only", action="append", default=[], choices=names, metavar="STEP", help="only these steps")
    parser.add_argument("--skip", action="append", default=[], choices=names, metavar="STEP", help="not these steps")
    parser.add_argument("--tag", help="the tag of the commit: it has to be that of the version, and the version dated")
    parser.add_argument("--source", type=Path, default=ROOT, help="the repository to clone; default: this one")
    parser.add_argument("--keep", action="store_true", help="leave the clone in place, as after a failure")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Clone, run the steps, print the table and the remaining steps."""
    options = arguments([step.name for step in steps()], given)
    every = steps(options.tag)
    wanted = set(options.only or [step.name for step in every]) - set(options.skip)
    chosen = [step for step in every if step.name in wanted]
    skipped = [step.name for step in every if step.name not in wanted]
    if options.list:
        width = max(len(step.name) for step in chosen)
        print("\n".join(f"{step.name.ljust(width)}  {step.about}" for step in chosen))
        return 0
    if changed(options.source):
        print("there are changes that are not committed; they are not checked", file=sys.stderr)
    scratch = Path(tempfile.mkdtemp(prefix="headway-release-"))
    folder = clone(options.source, scratch)
    outcomes = [run(step, folder) for step in chosen]
    passed = all(outcome.passed for outcome in outcomes)
    print(f"\n{table(outcomes, skipped)}\n\nLeft to a person:")
    print("\n".join(f"{number}. {what}" for number, what in enumerate(left(folder, skipped, options.tag), 1)))
    if passed and not options.keep:
        shutil.rmtree(scratch)
    else:
        print(f"\nthe clone: {folder}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
