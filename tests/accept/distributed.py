"""Acceptance of sweeps on many machines: real Dask and Slurm daemons, and workers that are killed all the time.

    .venv/bin/python tests/accept/distributed.py dask|namespaces|shards|slurm [...] [--points N] [--kills N]

Each part prints what it measured, and ends with an error if a point was lost or recorded twice, or if anything differs
from the local run. `make accept-distributed` runs all of them, which takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from clusters import Recordings, dask, differences, has_slurm, namespaces, slurm, tiny_scenario, until
from headway.names import resolve
from headway.sweeps import plan
from headway.sweeps.capacity import cores
from headway.sweeps.worker import Finished, run_one

HEADWAY = [sys.executable, "-m", "headway"]
# Of the runs alone so many are timed.
TIMED = 500
# Milliseconds a point that handing out may add.
MOST_MS = 5.0
SEED = 18


def sweep(file: Path, out: Path, *options: str, environment: dict[str, str] | None = None) -> float:
    """Run a sweep by the command line; the seconds it took."""
    began = time.monotonic()
    command = [*HEADWAY, "sweep", str(file), "--out", str(out), *options]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    took = time.monotonic() - began
    assert done.returncode == 0, f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    print("   ", done.stdout.splitlines()[-4].strip())
    return took


def recorded_once(seen: Recordings, out: Path) -> None:
    """Every point is there, and the kernel saw each put in place once."""
    names = {path.name for path in (out / "points").iterdir()}
    assert not seen.missed, "the kernel's queue of events overflowed: nothing is proved"
    assert set(seen.times) == names, f"lost: {sorted(set(seen.times) ^ names)[:5]}"
    twice = {name: times for name, times in seen.times.items() if times != 1}
    assert not twice, f"recorded more than once: {twice}"
    print(f"    {len(names)} points, each put in place once")


def identical(local: Path, out: Path) -> None:
    """All documents and tables are those of the local run."""
    found = differences(local, out)
    assert not found, f"differ from the local run: {found[:5]}"
    print("    sweep.json, every table, summary and record are identical to the local run")


def alone(file: Path, folder: Path) -> float:
    """Processor seconds that the mean point takes in one process, with all that makes it a point of a sweep."""
    points = plan(resolve(str(file)), folder).points[:TIMED]
    (folder / "points").mkdir(parents=True)
    began = time.process_time()
    for point in points:
        assert isinstance(run_one(point, lambda _: None, lambda: False), Finished)
    took = time.process_time() - began
    shutil.rmtree(folder)
    return took / len(points)


def children_s() -> float:
    """Processor seconds of commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def part_dask(folder: Path, file: Path, local: Path, local_s: float, points: int, kills: int) -> None:
    """Four worker processes: once left in peace, for the overhead, and once killed at random times."""
    point_s = alone(file, folder / "alone")
    with dask(folder / "cluster", 4) as cluster:
        out = folder / "dask"
        before, commands = cluster.processor_s() + children_s(), children_s()
        with Recordings(out / "points") as seen:
            took = sweep(file, out, "--executor", f"dask:{cluster.address}")
        spent, command_s = cluster.processor_s() + children_s() - before, children_s() - commands
        recorded_once(seen, out)
        identical(local, out)
        over = 1e3 * (spent / points - point_s)
        print(
            f"    {took:.1f} s by the clock on {cores()} cores, {1e3 * took / points:.2f} ms a point; "
            f"the local run took {local_s:.1f} s\n"
            f"    processor time a point: {1e3 * spent / points:.2f} ms with scheduler, workers and command, "
            f"{1e3 * point_s:.2f} ms alone: {over:.2f} ms of overhead\n"
            f"    of the overhead {1e3 * command_s / points:.2f} ms are the command's own"
        )
        assert over <= MOST_MS, f"{over:.2f} ms a point are more than {MOST_MS}"
        out = folder / "killed"
        with Recordings(out / "points") as seen:
            began = time.monotonic()
            command = [*HEADWAY, "sweep", str(file), "--out", str(out), "--executor", f"dask:{cluster.address}"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            dead = kill_workers(cluster.workers, kills, lambda: process.poll() is None)
            said, _ = process.communicate()
            took = time.monotonic() - began
        assert process.returncode == 0, said
        print(f"    {dead} workers killed with SIGKILL while it ran, in {took:.1f} s")
        assert dead == kills, f"the sweep was through after {dead} kills"
        recorded_once(seen, out)
        identical(local, out)


def kill_workers(workers: Callable[[], list[int]], kills: int, goes_on: Callable[[], bool]) -> int:
    """Kill random workers at random times until so many are dead or the sweep has ended; returns the number of those
    that died."""
    chance = random.Random(SEED)
    dead = 0
    while dead < kills and goes_on():
        time.sleep(chance.expovariate(2.0))
        if (alive := workers()) and goes_on():
            os.kill(chance.choice(alive), signal.SIGKILL)
            dead += 1
    return dead


def part_namespaces(folder: Path, file: Path, local: Path, local_s: float, points: int, kills: int) -> None:
    """Workers in two network namespaces, which share nothing but a directory and the scheduler's address."""
    if os.geteuid() != 0:
        print("    skipped: needs root")
        return
    out = folder / "namespaces"
    with (
        namespaces(3) as machines,
        dask(folder / "cluster-ns", 0, machines[0][1], machines[0][0]) as cluster,
        Recordings(out / "points") as seen,
    ):
        for number, (prefix, _) in enumerate(machines[1:]):
            cluster.add_workers(2, folder / f"workers-{number}", prefix)
        command = [*machines[0][0], *HEADWAY, "sweep", str(file), "--out", str(out)]
        done = subprocess.run(
            [*command, "--executor", f"dask:{cluster.address}"], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    recorded_once(seen, out)
    identical(local, out)


def part_shards(folder: Path, file: Path, local: Path, local_s: float, points: int, kills: int) -> None:
    """Four commands with a shard each, one of which is killed and started again."""
    out = folder / "shards"
    with Recordings(out / "points") as seen:
        commands = [
            [*HEADWAY, "sweep", str(file), "--out", str(out), "--jobs", "1", "--shard", f"{k}/4"] for k in range(1, 5)
        ]
        began = time.monotonic()
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
        time.sleep(5.0 + points * 0.0005)
        running[2].kill()
        running[2].wait()
        running[2] = subprocess.Popen(commands[2], stdout=subprocess.DEVNULL)
        assert [process.wait() for process in running] == [0] * 4
    print(f"    4 shards in {time.monotonic() - began:.1f} s, one of them killed and started again")
    recorded_once(seen, out)
    identical(local, out)


# The command line with tasks of about a second, so that a short sweep is several arrays.
SHORT = (
    "from headway.sweeps.packing import Limits; from headway.sweeps.executors.slurm import ArrayLane;"
    "ArrayLane.limits = Limits(1.0, 1.0); from headway.cli.main import main; main()"
)


def part_slurm(folder: Path, file: Path, local: Path, local_s: float, points: int, kills: int) -> None:
    """Slurm's own daemons with a limit of 5 tasks an array."""
    if why := has_slurm():
        print(f"    skipped: {why}")
        return
    with slurm(folder / "slurm-daemons", 5) as environment:
        os.environ.update(environment)
        out = folder / "slurm"
        with Recordings(out / "points") as seen:
            took = sweep(file, out, "--executor", "slurm")
        print(f"    {took:.1f} s on Slurm's one node of 2 cores")
        recorded_once(seen, out)
        identical(local, out)
        longer = tiny_scenario(folder / "longer", 60, "300 MB", "3 s")
        sweep(longer, folder / "longer-local")
        slurm_goes_on(longer, folder / "longer-local", folder / "resumed")
        slurm_stops(longer, folder / "longer-local", folder / "stopped")


def start_short(file: Path, out: Path) -> subprocess.Popen[str]:
    """A sweep on Slurm in tasks of about a second."""
    command = [sys.executable, "-c", SHORT, "sweep", str(file), "--out", str(out), "--executor", "slurm"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def queue(state: str = "PENDING,RUNNING,COMPLETING") -> set[str]:
    """The tasks in Slurm's queue, by the name of their job."""
    command = ["squeue", "--noheader", "--array", f"--states={state}", "--format=%i %j"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[0] for line in lines if line.split()[1] == "headway-tiny"}


def slurm_goes_on(file: Path, local: Path, out: Path) -> None:
    """The command is killed, and a task is put back into the queue while it runs; the same command goes on."""
    with Recordings(out / "points") as seen:
        process = start_short(file, out)
        until(lambda: seen.times, "a point is there")
        process.kill()
        process.wait()
        left = queue()
        assert left, "Slurm has nothing left to do"
        process = start_short(file, out)
        requeued = ""
        while process.poll() is None and not requeued:
            running = sorted(queue("RUNNING"))
            if running and subprocess.run(["scontrol", "requeue", running[0]], check=False).returncode == 0:
                requeued = running[0]
        said, _ = process.communicate(timeout=300)
        assert process.returncode == 0, said
    assert requeued, "no task was running any more"
    assert "of an earlier command are still in Slurm's queue: they go on" in said, said
    print(
        f"    command killed with {len(left)} tasks in the queue, the next one went on with them; {requeued} requeued"
    )
    recorded_once(seen, out)
    identical(local, out)


def slurm_stops(file: Path, local: Path, out: Path) -> None:
    """Ctrl-C takes the command's jobs out of the queue, and no others."""
    command = ["sbatch", "--parsable", "--job-name=foreign", "--output=/dev/null", "--mem=100M", "--wrap=sleep 600"]
    foreign = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    with Recordings(out / "points") as seen:
        process = start_short(file, out)
        until(lambda: seen.times, "a point is there")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 130, said
        until(lambda: not queue(), "no task of the command is left", 30)
        state = ["squeue", "--noheader", "--format=%T", f"--jobs={foreign}"]
        assert subprocess.run(state, check=True, capture_output=True, text=True).stdout.strip() == "RUNNING"
        done = len(seen.times)
        process = start_short(file, out)
        said, _ = process.communicate(timeout=300)
        assert process.returncode == 0, said
    subprocess.run(["scancel", foreign], check=True)
    print(f"    Ctrl-C after {done} points emptied the queue but for a foreign job; the same command went on")
    recorded_once(seen, out)
    identical(local, out)


PARTS = {"dask": part_dask, "namespaces": part_namespaces, "shards": part_shards, "slurm": part_slurm}


def main() -> None:
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=100)
    arguments = parser.parse_args()
    os.environ["HEADWAY_STORE"] = "off"
    with tempfile.TemporaryDirectory(prefix="headway-accept-") as name:
        folder = Path(name)
        file = tiny_scenario(folder, arguments.points)
        print(f"local: {arguments.points} points")
        local_s = sweep(file, folder / "local")
        for part in arguments.parts or PARTS:
            print(f"{part}:")
            PARTS[part](folder, file, folder / "local", local_s, arguments.points, arguments.kills)
            for path in folder.iterdir():
                if path not in (file, folder / "local"):
                    shutil.rmtree(path)


if __name__ == "__main__":
    main()
