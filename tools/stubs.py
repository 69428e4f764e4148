"""Write what editors and type checkers read of the functions that `headway.building` makes from declarations.

    .venv/bin/python tools/stubs.py

The files are made by each build of the native module and are not in git.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from headway.building import declared

PACKAGE = Path(__file__).resolve().parents[1] / "python/headway/building"
HEAD = """from collections.abc import Mapping, Sequence
from typing import Literal

from headway.building.parts import *

"""


def stub(name: str) -> str:
    """The text for a module of the package."""
    functions = declared.functions(name)
    listed = ", ".join(f'"{one.name}"' for one in functions)
    return "\n".join([HEAD, f"__all__ = [{listed}]", *map(_function, functions), ""])


def _function(function: declared.Function) -> str:
    """Its signature and docstring."""
    order = sorted(function.keys, key=lambda key: not key.needed)
    arguments = [f"{key.argument}: {key.annotation}{'' if key.needed else ' = ...'}," for key in order]
    lines = [f"def {function.name}(", *(["    *,", *(f"    {one}" for one in arguments)] if arguments else [])]
    end = "\n" if "\n" in function.docstring else ""
    text = re.sub(r"(\\|\"\"\")", r"\\\1", function.docstring)
    return "\n".join([*lines, f") -> {function.part}:", textwrap.indent(f'"""{text}{end}"""', "    "), "    ...", ""])


def main() -> None:
    """Write a file for each module."""
    for name in declared.MODULES:
        (PACKAGE / f"{name}.pyi").write_text(stub(name), "utf-8")


if __name__ == "__main__":
    main()
