//! Parameters of Homa, and the published systems whose values they can take together.

use crate::endpoint::{HostContext, Path};
use headway_packet::Sizes;
use headway_params::ParamKind;
use headway_units::Time;

headway_params::choice! {
    /// Version of Homa that the values stand for.
    pub enum Preset {
        /// The SIGCOMM 2018 paper and its authors' simulator.
        Sigcomm18 = "sigcomm18",
        /// The Linux kernel module and the Internet-Draft.
        Linux = "linux",
        /// Homa as the AMRT and RPO papers compare against it.
        Amrt = "amrt",
    }
}

headway_params::choice! {
    /// Limit on the packets of a granted message that are on their way.
    pub enum GrantWindow {
        /// RTTbytes, however it began.
        RttBytes = "rtt-bytes",
        /// As much as its first window: one grant for each packet that arrives, as AMRT §III-A describes it.
        FirstWindow = "first-window",
    }
}

headway_params::choice! {
    /// Condition under which a packet counts as missing.
    pub enum LossTimer {
        /// It was authorised a time-out ago and has not arrived, whatever else has.
        Packet = "packet",
        /// Nothing at all of its message has arrived for a time-out.
        Silence = "silence",
    }
}

headway_params::choice! {
    /// Pace at which a receiver asks for missing packets.
    pub enum Asking {
        /// As many as its link can take: one a frame time over all messages.
        Paced = "paced",
        /// All that are missing, in one packet after another.
        AtOnce = "at-once",
    }
}

headway_params::choice! {
    /// Quantity that the priority of an unscheduled packet follows.
    pub enum UnscheduledBy {
        /// The bytes of its message from this packet on.
        Remaining = "remaining",
        /// The bytes of the whole message.
        Length = "length",
    }
}

headway_params::choice! {
    /// Scheduled priorities that are used while fewer messages are granted than there are of them.
    pub enum ScheduledFrom {
        /// The lowest, so that a newcomer finds a higher one free.
        Lowest = "lowest",
        /// The highest: a message gets the priority of its rank, and a newcomer shares it with packets granted before.
        Highest = "highest",
    }
}

headway_params::choice! {
    /// Quantity that the priority of a scheduled packet follows.
    pub enum ScheduledBy {
        /// The rank of its message among those that its receiver grants.
        Receiver = "receiver",
        /// The bytes of the whole message, against fixed cut-offs: the same at every receiver.
        MessageLength = "message-length",
        /// The bytes of the message that are still to be received when it is granted, against the same.
        RemainingLength = "remaining-length",
    }
}

