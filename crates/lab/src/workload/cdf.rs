//! Flow-size distributions as tables of (bytes, cumulative probability).

use super::random::Stream;
use super::table::{self, Unit};
use crate::text::{ScenarioError, Source};
use std::sync::Arc;

/// Interpolation between the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Straight lines in (bytes, probability); equal bytes are a point mass, equal probabilities a gap.
    Linear,
    /// Only the rows' own sizes occur, each with the rise of the probability at its row.
    Step,
}

impl Interpolation {
    /// Names in scenarios and in the index of workloads.
    pub const NAMES: &[&str] = &["linear", "step"];

    /// Word in a scenario.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    rows: Vec<(u64, f64)>,
    interpolation: Interpolation,
}

/// A table that was read, and the notes about it.
#[derive(Clone, Debug)]
pub struct Read {
    /// Distribution of sizes.
    pub cdf: Cdf,
    /// Form that the text was taken to have, in words, unless it says so itself.
    pub taken: Option<String>,
    /// The mean that its first line states, in bytes.
    pub stated: Option<f64>,
    /// The mean of the same rows with the other interpolation, where that can be read.
    pub other: Option<f64>,
    /// Reason why it is read by steps, if that was not set.
    pub stepped: Option<String>,
    /// True if nothing in the text defines the unit of its sizes.
    pub is_unit_open: bool,
}

/// Rows of a Pareto table for each factor of ten of the tail.
const TAIL_ROWS: f64 = 40.0;

impl Cdf {
    /// Reads a table, with the header `bytes,cdf` or in a form of other simulators; refuses one that is not a
    /// distribution.
    pub fn parse(source: &Arc<Source>, interpolation: Interpolation) -> Result<Cdf, ScenarioError> {
        Ok(Cdf::read(source, Some(interpolation), None)?.cdf)
    }

    /// Reads a table as [`Cdf::parse`] does. Without `interpolation`, a table that begins above 0 is read by steps, and one that
    /// states its mean is read so that this mean results. Sizes are in `unit` where the text does not give one.
    pub fn read(
        source: &Arc<Source>,
        interpolation: Option<Interpolation>,
        unit: Option<Unit>,
    ) -> Result<Read, ScenarioError> {
        let table = table::read(source, unit)?;
        // A single row is a point mass in either reading.
        let (begins_late, stated) = (table.rows[0].1 > 0.0 && table.rows.len() > 1, table.stated);
        let of = |interpolation| Cdf { rows: table.rows.clone(), interpolation };
        let [linear, step] = [Interpolation::Linear, Interpolation::Step].map(of);
        let far = |cdf: &Cdf, mean: f64| (cdf.mean() / mean - 1.0).abs();
        let mut why = None;
        let chosen = match (interpolation, stated) {
            (Some(said), _) => said,
            (None, _) if begins_late => {
                why = Some(format!("its first probability is {}", table.rows[0].1));
                Interpolation::Step
            }
            (None, Some(mean)) if far(&step, mean) < far(&linear, mean) => {
                why = Some("that gives the mean of its first line".into());
                Interpolation::Step
            }
            (None, _) => Interpolation::Linear,
        };
        if chosen == Interpolation::Linear && begins_late {
            let text =
                format!("read as straight lines, the first probability must be 0, not {}", table.rows[0].1);
            let help = "add a row with probability 0, or read it with interpolation = \"step\"";
            return Err(table::wrong(source, table.first_share, text).help(help));
        }
        let (cdf, other) = if chosen == Interpolation::Linear { (linear, step) } else { (step, linear) };
        if cdf.mean() <= 0.0 {
            return Err(table::wrong(source, table.last_size, "the mean size is 0".into()));
        }
        // A table that begins late cannot be read as straight lines.
        let other = (!begins_late).then(|| other.mean());
        Ok(Read { cdf, taken: table.taken, stated, other, stepped: why, is_unit_open: table.is_unit_open })
    }

    /// Sizes evenly between two, both included.
    pub fn uniform(from: u64, to: u64) -> Cdf {
        let rows = if from == to { vec![(from, 1.0)] } else { vec![(from, 0.0), (to, 1.0)] };
        Cdf { rows, interpolation: Interpolation::Linear }
    }

    /// Pareto sizes of this shape above `least`; those above `most` are `most`.
    ///
    /// A table of straight lines: forty rows for each tenth of the tail that is left, which is within a
    /// thousandth of the curve.
    pub fn pareto(least: f64, shape: f64, most: u64) -> Cdf {
        let tail = |bytes: f64| libm::pow(least / bytes, shape);
        let step = libm::pow(10.0, 1.0 / (TAIL_ROWS * shape));
        let mut rows = vec![(libm::round(least) as u64, 0.0)];
        let mut bytes = least * step;
        while bytes < most as f64 {
            rows.push((libm::round(bytes) as u64, 1.0 - tail(bytes)));
            bytes *= step;
        }
        // Two rows of one size are a point mass: all that would be larger.
        rows.push((most, 1.0 - tail(most as f64).min(1.0)));
        rows.push((most, 1.0));
        Cdf { rows, interpolation: Interpolation::Linear }
    }

