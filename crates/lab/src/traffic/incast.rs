//! Several hosts send to one at the same time, perhaps again and again.

use super::draw::{Ground, duration};
use super::keys::{START, Takes, key, needed};
use super::reading::{
    Resolved, check_reachable, element, host, host_set, hosts_json, message, object, start,
};
use super::sizes::{self, Amount};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::Purpose;
use headway_units::Time;
use serde_json::{Value as Json, json};

/// Several hosts send to one at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Incast {
    /// Numbers of the sending hosts.
    pub senders: Vec<u32>,
    /// Number of the receiving host.
    pub receiver: u32,
    /// Size of each: always the same, or drawn.
    amount: Amount,
    /// Start of the first round.
    pub start: Time,
    /// Number of rounds.
    pub repeat: u64,
    /// Time from one to the next.
    pub period: Time,
}

impl Declared for Incast {
    const INFO: PatternInfo = PatternInfo {
        name: "incast",
        summary: "many senders to one receiver at once, perhaps repeated",
        keys: &[
            needed(
                "senders",
                Takes::Hosts,
                "the senders; a count means the first hosts that are not the receiver",
            ),
            needed("receiver", Takes::Host, "the receiver"),
            key("bytes", Takes::Bytes, "or `cdf`", "of each message"),
            key("cdf", Takes::SizesAsBefore, "or `bytes`", "sizes, drawn for each flow"),
            sizes::INTERPOLATION,
            sizes::SIZE_UNIT,
            START,
            key("repeat", Takes::Count, "1", "rounds"),
            key("period", Takes::Duration, "with `repeat`", "from one round to the next"),
        ],
        counts: &["repeat", "senders"],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        _: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
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
        Ok((Incast { senders, receiver, amount, start, repeat, period }, resolved))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let senders = ground.dice.between(1, ground.hosts - 1);
        let repeat = ground.dice.count(1, (ground.packets / senders).clamp(1, 6));
        let receiver = ground.dice.below(ground.hosts);
        let bytes = ground.bytes(ground.packets / senders / repeat);
        let mut entry =
            json!({ "senders": senders, "receiver": receiver, "bytes": bytes, "start": ground.start() });
        if repeat > 1 {
            entry["repeat"] = repeat.into();
            entry["period"] = duration(ground.dice.count(ground.slot, ground.round_trip * 4 + ground.slot));
        }
        entry
    }
}

impl Pattern for Incast {
    fn generate(&self, making: &mut Making<'_>) {
        let mut stream = making.stream(Purpose::Sizes);
        for round in 0..self.repeat {
            let start = self.start.saturating_add(self.period.saturating_mul(round));
            for (index, &sender) in self.senders.iter().enumerate() {
                let bytes = self.amount.draw(&mut stream);
                making.push(making.common.flow(sender, self.receiver, bytes, start, index));
            }
        }
    }

    fn horizon(&self, hosts: u32) -> (Time, u64) {
        (self.start.saturating_add(self.period.saturating_mul(self.repeat)), self.expected_bytes(hosts))
    }

    fn expected_flows(&self, _: u32) -> f64 {
        self.senders.len() as f64 * self.repeat as f64
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        self.amount.mean().saturating_mul(self.senders.len() as u64).saturating_mul(self.repeat)
    }

    fn receivers(&self, _: u32) -> u64 {
        1
    }

    fn is_spread(&self) -> bool {
        false
    }
}
