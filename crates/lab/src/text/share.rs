//! Share of a flow: one of how many sharers it starts as, a number with decimals, kept exactly.

use super::error::ScenarioError;
use super::reader::Item;
use serde_json::Value as Json;

/// Number of fair sharers of which a flow starts as one: `of`, less some thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of flows, rounded up.
    pub of: u32,
    /// Thousandths that it is less.
    pub fewer: u16,
}

impl Share {
    /// A flow that starts alone.
    pub const ALL: Share = Share { of: 1, fewer: 0 };
    const ALLOWED: &str = "a number from 1, with three decimals at most";

    /// A number of flows; `None` below 1, and where thousandths do not write it.
    pub(crate) fn new(number: f64) -> Option<Share> {
        let thousandths = libm::round(number * 1000.0);
        // Most decimals have no exact form in binary: 1.001 comes as a number near it.
        let exact = (thousandths / 1000.0 - number).abs() <= 1e-9 * number.max(1.0);
        // NaN is in no range, and so is refused here.
        if !exact || !(1000.0..=f64::from(u32::MAX) * 1000.0).contains(&thousandths) {
            return None;
        }
        let thousandths = thousandths as u64;
        let of = thousandths.div_ceil(1000);
        Some(Share { of: of as u32, fewer: (of * 1000 - thousandths) as u16 })
    }

    pub(crate) fn read(item: &Item<'_>) -> Result<Share, ScenarioError> {
        let number = item.number()?;
        Share::new(number).ok_or_else(|| item.range(Share::ALLOWED, number))
    }

    pub(crate) fn to_json(self) -> Json {
        match self.fewer {
            0 => self.of.into(),
            fewer => ((u64::from(self.of) * 1000 - u64::from(fewer)) as f64 / 1000.0).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_three_decimals_and_is_no_less_than_one() {
        let share = |of, fewer| Some(Share { of, fewer });
        let cases = [(1.0, share(1, 0)), (2.5, share(3, 500)), (40.0, share(40, 0)), (1.001, share(2, 999))];
        for (number, expected) in cases {
            assert_eq!(Share::new(number), expected, "{number}");
            assert_eq!(expected.map(|s| s.to_json().as_f64()), Some(Some(number)));
        }
        for wrong in [0.0, 0.999, -1.0, 1.0005, 5e9, f64::NAN, f64::INFINITY] {
            assert_eq!(Share::new(wrong), None, "{wrong}");
        }
    }
}
