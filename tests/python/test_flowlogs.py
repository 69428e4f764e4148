"""`headway import` of flow logs: forms as their writers document them, times, hosts, load, and what is left out."""

# ruff: noqa: E501  (lines of logs)

from __future__ import annotations

import gzip
from pathlib import Path

import polars
import pytest

import headway as package
from headway.errors import HeadwayError
from headway.flowlogs import FlowLog, import_log
from headway.flowlogs.reading import kind_of
from test_cli import Headway

# Examples of the default format in AWS's guide to VPC flow logs, with windows without data.
VPC = """\
2 123456789010 eni-1235b8ca123456789 172.31.16.139 172.31.16.21 20641 22 6 20 4249 1418530010 1418530070 ACCEPT OK
2 123456789010 eni-1235b8ca123456789 172.31.9.69 172.31.9.12 49761 3389 6 20 4249 1418530010 1418530070 REJECT OK
2 123456789010 eni-1235b8ca123456789 - - - - - - - 1431280876 1431280934 - NODATA
2 123456789010 eni-11111111aaaaaaaaa - - - - - - - 1431280876 1431280934 - SKIPDATA
"""
VPC_HEADER = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status\n"
NFDUMP_16 = (
    "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out,sas,das,smk,dmk,dtos,dir,nh,nhb,svln,dvln,ismc,odmc,idmc,"
    "osmc,mpls1,mpls2,mpls3,mpls4,mpls5,mpls6,mpls7,mpls8,mpls9,mpls10,cl,sl,al,ra,eng,exid,tr\n"
    f"2026-09-01 10:00:00,2026-09-01 10:00:05,5.000,10.0.2.20,10.0.3.30,51514,1433,TCP,.AP.SF,0,0,10,1200,8,64000{',0' * 33}\n"
    f"2026-09-01 10:00:02,2026-09-01 10:00:05,3.000,10.0.3.30,10.0.2.20,1433,51514,TCP,.AP.SF,0,0,8,0,0,0{',0' * 33}\n"
    "Summary\n"
    "flows,bytes,packets,avg_bps,avg_pps,avg_bpp\n"
    "2,65200,18,0,0,0\n"
)
NFDUMP_17 = (
    "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n"
    "2026-09-01 10:00:00.250,1.000,TCP,10.0.0.1,40000,10.0.1.1,443,10,15000,1\n"
    "2026-09-01 10:00:00.750,1.000,TCP,10.0.0.2,40000,10.0.1.1,443,10,25000,1\n"
)


def read(tmp_path: Path, text: str, **wish: object) -> tuple[FlowLog, list[tuple[int, int, int, str]]]:
    """The log as it was read, and the rows of its table."""
    file = tmp_path / "log.txt"
    file.write_text(text)
    log = import_log(file, tmp_path / "made.toml", **wish)
    rows = polars.read_csv(tmp_path / "made.flows.csv", comment_prefix="#", schema_overrides={"start_s": polars.String})
    return log, rows.select("src", "dst", "bytes", "start_s").rows()


@pytest.mark.parametrize("text", [VPC, VPC_HEADER + VPC])
def test_records_of_a_vpc(tmp_path: Path, text: str) -> None:
    log, rows = read(tmp_path, text)
    assert log.kind == "vpc"
    assert (log.records, log.left_out) == (4, {"NODATA or SKIPDATA": 2, "not ACCEPT": 1})
    assert rows == [(1, 0, 4249, "0.000000000")]


def test_both_ends_of_a_vpc_record_a_flow_once(tmp_path: Path) -> None:
    """The interface that saw more counts."""
    one = VPC.splitlines()[0]
    other = one.replace("eni-1235b8ca123456789", "eni-2").replace(" 4249 ", " 4000 ")
    log, rows = read(tmp_path, f"{one}\n{other}\n")
    assert log.left_out == {"recorded by another interface too": 1}
    assert [bytes_ for _, _, bytes_, _ in rows] == [4249]