    /// Mean size in bytes, exact for the table.
    pub fn mean(&self) -> f64 {
        match self.interpolation {
            Interpolation::Linear => {
                let area = |w: &[(u64, f64)]| (w[0].0 as f64 + w[1].0 as f64) / 2.0 * (w[1].1 - w[0].1);
                // A table of one row is a point mass.
                if let [(bytes, _)] = self.rows[..] {
                    bytes as f64
                } else {
                    self.rows.windows(2).map(area).sum()
                }
            }
            Interpolation::Step => {
                let before = std::iter::once(0.0).chain(self.rows.iter().map(|r| r.1));
                self.rows.iter().zip(before).map(|(row, before)| row.0 as f64 * (row.1 - before)).sum()
            }
        }
    }

    /// Mean of the squares of the sizes, exact for the table.
    pub fn mean_square(&self) -> f64 {
        match self.interpolation {
            Interpolation::Linear if self.rows.len() > 1 => {
                let segment = |w: &[(u64, f64)]| {
                    let (from, to) = (w[0].0 as f64, w[1].0 as f64);
                    (from * from + from * to + to * to) / 3.0 * (w[1].1 - w[0].1)
                };
                self.rows.windows(2).map(segment).sum()
            }
            Interpolation::Linear => self.rows[0].0 as f64 * self.rows[0].0 as f64,
            Interpolation::Step => {
                let before = std::iter::once(0.0).chain(self.rows.iter().map(|r| r.1));
                self.rows.iter().zip(before).map(|(row, b)| row.0 as f64 * row.0 as f64 * (row.1 - b)).sum()
            }
        }
    }

    /// Smallest and largest size.
    pub fn range(&self) -> (u64, u64) {
        (self.rows[0].0, self.rows[self.rows.len() - 1].0)
    }

    /// Size at probability `u`, of 0 to 1; at least one byte, rounded to the nearest.
    pub fn quantile(&self, u: f64) -> u64 {
        let index = self.rows.partition_point(|row| row.1 < u).min(self.rows.len() - 1);
        let (bytes, cdf) = self.rows[index];
        let size = match self.interpolation {
            Interpolation::Linear if index > 0 => {
                let (from, start) = self.rows[index - 1];
                // Rows of equal probability were skipped by the search, so the divisor is not 0.
                let share = (u - start) / (cdf - start);
                libm::round(from as f64 + share * (bytes as f64 - from as f64)) as u64
            }
            _ => bytes,
        };
        // A message has at least one byte.
        size.max(1)
    }

