"""Names of files and folders of results."""

from __future__ import annotations

MANIFEST_FILE = "manifest.json"
CHECKSUMS_FILE = "SHA256SUMS"
SWEEP_FILE = "sweep.json"
SCENARIO_FILE = "scenario.json"
POINT_FILE = "point.json"
POINTS = "points"

# The manifest first: a directory without it is not taken for a finished run.
RUN_FILES = (
    MANIFEST_FILE,
    CHECKSUMS_FILE,
    "summary.json",
    "flows.parquet",
    "flows.csv",
    "links.parquet",
    "series.parquet",
    "steps.parquet",
    "edges.parquet",
)
LOCKS = ".locks"
# Scenarios that came from no file, each in a folder of its own.
SCENARIOS = "scenarios"
TASKS = ".tasks"
PARTIAL = ".partial"
CLAIMS_FILE = "claims.json"
EXPECTATIONS_FILE = "expectations.json"
REPORT_FILE = "report.html"
BRIEF_FILE = "brief.html"
DRAWN = "figures"
DRAWN_FORMATS = (".svg", ".pdf", ".png", ".csv")
EXPLAIN_FILE = "explain.json"
READINGS_FILE = "readings.json"
# A run in the simulator next to the same one on real packets, and the sweeps by which `explain` searches.
SIMULATOR = "simulator"
SEARCH = "search"

# All that a directory of results may hold: of a run, of a sweep, and files made from them.
OF_RESULTS = frozenset(
    {
        *RUN_FILES,
        SWEEP_FILE,
        SCENARIO_FILE,
        POINT_FILE,
        POINTS,
        LOCKS,
        TASKS,
        SCENARIOS,
        CLAIMS_FILE,
        EXPECTATIONS_FILE,
        REPORT_FILE,
        BRIEF_FILE,
        DRAWN,
        EXPLAIN_FILE,
        READINGS_FILE,
        SIMULATOR,
        SEARCH,
    }
)

# The reading that changes nothing, in the results of `explain`.
AS_STATED = "as stated"
