//! Numbers with units, exact in decimal: `10 Gbps`, `4 us`, `1 MB` (10^6 bytes), `128 packets`.

use crate::names;
use headway_units::Time;

/// Dimension of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A time, in picoseconds.
    Time,
    /// A rate, in bits per second.
    Rate,
    /// A size, in bytes.
    Bytes,
    /// A size, in packets.
    Packets,
}

impl Dimension {
    /// Name of the dimension in messages.
    pub fn dimension_name(self) -> &'static str {
        match self {
            Dimension::Time => "a duration",
            Dimension::Rate => "a rate",
            Dimension::Bytes => "a number of bytes",
            Dimension::Packets => "a number of packets",
        }
    }

    /// Something that would be right.
    pub fn example_text(self) -> &'static str {
        match self {
            Dimension::Time => "\"40 us\"",
            Dimension::Rate => "\"10 Gbps\"",
            Dimension::Bytes => "\"200 kB\"",
            Dimension::Packets => "\"128 packets\"",
        }
    }

    /// The largest amount that is read, to a whole number of its unit.
    pub fn largest_amount(self) -> String {
        let (scale, unit) = match self {
            Dimension::Time => (1_000_000_000_000, "s"),
            Dimension::Rate => (1_000_000_000_000, "Tbps"),
            Dimension::Bytes => (1_000_000_000_000, "TB"),
            Dimension::Packets => (1, "packets"),
        };
        format!("{} {unit}", u64::MAX / scale)
    }

    /// The unit of that example.
    pub fn example_unit(self) -> &'static str {
        match self {
            Dimension::Time => "us",
            Dimension::Rate => "Gbps",
            Dimension::Bytes => "kB",
            Dimension::Packets => "packets",
        }
    }
}

const UNITS: &[(&str, Dimension, u128)] = &[
    ("ps", Dimension::Time, 1),
    ("ns", Dimension::Time, 1_000),
    ("us", Dimension::Time, 1_000_000),
    // The micro sign and the Greek letter look alike; keyboards have either.
    ("µs", Dimension::Time, 1_000_000),
    ("μs", Dimension::Time, 1_000_000),
    ("ms", Dimension::Time, 1_000_000_000),
    ("s", Dimension::Time, 1_000_000_000_000),
    ("bps", Dimension::Rate, 1),
    ("kbps", Dimension::Rate, 1_000),
    ("Mbps", Dimension::Rate, 1_000_000),
    ("Gbps", Dimension::Rate, 1_000_000_000),
    ("Tbps", Dimension::Rate, 1_000_000_000_000),
    ("b/s", Dimension::Rate, 1),
    ("kb/s", Dimension::Rate, 1_000),
    ("Mb/s", Dimension::Rate, 1_000_000),
    ("Gb/s", Dimension::Rate, 1_000_000_000),
    ("Tb/s", Dimension::Rate, 1_000_000_000_000),
    ("B", Dimension::Bytes, 1),
    ("byte", Dimension::Bytes, 1),
    ("bytes", Dimension::Bytes, 1),
    ("kB", Dimension::Bytes, 1_000),
    ("KB", Dimension::Bytes, 1_000),
    ("MB", Dimension::Bytes, 1_000_000),
    ("GB", Dimension::Bytes, 1_000_000_000),
    ("TB", Dimension::Bytes, 1_000_000_000_000),
    ("KiB", Dimension::Bytes, 1 << 10),
    ("MiB", Dimension::Bytes, 1 << 20),
    ("GiB", Dimension::Bytes, 1 << 30),
    ("packet", Dimension::Packets, 1),
    ("packets", Dimension::Packets, 1),
    ("pkt", Dimension::Packets, 1),
    ("pkts", Dimension::Packets, 1),
];

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QuantityError {
    /// NaN or infinity with a unit.
    #[error("`{0}` is not a finite number")]
    NotFinite(String),
    /// No number at its head.
    #[error("`{0}` does not start with a number")]
    NoNumber(String),
    /// The text is a number without a unit.
    #[error("`{0}` has no unit")]
    NoUnit(String),
    /// The unit is unknown.
    #[error("`{unit}` is not a unit")]
    NoSuchUnit {
        /// The letters behind the number.
        unit: String,
        /// One that was perhaps meant.
        nearest: Option<&'static str>,
    },
    /// A unit of bytes where bits are counted, or the other way round, or powers of two where those of ten are.
    #[error("`{unit}` are {meant}, and {here}")]
    BitsAndBytes {
        /// The letters behind the number.
        unit: String,
        /// The meaning in words.
        meant: String,
        /// Dimension that is expected here, as a sentence.
        here: &'static str,
        /// The same amount in an expected unit.
        same: String,
        /// Dimension that is expected here.
        dimension: Dimension,
    },
    /// The number is negative.
    #[error("`{0}` is negative")]
    Negative(String),
    /// Not a whole number of the base unit.
    #[error("`{0}` is finer than {1}")]
    TooFine(String, &'static str),
    /// The value does not fit into 64 bits.
    #[error("`{0}` is too large: {most} is the most", most = .1.largest_amount())]
    TooLarge(String, Dimension),
}

/// A quantity in its base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Dimension of the value.
    pub dimension: Dimension,
    /// Picoseconds, bits per second, bytes or packets.
    pub amount: u64,
}

