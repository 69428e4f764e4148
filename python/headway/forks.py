"""Detection of a fork from a process that had used polars.

polars has threads, which a fork leaves behind: a child whose parent had used it would wait for them for ever. The
package imports this first, because only a fork that happens later is noticed.
"""

from __future__ import annotations

import os
import sys

_left_behind = False


def _forked() -> None:
    global _left_behind
    _left_behind = "polars" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def left_behind() -> bool:
    """True if the threads of polars are in another process."""
    return _left_behind
