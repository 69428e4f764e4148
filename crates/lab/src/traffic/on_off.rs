//! One source that alternates between a message and silence.

use super::draw::{Ground, duration};
use super::keys::{START, Takes, needed};
use super::reading::{Resolved, check_reachable, check_size, host, object, start};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
use headway_units::{Rate, Time};
use serde_json::{Value as Json, json};

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

impl Declared for OnOff {
    const INFO: PatternInfo = PatternInfo {
        name: "on-off",
        summary: "one source that sends a message in each ON period",
        keys: &[
            needed("src", Takes::Host, "the sender"),
            needed("dst", Takes::Host, "the receiver"),
            needed("rate", Takes::Rate, "of an ON period, which is one message of rate x `on`"),
            needed("on", Takes::Duration, "length of an ON period"),
            needed("off", Takes::Duration, "pause between two ON periods"),
            START,
            needed("until", Takes::Time, "no ON period begins from then on"),
        ],
        counts: &["until"],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        _: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
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
        check_size(&on_item, bytes, context)?;
        let pattern = OnOff { src, dst, bytes, on, off, start, until };
        let resolved = json!({ "src": src, "dst": dst, "rate": rate.to_string(), "on": on.to_string(),
            "off": off.to_string(), "start": start.to_string(), "until": until.to_string(), "bytes": bytes });
        Ok((pattern, object(resolved)))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let (src, dst) = ground.pair();
        let periods = ground.dice.count(1, 5);
        let slots = ground.dice.count(1, (ground.packets / periods).max(1));
        let (on, off) = (ground.slot * slots, ground.dice.count(ground.slot, ground.slot * 100));
        let rate = ground.wire * 8 * 1_000_000_000_000 / ground.slot;
        json!({ "src": src, "dst": dst, "rate": format!("{rate} bps"), "on": duration(on), "off": duration(off),
            "until": duration((on + off) * periods) })
    }
}

impl OnOff {
    fn cycle(&self) -> Time {
        self.on.saturating_add(self.off)
    }

    /// ON periods that begin before the end.
    fn periods(&self) -> u64 {
        (self.until - self.start).0.div_ceil(self.cycle().0)
    }
}

impl Pattern for OnOff {
    fn generate(&self, making: &mut Making<'_>) {
        for period in 0..self.periods() {
            let start = self.start.saturating_add(self.cycle().saturating_mul(period));
            making.push(making.common.flow(self.src, self.dst, self.bytes, start, period as usize));
        }
    }

    fn horizon(&self, _: u32) -> (Time, u64) {
        (self.until, self.bytes)
    }

    fn expected_flows(&self, _: u32) -> f64 {
        self.periods() as f64
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        self.bytes.saturating_mul(self.periods())
    }

    fn receivers(&self, _: u32) -> u64 {
        1
    }

    fn is_spread(&self) -> bool {
        true
    }
}
