//! Poisson arrivals over a flow-size distribution.

use super::draw::Ground;
use super::keys::{START, Takes, key, needed};
use super::load::{self, Capacity, NominalLoad, Racks, Reference};
use super::reading::{Resolved, check_reachable, element, host_set, hosts_json, object, start};
use super::sizes::{self, MessageSizes};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo, RandomArrivals};
use crate::text::{Item, Problem, Reader, ScenarioError, Value};
use crate::workload::random::{Purpose, Stream};
use crate::workload::{Cdf, library};
use headway_units::Time;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// End of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Until {
    Flows(u64),
    Time(Time),
    /// As long as the network needs to reach a steady state, which only the whole scenario knows.
    Steady,
}

/// The word for arrivals that last until the network is in a steady state and was measured there.
const STEADY: &str = "steady";
/// More messages than anybody simulates.
const MOST_FLOWS: u64 = 1_000_000_000;

/// One global Poisson process; every arrival draws a size, a source, and a destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    cdf: Cdf,
    mean_gap_ps: f64,
    start: Time,
    until: Until,
    pairs: Pairs,
    nominal: NominalLoad,
    /// Load on those of the hosts' links and the core's that it loads most.
    heaviest: NominalLoad,
    /// Warning with the offered load on other links, if it is more than they carry.
    warning: Option<String>,
}

/// Pairs of hosts that flows may have.
#[derive(Clone, Debug, PartialEq)]
enum Pairs {
    /// Any of so many hosts to any other, or to any other outside of its group.
    Hosts(u32, Option<Racks>),
    /// Named hosts to named hosts.
    Between(Vec<u32>, Vec<u32>),
}

