"""`headway import`: a scenario around a trace, which runs as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.cli.run import ahead
from support import Answer

Headway = Callable[..., Answer]
TRACES = Path(__file__).resolve().parents[2] / "workloads/traces"
SAMPLES = (
    "htsim/alltoall_serial_4c.cm",
    "htsim/butterfly_allreduce_16n.cm",
    "htsim/alltoall_multishot_16n.cm",
    "loggopsim/binary_tree_32.goal",
    "loggopsim/binary_tree_32.bin",
    "astra-sim/all_reduce.0.et",
    "astra-sim/all_to_all.3.et",
)


@pytest.mark.parametrize("sample", SAMPLES)
def test_what_is_written_runs(headway: Headway, sample: str, tmp_path: Path) -> None:
    out = tmp_path / "scenario.toml"
    answer = headway("import", TRACES / sample, "--out", out)
    assert (answer.status, answer.out) == (0, ""), answer.err
    run = package.Scenario.load(out).run()
    assert run.summary["flows_unfinished"] == 0
    (job,) = run.summary["jobs"]
    assert job["kind"] == "trace"
    assert job["bound_s"] <= job["completion_s"]
    again = headway("import", TRACES / sample, "--out", out)
    assert again.status == 2
    assert "--force" in again.err


def test_failed_links_are_faults_and_what_has_no_effect_is_said(headway: Headway, tmp_path: Path) -> None:
    matrix = tmp_path / "failed.cm"
    matrix.write_text(
        "Nodes 16\nConnections 1\nFailures 1\n0->15 id 1 start 0 size 90000 prio 3\n"
        "failure switch_type AGG switch_id 0 link_id 1\n"
    )
    out = tmp_path / "deep/scenario.toml"
    out.parent.mkdir()
    answer = headway("import", matrix, "--out", out)
    assert answer.status == 0
    assert "`prio`" not in answer.err
    text = out.read_text(encoding="utf-8")
    assert 'path = "../failed.cm"' in text
    run = package.Scenario.load(out).run()
    used = {row["name"]: row["dequeued"] for row in run.links.to_polars().to_dicts()}
    assert used["agg0.0->core1"] == 0
    assert used["agg0.0->core0"] > 0


def test_an_order_is_kept_or_a_warning_says_that_it_is_not(headway: Headway, tmp_path: Path) -> None:
    out = tmp_path / "scenario.toml"
    answer = headway("import", TRACES / "htsim/alltoall_prio_16n.cm", "--out", out)
    # NDP pulls by it, and others do not.
    assert "`prio`" not in answer.err + headway("check", out).err
    other = headway("check", out, "--set", "transport.name=dctcp").err
    assert "`prio` of lines 4 to 243 has no effect: `dctcp` does not order messages by it, as `ndp` does" in other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.goal"], "cannot read"),
        ([str(TRACES / "README.md")], "this is no file that Headway knows; it is not a "),
        ([str(TRACES / "README.md"), "--format", "goal"], "is neither `num_ranks` nor `rank`"),
        ([str(TRACES / "README.md"), "--format", "chakra"], "README.md, byte 1"),
        (
            [str(TRACES / "htsim/alltoall_serial_4c.cm"), "--format", "goal"],
            "this is a connection matrix of htsim, and not a binary GOAL schedule",
        ),
        (
            [str(TRACES / "simai/microAllReduce.txt"), "--format", "hpcc"],
            "this is a workload of SimAI, and not a flow list",
        ),
        ([str(TRACES / "loggopsim/binary_tree_32.goal"), "--ranks", "4"], "key `--ranks` has no effect"),
        (
            [str(TRACES / "loggopsim/binary_tree_32.goal"), "--format", "gaol"],
            "'cm', 'goal', 'chakra', 'simai', 'hpcc'",
        ),
    ],
)
def test_mistakes(headway: Headway, arguments: list[str], message: str) -> None:
    answer = headway("import", *arguments)
    assert answer.status == 2
    assert message in " ".join(answer.err.split())
    assert answer.out == ""


def test_a_trace_that_is_cut_off_is_refused_at_its_byte(headway: Headway, tmp_path: Path) -> None:
    whole = (TRACES / "astra-sim/all_reduce.0.et").read_bytes()
    for rank in range(2):
        (tmp_path / f"cut.{rank}.et").write_bytes(whole if rank == 0 else whole[:-5])
    answer = headway("import", tmp_path / "cut.0.et")
    assert answer.status == 2
    assert "cut.1.et, byte 8" in answer.err
    assert "a message of 72 B begins here, and 67 B are left" in answer.err


def test_groups_are_printed_with_their_ranks(headway: Headway, tmp_path: Path) -> None:
    answer = headway("import", TRACES / "astra-sim/all_reduce.0.et", "--out", tmp_path / "scenario.toml")
    assert answer.status == 0
    assert "group of ranks 0 to 7\n" in answer.err


def test_a_flow_list_runs_on_the_topology_beside_it(headway: Headway, tmp_path: Path) -> None:
    # The switch is node 0, as in HPCC's own topology.
    (tmp_path / "topology.txt").write_text(
        "3 1 2\n0\n0 1 10000000000.0 1us 0\n0 2 10000000000.0 1us 0\n\nFirst line: nodes\n"
    )
    (tmp_path / "flow.txt").write_text("1\n2 1 3 100 1000000 0.001\n2 1 3 100 1 2\n\nFirst line: # of flows\n")
    out = tmp_path / "scenario.toml"
    answer = headway("import", tmp_path / "topology.txt", tmp_path / "flow.txt", "--out", out)
    assert (answer.status, answer.out) == (0, ""), answer.err
    assert "1 line of numbers behind the 1 flow that it promises" in answer.err
    (flow,) = package.Scenario.load(out).run().flows.to_polars().to_dicts()
    assert (flow["src"], flow["dst"], flow["bytes"]) == (1, 0, 1_000_000)
    shown = headway("show", out).out
    assert "slowest link 10 Gb/s" in shown


def test_show_prints_the_slowest_link_of_the_path_and_the_mean_of_sizes(headway: Headway, tmp_path: Path) -> None:
    (tmp_path / "solar.txt").write_text("0 0\n4095 0.001\n4096 30.0\n65535 60.0\n65536 95.0\n262144 100.0\n")
    scenario = tmp_path / "slow.toml"
    scenario.write_text(
        '[topology]\nkind = "dumbbell"\nsenders = 1\nreceivers = 1\nrate = "10 Gbps"\nbottleneck_rate = "1 Gbps"\n'
        'delay = "1 us"\n'
        '[transport]\nname = "dctcp"\n[[traffic]]\nkind = "flows"\nflows = [{src=0,dst=1,bytes="1 MB"}]\n'
        '[[traffic]]\nkind = "poisson"\ncdf = "solar.txt"\nload = 0.01\nflows = 3\n'
    )
    shown = headway("show", scenario)
    assert shown.status == 0, shown.err
    assert "slowest link 1 Gb/s, bandwidth-delay product 2.56 kB, 1.75 packets" in shown.out
    assert "sizes of `solar.txt`: mean " in shown.out
    assert "by straight lines; by steps it would be " in shown.out


def test_variants_with_other_pairs_have_their_own_path(headway: Headway, tmp_path: Path) -> None:
    scenario = tmp_path / "far.toml"
    scenario.write_text(
        '[topology]\nkind = "leaf-spine"\nracks = 2\nhosts_per_rack = 2\nspines = 1\nhost_rate = "10 Gbps"\n'
        'host_delay = "1 us"\n'
        '[transport]\nname = "dctcp"\n[[traffic]]\nkind = "flows"\nflows = [{src=0,dst=1,bytes="1 MB"}]\n'
        '[variants.near]\n[variants.far]\n"traffic.0.flows.0.dst" = 2\n'
    )
    checked = headway("check", scenario).out
    assert "5.36 packets" in checked
    assert "10.7 packets" in checked


def test_a_workload_that_is_too_large_lets_one_group_stand_for_all_and_says_how_long(
    headway: Headway, tmp_path: Path
) -> None:
    layer = "l -1 1000 ALLREDUCE 80000000 1000 ALLREDUCE 80000000 1000 NONE 0 100\n"
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 pp: 2 all_gpus: 1024\n700\n"
    (tmp_path / "large.txt").write_text(head + 700 * layer)
    out = tmp_path / "scenario.toml"
    answer = headway("import", tmp_path / "large.txt", "--out", out)
    assert answer.status == 0, answer.err
    assert "each collective is done by the group of rank 0 for all groups of its kind" in answer.err
    assert 'equal_groups = "one"\n' in out.read_text(encoding="utf-8")
    refused = headway("check", out, "--set", "traffic.0.equal_groups=each")
    assert refused.status == 2
    assert "700 layers of 1024 ranks make " in refused.err
    assert "`all_gpus: " in refused.err
    answer = headway("run", out, "--set", 'stop="1 us"')
    assert answer.status == 0, answer.err
    assert "packet-hops, about " in ahead("large", package.Scenario.load(out))
    assert ahead("short", package.Scenario.load(out, sets=['stop="1 us"'])) == ""
