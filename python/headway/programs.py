"""The programs that `make install` puts next to the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from headway.errors import HeadwayError


def program(name: str) -> Path:
    """A program of that name, in the folder of this environment's interpreter."""
    path = Path(sys.executable).parent / name
    if not path.is_file():
        raise HeadwayError(f"{path} is not there: `make install` builds it (on Linux)")
    return path
