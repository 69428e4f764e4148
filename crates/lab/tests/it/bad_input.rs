//! Errors about inputs name file, line, caret and the nearest name: the texts themselves.

#![allow(clippy::disallowed_methods, reason = "tests write temporary directories")]

use crate::common;

use common::{LEAF_SPINE, SMALL, fixtures, good, load};
use headway_lab::{Directory, LabError, Options, Request, ScenarioError, check_scenario, run_scenario};

/// The rendered diagnostic, with the folder of the fixtures cut off.
fn shown(error: &ScenarioError) -> String {
    error.render().replace(&format!("{}/", fixtures().display()), "")
}

#[track_caller]
fn wrong(text: &str, sets: &[&str]) -> String {
    match load(text, sets).and_then(|s| s.setup()?.resolve(s.seed)) {
        Ok(_) => panic!("nothing was wrong"),
        Err(error) => shown(&error),
    }
}

/// [`SMALL`] with one text replaced, which must occur.
fn edited(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    SMALL.replacen(from, to, 1)
}

macro_rules! snapshot {
    ($name:ident, $shown:expr) => {
        #[test]
        fn $name() {
            let shown = $shown;
            insta::with_settings!({ omit_expression => true }, {
                insta::assert_snapshot!(stringify!($name), shown);
            });
        }
    };
}

snapshot!(unknown_key, wrong(&edited("delay =", "dealy ="), &[]));
snapshot!(unknown_table, wrong(&format!("{SMALL}\n[smaple]\nevery = \"1 us\"\n"), &[]));
snapshot!(misspelt_optional_key, {
    wrong(&edited("delay = \"10 us\"", "delay = \"10 us\"\nbottelneck_rate = \"1 Gbps\""), &[])
});
snapshot!(unused_key, wrong(&edited("delay = \"10 us\"", "delay = \"10 us\"\nspines = 4"), &[]));
snapshot!(unknown_parameter, wrong(&edited("name = \"amrt\"", "name = \"amrt\"\nfair_mark = true"), &[]));
snapshot!(unused_parameter, {
    // The advice lists the parameters of the transport, which are not this test's business.
    let shown = wrong(&edited("name = \"amrt\"", "name = \"amrt\"\nmode = \"paced\""), &[]);
    shown.split("  help: it uses name,").next().map(str::to_string).unwrap_or_default()
});
snapshot!(
    parameter_out_of_range,
    wrong(&edited("name = \"amrt\"", "name = \"amrt\"\nloss_timeout = 0.0"), &[])
);
snapshot!(
    duration_out_of_range,
    wrong(&edited("name = \"amrt\"", "name = \"l2dct\"\ninitial_rto = \"3 ps\""), &[])
);
snapshot!(lossless_with_buffers_of_ports, {
    wrong(&format!("{SMALL}\n[fabric]\nbuffer = \"9 packets\"\n[fabric.pfc]\n"), &[])
});
snapshot!(lossless_without_memory, { wrong(&format!("{SMALL}\n[fabric.pfc]\nbuffer = \"10 kB\"\n"), &[]) });
snapshot!(memory_without_a_size, wrong(&format!("{SMALL}\n[fabric.memory]\nalpha = 1\n"), &[]));
snapshot!(
    memory_of_an_unknown_chip,
    wrong(&format!("{SMALL}\n[fabric.memory]\nchip = \"tomahawk9\"\n"), &[])
);
snapshot!(memory_smaller_than_its_reserves, {
    wrong(&format!("{SMALL}\n[fabric.memory]\nsize = \"10 kB\"\nreserve = \"9 kB\"\n"), &[])
});
snapshot!(memory_with_an_alpha_too_many, {
    wrong(&format!("{SMALL}\n[fabric.memory]\nsize = \"1 MB\"\nalphas = [1.0, 0.5]\n"), &[])
});
snapshot!(memory_of_lossless_switches, {
    wrong(&format!("{SMALL}\n[fabric.pfc]\n[fabric.memory]\nsize = \"1 MB\"\n"), &[])
});
snapshot!(threshold_in_bytes_without_a_unit, {
    wrong(&format!("{SMALL}\n[fabric]\ndiscipline = \"red-ecn\"\nkmin = 100\n"), &[])
});
snapshot!(volumes_of_another_program, {
    let text = SMALL.replace("kind = \"flows\"", "kind = \"external\"");
    let text = text.split("flows = [").next().unwrap_or_default();
    wrong(&format!("{text}\n[sample]\nvolumes = true\n"), &[])
});
snapshot!(
    lossless_with_costs,
    wrong(&format!("{SMALL}\n[fabric.pfc]\n[hosts]\npacket_cost = \"1 us\"\n"), &[])
);
snapshot!(lossless_with_fair_queues, {
    wrong(&format!("{SMALL}\n[fabric]\ndiscipline = \"fair-queue\"\n[fabric.pfc]\n"), &[])
});
snapshot!(lossless_with_an_unknown_key, wrong(&format!("{SMALL}\n[fabric.pfc]\nalhpa = 0.5\n"), &[]));
snapshot!(unknown_transport, wrong(&edited("\"amrt\"", "\"armt\""), &[]));
/// [`SMALL`] with a second entry whose transport is `transport`, between hosts that the first has flows of.
fn beside(transport: &str) -> String {
    format!(
        "{SMALL}\n[[traffic]]\nkind = \"flows\"\nflows = [{{ src = 0, dst = 2, bytes = 1 }}]\ntransport = {transport}\n"
    )
}