/// The unit of one of some dimensions that is most like a word.
pub fn nearest_unit(word: &str, wanted: &[Dimension]) -> Option<&'static str> {
    let units = UNITS.iter().filter(|(_, dimension, _)| wanted.contains(dimension));
    names::nearest_name(word, units.map(|(name, _, _)| *name))
}

/// Reads a quantity.
pub fn parse_quantity(text: &str) -> Result<Quantity, QuantityError> {
    let whole = || text.trim().to_string();
    let (number, unit) = split_unit(text.trim());
    let head = number.trim_start_matches(['-', '+']).to_ascii_lowercase();
    if ["nan", "inf", "infinity"].contains(&head.as_str()) {
        return Err(QuantityError::NotFinite(whole()));
    }
    let decimal = Decimal::parse(number).ok_or_else(|| QuantityError::NoNumber(whole()))?;
    if unit.is_empty() {
        return Err(QuantityError::NoUnit(whole()));
    }
    let Some(&(_, dimension, scale)) = UNITS.iter().find(|(name, _, _)| *name == unit) else {
        if let Some(error) = bits_and_bytes(&decimal, unit) {
            return Err(error);
        }
        let nearest = names::nearest_name(unit, UNITS.iter().map(|(name, _, _)| *name));
        return Err(QuantityError::NoSuchUnit { unit: unit.into(), nearest });
    };
    // `-0` is 0.
    if decimal.negative && decimal.mantissa != 0 {
        return Err(QuantityError::Negative(whole()));
    }
    let finest = match dimension {
        Dimension::Time => "a picosecond",
        Dimension::Rate => "a bit per second",
        Dimension::Bytes => "a byte",
        Dimension::Packets => "a packet",
    };
    match decimal.times_scale(scale) {
        Ok(amount) => Ok(Quantity { dimension, amount }),
        Err(Misfit::Fraction) => Err(QuantityError::TooFine(whole(), finest)),
        Err(Misfit::Overflow) => Err(QuantityError::TooLarge(whole(), dimension)),
    }
}

/// Prefixes of units: their names, how many of the unit with the letter in the last place they are (a number, and
/// a power of ten).
const PREFIXES: [(&str, &str, u128, i32, &str); 10] = [
    ("", "", 1, 0, ""),
    ("k", "kilo", 1, 0, "k"),
    ("K", "kilo", 1, 0, "k"),
    ("M", "mega", 1, 0, "M"),
    ("G", "giga", 1, 0, "G"),
    ("T", "tera", 1, 0, "T"),
    ("Ki", "kibi", 1 << 10, -3, "k"),
    ("Mi", "mebi", 1 << 20, -6, "M"),
    ("Gi", "gibi", 1 << 30, -9, "G"),
    ("Ti", "tebi", 1 << 40, -12, "T"),
];

/// A unit of another dimension than the expected one: endings of units, their dimension, the sentence about the
/// expected one, the number and power of ten by which the amount converts, and the ending of the expected unit.
struct Foreign {
    endings: &'static [&'static str],
    word: &'static str,
    here: &'static str,
    factor: (u128, i32),
    ending: &'static str,
    dimension: Dimension,
}

const FOREIGN: [Foreign; 3] = [
    Foreign {
        endings: &["Bps", "B/s", "Byte/s", "Bytes/s", "byte/s", "bytes/s"],
        word: "bytes per second",
        here: "rates are in bits per second",
        factor: (8, 0),
        ending: "bps",
        dimension: Dimension::Rate,
    },
    Foreign {
        endings: &["bps", "b/s", "bit/s", "bits/s"],
        word: "bits per second",
        here: "prefixes of rates are decimal",
        factor: (1, 0),
        ending: "bps",
        dimension: Dimension::Rate,
    },
    Foreign {
        endings: &["b", "bit", "bits"],
        word: "bits",
        here: "sizes are in bytes, with a capital B",
        factor: (125, -3),
        ending: "B",
        dimension: Dimension::Bytes,
    },
];

