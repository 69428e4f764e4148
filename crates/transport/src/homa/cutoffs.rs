//! Priorities of packets, and their split, which follows from the sizes of messages.

use super::params::{CUTOFFS, LINUX_CUTOFFS, SCHEDULED_CUTOFFS, ScheduledBy, ScheduledFrom, Settings};
use super::params::{UnscheduledBy, packets_of};
use crate::endpoint::Traffic;
use headway_packet::Sizes;

/// The queue classes of a host's data: 1 is served first among them, control has 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Priorities {
    /// Classes of data.
    all: u8,
    /// The first of them are for unscheduled packets, the others for scheduled ones.
    unscheduled: u8,
    /// Largest size of each unscheduled class but the last; 0 where there is none.
    cutoffs: [u64; CUTOFFS],
    by: UnscheduledBy,
    from: ScheduledFrom,
    scheduled_by: ScheduledBy,
    /// Cut-offs of the scheduled classes, where they follow a length.
    scheduled_cutoffs: [u64; CUTOFFS],
}

impl Priorities {
    pub(super) fn new(settings: &Settings) -> Priorities {
        let all = settings.priorities as u8;
        let wanted = match settings.unscheduled_levels {
            0 => all / 2,
            n => n as u8,
        };
        let mut cutoffs = settings.unscheduled_cutoffs();
        // Only where none is set: one of a scenario's might fall between those of Linux.
        if cutoffs == [0; CUTOFFS] {
            cutoffs[..LINUX_CUTOFFS.len()].copy_from_slice(&LINUX_CUTOFFS);
        }
        let mut scheduled_cutoffs = settings.scheduled_cutoffs();
        if scheduled_cutoffs == [0; CUTOFFS] {
            scheduled_cutoffs[..SCHEDULED_CUTOFFS.len()].copy_from_slice(&SCHEDULED_CUTOFFS);
        }
        // A single class serves both kinds.
        let unscheduled = wanted.clamp(1, (all - 1).clamp(1, CUTOFFS as u8 + 1));
        let (by, from, scheduled_by) =
            (settings.unscheduled_by, settings.scheduled_from, settings.scheduled_by);
        Priorities { all, unscheduled, cutoffs, by, from, scheduled_by, scheduled_cutoffs }
    }

    /// Classes of scheduled packets.
    pub(super) fn scheduled_classes(&self) -> u32 {
        u32::from(self.all - self.unscheduled).max(1)
    }

    /// Scheduled classes that lengths are sorted into.
    fn scheduled_by_length(&self) -> usize {
        // Seven cut-offs tell eight levels apart.
        (self.scheduled_classes() as usize).min(CUTOFFS + 1)
    }

    /// The lowest class.
    pub(super) fn lowest_class(&self) -> u8 {
        self.all
    }

    /// The class of unscheduled packets with this size. Homa §3.4
    pub(super) fn of_size(&self, bytes: u64) -> u8 {
        level_of(&self.cutoffs, usize::from(self.unscheduled), bytes) as u8 + 1
    }

    /// The class of a message that is granted as the one of this rank among `active` ones. `lengths` computes its bytes
    /// and those still to be received, where the rule needs them.
    #[inline]
    pub(super) fn of_granted(
        &self,
        (rank, active): (usize, usize),
        lengths: impl FnOnce() -> (u64, u64),
    ) -> u8 {
        match self.scheduled_by {
            ScheduledBy::Receiver => self.of_rank(rank, active),
            ScheduledBy::MessageLength => self.of_length(lengths().0),
            ScheduledBy::RemainingLength => self.of_length(lengths().1),
        }
    }

    /// The scheduled class of this length.
    fn of_length(&self, bytes: u64) -> u8 {
        let levels = self.scheduled_by_length();
        // Counted from the lowest class, because there may be more scheduled classes than levels.
        self.all - (levels - 1 - level_of(&self.scheduled_cutoffs, levels, bytes)) as u8
    }

    /// The class of unscheduled packet `index` of a message.
    pub(super) fn of_unscheduled(&self, bytes: u64, index: u32, sizes: &Sizes) -> u8 {
        self.of_size(match self.by {
            UnscheduledBy::Length => bytes,
            UnscheduledBy::Remaining => bytes_from(bytes, index, sizes),
        })
    }

    /// The class of the message of this rank among `active` ones: the lowest classes that tell them apart, so
    /// that a newcomer finds a higher one free, or the highest; where there are too few, the last share one.
    /// Homa §3.4
    fn of_rank(&self, rank: usize, active: usize) -> u8 {
        let all = self.scheduled_classes() as usize;
        let levels = match self.from {
            ScheduledFrom::Lowest => all.min(active.max(1)),
            ScheduledFrom::Highest => all,
        };
        self.all - (levels - 1 - rank.min(levels - 1)) as u8
    }
}

