"""From addresses to hosts: a rack for each prefix, by a list, or by a hash."""

from __future__ import annotations

import csv
import ipaddress
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError

HASH, PREFIX = "hash", "prefix"


@dataclass(frozen=True)
class Placed:
    """The host of each address, and the racks that they are in; `shared` counts addresses that share a host."""

    host_of: Mapping[str, int]
    racks: int
    hosts_per_rack: int
    shared: int
    how: str

    @property
    def hosts(self) -> int:
        """All hosts."""
        return self.racks * self.hosts_per_rack


def place(addresses: Sequence[str], how: str, *, prefix: int, racks: int | None, hosts: int | None) -> Placed:
    """Map addresses by `prefix`, by `hash`, or by the file that `how` names."""
    if how == PREFIX:
        return _by_prefix(addresses, prefix, racks, hosts)
    if how == HASH:
        return _by_hash(addresses, racks, hosts)
    return _by_file(addresses, Path(how), racks, hosts)


def _by_prefix(addresses: Sequence[str], prefix: int, racks: int | None, hosts: int | None) -> Placed:
    """A rack for each prefix, in their order; of fewer racks or hosts each stands for several."""
    groups: dict[object, list[str]] = {}
    for address in sorted(addresses, key=_order):
        groups.setdefault(_prefix(address, prefix), []).append(address)
    many = racks or len(groups)
    each = math.ceil(hosts / many) if hosts else max(map(len, groups.values()))
    host_of: dict[str, int] = {}
    taken = [0] * many
    for number, group in enumerate(groups.values()):
        for address in group:
            rack = number % many
            host_of[address] = rack * each + taken[rack] % each
            taken[rack] += 1
    return _placed(host_of, many, each, f"a rack for each /{prefix}")


def _by_hash(addresses: Sequence[str], racks: int | None, hosts: int | None) -> Placed:
    total = hosts or len(addresses)
    many = racks or max(1, math.ceil(total / 32))
    each = math.ceil(total / many)
    host_of = {address: zlib.crc32(address.encode()) % (many * each) for address in addresses}
    return _placed(host_of, many, each, "by a hash (CRC-32) of the address")


def _by_file(addresses: Sequence[str], path: Path, racks: int | None, hosts: int | None) -> Placed:
    """`address,host` or `prefix,host` a line; the longest prefix that an address is in decides."""
    listed = _listed(path)
    host_of = {address: host for address in addresses if (host := _host_in(listed, address)) is not None}
    if not host_of:
        raise HeadwayError(f"{path}: no address of the log is in it; it begins with `{next(iter(listed))}`")
    total = max(hosts or 0, max(host_of.values()) + 1)
    many = racks or max(1, math.ceil(total / 32))
    return _placed(host_of, many, math.ceil(total / many), f"by {path.name}")


def _listed(path: Path) -> dict[str, int]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise HeadwayError(f"{path}: {error}") from None
    listed: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if len(row) < 2 or not row[1].strip().isdecimal():
            if number == 1:
                continue  # a header
            raise HeadwayError(f"{path}, line {number}: write an address and the number of its host, as `10.0.0.7,12`")
        listed[row[0].strip()] = int(row[1])
    if not listed:
        raise HeadwayError(f"{path}: it has no line `ADDRESS,HOST`")
    return listed


def _host_in(listed: Mapping[str, int], address: str) -> int | None:
    if address in listed:
        return listed[address]
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return None
    for length in range(own.max_prefixlen, -1, -1):
        network = str(ipaddress.ip_network((own, length), strict=False))
        if network in listed:
            return listed[network]
    return None


def _prefix(address: str, length: int) -> object:
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return "names"
    # A rack of IPv6 is a /64 where one of IPv4 is a /24.
    own_length = length if own.version == 4 else min(length + 40, 128)
    return ipaddress.ip_network((own, min(own_length, own.max_prefixlen)), strict=False)


def _order(address: str) -> tuple[int, int, str]:
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return (0, int(address) if address.isdecimal() else 0, address)
    return (own.version, int(own), "")


def _placed(host_of: Mapping[str, int], racks: int, each: int, how: str) -> Placed:
    counts: dict[int, int] = {}
    for host in host_of.values():
        counts[host] = counts.get(host, 0) + 1
    shared = sum(count for count in counts.values() if count > 1)
    return Placed(host_of, racks, each, shared, how)
