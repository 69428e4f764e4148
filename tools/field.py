"""Run all transports on all questions of `scenarios/field` and record the results, for `make field`.

Runs that `scenarios/field/measured.json` holds, of this version and epoch, are not made again. docs/field.md is made
from that record. If questions are named, only they are run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from headway.comparison.field import QUESTIONS, cases, run, section
from headway.comparison.field_record import RECORD_FILE, Record
from headway.data.machine import cores
from headway.data.units import wait
from headway.errors import HeadwayError

REPOSITORY = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run the requested questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(QUESTIONS))
    parser.add_argument("--out", type=Path, default=Path("out/field"))
    parser.add_argument("--scale", choices=("smoke",), help="small runs, to see that all is there")
    parser.add_argument("--jobs", type=int)
    asked = parser.parse_args()
    folder = REPOSITORY / "scenarios/field"
    began = time.monotonic()
    found = []
    record = Record(None if asked.scale else folder / RECORD_FILE)
    try:
        for question in asked.questions or QUESTIONS:
            runs = run(folder, question, asked.out, record, scale=asked.scale, jobs=asked.jobs)
            found += cases(folder, question, runs)
    except HeadwayError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows = sum(len(case.rows) for case in found)
    print(f"{rows} rows of {len(found)} cases in {wait(time.monotonic() - began)} on {cores()} cores")
    if not asked.questions:
        record.keep_asked()
    if asked.scale or asked.questions:
        print("\n".join(line for case in found for line in section(case)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
