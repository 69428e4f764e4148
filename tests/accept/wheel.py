"""Steps of a user who has only the wheel: an empty environment, an empty folder, and the commands of the README.

`python tests/accept/wheel.py dist` tries the wheel there, and then one that is built from the sdist there, unoptimised.
It prints each command with the seconds that it took, and ends with status 1 at the first that fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# The commands, each with a word of its output.
COMMANDS = (
    (("--version",), "headway"),
    (("list", "figures"), "amrt/fig01-multi-bottleneck"),
    (("reproduce", "amrt/fig01"), "report: out/amrt/fig01-multi-bottleneck/report.html"),
    (("run", "examples/quickstart"), "500/500 flows done"),
    (("list", "claims", "amrt/fig01"), "reproduced"),
    (("docs",), "scenario-format"),
    (("show", "examples/quickstart"), "hosts"),
    (("new", "mine.toml"), "mine.toml"),
    (("run", "mine.toml", "--out", "out/mine"), "flows done"),
    (("report", "out/mine"), "report.html"),
    (("new", "other.toml", "--from", "examples/incast"), "other.toml"),
    (("check", "other.toml"), "ok"),
    (("completion", "bash"), "_HEADWAY_COMPLETE"),
)
LONGEST_S = 1800


def main(folder: Path) -> int:
    """Try the one wheel and the one sdist in `folder`."""
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    for package, more in ((wheel, {}), (sdist, {"MATURIN_PEP517_ARGS": "--profile dev"})):
        print(package.name, f"{package.stat().st_size / 1e6:.1f} MB")
        with tempfile.TemporaryDirectory(prefix="headway-accept-") as scratch:
            if not tried(package.resolve(), Path(scratch), more):
                return 1
    return 0


def tried(package: Path, scratch: Path, more: dict[str, str]) -> bool:
    """Install a package into an environment of its own and use it in a folder of its own; returns true if all of it
    worked."""
    environment = {key: value for key, value in os.environ.items() if key not in ("HEADWAY_SCENARIOS", "PYTHONPATH")}
    environment |= {"HEADWAY_STORE": "off", **more}
    environment.setdefault("CARGO_TARGET_DIR", str(REPOSITORY / "target" / "accept"))
    if package.suffix != ".whl":
        forget_own_crates(environment)
    began = time.monotonic()
    venv.create(scratch / "environment", with_pip=True)
    binaries = scratch / "environment" / "bin"
    pip = [str(binaries / "pip"), "install", "--quiet", "--disable-pip-version-check", str(package)]
    if subprocess.run(pip, env=environment, cwd=scratch, timeout=LONGEST_S, check=False).returncode:
        return False
    print(f"  pip install {package.name}: {time.monotonic() - began:.1f} s")
    work = scratch / "work"
    work.mkdir()
    for arguments, word in COMMANDS:
        began = time.monotonic()
        command = [str(binaries / "headway"), *arguments]
        done = subprocess.run(
            command, env=environment, cwd=work, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
        print(f"  headway {' '.join(arguments)}: {time.monotonic() - began:.1f} s", flush=True)
        if done.returncode or word not in done.stdout:
            print(f"status {done.returncode}; {word!r} was to be in it\n{done.stdout}{done.stderr}", file=sys.stderr)
            return False
    return True


def forget_own_crates(environment: dict[str, str]) -> None:
    """Keeps the builds of crates from registries, and none of this project.

    The files of an sdist are all of one old date, so that cargo would take what an earlier one was built to.
    """
    manifest = ["--manifest-path", str(REPOSITORY / "Cargo.toml")]
    told = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", *manifest],
        capture_output=True, text=True, check=True, timeout=LONGEST_S,
    )  # fmt: skip
    names = [name for package in json.loads(told.stdout)["packages"] for name in ("-p", package["name"])]
    subprocess.run(["cargo", "clean", "--quiet", *manifest, *names], env=environment, check=True, timeout=LONGEST_S)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
