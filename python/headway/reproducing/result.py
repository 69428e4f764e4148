"""Results of reproducing figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.data.claims import JudgedClaim, read_claims
from headway.data.jsonable import Jsonable, plain, table
from headway.data.sweep import Sweep, read_sweep
from headway.layout import CLAIMS_FILE, EXPECTATIONS_FILE, REPORT_FILE


@dataclass(frozen=True)
class Reproduction(Jsonable):
    """A published figure, run and judged.

    `claims` are what `claims.json` holds; `expectations` are of what is expected beyond the paper's claims.
    """

    directory: Path
    claims: tuple[JudgedClaim, ...]
    expectations: tuple[JudgedClaim, ...] = ()

    @property
    def sweep(self) -> Sweep:
        """Its runs."""
        return read_sweep(self.directory)

    @property
    def report(self) -> Path:
        """Its page."""
        return self.directory / REPORT_FILE

    @classmethod
    def read(cls, directory: Path) -> Reproduction:
        """Read the results of `headway reproduce` in a directory; raises `ResultsError` if there are none, or are
        damaged."""
        return cls(directory, read_claims(directory / CLAIMS_FILE), read_claims(directory / EXPECTATIONS_FILE))

    def document(self) -> Any:  # noqa: ANN401  (what JSON holds)
        """Contents of `claims.json`, as `headway reproduce --json` prints it."""
        return plain(self.claims)

    def __repr__(self) -> str:
        return f"<Reproduction in {self.directory}: {counted(self.claims) or 'no claims'}>"

    def _repr_html_(self) -> str:
        return claims_table([*self.claims, *self.expectations], f"{self.directory}: {counted(self.claims)}")


@dataclass(frozen=True)
class Reproductions(Jsonable):
    """The figures of a paper, or of all papers, each in its own directory below `directory`.

    `page` is the site above them.
    """

    directory: Path
    figures: tuple[Reproduction, ...]
    page: Path

    def __iter__(self) -> Iterator[Reproduction]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def __getitem__(self, place: int) -> Reproduction:
        return self.figures[place]

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """Claims of all figures."""
        return tuple(claim for figure in self.figures for claim in figure.claims)

    def document(self) -> Any:  # noqa: ANN401  (what JSON holds)
        """The claims of all figures."""
        return plain(self.claims)

    def __repr__(self) -> str:
        return f"<{len(self.figures)} reproductions in {self.directory}: {counted(self.claims) or 'no claims'}>"

    def _repr_html_(self) -> str:
        return claims_table(self.claims, f"{len(self.figures)} figures in {self.directory}: {counted(self.claims)}")


def counted(claims: Sequence[JudgedClaim]) -> str:
    """Number of claims by verdict, in words."""
    return ", ".join(f"{count} {verdict}" for verdict, count in Counter(claim.verdict for claim in claims).items())


def claims_table(claims: Sequence[JudgedClaim], caption: str) -> str:
    """Claims with their verdicts, for a notebook."""
    rows = [(one.verdict, one.id, one.scenario, one.reason) for one in claims]
    return table(("verdict", "claim", "figure", "reason"), rows, caption)