/// Level of `levels` to which this size belongs: the first whose cut-off it does not exceed, or the last.
fn level_of(cutoffs: &[u64; CUTOFFS], levels: usize, bytes: u64) -> usize {
    let last = levels - 1;
    // A cut-off that is not set takes nothing, so that its level stays empty.
    let fits = |cutoff: &u64| *cutoff > 0 && bytes <= *cutoff;
    cutoffs[..last].iter().position(fits).unwrap_or(last)
}

/// Bytes of a message from packet `index` on.
pub(super) fn bytes_from(bytes: u64, index: u32, sizes: &Sizes) -> u64 {
    bytes.saturating_sub(u64::from(index) * u64::from(sizes.payload))
}

/// Sets the parameters that a scenario leaves open from the sizes of its messages. Homa §3.4
///
/// The unscheduled packets get as many of the priorities as their share of the bytes, at least one, and at
/// least one is left for the scheduled ones. The cut-offs give each of their levels as many bytes.
///
/// If scheduled priorities follow a length, their cut-offs give each of their levels as many scheduled bytes.
pub(super) fn tune_priorities(settings: &mut Settings, traffic: &Traffic) {
    tune_unscheduled(settings, traffic);
    tune_scheduled(settings, traffic);
}

/// Bytes that a message sends without a grant.
fn window_of(settings: &Settings, traffic: &Traffic) -> u64 {
    let set = if settings.unscheduled_bytes == 0 { settings.rtt_bytes } else { settings.unscheduled_bytes };
    let rtt_packets = match set {
        0 => traffic.path.bdp_packets(traffic.nic, &traffic.packet),
        bytes => packets_of(bytes, &traffic.packet),
    };
    u64::from(rtt_packets) * u64::from(traffic.packet.payload)
}

fn tune_unscheduled(settings: &mut Settings, traffic: &Traffic) {
    let priorities = settings.priorities;
    // Cut-offs that a scenario sets turn all of it off, the number of levels included.
    if priorities < 2 || settings.unscheduled_cutoffs() != [0; CUTOFFS] || traffic.sizes.is_empty() {
        return;
    }
    let window = window_of(settings, traffic);
    if settings.unscheduled_levels == 0 {
        let sent = |&(bytes, weight): &(u64, f64)| bytes.min(window) as f64 * weight;
        let share: f64 = traffic.sizes.iter().map(sent).sum::<f64>() / traffic.mean;
        let levels = (share * priorities as f64 + 0.5) as u64;
        // One level is left for scheduled packets, and seven cut-offs tell eight apart.
        settings.unscheduled_levels = levels.clamp(1, (priorities - 1).min(CUTOFFS as u64 + 1));
    }
    let levels = settings.unscheduled_levels;
    let all = unscheduled_up_to(traffic, window, settings.unscheduled_by, u64::MAX);
    let fields = [
        &mut settings.cutoff_1,
        &mut settings.cutoff_2,
        &mut settings.cutoff_3,
        &mut settings.cutoff_4,
        &mut settings.cutoff_5,
        &mut settings.cutoff_6,
        &mut settings.cutoff_7,
    ];
    for (level, field) in (1..levels).zip(fields) {
        let wanted = all * level as f64 / levels as f64;
        *field = smallest_enough(|size| {
            unscheduled_up_to(traffic, window, settings.unscheduled_by, size) >= wanted
        });
    }
}

/// Unscheduled bytes of a mean message whose size, as the priority sees it, is at most `size`.
fn unscheduled_up_to(traffic: &Traffic, window: u64, by: UnscheduledBy, size: u64) -> f64 {
    let of = |&(bytes, weight): &(u64, f64)| {
        let sent = bytes.min(window);
        let counted = match by {
            UnscheduledBy::Length if bytes <= size => sent,
            UnscheduledBy::Length => 0,
            // The bytes of the window have between `bytes` and `bytes - sent` bytes after them.
            UnscheduledBy::Remaining => size.saturating_sub(bytes - sent).min(sent),
        };
        counted as f64 * weight
    };
    traffic.sizes.iter().map(of).sum()
}

