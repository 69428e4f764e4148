"""Check that comments, names and pages stay plain to read: `make lint`.

    .venv/bin/python tools/prose.py [--show KIND]

Each bound is of the whole repository, so that a single sentence may be an exception. `--show` lists the places of a
kind.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A doc comment says what a thing is: an opening like these makes a reader look for the verb. Questions are questions.
QUESTION = re.compile(r"(?:What|Who|Whose|Whom|Where|Whether|How|Which|When)\b(?!.*\?$)")
PHRASES = {
    # "is no packet" for "is not a packet", and persons in the place of things.
    "negated": re.compile(
        r"\b(?:(?:is|are|was|were|has|have) no [a-z]|nobody\b|somebody\b|whoever\b|is not of\b|knows? of\b)", re.I
    ),
    "archaic": re.compile(r"\b(?:besides?|likewise|anew|thereof|by lot|as yet|hitherto)\b", re.I),
    # The subject that tells or asks is missing.
    "passive": re.compile(r"\b(?:is|are|was|were) (?:told|said|asked for|looked after|handed on|given back)\b", re.I),
}
RUST_FUNCTION = re.compile(r"(?:pub(?:\([a-z]+\))? )?(?:const |async |unsafe |extern \"C\" )*fn (\w+)")
PYTHON_FUNCTION = re.compile(r"(?:async )?def (\w+)")
# Names of kinds, what is counted, and the bound; the last are least values.
AT_MOST = {
    "question": (3.0, "% of the lines of doc comments begin with a question word"),
    "short": (40, "doc comments have one or two words"),
    "phrases": (250, "lines have a phrase that has to be read twice"),
    "one-word": (45.0, "% of the functions have a name of one word"),
    "words": (140_000, "words are in docs, README.md and CHANGELOG.md"),
    "readme": (900, "words are in README.md"),
}
AT_LEAST = {"why": (35.0, "inline comments stand in 1,000 lines of Rust")}

Place = tuple[str, int, str]


def tracked(*patterns: str) -> Iterator[tuple[str, list[str]]]:
    """Files of the repository that match, with their lines."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        if (path := ROOT / name).is_file():
            yield name, path.read_text("utf-8").splitlines()


class Counts:
    """Numbers of lines by kind, and where they are."""

    def __init__(self) -> None:
        """Begin with none."""
        self.total: Counter[str] = Counter()
        self.places: defaultdict[str, list[Place]] = defaultdict(list)

    def add(self, kind: str, name: str, number: int, text: str) -> None:
        """Count a line."""
        self.total[kind] += 1
        self.places[kind].append((name, number, text))

    def phrases(self, name: str, number: int, text: str) -> None:
        """Count the phrases of a line."""
        for pattern in PHRASES.values():
            if pattern.search(text):
                self.add("phrases", name, number, text)

    def function(self, found: re.Match[str] | None, name: str, number: int) -> None:
        """Count a function; tests are named after what they show."""
        if found and not found[1].startswith("test") and "tests" not in Path(name).parts:
            self.total["functions"] += 1
            if "_" not in found[1].strip("_"):
                self.add("one-word", name, number, found[1])

    def rust(self, name: str, lines: list[str]) -> None:
        """Count a file of Rust."""
        inside = False
        for number, line in enumerate(map(str.strip, lines), 1):
            if found := re.match(r"//[/!] ?(.*)", line):
                text = found[1]
                if text:
                    self.total["doc"] += 1
                    if QUESTION.match(text):
                        self.add("question", name, number, text)
                    self.phrases(name, number, text)
                    if not inside and len(text.split()) <= 2:
                        self.add("short", name, number, text)
                inside = True
                continue
            inside = False
            self.total["code"] += bool(line) and not line.startswith("//")
            if re.search(r"(?:^|\s)//(?![/!])\s*\S", line):
                self.total["why"] += 1
            self.function(RUST_FUNCTION.match(line), name, number)

    def python(self, name: str, lines: list[str]) -> None:
        """Count a file of Python: its comments, and the first lines of docstrings."""
        for number, line in enumerate(map(str.strip, lines), 1):
            if line.startswith(("#", '"""')):
                self.phrases(name, number, line)
            self.function(PYTHON_FUNCTION.match(line), name, number)

    def page(self, name: str, lines: list[str]) -> None:
        """Count a page: its words, and its prose outside of tables, headings and blocks."""
        words = sum(len(line.split()) for line in lines)
        if name.startswith("docs/") or name in ("README.md", "CHANGELOG.md"):
            self.total["words"] += words
        if name == "README.md":
            self.total["readme"] = words
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith(("|", "#", "```", "    ", "$")):
                self.phrases(name, number, line.strip())


def counted() -> Counts:
    """Counts of the whole repository."""
    counts = Counts()
    for name, lines in tracked("*.rs"):
        counts.rust(name, lines)
    for name, lines in tracked("*.py"):
        counts.python(name, lines)
    for name, lines in tracked("*.md"):
        counts.page(name, lines)
    return counts


def main() -> int:
    """Print what is out of its bound; returns the exit status."""
    parser = argparse.ArgumentParser(description="Check that comments, names and pages stay plain to read.")
    parser.add_argument("--show", choices=["question", "short", "phrases", "one-word"])
    kind = parser.parse_args().show
    counts = counted()
    if kind is not None:
        for name, number, text in counts.places[kind]:
            print(f"{name}:{number}: {text[:120]}")
        return 0
    total = counts.total
    values: dict[str, float] = {**total}
    values["question"] = 100 * total["question"] / max(total["doc"], 1)
    values["one-word"] = 100 * total["one-word"] / max(total["functions"], 1)
    values["why"] = 1000 * total["why"] / max(total["code"], 1)
    wrong = [
        f"{values[name]:.4g} {what}, and at most {most:g} may"
        for name, (most, what) in AT_MOST.items()
        if values.get(name, 0) > most
    ]
    wrong += [
        f"{values[name]:.4g} {what}, and at least {least:g} have to"
        for name, (least, what) in AT_LEAST.items()
        if values[name] < least
    ]
    for line in wrong:
        print(line)
    if not wrong:
        print("; ".join(f"{name} {values.get(name, 0):.4g}" for name in [*AT_MOST, *AT_LEAST]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
