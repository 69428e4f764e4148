//! Entries at random, for tests of cases that no example has. Each kind says in its own file how one is drawn.

use headway_units::Time;
use serde_json::{Value as Json, json};

/// A source of random choices.
pub trait RandomSource {
    /// A number from 0 up to, and not including, `n`, which is at least 1.
    fn below(&mut self, n: u64) -> u64;
    /// A share from 0 up to 1.
    fn share(&mut self) -> f64;
    /// Any order of magnitude from `least` to `most`, both positive, is equally likely.
    fn magnitude(&mut self, least: f64, most: f64) -> f64;
    /// A whole number from `least` to `most`, of which any order of magnitude is equally likely.
    fn count(&mut self, least: u64, most: u64) -> u64;

    /// A number from `least` to `most`, both included, which are less than all numbers apart.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True so many times in a hundred.
    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// A flow of the file that a random scenario may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Host that sends.
    pub src: u64,
    /// Host that receives.
    pub dst: u64,
    /// Bytes of the application.
    pub bytes: u64,
    /// Start in microseconds.
    pub start_us: u64,
    /// Class of the application.
    pub class: u64,
}

/// The network that an entry is drawn for, and how much the entry may send.
pub struct Ground<'a> {
    /// Source of random choices.
    pub dice: &'a mut dyn RandomSource,
    /// Hosts of the network, at least two.
    pub hosts: u64,
    /// Packets that the entry may send, about.
    pub packets: u64,
    /// Application bytes of a full packet.
    pub payload: u64,
    /// Bytes of a full packet on the wire.
    pub wire: u64,
    /// Time of a full packet on the slowest link, in picoseconds.
    pub slot: u64,
    /// Longest base round trip, in picoseconds.
    pub round_trip: u64,
    /// True if paths are pinned.
    pub pinned: bool,
    /// Names of the file of flows, as a table and as a matrix.
    pub file_names: [&'static str; 2],
    /// Flows in that file, once an entry has named it.
    pub file: &'a mut Option<Vec<Listed>>,
}

impl Ground<'_> {
    /// A message of up to so many packets; often one byte more or less than whole packets.
    pub fn bytes(&mut self, packets: u64) -> u64 {
        let most = packets.max(1);
        let whole = if self.dice.percent(50) { most } else { self.dice.count(1, most) } * self.payload;
        match self.dice.below(8) {
            0 => self.dice.count(1, self.payload),
            1 => whole,
            2 => whole + 1,
            3 => (whole - 1).max(1),
            _ => self.dice.between((whole / 2).max(1), whole),
        }
    }

    /// The latest start: within a few round trips, or a few packets where that is longer.
    pub fn latest(&self) -> u64 {
        self.round_trip * 4 + self.slot * 100
    }

    /// Start of something, as a duration with its unit.
    pub fn start(&mut self) -> Json {
        let latest = self.latest();
        duration(if self.dice.percent(40) { 0 } else { self.dice.below(latest) })
    }

    /// Two different hosts.
    pub fn pair(&mut self) -> (u64, u64) {
        let src = self.dice.below(self.hosts);
        (src, (src + 1 + self.dice.below(self.hosts - 1)) % self.hosts)
    }
}

/// A duration as scenarios write it.
pub fn duration(ps: u64) -> Json {
    json!(Time(ps).to_string())
}