snapshot!(unknown_transport_beside_another, wrong(&beside("\"cubik\""), &[]));
snapshot!(transports_of_different_ports_at_one_host, wrong(&beside("\"dctcp\""), &[]));
snapshot!(
    parameter_of_a_transport_beside_another,
    wrong(&beside("{ name = \"dctcp\", gg = 0.5 }"), &["fabric.discipline=anti-ecn"])
);
/// [`SMALL`] with a second entry, of one flow, that has these keys.
fn by_kernel(keys: &str, flow: &str) -> String {
    format!(
        "{SMALL}\n[[traffic]]\nkind = \"flows\"\n{keys}\nflows = [{{ src = 0, dst = 2, bytes = 1{flow} }}]\n"
    )
}

const KERNEL: &str = "stack = \"kernel\"\ncongestion = \"cubic\"";

snapshot!(unknown_stack, wrong(&by_kernel("stack = \"kernle\"", ""), &[]));
snapshot!(kernel_without_a_control, wrong(&by_kernel("stack = \"kernel\"", ""), &[]));
snapshot!(unknown_control, wrong(&by_kernel("stack = \"kernel\"\ncongestion = \"cubik\"", ""), &[]));
snapshot!(control_without_the_kernel, wrong(&by_kernel("congestion = \"cubic\"", ""), &[]));
snapshot!(
    marks_that_no_machine_answers,
    wrong(&by_kernel("stack = \"kernel\"\ncongestion = \"cubic\"\necn = true", ""), &[])
);
snapshot!(
    a_setting_that_a_control_has_not,
    wrong(&by_kernel("stack = \"kernel\"\ncongestion = { name = \"dctcp\", young = 5 }", ""), &[])
);
snapshot!(multipath_without_the_kernel, wrong(&by_kernel("stack = \"headway\"\nmptcp = true", ""), &[]));
snapshot!(
    transport_beside_the_kernel,
    wrong(&by_kernel(&format!("{KERNEL}\ntransport = \"cubic\""), ""), &[])
);
snapshot!(multipath_without_a_machine, {
    wrong(&by_kernel("stack = \"kernel\"\ncongestion = \"bbr\"\nmptcp = true", ""), &[])
});
snapshot!(multipath_that_is_no_answer, wrong(&by_kernel(&format!("{KERNEL}\nmptcp = \"yes\""), ""), &[]));
snapshot!(first_window_of_the_kernel, wrong(&by_kernel(&format!("{KERNEL}\nshare = 2"), ""), &[]));
snapshot!(connection_of_the_kernel, wrong(&by_kernel(KERNEL, ", connection = \"f0\""), &[]));

snapshot!(unknown_kind, wrong(&edited("\"dumbbell\"", "\"dumbell\""), &[]));
snapshot!(missing_key, wrong(&edited("senders = 2\n", ""), &[]));
snapshot!(wrong_unit, wrong(&edited("\"10 Gbps\"", "\"10 GB\""), &[]));
snapshot!(misspelt_unit, wrong(&edited("\"10 Gbps\"", "\"10 gbps\""), &[]));
snapshot!(no_unit, wrong(&edited("\"10 us\"", "10"), &[]));
snapshot!(bits_in_a_second_written_out, wrong(&edited("\"10 Gbps\"", "100e9"), &[]));
snapshot!(seconds_written_out, wrong(&edited("\"10 us\"", "10e-6"), &[]));
snapshot!(a_key_without_its_table, wrong(SMALL, &["senders=4"]));
snapshot!(negative_rate, wrong(&edited("\"10 Gbps\"", "\"-10 Gbps\""), &[]));
snapshot!(zero_rate, wrong(&edited("\"10 Gbps\"", "\"0 Gbps\""), &[]));
snapshot!(flow_to_itself, wrong(&edited("dst = 2", "dst = 0"), &[]));
snapshot!(flow_to_a_missing_host, wrong(&edited("dst = 3", "dst = 4"), &[]));
snapshot!(flow_of_nothing, wrong(&edited("\"200 kB\"", "0"), &[]));
snapshot!(two_flows_of_one_name, wrong(&edited("\"f1\"", "\"f0\""), &[]));
snapshot!(not_a_number, wrong(&edited("\"200 kB\"", "nan"), &[]));
snapshot!(not_a_number_with_a_unit, wrong(&edited("\"10 us\"", "\"nan us\""), &[]));
snapshot!(not_toml, wrong(&edited("[transport]", "[transport"), &[]));
snapshot!(key_twice, wrong(&edited("senders = 2", "senders = 2\nsenders = 3"), &[]));
snapshot!(sampled_flow_that_is_not_there, {
    wrong(&format!("{SMALL}\n[sample]\nevery = \"1 us\"\nflows = [\"f2\"]\n"), &[])
});
snapshot!(sampled_link_that_is_not_there, {
    wrong(&format!("{SMALL}\n[sample]\nevery = \"1 us\"\nlinks = [\"s0-s1\"]\n"), &[])
});

snapshot!(load_above_one, wrong(&LEAF_SPINE.replace("0.5\nLOAD", "1.2\nflows = 10"), &[]));
snapshot!(
    unknown_workload,
    wrong(&LEAF_SPINE.replace("dctcp_websearch", "dctp_websearch").replace("LOAD", "flows = 10"), &[])
);
snapshot!(two_ends_of_arrivals, wrong(&LEAF_SPINE.replace("LOAD", "flows = 10\nduration = \"1 ms\""), &[]));
snapshot!(distribution_that_falls, {
    wrong(&LEAF_SPINE.replace("dctcp_websearch", "falls.csv").replace("LOAD", "flows = 10"), &[])
});
snapshot!(distribution_in_percent, {
    wrong(&LEAF_SPINE.replace("dctcp_websearch", "percent.csv").replace("LOAD", "flows = 10"), &[])
});
snapshot!(traffic_that_is_no_list, {
    wrong(&LEAF_SPINE.replace("[[traffic]]", "[traffic]").replace("LOAD", "flows = 10"), &[])
});
snapshot!(distribution_that_ends_early, {
    wrong(&LEAF_SPINE.replace("dctcp_websearch", "ends-early.csv").replace("LOAD", "flows = 10"), &[])
});
snapshot!(file_that_is_not_there, {
    wrong(&LEAF_SPINE.replace("dctcp_websearch", "absent.csv").replace("LOAD", "flows = 10"), &[])
});

