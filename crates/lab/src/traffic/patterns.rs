//! Incast, permutation, many-to-many, ON/OFF.

use super::{
    Common, Context, Pattern, Resolved, check_reachable, element, host, host_set, hosts_json, message,
    object, sizes, start,
};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::Cdf;
use crate::workload::random::{Purpose, Stream};
use headway_sim::FlowSpec;
use headway_units::{Rate, Time};
use serde_json::json;

type Read = Result<(Pattern, Resolved), ScenarioError>;

/// How much a flow of an incast sends.
#[derive(Clone, Debug, PartialEq)]
enum Amount {
    Fixed(u64),
    Drawn(Cdf),
}

/// Several hosts send to one at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Incast {
    /// Who sends.
    pub senders: Vec<u32>,
    /// To whom.
    pub receiver: u32,
    /// How much each: always the same, or drawn.
    amount: Amount,
    /// When first.
    pub start: Time,
    /// How often.
    pub repeat: u64,
    /// How long from one to the next.
    pub period: Time,
}

/// `kind = "incast"`. A number of senders means the first hosts that are not the receiver.
pub fn read_incast(table: &Reader<'_>, context: &Context<'_>) -> Read {
    let topology = context.topology;
    let receiver = host(&table.need("receiver")?, topology)?;
    let item = table.need("senders")?;
    let first = |n: u32| {
        (n < topology.hosts)
            .then(|| (0..topology.hosts).filter(|h| *h != receiver).take(n as usize).collect())
    };
    let senders: Vec<u32> = host_set(&item, topology, first)?;
    for (index, &sender) in senders.iter().enumerate() {
        let at = element(&item, index);
        if sender == receiver {
            let problem = Problem::SelfFlow { flow: "incast".into(), host: receiver };
            return Err(ScenarioError::new(problem, at));
        }
        check_reachable(at, topology, sender, receiver)?;
    }
    let (amount, mut resolved) = match (table.get("bytes"), table.get("cdf")) {
        (Some(_), Some(item)) => {
            let text = "`bytes` and `cdf` both say how much is sent".to_string();
            return Err(item.fail(Problem::Contradiction(text)).help("keep one of them"));
        }
        (None, Some(_)) => {
            let drawn = sizes::read(table, context)?;
            let resolved = json!({ "cdf": drawn.name, "interpolation": drawn.cdf.interpolation().name(),
                "cdf_digest": drawn.digest, "mean_bytes": drawn.cdf.mean() });
            (Amount::Drawn(drawn.cdf), object(resolved))
        }
        _ => {
            let bytes = message(&table.need("bytes")?, context)?;
            (Amount::Fixed(bytes), object(json!({ "bytes": bytes })))
        }
    };
    let start = start(table)?;
    let repeat = table.get("repeat").map_or(Ok(1), |i| i.int(1, 1_000_000_000))?;
    let period = match (table.get("period"), repeat) {
        (Some(item), 2..) => item.period()?,
        (Some(item), _) => {
            let table = "[[traffic]] with repeat = 1".into();
            return Err(item.fail(Problem::UnusedKey { key: "period".into(), table }));
        }
        (None, 2..) => table.need("period")?.period()?,
        (None, _) => Time::ZERO,
    };
    let rest = json!({ "senders": hosts_json(&senders), "receiver": receiver,
        "start": start.to_string(), "repeat": repeat, "period": period.to_string() });
    resolved.append(&mut object(rest));
    Ok((Pattern::Incast(Incast { senders, receiver, amount, start, repeat, period }), resolved))
}

impl Incast {
    /// Bytes of a flow on average.
    pub(super) fn mean_bytes(&self) -> u64 {
        match &self.amount {
            Amount::Fixed(bytes) => *bytes,
            Amount::Drawn(cdf) => libm::round(cdf.mean()) as u64,
        }
    }

