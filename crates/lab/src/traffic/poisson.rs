//! Poisson arrivals over a flow-size distribution.

use super::load::{self, Capacity, Racks, Reference};
use super::{Common, Context, Pattern, Resolved, check_reachable, object, start};
use crate::scenario::files;
use crate::text::{Item, Problem, Reader, ScenarioError, Source, names};
use crate::workload::random::{Purpose, Stream};
use crate::workload::{Cdf, Interpolation, library};
use headway_sim::FlowSpec;
use headway_units::Time;
use serde_json::json;

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
    hosts: u32,
    /// Groups that a flow must leave.
    inter_rack: Option<Racks>,
    /// What the offered load is on other links, when it is more than they carry.
    pub warning: Option<String>,
}

struct Sizes {
    cdf: Cdf,
    published: Option<f64>,
    digest: Option<String>,
    name: String,
}

/// `kind = "poisson"`.
pub fn read(table: &Reader<'_>, context: &Context<'_>) -> Result<(Pattern, Resolved), ScenarioError> {
    let sizes = read_sizes(table, context)?;
    super::check_size(&table.need("cdf")?, sizes.cdf.range().1, context)?;
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
    let reference_item = table.get("load_reference");
    let reference = match &reference_item {
        Some(item) => [Reference::HostLinks, Reference::CoreLinks][item.choice(Reference::NAMES)?],
        None => Reference::HostLinks,
    };
    let wire = table.get("load_bytes").map_or(Ok(1), |i| i.choice(&["payload", "wire"]))? == 1;
    let inter_rack = read_pairs(table, context)?;
    let mean = mean_payload(table, &sizes)?;
    // Headers come on top of a published mean as they do on top of the exact one.
    let overhead = load::mean_wire(&sizes.cdf, &context.sizes) / sizes.cdf.mean();
    let counted_bits = 8.0 * mean * if wire { overhead } else { 1.0 };
    let capacity = load::capacity(context.topology);
    let crossing = if inter_rack.is_some() { 1.0 } else { capacity.crossing };
    let rate = match (reference, capacity.core_bps) {
        (Reference::HostLinks, _) => load * capacity.hosts_bps / counted_bits,
        (Reference::CoreLinks, Some(core)) => load * core / (crossing * counted_bits),
        (Reference::CoreLinks, None) => {
            let text = format!("a topology of kind \"{}\" has no core links to load", context.topology.kind);
            let item = reference_item.unwrap_or(load_item);
            return Err(item
                .fail(Problem::Contradiction(text))
                .help("load_reference = \"host-links\" always works"));
        }
    };
    let (start, until) = (start(table)?, read_until(table)?);
    let true_bits = 8.0 * load::mean_wire(&sizes.cdf, &context.sizes) * rate;
    let warning = overload(&capacity, true_bits, crossing, table.name());
    let resolved = json!({
        "cdf": sizes.name, "interpolation": sizes.cdf.interpolation().name(), "cdf_digest": sizes.digest,
        "load": load, "load_reference": Reference::NAMES[reference as usize],
        "load_bytes": if wire { "wire" } else { "payload" },
        "mean": if mean == sizes.cdf.mean() { "exact" } else { "published" },
        "pairs": if inter_rack.is_some() { "inter-rack" } else { "any" },
        "flows": if let Until::Flows(n) = until { Some(n) } else { None },
        "duration": if let Until::Time(t) = until { Some(t.to_string()) } else { None },
        "start": start.to_string(),
        "mean_bytes": mean, "mean_wire_bytes": mean * overhead, "arrivals_per_s": rate,
        "host_link_load": true_bits / capacity.hosts_bps,
        "core_link_load": capacity.core_bps.map(|c| true_bits * crossing / c),
    });
    let (hosts, mean_gap_ps) = (context.topology.hosts, 1e12 / rate);
    let poisson = Poisson { cdf: sizes.cdf, mean_gap_ps, start, until, hosts, inter_rack, warning };
    Ok((Pattern::Poisson(Box::new(poisson)), object(resolved)))
}

fn read_sizes(table: &Reader<'_>, context: &Context<'_>) -> Result<Sizes, ScenarioError> {
    let item = table.need("cdf")?;
    let name = item.text()?.to_string();
    if let Some(workload) = library::find(&name) {
        return Ok(Sizes { cdf: workload.cdf()?, published: workload.published_mean, digest: None, name });
    }
    if !name.contains('/') && !name.ends_with(".csv") {
        let known = library::WORKLOADS.iter().map(|w| w.name);
        let problem = Problem::NoSuchName { what: "flow-size distribution", name: name.clone() };
        return Err(item.fail(problem).maybe_help(names::suggestion(&name, known)));
    }
    let rule = table.get("interpolation").map_or(Ok(0), |i| i.choice(Interpolation::NAMES))?;
    let rule = [Interpolation::Linear, Interpolation::Step][rule];
    let (path, text) = files::read(&item, context.folder)?;
    let source = Source::new(path.display().to_string(), text);
    let cdf = Cdf::parse(&source, rule)?;
    Ok(Sizes { cdf, published: None, digest: Some(files::digest(&source.text)), name })
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

fn read_pairs(table: &Reader<'_>, context: &Context<'_>) -> Result<Option<Racks>, ScenarioError> {
    let topology = context.topology;
    if topology.hosts < 2 {
        let problem = Problem::Contradiction("random pairs need two hosts".into());
        return Err(ScenarioError::new(problem, table.at()));
    }
    for host in 1..topology.hosts {
        check_reachable(table.at(), topology, 0, host)?;
    }
    let item: Option<Item<'_>> = table.get("pairs");
    match item {
        Some(item) if item.choice(&["any", "inter-rack"])? == 1 => match Racks::of(&topology.spec) {
            Some(racks) if racks.bounds.len() > 2 => Ok(Some(racks)),
            _ => {
                let text = format!("this topology of kind \"{}\" has no two racks", topology.kind);
                Err(item.fail(Problem::Contradiction(text)))
            }
        },
        _ => Ok(None),
    }
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
fn overload(capacity: &Capacity, bits: f64, crossing: f64, name: String) -> Option<String> {
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
        let src = stream.below(u64::from(self.hosts)) as u32;
        let (first, size) = self.inter_rack.as_ref().map_or((src, 1), |racks| racks.group(src));
        let dst = stream.below(u64::from(self.hosts - size)) as u32;
        (src, if dst < first { dst } else { dst + size })
    }
}