const FROM_FILE: &str = "[[traffic]]\nkind = \"file\"\npath = ";

fn with_file(name: &str) -> String {
    let head = &SMALL[..SMALL.find("[[traffic]]").unwrap_or_default()];
    format!("{head}{FROM_FILE}\"{name}\"\n")
}

snapshot!(matrix_that_promises_more, wrong(&with_file("promises-more.cm"), &[]));
snapshot!(matrix_with_triggers, wrong(&with_file("triggers.cm"), &[]));
snapshot!(matrix_for_more_hosts, wrong(&with_file("more-hosts.cm"), &[]));
snapshot!(table_with_a_misspelt_column, wrong(&with_file("misspelt.csv"), &[]));

const PIECES: &str = r#"[topology]
kind = "graph"
file = "pieces.toml"

[transport]
name = "amrt"

[[traffic]]
kind = "flows"
flows = [{ src = 0, dst = 1, bytes = "1 MB" }, { src = 0, dst = 2, bytes = "1 MB" }]
"#;

snapshot!(unreachable_host, wrong(PIECES, &[]));
snapshot!(graph_with_a_wrong_node, wrong(&PIECES.replace("pieces.toml", "wrong-node.toml"), &[]));
snapshot!(fat_tree_that_is_cut_off, wrong(&PIECES.replace("pieces.toml", "cut-off.topo"), &[]));
snapshot!(fat_tree_with_a_misspelt_key, wrong(&PIECES.replace("pieces.toml", "misspelt.topo"), &[]));
snapshot!(topology_of_ns3_that_is_cut_off, wrong(&PIECES.replace("pieces.toml", "cut-off.txt"), &[]));
snapshot!(topology_of_ns3_that_loses, wrong(&PIECES.replace("pieces.toml", "loses.txt"), &[]));
snapshot!(
    gap_without_flowlets,
    wrong(&format!("{PIECES}[fabric]\nrouting = \"least-queue\"\nflowlet_gap = \"1 us\"\n"), &[])
);
snapshot!(misspelt_routing, wrong(&format!("{PIECES}[fabric]\nrouting = \"least-queues\"\n"), &[]));

snapshot!(ten_million_hosts, {
    let text =
        LEAF_SPINE.replace("hosts_per_rack = 8", "hosts_per_rack = 2_500_000").replace("LOAD", "flows = 10");
    let shown = wrong(&text, &["memory_limit=\"4 GB\""]);
    // The memory of a host is the simulator's business.
    let (head, rest) = shown.split_once("about ").unwrap_or_default();
    let (amount, tail) = rest.split_once(" GB,").unwrap_or_default();
    assert!(amount.parse::<f64>().is_ok_and(|gb| gb > 4.0), "{amount}");
    format!("{head}about N GB,{tail}")
});

snapshot!(override_of_an_unknown_key, wrong(SMALL, &["topology.sender=3"]));
snapshot!(override_with_a_wrong_unit, wrong(SMALL, &["topology.delay=10 Gbps"]));
snapshot!(override_that_names_no_key, wrong(SMALL, &["traffic.0.flows.7.bytes=1"]));
snapshot!(override_without_a_value, wrong(SMALL, &["topology.delay"]));
snapshot!(variant_with_an_unknown_key, {
    let text = format!("{SMALL}\n[variants.slow]\n\"topology.delya\" = \"1 ms\"\n");
    shown(&good(&text, &[]).points().expect_err("a wrong variant"))
});
snapshot!(swept_value_that_is_wrong, {
    let text =
        format!("{}\n[sweep]\n\"traffic.0.load\" = [0.5, 1.5]\n", LEAF_SPINE.replace("LOAD", "flows = 10"));
    shown(&good(&text, &[]).points().expect_err("a wrong value"))
});
snapshot!(unknown_scale, {
    let request = Request::text(SMALL, "scenario.toml", &fixtures(), &[], Some("papier"));
    shown(&request.load().expect_err("an unknown scale"))
});

#[test]
fn ten_million_hosts_are_refused_before_anything_is_built() {
    // Names of links are made from the network: asking for them must not build it.
    let text =
        LEAF_SPINE.replace("hosts_per_rack = 8", "hosts_per_rack = 2_500_000").replace("LOAD", "flows = 10");
    let text = text.replacen("seed = 1", "seed = 1\nbottleneck = [\"leaf0->spine0\"]", 1);
    let before = peak_memory_kib();
    let error = load(&text, &["memory_limit=\"4 GB\""]).expect_err("too many hosts");
    assert!(error.to_string().contains("more than the limit of 4 GB"), "{error}");
    // The names alone would take more than this.
    assert!(peak_memory_kib() < before + (256 << 10));
}

/// The most memory that this process ever had, in KiB; 0 where the system does not say.
fn peak_memory_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn a_results_directory_that_cannot_be_written_is_said_before_the_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    std::fs::write(&file, b"x").expect("a file");
    let out = file.join("results");
    let options = Options { out: Some(Directory::parquet(&out)), ..Options::default() };
    let mut asked = false;
    let error = run_scenario(&good(SMALL, &[]), &options, &mut |_| {
        asked = true;
        true
    });
    let error = error.expect_err("a file is no directory");
    assert!(matches!(error, LabError::Unwritable { .. }), "{error:?}");
    assert!(!asked, "the run had begun");
    let shown = error.render().replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!("unwritable_directory", shown);
}

