//! Every kind of file that Headway reads, or knows and does not read: how its content is recognised, who writes it, and
//! a small sample.
//!
//! The kind of a file is decided by its content and never by its name. Each kind has its objection to a file, so that
//! an error can name the likeliest kinds and why the file is none of them.

use super::format::Format;
use super::{chakra, goal_binary, logs, simai};
use crate::text::names;
use crate::text::source::BYTE_ORDER_MARK;

/// Reader of a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// `kind = "trace"` and `headway import`; matrices, tables and flow lists also `kind = "file"`.
    Trace(Format),
    /// `kind = "file"` and `headway import`.
    Table,
    /// `file` of `[topology]`, and `headway import` together with traffic.
    Topology(Network),
    /// `headway import`, which makes a table of flows of it.
    Log(Log),
    /// `cdf` of traffic.
    Sizes,
    /// Nothing; the text says what to give instead.
    Nothing(&'static str),
}

/// Kinds of files of topologies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Cables in TOML.
    Graph,
    /// A fat-tree of htsim.
    Htsim,
    /// Nodes and links of an ns-3.
    Ns3,
}

/// Kinds of logs of the flows of a real network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// CSV from nfdump.
    Nfdump,
    /// A VPC flow log of AWS.
    Vpc,
    /// Any table with a time, two addresses and a size.
    Tuples,
}

impl Log {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Log::Nfdump => "nfdump",
            Log::Vpc => "vpc",
            Log::Tuples => "tuples",
        }
    }
}

/// A kind of file.
pub struct Kind {
    /// Name with its article, for messages.
    pub what: &'static str,
    /// Reader of the kind.
    pub reader: Reader,
    /// Programs that write or read such files.
    pub by: &'static str,
    /// Versions or forms that are read.
    pub forms: &'static str,
    /// Parts of such a file that are left out.
    pub left_out: &'static str,
    /// A small file of this kind; empty for binary files.
    pub sample: &'static str,
    sniff: fn(&Content<'_>) -> Result<(), Against>,
}

/// Objection to a file.
pub struct Against {
    /// Nearness to the kind: 0 for none of it.
    near: u8,
    why: String,
}

fn against(near: u8, why: impl Into<String>) -> Result<(), Against> {
    Err(Against { near, why: why.into() })
}

/// The beginning of a file in rows of words.
pub struct Content<'a> {
    bytes: &'a [u8],
    /// Its text, unless it is binary.
    text: Option<&'a str>,
    /// Rows that are not empty and no comment.
    rows: Vec<Vec<&'a str>>,
}

/// Rows from which the kind of a file is recognised.
const ROWS: usize = 4000;

impl<'a> Content<'a> {
    fn of(bytes: &'a [u8]) -> Content<'a> {
        // Small numbers in binary form are valid text as well, but with zeros.
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let text = text.map(|text| text.trim_start_matches(BYTE_ORDER_MARK));
        let words = |line: &'a str| -> Vec<&'a str> {
            line.split_whitespace().take_while(|word| !word.starts_with('#')).collect()
        };
        let rows = text.into_iter().flat_map(str::lines).map(words).filter(|row| !row.is_empty());
        Content { bytes, text, rows: rows.take(ROWS).collect() }
    }

    fn row(&self, place: usize) -> &[&'a str] {
        self.rows.get(place).map_or(&[], Vec::as_slice)
    }

    /// The first word.
    fn first(&self) -> &'a str {
        self.row(0).first().copied().unwrap_or_default()
    }

    /// The first line, as messages show it.
    fn begins(&self) -> String {
        match (self.text, self.row(0)) {
            (None, _) => "is no text".into(),
            (Some(_), []) => "is empty".into(),
            (Some(_), row) => format!("begins with `{}`", short(&row.join(" "))),
        }
    }
}

fn short(text: &str) -> String {
    const MOST: usize = 30;
    let clean: String = text.chars().filter(|letter| !letter.is_control()).collect();
    if clean.chars().count() <= MOST {
        return clean;
    }
    format!("{} ...", clean.chars().take(MOST).collect::<String>().trim_end())
}