def test_nfdump_as_1_6_prints_it(tmp_path: Path) -> None:
    """Bytes of both directions are two flows, and the summary is none."""
    log, rows = read(tmp_path, NFDUMP_16)
    assert log.kind == "nfdump"
    assert log.left_out == {"no address, as lines of a summary": 1, "no time that can be read": 2, "no byte": 1}
    assert sorted(rows) == [(0, 1, 1200, "0.000000000"), (1, 0, 64000, "0.000000000")]
    assert "both directions" in " ".join(log.notes)


def test_nfdump_as_1_7_prints_it(tmp_path: Path) -> None:
    log, rows = read(tmp_path, NFDUMP_17)
    assert (log.kind, log.racks, log.hosts) == ("nfdump", 2, 4)
    assert rows == [(0, 2, 15000, "0.000000000"), (1, 2, 25000, "0.500000000")]


@pytest.mark.parametrize(
    ("head", "first", "second", "apart"),
    [
        ("ts_us,src_ip,dst_ip,src_port,dst_port,bytes", "1764300000000000,10.0.0.1,10.0.0.2,1,2,700", "1764300000000001,10.0.0.2,10.0.0.1,1,2,700", "0.000001000"),
        ("ts,src,dst,bytes", "1764300000.000000,10.0.0.1,10.0.0.2,700", "1764300000.000000001,10.0.0.2,10.0.0.1,700", "0.000000001"),
        ("bytes;dst;src;timestamp", "700;10.0.0.2;10.0.0.1;1764300000123", "700;10.0.0.1;10.0.0.2;1764300000125", "0.002000000"),
        ("Time (ns),Source IP,Destination IP,Size (kB)", "5,10.0.0.1,10.0.0.2,0.7", "12,10.0.0.2,10.0.0.1,0.7", "0.000000007"),
        ("first_seen\tsaddr\tdaddr\toctets", "2026-01-01T10:00:00Z\t10.0.0.1\t10.0.0.2\t700", "2026-01-01T10:00:00.5Z\t10.0.0.2\t10.0.0.1\t700", "0.500000000"),
    ],
)  # fmt: skip
def test_columns_in_any_order_and_unit(tmp_path: Path, head: str, first: str, second: str, apart: str) -> None:
    log, rows = read(tmp_path, f"{head}\n{first}\n{second}\n")
    assert log.left_out == {}
    assert rows == [(0, 1, 700, "0.000000000"), (1, 0, 700, apart)]


def test_what_is_not_read_is_counted_by_its_reason(tmp_path: Path) -> None:
    text = (
        "ts_ms,src,dst,bytes\n5,10.0.0.1,10.0.0.2,700\nx,10.0.0.1,10.0.0.2,700\n6,10.0.0.1,10.0.0.2,many\n"
        "7,,10.0.0.2,700\n8,10.0.0.1,10.0.0.1,700\n9,10.0.0.1,10.0.0.2,0\n"
    )
    log, rows = read(tmp_path, text)
    assert log.records == 6
    assert log.left_out == {
        "no address, as lines of a summary": 1, "no byte": 1, "no number of bytes": 1, "no time that can be read": 1,
        "both ends on one host": 1,
    }  # fmt: skip
    assert len(rows) + sum(log.left_out.values()) == log.records


def test_a_time_of_unknown_unit_is_asked_for(tmp_path: Path) -> None:
    text = "ts,src,dst,bytes\n12,10.0.0.1,10.0.0.2,700\n13,10.0.0.1,10.0.0.2,700\n"
    with pytest.raises(HeadwayError, match="may count any unit"):
        read(tmp_path, text)
    _, rows = read(tmp_path, text, time_unit="ms")
    assert rows[1][3] == "0.001000000"


def a_log(count: int = 400) -> str:
    """Flows between 4 racks of 8."""
    rows = (
        f"{1_764_300_000_000 + i},10.0.{i % 4}.{i // 4 % 8 + 1},10.0.{(i + 1 + i // 32) % 4}.{i * 3 % 8 + 1},{1000 + i}"
        for i in range(count)
    )
    return "ts,src,dst,bytes\n" + "\n".join(rows) + "\n"