snapshot!(samples_that_would_not_fit, {
    let text = format!("{SMALL}\n[sample]\nevery = \"1 ps\"\nlinks = \"all\"\n");
    wrong(&text, &["memory_limit=\"4 GB\""])
});
snapshot!(sampled_flows_that_would_not_fit, {
    let text = format!("{SMALL}\n[sample]\nevery = \"1 ns\"\nflows = \"all\"\n");
    wrong(&text, &["memory_limit=\"200 MB\"", "stop=\"1 ms\""])
});
snapshot!(sampled_flow_twice, {
    wrong(&format!("{SMALL}\n[sample]\nevery = \"1 us\"\nflows = [\"f0\", \"f0\"]\n"), &[])
});
snapshot!(flows_that_would_not_fit, {
    wrong(&LEAF_SPINE.replace("LOAD", "flows = 1_000_000_000"), &["memory_limit=\"4 GB\""])
});

#[test]
fn what_is_said_to_fit_fits() {
    let text = format!("{SMALL}\n[sample]\nevery = \"1 ps\"\nlinks = \"all\"\n");
    let shown = wrong(&text, &["memory_limit=\"4 GB\""]);
    let every = shown.split("every = \"").last().and_then(|t| t.split('"').next()).expect("advice");
    good(&text, &["memory_limit=\"4 GB\"", &format!("sample.every={every}")]);
}

const PINNED: &str = "[fabric]\nrouting = \"pinned\"\n";

fn pinned(topology: &str, flow: &str) -> String {
    let end = "[transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"flows\"\n";
    wrong(&format!("[topology]\n{topology}\n{PINNED}{end}flows = [{flow}]\n"), &[])
}

snapshot!(path_beyond_the_spines, {
    let leaf_spine = "kind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 3\nhost_rate = \"1 Gbps\"\nhost_delay = \"1 us\"";
    pinned(leaf_spine, "{ src = 0, dst = 2, bytes = 1, path = 3 }")
});
snapshot!(path_within_one_rack, {
    let fat_tree = "kind = \"fat-tree\"\nk = 4\nhost_rate = \"1 Gbps\"\nhost_delay = \"1 us\"";
    pinned(fat_tree, "{ src = 0, dst = 1, bytes = 1, path = 1 }")
});
snapshot!(path_through_a_graph, {
    pinned("kind = \"graph\"\nfile = \"ring.toml\"", "{ src = 0, dst = 1, bytes = 1, path = 7 }")
});

#[test]
fn every_path_that_there_is_can_be_pinned() {
    let fat_tree = |flow: &str| {
        let head = "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"1 Gbps\"\nhost_delay = \"1 us\"\n";
        let tail = "[transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"flows\"\n";
        load(&format!("{head}{PINNED}{tail}flows = [{flow}]\n"), &[]).is_ok()
    };
    let flow = |dst: u32, path: u32| format!("{{ src = 0, dst = {dst}, bytes = 1, path = {path} }}");
    // Behind the same edge switch, in the same pod, and in another one.
    for (dst, paths) in [(1, 1), (2, 2), (4, 4)] {
        assert!(fat_tree(&flow(dst, paths - 1)), "host {dst}");
        assert!(!fat_tree(&flow(dst, paths)), "host {dst}");
    }
}

snapshot!(scale_that_is_none, wrong(&format!("{SMALL}\n[scale.smok]\n\"stop\" = \"1 ms\"\n"), &[]));
snapshot!(scale_with_an_unknown_key, {
    let text = format!("{SMALL}\n[scale.smoke]\n\"topology.delya\" = \"1 ms\"\n");
    shown(&good(&text, &[]).points().expect_err("a wrong scale"))
});
snapshot!(payload_beyond_its_range, wrong(&format!("{SMALL}\n[fabric]\npayload = \"20 kB\"\n"), &[]));
snapshot!(payload_in_packets, wrong(&format!("{SMALL}\n[fabric]\npayload = \"1 packet\"\n"), &[]));

#[test]
fn packet_sizes_are_bytes_with_or_without_a_unit() {
    let sizes = |fabric: &str| {
        good(&format!("{SMALL}\n[fabric]\n{fabric}\n"), &[]).setup().expect("a network").fabric.sizes
    };
    let bare = sizes("payload = 1000\nheader = 64\nframing = 24\ncontrol = 128");
    assert_eq!((bare.payload, bare.header, bare.framing, bare.control), (1000, 64, 24, 128));
    let units = "payload = \"1 kB\"\nheader = \"64 B\"\nframing = \"24 B\"\ncontrol = \"0.128 kB\"";
    assert_eq!(sizes(units), bare);
}

snapshot!(matrix_without_nodes, wrong(&with_file("no-nodes.cm"), &[]));
snapshot!(matrix_for_another_network, wrong(&with_file("fewer-hosts.cm"), &[]));
snapshot!(table_without_a_flow, wrong(&with_file("only-header.csv"), &[]));
snapshot!(table_without_anything, wrong(&with_file("empty.csv"), &[]));
snapshot!(table_with_a_missing_host, wrong(&with_file("missing-host.csv"), &[]));
snapshot!(table_with_an_empty_field, wrong(&with_file("empty-field.csv"), &[]));
snapshot!(distribution_that_begins_late, {
    let keys = "interpolation = \"linear\"\nflows = 10";
    wrong(&LEAF_SPINE.replace("dctcp_websearch", "begins-late.csv").replace("LOAD", keys), &[])
});
snapshot!(override_with_an_open_quote, wrong(SMALL, &["title=\"x"]));
snapshot!(override_with_an_open_list, wrong(SMALL, &["traffic.0.flows=[{src = 0, dst = 2"]));
snapshot!(override_without_anything_after_the_sign, wrong(SMALL, &["topology.dealy="]));
snapshot!(misspelt_override_without_a_value, wrong(SMALL, &["topology.dealy"]));
snapshot!(swept_value_twice, {
    wrong(
        &format!("{SMALL}\n[sweep]\n\"traffic.0.flows.0.bytes\" = [\"1 MB\", \"2 MB\", \"1000 kB\"]\n"),
        &[],
    )
});
snapshot!(swept_key_without_quotes, {
    wrong(&format!("{SMALL}\n[sweep]\nseeds = 2\ntransport.loss_timeout = [2.0, 3.0]\n"), &[])
});
snapshot!(swept_seed_twice, wrong(&format!("{SMALL}\n[sweep]\nseeds = [3, 4, 3]\n"), &[]));
snapshot!(graph_without_hosts, wrong(&PIECES.replace("pieces.toml", "no-hosts.toml"), &[]));
snapshot!(host_of_a_network_of_one, {
    let text = "[topology]\nkind = \"single-switch\"\nhosts = 1\nrate = \"1 Gbps\"\ndelay = \"1 us\"\n\
                [transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"flows\"\n\
                flows = [{ src = 0, dst = 1, bytes = 1 }]\n";
    wrong(text, &[])
});
snapshot!(unused_key_beside_keys_that_are_asked_for_twice, {
    wrong(&format!("{SMALL}\n[fabric]\nrouting = \"ecmp\"\nclumps = 3\n"), &[])
});