headway_params::params! {
    /// Parameters of Homa, with the values of `sigcomm18`.
    pub struct Settings {
        /// Version of Homa: the values of all parameters that are not given.
        preset: Preset = Preset::Sigcomm18, ParamKind::Choice(Preset::WORDS);
        /// Messages granted at a time, the degree of overcommitment; 0 = as many as there are scheduled priorities. Homa §3.5. linux: 8, amrt: 2 of the paper's 2 to 8
        overcommit: u64 = 0, ParamKind::Int { min: 0, max: 1000 };
        /// RTTbytes: bytes granted beyond those that have arrived, in whole packets; 0 = a bandwidth-delay product of the pair. linux: 40000
        rtt_bytes: u64 = 0, ParamKind::Bytes { min: 0, max: 1_000_000_000 };
        /// Bytes sent without a grant, in whole packets; 0 = RTTbytes
        unscheduled_bytes: u64 = 0, ParamKind::Bytes { min: 0, max: 1_000_000_000 };
        /// Bytes that all messages of a receiver may have on their way; each of n gets this divided by n + 1. 0 = RTTbytes for each. linux: 400000
        max_incoming: u64 = 0, ParamKind::Bytes { min: 0, max: 1_000_000_000_000 };
        /// Limit on the packets of a granted message that are on their way, where `max_incoming` does not say: differs for flows that start as fair sharers. amrt: first-window
        grant_window: GrantWindow = GrantWindow::RttBytes, ParamKind::Choice(GrantWindow::WORDS);
        /// Condition under which a packet counts as missing. linux: silence
        loss_timer: LossTimer = LossTimer::Packet, ParamKind::Choice(LossTimer::WORDS);
        /// Base round trips in the time-out, to which one drain of full buffers on the way is added.
        resend_rtts: f64 = 3.0, ParamKind::Float { min: 0.5, max: 1000.0 };
        /// Lower limit of the time-out. linux: 5 ms
        resend_floor: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Largest number of doublings of the time-out, while asking has no result. linux: 0
        backoff: u64 = 5, ParamKind::Int { min: 0, max: 20 };
        /// Pace at which missing packets are asked for. linux: at-once
        asking: Asking = Asking::Paced, ParamKind::Choice(Asking::WORDS);
        /// Priorities of data; control has one above them.
        priorities: u64 = 8, ParamKind::Int { min: 1, max: 31 };
        /// Priorities among them for unscheduled packets; 0 = by their share of the bytes, where the sizes are known, else half. linux: 4
        unscheduled_levels: u64 = 0, ParamKind::Int { min: 0, max: 8 };
        /// Quantity that the priority of an unscheduled packet follows. linux, amrt: length
        unscheduled_by: UnscheduledBy = UnscheduledBy::Remaining, ParamKind::Choice(UnscheduledBy::WORDS);
        /// Scheduled priorities that are used while fewer messages are granted than there are of them. Homa §3.4
        scheduled_from: ScheduledFrom = ScheduledFrom::Lowest, ParamKind::Choice(ScheduledFrom::WORDS);
        /// Quantity that the priority of a scheduled packet follows. Homa §3.4: the receiver's ranks
        scheduled_by: ScheduledBy = ScheduledBy::Receiver, ParamKind::Choice(ScheduledBy::WORDS);
        /// Scheduled packets among the last RTTbytes of a message have at least the priority that unscheduled ones would have. linux, amrt: false
        boost_tail: bool = true, ParamKind::Bool;
        /// Share of grants, and of packets sent, that go to the oldest message. linux: 0.05
        fifo_share: f64 = 0.0, ParamKind::Float { min: 0.0, max: 0.5 };
        /// Largest size in bytes of the first unscheduled priority; 0 = by the sizes, where they are known, else 200.
        cutoff_1: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the second; else 2800.
        cutoff_2: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the third; else 15000.
        cutoff_3: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the fourth.
        cutoff_4: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the fifth.
        cutoff_5: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the sixth.
        cutoff_6: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the seventh.
        cutoff_7: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the first scheduled priority, where that follows a length; 0 = by the sizes, where they are known, else 100000.
        scheduled_cutoff_1: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the second; else 1000000.
        scheduled_cutoff_2: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the third; else 10000000.
        scheduled_cutoff_3: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the fourth.
        scheduled_cutoff_4: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the fifth.
        scheduled_cutoff_5: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the sixth.
        scheduled_cutoff_6: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
        /// Largest size in bytes of the seventh.
        scheduled_cutoff_7: u64 = 0, ParamKind::Bytes { min: 0, max: u64::MAX };
    }
}

/// Cut-offs of the Linux module, in bytes.
pub(super) const LINUX_CUTOFFS: [u64; 3] = [200, 2800, 15_000];

/// Cut-offs between scheduled levels where the sizes are not known, in bytes.
pub(super) const SCHEDULED_CUTOFFS: [u64; 3] = [100_000, 1_000_000, 10_000_000];

/// Levels of a kind that have a cut-off each; the last has none.
pub(super) const CUTOFFS: usize = 7;

impl Settings {
    fn for_preset(preset: Preset) -> Settings {
        let plain = Settings { preset, ..Settings::default() };
        match preset {
            Preset::Sigcomm18 => plain,
            Preset::Linux => Settings {
                overcommit: 8,
                rtt_bytes: 40_000,
                max_incoming: 400_000,
                loss_timer: LossTimer::Silence,
                resend_floor: Time::ms(5),
                backoff: 0,
                asking: Asking::AtOnce,
                unscheduled_levels: 4,
                unscheduled_by: UnscheduledBy::Length,
                boost_tail: false,
                fifo_share: 0.05,
                cutoff_1: LINUX_CUTOFFS[0],
                cutoff_2: LINUX_CUTOFFS[1],
                cutoff_3: LINUX_CUTOFFS[2],
                ..plain
            },
            Preset::Amrt => Settings {
                overcommit: 2,
                grant_window: GrantWindow::FirstWindow,
                unscheduled_by: UnscheduledBy::Length,
                boost_tail: false,
                ..plain
            },
        }
    }

