"""Checks by the history of the repository that the expectation of a scenario is older than its result.

    .venv/bin/python tools/foretold.py [FOLDER ...]

It looks at every claim with a verdict in FOLDER/verdicts.json (scenarios/clusters if none is named). In the commit
before the first one that has a verdict on the claim, FOLDER/claims.toml must expect the same, measured in the same
way, as now. A claim that could not be measured counts as without a verdict. The program prints each claim that fails
and how many hold, and exits with 1 if one fails, and with 2 where there is nothing to look at: no history, no such
folder, or a ledger that is not readable.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headway.claims.ledger import Claim, load_ledger
from headway.claims.verdict import Verdict
from headway.errors import HeadwayError

FOLDERS = ("scenarios/clusters",)
CLAIMS, VERDICTS = "claims.toml", "verdicts.json"


class NoHistoryError(Exception):
    """The history is missing, or only its end is there."""


def main(words: Sequence[str]) -> int:
    """Print the expectations that are younger than their verdicts; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="tools/foretold.py",
        description="Checks by the history of the repository that expectations are older than their verdicts.",
    )
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help=f"default: {', '.join(FOLDERS)}")
    root, found = Path.cwd(), 0
    for folder in parser.parse_args(words).folders or FOLDERS:
        try:
            lines = younger(root, folder)
            judged = len(_judged((root / folder / VERDICTS).read_text(encoding="utf-8")))
        except NoHistoryError as error:
            print(error, file=sys.stderr)
            return 2
        except OSError as error:
            print(f"{error.filename}: {error.strerror}; FOLDER holds {CLAIMS} and {VERDICTS}", file=sys.stderr)
            return 2
        except HeadwayError as error:
            print(f"{folder}, now or in its history: {error}", file=sys.stderr)
            return 2
        found += len(lines)
        for line in lines:
            print(line)
        print(f"{folder}: {judged - len(lines)} of {judged} expectations are older than their verdicts")
    return 1 if found else 0


def younger(root: Path, folder: str) -> list[str]:
    """A line for each claim of a folder whose expectation is not older than its verdict."""
    if _git(root, "rev-parse", "--is-shallow-repository").strip() != "false":
        raise NoHistoryError("only the end of the history is here: git fetch --unshallow")
    claims = f"{folder}/{CLAIMS}"
    now = _expected((root / claims).read_text(encoding="utf-8"))
    judged = _judged((root / folder / VERDICTS).read_text(encoding="utf-8"))
    first: dict[str, str] = {}
    for commit in _git(root, "log", "--format=%H", "--reverse", "--topo-order", "--", f"{folder}/{VERDICTS}").split():
        for claim in _judged(_at(root, commit, f"{folder}/{VERDICTS}")):
            first.setdefault(claim, commit)
    # A verdict that is in no commit yet will be in the next.
    before = {claim: f"{first[claim]}^" if claim in first else "HEAD" for claim in judged}

    @cache
    def at(commit: str) -> Mapping[str, Any]:
        return _expected(_at(root, commit, claims))

    lines = []
    for claim in sorted(judged):
        then = at(before[claim]).get(claim)
        if claim not in now:
            lines.append(f"{claim}: {folder}/{VERDICTS} has a verdict, {CLAIMS} no such claim")
        elif then is None:
            lines.append(f"{claim}: it has a verdict, and was not expected before ({before[claim]})")
        elif then != now[claim]:
            lines.append(f"{claim}: it expects something else now than before its verdict ({before[claim]})")
    return lines


def _expected(text: str) -> dict[str, Any]:
    """By claim, the expectation and its measure; empty without a ledger."""
    if not text:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / CLAIMS
        path.write_text(text, encoding="utf-8")
        return {claim.id: _facts(claim) for claim in load_ledger(path)}


def _facts(claim: Claim) -> list[Any]:
    expressions = [claim.measure, claim.holds, claim.direction]
    spelt_out = [one.spelt_out() if one else [] for one in expressions]
    return [claim.published_facts(), claim.variant, dict(claim.at or {}), spelt_out]


def _judged(text: str) -> set[str]:
    entries = json.loads(text) if text else {}
    return {claim for claim, entry in entries.items() if entry["verdict"] != str(Verdict.PENDING)}


def _at(root: Path, commit: str, path: str) -> str:
    """A file as it was; empty if it was not there."""
    done = subprocess.run(["git", "show", f"{commit}:{path}"], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NoHistoryError("git is not installed") from error
    if done.returncode != 0:
        raise NoHistoryError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