fn faulty(fault: &str) -> String {
    wrong(&format!("{SMALL}\n[[fault]]\n{fault}\n"), &[])
}

snapshot!(fault_without_anything_that_goes_wrong, faulty("links = \"all\""));
snapshot!(fault_with_a_misspelt_key, faulty("los = 0.01"));
snapshot!(fault_on_a_link_that_is_not_there, faulty("links = [\"s0->s2\"]\ndrop = [1]"));
snapshot!(fault_of_an_unknown_kind, faulty("kind = \"dada\"\ndrop = [1]"));
snapshot!(fault_of_packet_zero, faulty("drop = [1, 0]"));
snapshot!(fault_of_a_packet_twice, faulty("drop = [3, 1, 3]"));
snapshot!(fault_by_number_and_by_chance, faulty("drop = [3]\nloss = 0.1"));
snapshot!(fault_beyond_certainty, faulty("loss = 1.5"));
snapshot!(faults_that_add_up_to_too_much, faulty("loss = 0.6\nduplicate = 0.6"));
snapshot!(reordering_by_an_unknown_time, faulty("reorder = 0.1"));
snapshot!(reordering_time_without_reordering, faulty("loss = 0.1\nreorder_by = \"1 us\""));
snapshot!(black_hole_that_ends_before_it_begins, faulty("dark_from = \"3 us\"\ndark_until = \"2 us\""));
snapshot!(black_hole_and_chance, faulty("dark_from = \"3 us\"\nloss = 0.1"));
snapshot!(black_hole_without_a_beginning, faulty("drop = [1]\ndark_until = \"2 us\""));
snapshot!(
    link_that_comes_up_before_it_goes_down,
    faulty("links = \"all\"\ndown_at = \"3 ms\"\nup_at = \"3 ms\"")
);
snapshot!(link_that_comes_up_and_never_goes_down, faulty("links = \"all\"\nup_at = \"3 ms\""));
snapshot!(nothing_that_goes_down, faulty("down_at = \"3 ms\""));
snapshot!(switch_that_is_not_there, faulty("switches = [\"s2\"]\ndown_at = \"3 ms\""));
snapshot!(both_directions_of_a_link_that_is_not_there, faulty("links = [\"s0<->s3\"]\ndown_at = \"3 ms\""));
snapshot!(a_link_twice_by_its_directions, faulty("links = [\"s0->s1\", \"s1<->s0\"]\ndown_at = \"3 ms\""));
snapshot!(rate_without_a_time, faulty("links = [\"s0->s1\"]\nrate = \"1 Gbps\""));
snapshot!(change_without_a_value, faulty("links = [\"s0->s1\"]\nat = \"1 ms\""));
snapshot!(change_of_no_link, faulty("at = \"1 ms\"\nrate = \"1 Gbps\""));
snapshot!(
    change_that_ends_before_it_begins,
    faulty("links = [\"s0->s1\"]\nat = \"2 ms\"\nuntil = \"1 ms\"\nrate = \"1 Gbps\"")
);
snapshot!(
    link_that_goes_down_and_changes,
    faulty("links = [\"s0->s1\"]\ndown_at = \"2 ms\"\nrate = \"1 Gbps\"")
);
snapshot!(link_that_goes_down_and_loses, faulty("links = [\"s0->s1\"]\ndown_at = \"2 ms\"\nloss = 0.1"));
snapshot!(
    kind_of_packet_of_a_link_that_goes_down,
    faulty("links = [\"s0->s1\"]\ndown_at = \"2 ms\"\nkind = \"data\"")
);
snapshot!(
    link_that_goes_down_with_a_misspelt_key,
    faulty("links = [\"s0->s1\"]\ndown_at = \"2 ms\"\nconverg = \"1 us\"")
);
snapshot!(
    link_that_is_down_twice_at_once,
    faulty("links = [\"s0->s1\"]\ndown_at = \"2 ms\"\n[[fault]]\nlinks = [\"s0<->s1\"]\ndown_at = \"5 ms\"")
);
snapshot!(
    rate_that_changes_while_it_is_said_to_hold,
    faulty(
        "links = [\"s0->s1\"]\nat = \"2 ms\"\nuntil = \"4 ms\"\nrate = \"1 Gbps\"\n[[fault]]\nlinks = \"all\"\nat = \"3 ms\"\nrate = \"2 Gbps\""
    )
);
snapshot!(fault_that_is_no_list, wrong(&format!("{SMALL}\n[fault]\nloss = 0.1\n"), &[]));

