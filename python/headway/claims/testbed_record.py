"""The testbed's verdicts on record: measurements of `headway testbed reproduce --record`, next to those of the
simulator.

`testbed.json` holds an entry for each claim that was measured on real packets: the median over repetitions, the
smallest and the largest value, the machine, and how much other work it had. A digest shows what is outdated, as in
`verdicts.json`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headway._headway import version
from headway.claims.evaluate import Result
from headway.claims.ledger import Claim
from headway.claims.record import digest as claim_digest
from headway.claims.record import scenario_document
from headway.claims.testbed import RealRuns, digest_of, real_runs
from headway.data.claims import OUTDATED, RealClaim, Verdict
from headway.data.reader import read_record
from headway.files import write_json
from headway.names import TESTBED_FILE, ScenarioFile

ARM = "testbed"
REPETITIONS = 5
KEPT = ("verdict", "measured", "range", "reason")
HOW = ("repetitions", "scale", "runs", "slowdown", "machine", "other_work", "late_s")


def testbed_path(file: ScenarioFile) -> Path:
    """File of the testbed's verdicts on a scenario's claims."""
    return file.path.parent / TESTBED_FILE


def command(scenario: str, scale: str | None = None, repetitions: int = REPETITIONS) -> str:
    """The line that measures a figure's claims on real packets."""
    words = ["headway", "testbed", "reproduce", scenario]
    words += ["--scale", scale] if scale else []
    words += ["--repetitions", str(repetitions)] if repetitions != REPETITIONS else []
    return shlex.join([*words, "--out", f"out/testbed/{scenario}"])


def record(
    file: ScenarioFile,
    runs: RealRuns,
    run_file: ScenarioFile,
    results: Sequence[Result],
    scale: str | None,
    conditions: Mapping[str, Any],
) -> tuple[Path, int]:
    """Put verdicts of a figure on record in the place of its earlier ones, and say where and how many.

    What could not be measured is not kept. `conditions` says on which machine it was measured, and how.
    """
    path = testbed_path(file)
    judged = {result.claim.id for result in results}
    kept = {name: entry for name, entry in _read(path).items() if name not in judged}
    document = scenario_document(run_file.path)
    measured = [result for result in results if result.judgement.verdict is not Verdict.PENDING]
    for result in measured:
        judgement = result.judgement
        kept[result.claim.id] = {
            "arm": ARM,
            "verdict": str(judgement.verdict),
            "measured": judgement.measured,
            "range": judgement.range,
            "repetitions": judgement.seeds,
            "reason": judgement.reason,
            "scale": scale,
            "runs": runs.runs,
            "slowdown": runs.slowdown,
            **conditions,
            "version": version(),
            "digest": digest_of(runs, claim_digest(result.claim, document, scale)),
        }
    write_json(path, dict(sorted(kept.items())))
    return path, len(measured)


def recorded(claims: Sequence[Claim], scenarios: Mapping[str, ScenarioFile]) -> list[RealClaim | None]:
    """For each claim the testbed's entry on record, and the command that measures it; None for nothing."""
    entries, documents, tables = cache(_read), cache(scenario_document), cache(real_runs)

    def row(claim: Claim) -> RealClaim | None:
        file = scenarios.get(claim.scenario)
        entry = entries(testbed_path(file)).get(claim.id) if file is not None else None
        if file is None or entry is None:
            return None
        runs = tables(claim.scenario, file.claims)
        found = {key: entry.get(key) for key in ("arm", *KEPT, *HOW)}
        run_file = scenarios.get(runs.runs)
        document = documents(run_file.path) if run_file is not None else {}
        if entry.get("digest") != digest_of(runs, claim_digest(claim, document, entry.get("scale"))):
            reason = f"the claim, its scenario or how it is run has changed since; it was {entry.get('verdict')} before"
            found |= {"verdict": OUTDATED, "reason": reason}
        line = command(claim.scenario, entry.get("scale"), entry.get("repetitions") or REPETITIONS)
        return RealClaim(**found, command=line)

    return [row(claim) for claim in claims]


def _read(path: Path) -> dict[str, Any]:
    return read_record(path, "headway testbed reproduce")