fn is_whole(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Advice that turns traces of PyTorch into one of Chakra.
const JOIN: &str = "`chakra_trace_link` joins the trace of the host with that of the device, and `chakra_converter PyTorch` makes `.et` files of both";

/// All kinds, in the order in which they are tried: those with the surest marks come first.
pub const KINDS: [Kind; 21] = [
    Kind {
        what: "a scenario of Headway",
        reader: Reader::Nothing("`headway run` and `headway check` read it"),
        by: "Headway",
        forms: "",
        left_out: "",
        sample: "[topology]\nkind = \"single-switch\"\n[[traffic]]\nkind = \"permutation\"\n",
        sniff: |content| {
            let is = content.rows.iter().any(|row| ["[topology]", "[[traffic]]"].contains(&row[0]));
            if is { Ok(()) } else { against(0, "it has no [topology]") }
        },
    },
    Kind {
        what: "a binary GOAL schedule",
        reader: Reader::Trace(Format::Goal),
        by: "LogGOPSim's `txt2bin` (spcl), ATLAHS",
        forms: "the form of LogGOPSim 1.x",
        left_out: "more than one interface a host (`nic`) is refused",
        sample: "",
        sniff: |content| {
            if goal_binary::is_one(content.bytes) {
                return Ok(());
            }
            against(u8::from(content.text.is_none()), "its first 8 bytes are not those that `txt2bin` writes")
        },
    },
    Kind {
        what: "a trace of PyTorch before Chakra's converter",
        reader: Reader::Nothing(JOIN),
        by: "PyTorch's execution trace observer",
        forms: "",
        left_out: "",
        sample: "{\"schema\": \"1.1.0-chakra.0.0.4\", \"nodes\": [{\"id\": 2, \"ctrl_deps\": 1}]}\n",
        sniff: |content| match content.text.and_then(chakra::other_json) {
            Some(chakra::OtherJson::PyTorch) => Ok(()),
            _ => against(0, "it has no `schema` of PyTorch"),
        },
    },
    Kind {
        what: "a trace of a profiler",
        reader: Reader::Nothing(JOIN),
        by: "Kineto, Chrome, Perfetto",
        forms: "",
        left_out: "",
        sample: "{\"traceEvents\": []}\n",
        sniff: |content| match content.text.and_then(chakra::other_json) {
            Some(chakra::OtherJson::Profiler) => Ok(()),
            _ => against(0, "it has no `traceEvents`"),
        },
    },
    Kind {
        what: "a Chakra execution trace",
        reader: Reader::Trace(Format::Chakra),
        by: "Chakra's converters of PyTorch and of text (MLCommons), MSCCL's converter, STAGE, ASTRA-sim's generators",
        forms: "protobuf of 0.0.4 to 1, with or without a version; JSON of the jsonizer, of the feeder and of STAGE",
        left_out: "control dependencies, start times and priorities (a note says so); sizes of tensors; collectives over \
            some dimensions of a network are refused",
        sample: "{\"nodes\": [{\"id\": 1, \"name\": \"work\", \"type\": \"COMP_NODE\", \"duration_micros\": 5}]}\n",
        sniff: |content| match chakra::why_not(content.bytes) {
            None => Ok(()),
            Some(why) => {
                let is_json = content.text.is_some_and(|text| text.trim_start().starts_with(['{', '[']));
                against(2 * u8::from(is_json || content.text.is_none()), why)
            }
        },
    },
    Kind {
        what: "a list of groups of ranks",
        reader: Reader::Nothing(
            "it stands beside a Chakra trace, which is the file to give; `headway import TRACE --groups FILE` takes a list of another name",
        ),
        by: "ASTRA-sim, STAGE",
        forms: "JSON, the ranks of each group by its name",
        left_out: "",
        sample: "{\"1\": [0, 1], \"2\": [2, 3]}\n",
        sniff: |content| match content.text.map(serde_json::from_str::<serde_json::Map<_, _>>) {
            Some(Ok(groups)) if !groups.is_empty() && groups.values().all(serde_json::Value::is_array) => {
                Ok(())
            }
            _ => against(0, "it is no table of lists in JSON"),
        },
    },
    Kind {
        what: "a fat-tree of htsim",
        reader: Reader::Topology(Network::Htsim),
        by: "csg-htsim, uet-htsim (`.topo`)",
        forms: "two and three tiers",
        left_out: "`Queue_up` and `Queue_down` are refused: `buffer` of [fabric] says how much room ports have",
        sample: "Nodes 2\nTiers 2\nPodsize 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Up 1\nRadix_Down 1\nDownlink_Latency_ns 1000\n\
            Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n",
        sniff: |content| {
            let keys = ["tiers", "podsize", "tier"];
            let has = |row: &Vec<&str>| keys.contains(&row[0].to_ascii_lowercase().as_str());
            let is_pair = content.row(0).len() == 2;
            match content.rows.iter().take(8).any(has) && is_pair {
                true => Ok(()),
                false => against(
                    u8::from(content.first() == "Nodes"),
                    format!("it {}, and has no line `Tiers N`", content.begins()),
                ),
            }
        },
    },
    Kind {
        what: "a connection matrix of htsim",
        reader: Reader::Trace(Format::Matrix),
        by: "csg-htsim, uet-htsim (`.cm`, `.tm`), and their generators",
        forms: "numbers as htsim reads them; start times in picoseconds, or with `start_unit` in microseconds",
        left_out: "flows without an end (`size 0`) are refused",
        sample: "Nodes 32\nConnections 1\n0->1 id 1 start 0 size 100000\n",
        sniff: |content| {
            let is_pair =
                |word: &str| word.split_once("->").is_some_and(|(from, to)| is_whole(from) && is_whole(to));
            let heads = ["Nodes", "Connections", "Triggers", "Failures"];
            // Before `Nodes`, with which a fat-tree begins, too.
            if content
                .rows
                .iter()
                .take(8)
                .any(|row| ["tiers", "podsize"].contains(&row[0].to_ascii_lowercase().as_str()))
            {
                return against(1, "it has tiers of switches");
            }
            let rows = content.rows.iter().take(64);
            if rows.clone().any(|row| is_pair(row[0]) || (heads.contains(&row[0]) && row.len() == 2)) {
                return Ok(());
            }
            let near = names::obvious_slip(content.first(), heads).is_some();
            against(2 * u8::from(near), format!("it {}, and not with `Nodes N`", content.begins()))
        },
    },
    Kind {
        what: "a GOAL schedule",
        reader: Reader::Trace(Format::Goal),
        by: "LogGOPSim's schedule generators (spcl), ATLAHS",
        forms: "text, as `txt2bin` reads it",
        left_out: "more than one interface a host (`nic`) is refused",
        sample: "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n",
        sniff: |content| {
            let Some(text) = content.text else { return against(0, "it is no text") };
            // By hand, since the rows of `content` know comments with `#` only.
            let mut rest = text.trim_start();
            while let Some(comment) = rest.strip_prefix("//").or_else(|| rest.strip_prefix("/*")) {
                let end = if rest.starts_with("//") { "\n" } else { "*/" };
                rest = comment.find(end).map_or("", |at| comment[at + end.len()..].trim_start());
            }
            let word = rest.split(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
            let is_rank = word == "rank" && text.contains('{');
            if word == "num_ranks" || is_rank {
                return Ok(());
            }
            let near = text.contains("num_ranks") || names::obvious_slip(word, ["num_ranks"]).is_some();
            against(2 * u8::from(near), format!("it {}, and not with `num_ranks N`", content.begins()))
        },
    },
    Kind {
        what: "a workload of SimAI",
        reader: Reader::Trace(Format::SimAi),
        by: "AICB and SimAI (aliyun); text workloads of ASTRA-sim 1 with these kinds of parallelism",
        forms: "HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD, DATA and MICRO; one pass",
        left_out: "messages between stages of a pipeline, which such a file does not hold (a note says so)",
        sample: "MICRO all_gpus: 4\n1\nlayer -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 8000 0\n",
        sniff: |content| {
            let head = content.row(0);
            let keys = ["model_parallel_NPU_group:", "all_gpus:", "ep:", "pp:", "vpp:", "ga:"];
            let is_layer = |row: &[&str]| row.len() == 12 && row[1].parse::<i64>().is_ok();
            if simai::is_policy(content.first())
                || head.iter().any(|word| keys.contains(word))
                || is_layer(content.row(2))
            {
                return Ok(());
            }
            against(
                0,
                format!(
                    "it {}, and not with a kind of parallelism such as HYBRID_TRANSFORMER",
                    content.begins()
                ),
            )
        },
    },
    Kind {
        what: "a configuration of HPCC's ns-3",
        reader: Reader::Nothing("give the files that it names: `headway import topology.txt flow.txt`"),
        by: "HPCC's ns-3 and those made from it",
        forms: "",
        left_out: "",
        sample: "ENABLE_QCN 1\nTOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\n",
        sniff: |content| {
            let keys = ["TOPOLOGY_FILE", "FLOW_FILE", "ENABLE_QCN", "CC_MODE"];
            // Two of them, because one may begin a line of any file.
            let is = content.rows.iter().filter(|row| keys.contains(&row[0])).count() > 1;
            if is { Ok(()) } else { against(0, "it names no TOPOLOGY_FILE") }
        },
    },
    Kind {
        what: "a topology of an ns-3 of HPCC's family",
        reader: Reader::Topology(Network::Ns3),
        by: "HPCC, ns3-rdma, ConWeave, PowerTCP and Reverie, ASTRA-sim's and SimAI's ns-3",
        forms: "heads of 3, 4 and 6 words; rates with a unit, or in bits per second",
        left_out: "lines behind the links that the head promises (a note says so)",
        sample: "3 1 2\n0\n0 1 100Gbps 1us 0\n0 2 100Gbps 1us 0\n",
        sniff: |content| {
            let is_link = |row: &Vec<&str>| {
                row.len() == 5
                    && row[..2].iter().all(|word| is_whole(word))
                    && row[2].starts_with(|letter: char| letter.is_ascii_digit())
                    && row[3].starts_with(|letter: char| letter.is_ascii_digit())
                    && (row[3].ends_with('s') || row[2].ends_with("bps"))
            };
            let has_link = content.rows.iter().any(is_link);
            let head = content.row(0);
            let is_head = head.len() > 1
                && head[..2].iter().all(|word| is_whole(word))
                && content.rows.first().is_none_or(|row| !is_link(row));
            match (is_head, has_link) {
                (true, true) => Ok(()),
                (false, true) => against(
                    2,
                    format!("it {}, and not with numbers of nodes, switches and links", content.begins()),
                ),
                (true, false) => against(1, "it has no link: `A B RATE DELAY ERROR_RATE`"),
                (false, false) => against(0, "it has no link: `A B RATE DELAY ERROR_RATE`"),
            }
        },
    },
    Kind {
        what: "a network of ASTRA-sim's analytical simulators",
        reader: Reader::Nothing(
            "it has no switches and links: write a [topology], or give a topology of ASTRA-sim's ns-3",
        ),
        by: "ASTRA-sim",
        forms: "",
        left_out: "",
        sample: "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
        sniff: |content| {
            let keys = ["topology:", "npus_count:", "bandwidth:", "latency:"];
            let count = content.rows.iter().filter(|row| keys.contains(&row[0])).count();
            if count > 1 { Ok(()) } else { against(0, "it has no `npus_count:`") }
        },
    },
    Kind {
        what: "a list of nodes to trace of HPCC's ns-3",
        reader: Reader::Nothing("Headway needs no such list: `sample` of a scenario says what is sampled"),
        by: "HPCC's ns-3 and those made from it",
        forms: "",
        left_out: "",
        sample: "3\n0 1 2\n",
        sniff: |content| {
            let (head, nodes) = (content.row(0), content.row(1));
            let numbers = content.rows.iter().skip(1).filter(|row| row.iter().all(|word| is_number(word)));
            let count = head.first().and_then(|word| word.parse::<usize>().ok());
            // A flow list may begin with such a line, but has further lines of numbers.
            let distinct: std::collections::BTreeSet<_> = nodes.iter().collect();
            let is = head.len() == 1
                && count == Some(nodes.len())
                && nodes.iter().all(|word| is_whole(word))
                && distinct.len() == nodes.len()
                && numbers.count() == 1;
            if is { Ok(()) } else { against(0, "its second line is no list of nodes") }
        },
    },
    Kind {
        what: "a flow list of an ns-3 of HPCC's family",
        reader: Reader::Trace(Format::Hpcc),
        by: "HPCC, ns3-rdma, ConWeave, PowerTCP and Reverie, and their generators",
        forms: "a count, and then `src dst class port bytes start_s`, `src dst class bytes start_s`, or ns3-rdma's `src dst class packets \
            start_s end_s` (packets of 1000 B)",
        left_out: "the port; what stands behind the flows that the first line promises (a note says so)",
        sample: "1\n0 1 3 100 1000000 0.001\n",
        sniff: |content| {
            let head = content.row(0);
            let rows = || content.rows.iter().skip(1);
            let is_flow = |row: &Vec<&str>| {
                (5..=6).contains(&row.len())
                    && row.iter().all(|word| is_number(word))
                    && row[..2].iter().all(|word| is_whole(word))
            };
            if head.len() != 1 || !is_whole(head[0]) {
                let near = u8::from(content.rows.iter().take(4).any(is_flow));
                return against(
                    2 * near,
                    format!("it {}, and not with the number of its flows", content.begins()),
                );
            }
            match rows().next() {
                None => Ok(()),
                Some(row) if is_flow(row) => Ok(()),
                Some(row) => against(
                    1,
                    format!(
                        "its second line, `{}`, is no `src dst class port bytes start`",
                        short(&row.join(" "))
                    ),
                ),
            }
        },
    },
    Kind {
        what: "a flow log of nfdump",
        reader: Reader::Log(Log::Nfdump),
        by: "nfdump `-o csv`, of NetFlow, IPFIX, and sFlow (`sfcapd`)",
        forms: "the 48 columns of 1.6, `ts` to `tr`, and `firstSeen,duration,proto,srcAddr,...` of 1.7; comma or semicolon",
        left_out: "the summary at the end, records without an address or with no byte; counters beside bytes",
        sample: "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n\
            2026-01-01 10:00:00,2026-01-01 10:00:05,5.000,10.0.2.20,10.0.3.30,51514,443,TCP,.AP.SF,0,0,10,1200,0,0\n",
        sniff: |content| {
            let names = logs::heads(content.row(0));
            let old = ["ts", "sa", "da", "ibyt"];
            let new = ["firstseen", "srcaddr", "dstaddr", "bytes"];
            let has =
                |wanted: &[&str]| wanted.iter().filter(|name| names.iter().any(|own| own == *name)).count();
            match has(&old).max(has(&new)) {
                4 => Ok(()),
                count => against(
                    (count / 2) as u8,
                    format!(
                        "it {}, and not with `ts,te,td,sa,da,...` or `firstSeen,duration,...`",
                        content.begins()
                    ),
                ),
            }
        },
    },
    Kind {
        what: "a flow log of a VPC",
        reader: Reader::Log(Log::Vpc),
        by: "AWS VPC flow logs, as files in S3 or as CloudWatch exports them",
        forms: "the default format of version 2 with or without its header, and own formats with a header",
        left_out: "records that are not ACCEPT, NODATA and SKIPDATA; what the other end's interface recorded too",
        sample: "2 123456789010 eni-1235b8ca123456789 172.31.16.139 172.31.16.21 20641 22 6 20 4249 1418530010 1418530070 ACCEPT OK\n",
        sniff: |content| {
            let row = content.row(0);
            let names: Vec<String> = row.iter().map(|word| word.to_lowercase().replace('_', "-")).collect();
            let count = ["srcaddr", "dstaddr", "bytes", "start"]
                .iter()
                .filter(|name| names.iter().any(|own| own == *name))
                .count();
            let is_record = row.len() == 14 && ["OK", "NODATA", "SKIPDATA"].contains(&row[13]);
            match count {
                4 => Ok(()),
                _ if is_record => Ok(()),
                _ => against(
                    (count / 2) as u8,
                    format!("it {}, and not with `version account-id ...` or a record", content.begins()),
                ),
            }
        },
    },
    Kind {
        what: "a flow log",
        reader: Reader::Log(Log::Tuples),
        by: "collectors, and yours",
        forms: "a header with a time, two addresses and bytes in any order, such as `ts_us,src_ip,dst_ip,src_port,dst_port,bytes`; units at the \
            end of a name; comma, semicolon or tabulator",
        left_out: "rows without a time, an address or a byte (each with its reason); columns of other names",
        sample: "ts_us,src_ip,dst_ip,src_port,dst_port,bytes\n1764300000000000,10.0.0.1,10.0.1.2,40000,443,1500\n",
        sniff: |content| {
            let names = logs::heads(content.row(0));
            let is = |known: &[&str]| names.iter().any(|name| known.contains(&logs::bare(name)));
            let has = [is(logs::TIMES), is(logs::SOURCES), is(logs::TARGETS), is(logs::SIZES)];
            let count = has.iter().filter(|is| **is).count();
            // A table of flows has the same columns as a log, with numbers of hosts in place of addresses.
            let is_table = names.iter().any(|name| name == "id" || name == "name")
                && names.iter().any(|name| name.starts_with("start-"));
            match (count, is_table) {
                (4, false) => Ok(()),
                (4, true) => against(2, "it has the columns `id` and `start_s` of a table of flows"),
                _ => {
                    let what = ["a time", "a source", "a destination", "bytes"];
                    let lost =
                        what.iter().zip(has).filter(|(_, is)| !is).map(|(what, _)| *what).collect::<Vec<_>>();
                    against(
                        (count > 1) as u8 + u8::from(count > 2),
                        format!("it {}, and no column is {}", content.begins(), lost.join(", ")),
                    )
                }
            }
        },
    },
    Kind {
        what: "a table of flows",
        reader: Reader::Table,
        by: "Headway (`headway export --format csv`), and yours",
        forms: "columns `id`, `src`, `dst`, `bytes`, `start_s` in any order, others beside them",
        left_out: "columns of other names are kept in the manifest, and say nothing about the flow",
        sample: "id,src,dst,bytes,start_s\n0,0,1,100000,0\n",
        sniff: |content| {
            let names: Vec<String> = content
                .row(0)
                .join(" ")
                .split(',')
                .map(|name| name.trim().trim_matches('"').to_lowercase())
                .collect();
            let count = ["id", "src", "dst", "bytes", "start_s"]
                .iter()
                .filter(|name| names.iter().any(|own| own == *name))
                .count();
            match count {
                3.. => Ok(()),
                _ => against(
                    count as u8,
                    format!("it {}, and not with the columns `id,src,dst,bytes,start_s`", content.begins()),
                ),
            }
        },
    },
    Kind {
        what: "a network of cables in TOML",
        reader: Reader::Topology(Network::Graph),
        by: "Headway, and yours",
        forms: "`hosts`, `switches` and a list of `link`",
        left_out: "",
        sample: "hosts = 2\nswitches = 1\nlink = [\n  { a = \"h0\", b = \"s0\", rate = \"10 Gbps\", delay = \"1 us\" },\n  { a = \"h1\", b = \"s0\", \
            rate = \"10 Gbps\", delay = \"1 us\" },\n]\n",
        sniff: |content| {
            let keys = ["hosts", "switches", "link", "[[link]]"];
            let is_key = |row: &Vec<&str>| {
                let (key, _) = row[0].split_once('=').unwrap_or((row[0], ""));
                keys.contains(&key) && (row[0] == "[[link]]" || row.join(" ").contains('='))
            };
            let count = content.rows.iter().take(64).filter(|row| is_key(row)).count();
            match count {
                2.. => Ok(()),
                _ => against(count as u8, format!("it {}, and not with `hosts = N`", content.begins())),
            }
        },
    },
    Kind {
        what: "a distribution of sizes",
        reader: Reader::Sizes,
        by: "HPCC, ConWeave, PowerTCP, HKUST's TrafficGenerator, ns-2, pFabric, pHost's YAPS, Homa's simulator",
        forms: "sizes in bytes or packets, probabilities to 1 or percentages to 100, with a header or a mean in line 1, or without",
        left_out: "the second of three columns, which its writers do not read either",
        sample: "0 0\n1000 0.5\n50000 1\n",
        sniff: |content| {
            let split = |row: &Vec<&str>| -> Vec<String> {
                row.join(" ")
                    .split([',', ';', ' '])
                    .map(str::trim)
                    .filter(|word| !word.is_empty())
                    .map(String::from)
                    .collect()
            };
            let is_size =
                |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.');
            let rows: Vec<Vec<String>> = content.rows.iter().map(split).collect();
            let body = rows
                .iter()
                .skip(usize::from(rows.first().is_some_and(|row| row.len() == 1 || !is_size(&row[0]))));
            let is_row = |row: &&Vec<String>| {
                (2..=4).contains(&row.len())
                    && is_size(&row[0])
                    && row.last().is_some_and(|last| is_number(last))
            };
            let (all, good) = (body.clone().count(), body.clone().filter(is_row).count());
            let last = body.last().and_then(|row| row.last()?.parse::<f64>().ok());
            match last {
                Some(last)
                    if all == good
                        && all > 0
                        && ((last - 1.0).abs() < 0.2 || (last - 100.0).abs() < 20.0) =>
                {
                    Ok(())
                }
                Some(last) if all == good && all > 0 => {
                    against(2, format!("its last line ends in {last}, and not in 1 or in 100"))
                }
                _ => against(u8::from(2 * good > all), "its lines are not a size and a probability each"),
            }
        },
    },
];

impl Kind {
    /// True if it is read as this format of traces.
    pub fn is(&self, format: Format) -> bool {
        self.reader == Reader::Trace(format)
    }
}

/// Why a file is of no kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The two likeliest kinds, and what speaks against each.
    pub text: String,
}

/// The kind of a file.
pub fn find(bytes: &[u8]) -> Result<&'static Kind, Unknown> {
    let content = Content::of(bytes);
    if content.text.is_some() && content.rows.is_empty() {
        return Err(Unknown { text: "the file is empty".into() });
    }
    let mut left: Vec<(&Kind, Against)> = Vec::new();
    for kind in &KINDS {
        match (kind.sniff)(&content) {
            Ok(()) => return Ok(kind),
            Err(against) => left.push((kind, against)),
        }
    }
    // A kind that is not read is no help to name.
    left.retain(|(kind, _)| !matches!(kind.reader, Reader::Nothing(_)));
    // Of those that are equally near, a text is rather another text.
    let is_text = |kind: &Kind| !kind.sample.is_empty() && !kind.is(Format::Chakra);
    left.sort_by_key(|(kind, against)| {
        std::cmp::Reverse((against.near, is_text(kind) == content.text.is_some()))
    });
    let said: Vec<String> =
        left.iter().take(2).map(|(kind, against)| format!("not {}: {}", kind.what, against.why)).collect();
    Err(Unknown { text: format!("this is no file that Headway knows; it is {}; and {}", said[0], said[1]) })
}

