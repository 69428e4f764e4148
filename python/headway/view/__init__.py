"""A directory of runs in the browser, on this machine alone: reports, sweeps as they run, and any two runs compared.

`found` says what is in the directory, `pages` makes pages of it, and `server` answers requests.
"""

from __future__ import annotations

from .server import HOST, Server

__all__ = ["HOST", "Server"]
