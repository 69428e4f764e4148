"""Check that functions, files and structs stay small enough to be read at once: `make lint`.

    .venv/bin/python tools/sizes.py [--record]

What is larger stands in tools/sizes.json with its size, and may only shrink: a smaller size has to be recorded. Lines
of inline comments do not count, but for those in functions of Python.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXCEPTIONS = ROOT / "tools/sizes.json"
# Lines of a function, lines of a file, fields of a struct.
BOUNDS = {"function": 80, "file": 800, "struct": 20}
FUNCTION = re.compile(r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern \"C\" )*fn (?P<name>\w+)")
STRUCT = re.compile(r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?struct (?P<name>\w+)[^;]*\{$")


def rust(lines: list[str]) -> Iterator[tuple[str, str, int]]:
    """Functions and structs of a file that rustfmt has written: each ends with a brace at its own indentation."""
    for start, line in enumerate(lines):
        for kind, pattern in (("function", FUNCTION), ("struct", STRUCT)):
            if not (found := pattern.match(line)) or line.endswith(("}", ";")):
                continue
            closing = f"{found['indent']}}}"
            inner = []
            for other in lines[start + 1 :]:
                if other == closing or (not inner and other.endswith(";") and kind == "function"):
                    break
                inner.append(other)
            if kind == "struct":
                field = re.compile(rf"^{found['indent']}    (?:pub(?:\([^)]*\))? )?\w+: ")
                yield kind, found["name"], sum(bool(field.match(one)) for one in inner)
            else:
                yield kind, found["name"], len(inner) + 2


def python(text: str) -> Iterator[tuple[str, str, int]]:
    """Functions of a file; docstrings do not count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            said = ast.get_docstring(node) is not None
            docstring = (first.end_lineno or 0) - first.lineno + 1 if said else 0
            yield "function", node.name, (node.end_lineno or 0) - node.lineno + 1 - docstring


def measured() -> Iterator[tuple[str, int, int]]:
    """Everything over its bound: its place, its size and the bound. Where two have one name, the larger."""
    listed = subprocess.run(["git", "ls-files", "*.rs", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    largest: dict[str, tuple[int, int]] = {}
    for name in listed.stdout.split():
        path = ROOT / name
        if path.is_symlink() or not path.exists():
            continue
        text = path.read_text("utf-8")
        # Comments that say why do not make a function longer to understand.
        note = "#" if path.suffix == ".py" else "// "
        lines = [line for line in text.splitlines() if not line.lstrip().startswith(note)]
        parts = [("file", "", len(lines)), *(python(text) if path.suffix == ".py" else rust(lines))]
        for kind, part, size in parts:
            key = f"{name}: {kind} {part}".rstrip()
            if size > BOUNDS[kind] and size > largest.get(key, (0, 0))[0]:
                largest[key] = (size, BOUNDS[kind])
    for key, (size, bound) in sorted(largest.items()):
        yield key, size, bound


def main() -> int:
    """Print sizes that are too large, and exceptions that are no longer needed; returns the exit status."""
    found = {key: (size, bound) for key, size, bound in measured()}
    if "--record" in sys.argv[1:]:
        sizes = {key: size for key, (size, _) in found.items()}
        EXCEPTIONS.write_text(json.dumps(sizes, indent=1) + "\n", "utf-8")
        return 0
    allowed: dict[str, int] = json.loads(EXCEPTIONS.read_text("utf-8"))
    wrong = [
        f"{key} has {size}, and may have {max(bound, allowed.get(key, 0))}"
        for key, (size, bound) in found.items()
        if size > max(bound, allowed.get(key, 0))
    ]
    wrong += [
        f"{key} has shrunk: record it with tools/sizes.py --record"
        for key, size in allowed.items()
        if found.get(key, (0, 0))[0] < size
    ]
    print("\n".join(wrong) or f"sizes: {len(allowed)} exceptions, none larger than recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
