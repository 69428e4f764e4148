"""Claims of one paper that cannot hold, or not together: `[[contradiction]]` tables, each with a proof.

    [[contradiction]]
    claims = ["one", "other"]
    because = "what both cannot be, in a sentence"
    proof = "published('one') > published('other')"

The proof is evaluated whenever the ledger is read: a table whose proof is false is refused. It compares what the paper
publishes and numbers that the paper gives, never what was measured here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.claims.language import CannotMeasure, ExpressionError, Vocabulary, parse
from headway.claims.ledger import Claim, load_ledger
from headway.claims.tables import Source, TableReader, near, read_document, read_text
from headway.data.claims import Published
from headway.errors import nearest

TABLE = "contradiction"
KEYS: Mapping[str, type] = {"claims": list, "because": str, "proof": str}


@dataclass(frozen=True)
class Contradiction:
    """Claims of which not all can hold, or none, why, and the comparison that shows it."""

    claims: tuple[str, ...]
    because: str
    proof: str

    def reason(self, claim: str) -> str:
        """Reason why a claim of it cannot come out; of two claims, together with the other."""
        others = [name for name in self.claims if name != claim]
        return f"beside {others[0]}: {self.because}" if len(others) == 1 else self.because


def _published(published: Mapping[str, Published], name: str, index: float = 0) -> Published:
    """Number that the paper publishes for a claim; of a list its item `index`."""
    if name not in published:
        close = nearest(name, list(published))
        hint = f"; nearest: {', '.join(close)}" if close else ""
        raise CannotMeasure(f"no claim '{name}'{hint}")
    value = published[name]
    return value[int(index)] if isinstance(value, list) else value


def _no_literal(text: str) -> float:
    raise CannotMeasure(f"'{text}' is no number")


VOCABULARY = Vocabulary(
    plain={
        "published": _published,
        "least": lambda _, *numbers: min(numbers),
        "most": lambda _, *numbers: max(numbers),
    },
    forms={},
    literal=_no_literal,
)


def load_contradictions(path: Path) -> list[Contradiction]:
    """The contradictions of a ledger; raises `ClaimsError` at the line of the first mistake."""
    if not path.exists():
        return []
    document, source = read_document(path, read_text(path))
    tables = document.get(TABLE, [])
    if not tables:
        return []
    claims = {claim.id: claim for claim in load_ledger(path)}
    return [_read(source, index, entry, claims) for index, entry in enumerate(tables)]


def _read(source: Source, index: int, entry: Mapping[str, Any], claims: Mapping[str, Claim]) -> Contradiction:
    reader = TableReader(source, TABLE, index, entry)
    reader.check_keys(KEYS, {})
    names = entry["claims"]
    if not names or len(set(map(str, names))) < len(names):
        raise reader.error("claims", "'claims' lists claims of this ledger, each once")
    for name in names:
        if name not in claims:
            raise reader.error("claims", f"no claim '{name}'{near(str(name), claims)}")
    try:
        published = {name: claim.published for name, claim in claims.items()}
        proved = parse(entry["proof"], VOCABULARY).evaluate(published)
    except ExpressionError as error:
        raise reader.error("proof", str(error), error.column) from None
    except CannotMeasure as error:
        raise reader.error("proof", f"it cannot be evaluated: {error}") from None
    if proved is not True:
        raise reader.error("proof", "a proof is a comparison that is true of the published numbers, and this is not")
    return Contradiction(tuple(names), entry["because"], entry["proof"])
