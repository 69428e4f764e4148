"""Cycles of ASTRA-sim's microbenchmarks with Headway as the network, and with other back ends for comparison, as a
table.

    python microbenchmarks.py ASTRA_SIM HEADWAY_ASTRA [NAME=BINARY ...]

ASTRA_SIM is the folder of its sources, and each BINARY one that ASTRA-sim builds.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

OWN = Path(__file__).resolve().parent
COLLECTIVES = ["all_gather", "all_reduce", "all_to_all", "reduce_scatter"]
NPUS = [4, 8, 16]
TRANSPORTS = ["ndp", "homa", "dctcp"]


def cycles(command: list[str], npus: int) -> str:
    """Time at which the last NPU finished, or the reason why that is not known."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    finished = [int(number) for number in re.findall(r"finished, (\d+) cycles", ran.stdout)]
    if ran.returncode != 0 or len(finished) != npus:
        return f"failed ({len(finished)} of {npus} NPUs finished, status {ran.returncode})"
    return f"{max(finished):,}"


def main(astra_sim: Path, headway: Path, others: dict[str, Path]) -> None:
    """Prints the table."""
    examples = astra_sim / "examples"
    names = [*others, *(f"Headway, {name}" for name in TRANSPORTS)]
    print(f"| workload | NPUs | {' | '.join(names)} |")
    print(f"|---|---|{'---|' * len(names)}")
    for collective in COLLECTIVES:
        for npus in NPUS:
            common = [
                f"--workload-configuration={examples}/workload/microbenchmarks/{collective}/{npus}npus_1MB/{collective}",
                f"--system-configuration={examples}/system/native_collectives/Ring_4chunks.json",
                f"--remote-memory-configuration={examples}/remote_memory/analytical/no_memory_expansion.json",
            ]
            network = f"--network-configuration={examples}/network/analytical/Ring_{npus}npus.yml"
            row = [cycles([str(binary), *common, network], npus) for binary in others.values()]
            for transport in TRANSPORTS:
                own = [f"--scenario={OWN}/ring.toml", f"--npus={npus}", f"--set=topology.x={npus}"]
                command = [str(headway), *own, f"--set=transport.name={transport}", *common]
                row.append(cycles(command, npus))
            print(f"| {collective} | {npus} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    paths = dict(word.split("=", 1) for word in sys.argv[3:])
    main(
        Path(sys.argv[1]).resolve(),
        Path(sys.argv[2]).resolve(),
        {name: Path(path).resolve() for name, path in paths.items()},
    )