    pub(super) fn generate(&self, common: &Common, seed: u64, entity: u64, push: &mut dyn FnMut(FlowSpec)) {
        let mut stream = Stream::new(seed, Purpose::Sizes, entity);
        for round in 0..self.repeat {
            let start = self.start.saturating_add(self.period.saturating_mul(round));
            for (index, &sender) in self.senders.iter().enumerate() {
                let bytes = match &self.amount {
                    Amount::Fixed(bytes) => *bytes,
                    Amount::Drawn(cdf) => cdf.sample(&mut stream),
                };
                push(common.flow(sender, self.receiver, bytes, start, index));
            }
        }
    }
}

/// Every host sends to another host, and no two to the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Permutation {
    /// How much each.
    pub bytes: u64,
    /// When.
    pub start: Time,
}

/// `kind = "permutation"`.
pub fn read_permutation(table: &Reader<'_>, context: &Context<'_>) -> Read {
    let bytes = message(&table.need("bytes")?, context)?;
    let start = start(table)?;
    if context.topology.hosts < 2 {
        let problem = Problem::Contradiction("a permutation needs two hosts".into());
        return Err(ScenarioError::new(problem, table.at()));
    }
    for host in 1..context.topology.hosts {
        check_reachable(table.at(), context.topology, 0, host)?;
    }
    let resolved = json!({ "bytes": bytes, "start": start.to_string() });
    Ok((Pattern::Permutation(Permutation { bytes, start }), object(resolved)))
}

impl Permutation {
    /// All permutations without a fixed point are equally likely: shuffles are drawn until one has none.
    pub(super) fn generate(
        &self,
        common: &Common,
        seed: u64,
        entity: u64,
        hosts: u32,
        push: &mut dyn FnMut(FlowSpec),
    ) {
        let mut stream = Stream::new(seed, Purpose::Permutation, entity);
        let mut receivers: Vec<u32> = (0..hosts).collect();
        loop {
            stream.shuffle(&mut receivers);
            if receivers.iter().zip(0..).all(|(to, from)| *to != from) {
                break;
            }
        }
        for (src, &dst) in receivers.iter().enumerate() {
            push(common.flow(src as u32, dst, self.bytes, self.start, src));
        }
    }
}

/// Some hosts send to some others.
#[derive(Clone, Debug, PartialEq)]
pub struct ManyToMany {
    /// Who sends.
    pub senders: Vec<u32>,
    /// To whom.
    pub receivers: Vec<u32>,
    /// To how many receivers each sender sends.
    pub fan_out: u32,
    /// How much to each.
    pub bytes: u64,
    /// When.
    pub start: Time,
    /// Share of senders that answer permissions after their first window.
    pub responsive_ratio: f64,
}

/// `kind = "many-to-many"`. A number of senders means the first hosts, a number of receivers those after
/// the last sender.
pub fn read_many_to_many(table: &Reader<'_>, context: &Context<'_>) -> Read {
    let topology = context.topology;
    let hosts = topology.hosts;
    let senders_item = table.need("senders")?;
    let senders = host_set(&senders_item, topology, |n| (n <= hosts).then(|| (0..n).collect()))?;
    let item = table.need("receivers")?;
    let after = senders.iter().max().map_or(0, |last| last + 1);
    let room =
        |n: u32| (u64::from(after) + u64::from(n) <= u64::from(hosts)).then(|| (after..after + n).collect());
    let receivers = host_set(&item, topology, room)?;
    for (hosts, item) in [(&senders, &senders_item), (&receivers, &item)] {
        for (index, &host) in hosts.iter().enumerate() {
            check_reachable(element(item, index), topology, senders[0], host)?;
        }
    }
    let most = receivers.len() as u64;
    let fan_out = table.get("fan_out").map_or(Ok(most), |i| i.int(1, most))? as u32;
    let bytes = message(&table.need("bytes")?, context)?;
    let start = start(table)?;
    let responsive_ratio = match table.get("responsive_ratio") {
        None => 1.0,
        Some(item) => match item.number()? {
            ratio if (0.0..=1.0).contains(&ratio) => ratio,
            ratio => return Err(item.range("from 0 to 1", ratio)),
        },
    };
    let resolved = json!({ "senders": hosts_json(&senders), "receivers": hosts_json(&receivers), "fan_out": fan_out,
        "bytes": bytes, "start": start.to_string(), "responsive_ratio": responsive_ratio });
    let pattern = ManyToMany { senders, receivers, fan_out, bytes, start, responsive_ratio };
    Ok((Pattern::ManyToMany(pattern), object(resolved)))
}