/// An error that gives the amount in the right unit, for bytes in a rate (which is in bits), bits in a size (which is in
/// bytes), and powers of two (units are powers of ten). The nearest name would mean another amount, mostly an eighth of the
/// intended one or eight times as much.
fn bits_and_bytes(decimal: &Decimal, unit: &str) -> Option<QuantityError> {
    let mut all = FOREIGN.iter().flat_map(|foreign| PREFIXES.iter().map(move |prefix| (foreign, prefix)));
    let (foreign, (_, word, number, exponent, letter)) =
        all.find(|(foreign, (letters, _, number, ..))| {
            let rest = unit.strip_prefix(letters);
            // Bits per second with a decimal prefix are misspelt at most.
            rest.is_some_and(|rest| foreign.endings.contains(&rest))
                && (foreign.factor != (1, 0) || *number > 1)
        })?;
    let amount = decimal.scaled_text(foreign.factor.0 * number, foreign.factor.1 + exponent)?;
    Some(QuantityError::BitsAndBytes {
        unit: unit.into(),
        meant: format!("{word}{}", foreign.word),
        here: foreign.here,
        same: format!("{amount} {letter}{}", foreign.ending),
        dimension: foreign.dimension,
    })
}

/// The number at the head, and the rest.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace()).unwrap_or_else(|| number_end(text));
    (&text[..end], text[end..].trim())
}

/// Position at which the number ends when no space separates it from its unit, as in `10Gbps`.
fn number_end(text: &str) -> usize {
    // By bytes: those of a number are ASCII, so that `end` lies between characters.
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        // An `e` begins an exponent only before digits; otherwise the unit begins there.
        let exponent = matches!(bytes[end], b'e' | b'E')
            && end > 0
            && bytes.get(end + 1).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+'));
        let sign = matches!(bytes[end], b'-' | b'+') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if !(bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b'_') || exponent || sign) {
            break;
        }
        end += 1;
    }
    end
}

enum Misfit {
    Fraction,
    Overflow,
}

/// `mantissa * 10^exponent`.
struct Decimal {
    negative: bool,
    mantissa: u128,
    exponent: i32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let negative = text.starts_with('-');
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all: String = [whole, fraction].concat().chars().filter(|c| *c != '_').collect();
        // No amount of 64 bits needs a larger exponent, and its sum with the places below cannot overflow.
        if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) || exponent.unsigned_abs() > 60 {
            return None;
        }
        let places = fraction.chars().filter(|c| *c != '_').count() as i32;
        // Trailing zeros go to the exponent, so that long numbers of few digits fit into 128 bits.
        let trimmed = all.trim_end_matches('0');
        let dropped = (all.len() - trimmed.len()) as i32;
        let mantissa = if trimmed.is_empty() { 0 } else { trimmed.parse().ok()? };
        Some(Decimal { negative, mantissa, exponent: exponent - places + dropped })
    }

    /// The number times `factor * 10^exponent` in decimal; `None` where that is too long to be of use.
    fn scaled_text(&self, factor: u128, exponent: i32) -> Option<String> {
        let digits = self.mantissa.checked_mul(factor)?.to_string();
        let exponent = self.exponent.checked_add(exponent)?;
        let places = usize::try_from(exponent.unsigned_abs()).ok().filter(|places| *places <= 30)?;
        let text = if exponent >= 0 {
            digits + &"0".repeat(places)
        } else {
            let padded = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = padded.split_at(padded.len() - places);
            format!("{whole}.{fraction}").trim_end_matches('0').trim_end_matches('.').to_string()
        };
        let text = text.trim_start_matches('0');
        let zero = if text.is_empty() || text.starts_with('.') { "0" } else { "" };
        Some(format!("{}{zero}{text}", if self.negative { "-" } else { "" }))
    }

    fn times_scale(&self, scale: u128) -> Result<u64, Misfit> {
        // Zero has no need of its exponent, whose power might overflow.
        if self.mantissa == 0 {
            return Ok(0);
        }
        let power = 10u128.checked_pow(self.exponent.unsigned_abs());
        let product = self.mantissa.checked_mul(scale).ok_or(Misfit::Overflow)?;
        let amount = if self.exponent >= 0 {
            power.and_then(|p| product.checked_mul(p)).ok_or(Misfit::Overflow)?
        } else {
            match power {
                // Finer than the base unit: refused, because a rounded value would not be the one that was
                // asked for.
                Some(p) if product.is_multiple_of(p) => product / p,
                _ => return Err(Misfit::Fraction),
            }
        };
        u64::try_from(amount).map_err(|_| Misfit::Overflow)
    }
}

