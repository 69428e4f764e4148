//! Measurements of ports and hosts over time.

use headway_units::{Rate, Time};

/// Unit of a gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaugeUnit {
    /// Amounts of data.
    Bytes,
    /// A number of packets.
    Packets,
    /// A number of connections.
    Connections,
    /// Times in whole nanoseconds.
    Nanoseconds,
    /// Times with a fraction.
    Seconds,
    /// Rates, in bits per second.
    BitsPerSecond,
    /// Parts of a whole, from 0 to 1.
    Share,
}

impl GaugeUnit {
    /// The unit as results name it.
    pub const fn name(self) -> &'static str {
        match self {
            GaugeUnit::Bytes => "B",
            GaugeUnit::Packets => "packets",
            GaugeUnit::Connections => "connections",
            GaugeUnit::Nanoseconds => "ns",
            GaugeUnit::Seconds => "s",
            GaugeUnit::BitsPerSecond => "bit/s",
            GaugeUnit::Share => "1",
        }
    }
}

/// Declaration of a gauge by a protocol or a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaugeInfo {
    /// Name in results, with its unit as the last word: `reorder_buffer_bytes`.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: GaugeUnit,
    /// Name in figures and tables.
    pub label: &'static str,
    /// Measured quantity, in words that continue the name of the declaring protocol or discipline.
    pub doc: &'static str,
}

impl GaugeInfo {
    /// A gauge of bytes.
    pub const fn bytes(name: &'static str, label: &'static str, doc: &'static str) -> GaugeInfo {
        GaugeInfo { name, unit: GaugeUnit::Bytes, label, doc }
    }

    /// A gauge of packets.
    pub const fn packets(name: &'static str, label: &'static str, doc: &'static str) -> GaugeInfo {
        GaugeInfo { name, unit: GaugeUnit::Packets, label, doc }
    }

    /// A gauge of connections.
    pub const fn connections(name: &'static str, label: &'static str, doc: &'static str) -> GaugeInfo {
        GaugeInfo { name, unit: GaugeUnit::Connections, label, doc }
    }

    /// A gauge of times.
    pub const fn nanoseconds(name: &'static str, label: &'static str, doc: &'static str) -> GaugeInfo {
        GaugeInfo { name, unit: GaugeUnit::Nanoseconds, label, doc }
    }

    /// A probe of times.
    pub const fn seconds(name: &'static str, label: &'static str, doc: &'static str) -> GaugeInfo {
        GaugeInfo { name, unit: GaugeUnit::Seconds, label, doc }
    }

    /// A probe of rates.
    pub const fn rate(name: &'static str, label: &'static str, doc: &'static str) -> GaugeInfo {
        GaugeInfo { name, unit: GaugeUnit::BitsPerSecond, label, doc }
    }

    /// A probe of parts of a whole.
    pub const fn share(name: &'static str, label: &'static str, doc: &'static str) -> GaugeInfo {
        GaugeInfo { name, unit: GaugeUnit::Share, label, doc }
    }

    /// Its value, where it only counts.
    pub const fn count(&self, value: u64) -> Gauge {
        Gauge::count(self.name, value)
    }
}

/// A number that a machine or a port reports in addition to the common ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// Name in results, with its unit as the last word: `reorder_buffer_bytes`.
    pub name: &'static str,
    /// The present value.
    pub value: u64,
    /// The largest so far.
    pub max: u64,
    /// The mean over time from the start of the run; of a gauge that only counts, the present value.
    pub mean: f64,
}

impl Gauge {
    /// A gauge of something that only counts.
    pub const fn count(name: &'static str, value: u64) -> Gauge {
        Gauge { name, value, max: value, mean: value as f64 }
    }

    /// True if it only counts, as far as its values show.
    fn counts(&self) -> bool {
        self.mean == self.value as f64 && self.max == self.value
    }

    /// The gauge with its mean over the time from `then` to `now` alone, where `before` is the same gauge at `then`.
    /// The value and the largest one stay.
    #[must_use]
    pub fn since(&self, now: Time, before: &Gauge, then: Time) -> Gauge {
        let length = now.saturating_sub(then).0;
        if length == 0 || (self.counts() && before.counts()) {
            return *self;
        }
        // A mean times its time is the integral since the start of the run.
        let sum = self.mean * now.0 as f64 - before.mean * then.0 as f64;
        // Rounding of the two means may leave a little less than nothing.
        Gauge { mean: (sum / length as f64).max(0.0), ..*self }
    }

    /// The gauge as on a network that is `factor` times faster.
    #[must_use]
    pub fn sped_up(&self, factor: u64) -> Gauge {
        let by = Gauge::faster(self.name, factor);
        // A factor of 1 leaves numbers beyond 2^53 as they are, which floating point would round.
        let whole = |value: u64| if by == 1.0 { value } else { (value as f64 * by).round() as u64 };
        Gauge { value: whole(self.value), max: whole(self.max), mean: self.mean * by, ..*self }
    }

    /// Factor for a value of the gauge of this name on a network that is `factor` times faster: the last word of the
    /// name tells if it is a time or a rate.
    pub fn faster(name: &str, factor: u64) -> f64 {
        match name.rsplit('_').next() {
            Some("s" | "ms" | "us" | "ns" | "ps") => 1.0 / factor.max(1) as f64,
            Some("bps") => factor as f64,
            _ => 1.0,
        }
    }
}

/// A quantity that rises and falls: its value, its peak and its mean over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    value: u64,
    max: u64,
    integral: u128,
    since: Time,
}

