//! The subflows of a message as its receiver knows them: its path manager. ProactMP §III-B2

use super::params::Settings;
use crate::endpoint::Path;
use headway_units::Time;

/// One subflow of a message, as its receiver sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    pub(super) entropy: u32,
    /// Last DATA or Response on it; none before it is established.
    heard: Option<Time>,
    /// Last Request for it, and how many have had no result.
    asked: Option<Time>,
    tries: u32,
}

/// The subflows of one message; one alone where either end does not know Pro_Capable.
#[derive(Clone, Debug)]
pub(super) struct PathList {
    list: Vec<Joined>,
    /// The subflow of the last DATA.
    last: usize,
}

impl PathList {
    /// The message's own path alone.
    pub(super) fn new(entropy: u32) -> PathList {
        let own = Joined { entropy, heard: None, asked: None, tries: 0 };
        PathList { list: vec![own], last: 0 }
    }

    /// Both ends want `count` subflows; `entropy` says which path each takes.
    pub(super) fn extend(&mut self, count: u32, entropy: impl Fn(u32) -> u32) {
        // Later packets repeat the number, and add nothing.
        for number in self.list.len() as u32..count {
            self.list.push(Joined { entropy: entropy(number), heard: None, asked: None, tries: 0 });
        }
    }

    /// A packet came on subflow `number`, by this path; the next answer goes back on it, unless the packet is a
    /// `Response`.
    pub(super) fn mark_heard(&mut self, number: usize, entropy: u32, now: Time, last: bool) {
        if let Some(subflow) = self.list.get_mut(number) {
            (subflow.heard, subflow.tries, subflow.entropy) = (Some(now), 0, entropy);
            self.last = if last { number } else { self.last };
        }
    }

    /// The subflow of the last DATA, and its path.
    pub(super) fn last_heard(&self) -> (u32, u32) {
        (self.last as u32, self.list[self.last].entropy)
    }

    /// The path of a subflow.
    pub(super) fn subflow_entropy(&self, number: usize) -> Option<u32> {
        self.list.get(number).map(|subflow| subflow.entropy)
    }

    /// True if a subflow has never been heard.
    pub(super) fn is_incomplete(&self) -> bool {
        self.list.iter().any(|subflow| subflow.heard.is_none())
    }

    /// A subflow to ask for now: one that is not there, or has been silent; no more than one at a time.
    pub(super) fn next_to_join(
        &mut self,
        settings: &Settings,
        path: &Path,
        now: Time,
        timeout: Time,
    ) -> Option<u32> {
        let silent = |s: &Joined| {
            // `None` is less than any time.
            let since = s.asked.max(s.heard);
            since.is_none_or(|at| now >= at.saturating_add(settings.doubled_timeout(path, timeout, s.tries)))
        };
        // A Request is pending for as long as its time-out has not passed.
        if self.list.iter().any(|s| s.asked > s.heard && !silent(s)) {
            return None;
        }
        let number = self.list.iter().position(silent)?;
        let subflow = &mut self.list[number];
        // A Request after which something was heard was not in vain.
        subflow.tries += u32::from(subflow.asked > subflow.heard);
        subflow.asked = Some(now);
        Some(number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_subflow_is_asked_for_at_a_time_and_a_silent_one_again() {
        let settings = Settings::default();
        let mut paths = PathList::new(7);
        paths.mark_heard(0, 7, Time::us(1), true);
        paths.extend(3, |n| 7 + n);
        let path = Path {
            longest_timeout: Time::MAX,
            base_rtt: Time::us(1),
            max_rtt: Time::us(2),
            bottleneck: headway_units::Rate::gbps(1),
            paths: 0,
            hops: 1,
        };
        let ask = |paths: &mut PathList, at| paths.next_to_join(&settings, &path, Time::us(at), Time::us(10));
        assert_eq!(ask(&mut paths, 1), Some(1));
        assert_eq!(ask(&mut paths, 2), None, "one is pending");
        paths.mark_heard(1, 8, Time::us(3), false);
        assert_eq!((ask(&mut paths, 3), paths.last_heard()), (Some(2), (0, 7)));
        assert_eq!(ask(&mut paths, 13), Some(0), "silent for longer");
        paths.mark_heard(0, 7, Time::us(14), true);
        paths.mark_heard(1, 8, Time::us(14), true);
        assert_eq!((ask(&mut paths, 14), ask(&mut paths, 23)), (Some(2), None));
        assert_eq!(ask(&mut paths, 34), Some(0));
    }
}
