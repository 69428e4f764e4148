"""Build the wheel by a profile of real runs: what `make wheel PGO=1` does.

An instrumented module runs what `tools/pgo.txt` lists. The wheel is built by what was counted, into dist, and runs the
same again, by turns with a wheel that is built without: digests of all runs have to be equal, and the ratio of
processor time is printed.

    python tools/pgo.py [--out dist]

`llvm-profdata` of the compiler's own LLVM joins the counts: `rustup component add llvm-tools`, or LLVM_PROFDATA names
one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
WORK = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve() / "pgo"
LIST = REPOSITORY / "tools/pgo.txt"
SCENARIOS = REPOSITORY / "scenarios"
# A run of the longest takes seconds; instrumented on a busy machine, minutes.
LONGEST_S = 1800
# Number of times that both modules run the list, by turns.
ROUNDS = 3


def main() -> int:
    """Build, train, build again and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist")
    out = parser.parse_args().out
    profdata = joiner()
    if profdata is None:
        return 2
    shutil.rmtree(WORK, ignore_errors=True)
    counts = WORK / "counts"
    commands = training()
    print(f"{len(commands)} runs train the module")
    instrumented = module("instrumented", f"-Cprofile-generate={counts}")
    for command in commands:
        ran(instrumented, command, {"LLVM_PROFILE_FILE": str(counts / "%p-%m.profraw")})
    joined = WORK / "joined.profdata"
    raw = sorted(map(str, counts.glob("*.profraw")))
    subprocess.run([profdata, "merge", "-o", str(joined), *raw], check=True, timeout=LONGEST_S)
    plain = module("plain", "")
    trained = module("trained", f"-Cprofile-use={joined}", keep=out)
    ratios = []
    for _ in range(ROUNDS):
        before, expected = timed(plain, commands)
        after, digests = timed(trained, commands)
        ratios.append(after / before)
        different = [" ".join(c) for c, a, b in zip(commands, expected, digests, strict=True) if a != b]
        if different:
            print(f"the trained module has other results for: {', '.join(different)}", file=sys.stderr)
            return 1
    ratio = statistics.median(ratios)
    print(
        f"the same digests in {len(commands)} runs; processor time over that of the plain module: {ratio:.3f} "
        f"(median of {ROUNDS} rounds by turns, start-up of the command included)"
    )
    return 0


def joiner() -> str | None:
    """The `llvm-profdata` to use, of the compiler's version of LLVM."""
    about = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True, timeout=60).stdout
    version, host = (re.search(rf"^{key}: (\S+)", about, re.MULTILINE) for key in ("LLVM version", "host"))
    wanted = version[1].split(".")[0] if version else ""
    root = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True, timeout=60)
    own = Path(root.stdout.strip()) / f"lib/rustlib/{host[1] if host else ''}/bin/llvm-profdata"
    named = os.environ.get("LLVM_PROFDATA")
    for found in filter(None, (named, str(own) if own.exists() else None, shutil.which("llvm-profdata"))):
        printed = subprocess.run([found, "--version"], check=False, capture_output=True, text=True, timeout=60).stdout
        known = re.search(r"LLVM version (\d+)", printed)
        if known and known[1] == wanted:
            return found
        print(f"{found} is not of LLVM {wanted}", file=sys.stderr)
    print(
        f"llvm-profdata of LLVM {wanted} is missing: rustup component add llvm-tools, or set LLVM_PROFDATA",
        file=sys.stderr,
    )
    return None


def training() -> list[list[str]]:
    """The arguments of each run of the list."""
    WORK.mkdir(parents=True)
    variants = (SCENARIOS / "field/variants.toml").read_text("utf-8")
    found = []
    for line in LIST.read_text("utf-8").splitlines():
        name = line.partition("#")[0].strip()
        if not name:
            continue
        text = (SCENARIOS / f"{name}.toml").read_text("utf-8")
        if name.startswith("field/"):
            text += variants
        file = WORK / f"{name.replace('/', '-')}.toml"
        file.write_text(text, "utf-8")
        read = tomllib.loads(text)
        scale = ["--scale", "smoke"] if "smoke" in read.get("scale", {}) else []
        # One point of each variant.
        points = [["--variant", variant] for variant in read.get("variants", {})] or [[]]
        found += [[str(file), *scale, *point] for point in points]
    return found


def module(name: str, flags: str, keep: Path | None = None) -> Path:
    """A folder with the package, whose module is compiled with these flags; `keep` is where the wheel goes."""
    print(f"building the {name} module")
    wheels = keep or WORK / f"{name}-wheel"
    if keep:
        for former in keep.glob("*.whl"):
            former.unlink()
    environment = {**os.environ, "RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {flags}".strip()}
    environment["CARGO_TARGET_DIR"] = str(WORK / f"{name}-target")
    maturin = Path(sys.executable).with_name("maturin")
    build = [str(maturin), "build", "--profile", "wheel", "--quiet", "--out", str(wheels)]
    subprocess.run(build, cwd=REPOSITORY, env=environment, check=True)
    (wheel,) = wheels.glob("*.whl")
    folder = WORK / name
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def ran(package: Path, command: list[str], more: dict[str, str]) -> str:
    """Run a scenario with this package; the digest of its events."""
    out = WORK / "out"
    shutil.rmtree(out, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(package), "HEADWAY_STORE": "off", **more}
    asked = [sys.executable, "-m", "headway", "run", *command, "--out", str(out)]
    done = subprocess.run(asked, cwd=WORK, env=environment, capture_output=True, text=True, timeout=LONGEST_S)
    if done.returncode:
        sys.exit(f"{' '.join(asked)}\n{done.stdout}{done.stderr}")
    (manifest,) = out.rglob("manifest.json")
    digest = json.loads(manifest.read_text("utf-8"))["order_digest"]
    return str(digest)


def timed(package: Path, commands: list[list[str]]) -> tuple[float, list[str]]:
    """Seconds of the processor that all runs took, and their digests."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    digests = [ran(package, command, {}) for command in commands]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, digests


if __name__ == "__main__":
    sys.exit(main())
