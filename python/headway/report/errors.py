"""The one error a caller of the report can cause: a directory or a file that cannot be used."""

from __future__ import annotations

from pathlib import Path

from headway.errors import HeadwayError


class ReportError(HeadwayError):
    """A results directory cannot be reported on. The message names the file and says what is wrong."""

    def __init__(self, path: Path, problem: str, hint: str | None = None) -> None:
        self.path = path
        self.problem = problem
        self.hint = hint
        message = f"{path}: {problem}"
        super().__init__(f"{message}\n  help: {hint}" if hint else message)
