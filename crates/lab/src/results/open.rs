//! Flows that are open at the end of a run count in its numbers. This is decided here and nowhere else.
//!
//! A flow counts if it ended and had begun after the warm-up, or if it has begun at all and is open at the end. The time
//! of an open one is at least what it has been open for. A number that open ones could move is therefore a bound: the
//! value that it has if each of them ended with the run. A run that stops earlier has more of these and never claims more.

use super::statistics::{mean, quantile};
use crate::text::quantity::as_seconds;
use headway_network::{FlowRecord, FlowState};
use headway_units::Time;

/// Word in the bounds of a summary for a number that is a lower bound.
pub const AT_LEAST: &str = "at least";
/// Word for a number of only the flows that ended.
pub const OF_ENDED: &str = "of those that ended";

/// A number, which may be only a lower bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The number, or its lower bound.
    pub value: f64,
    /// True if open flows could make it larger.
    pub at_least: bool,
}

/// Duration of a flow in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Took {
    /// It is whole.
    Ended(f64),
    /// It is open at the end of the run, or was given up: at least so long.
    Open(f64),
}

impl Took {
    pub(super) fn least(self) -> f64 {
        let (Took::Ended(took) | Took::Open(took)) = self;
        took
    }

    pub(super) fn is_open(self) -> bool {
        matches!(self, Took::Open(_))
    }
}

/// Time at which a flow began, if it did.
pub(super) fn begun(record: &FlowRecord) -> Option<Time> {
    record.start.filter(|_| record.state != FlowState::Pending)
}

/// Time for which a flow was open that never became whole, if that counts; `None` for one that its own `stop` ended.
pub(super) fn open_for(record: &FlowRecord, end: Time) -> Option<Time> {
    let is_open = matches!(record.state, FlowState::Unfinished | FlowState::Failed);
    begun(record).filter(|start| is_open && *start <= end).map(|start| end.saturating_sub(start))
}

/// Duration of a flow, if it counts.
pub(super) fn took(record: &FlowRecord, warmup: Time, end: Time) -> Option<Took> {
    if let Some(open) = open_for(record, end) {
        return Some(Took::Open(as_seconds(open)));
    }
    // Only flows that ended: an open one counts even if it began in the warm-up, as it hangs.
    let is_late = record.start.is_some_and(|start| start >= warmup);
    let fct = record.fct().filter(|_| is_late && record.state == FlowState::Done)?;
    Some(Took::Ended(as_seconds(fct)))
}

/// The share that is late of what took, or is open for, some time: each with whether it is late already. Nothing if nothing is
/// decided.
pub(super) fn missed(each: impl Iterator<Item = (Took, bool)>) -> Option<Found> {
    let (mut all, mut late, mut unknown) = (0u64, 0u64, 0u64);
    for (took, is_late) in each {
        all += 1;
        late += u64::from(is_late);
        unknown += u64::from(took.is_open() && !is_late);
    }
    (all > unknown).then(|| Found { value: late as f64 / all as f64, at_least: unknown > 0 })
}

/// Values of which some are only known to be at least so much.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The known ones, in ascending order.
    ended: Vec<f64>,
    /// With the least that the others can be, in ascending order.
    all: Vec<f64>,
}

impl Sample {
    pub(super) fn of(values: impl IntoIterator<Item = Took>) -> Sample {
        let mut sample = Sample::default();
        for value in values {
            sample.all.push(value.least());
            if !value.is_open() {
                sample.ended.push(value.least());
            }
        }
        sample.ended.sort_by(f64::total_cmp);
        sample.all.sort_by(f64::total_cmp);
        sample
    }

    /// Number of flows, and number of open ones among them.
    pub fn counts(&self) -> (usize, usize) {
        (self.all.len(), self.all.len() - self.ended.len())
    }

    /// The quantile `q` by nearest rank. Nothing if nothing ended.
    pub fn quantile(&self, q: f64) -> Option<Found> {
        let value = quantile(&self.all, q).filter(|_| !self.ended.is_empty())?;
        // The other extreme: whatever is open takes for ever.
        let rank = (libm::ceil(q * self.all.len() as f64) as usize).max(1);
        let at_least = self.ended.get(rank - 1) != Some(&value);
        Some(Found { value, at_least })
    }

    /// The mean. Nothing if nothing ended.
    pub fn mean(&self) -> Option<Found> {
        let value = mean(&self.all).filter(|_| !self.ended.is_empty())?;
        Some(Found { value, at_least: self.counts().1 > 0 })
    }

    /// The largest. Nothing if nothing ended.
    pub fn largest(&self) -> Option<Found> {
        let value = *self.all.last().filter(|_| !self.ended.is_empty())?;
        Some(Found { value, at_least: self.counts().1 > 0 })
    }

    /// The largest of the known ones.
    pub(super) fn largest_known(&self) -> Option<f64> {
        self.ended.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_exact_where_open_ones_cannot_move_it() {
        let ended = [1.0, 2.0, 3.0, 4.0].map(Took::Ended);
        let sample = |open: f64| Sample::of(ended.into_iter().chain([Took::Open(open)]));
        let found = |value, at_least| Some(Found { value, at_least });
        assert_eq!(sample(5.0).quantile(0.5), found(3.0, false));
        // It may have ended at 1.5, or much later.
        assert_eq!(sample(1.5).quantile(0.5), found(2.0, true));
        assert_eq!(sample(5.0).quantile(0.99), found(5.0, true));
        assert_eq!(sample(2.0).largest(), found(4.0, true));
        assert_eq!(sample(5.0).mean(), found(3.0, true));
        assert_eq!(Sample::of([Took::Open(1.0)]).quantile(0.5), None);
        assert_eq!(Sample::of(ended).mean(), found(2.5, false));
    }
}