    /// A random size.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        // A draw from (0, 1], so that a step table never draws a size of probability zero.
        self.quantile(1.0 - stream.unit())
    }

    /// Share of flows up to `bytes`.
    pub fn share_up_to(&self, bytes: u64) -> f64 {
        let after = self.rows.partition_point(|row| row.0 <= bytes);
        if after == 0 {
            return 0.0;
        }
        let (from, start) = self.rows[after - 1];
        match (self.interpolation, self.rows.get(after)) {
            (Interpolation::Linear, Some(&(to, end))) => {
                start + (end - start) * (bytes - from) as f64 / (to - from) as f64
            }
            _ => start,
        }
    }

    /// Rows of the table.
    pub fn rows(&self) -> &[(u64, f64)] {
        &self.rows
    }

    /// Interpolation between rows.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::random::Purpose;

    fn cdf(text: &str, interpolation: Interpolation) -> Result<Cdf, ScenarioError> {
        Cdf::parse(&Source::new("x.csv", format!("bytes,cdf\n{text}")), interpolation)
    }

    #[test]
    fn straight_lines_with_a_point_mass_and_a_gap() {
        let cdf = cdf("100,0\n100,0.5\n200,0.5\n400,1\n", Interpolation::Linear).expect("a distribution");
        assert_eq!(cdf.mean(), 0.5 * 100.0 + 0.5 * 300.0);
        assert_eq!(cdf.mean_square(), 0.5 * 100.0 * 100.0 + 0.5 * (40_000.0 + 80_000.0 + 160_000.0) / 3.0);
        assert_eq!([0.0, 0.3, 0.5, 0.75, 1.0].map(|u| cdf.quantile(u)), [100, 100, 100, 300, 400]);
        assert_eq!([99, 100, 150, 300, 400].map(|b| cdf.share_up_to(b)), [0.0, 0.5, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn steps_hold_only_their_own_sizes() {
        let cdf = cdf("10,0.25\n20,0.75\n40,1\n", Interpolation::Step).expect("a distribution");
        assert_eq!(cdf.mean(), 2.5 + 10.0 + 10.0);
        assert_eq!(cdf.mean_square(), 0.25 * 100.0 + 0.5 * 400.0 + 0.25 * 1600.0);
        assert_eq!([1e-9, 0.25, 0.26, 0.75, 1.0].map(|u| cdf.quantile(u)), [10, 10, 20, 20, 40]);
        let mut stream = Stream::new(1, Purpose::Sizes, 0);
        let n = 40_000;
        let tens = (0..n).filter(|_| cdf.sample(&mut stream) == 10).count();
        // 3.5 standard deviations, which are 87 here.
        assert!((9_700..10_300).contains(&tens), "{tens} of {n}");
    }

    #[test]
    fn a_mean_in_the_first_line_says_how_the_rows_are_read() {
        let read = |text: &str, rule, unit| Cdf::read(&Source::new("x.txt", text), rule, unit);
        let stepped = read("550.0\n100 0.5\n1000 1.0\n", None, None).expect("Homa's form");
        assert_eq!((stepped.cdf.mean(), stepped.stated), (550.0, Some(550.0)));
        assert_eq!(stepped.cdf.interpolation(), Interpolation::Step);
        assert_eq!((stepped.stepped.as_deref(), stepped.other), (Some("its first probability is 0.5"), None));
        // Both can be read, and one of them has the mean.
        let rows = "100 0\n200 0.5\n1000 1\n";
        let mean = |stated: &str| read(&format!("{stated}\n{rows}"), None, None).expect("a table");
        let (lines, steps) = (mean("375"), mean("600"));
        assert_eq!((lines.cdf.mean(), lines.other, lines.stepped), (375.0, Some(600.0), None));
        assert_eq!((steps.cdf.mean(), steps.other), (600.0, Some(375.0)));
        assert_eq!(steps.stepped.as_deref(), Some("that gives the mean of its first line"));
        let packets = read(&format!("375\n{rows}"), None, Some(Unit::Packets)).expect("packets");
        assert_eq!((packets.cdf.mean(), packets.stated), (375.0 * 1460.0, Some(375.0 * 1460.0)));
        assert_eq!((packets.is_unit_open, lines.is_unit_open), (false, true));
        let error =
            read("bytes,cdf\n1,0\n2,1\n", None, Some(Unit::Packets)).expect_err("two units").to_string();
        assert_eq!(error, "sizes of this table are not in packets");
        let error = read("0\n1 0\n2 1\n", None, None).expect_err("a mean of 0").to_string();
        assert_eq!(error, "the mean in the first line is 0");
        let error =
            read(rows.trim_end_matches("1000 1\n"), Some(Interpolation::Linear), None).expect_err("cut");
        assert_eq!(error.to_string(), "the last probability is 0.5, not 1");
    }

    #[test]
    fn even_sizes_and_pareto_sizes_have_their_means_and_tails() {
        let even = Cdf::uniform(2_000, 98_000);
        assert_eq!((even.mean(), even.range(), even.quantile(0.25)), (50_000.0, (2_000, 98_000), 26_000));
        assert_eq!(Cdf::uniform(700, 700).mean(), 700.0);
        // Mean 50 kB at shape 1.2; the mean of the smaller of a size and the cut.
        // The mean of a Pareto distribution is least * shape / (shape - 1).
        let least = 50_000.0 * 0.2 / 1.2;
        for most in [1_000_000, 10_000_000, 100_000_000] {
            let tail = libm::pow(least / most as f64, 1.2) * most as f64;
            let body =
                1.2 * libm::pow(least, 1.2) / 0.2 * (libm::pow(least, -0.2) - libm::pow(most as f64, -0.2));
            let found = Cdf::pareto(least, 1.2, most).mean();
            assert!((found / (tail + body) - 1.0).abs() < 2e-3, "{most}: {found}, not {}", tail + body);
        }
        let cdf = Cdf::pareto(least, 1.2, 10_000_000);
        for (u, size) in
            [(0.5, least * libm::pow(2.0, 1.0 / 1.2)), (0.99, least * libm::pow(100.0, 1.0 / 1.2))]
        {
            assert!((cdf.quantile(u) as f64 / size - 1.0).abs() < 2e-3, "{u}");
        }
        assert_eq!(cdf.quantile(1.0), 10_000_000);
    }

    #[test]
    fn tables_that_are_no_distribution_are_refused_at_their_line() {
        let cases = [
            ("10,0\n20,0.6\n30,0.5\n40,1\n", 4, "not monotone: the probability falls from 0.6 to 0.5"),
            ("10,0\n5,1\n", 3, "not monotone: 5 B comes after 10 B"),
            ("10,0\n20,1.5\n", 3, "the probability 1.5 is not between 0 and 1"),
            ("10,0\n20,nan\n", 3, "`nan` is not a number"),
            ("10,0\n20,0.9\n", 3, "the last probability is 0.9, not 1"),
            ("10,0\nx,1\n", 3, "`x` is not a whole number of bytes"),
            ("", 1, "the distribution has no row"),
        ];
        for (text, line, message) in cases {
            let error = cdf(text, Interpolation::Linear).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
        let error = cdf("10,0.5\n20,1\n", Interpolation::Linear).expect_err("mass below the first row");
        let at = error.origin().expect("a place");
        assert_eq!(at.source.line_column(at.span.start), (2, 4), "the first probability");
    }
}
