//! Some hosts send to some others.

use super::draw::Ground;
use super::keys::{BYTES, START, Takes, key, needed};
use super::reading::{Resolved, check_reachable, element, host_set, hosts_json, message, object, start};
use super::stack::check_responsive;
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::text::{Reader, ScenarioError};
use crate::workload::random::Purpose;
use headway_units::Time;
use serde_json::{Value as Json, json};

/// Some hosts send to some others.
#[derive(Clone, Debug, PartialEq)]
pub struct ManyToMany {
    /// Numbers of the sending hosts.
    pub senders: Vec<u32>,
    /// Numbers of the receiving hosts.
    pub receivers: Vec<u32>,
    /// Number of receivers that each sender sends to.
    pub fan_out: u32,
    /// Bytes to each receiver.
    pub bytes: u64,
    /// Start of all messages.
    pub start: Time,
    /// Share of senders that answer permissions after their first window.
    pub responsive_ratio: f64,
}

impl Declared for ManyToMany {
    const INFO: PatternInfo = PatternInfo {
        name: "many-to-many",
        summary: "some hosts send to some others, of which not all may answer",
        keys: &[
            needed("senders", Takes::Hosts, "the senders; a count means the first hosts"),
            needed("receivers", Takes::Hosts, "the receivers; a count means the hosts after the last sender"),
            key("fan_out", Takes::Count, "all", "to how many receivers each sender sends, in rotation"),
            BYTES,
            START,
            key(
                "responsive_ratio",
                Takes::Share,
                "1.0",
                "share of senders that go on after their first window, chosen at random",
            ),
        ],
        counts: &["fan_out", "senders"],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        common: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let topology = context.topology;
        let hosts = topology.hosts;
        let senders_item = table.need("senders")?;
        let senders = host_set(&senders_item, topology, |n| (n <= hosts).then(|| (0..n).collect()))?;
        let item = table.need("receivers")?;
        let after = senders.iter().max().map_or(0, |last| last + 1);
        let room = |n: u32| {
            (u64::from(after) + u64::from(n) <= u64::from(hosts)).then(|| (after..after + n).collect())
        };
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
                ratio if (0.0..=1.0).contains(&ratio) => {
                    check_responsive(&item, ratio, common.kernel)?;
                    ratio
                }
                ratio => return Err(item.range("from 0 to 1", ratio)),
            },
        };
        let resolved = json!({ "senders": hosts_json(&senders), "receivers": hosts_json(&receivers), "fan_out": fan_out,
            "bytes": bytes, "start": start.to_string(), "responsive_ratio": responsive_ratio });
        let pattern = ManyToMany { senders, receivers, fan_out, bytes, start, responsive_ratio };
        Ok((pattern, object(resolved)))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let senders = ground.dice.between(1, ground.hosts - 1);
        let receivers = ground.dice.between(1, ground.hosts - senders);
        let fan_out = ground.dice.between(1, receivers);
        let bytes = ground.bytes(ground.packets / senders / fan_out);
        let mut entry = json!({ "senders": senders, "receivers": receivers, "fan_out": fan_out, "bytes": bytes,
            "start": ground.start() });
        if ground.dice.percent(30) {
            entry["responsive_ratio"] = ground.dice.share().into();
        }
        entry
    }
}

impl Pattern for ManyToMany {
    /// Sender `i` sends to the receivers `i * fan_out ..` in rotation, itself left out. A random subset of
    /// the senders, of the size that the ratio says, answers.
    fn generate(&self, making: &mut Making<'_>) {
        let mut order: Vec<usize> = (0..self.senders.len()).collect();
        making.stream(Purpose::Responsive).shuffle(&mut order);
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
                let mut flow = making.common.flow(src, dst, self.bytes, self.start, index);
                flow.responsive = responsive[i];
                making.push(flow);
                index += 1;
            }
        }
    }

    fn horizon(&self, hosts: u32) -> (Time, u64) {
        (self.start, self.expected_bytes(hosts))
    }

    fn expected_flows(&self, _: u32) -> f64 {
        self.senders.len() as f64 * f64::from(self.fan_out)
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        self.bytes.saturating_mul(self.senders.len() as u64 * u64::from(self.fan_out))
    }

    fn receivers(&self, _: u32) -> u64 {
        self.receivers.len() as u64
    }

    fn is_spread(&self) -> bool {
        false
    }
}
