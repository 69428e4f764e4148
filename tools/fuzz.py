"""Runs fuzz targets, and puts inputs that break them into the corpus.

    make fuzz                          every target for a minute
    make fuzz SECONDS=600              every target for ten minutes, as before a release
    make fuzz TARGETS='scenario cm'    these two

The fuzzer has a minute to shrink an input that breaks a target. The input is then copied to `fuzz/corpus/TARGET/`. The
ordinary tests replay it there: commit it together with the fix. Inputs that only reach new code stay in
`fuzz/target/found`, and the next run starts from them. The exit status is 1 if a target was broken.

This needs `cargo-fuzz` and the stable compiler. Only sanitizers need a nightly one; the targets check with assertions.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
SHRINK_S = 60
# An input that takes longer than this, or makes the target use more memory, counts as breaking it.
LONGEST_S = 20
MEMORY_MB = 2048
FLAGS = ("--sanitizer", "none", "--codegen-units", "16")


@dataclass
class Result:
    """Result of one target."""

    target: str
    seconds: float
    executions: int = 0
    coverage: int = 0
    corpus: int = 0
    found: list[Path] = field(default_factory=list)
    broken: str = ""


def targets() -> list[str]:
    """All targets, as the manifest lists them."""
    manifest = tomllib.loads((FUZZ / "Cargo.toml").read_text("utf-8"))
    return [str(target["name"]) for target in manifest["bin"]]


def last_number(pattern: str, text: str) -> int:
    """The last number that a pattern captures; 0 without one."""
    numbers = re.findall(pattern, text)
    return int(numbers[-1]) if numbers else 0


def cargo_fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    """Run cargo-fuzz, and keep its output."""
    return subprocess.run(
        ["cargo", "fuzz", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def shrink(target: str, broken: Path) -> Path:
    """The smallest input that still breaks the target and is found in a minute: a new file, or the input itself."""
    smaller = broken.with_name(f"{broken.name}.smaller")
    options = (f"-exact_artifact_path={smaller}", "-minimize_crash=1", f"-max_total_time={SHRINK_S}")
    limits = (f"-timeout={LONGEST_S}", f"-rss_limit_mb={MEMORY_MB}")
    cargo_fuzz("run", *FLAGS, target, str(broken), "--", *options, *limits)
    return smaller if smaller.is_file() and smaller.stat().st_size else broken


def add_to_corpus(target: str, broken: Path) -> Path:
    """Copy an input to the corpus under a name that its bytes decide."""
    name = f"found-{hashlib.sha256(broken.read_bytes()).hexdigest()[:12]}"
    return Path(shutil.copy(broken, FUZZ / "corpus" / target / name))


def fuzz(target: str, seconds: int) -> Result:
    """Run one target, and keep inputs that break it."""
    began = time.monotonic()
    found, artifacts = FUZZ / "target" / "found" / target, FUZZ / "artifacts" / target
    found.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(artifacts, ignore_errors=True)
    artifacts.mkdir(parents=True)
    # New inputs go into the first folder; the seeds of the repository are read only.
    folders = (str(found), str(FUZZ / "corpus" / target))
    limits = (f"-timeout={LONGEST_S}", f"-rss_limit_mb={MEMORY_MB}")
    ended = cargo_fuzz(
        "run", *FLAGS, target, *folders, "--", f"-max_total_time={seconds}", "-print_final_stats=1", *limits
    )
    result = Result(target, time.monotonic() - began)
    result.executions = last_number(r"stat::number_of_executed_units: +(\d+)", ended.stdout)
    result.coverage = last_number(r"\bcov: (\d+)", ended.stdout)
    result.corpus = last_number(r"\bcorp: (\d+)", ended.stdout)
    if ended.returncode != 0:
        result.broken = "\n".join(ended.stdout.splitlines()[-40:])
        # Only crashes can be shrunk. Units that are merely slow break nothing.
        crashes, others = sorted(artifacts.glob("crash-*")), [*artifacts.glob("timeout-*"), *artifacts.glob("oom-*")]
        result.found = [add_to_corpus(target, path) for path in [*(shrink(target, c) for c in crashes), *others]]
    return result


def main() -> int:
    """Build, run the targets one after the other, print a line for each."""
    parser = argparse.ArgumentParser(prog="fuzz.py", description="Runs fuzz targets.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(targets())}; without any, all")
    parser.add_argument("--seconds", type=int, default=60, help="how long each of them runs")
    options = parser.parse_args()
    if unknown := sorted(set(options.targets) - set(targets())):
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(targets())}")
    chosen = options.targets or targets()
    print("building the fuzz targets", flush=True)
    built = cargo_fuzz("build", *FLAGS, *(chosen if len(chosen) == 1 else ()))
    if built.returncode != 0:
        print(built.stdout, file=sys.stderr)
        return 1
    status = 0
    for target in chosen:
        result = fuzz(target, options.seconds)
        line = f"{target:<14} {result.executions:>10} executions in {result.seconds:.0f} s, coverage {result.coverage}"
        print(f"{line}, {result.corpus} inputs in use", flush=True)
        if result.broken:
            status = 1
            print(result.broken)
            for path in result.found:
                print(f"{target}: broken by {path.relative_to(ROOT)}, {path.stat().st_size} bytes", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
