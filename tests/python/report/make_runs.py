"""Results directories as the simulator writes them, made without it: fluid rates and random slowdowns, plus noise.

Only the report's tests use them. Numbers look like the real thing (units, spreads, file layout), and mean nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

FRAME, PAYLOAD = 1538, 1460
LINE_RATE = 10e9
STEP = 20e-6
FABRIC = {
    "discipline": "anti-ecn",
    "buffer": "128 packets",
    "payload": 1460,
    "header": 40,
    "framing": 38,
    "control": 84,
}
IDEAL = "sum over links of (first frame's serialisation + delay) + remaining frames on the slowest link"


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def manifest(scenario: dict[str, Any], seed: int, topology: dict[str, Any] | None, **more: object) -> dict[str, Any]:
    wall, hops = 0.42 + 0.01 * seed, 184_220 + 37 * seed
    record: dict[str, Any] = {
        "scenario": scenario,
        "version": "0.1.0",
        "commit": "5d2fee3",
        "seed": seed,
        "host": "lab1",
        "wall_s": wall,
        "virtual_s": 6e-3,
        "events": 3 * hops,
        "packet_hops": hops,
        "packet_hops_per_s": hops / wall,
        "order_digest": f"{0x9E3779B97F4A7C15 * (seed + 3) % 2**64:016x}",
        "warnings": [],
        "ideal_fct_formula": IDEAL,
    }
    if topology is not None:
        record["topology"] = topology
    return {**record, **more}


def flow_frame(rows: Sequence[dict[str, Any]], transport: str) -> pl.DataFrame:
    """flows.parquet with every column, from rows that only name the columns that differ."""
    schema = {
        "flow": pl.UInt32, "name": pl.String, "src": pl.UInt32, "dst": pl.UInt32, "class": pl.UInt8,
        "transport": pl.String, "bytes": pl.UInt64, "start_s": pl.Float64, "finish_s": pl.Float64, "fct_s": pl.Float64,
        "ideal_s": pl.Float64, "slowdown": pl.Float64, "retransmitted_bytes": pl.UInt64, "drops": pl.UInt64,
        "trims": pl.UInt64, "marks": pl.UInt64, "deadline_s": pl.Float64, "state": pl.String,
    }  # fmt: skip
    full = []
    for index, row in enumerate(rows):
        base: dict[str, Any] = {"flow": index, "name": f"f{index}", "class": 0, "transport": transport, "drops": 0}
        base |= {"trims": 0, "marks": 0, "retransmitted_bytes": 0, "deadline_s": None, "state": "done"}
        base |= row
        done = base["state"] == "done"
        fct = base.pop("fct", None)
        base["fct_s"] = fct if done else None
        base["finish_s"] = base["start_s"] + fct if done else None
        base["slowdown"] = fct / base["ideal_s"] if done else None
        full.append({key: base[key] for key in schema})
    return pl.DataFrame(full, schema=schema)


def link_frame(busy: dict[str, tuple[float, float]], drops: int = 0) -> pl.DataFrame:
    """links.parquet from {name: (rate, busy fraction)}."""
    return pl.DataFrame(
        {
            "name": list(busy),
            "rate_bps": [rate for rate, _ in busy.values()],
            "busy_fraction": [share for _, share in busy.values()],
            "goodput_bps": [rate * share * PAYLOAD / FRAME for rate, share in busy.values()],
            "drops_buffer": [drops for _ in busy],
            "trims": [0 for _ in busy],
            "marks": [int(1000 * share) for _, share in busy.values()],
            "queue_max_bytes": [int(40 * FRAME * share) for _, share in busy.values()],
            "queue_mean_bytes": [3.0 * FRAME * share for _, share in busy.values()],
        }
    )


def summarise(flows: pl.DataFrame, bottleneck: float, queue: float) -> dict[str, Any]:
    done = flows.filter(pl.col("state") == "done")
    fct, slowdown = done["fct_s"].to_numpy(), done["slowdown"].to_numpy()

    def q(values: np.ndarray, share: float) -> float | None:
        return float(np.quantile(values, share)) if len(values) else None

    return {
        "flows_done": done.height,
        "flows_unfinished": flows.height - done.height,
        "fct_mean_s": float(fct.mean()) if len(fct) else None,
        "fct_p50_s": q(fct, 0.5),
        "fct_p99_s": q(fct, 0.99),
        "slowdown_mean": float(slowdown.mean()) if len(fct) else None,
        "slowdown_p99": q(slowdown, 0.99),
        "by_size": [],
        "link_utilisation": bottleneck * 0.6,
        "bottleneck_utilisation": bottleneck,
        "queue_max_bytes": queue,
        "jain": 0.94,
        "deadline_missed_fraction": None,
        "drops": int(flows["drops"].sum()),
        "trims": 0,
        "marks": int(flows["marks"].sum()),
    }


def write_run(
    directory: Path,
    record: dict[str, Any],
    flows: pl.DataFrame,
    links: pl.DataFrame,
    series: pl.DataFrame,
    summary: dict[str, Any],
) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "manifest.json", record)
    write_json(directory / "summary.json", summary)
    flows.write_parquet(directory / "flows.parquet")
    links.write_parquet(directory / "links.parquet")
    series.write_parquet(directory / "series.parquet")


def series_frame(rows: Iterable[tuple[float, str, str, float]]) -> pl.DataFrame:
    schema = {"t_s": pl.Float64, "entity": pl.String, "metric": pl.String, "value": pl.Float64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


# ---- a parking lot with four flows, as in the motivation figure of the AMRT paper ----

PARKING_LOT = {
    "nodes": [
        *[{"name": f"s{i}", "kind": "switch", "tier": 1, "x": 0.14 + 0.36 * i, "y": 0.2} for i in range(3)],
        *[
            {"name": f"h{i}", "kind": "host", "tier": 0, "x": 0.06 + 0.18 * i - (i % 2) * 0.02, "y": 0.9}
            for i in range(6)
        ],
    ],
    "links": [
        *[{"a": f"h{i}", "b": f"s{i // 2}", "rate_bps": LINE_RATE, "delay_s": 5e-6} for i in range(6)],
        *[{"a": f"s{i}", "b": f"s{i + 1}", "rate_bps": LINE_RATE, "delay_s": 5e-6} for i in range(2)],
    ],
}
PATHS = {"f0": ("s0->s1", "s1->s2"), "f1": ("s0->s1",), "f2": ("s1->s2",), "f3": ("s1->s2",)}
ENDS = {"f0": (0, 4), "f1": (1, 2), "f2": (3, 5), "f3": (2, 4)}
STARTS = {"f0": 0.0, "f1": 0.0, "f2": 1e-3, "f3": 2.5e-3}


def parking_rates(transport: str, t: float) -> dict[str, float]:
    """Payload rates in Gb/s; pHost leaves the rate that f0 releases unused, AMRT fills it within a few round trips."""
    second = {"f2": 0.0, "f3": 0.0}
    if t < 1e-3:
        f0, since, free = 5.0, 0.0, 5.0
    elif t < 2.5e-3:
        f0, since, free = 3.33, 1e-3, 6.67
        second = {"f2": 6.67, "f3": 0.0}
    elif t < 4.6e-3:
        f0, since, free = 2.0, 2.5e-3, 8.0
        second = {"f2": 3.5, "f3": 4.5}
    else:
        return {"f0": 0.0, "f1": 10.0 if transport == "amrt" else 5.0, "f2": 0.0, "f3": 0.0}
    before = 5.0 if since <= 1e-3 else 6.67
    f1 = 5.0
    if transport == "amrt" and since:
        f1 = free - (free - before) * math.exp(-(t - since) / 120e-6)
    return {"f0": f0, "f1": f1, **second}


def parking_series(transport: str, rng: np.random.Generator, jump: float) -> list[tuple[float, str, str, float]]:
    rows: list[tuple[float, str, str, float]] = []
    for i in range(300):
        t = (i + 1) * STEP
        rates = parking_rates(transport, t - STEP / 2)
        used = {"s0->s1": 0.0, "s1->s2": 0.0}
        for name, gbps in rates.items():
            packets = gbps * 1e9 * STEP / 8 / FRAME
            counted = math.floor(packets + rng.uniform(0.3, 0.7)) if packets else 0
            rows.append((t, name, "throughput_bps", counted * PAYLOAD * 8 / STEP))
            for link in PATHS[name]:
                used[link] += gbps / 10
        for link, share in used.items():
            noise = float(rng.uniform(-0.01, 0.01)) if 0 < share < 0.99 else 0.0
            queue = max(0, int(rng.poisson(1.2 * share)) + int(jump * math.exp(-((t - 1.05e-3) ** 2) / 4e-8)))
            rows.append((t, link, "utilisation", min(1.0, share + noise)))
            rows.append((t, link, "queue_bytes", float(queue * FRAME)))
            rows.append((t, link, "queue_max_bytes", float((queue + 1) * FRAME) if share else 0.0))
    return rows


def parking_point(directory: Path, variant: str, transport: str, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed * 977 + len(variant))
    scenario = {
        "title": "Bandwidth left behind on a multi-bottleneck path",
        "description": "Four flows over two bottlenecks in a row. f0 crosses both; when f2 and f3 take its share of "
        "the second, somebody has to use what it leaves on the first.",
        "paper": "AMRT, TNSM 2022, Fig. 1",
        "name": "amrt/fig01-multi-bottleneck",
        "warmup": "0 s",
        "bottleneck": ["s0->s1", "s1->s2"],
        "fabric": FABRIC,
        "transport": {"name": transport, "policy": "arrival"} if transport == "phost" else {"name": transport},
        "start": {"mode": mode},
        "report": {"figure": "throughput-time"},
    }
    rates = parking_series(transport, rng, 90.0 if mode == "line-rate" else 0.0)
    sizes = {name: sum(v for _, e, m, v in rates if e == name and m == "throughput_bps") * STEP / 8 for name in PATHS}
    ends = {"f0": 4.6e-3, "f1": 5.6e-3, "f2": 4.6e-3, "f3": 4.6e-3}
    flows = []
    for name, start in STARTS.items():
        src, dst = ENDS[name]
        row: dict[str, Any] = {"name": name, "src": src, "dst": dst, "bytes": int(sizes[name]), "start_s": start}
        row |= {"ideal_s": 22e-6 + sizes[name] * 8 * FRAME / PAYLOAD / LINE_RATE, "marks": 240}
        if name == "f1" and transport == "phost":
            row["state"] = "unfinished"
        flows.append({**row, "fct": ends[name] - start})
    frame = flow_frame(flows, transport)
    busy = {f"h{i}->s{i // 2}": (LINE_RATE, share) for i, share in enumerate((0.3, 0.62, 0.41, 0.5, 0.0, 0.0))}
    busy |= {f"s{i // 2}->h{i}": (LINE_RATE, share) for i, share in enumerate((0.0, 0.0, 0.62, 0.0, 0.5, 0.41))}
    first = 0.98 if transport == "amrt" else 0.78
    busy |= {"s0->s1": (LINE_RATE, first), "s1->s2": (LINE_RATE, 0.93), "s1->s0": (LINE_RATE, 0.03)}
    record = manifest(scenario, seed, PARKING_LOT)
    write_run(directory, record, frame, link_frame(busy), series_frame(rates), summarise(frame, first, 52e3))


CLAIMS = [
    {
        "id": "amrt-fig1-phost-util-after-f2", "place": ["§III-A"], "metric": "utilisation",
        "unit": "percent, first bottleneck", "published": 83.3, "measured": 83.02, "ci95": [82.71, 83.33], "seeds": 3,
        "verdict": "reproduced", "reason": "83.0 is within 5 % of 83.3", "qualifier": "exact",
        "how": "mean utilisation of s0->s1 from 1.5 to 2.5 ms", "beside": {"phost-line-rate": 96.4, "amrt": 99.31},
    },
    {
        "id": "amrt-fig1-phost-util-after-f3", "place": ["§III-A"], "metric": "utilisation",
        "unit": "percent, first bottleneck", "published": 66, "measured": 70.2, "ci95": [69.8, 70.6],
        "seeds": 3, "qualifier": "about",
        "verdict": "direction-only",
        "reason": "the published value is the transient just after f3 starts; the steady state is 70 %",
    },
    {
        "id": "amrt-fig1-phost-f0-after-f2", "place": ["§III-A"], "metric": "throughput_bps", "unit": "Gb/s, flow f0",
        "published": 3.3, "measured": 3.31, "ci95": [3.26, 3.36], "seeds": 3, "verdict": "reproduced", "reason": "",
    },
    {
        "id": "amrt-fig1-phost-start", "place": ["§III-A"], "metric": "throughput_bps", "unit": "Gb/s each, f0 and f1",
        "published": 5.0, "measured": [5.02, 4.97], "ci95": [[5.0, 5.04], [4.95, 4.99]], "seeds": 3,
        "verdict": "reproduced", "reason": "both within 10 % of 5", "qualifier": "about",
    },
    {
        "id": "amrt-fig1-order", "place": ["§III-A"], "metric": "utilisation", "unit": "highest first",
        "published": ["amrt", "phost"], "measured": {"amrt": 0.993, "phost": 0.83}, "seeds": 3,
        "ci95": {"amrt": [0.991, 0.995], "phost": [0.827, 0.833]}, "verdict": "reproduced", "reason": "",
    },
    {
        "id": "amrt-fig1-phost-f1-flat", "place": ["§III-A"], "metric": "throughput_bps", "unit": "Gb/s",
        "published": "f1 stays at its initial rate (about 5 Gb/s) although f0 releases bandwidth",
        "measured": 5.01, "ci95": None, "seeds": 3, "verdict": "reproduced",
        "reason": "largest departure from 5 Gb/s is 4 %",
    },
    {
        "id": "amrt-fig1-phost-line-rate-loss", "place": ["§III-A", "§VIII-B"], "metric": "drops", "unit": "packets",
        "published": [10, 40], "measured": 0, "ci95": [0, 0], "seeds": 3, "verdict": "not-reproduced",
        "reason": "at a line-rate start one BDP a flow is in flight and the buffers hold it: nothing is lost by either",
    },
    {
        "id": "amrt-fig1-homa-util-after-f2", "place": ["§III-A"], "metric": "utilisation",
        "unit": "percent of the first bottleneck left unused", "published": 50, "measured": None, "ci95": None,
        "seeds": None, "verdict": "pending", "reason": "homa is not among the transports",
    },
]  # fmt: skip


EXPECTATIONS = [
    {
        "id": "expect-fig1-amrt-full", "place": ["AMRT §IV-A: gaps are filled"], "metric": "utilisation",
        "unit": "percent, first bottleneck", "published": 99, "measured": [99.4, 99.7], "qualifier": "over",
        "ci95": [[99.3, 99.5], [99.6, 99.8]], "seeds": 3, "verdict": "reproduced", "reason": "both over 99",
    },
]  # fmt: skip


def make_parking_lot(directory: Path, seeds: Sequence[int] = (1, 2, 3)) -> Path:
    """A reproduce directory: two transports, two kinds of start, three seeds, claims."""
    variants = [
        ("amrt", "amrt", "as-written"), ("phost-arrival", "phost", "as-written"),
        ("amrt-line-rate", "amrt", "line-rate"), ("phost-line-rate", "phost", "line-rate"),
    ]  # fmt: skip
    records = []
    for variant, transport, mode in variants:
        for seed in seeds:
            label = f"{variant},seed={seed}"
            parking_point(directory / "points" / label, variant, transport, mode, seed)
            record = {"label": label, "variant": variant, "axes": {}, "seed": seed, "digest": f"{seed:04x}"}
            records.append({**record, "dir": f"points/{label}", "state": "done"})
    write_json(directory / "sweep.json", records)
    write_json(directory / "claims.json", CLAIMS)
    write_json(directory / "expectations.json", EXPECTATIONS)
    return directory


# ---- a leaf-spine under Poisson arrivals ----

RACKS, SPINES, PER_RACK = 10, 8, 40


def leaf_spine() -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [
        {"name": f"spine{i}", "kind": "switch", "tier": 2, "x": (i + 0.5) / SPINES, "y": 0.1} for i in range(SPINES)
    ]
    links: list[dict[str, Any]] = []
    for rack in range(RACKS):
        x = (rack + 0.5) / RACKS
        nodes.append({"name": f"leaf{rack}", "kind": "switch", "tier": 1, "x": x, "y": 0.5})
        host = f"h{rack * PER_RACK}"
        nodes.append({"name": host, "kind": "host", "tier": 0, "x": x, "y": 0.9, "count": PER_RACK})
        links.append({"a": host, "b": f"leaf{rack}", "rate_bps": 100e9, "delay_s": 4e-6})
        links += [{"a": f"leaf{rack}", "b": f"spine{s}", "rate_bps": 100e9, "delay_s": 4e-6} for s in range(SPINES)]
    return {"nodes": nodes, "links": links}


def poisson_point(
    directory: Path, transport: str, workload: str, load: float, seed: int, count: int, unfinished: int = 0
) -> None:
    rng = np.random.default_rng(seed * 7919)
    spread = 2.2 if workload == "vl2_datamining" else 1.4
    sizes = np.clip(np.exp(rng.normal(10.3, spread, count)), 100, 3e8).astype(np.int64)
    starts = np.cumsum(rng.exponential(2e-6 / load, count))
    ideal = 17e-6 + sizes * 8 * FRAME / PAYLOAD / 100e9
    worse = {"amrt": 0.55, "phost": 1.0}.get(transport, 0.8)
    queueing = rng.gamma(1.2, worse * load / (1.05 - load) * 0.8, count)
    slowdown = 1.0 + queueing * (0.35 + 0.12 * np.log10(1.0 + sizes / 1e3))
    rows = [
        {
            "src": int(rng.integers(0, 400)), "dst": int(rng.integers(0, 400)), "bytes": int(sizes[i]),
            "start_s": float(starts[i]), "ideal_s": float(ideal[i]), "fct": float(ideal[i] * slowdown[i]),
            "drops": int(rng.random() < 0.02 * load), "marks": int(rng.integers(0, 9)),
            "state": "unfinished" if i >= count - unfinished else "done",
        }
        for i in range(count)
    ]  # fmt: skip
    frame = flow_frame(rows, transport)
    busy: dict[str, tuple[float, float]] = {}
    for host in range(RACKS * PER_RACK):
        for name in (f"h{host}->leaf{host // PER_RACK}", f"leaf{host // PER_RACK}->h{host}"):
            busy[name] = (100e9, float(np.clip(rng.normal(load / 5, 0.02), 0, 1)))
    for leaf in range(RACKS):
        for spine in range(SPINES):
            for name in (f"leaf{leaf}->spine{spine}", f"spine{spine}->leaf{leaf}"):
                busy[name] = (100e9, float(np.clip(rng.normal(load * (1.1 - 0.1 * worse), 0.06), 0, 1)))
    scenario = {
        "title": "Completion times under realistic load",
        "paper": "AMRT, TNSM 2022, Fig. 14",
        "name": "amrt/fig14-fct-load",
        "warmup": "50 us",
        "fabric": FABRIC,
        "transport": {"name": transport},
        "traffic": [{"kind": "poisson", "cdf": workload, "load": load}],
        "report": {"figure": "fct-load"},
    }
    record = manifest(scenario, seed, leaf_spine())
    write_run(directory, record, frame, link_frame(busy, 3), series_frame([]), summarise(frame, load, 190e3 * load))


def make_load_sweep(
    directory: Path,
    *,
    workloads: Sequence[str] = ("xpass_websearch", "vl2_datamining"),
    loads: Sequence[float] = (0.1, 0.3, 0.5, 0.7),
    seeds: Sequence[int] = (1, 2, 3),
    transports: Sequence[str] = ("amrt", "phost"),
    count: int = 600,
) -> Path:
    """A sweep directory; the last run of the last transport leaves three flows unfinished."""
    records: list[dict[str, Any]] = []
    for transport in transports:
        for workload in workloads:
            for load in loads:
                for seed in seeds:
                    label = f"{transport},cdf={workload},load={load},seed={seed}"
                    last = transport == transports[-1] and load == loads[-1] and seed == seeds[-1]
                    place = directory / "points" / label
                    poisson_point(place, transport, workload, load, seed, count, 3 if last else 0)
                    axes = {"traffic.0.load": load, "traffic.0.cdf": workload}
                    record = {"label": label, "variant": transport, "axes": axes, "seed": seed, "digest": "00"}
                    records.append({**record, "dir": f"points/{label}", "state": "done"})
    write_json(directory / "sweep.json", records)
    return directory


def make_single_run(directory: Path, count: int = 400) -> Path:
    """One run directory, without a stored topology and with nothing sampled."""
    poisson_point(directory, "amrt", "xpass_websearch", 0.5, 1, count, unfinished=2)
    path = directory / "manifest.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["topology"]
    record["warnings"] = ["the last 2 flows start 1 us before the end of the run"]
    write_json(path, record)
    return directory


def amrt_gains(capacity: float, ratio: float, size: float, t_r: float) -> dict[str, float]:
    """The model's gains for the tests of its figure, straight from equations 4 to 10."""
    rate = capacity * ratio
    ideal = size / capacity
    old = (size - capacity * t_r) / rate + t_r
    gains = {}
    for when, t in (("earliest", math.ceil((capacity - rate) / rate) + t_r), ("latest", capacity - rate + t_r)):
        new = (size - capacity * t_r - (rate + capacity) * (t - t_r) / 2) / capacity + t
        gains[f"u_gain_{when}"] = old / new
        gains[f"fct_gain_{when}"] = (old - ideal) / (new - ideal)
    return gains


def make_model(directory: Path) -> Path:
    """Results of a model scenario, without runs."""
    capacity = 1e9 * 100e-6 / 8 / 1500
    sizes = [100_000, 1_000_000, 10_000_000]
    model = {
        "name": "amrt-gain",
        "rate": "1 Gbps",
        "rtt": "100 us",
        "packet": 1500,
        "path_packets": capacity,
        "sizes": sizes,
        "sizes_packets": [size / 1500 for size in sizes],
        "rate_shares": [0.1, 0.9],
        "loss_shares": [0.0, 0.875],
        "fixed_rate_share": 0.5,
    }
    write_json(directory / "sweep.json", [])
    write_json(directory / "claims.json", [])
    write_json(directory / "scenario.json", {"title": "AMRT's model", "model": model, "report": {"figure": "model"}})
    return directory


if __name__ == "__main__":
    import sys

    target = Path(sys.argv[1])
    make_parking_lot(target / "parking")
    make_load_sweep(
        target / "sweep", workloads=("xpass_websearch", "vl2_datamining", "xpass_cachefollower"),
        loads=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), count=1500,
    )  # fmt: skip
    make_single_run(target / "single")
    make_model(target / "model")