impl ManyToMany {
    /// Sender `i` sends to the receivers `i * fan_out ..` in rotation, itself left out. A random subset of
    /// the senders, of the size that the ratio says, answers.
    pub(super) fn generate(&self, common: &Common, seed: u64, entity: u64, push: &mut dyn FnMut(FlowSpec)) {
        let mut order: Vec<usize> = (0..self.senders.len()).collect();
        Stream::new(seed, Purpose::Responsive, entity).shuffle(&mut order);
        let answering = libm::round(self.responsive_ratio * order.len() as f64) as usize;
        let mut responsive = vec![false; order.len()];
        order[..answering].iter().for_each(|i| responsive[*i] = true);
        let mut index = 0;
        for (i, &src) in self.senders.iter().enumerate() {
            for j in 0..self.fan_out as usize {
                let dst = self.receivers[(i * self.fan_out as usize + j) % self.receivers.len()];
                if dst == src {
                    continue;
                }
                let mut flow = common.flow(src, dst, self.bytes, self.start, index);
                flow.responsive = responsive[i];
                push(flow);
                index += 1;
            }
        }
    }
}

/// One source that alternates between sending at a rate and being silent.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    src: u32,
    dst: u32,
    bytes: u64,
    on: Time,
    off: Time,
    start: Time,
    until: Time,
}

/// `kind = "on-off"`. Each ON period is one message of rate x ON bytes.
pub fn read_on_off(table: &Reader<'_>, context: &Context<'_>) -> Read {
    let (src, dst_item) = (host(&table.need("src")?, context.topology)?, table.need("dst")?);
    let dst = host(&dst_item, context.topology)?;
    if src == dst {
        return Err(dst_item.fail(Problem::SelfFlow { flow: "on-off".into(), host: src }));
    }
    check_reachable(dst_item.at(), context.topology, src, dst)?;
    let rate: Rate = table.need("rate")?.rate()?;
    let on_item = table.need("on")?;
    let (on, off) = (on_item.period()?, table.need("off")?.time()?);
    let start = start(table)?;
    let until_item = table.need("until")?;
    let until = until_item.time()?;
    if until <= start {
        return Err(until_item.range(format!("later than its start, {start}"), until));
    }
    let bytes = rate.bytes_in(on);
    if bytes == 0 {
        return Err(on_item.range("long enough for one byte", on));
    }
    super::check_size(&on_item, bytes, context)?;
    let pattern = OnOff { src, dst, bytes, on, off, start, until };
    let resolved = json!({ "src": src, "dst": dst, "rate": rate.to_string(), "on": on.to_string(),
        "off": off.to_string(), "start": start.to_string(), "until": until.to_string(), "bytes": bytes });
    Ok((Pattern::OnOff(pattern), object(resolved)))
}

impl OnOff {
    fn cycle(&self) -> Time {
        self.on.saturating_add(self.off)
    }

    /// ON periods that begin before the end.
    pub fn periods(&self) -> u64 {
        (self.until - self.start).0.div_ceil(self.cycle().0)
    }

    pub(super) fn horizon(&self) -> (Time, u64) {
        (self.until, self.bytes)
    }

    pub(super) fn generate(&self, common: &Common, push: &mut dyn FnMut(FlowSpec)) {
        for period in 0..self.periods() {
            let start = self.start.saturating_add(self.cycle().saturating_mul(period));
            push(common.flow(self.src, self.dst, self.bytes, start, period as usize));
        }
    }
}
