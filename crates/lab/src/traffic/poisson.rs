//! Poisson arrivals over a flow-size distribution.

use super::load::{self, Capacity, Racks, Reference};
use super::sizes::{self, Sizes};
use super::{
    Common, Context, Pattern, Resolved, check_reachable, element, host_set, hosts_json, object, start,
};
use crate::text::{Item, Problem, Reader, ScenarioError};
use crate::workload::Cdf;
use crate::workload::random::{Purpose, Stream};
use headway_sim::FlowSpec;
use headway_units::Time;
use serde_json::{Value as Json, json};

/// When arrivals end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Until {
    Flows(u64),
    Time(Time),
}

/// One global Poisson process; every arrival draws a size, a source, and a destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    cdf: Cdf,
    mean_gap_ps: f64,
    start: Time,
    until: Until,
    pairs: Pairs,
    /// What the offered load is on other links, when it is more than they carry.
    pub warning: Option<String>,
}

/// Who may send to whom.
#[derive(Clone, Debug, PartialEq)]
enum Pairs {
    /// Any of so many hosts to any other, or to any other outside of its group.
    Hosts(u32, Option<Racks>),
    /// Named hosts to named hosts.
    Between(Vec<u32>, Vec<u32>),
}

/// `kind = "poisson"`.
pub fn read(table: &Reader<'_>, context: &Context<'_>) -> Result<(Pattern, Resolved), ScenarioError> {
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
    let poisson = Poisson { cdf: sizes.cdf, mean_gap_ps: 1e12 / rate, start, until, pairs, warning };
    Ok((Pattern::Poisson(Box::new(poisson)), object(resolved)))
}

/// Which links the load is a share of, and their bits per second for flows that all count.
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

fn mean_payload(table: &Reader<'_>, sizes: &Sizes) -> Result<f64, ScenarioError> {
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
        (Some(item), None) => item.int(1, 1_000_000_000).map(Until::Flows),
        (None, Some(item)) => item.period().map(Until::Time),
        (Some(item), Some(_)) => {
            let text = "`flows` and `duration` both say when arrivals end".to_string();
            Err(item.fail(Problem::Contradiction(text)).help("keep one of them"))
        }
        (None, None) => {
            let problem = Problem::MissingKey { key: "flows".into(), table: table.name() };
            Err(ScenarioError::new(problem, table.at()).help("say `flows = 1000`, or `duration = \"10 ms\"`"))
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
    /// Flows on average.
    pub fn expected_flows(&self) -> f64 {
        match self.until {
            Until::Flows(n) => n as f64,
            Until::Time(t) => t.0 as f64 / self.mean_gap_ps,
        }
    }

    /// Distribution of sizes.
    pub(crate) fn cdf(&self) -> &Cdf {
        &self.cdf
    }

    /// Messages a second.
    pub(crate) fn rate(&self) -> f64 {
        1e12 / self.mean_gap_ps
    }

    /// Bytes of a flow on average.
    pub(super) fn mean_bytes(&self) -> f64 {
        self.cdf.mean()
    }

    /// Twice the expected time of all arrivals, and some of the largest messages after them.
    pub(super) fn horizon(&self) -> (Time, u64) {
        let arrivals = 2.0 * self.expected_flows() * self.mean_gap_ps;
        (self.start.saturating_add(Time(arrivals as u64)), self.cdf.range().1.saturating_mul(4))
    }

    /// Gaps, sizes and pairs have streams of their own: another load keeps the sizes and the pairs.
    pub(super) fn generate(&self, common: &Common, seed: u64, entity: u64, push: &mut dyn FnMut(FlowSpec)) {
        let mut gaps = Stream::new(seed, Purpose::Gaps, entity);
        let mut sizes = Stream::new(seed, Purpose::Sizes, entity);
        let mut pairs = Stream::new(seed, Purpose::Pairs, entity);
        let mut now = self.start;
        for index in 0.. {
            now = now.saturating_add(gaps.exponential(self.mean_gap_ps));
            let over = match self.until {
                Until::Flows(n) => index >= n,
                Until::Time(length) => now >= self.start.saturating_add(length),
            };
            if over {
                break;
            }
            let bytes = self.cdf.sample(&mut sizes);
            let (src, dst) = self.pair(&mut pairs);
            push(common.flow(src, dst, bytes, now, index as usize));
        }
    }

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
