//! Instants and durations in integer picoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant since the start of the run, or a duration; the unit is always the picosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The start of a run, and the empty duration.
    pub const ZERO: Time = Time(0);
    /// Later than any instant of a run.
    pub const MAX: Time = Time(u64::MAX);
    /// A day: as long as any parameter may be said to last, and short enough to be doubled a few times.
    pub const DAY: Time = Time::s(86_400);

    /// A time of `n` picoseconds.
    pub const fn ps(n: u64) -> Time {
        Time(n)
    }

    /// A time of `n` nanoseconds.
    pub const fn ns(n: u64) -> Time {
        Time(n * 1_000)
    }

    /// A time of `n` microseconds.
    pub const fn us(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// A time of `n` milliseconds.
    pub const fn ms(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }

    /// A time of `n` seconds.
    pub const fn s(n: u64) -> Time {
        Time(n * 1_000_000_000_000)
    }

    /// Seconds as a float, for presentation only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The difference, or zero when `other` is later.
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }

    /// The sum, or [`Time::MAX`] when it would not fit.
    pub const fn saturating_add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }

    /// The product, or [`Time::MAX`] when it would not fit.
    pub const fn saturating_mul(self, factor: u64) -> Time {
        Time(self.0.saturating_mul(factor))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

/// Never more than [`Time::MAX`]: what would end later does not end in any run.
impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, factor: u64) -> Time {
        self.saturating_mul(factor)
    }
}

impl Div<u64> for Time {
    type Output = Time;
    fn div(self, divisor: u64) -> Time {
        Time(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale, digits) = match self.0 {
            // Zero has no largest unit.
            0 => return f.write_str("0 s"),
            n if n >= 1_000_000_000_000 => ("s", 1_000_000_000_000u64, 12),
            n if n >= 1_000_000_000 => ("ms", 1_000_000_000, 9),
            n if n >= 1_000_000 => ("us", 1_000_000, 6),
            n if n >= 1_000 => ("ns", 1_000, 3),
            n => return write!(f, "{n} ps"),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        if rest == 0 {
            return write!(f, "{whole} {unit}");
        }
        // Padded on the left: 1 ps beyond a second is not a tenth of it.
        let fraction = format!("{rest:0digits$}");
        write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_the_largest_unit_without_losing_a_picosecond() {
        assert_eq!(Time(259_792_000).to_string(), "259.792 us");
        assert_eq!(Time(1).to_string(), "1 ps");
        assert_eq!(Time(1_000_000_000_001).to_string(), "1.000000000001 s");
        assert_eq!(Time::ZERO.to_string(), "0 s");
    }
}
