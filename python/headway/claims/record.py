"""The verdicts on record: what `headway reproduce --record` measured, kept beside the claims it judged.

`verdicts.json` holds one entry a claim. Each carries a digest of the claim and of its scenario file, so that a verdict
whose claim or scenario has changed since shows as outdated instead of speaking for what it did not measure.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import __version__
from headway.claims.evaluate import Result
from headway.claims.ledger import Claim
from headway.claims.verdict import Verdict
from headway.errors import HeadwayError
from headway.files import write_json
from headway.names import VERDICTS_FILE, ScenarioFile

KEPT = ("verdict", "measured", "ci95", "seeds", "scale", "reason")
OUTDATED = "outdated"
# Seeds that a verdict takes where none is on record.
SEEDS = 5


def verdicts_path(file: ScenarioFile) -> Path:
    """Where the verdicts on a scenario's claims are kept."""
    return file.path.parent / VERDICTS_FILE


def digest(claim: Claim, file: ScenarioFile) -> str:
    """What a verdict depends on beside the program: the claim as it is judged, and the scenario as it is written."""
    expressions = [claim.measure, claim.holds, claim.direction]
    spelt_out = [e.spelt_out() if e else [] for e in expressions]
    facts = [claim.published_facts(), claim.variant, dict(claim.at or {}), spelt_out]
    hashed = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    hashed.update(file.path.read_bytes())
    return hashed.hexdigest()[:16]


def command(claim: Claim, scale: str | None = "paper", seeds: int | None = SEEDS) -> str:
    """The line that measures a claim."""
    words = ["headway", "reproduce", claim.scenario]
    words += ["--scale", scale] if scale else []
    words += ["--seeds", str(seeds)] if seeds else []
    return shlex.join([*words, "--out", f"out/{claim.scenario}"])


def record(file: ScenarioFile, results: Sequence[Result], scale: str | None) -> Path:
    """Replace the verdicts on a scenario's claims by these; those on other scenarios stay."""
    path = verdicts_path(file)
    kept = _read(path)
    for result in results:
        row = result.row(scale)
        entry = {key: row[key] for key in KEPT}
        kept[result.claim.id] = {**entry, "version": __version__, "digest": digest(result.claim, file)}
    write_json(path, dict(sorted(kept.items())))
    return path


def recorded(claims: Sequence[Claim], scenarios: Mapping[str, ScenarioFile]) -> list[dict[str, Any]]:
    """For each claim what is on record about it, and the command that measures it."""
    files: dict[Path, dict[str, Any]] = {}
    rows = []
    for claim in claims:
        file = scenarios.get(claim.scenario)
        entry: Mapping[str, Any] = {}
        if file is not None:
            path = verdicts_path(file)
            entry = files.setdefault(path, _read(path)).get(claim.id, {})
        rows.append(_row(claim, entry, file))
    return rows


def _row(claim: Claim, entry: Mapping[str, Any], file: ScenarioFile | None) -> dict[str, Any]:
    row = {key: entry.get(key) for key in KEPT}
    if file is None:
        row |= {"verdict": str(Verdict.PENDING), "reason": f"there is no scenario {claim.scenario}"}
    elif not entry:
        row |= {"verdict": str(Verdict.PENDING), "reason": claim.pending or "no verdict is on record"}
    elif entry.get("digest") != digest(claim, file):
        row |= {"verdict": OUTDATED, "reason": "the claim or its scenario has changed since"}
    return {**row, "command": command(claim, entry.get("scale", "paper"), entry.get("seeds") or SEEDS)}


def _read(path: Path) -> dict[str, Any]:
    """The file's entries; none if there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise HeadwayError(f"{path}: cannot be read ({error})") from None
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise HeadwayError(f"{path}: {error}; `headway reproduce --record` writes it anew once it is removed") from None
    if not isinstance(entries, dict):
        raise HeadwayError(f"{path}: holds no verdicts; `headway reproduce --record` writes it anew once it is removed")
    return entries
