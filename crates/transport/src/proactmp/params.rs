//! Parameters of ProactMP, the two readings of its numbers, and the base quantities that follow from them.

use crate::endpoint::{HostContext, Path};
use crate::shared::scale_time;
use crate::subflows::PathManager;
use headway_params::ParamKind;
use headway_units::Time;

headway_params::choice! {
    /// Reading of the paper that the values stand for.
    pub enum Preset {
        /// OWDbytes from the path, serialisation included, in whole packets; weights that stop growing; silent subflows are removed.
        Physical = "physical",
        /// The paper's rules with the OWDbytes of equation 1 for the path at hand.
        Paper = "paper",
        /// The paper's numbers as they stand: 125 bytes and 1 us.
        Seed = "seed",
    }
}

headway_params::choice! {
    /// Order in which messages that wait for credit are served.
    pub enum Order {
        /// The one that has waited longest, with all the credit there is.
        Fifo = "fifo",
        /// All of them in turn, a packet each.
        Rr = "rr",
        /// The one with the least left to grant.
        Srpt = "srpt",
    }
}

headway_params::choice! {
    /// Rule by which the weight of a subflow follows the grants that it brought.
    pub enum Weights {
        /// Their number, up to `weight_limit`; all are 1 again when a subflow is added.
        Saturating = "saturating",
        /// The number of its grants.
        Seed = "seed",
        /// Their number among the last 64 of the message.
        Window = "window",
    }
}

headway_params::params! {
    /// Parameters of ProactMP, with the values of `physical`.
    pub struct Settings {
        /// Reading of the paper: the values of all parameters that are not given.
        preset: Preset = Preset::Physical, ParamKind::Choice(Preset::WORDS);
        /// Subflows of a message at most; 1 = a single path.
        subflows: u64 = 2, ParamKind::Int { min: 1, max: 64 };
        /// Paths that subflows take.
        path_manager: PathManager = PathManager::FullMesh, ParamKind::Choice(PathManager::WORDS);
        /// Order in which waiting messages are given credit.
        order: Order = Order::Fifo, ParamKind::Choice(Order::WORDS);
        /// Rule by which a subflow's weight follows its grants, equation 2. paper, seed: seed
        weights: Weights = Weights::Saturating, ParamKind::Choice(Weights::WORDS);
        /// True if at most 2 OWDbytes are outstanding, instead of the 3 that algorithm 1 allows.
        clamp: bool = false, ParamKind::Bool;
        /// True if unscheduled bytes are taken out of the credit as well, when a message is first heard of.
        charge_unscheduled: bool = false, ParamKind::Bool;
        /// True if a subflow may have OWDbytes in flight, and no more, where a message has several.
        cap: bool = true, ParamKind::Bool;
        /// True if subflows are joined whatever is left of the message; otherwise only while more than 2 OWDbytes are.
        always_join: bool = false, ParamKind::Bool;
        /// True if equation 2 takes the newest round trip, instead of the smoothed one. paper, seed: true
        raw_rtt: bool = false, ParamKind::Bool;
        /// True if a message waits for its Request: the sender announces it, and the receiver asks for it.
        request: bool = false, ParamKind::Bool;
        /// True if this host knows Pro_Capable; if either end does not, a message has one path.
        capable: bool = true, ParamKind::Bool;
        /// OWDbytes; 0 = `owd` times the payload rate of the host's link. At least one packet. seed: 125
        owd_bytes: u64 = 0, ParamKind::Bytes { min: 0, max: 1_000_000_000 };
        /// The base one-way delay; 0 = half the base round trip of the pair. seed: 1 us
        owd: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// True if OWDbytes of the path are rounded up to whole packets. paper: false
        whole_packets: bool = true, ParamKind::Bool;
        /// Upper limit of a `saturating` weight.
        weight_limit: u64 = 16, ParamKind::Int { min: 1, max: 1_000_000 };
        /// Silence after which the weights are 1 again; 0 = never. paper, seed: 0
        idle_reset: Time = Time::ms(10), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Bytes of unfinished messages that a receiver holds; when they are there, only the oldest is granted. 0 = no limit.
        buffer: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Base round trips in the time-out.
        timeout_rtts: f64 = 8.0, ParamKind::Float { min: 1.0, max: 1000.0 };
        /// Smoothed round trips of the slowest subflow in the time-out, if that is more.
        timeout_srtts: f64 = 4.0, ParamKind::Float { min: 1.0, max: 1000.0 };
        /// True if the time-out is at least the drain of full buffers on the path. paper, seed: false
        timeout_full: bool = true, ParamKind::Bool;
        /// Lower limit of the time-out: a host's timer tick.
        timeout_floor: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Largest number of doublings of the time-out, while it has no result.
        backoff: u64 = 6, ParamKind::Int { min: 0, max: 20 };
        /// RESENDs about a subflow that brings no grant in between, after which it is removed and its credit moves; 0 = losses move no credit. paper: 0, seed: 3
        removal: u64 = 1, ParamKind::Int { min: 0, max: 1000 };
    }
}