/// Bytes for people: `16 GB`, `1.5 MB`.
pub fn show_bytes(bytes: u64) -> String {
    let (unit, scale) = match bytes {
        1_000_000_000.. => ("GB", 1e9),
        1_000_000.. => ("MB", 1e6),
        1_000.. => ("kB", 1e3),
        _ => return format!("{bytes} B"),
    };
    let value = format!("{:.2}", bytes as f64 / scale);
    format!("{} {unit}", value.trim_end_matches('0').trim_end_matches('.'))
}

/// Seconds, rounded once: dividing keeps 1 us at 1e-6 where multiplying by 1e-12 does not.
pub fn as_seconds(time: Time) -> f64 {
    time.0 as f64 / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed_amount(text: &str) -> u64 {
        parse_quantity(text).expect(text).amount
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parsed_amount("10 Gbps"), 10_000_000_000);
        assert_eq!(parsed_amount("10Gb/s"), 10_000_000_000);
        assert_eq!(parsed_amount("2.5 Gbps"), 2_500_000_000);
        assert_eq!(parsed_amount("259.792 us"), 259_792_000);
        assert_eq!(parsed_amount("1e-3 s"), 1_000_000_000);
        assert_eq!(parsed_amount("1_000 B"), 1_000);
        assert_eq!(parsed_amount("0.1 MB"), 100_000);
        assert_eq!(parsed_amount("0.000 s"), 0);
        assert_eq!(
            parse_quantity("128 packets"),
            Ok(Quantity { dimension: Dimension::Packets, amount: 128 })
        );
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        assert_eq!(parse_quantity("10"), Err(QuantityError::NoUnit("10".into())));
        assert_eq!(parse_quantity("nan us"), Err(QuantityError::NotFinite("nan us".into())));
        assert_eq!(parse_quantity("-1 us"), Err(QuantityError::Negative("-1 us".into())));
        assert_eq!(parse_quantity("0.5 ps"), Err(QuantityError::TooFine("0.5 ps".into(), "a picosecond")));
        assert!(parse_quantity("1e-2147483648 s").is_err() && parse_quantity("1e2147483647 s").is_err());
        assert_eq!(parse_quantity("1e30 s"), Err(QuantityError::TooLarge("1e30 s".into(), Dimension::Time)));
        for dimension in [Dimension::Time, Dimension::Rate, Dimension::Bytes, Dimension::Packets] {
            assert!(
                parse_quantity(&dimension.largest_amount()).is_ok_and(|found| found.dimension == dimension)
            );
        }
        assert_eq!(parse_quantity("Gbps"), Err(QuantityError::NoNumber("Gbps".into())));
        let unit = parse_quantity("10 gbps");
        assert_eq!(unit, Err(QuantityError::NoSuchUnit { unit: "gbps".into(), nearest: Some("Gbps") }));
    }

    #[test]
    fn bytes_are_not_taken_for_bits_nor_bits_for_bytes() {
        let said = |text: &str| match parse_quantity(text) {
            Err(QuantityError::BitsAndBytes { same, meant, .. }) => (same, meant),
            other => panic!("{text}: {other:?}"),
        };
        for (text, same, meant) in [
            ("10 GBps", "80 Gbps", "gigabytes per second"),
            ("1.5GB/s", "12 Gbps", "gigabytes per second"),
            ("0.01 KBps", "0.08 kbps", "kilobytes per second"),
            ("2e3 Bps", "16000 bps", "bytes per second"),
            ("1 Mb", "0.125 MB", "megabits"),
            ("80 kbit", "10 kB", "kilobits"),
            ("64 bits", "8 B", "bits"),
            ("0 Gb", "0 GB", "gigabits"),
            ("10 GiBps", "85.89934592 Gbps", "gibibytes per second"),
            ("1 Gibit/s", "1.073741824 Gbps", "gibibits per second"),
            ("8 Kib", "1.024 kB", "kibibits"),
        ] {
            assert_eq!(said(text), (same.to_string(), meant.to_string()), "{text}");
            // The suggestion can be parsed, and is as much as was meant.
            assert!(parse_quantity(same).is_ok(), "{same}");
        }
        // Among units of rates, those in bytes are recognised.
        for (unit, _, _) in UNITS.iter().filter(|(unit, dimension, _)| {
            *dimension == Dimension::Rate && (unit.ends_with("bps") || unit.ends_with("b/s"))
        }) {
            let of_bytes = unit.replace('b', "B");
            let (same, _) = said(&format!("3 {of_bytes}"));
            assert_eq!(parsed_amount(&same), 8 * parsed_amount(&format!("3 {unit}")), "{of_bytes}");
        }
    }

    #[test]
    fn bytes_are_shown_short() {
        assert_eq!(show_bytes(16_000_000_000), "16 GB");
        assert_eq!(show_bytes(1_540_000), "1.54 MB");
        assert_eq!(show_bytes(12), "12 B");
    }
}
