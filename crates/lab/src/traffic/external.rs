//! Messages that another program hands over while the run goes on, through the C interface.

use super::draw::Ground;
use super::reading::Resolved;
use super::{Common, Context, Declared, Entry, Making, Pattern, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::{Purpose, Stream};
use headway_network::FlowSpec;
use headway_units::Time;
use serde_json::{Map, Value as Json, json};

/// Messages of another program: their common properties. The entry itself makes none.
#[derive(Clone, Debug, PartialEq)]
pub struct External;

impl Declared for External {
    const INFO: PatternInfo = PatternInfo {
        name: "external",
        summary: "messages that another program hands over while the run goes on, through the C interface",
        keys: &[],
        counts: &[],
    };

    fn read(table: &Reader<'_>, _: &Context<'_>, common: &Common) -> Result<(Self, Resolved), ScenarioError> {
        if let Some(item) = table.get("stop").filter(|_| common.stop.is_some()) {
            let text = "messages of kind = \"external\" may be handed over at any time, and have no `stop`";
            return Err(item.fail(Problem::Contradiction(text.into())));
        }
        Ok((External, Map::new()))
    }

    fn draw(_: &mut Ground<'_>) -> Json {
        json!({})
    }
}

impl Pattern for External {
    fn generate(&self, _: &mut Making<'_>) {}

    fn horizon(&self, _: u32) -> (Time, u64) {
        (Time::ZERO, 0)
    }

    fn expected_flows(&self, _: u32) -> f64 {
        0.0
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        0
    }

    fn receivers(&self, _: u32) -> u64 {
        0
    }

    fn is_spread(&self) -> bool {
        true
    }

    fn is_external(&self) -> bool {
        true
    }
}

/// Makes the flows of an entry whose messages another program hands over.
#[derive(Clone, Debug)]
pub struct Later {
    common: Common,
    jitter: Stream,
    deadlines: Stream,
    messages: usize,
}

impl Later {
    /// Random streams for the `index`-th entry of a scenario, under a seed.
    pub fn new(entry: &Entry, index: usize, seed: u64) -> Later {
        let stream = |purpose| Stream::new(seed, purpose, index as u64);
        let (jitter, deadlines) = (stream(Purpose::Jitter), stream(Purpose::Deadlines));
        Later { common: entry.common, jitter, deadlines, messages: 0 }
    }

    /// The next message, handed over now: its `start` counts from now, its deadline from the start of the run.
    pub fn message(&mut self, now: Time, src: u32, dst: u32, bytes: u64) -> FlowSpec {
        let common = &self.common;
        let start =
            if common.jitter == Time::ZERO { Time::ZERO } else { Time(self.jitter.below(common.jitter.0)) };
        let mut flow = common.flow(src, dst, bytes, start, self.messages);
        self.messages += 1;
        if let Some(deadlines) = &common.deadlines {
            flow.deadline = Some(start.saturating_add(deadlines.draw(&mut self.deadlines)));
        }
        flow.deadline = flow.deadline.map(|deadline| now.saturating_add(deadline));
        flow
    }
}
