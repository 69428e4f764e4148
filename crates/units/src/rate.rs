//! Link rates and the time a packet takes on the wire.

use crate::Time;
use std::fmt;

const PS_BITS_PER_BYTE: u64 = 8_000_000_000_000;

/// A rate in bits per second, never zero.
///
/// The time of one byte is stored as well when it is a whole number of picoseconds (every rate that
/// divides 8 Tb/s: 1, 10, 25, 40, 100, 200, 400 Gb/s ...); other rates round the time of a packet up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    bps: u64,
    ps_per_byte: u64,
}

impl Rate {
    /// A rate of `bps` bits per second, or `None` for zero.
    pub const fn new(bps: u64) -> Option<Rate> {
        if bps == 0 {
            return None;
        }
        // A multiplication then replaces a division of 128 bits.
        let exact = PS_BITS_PER_BYTE.is_multiple_of(bps);
        let ps_per_byte = if exact { PS_BITS_PER_BYTE / bps } else { 0 };
        Some(Rate { bps, ps_per_byte })
    }

    /// `n` gigabits per second.
    ///
    /// # Panics
    /// If `n` is zero; meant for constants.
    pub const fn gbps(n: u64) -> Rate {
        match Rate::new(n * 1_000_000_000) {
            Some(rate) => rate,
            None => panic!("a rate of zero"),
        }
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.bps
    }

    /// Serialisation time of `bytes` on the wire, rounded up to a picosecond.
    #[inline]
    pub const fn time_of(self, bytes: u64) -> Time {
        if self.ps_per_byte != 0 {
            // At 1 Gb/s, 64 bits hold the time of 2.3 PB.
            Time(bytes * self.ps_per_byte)
        } else {
            // In 64 bits, 2.3 MB overflow. Rounded up: a link is never faster than its rate.
            Time((bytes as u128 * PS_BITS_PER_BYTE as u128).div_ceil(self.bps as u128) as u64)
        }
    }

    /// Whole bytes that fit into `time` at this rate.
    pub const fn bytes_in(self, time: Time) -> u64 {
        // At 100 Gb/s, 64 bits overflow after 0.2 ms.
        (time.0 as u128 * self.bps as u128 / PS_BITS_PER_BYTE as u128) as u64
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bps {
            n if n.is_multiple_of(1_000_000_000) => write!(f, "{} Gbps", n / 1_000_000_000),
            n if n.is_multiple_of(1_000_000) => write!(f, "{} Mbps", n / 1_000_000),
            n if n.is_multiple_of(1_000) => write!(f, "{} kbps", n / 1_000),
            n => write!(f, "{n} bps"),
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_at_ten_gigabit_takes_1230_4_ns() {
        assert_eq!(Rate::gbps(10).time_of(1538), Time(1_230_400));
    }

    #[test]
    fn rates_that_do_not_divide_round_up() {
        let rate = Rate::gbps(3);
        assert_eq!(rate.time_of(1), Time(2667));
        assert_eq!(rate.bytes_in(Time(2667)), 1);
    }
}
