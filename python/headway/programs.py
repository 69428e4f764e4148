"""The programs that `make install` puts next to the command line, and that a wheel does not hold."""

from __future__ import annotations

import sys
from pathlib import Path

from headway.errors import HeadwayError, with_help


def program(name: str) -> Path:
    """A program of that name, in the folder of this environment's interpreter."""
    path = _place(name)
    if not path.is_file():
        raise HeadwayError(
            f"{path} is not there: {HOW}" + with_help("a wheel does not hold it: headway docs command-line#install")
        )
    return path


# Way to install a program.
HOW = "`make install` builds it in the sources of Headway, on Linux"


def lacks(name: str) -> bool:
    """True if this installation has no program of that name."""
    return not _place(name).is_file()


def _place(name: str) -> Path:
    return Path(sys.executable).parent / name