fn tune_scheduled(settings: &mut Settings, traffic: &Traffic) {
    let by = settings.scheduled_by;
    let said = settings.scheduled_cutoffs() != [0; CUTOFFS];
    if by == ScheduledBy::Receiver || said || traffic.sizes.is_empty() {
        return;
    }
    let window = window_of(settings, traffic);
    let levels = Priorities::new(settings).scheduled_by_length() as u64;
    let all = scheduled_up_to(traffic, window, by, u64::MAX);
    let fields = [
        &mut settings.scheduled_cutoff_1,
        &mut settings.scheduled_cutoff_2,
        &mut settings.scheduled_cutoff_3,
        &mut settings.scheduled_cutoff_4,
        &mut settings.scheduled_cutoff_5,
        &mut settings.scheduled_cutoff_6,
        &mut settings.scheduled_cutoff_7,
    ];
    for (level, field) in (1..levels).zip(fields) {
        let wanted = all * level as f64 / levels as f64;
        *field = smallest_enough(|size| scheduled_up_to(traffic, window, by, size) >= wanted);
    }
}

/// Scheduled bytes of a mean message whose size, as the priority sees it when they are granted, is at most `size`.
fn scheduled_up_to(traffic: &Traffic, window: u64, by: ScheduledBy, size: u64) -> f64 {
    let of = |&(bytes, weight): &(u64, f64)| {
        let granted = bytes.saturating_sub(window);
        let counted = match by {
            // A byte is granted a window ahead of its arrival, when that much more of the message is still to come.
            ScheduledBy::RemainingLength => size.saturating_sub(window).min(granted),
            _ if bytes <= size => granted,
            _ => 0,
        };
        counted as f64 * weight
    };
    traffic.sizes.iter().map(of).sum()
}