impl Declared for Poisson {
    const INFO: PatternInfo = PatternInfo {
        name: "poisson",
        summary: "Poisson arrivals over a flow-size distribution at a load",
        keys: &[
            needed("cdf", Takes::Sizes, "flow sizes; see below"),
            sizes::INTERPOLATION,
            sizes::SIZE_UNIT,
            needed("load", Takes::PositiveShare, "see below"),
            key(
                "load_reference",
                Takes::Word(&["host-links", "core-links", "receiver-links"]),
                "`host-links`; with `senders` `receiver-links`",
                "links that the load is a share of",
            ),
            key(
                "load_bytes",
                Takes::Word(&["payload", "wire"]),
                "`wire`",
                "application bytes, or also headers, framing and padding",
            ),
            key(
                "mean",
                Takes::Word(&["exact", "published"]),
                "`exact`",
                "mean of the table, or the constant that the source's scripts divide by",
            ),
            key(
                "pairs",
                Takes::Word(&["any", "inter-rack"]),
                "`any`",
                "true if source and destination may be at one switch",
            ),
            key(
                "senders",
                Takes::Hosts,
                "all hosts",
                "the senders, instead of `pairs`; a count means the first hosts",
            ),
            key(
                "receivers",
                Takes::Hosts,
                "all hosts",
                "the receivers, with `senders`; a count means the hosts after the last sender",
            ),
            key(
                "flows",
                Takes::CountOrWord(&[STEADY]),
                "or `duration`",
                "end of the arrivals; `steady`: seven relaxation times, of which `warmup` leaves out two unless it is set",
            ),
            key("duration", Takes::Duration, "or `flows`", "end of the arrivals"),
            START,
        ],
        counts: &["flows", "duration"],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        _: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let sizes = sizes::read(table, context)?;
        let load_item = table.need("load")?;
        let load = load_item.number()?;
        if load > 1.0 {
            let text = format!("a load of {load} is more than the reference links carry");
            return Err(load_item
                .fail(Problem::Overload(text))
                .help("a load is a share of capacity, from 0 to 1"));
        }
        if load <= 0.0 {
            return Err(load_item.range("more than 0", load));
        }
        let wire = table.get("load_bytes").map_or(Ok(1), |i| i.choice(&["payload", "wire"]))? == 1;
        let pairs = read_pairs(table, context)?;
        let mean = mean_payload(table, &sizes)?;
        // Headers come on top of a published mean as they do on top of the exact one.
        let overhead = load::mean_wire(&sizes.cdf, &context.sizes) / sizes.cdf.mean();
        let counted_bits = 8.0 * mean * if wire { overhead } else { 1.0 };
        let capacity = load::capacity(context.topology);
        let crossing = if matches!(pairs, Pairs::Hosts(_, Some(_))) { 1.0 } else { capacity.crossing };
        let (reference, loaded_bps) = read_reference(table, &load_item, context, &pairs, crossing)?;
        let rate = load * loaded_bps / counted_bits;
        let (start, until) = (start(table)?, read_until(table)?);
        let true_bits = 8.0 * load::mean_wire(&sizes.cdf, &context.sizes) * rate;
        let warning = overload(&capacity, true_bits, crossing, &pairs, table.name());
        let core = |c: f64| matches!(pairs, Pairs::Hosts(..)).then_some(true_bits * crossing / c);
        let mut resolved = json!({
            "cdf": sizes.name, "interpolation": sizes.cdf.interpolation().name(), "cdf_digest": sizes.digest,
            "load": load, "load_reference": Reference::NAMES[reference as usize],
            "load_bytes": if wire { "wire" } else { "payload" },
            "mean": if mean == sizes.cdf.mean() { "exact" } else { "published" },
            "pairs": if matches!(pairs, Pairs::Hosts(_, Some(_))) { "inter-rack" } else { "any" },
            "flows": if let Until::Flows(n) = until { Some(n) } else { None },
            "duration": if let Until::Time(t) = until { Some(t.to_string()) } else { None },
            "start": start.to_string(),
            "mean_bytes": mean, "mean_wire_bytes": mean * overhead, "arrivals_per_s": rate,
            "host_link_load": true_bits / capacity.hosts_bps,
            "core_link_load": capacity.core_bps.and_then(core),
        });
        if let Pairs::Between(senders, receivers) = &pairs {
            resolved["senders"] = hosts_json(senders);
            resolved["receivers"] = hosts_json(receivers);
            resolved["receiver_link_load"] = Json::from(true_bits / loaded_bps);
        }
        let (share, receivers) = match &pairs {
            Pairs::Hosts(..) if reference == Reference::CoreLinks => (crossing, Vec::new()),
            Pairs::Hosts(..) => (1.0, Vec::new()),
            Pairs::Between(_, receivers) => (1.0, receivers.clone()),
        };
        let nominal = NominalLoad { on: reference, bps: true_bits * share, receivers };
        let heaviest = match &pairs {
            Pairs::Between(..) => nominal.clone(),
            Pairs::Hosts(..) => {
                let core = capacity.core_bps.map_or(0.0, |core| true_bits * crossing / core);
                let (on, share) = if core > true_bits / capacity.hosts_bps {
                    (Reference::CoreLinks, crossing)
                } else {
                    (Reference::HostLinks, 1.0)
                };
                NominalLoad { on, bps: true_bits * share, receivers: Vec::new() }
            }
        };
        let mean_gap_ps = 1e12 / rate;
        let poisson =
            Poisson { cdf: sizes.cdf, mean_gap_ps, start, until, pairs, nominal, heaviest, warning };
        Ok((poisson, object(resolved)))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let flows = ground.dice.count(1, ground.packets.min(80));
        let mean = ground.dice.count(1, (ground.packets / flows).max(1)) * ground.payload;
        let cdf = match ground.dice.below(3) {
            // A published table has its own mean, in tens of packets or in thousands.
            0 if flows < 4 && ground.packets > 1_000 => {
                let workloads = library::WORKLOADS;
                workloads[ground.dice.below(workloads.len() as u64) as usize].name.into()
            }
            1 => json!({ "kind": "pareto", "mean": format!("{mean} B"), "shape": 1.1 + ground.dice.share(),
                "most": format!("{} B", mean.saturating_mul(20)) }),
            _ => json!({ "kind": "uniform", "mean": format!("{mean} B"), "spread": ground.dice.share() }),
        };
        let load = ground.dice.magnitude(0.05, 1.0);
        json!({ "cdf": cdf, "load": load, "flows": flows, "start": ground.start() })
    }
}

impl Pattern for Poisson {
    /// Gaps, sizes and pairs have streams of their own: another load keeps the sizes and the pairs.
    fn generate(&self, making: &mut Making<'_>) {
        let mut gaps = making.stream(Purpose::Gaps);
        let mut sizes = making.stream(Purpose::Sizes);
        let mut pairs = making.stream(Purpose::Pairs);
        let mut now = self.start;
        for index in 0.. {
            now = now.saturating_add(gaps.exponential(self.mean_gap_ps));
            let over = match self.until {
                Until::Flows(n) => index >= n,
                Until::Time(length) => now >= self.start.saturating_add(length),
                // It has a number by the time that anything is made.
                Until::Steady => true,
            };
            if over {
                break;
            }
            let bytes = self.cdf.sample(&mut sizes);
            let (src, dst) = self.pair(&mut pairs);
            making.push(making.common.flow(src, dst, bytes, now, index as usize));
        }
    }

