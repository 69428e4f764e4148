"""Reading the quantities that scenarios write as text, such as "4 us", "200 kB", "128 packets" or "10 Gbps"."""

from __future__ import annotations

import re

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_BYTES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1048576.0}
_RATE = {f"{prefix}{unit}": size for prefix, size in _PREFIXES.items() for unit in ("bps", "b/s", "bit/s")}
_QUANTITY = re.compile(r"^\s*([0-9.eE+-]+)\s*([A-Za-zµ/]+)\s*$")


def parse_seconds(value: object) -> float | None:
    """Seconds in a scenario value such as "4 us"; None if it is absent or no time."""
    return _parse(value, _TIME)


def parse_bytes(value: object, frame_bytes: float = 1538.0) -> float | None:
    """Bytes in a scenario value such as "200 kB", "128 packets" (of `frame_bytes` each) or 1460."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return _parse(value, {**_BYTES, "packets": frame_bytes, "packet": frame_bytes})


def parse_rate(value: object) -> float | None:
    """Bits per second in a scenario value such as "10 Gbps"; a bare number is taken as it is."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return _parse(value, _RATE)


def parse_any(value: object) -> tuple[float, str] | None:
    """A scenario's number, with what it is a number of: "5 MB" is (5e6, "bytes"), 0.7 is (0.7, "ratio")."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value), "ratio"
    kinds = {"time": _TIME, "bytes": _BYTES, "rate": _RATE, "count": {"packets": 1.0, "packet": 1.0}}
    parsed = ((_parse(value, units), kind) for kind, units in kinds.items())
    return next(((number, kind) for number, kind in parsed if number is not None), None)


def _parse(value: object, units: dict[str, float]) -> float | None:
    if not isinstance(value, str) or not (match := _QUANTITY.match(value)):
        return None
    try:
        return float(match[1]) * units[match[2]]
    except (ValueError, KeyError):
        return None
