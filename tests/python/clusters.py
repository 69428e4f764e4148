"""Real clusters for tests: Dask schedulers and workers, and Slurm's daemons, as processes that end with the test."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headway.data.reader import read_object
from lacking import absent
from support import LIMIT

TINY = """
title = "Two flows through one switch"
stop = "2 ms"

[topology]
kind = "single-switch"
hosts = 3
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "amrt"

[[traffic]]
kind = "flows"
flows = [
  { name = "f0", src = 0, dst = 2, bytes = "10 kB", start = "0 s" },
  { name = "f1", src = 1, dst = 2, bytes = "10 kB", start = "0 s" },
]

[variants.amrt]
"transport.name" = "amrt"

[variants.phost]
"transport.name" = "phost"

[sweep]
seeds = SEEDS
"""


def tiny_scenario(folder: Path, points: int, size: str = "10 kB", stop: str = "2 ms") -> Path:
    """A scenario with so many points, an even number; of milliseconds, unless its flows are larger."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny.toml"
    text = TINY.replace("SEEDS", str(points // 2)).replace("10 kB", size).replace("2 ms", stop)
    path.write_text(text, encoding="utf-8")
    return path


def until(condition: Callable[[], Any], what: str, limit: float = LIMIT) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit} s: {what}"
        time.sleep(0.02)


@dataclass
class Processes:
    """Processes in sessions of their own, which end together with their children."""

    log: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> int:
        """Start one, its output in the log."""
        with self.log.open("ab") as file:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
        self.running.append(process)
        return process.pid

    def stop(self) -> None:
        """Kill all of them, with all that they started."""
        for process in reversed(self.running):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.running:
            process.wait(LIMIT)


@dataclass
class Dask:
    """A scheduler and the programs that keep its workers."""

    processes: Processes
    address: str
    keepers: list[int] = field(default_factory=list)

    def add_workers(self, number: int, folder: Path, prefix: Sequence[str] = ()) -> None:
        """Start a program that keeps so many worker processes alive."""
        options = ["--nworkers", str(number), "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]
        program = [sys.executable, "-m", "dask", "worker", self.address, *options]
        self.keepers.append(self.processes.start([*prefix, *program]))

    def processor_s(self) -> float:
        """Processor time of all processes of the cluster that are alive."""
        pids = [process.pid for process in self.processes.running]
        return sum(map(processor_s, [*pids, *(child for pid in pids for child in children(pid))]))

    def workers(self) -> list[int]:
        """The process numbers of the workers that are alive."""
        return [child for keeper in self.keepers for child in children(keeper) if "spawn_main" in command_of(child)]


@contextmanager
def dask(
    folder: Path,
    workers: int,
    host: str = "127.0.0.1",
    prefix: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Dask]:
    """A scheduler on `host`, with so many worker processes of one thread each."""
    folder.mkdir(parents=True, exist_ok=True)
    processes = Processes(folder / "dask.log")
    told = folder / "scheduler.json"
    options = ["--host", host, "--port", "0", "--no-dashboard", "--scheduler-file", str(told)]
    try:
        processes.start([*prefix, sys.executable, "-m", "dask", "scheduler", *options], environment)
        until(told.exists, "the scheduler is ready")
        until(lambda: told.read_text("utf-8").strip().endswith("}"), "the scheduler says where it is")
        cluster = Dask(processes, str(read_object(told)["address"]))
        if workers:
            cluster.add_workers(workers, folder / "workers")
            until(lambda: len(cluster.workers()) == workers, "the workers are there")
        yield cluster
    finally:
        processes.stop()


def children(parent: int) -> list[int]:
    """The processes that a process and its threads started."""
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text("ascii").split())
    return found


def processor_s(process: int) -> float:
    """Seconds that a process has taken of processors."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def command_of(process: int) -> str:
    """Its command line; empty if it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""


IN_MOVED_TO, IN_NONBLOCK, IN_Q_OVERFLOW = 0x80, 0o4000, 0x4000
EVENT = struct.Struct("iIII")


class Recordings:
    """Files that the kernel sees put in place in a folder, by name: how often each point of a sweep was recorded."""

    def __init__(self, folder: Path) -> None:
        self.times: Counter[str] = Counter()
        self.missed = False
        self._folder = folder
        self._ends = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Recordings:
        self._folder.mkdir(parents=True, exist_ok=True)
        libc = ctypes.CDLL(None, use_errno=True)
        self._file = libc.inotify_init1(IN_NONBLOCK)
        watch = libc.inotify_add_watch(self._file, os.fsencode(self._folder), IN_MOVED_TO)
        assert self._file >= 0 and watch >= 0, os.strerror(ctypes.get_errno())
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._reader.join(LIMIT)
        self._take()
        os.close(self._file)

    def _read(self) -> None:
        while not self._ends.wait(0.01):
            self._take()

    def _take(self) -> None:
        while True:
            try:
                data = os.read(self._file, 1 << 20)
            except BlockingIOError:
                return
            while data:
                _, mask, _, length = EVENT.unpack_from(data)
                name = data[EVENT.size : EVENT.size + length].rstrip(b"\0").decode("utf-8")
                data = data[EVENT.size + length :]
                self.missed = self.missed or bool(mask & IN_Q_OVERFLOW)
                self.times[name] += bool(mask & IN_MOVED_TO)


# Facts of a manifest that say how a run was made, not what came out.
BY_THE_CLOCK = ("wall_s", "events_per_s", "packet_hops_per_s", "host")


def differences(one: Path, other: Path) -> list[str]:
    """Files of two sweeps of the same scenario whose contents differ, other than by the clock."""
    found = [] if (one / "sweep.json").read_bytes() == (other / "sweep.json").read_bytes() else ["sweep.json"]
    names = sorted(path.name for path in (one / "points").iterdir())
    if names != sorted(path.name for path in (other / "points").iterdir()):
        return [*found, "points"]
    for name in names:
        for file in ("flows.parquet", "links.parquet", "series.parquet", "summary.json", "point.json"):
            first, second = (out / "points" / name / file for out in (one, other))
            if first.read_bytes() != second.read_bytes():
                found.append(f"{name}/{file}")
        manifests = [json.loads((out / "points" / name / "manifest.json").read_text("utf-8")) for out in (one, other)]
        if len({json.dumps({k: v for k, v in m.items() if k not in BY_THE_CLOCK}) for m in manifests}) != 1:
            found.append(f"{name}/manifest.json")
    return found


def has_slurm() -> str:
    """Why Slurm's daemons cannot be started here; empty if they can."""
    if not all(map(shutil.which, ("munged", "slurmctld", "slurmd", "sbatch", "squeue"))):
        return absent("slurm", "apt install munge slurmctld slurmd slurm-client")
    return "" if os.geteuid() == 0 else absent("root", "Slurm's daemons start tasks for others")


def need_slurm() -> None:
    """Skip the test where they cannot be started."""
    if why := has_slurm():
        pytest.skip(why)


SLURM_CONF = """
ClusterName=headway
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MaxArraySize={limit}
KillWait=2
MinJobAge=10
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=6000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=60 State=UP
"""


@contextmanager
def slurm(folder: Path, array_limit: int) -> Iterator[dict[str, str]]:
    """Slurm's own daemons, with one node of two cores; gives the environment in which its commands find them."""
    folder.mkdir(parents=True, exist_ok=True)
    # Its authentication refuses a socket below a folder that others may write to.
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir(exist_ok=True)
    first = 20000 + os.getpid() % 20000
    host = os.uname().nodename.partition(".")[0]
    conf = SLURM_CONF.format(folder=folder, host=host, controller=first, node=first + 1, limit=array_limit)
    (folder / "slurm.conf").write_text(conf, encoding="utf-8")
    environment = {"SLURM_CONF": str(folder / "slurm.conf")}
    processes = Processes(folder / "daemons.log")
    try:
        names = ("key", "socket", "pid", "seed", "log")
        flags = [f"--{'socket' if name == 'socket' else name + '-file'}={folder / f'munge.{name}'}" for name in names]
        processes.start(["munged", "--foreground", "--force", *flags])
        until((folder / "munge.socket").exists, "munged answers")
        processes.start(["slurmctld", "-D"], environment)
        processes.start(["slurmd", "-D"], environment)
        until(lambda: "idle" in _said(["sinfo", "-h", "-o", "%T"], environment), "Slurm's node is idle")
        yield environment
    finally:
        # The processes of jobs end first: the daemon's own group does not contain them.
        subprocess.run(["scancel", "--signal=KILL", "--user=root"], env={**os.environ, **environment}, check=False)
        time.sleep(1.0)
        processes.stop()


def _said(command: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=LIMIT, env={**os.environ, **environment}
    )
    return done.stdout


@contextmanager
def namespaces(count: int) -> Iterator[list[tuple[list[str], str]]]:
    """Network namespaces on one bridge, as machines: the words that run a command in each, and its address."""
    mark = f"hw{os.getpid() % 100000}"
    names = [f"{mark}n{number}" for number in range(count)]
    net = f"10.{200 + os.getpid() % 50}.{os.getpid() % 250}"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True, timeout=LIMIT)

    try:
        ip("netns", "add", f"{mark}b")
        ip("-n", f"{mark}b", "link", "add", "bridge", "type", "bridge")
        ip("-n", f"{mark}b", "link", "set", "bridge", "up")
        for number, name in enumerate(names):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"p{number}", "netns", f"{mark}b")
            ip("-n", f"{mark}b", "link", "set", f"p{number}", "master", "bridge", "up")
            ip("-n", name, "addr", "add", f"{net}.{number + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield [(["ip", "netns", "exec", name], f"{net}.{number + 1}") for number, name in enumerate(names)]
    finally:
        for name in [*names, f"{mark}b"]:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=LIMIT)