    /// Twice the expected time of all arrivals, and some of the largest messages after them.
    fn horizon(&self, hosts: u32) -> (Time, u64) {
        let arrivals = 2.0 * self.expected_flows(hosts) * self.mean_gap_ps;
        (self.start.saturating_add(Time(arrivals as u64)), self.cdf.range().1.saturating_mul(4))
    }

    fn expected_flows(&self, _: u32) -> f64 {
        match self.until {
            Until::Flows(n) => n as f64,
            Until::Time(t) => t.0 as f64 / self.mean_gap_ps,
            Until::Steady => 1.0,
        }
    }

    fn expected_bytes(&self, hosts: u32) -> u64 {
        (self.expected_flows(hosts) * self.cdf.mean()) as u64
    }

    fn is_spread(&self) -> bool {
        true
    }

    fn lasting(&self, seconds: f64) -> Option<(Arc<dyn Pattern>, u64)> {
        if self.until != Until::Steady {
            return None;
        }
        let flows = (seconds * 1e12 / self.mean_gap_ps).ceil().max(1.0) as u64;
        Some((Arc::new(Poisson { until: Until::Flows(flows), ..self.clone() }), flows))
    }

    fn is_steady(&self) -> bool {
        self.until == Until::Steady
    }

    fn warning(&self) -> Option<String> {
        self.warning.clone()
    }

    fn nominal_load(&self) -> Option<&NominalLoad> {
        Some(&self.nominal)
    }

    fn random_arrivals(&self) -> Option<RandomArrivals<'_>> {
        Some(RandomArrivals {
            sizes: &self.cdf,
            per_second: 1e12 / self.mean_gap_ps,
            start: self.start,
            heaviest: &self.heaviest,
        })
    }
}

/// Links that the load is a share of, and their bits per second for flows that all count.
fn read_reference(
    table: &Reader<'_>,
    load: &Item<'_>,
    context: &Context<'_>,
    pairs: &Pairs,
    crossing: f64,
) -> Result<(Reference, f64), ScenarioError> {
    let item = table.get("load_reference");
    let usual =
        if matches!(pairs, Pairs::Between(..)) { Reference::ReceiverLinks } else { Reference::HostLinks };
    let all = [Reference::HostLinks, Reference::CoreLinks, Reference::ReceiverLinks];
    let reference = item.as_ref().map_or(Ok(usual), |i| i.choice(Reference::NAMES).map(|n| all[n]))?;
    let at = item.as_ref().unwrap_or(load);
    let no = |text: String, help: &'static str| Err(at.fail(Problem::Contradiction(text)).help(help));
    let capacity = load::capacity(context.topology);
    match (reference, pairs, capacity.core_bps) {
        (Reference::HostLinks, Pairs::Hosts(..), _) => Ok((reference, capacity.hosts_bps)),
        (Reference::CoreLinks, Pairs::Hosts(..), Some(core)) => Ok((reference, core / crossing)),
        (Reference::ReceiverLinks, Pairs::Between(senders, receivers), _) => {
            Ok((reference, load::inflow(context.topology, senders, receivers)))
        }
        (Reference::CoreLinks, Pairs::Hosts(..), None) => {
            let kind = context.topology.kind;
            no(
                format!("a topology of kind \"{kind}\" has no core links to load"),
                "load_reference = \"host-links\" always works",
            )
        }
        (Reference::ReceiverLinks, Pairs::Hosts(..), _) => no(
            "every host receives, so that there are no receivers' links to tell apart".into(),
            "load_reference = \"host-links\" means them all, or name `senders` and `receivers`",
        ),
        (_, Pairs::Between(..), _) => no(
            "with `senders` and `receivers` the load is that of the receivers' links".into(),
            "write load_reference = \"receiver-links\", or leave it out",
        ),
    }
}

fn mean_payload(table: &Reader<'_>, sizes: &MessageSizes) -> Result<f64, ScenarioError> {
    let Some(item) = table.get("mean") else { return Ok(sizes.cdf.mean()) };
    match (item.choice(&["exact", "published"])?, sizes.published) {
        (0, _) => Ok(sizes.cdf.mean()),
        (_, Some(published)) => Ok(published),
        (_, None) => {
            let text = format!("no mean was published with `{}`", sizes.name);
            Err(item.fail(Problem::Contradiction(text)).help("mean = \"exact\" is computed from the table"))
        }
    }
}