snapshot!(jitter_without_a_unit, wrong(&format!("{SMALL}\n[hosts]\njitter = 9\n"), &[]));
snapshot!(hosts_with_a_misspelt_key, wrong(&format!("{SMALL}\n[hosts]\njiter = \"9 us\"\n"), &[]));
snapshot!(packet_cost_without_a_unit, wrong(&format!("{SMALL}\n[hosts]\npacket_cost = 500\n"), &[]));
snapshot!(packet_cost_below_nothing, wrong(&format!("{SMALL}\n[hosts]\npacket_cost = \"-1 us\"\n"), &[]));
snapshot!(message_cost_in_bytes, wrong(&format!("{SMALL}\n[hosts]\nmessage_cost = \"3 kB\"\n"), &[]));
snapshot!(coalesce_with_a_misspelt_unit, wrong(&format!("{SMALL}\n[hosts]\ncoalesce = \"50 uss\"\n"), &[]));
snapshot!(packet_cost_that_is_misspelt, wrong(&format!("{SMALL}\n[hosts]\npaket_cost = \"1 us\"\n"), &[]));
snapshot!(packets_of_a_window_by_halves, wrong(&format!("{SMALL}\n[hosts]\ncoalesce_packets = 1.5\n"), &[]));
snapshot!(burst_without_end, wrong(&format!("{SMALL}\n[hosts]\nburst = \"2 MB\"\n"), &[]));
snapshot!(burst_that_lasts, wrong(SMALL, &["hosts.burst=3 us"]));
snapshot!(hosts_that_are_a_number, wrong(&format!("hosts = 4\n{SMALL}"), &[]));

/// Between the hosts of [`SMALL`]'s flows, a flow over the connection that it names.
fn over(flow: &str) -> String {
    wrong(&edited("start = \"50 us\" },", &format!("start = \"50 us\" }},\n  {{ {flow} }},")), &[])
}

snapshot!(connection_of_no_flow, over("src = 2, dst = 0, bytes = 1, start = \"1 ms\", connection = \"f00\""));
snapshot!(
    connection_between_other_hosts,
    over("src = 2, dst = 0, bytes = 1, start = \"1 ms\", connection = \"f1\"")
);
snapshot!(connection_that_opens_later, over("src = 3, dst = 1, bytes = 1, connection = \"f1\""));
snapshot!(
    connection_of_the_flow_itself,
    over("name = \"x\", src = 3, dst = 1, bytes = 1, connection = \"x\"")
);

// Flows that wait for others.

/// A list of flows that wait, and its steps, in place of [`SMALL`]'s.
fn waiting(flows: &str, steps: &str) -> String {
    let steps = if steps.is_empty() { String::new() } else { format!(", steps = [{steps}]") };
    wrong(SMALL, &[&format!("traffic=[{{ kind = \"flows\", flows = [{flows}]{steps} }}]")])
}

const PLAIN: &str = "{ name = \"a\", src = 0, dst = 2, bytes = 100 }";

snapshot!(
    after_no_flow,
    waiting(&format!("{PLAIN}, {{ src = 2, dst = 0, bytes = 9, after = [\"aa\"] }}"), "")
);
snapshot!(after_nothing, waiting(&format!("{PLAIN}, {{ src = 2, dst = 0, bytes = 9, after = [] }}"), ""));
snapshot!(
    after_one_that_is_no_list,
    waiting(&format!("{PLAIN}, {{ src = 2, dst = 0, bytes = 9, after = \"a\" }}"), "")
);
snapshot!(after_itself, waiting("{ name = \"a\", src = 0, dst = 2, bytes = 100, after = [\"a\"] }", ""));
snapshot!(
    after_each_other,
    waiting(
        "{ name = \"a\", src = 0, dst = 2, bytes = 9, after = [\"c\"] }, \
         { name = \"b\", src = 0, dst = 2, bytes = 9, after = [\"a\"] }",
        "{ name = \"c\", after = [\"b\"] }"
    )
);
snapshot!(
    after_something_else_than_known,
    waiting(
        &format!(
            "{PLAIN}, {{ src = 2, dst = 0, bytes = 9, after = [{{ name = \"a\", until = \"sent\" }}] }}"
        ),
        ""
    )
);
snapshot!(
    after_a_step_that_is_known,
    waiting(
        &format!(
            "{PLAIN}, {{ src = 2, dst = 0, bytes = 9, after = [{{ name = \"c\", until = \"known\" }}] }}"
        ),
        "{ name = \"c\", takes = \"1 us\" }"
    )
);
snapshot!(
    after_with_a_stop,
    waiting(&format!("{PLAIN}, {{ src = 2, dst = 0, bytes = 9, stop = \"1 s\", after = [\"a\"] }}"), "")
);
snapshot!(step_without_a_unit, waiting(PLAIN, "{ name = \"c\", host = 0, takes = 9 }"));
snapshot!(step_at_no_host, waiting(PLAIN, "{ name = \"c\", host = 99 }"));
snapshot!(step_with_the_name_of_a_flow, waiting(PLAIN, "{ name = \"a\" }"));
snapshot!(step_with_a_processor_of_no_host, waiting(PLAIN, "{ name = \"c\", processor = 1 }"));
snapshot!(step_that_needs_too_many, waiting(PLAIN, "{ name = \"c\", host = 1, after = [\"a\"], needs = 2 }"));
snapshot!(step_that_needs_some_of_nothing, waiting(PLAIN, "{ name = \"c\", host = 1, needs = 1 }"));
snapshot!(step_with_a_misspelt_key, waiting(PLAIN, "{ name = \"c\", take = \"1 us\" }"));

// Ports that differ, queues of hosts, flows that stop.

/// SMALL with a table of `[[fabric.at]]`.
fn ports(table: &str) -> String {
    format!("{SMALL}\n[[fabric.at]]\n{table}\n")
}