/// Why a file is not what it is taken for, if it is certainly something else: what it is, and what speaks against what it was taken for.
pub fn other(bytes: &[u8], taken: impl Fn(&Kind) -> bool) -> Option<(String, Option<&'static str>)> {
    let found = find(bytes).ok().filter(|kind| !taken(kind))?;
    let content = Content::of(bytes);
    let wanted: Vec<&Kind> = KINDS.iter().filter(|kind| taken(kind)).collect();
    let mut why = None;
    for kind in &wanted {
        // It may be of two kinds.
        let Err(against) = (kind.sniff)(&content) else { return None };
        why.get_or_insert((kind.what, against.why));
    }
    let help = match found.reader {
        Reader::Nothing(help) => help,
        Reader::Trace(_) => "`kind = \"trace\"` of [[traffic]] and `headway import` read it",
        Reader::Table => "`kind = \"file\"` of [[traffic]] and `headway import` read it",
        Reader::Topology(_) => {
            "`kind = \"graph\"` of [topology] reads it by `file`; `headway import` takes it beside a file of traffic"
        }
        Reader::Log(_) => "`headway import` makes a table of flows of it, and a scenario around it",
        Reader::Sizes => "`cdf` of [[traffic]] reads it, as with `kind = \"poisson\"`",
    };
    let text = match why {
        Some((what, why)) => format!("this is {}, and not {what}: {why}", found.what),
        None => format!("this is {}", found.what),
    };
    Some((text, Some(help)))
}