/// OWDbytes of a pair of hosts and the time it stands for. ProactMP §III-C1, equation 1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owd {
    /// The base one-way delay.
    pub time: Time,
    /// Bytes that the receiver's downlink takes in it.
    pub bytes: u64,
}

impl Settings {
    fn for_preset(preset: Preset) -> Settings {
        let plain = Settings { preset, ..Settings::default() };
        match preset {
            Preset::Physical => plain,
            Preset::Paper => Settings {
                weights: Weights::Seed,
                raw_rtt: true,
                whole_packets: false,
                idle_reset: Time::ZERO,
                timeout_full: false,
                removal: 0,
                ..plain
            },
            Preset::Seed => Settings {
                preset,
                owd_bytes: 125,
                owd: Time::us(1),
                removal: 3,
                ..Settings::for_preset(Preset::Paper)
            },
        }
    }

    /// Equation 1 for the end of `path`. ProactMP §III-C1
    pub(super) fn one_way_delay(&self, path: &Path, context: &HostContext) -> Owd {
        let time = if self.owd == Time::ZERO { Time(path.base_rtt.0 / 2) } else { self.owd };
        // Equation 3 divides by it.
        let time = time.max(Time(1));
        let sizes = &context.sizes;
        let packet = u64::from(sizes.payload);
        if self.owd_bytes > 0 {
            return Owd { time, bytes: self.owd_bytes.max(packet) };
        }
        let slot = sizes.slot_time(context.nic).0.max(1);
        let whole = time.0.div_ceil(slot).max(1) * packet;
        // 128 bits, because picoseconds times bytes may exceed 64.
        let exact = (u128::from(time.0) * u128::from(packet) / u128::from(slot)) as u64;
        Owd { time, bytes: if self.whole_packets { whole } else { exact.max(packet) } }
    }

