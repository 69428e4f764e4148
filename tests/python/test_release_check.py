"""`make release-check`: the steps that read files, on a copy of them with a mistake in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import release_check
from release_check import Step, check_changelog, check_unfinished, check_versions

REPOSITORY = Path(__file__).resolve().parents[2]
VERSION = release_check.version(REPOSITORY)
FILES = (
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
    "CITATION.cff",
    "CHANGELOG.md",
    "docs/citing.md",
    "docs/command-line.md",
)


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, as an author that needs no settings."""
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that name the version, committed to a repository of their own."""
    folder = tmp_path / "repository"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "All")
    return folder


def replace(file: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text that has to be there."""
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_the_repository_names_one_version_and_has_nothing_unfinished() -> None:
    assert check_versions(REPOSITORY) == []
    assert check_changelog(REPOSITORY, None) == []
    assert check_unfinished(REPOSITORY) == []


@pytest.mark.parametrize(
    ("file", "old", "place"),
    [
        ("Cargo.toml", f'path = "crates/packet", version = "{VERSION}"', "Cargo.toml, headway-packet"),
        ("Cargo.lock", f'name = "headway-lab"\nversion = "{VERSION}"', "Cargo.lock, headway-lab"),
        ("pyproject.toml", f'version = "{VERSION}"', "pyproject.toml"),
        ("CITATION.cff", f"version: {VERSION}", "CITATION.cff"),
        ("CHANGELOG.md", f"## {VERSION} - ", "CHANGELOG.md, the first heading"),
        ("docs/citing.md", f"version = {{{VERSION}}}", "docs/citing.md"),
        ("docs/command-line.md", f"headway-{VERSION}-cp", "docs/command-line.md"),
    ],
)
def test_another_version_in_one_place_is_found(copy: Path, file: str, old: str, place: str) -> None:
    replace(copy / file, old, old.replace(VERSION, "9.8.7"))
    assert check_versions(copy) == [f"{place}: 9.8.7, and the workspace has {VERSION}"]