    /// Cut-offs between unscheduled levels as they are set, 0 where they are not.
    pub(super) fn unscheduled_cutoffs(&self) -> [u64; CUTOFFS] {
        [
            // A parameter has a single value, so that each cut-off is one of its own.
            self.cutoff_1,
            self.cutoff_2,
            self.cutoff_3,
            self.cutoff_4,
            self.cutoff_5,
            self.cutoff_6,
            self.cutoff_7,
        ]
    }

    /// Cut-offs between scheduled levels as they are set, 0 where they are not.
    pub(super) fn scheduled_cutoffs(&self) -> [u64; CUTOFFS] {
        [
            self.scheduled_cutoff_1,
            self.scheduled_cutoff_2,
            self.scheduled_cutoff_3,
            self.scheduled_cutoff_4,
            self.scheduled_cutoff_5,
            self.scheduled_cutoff_6,
            self.scheduled_cutoff_7,
        ]
    }

    /// Packets of RTTbytes over `path`.
    pub(super) fn rtt_packets(&self, path: &Path, context: &HostContext) -> u32 {
        match self.rtt_bytes {
            0 => path.bdp_packets(context.nic, &context.sizes),
            bytes => packets_of(bytes, &context.sizes),
        }
    }

    /// The time-out over `path`: some base round trips, and one drain of its full buffers.
    pub(super) fn resend_timeout(&self, path: &Path) -> Time {
        let queues = path.max_rtt.saturating_sub(path.base_rtt);
        crate::shared::scale_time(path.base_rtt, self.resend_rtts)
            .saturating_add(queues)
            .max(self.resend_floor)
    }
}

/// Packets that hold this many bytes.
pub(super) fn packets_of(bytes: u64, sizes: &Sizes) -> u32 {
    // At least one, so that a message can begin.
    u32::try_from(bytes.div_ceil(sizes.payload.into())).unwrap_or(u32::MAX).max(1)
}

headway_params::preset_params! {
    /// Parameters of Homa.
    pub struct HomaParams(pub Settings);
}

impl HomaParams {
    /// The values of a preset.
    pub fn for_preset(preset: Preset) -> HomaParams {
        HomaParams(Settings::for_preset(preset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_params::{ParamValue, Params};

    #[test]
    fn a_preset_sets_what_is_not_said() {
        assert_eq!(HomaParams::default(), HomaParams::for_preset(Preset::Sigcomm18));
        let mut params = HomaParams::default();
        assert_eq!(params.set("overcommit", ParamValue::Int(6)), Ok(()));
        assert_eq!(params.set("preset", ParamValue::Choice("linux".into())), Ok(()));
        assert_eq!((params.0.overcommit, params.0.rtt_bytes), (6, 40_000), "what was said stands");
        assert_eq!(params.set("preset", ParamValue::Choice("amrt".into())), Ok(()));
        assert_eq!((params.0.overcommit, params.0.rtt_bytes, params.0.cutoff_1), (6, 0, 0));
        let amrt = HomaParams::for_preset(Preset::Amrt).0;
        assert_eq!((amrt.overcommit, amrt.grant_window), (2, GrantWindow::FirstWindow));
    }

    #[test]
    fn the_timeout_has_a_floor() {
        let path = Path {
            longest_timeout: Time::MAX,
            base_rtt: Time::us(10),
            max_rtt: Time::us(50),
            bottleneck: headway_units::Rate::gbps(10),
            paths: 0,
            hops: 1,
        };
        // Three base round trips of 10 us, and 40 us in which full buffers drain.
        assert_eq!(HomaParams::default().0.resend_timeout(&path), Time::us(70));
        assert_eq!(HomaParams::for_preset(Preset::Linux).0.resend_timeout(&path), Time::ms(5));
    }
}