    /// Packets of a first window over `path`: what `owd` brings, of which one of several fair sharers has its part
    /// at the path's rate instead of that of this host's link.
    pub(super) fn first_window(&self, owd: Owd, path: &Path, context: &HostContext, shared: bool) -> u32 {
        let bytes = match shared && self.owd_bytes == 0 {
            true => {
                let packets = owd.time.0.div_ceil(context.sizes.slot_time(path.bottleneck).0.max(1)).max(1);
                return u32::try_from(packets).unwrap_or(u32::MAX);
            }
            false => owd.bytes,
        };
        let payload = u64::from(context.sizes.payload).max(1);
        // The paper fills the window: a packet that begins within OWDbytes leaves. ProactMP §III-C1
        let packets = if self.whole_packets { bytes / payload } else { bytes.div_ceil(payload) }.max(1);
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// T_out: several round trips. ProactMP §III-C5
    pub(super) fn resend_timeout(&self, path: &Path, srtt: Time) -> Time {
        let base = scale_time(path.base_rtt, self.timeout_rtts);
        let full = if self.timeout_full { path.max_rtt } else { Time::ZERO };
        base.max(scale_time(srtt, self.timeout_srtts)).max(full).max(self.timeout_floor)
    }

    /// Number of subflows that a message may have as far as this host is concerned; 0 if it does not support several.
    pub(super) fn allowed_subflows(&self, path: &Path) -> u32 {
        if self.capable { self.path_manager.subflow_count(self.subflows as u32, path) } else { 0 }
    }

    /// A timeout that has been doubled this many times.
    pub(super) fn doubled_timeout(&self, path: &Path, timeout: Time, times: u32) -> Time {
        path.doubled_timeout(timeout, times, self.backoff as u32)
    }
}

headway_params::preset_params! {
    /// Parameters of ProactMP.
    pub struct ProactMpParams(pub Settings);
}

impl ProactMpParams {
    /// The values of a preset.
    pub fn for_preset(preset: Preset) -> ProactMpParams {
        ProactMpParams(Settings::for_preset(preset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_packet::{HostId, Sizes};
    use headway_params::{ParamValue, Params};
    use headway_units::Rate;

    fn path_with_rtt(base_rtt: Time) -> Path {
        Path {
            longest_timeout: Time::MAX,
            base_rtt,
            max_rtt: base_rtt * 2,
            bottleneck: Rate::gbps(1),
            paths: 2,
            hops: 1,
        }
    }

    fn context_with_payload(payload: u16) -> HostContext {
        let sizes = Sizes { payload, ..Sizes::default() };
        HostContext {
            host: HostId(0),
            nic: Rate::gbps(1),
            sizes,
            seed: 0,
            path: Box::new(|_| path_with_rtt(Time::us(32))),
        }
    }

    #[test]
    fn the_testbed_holds_two_packets_one_way_1915_bytes_by_the_paper_and_the_seed_says_125() {
        // 2 us of propagation and 1538 + 84 bytes over links of 1, 6, 6 and 1 Gb/s.
        let rtt = Time::us(2) + Time(12_304_000 * 2 + 2_050_667 * 2 + 672_000 * 2 + 112_000 * 2);
        let physical = Settings::default().one_way_delay(&path_with_rtt(rtt), &context_with_payload(1460));
        assert_eq!((physical.bytes, physical.time), (2920, Time(rtt.0 / 2)));
        let paper = Settings::for_preset(Preset::Paper);
        let exact = paper.one_way_delay(&path_with_rtt(rtt), &context_with_payload(1460));
        assert_eq!((exact.bytes, exact.time), (1915, Time(rtt.0 / 2)));
        assert_eq!(
            paper.first_window(exact, &path_with_rtt(rtt), &context_with_payload(1460), false),
            2,
            "until it is filled"
        );
        let seed = Settings::for_preset(Preset::Seed);
        assert_eq!(
            seed.one_way_delay(&path_with_rtt(rtt), &context_with_payload(125)),
            Owd { time: Time::us(1), bytes: 125 }
        );
        assert_eq!(
            seed.one_way_delay(&path_with_rtt(rtt), &context_with_payload(1460)).bytes,
            1460,
            "never less than a packet"
        );
        let far = Settings { owd: Time::DAY, ..Settings::default() };
        let (far, path, context) = (far.clone(), path_with_rtt(rtt), context_with_payload(1460));
        assert_eq!(
            far.first_window(far.one_way_delay(&path, &context), &path, &context, false),
            u32::MAX,
            "no less than it is"
        );
    }

    #[test]
    fn a_preset_sets_what_is_not_said() {
        let mut params = ProactMpParams::default();
        assert_eq!(params.set("clamp", ParamValue::Bool(true)), Ok(()));
        assert_eq!(params.set("preset", ParamValue::Choice("seed".into())), Ok(()));
        assert_eq!(params, ProactMpParams(Settings { clamp: true, ..Settings::for_preset(Preset::Seed) }));
    }

    #[test]
    fn the_timeout_is_the_longest_of_its_parts() {
        let settings = Settings::default();
        let path = path_with_rtt(Time::us(10));
        assert_eq!(settings.resend_timeout(&path, Time::ZERO), Time::us(80));
        assert_eq!(settings.resend_timeout(&path, Time::us(30)), Time::us(120));
        let tick = Settings { timeout_floor: Time::ms(4), ..settings };
        assert_eq!(tick.resend_timeout(&path, Time::us(30)), Time::ms(4));
    }
}