/// The smallest size of at least one byte that is enough.
fn smallest_enough(enough: impl Fn(u64) -> bool) -> u64 {
    // If one size is enough, so is every larger one: halving finds the smallest.
    let (mut low, mut high) = (1, u64::MAX);
    while low < high {
        // The sum of both could overflow, as `high` may be the largest number.
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Path;
    use headway_units::{Rate, Time};

    /// Sizes with equal weights on a path of ten packets.
    fn traffic_of_sizes(sizes: &[u64]) -> Traffic {
        let weight = 1.0 / sizes.len() as f64;
        let nic = Rate::gbps(10);
        let packet = Sizes::default();
        let rtt = packet.slot_time(nic) * 10;
        Traffic {
            sizes: sizes.iter().map(|&bytes| (bytes, weight)).collect(),
            mean: sizes.iter().sum::<u64>() as f64 * weight,
            path: Path {
                longest_timeout: Time::MAX,
                base_rtt: rtt,
                max_rtt: rtt + Time::us(1),
                bottleneck: nic,
                paths: 0,
                hops: 1,
            },
            nic,
            packet,
            oversubscription: 1.0,
        }
    }

    #[test]
    fn each_unscheduled_level_gets_as_many_bytes() {
        // Half of the bytes are unscheduled: 14600 of a message of 29200.
        let mut settings = Settings { unscheduled_by: UnscheduledBy::Remaining, ..Settings::default() };
        tune_priorities(&mut settings, &traffic_of_sizes(&[29_200]));
        assert_eq!(settings.unscheduled_levels, 4);
        assert_eq!(settings.unscheduled_cutoffs(), [18_250, 21_900, 25_550, 0, 0, 0, 0]);
        // Messages of 1, 2 and 3 units by length: six units of bytes, three levels of two.
        let mut settings =
            Settings { unscheduled_by: UnscheduledBy::Length, unscheduled_levels: 3, ..Settings::default() };
        tune_priorities(&mut settings, &traffic_of_sizes(&[1000, 2000, 3000]));
        assert_eq!(settings.unscheduled_cutoffs(), [2000, 3000, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn short_messages_leave_one_level_to_scheduled_packets_and_long_ones_take_all_but_one() {
        let mut short = Settings::default();
        tune_priorities(&mut short, &traffic_of_sizes(&[100, 200]));
        assert_eq!((short.unscheduled_levels, Priorities::new(&short).scheduled_classes()), (7, 1));
        let mut long = Settings::default();
        tune_priorities(&mut long, &traffic_of_sizes(&[100_000_000]));
        assert_eq!((long.unscheduled_levels, Priorities::new(&long).scheduled_classes()), (1, 7));
    }

    #[test]
    fn what_a_scenario_says_stands() {
        let said = Settings { unscheduled_levels: 2, cutoff_1: 5000, ..Settings::default() };
        let mut tuned = said.clone();
        tune_priorities(&mut tuned, &traffic_of_sizes(&[29_200]));
        assert_eq!(tuned, said);
    }

    #[test]
    fn without_sizes_the_levels_are_those_of_linux() {
        let priorities = Priorities::new(&Settings::default());
        let classes = [1, 200, 201, 2800, 15_000, 15_001].map(|bytes| priorities.of_size(bytes));
        assert_eq!(classes, [1, 1, 2, 2, 3, 4]);
        assert_eq!(priorities.scheduled_classes(), 4);
    }

    #[test]
    fn each_scheduled_level_gets_as_many_bytes_where_priorities_follow_a_length() {
        // The window is 14600 bytes; of these four 14600, 29200, 58400 and 102200 are scheduled.
        let sizes = [29_200, 43_800, 73_000, 116_800];
        let tuned = |scheduled_by| {
            let mut settings = Settings { unscheduled_levels: 4, scheduled_by, ..Settings::default() };
            tune_priorities(&mut settings, &traffic_of_sizes(&sizes));
            settings
        };
        assert_eq!(
            tuned(ScheduledBy::Receiver).scheduled_cutoffs(),
            [0; CUTOFFS],
            "nothing is sorted by length"
        );
        let whole = tuned(ScheduledBy::MessageLength);
        assert_eq!(whole.scheduled_cutoffs(), [73_000, 73_000, 116_800, 0, 0, 0, 0], "51100 bytes a level");
        // All four pass the last 14600 bytes before the window: 12775 of each are 51100.
        let rest = tuned(ScheduledBy::RemainingLength);
        assert_eq!(rest.scheduled_cutoffs()[0], 14_600 + 12_775);
        let share =
            |cutoff| scheduled_up_to(&traffic_of_sizes(&sizes), 14_600, ScheduledBy::RemainingLength, cutoff);
        for (level, cutoff) in (1..4).zip(rest.scheduled_cutoffs()) {
            assert!((share(cutoff) - 12_775.0 * f64::from(level)).abs() < 1.0, "level {level}: {cutoff}");
        }
        let said = Settings { scheduled_cutoff_1: 5000, ..whole };
        let mut again = said.clone();
        tune_priorities(&mut again, &traffic_of_sizes(&[1_000_000]));
        assert_eq!(again, said, "what a scenario says stands");
    }

    #[test]
    fn scheduled_classes_follow_the_length_at_any_rank() {
        let settings = Settings { scheduled_by: ScheduledBy::MessageLength, ..Settings::default() };
        let priorities = Priorities::new(&settings);
        let sizes = [1, 100_000, 100_001, 1_000_000, 10_000_000, 10_000_001];
        for (rank, active) in [(0, 1), (0, 4), (3, 4), (9, 10)] {
            let classes = sizes.map(|bytes| priorities.of_granted((rank, active), || (bytes, 1)));
            assert_eq!(classes, [5, 5, 6, 6, 7, 8]);
        }
        let settings = Settings { scheduled_by: ScheduledBy::RemainingLength, ..settings };
        let by_rest = Priorities::new(&settings);
        assert_eq!(sizes.map(|bytes| by_rest.of_granted((0, 1), || (1 << 40, bytes))), [5, 5, 6, 6, 7, 8]);
        // One class for all, and more classes than there are cut-offs.
        let single = Priorities::new(&Settings { priorities: 1, ..settings.clone() });
        assert_eq!(sizes.map(|bytes| single.of_granted((0, 1), || (1, bytes))), [1; 6]);
        // Of 27 scheduled classes the lowest eight are used, and the seventh cut-off alone is set.
        let many = Settings { priorities: 31, unscheduled_levels: 4, scheduled_cutoff_7: 50, ..settings };
        let many = Priorities::new(&many);
        assert_eq!([50, 51].map(|bytes| many.of_granted((0, 1), || (1, bytes))), [30, 31]);
    }

    #[test]
    fn ranks_take_the_lowest_scheduled_classes_or_the_highest() {
        let priorities = Priorities::new(&Settings::default());
        let classes = |active: usize| (0..active).map(|r| priorities.of_rank(r, active)).collect::<Vec<_>>();
        assert_eq!(classes(1), [8]);
        assert_eq!(classes(2), [7, 8]);
        assert_eq!(classes(4), [5, 6, 7, 8]);
        assert_eq!(classes(6), [5, 6, 7, 8, 8, 8]);
        let highest = Settings { scheduled_from: ScheduledFrom::Highest, ..Settings::default() };
        let priorities = Priorities::new(&highest);
        let classes = |active: usize| (0..active).map(|r| priorities.of_rank(r, active)).collect::<Vec<_>>();
        assert_eq!((classes(1), classes(2), classes(6)), (vec![5], vec![5, 6], vec![5, 6, 7, 8, 8, 8]));
        let single = Priorities::new(&Settings { priorities: 1, ..Settings::default() });
        assert_eq!((single.of_size(1), single.of_size(1 << 40), single.of_rank(0, 3)), (1, 1, 1));
    }
}