snapshot!(ports_of_no_link, wrong(&ports("links = [\"s0->h9\"]\nbuffer = \"9 packets\""), &[]));
snapshot!(ports_of_no_tier, wrong(&ports("links = \"cores\"\nbuffer = \"9 packets\""), &[]));
snapshot!(
    ports_that_are_not_there,
    wrong(
        &ports("links = \"core\"\nbuffer = \"9 packets\""),
        &["topology={kind='single-switch',hosts=4,rate='1 Gbps',delay='1 us'}"]
    )
);
snapshot!(ports_of_no_switch, wrong(&ports("switches = [\"s7\"]\nbuffer = \"9 packets\""), &[]));
snapshot!(ports_that_nobody_names, wrong(&ports("buffer = \"9 packets\""), &[]));
snapshot!(ports_that_do_nothing_else, wrong(&ports("links = \"hosts\""), &[]));
snapshot!(
    ports_with_a_key_of_others,
    wrong(&ports("links = \"hosts\"\ndiscipline = \"drop-tail\"\nthreshold = 9"), &[])
);
snapshot!(ports_by_link_and_by_switch, wrong(&ports("links = \"hosts\"\nswitches = [\"s0\"]"), &[]));
snapshot!(
    queue_of_hosts_that_take_time,
    wrong(&format!("{SMALL}\n[hosts]\nqueue = \"fifo\"\npacket_cost = \"1 us\"\n"), &[])
);
snapshot!(buffer_without_a_queue, wrong(&format!("{SMALL}\n[hosts]\nbuffer = \"9 packets\"\n"), &[]));
snapshot!(share_with_too_many_decimals, wrong(SMALL, &["traffic.0.share=2.0005"]));
snapshot!(share_below_one, wrong(SMALL, &["traffic.0.share=0.5"]));
snapshot!(end_of_a_run_that_is_misspelt, wrong(SMALL, &["until=know"]));
snapshot!(stop_of_no_time, wrong(SMALL, &["traffic.0.stop=0 s"]));
snapshot!(stop_of_an_entry_before_a_start, wrong(SMALL, &["traffic.0.stop=50 us"]));
snapshot!(stop_of_a_flow_before_its_start, wrong(SMALL, &["traffic.0.flows.1.stop=20 us"]));

// Check and run.

#[test]
fn what_a_run_refuses_before_it_begins_is_refused_by_a_check() {
    let sampled = |flows: &str| format!("{SMALL}\n[sample]\nevery = \"10 us\"\nflows = {flows}\n");
    let entry = "[[traffic]]\nkind = \"flows\"\nflows = [{ name = \"f1\", src = 0, dst = 3, bytes = 9 }]\n";
    let cases = [
        (sampled("[\"f2\"]"), Some("there is no flow `f2`")),
        (sampled("[\"f1\"]"), None),
        (edited("name = \"f1\"", "name = \"f0\""), Some("two flows are called `f0`")),
        (format!("{SMALL}{entry}"), Some("two flows are called `f1`")),
        (edited("start = \"50 us\"", "after = [\"f1\"]"), Some("f1")),
        (SMALL.to_string(), None),
    ];
    for (text, message) in cases {
        let loaded = load(&text, &[]).map_err(LabError::from);
        let both = |what: &dyn Fn(&headway_lab::Scenario) -> Result<(), LabError>| {
            loaded.as_ref().map_err(LabError::render).and_then(|s| what(s).map_err(|e| e.render()))
        };
        let checked = both(&|scenario| check_scenario(scenario, None));
        // The first report stops the run: only what comes before it matters.
        let ran = both(&|s| run_scenario(s, &Options::default(), &mut |_| false).map(drop));
        assert_eq!(checked, ran, "{text}");
        match message {
            Some(message) => assert!(checked.expect_err(message).contains(message), "{text}"),
            None => checked.expect("nothing is wrong"),
        }
    }
}

#[test]
fn bytes_and_bits_are_not_taken_for_each_other() {
    let rate = wrong(&edited("10 Gbps", "10 GBps"), &[]);
    assert!(rate.contains("`GBps` are gigabytes per second, and rates are in bits per second"), "{rate}");
    assert!(rate.contains("\"80 Gbps\"") && !rate.contains("\"10 Gbps\"?"), "{rate}");
    let size = wrong(&edited("1 MB", "1 Mb"), &[]);
    assert!(
        size.contains("`Mb` are megabits, and sizes are in bytes, with a capital B")
            && size.contains("\"0.125 MB\""),
        "{size}"
    );
    let bits = wrong(&edited("10 Gbps", "10 Gbit"), &[]);
    assert!(bits.contains("`Gbit` is not a unit") && bits.contains("\"10 Gb"), "{bits}");
    // If neither is right, a unit of the expected dimension is offered.
    let time = wrong(&edited("10 us", "10 GBps"), &[]);
    assert!(time.contains("`10 GBps` is a rate, not a duration"), "{time}");
}

#[test]
fn files_that_are_no_text_are_refused_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("it is written");
        let error = Request::file(&path, &[], None).and_then(|r| r.load()).expect_err("refused").render();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    let latin = refused("latin.toml", b"title = \"x\"\ndescription = \"caf\xe9\"\n");
    assert!(latin.contains("not UTF-8: byte 0xe9") && latin.contains("latin.toml:2:19"), "{latin}");
    let binary = refused("run.parquet", b"PAR1\x15\0\0\x01\xff\xfe");
    assert!(binary.contains("run.parquet: it is a binary file, not text: byte 6 is zero"), "{binary}");
    // The last one is a byte order mark alone.
    for nothing in [&b""[..], b"\n\n", b"# only a comment\n", b"\xef\xbb\xbf"] {
        let empty = refused("empty.toml", nothing);
        assert!(empty.contains("the scenario is empty") && empty.contains("empty.toml:1:1"), "{empty}");
        assert!(empty.contains("`headway new FILE`"), "{empty}");
    }
    // A file that a scenario names is shown itself.
    std::fs::write(folder.path().join("net.topo"), b"Nodes 16\n# caf\xe9\nTiers 2\n").expect("it is written");
    let text = SMALL.replacen(
        "kind = \"dumbbell\"\nsenders = 2\nreceivers = 2\nrate = \"10 Gbps\"\ndelay = \"10 us\"",
        "kind = \"graph\"\nfile = \"net.topo\"",
        1,
    );
    let named = refused("names.toml", text.as_bytes());
    assert!(named.contains("not UTF-8: byte 0xe9") && named.contains("net.topo:2:6"), "{named}");
}