impl Level {
    /// The value is `value` from `now` on.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        self.integral += u128::from(self.value) * u128::from(now.saturating_sub(self.since).0);
        self.since = now;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// The present value.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The level as the gauge that is declared so.
    pub fn gauge(&self, info: &GaugeInfo, now: Time) -> Gauge {
        // A copy: to read a level does not change it.
        let mut level = *self;
        level.set(now, self.value);
        let mean = if now == Time::ZERO { 0.0 } else { level.integral as f64 / now.0 as f64 };
        Gauge { name: info.name, value: self.value, max: self.max, mean }
    }
}

/// Part of a link that was left over in the last whole period of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpareMeter {
    period: Time,
    /// Bytes that fit into a period.
    whole: u64,
    ends: Time,
    /// Bytes counted in the period that ends at `ends`.
    bytes: u64,
    spare: u64,
}

impl SpareMeter {
    /// A meter of a link of `rate`, whose first period ends at `first`; before that, all is spare.
    pub const fn new(rate: Rate, period: Time, first: Time) -> SpareMeter {
        let whole = rate.bytes_in(period);
        SpareMeter { period, whole, ends: first, bytes: 0, spare: whole }
    }

    /// The link has the rate of `like` from `now` on, whose period is as long; the period under way is counted as one of the new rate.
    pub fn retune(&mut self, now: Time, like: &SpareMeter) {
        self.roll(now);
        self.whole = like.whole;
        // The period before, at the old rate, may have left more than a whole period of the new one.
        self.spare = self.spare.min(self.whole);
    }

    /// Counts bytes that leave at `now`.
    #[inline]
    pub fn note(&mut self, now: Time, bytes: u64) {
        self.roll(now);
        self.bytes += bytes;
    }

    /// Bytes that nothing counted took in the last whole period.
    #[inline]
    pub fn spare(&mut self, now: Time) -> u64 {
        self.roll(now);
        self.spare
    }

    #[inline]
    fn roll(&mut self, now: Time) {
        if now >= self.ends {
            self.turn(now);
        }
    }

    // Once a period: out of line, so that counting a packet stays cheap.
    #[cold]
    fn turn(&mut self, now: Time) {
        // A link that was idle may have passed whole periods since: nothing left in the last of them.
        // At least 1, since a period of zero would be a division by zero.
        let later = (now - self.ends).0 / self.period.0.max(1);
        let counted = if later == 0 { self.bytes } else { 0 };
        self.spare = self.whole.saturating_sub(counted);
        self.bytes = 0;
        // Later than now, whatever the period.
        self.ends = self.ends.saturating_add(self.period.saturating_mul(later + 1)).max(now + Time(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: GaugeInfo = GaugeInfo::packets("depth_packets", "depth", "how deep it is");

    #[test]
    fn a_level_knows_its_peak_and_its_mean_over_time() {
        let mut level = Level::default();
        level.set(Time(100), 8);
        level.set(Time(150), 2);
        let gauge = level.gauge(&DEPTH, Time(200));
        assert_eq!((gauge.value, gauge.max), (2, 8));
        assert_eq!(gauge.mean, (50.0 * 8.0 + 50.0 * 2.0) / 200.0);
        assert_eq!(Level::default().gauge(&DEPTH, Time::ZERO).mean, 0.0);
    }

    #[test]
    fn a_mean_can_leave_out_what_was_before_and_counts_have_none() {
        let mut level = Level::default();
        level.set(Time(100), 1);
        let before = level.gauge(&DEPTH, Time(200));
        level.set(Time(200), 6);
        let after = level.gauge(&DEPTH, Time(300));
        assert_eq!(after.since(Time(300), &before, Time(200)), Gauge { mean: 6.0, ..after });
        let (one, nine) = (Gauge::count("packets", 1), Gauge::count("packets", 9));
        assert_eq!(nine.since(Time(300), &one, Time(200)), nine);
    }

    #[test]
    fn only_times_and_rates_are_other_on_a_faster_network() {
        let of = |name| Gauge { name, value: 600, max: 900, mean: 750.0 }.sped_up(3);
        assert_eq!((of("wait_ns").value, of("wait_ns").max, of("wait_ns").mean), (200, 300, 250.0));
        assert_eq!((of("price_bps").value, of("price_bps").mean), (1800, 2250.0));
        assert_eq!((of("held_bytes").value, of("queue_packets").max), (600, 900));
    }

    #[test]
    fn spare_is_what_the_last_whole_period_left() {
        // 10 Gb/s for 8 us are 10,000 bytes.
        let mut meter = SpareMeter::new(Rate::gbps(10), Time::us(8), Time::us(3));
        assert_eq!(meter.spare(Time::ZERO), 10_000, "all, before anything is known");
        meter.note(Time::us(3), 4000);
        meter.note(Time::us(10), 3000);
        assert_eq!(meter.spare(Time::us(10)), 10_000, "the period is not over");
        assert_eq!(meter.spare(Time::us(11)), 3000);
        meter.note(Time::us(18), 20_000);
        assert_eq!(meter.spare(Time::us(19)), 0, "more than fits counts as all");
        assert_eq!(meter.spare(Time::us(27)), 10_000);
        meter.note(Time::us(28), 5000);
        assert_eq!(meter.spare(Time::us(100)), 10_000, "nothing left in the period before");
        meter.note(Time::us(100), 1);
        assert_eq!(meter.spare(Time::us(107)), 9_999);
    }
}