def test_a_tagged_version_needs_its_tag_and_a_date(copy: Path) -> None:
    heading = next(line for line in (copy / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## "))

    def problems(date: str, tag: str | None) -> list[str]:
        shutil.copy(REPOSITORY / "CHANGELOG.md", copy / "CHANGELOG.md")
        replace(copy / "CHANGELOG.md", heading, f"## {VERSION} - {date}")
        return check_changelog(copy, tag)

    assert problems("unreleased", None) == []
    assert problems("2027-01-31", f"v{VERSION}") == []
    assert problems("soon", None) == [f"CHANGELOG.md: {VERSION} has `soon` where the date belongs, such as 2027-01-31"]
    assert len(problems("unreleased", f"v{VERSION}")) == 1
    assert problems("2027-01-31", "v9.8.7") == [f"the tag is v9.8.7, and the version {VERSION}"]
    replace(copy / "CHANGELOG.md", f"## {VERSION} - 2027-01-31", "## 0.0.1 - 2027-01-31")
    assert check_changelog(copy, None) == [f"CHANGELOG.md: no heading `## {VERSION} - DATE`"]


def test_a_line_that_is_not_finished_is_named(copy: Path) -> None:
    word = "TO" + "DO"
    (copy / "notes.md").write_text(f"one\n{word}: two\n", "utf-8")
    git(copy, "add", ".")
    assert check_unfinished(copy) == [f"notes.md:2: {word}: two"]


def test_a_failed_step_does_not_hide_the_others(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    steps = [
        Step("fails", "a command that fails", commands=(("false",), ("echo", "not reached"))),
        Step(
            "cannot", "what this machine cannot do", commands=(("echo", "not reached"),), impossible=lambda: "no root"
        ),
        Step("changes", "a command that changes a file", commands=(("sh", "-c", "echo >>CITATION.cff"),)),
        Step("works", "a command that works", commands=(("sh", "-c", 'test -z "$CARGO_TARGET_DIR" && echo worked'),)),
        Step("other", "what is left out", commands=(("echo", "not reached"),)),
    ]
    monkeypatch.setattr(release_check, "steps", lambda tag=None: steps)
    monkeypatch.setenv("CARGO_TARGET_DIR", "/somewhere")
    (copy / "new.txt").write_text("not committed", "utf-8")
    assert release_check.main(["--source", str(copy), "--skip", "other"]) == 1
    printed, warned = capfd.readouterr()
    assert "not committed" in warned
    assert "\nworked\n" in printed
    assert "\nnot reached\n" not in printed
    found = [
        re.split(" {2,}", line) for line in printed.splitlines() if re.match(r"\w+ +(passed|FAILED|left out)", line)
    ]
    assert [(row[0], row[1], *row[3:]) for row in found] == [
        ("fails", "FAILED", "`false` ended with status 1"),
        ("cannot", "FAILED", "no root"),
        ("changes", "FAILED", "it changed files of the repository"),
        ("works", "passed"),
        ("other", "left out"),
    ]
    assert "1. Run the steps that were left out: other." in printed
    clone = Path(printed.rsplit("the clone: ", 1)[1].strip())
    assert (clone / "CITATION.cff").is_file()
    assert not (clone / "new.txt").exists()
    shutil.rmtree(clone.parent)
    assert release_check.main(["--source", str(copy), "--only", "works"]) == 0
    assert "the clone" not in capfd.readouterr().out


def test_the_workflow_of_a_release_runs_every_step() -> None:
    text = (REPOSITORY / ".github/workflows/release.yml").read_text("utf-8")
    listed = re.search(r"step: \[([^\]]+)\]", text)
    assert listed is not None
    assert re.split(r",\s*", listed[1].strip()) == [step.name for step in release_check.steps()]


def test_what_steps_call_is_in_the_makefile() -> None:
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    called = [command for step in release_check.steps() for command in step.commands if command[0] == "make"]
    assert len(called) > 5
    for command in called:
        target = next(word for word in command[1:] if not word.startswith("-") and "=" not in word)
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_changelog_counts_what_is_there() -> None:
    """Until its release; afterwards the text is about a state of the past."""
    if release_check.changelog_date(REPOSITORY) != release_check.UNRELEASED or VERSION != "0.1.0":
        return
    text = " ".join((REPOSITORY / "CHANGELOG.md").read_text("utf-8").split())

    def verdicts(*papers: str) -> Counter[str]:
        records = [json.loads((REPOSITORY / f"scenarios/{paper}/verdicts.json").read_text("utf-8")) for paper in papers]
        return Counter(entry["verdict"] for record in records for entry in record.values())

    four, two = verdicts("amrt", "rpo", "l2dct", "proactmp"), verdicts("hpcc", "sird")
    assert (
        f"{four.total()} claims, of which {four['reproduced']} are reproduced, {four['direction-only']} in direction "
        f"only, {four['not-reproduced']} not, and {four['pending']} are pending"
    ) in text
    assert (
        f"{two.total()} claims, of which {two['reproduced']} are reproduced, {two['direction-only']} in direction "
        f"only, and {two['not-reproduced']} not."
    ) in text
    rows = sum(file.read_text("utf-8").count("\n[[row]]") for file in REPOSITORY.glob("scenarios/peers/*/peer.toml"))
    assert f"{rows} comparisons with other" in text
    registry = (REPOSITORY / "crates/transport/src/registry.rs").read_text("utf-8")
    transports = set(re.findall(r'^ +"([a-z0-9-]+)" => crate::', registry, re.MULTILINE)) - {"template"}
    assert f"- {len(transports)} transports" in text
    ports = (REPOSITORY / "crates/fabric/src/registry.rs").read_text("utf-8")
    disciplines = re.findall(r'^ +"[a-z-]+" => crate::', ports, re.MULTILINE)
    assert f"- {len(disciplines)} port disciplines" in text