fn read_pairs(table: &Reader<'_>, context: &Context<'_>) -> Result<Pairs, ScenarioError> {
    let topology = context.topology;
    if topology.hosts < 2 {
        let problem = Problem::Contradiction("random pairs need two hosts".into());
        return Err(ScenarioError::new(problem, table.at()));
    }
    if table.get("senders").is_some() || table.get("receivers").is_some() {
        return read_between(table, context);
    }
    for host in 1..topology.hosts {
        check_reachable(table.at(), topology, 0, host)?;
    }
    let item: Option<Item<'_>> = table.get("pairs");
    let racks = match item {
        Some(item) if item.choice(&["any", "inter-rack"])? == 1 => match Racks::of(&topology.spec) {
            Some(racks) if racks.bounds.len() > 2 => Some(racks),
            _ => {
                let text = format!("this topology of kind \"{}\" has no two racks", topology.kind);
                return Err(item.fail(Problem::Contradiction(text)));
            }
        },
        _ => None,
    };
    Ok(Pairs::Hosts(topology.hosts, racks))
}

/// `senders` and `receivers`: lists of hosts, or how many of the first, and of those after the last sender.
fn read_between(table: &Reader<'_>, context: &Context<'_>) -> Result<Pairs, ScenarioError> {
    let topology = context.topology;
    if let Some(item) = table.get("pairs") {
        let table = "[[traffic]] with `senders` and `receivers`".into();
        return Err(item.fail(Problem::UnusedKey { key: "pairs".into(), table }));
    }
    let (from, to) = (table.need("senders")?, table.need("receivers")?);
    let senders = host_set(&from, topology, |n| (n <= topology.hosts).then(|| (0..n).collect()))?;
    let after = senders.iter().max().map_or(0, |host| host + 1);
    let rest = topology.hosts - after;
    let receivers = host_set(&to, topology, |n| (n <= rest).then(|| (after..after + n).collect()))?;
    for (hosts, item) in [(&senders, &from), (&receivers, &to)] {
        for (index, &host) in hosts.iter().enumerate() {
            check_reachable(element(item, index), topology, senders[0], host)?;
        }
    }
    if let ([receiver], Some(index)) = (&receivers[..], senders.iter().position(|s| receivers == [*s])) {
        let problem = Problem::SelfFlow { flow: "poisson".into(), host: *receiver };
        return Err(ScenarioError::new(problem, element(&from, index)));
    }
    Ok(Pairs::Between(senders, receivers))
}

fn read_until(table: &Reader<'_>) -> Result<Until, ScenarioError> {
    match (table.get("flows"), table.get("duration")) {
        (Some(item), None) if matches!(item.value(), Value::Text(_)) => {
            item.choice(&[STEADY]).map(|_| Until::Steady)
        }
        (Some(item), None) => item.int(1, MOST_FLOWS).map(Until::Flows),
        (None, Some(item)) => item.period().map(Until::Time),
        (Some(item), Some(_)) => {
            let text = "`flows` and `duration` both say when arrivals end".to_string();
            Err(item.fail(Problem::Contradiction(text)).help("keep one of them"))
        }
        (None, None) => {
            let problem = Problem::MissingKey { key: "flows".into(), table: table.name() };
            Err(ScenarioError::new(problem, table.at())
                .help("say `flows = 1000`, `flows = \"steady\"`, or `duration = \"10 ms\"`"))
        }
    }
}

/// A sentence when links that the load is not relative to would get more than they carry.
fn overload(capacity: &Capacity, bits: f64, crossing: f64, pairs: &Pairs, name: String) -> Option<String> {
    let Pairs::Hosts(..) = pairs else { return None };
    let hosts = bits / capacity.hosts_bps;
    let core = capacity.core_bps.map_or(0.0, |c| bits * crossing / c);
    let say =
        |share: f64, links: &str| format!("{name} offers {share:.2} times what the {links} links carry");
    match (hosts > 1.0, core > 1.0) {
        (true, _) => Some(say(hosts, "hosts'")),
        (_, true) => Some(say(core, "core")),
        _ => None,
    }
}

impl Poisson {
    /// A random source, and a random destination among the hosts that it may send to.
    fn pair(&self, stream: &mut Stream) -> (u32, u32) {
        match &self.pairs {
            Pairs::Hosts(hosts, inter_rack) => {
                let src = stream.below(u64::from(*hosts)) as u32;
                let (first, size) = inter_rack.as_ref().map_or((src, 1), |racks| racks.group(src));
                let dst = stream.below(u64::from(hosts - size)) as u32;
                (src, if dst < first { dst } else { dst + size })
            }
            Pairs::Between(senders, receivers) => {
                let src = senders[stream.below(senders.len() as u64) as usize];
                let own = receivers.iter().position(|r| *r == src);
                let others = receivers.len() - usize::from(own.is_some());
                let mut chosen = stream.below(others as u64) as usize;
                chosen += usize::from(own.is_some_and(|own| chosen >= own));
                (src, receivers[chosen])
            }
        }
    }
}
