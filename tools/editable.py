"""Install the package from this folder into the environment that runs this, with a native module that is built already.

    tools/editable.py target/debug

maturin would build the module by a cargo call of its own, whose dependencies have other features than those of the
tests, and so compile most of them a second time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def main() -> int:
    """Copy the module to its place, and install the link to it; returns the exit status."""
    (built,) = sys.argv[1:]
    names = ["lib_headway.so", "lib_headway.dylib"]
    library = next((Path(built, name) for name in names if Path(built, name).exists()), None)
    if library is None:
        print(f"{built} holds none of {', '.join(names)}: build the crate headway-python first", file=sys.stderr)
        return 1
    place = REPOSITORY / "python/headway/_headway.abi3.so"
    # A process that has loaded the old module keeps it.
    fresh = place.with_suffix(".new")
    shutil.copyfile(library, fresh)
    fresh.replace(place)
    with tempfile.TemporaryDirectory() as folder:
        wheel = pack(Path(folder))
        uv = Path(sysconfig.get_path("scripts")) / "uv"
        arguments = ["pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel)]
        if uv.exists():
            command = [str(uv), *arguments, "--python", sys.executable, "--no-cache"]
        else:
            command = [sys.executable, "-m", *arguments, "--disable-pip-version-check"]
        installed = subprocess.run(command, check=False, env={**os.environ, "UV_OFFLINE": "1"}).returncode
    return installed or subprocess.run([sys.executable, REPOSITORY / "tools/stubs.py"], check=False).returncode


def pack(folder: Path) -> Path:
    """A wheel that holds only the way to this folder, the command line and the metadata."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"], project["version"]
    info = f"{name}-{version}.dist-info"
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {one}" for one in project["dependencies"]),
    ]
    scripts = [f"{script} = {function}" for script, function in project["scripts"].items()]
    files = {
        f"{name}.pth": str(REPOSITORY / "python"),
        f"{info}/METADATA": "\n".join(metadata),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tools/editable.py\nRoot-Is-Purelib: true\nTag: py3-none-any",
        f"{info}/entry_points.txt": "\n".join(["[console_scripts]", *scripts]),
    }
    files[f"{info}/RECORD"] = "\n".join(f"{path},," for path in [*files, f"{info}/RECORD"])
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, f"{text}\n")
    return wheel


if __name__ == "__main__":
    sys.exit(main())