def test_addresses_become_hosts_by_prefix_by_hash_and_by_a_file(tmp_path: Path) -> None:
    log, _ = read(tmp_path, a_log())
    assert (log.racks, log.hosts) == (4, 32)
    fewer, rows = read(tmp_path, a_log(), hosts=16)
    assert (fewer.racks, fewer.hosts) == (4, 16)
    assert max(max(row[:2]) for row in rows) == 15
    assert "32 of 32 addresses share a host" in " ".join(fewer.notes)
    hashed, rows = read(tmp_path, a_log(), map="hash", hosts=10)
    assert max(max(row[:2]) for row in rows) < hashed.hosts == 10
    listed = tmp_path / "hosts.csv"
    listed.write_text("address,host\n10.0.0.0/24,0\n10.0.1.0/24,1\n10.0.2.3,7\n")
    by_file, rows = read(tmp_path, a_log(), map=str(listed))
    assert {row[0] for row in rows} | {row[1] for row in rows} <= {0, 1, 7}
    assert by_file.left_out["an address that the list of hosts lacks"] > 0
    with pytest.raises(HeadwayError, match=r"hosts.csv, line 2"):
        listed.write_text("10.0.0.1,3\n10.0.0.2,here\n")
        read(tmp_path, a_log(), map=str(listed))


def test_load_and_duration(tmp_path: Path) -> None:
    """A load stretches times; a duration draws pairs and sizes of the log, the same ones for a seed."""
    plain, rows = read(tmp_path, a_log())
    loaded, _ = read(tmp_path, a_log(), load=0.25)
    assert loaded.load["hosts, sending"]["mean"] == pytest.approx(0.25, rel=1e-3)
    assert loaded.duration_s < plain.duration_s
    longer, drawn = read(tmp_path, a_log(), duration="2 s")
    assert longer.duration_s == pytest.approx(2, rel=0.2)
    assert {row[:3] for row in drawn} <= {row[:3] for row in rows}
    assert longer.load["hosts, sending"]["mean"] == pytest.approx(plain.load["hosts, sending"]["mean"], rel=0.2)
    assert read(tmp_path, a_log(), duration="2 s")[1] == drawn
    assert read(tmp_path, a_log(), duration="2 s", seed=2)[1] != drawn


def test_what_is_written_runs(headway: Headway, tmp_path: Path) -> None:
    file = tmp_path / "log.csv.gz"
    file.write_bytes(gzip.compress(a_log().encode()))
    out = tmp_path / "made.toml"
    answer = headway("import", file, "--out", out)
    assert answer.status == 0, answer.err
    assert "400 records of a table of 5-tuples" in answer.out
    assert "load of hosts, sending: mean " in answer.out
    run = package.Scenario.load(out).run()
    assert run.summary["flows_done"] == run.summary["flows_measured"] == 400 - _to_itself(answer.out)
    assert "--force" in headway("import", file, "--out", out).err
    assert "--out is missing" in headway("import", file).err
    assert "is of flow logs" in headway("import", out.with_suffix(".flows.csv"), "--load", "0.5").err
    used = headway("import", file, "--out", out, "--ranks", "4", "--force")
    assert (used.status, "no effect on a flow log" in used.err) == (2, True)


def _to_itself(text: str) -> int:
    line = next((one for one in text.splitlines() if "both ends on one host" in one), "left out: 0 records")
    return int(line.split()[2].replace(",", ""))


def test_a_table_of_flows_is_no_log(tmp_path: Path) -> None:
    """And a log that is given as a table says what makes one of it."""
    table = tmp_path / "t.csv"
    table.write_text("id,src,dst,bytes,start_s\n0,0,1,100000,0\n")
    assert kind_of(table) is None
    log = tmp_path / "log.csv"
    log.write_text(a_log())
    network = '[topology]\nkind="single-switch"\nhosts=4\nrate="10 Gbps"\ndelay="1 us"\n[transport]\nname="dctcp"\n'
    text = f'{network}[[traffic]]\nkind = "file"\npath = "log.csv"\n'
    with pytest.raises(HeadwayError, match="this is a flow log, and not") as error:
        _load(tmp_path, text)
    assert "`headway import` makes a table of flows of it" in str(error.value)


def _load(folder: Path, text: str) -> None:
    file = folder / "s.toml"
    file.write_text(text)
    package.Scenario.load(file).run()