#[test]
fn transports_of_several_disciplines_are_shown_where_it_has_to_be_said() {
    let other = "[[traffic]]\nkind = \"flows\"\ntransport = { name = \"ndp\" }\nflows = [{ src = 0, dst = 3, bytes = 9 }]\n";
    let line = |shown: &str, what: &str| assert!(shown.contains(what), "{shown}");
    let without = wrong(&format!("{SMALL}{other}"), &[]);
    line(&without, "`amrt` is meant to run over `anti-ecn` and `ndp` over `trimming`");
    line(&without, " │ [[traffic]]\n    · ─────┬─────");
    let with = wrong(&format!("{SMALL}{other}\n[fabric]\nbuffer = \"9 packets\"\n"), &[]);
    line(&with, " │ [fabric]\n    · ────┬───");
}

#[test]
fn empty_lists_sample_nothing() {
    for nothing in ["flows=[]", "links=[]", "flows=[],links=[]", "flows=\"none\",links=[]"] {
        let shown = wrong(SMALL, &[&format!("sample={{every=\"1 us\",{nothing}}}")]);
        assert!(shown.contains("[sample] samples nothing"), "{shown}");
    }
    let probes = wrong(SMALL, &["sample={every=\"1 us\",links=\"all\",flows=[],probes=true}"]);
    assert!(probes.contains("`probes` are of flows, and no flow is sampled"), "{probes}");
    good(SMALL, &["sample={every=\"1 us\",flows=\"all\",links=[]}"]);
    good(SMALL, &["sample={causes=true,flows=[],links=[]}"]);
}

#[test]
fn more_hosts_than_there_are_is_a_range() {
    let calls = |clients: &str, servers: &str| {
        let entry = format!(
            "kind = \"rpc\"\nclients = {clients}\nservers = {servers}\nrequest = 9\nreply = 9\ncalls = 1\n"
        );
        let start = SMALL.find("kind = \"flows\"").expect("it is there");
        wrong(&format!("{}{entry}", &SMALL[..start]), &[])
    };
    let servers = calls("2", "5");
    assert!(servers.contains("`traffic.0.servers` must be from 1 to 2, not 5"), "{servers}");
    assert!(servers.contains("of the 4 hosts of the network, 2 are taken"), "{servers}");
    let clients = calls("9", "1");
    assert!(
        clients.contains("`traffic.0.clients` must be from 1 to 4, the hosts of the network, not 9"),
        "{clients}"
    );
    let none = calls("[3]", "1");
    assert!(none.contains("`traffic.0.servers` must be a list of hosts, not 1"), "{none}");
}

#[test]
fn a_survey_of_a_large_sweep_reads_every_value_and_variant() {
    let listed = |values: &[String]| format!("[{}]", values.join(", "));
    let loads: Vec<String> = (1..=30).map(|n| format!("{:?}", f64::from(n) / 40.0)).collect();
    let buffers: Vec<String> = (8..38).map(|n| format!("\"{n} packets\"")).collect();
    let text = |buffers: &[String]| {
        format!(
            "[topology]\nkind = \"single-switch\"\nhosts = 4\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\n[transport]\nname = \"ndp\"\n\n[[traffic]]\n\
             kind = \"poisson\"\nload = 0.5\ncdf = \"dctcp_websearch\"\nflows = 5\n\n[variants.a]\n\n[variants.b]\nseed = 7\n\n[sweep]\n\
             \"traffic.0.load\" = {}\n\"fabric.buffer\" = {}\nseed = [3, 4, 5]\n",
            listed(&loads),
            listed(buffers)
        )
    };
    let whole = good(&text(&buffers), &[]);
    let (points, few) = (whole.listed_points(), whole.survey(100).expect("a survey"));
    // 2 variants, 30 loads and 30 buffers, of 3 seeds each.
    assert_eq!((points.len(), few.places), (5400, 1800));
    assert_eq!(
        points[1].label, "a,load=0.025,buffer=8 packets,seed=4",
        "the keys `seed` and `seeds` are one"
    );
    assert!((61..=100).contains(&few.found.len()), "{}", few.found.len());
    let all = |of: &dyn Fn(&headway_lab::scenario::Point) -> String| -> std::collections::BTreeSet<String> {
        few.found.iter().map(|found| of(&points[found.point])).collect()
    };
    let counts =
        [all(&|p| p.variant.clone()), all(&|p| p.axes[0].1.to_string()), all(&|p| p.axes[1].1.to_string())];
    assert_eq!(counts.map(|names| names.len()), [2, 30, 30]);
    assert_eq!(whole.survey(usize::MAX).expect("a survey").found.len(), 1800);
    let mut wrong = buffers.clone();
    // In the middle, where a survey of the ends would not see it.
    wrong[22] = "\"30 parsecs\"".into();
    let error = good(&text(&wrong), &[]).survey(100).expect_err("no size").to_string();
    assert!(error.contains("`parsecs` is not a unit"), "{error}");
    let both = text(&buffers).replace("seed = [3, 4, 5]", "seed = [3]\nseeds = 2");
    assert!(shown(&load(&both, &[]).expect_err("two lists")).contains("both list the seeds"));
}
