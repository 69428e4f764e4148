//! Every host sends to one other, and every host receives from one.

use super::draw::Ground;
use super::keys::{BYTES, START};
use super::reading::{Resolved, check_reachable, message, object, start};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::Purpose;
use headway_units::Time;
use serde_json::{Value as Json, json};

/// Every host sends to another host, and no two to the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Permutation {
    /// Bytes of each message.
    pub bytes: u64,
    /// Start of all messages.
    pub start: Time,
}

impl Declared for Permutation {
    const INFO: PatternInfo = PatternInfo {
        name: "permutation",
        summary: "every host sends to one other, every host receives from one",
        keys: &[BYTES, START],
        counts: &[],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        _: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
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
        Ok((Permutation { bytes, start }, object(resolved)))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let bytes = ground.bytes(ground.packets / ground.hosts);
        json!({ "bytes": bytes, "start": ground.start() })
    }
}

impl Pattern for Permutation {
    /// All permutations without a fixed point are equally likely: shuffles are drawn until one has none.
    fn generate(&self, making: &mut Making<'_>) {
        let mut stream = making.stream(Purpose::Permutation);
        let mut receivers: Vec<u32> = (0..making.hosts).collect();
        loop {
            stream.shuffle(&mut receivers);
            if receivers.iter().zip(0..).all(|(to, from)| *to != from) {
                break;
            }
        }
        for (src, &dst) in receivers.iter().enumerate() {
            making.push(making.common.flow(src as u32, dst, self.bytes, self.start, src));
        }
    }

    fn horizon(&self, hosts: u32) -> (Time, u64) {
        (self.start, self.expected_bytes(hosts))
    }

    fn expected_flows(&self, hosts: u32) -> f64 {
        f64::from(hosts)
    }

    fn expected_bytes(&self, hosts: u32) -> u64 {
        self.bytes.saturating_mul(u64::from(hosts))
    }

    fn is_spread(&self) -> bool {
        false
    }
}
