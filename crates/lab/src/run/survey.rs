//! The points of a sweep, read one by one without being run.

use super::check_scenario;
use crate::LabError;
use crate::scenario::Scenario;
use crate::scenario::run_length::RunLength;
use headway_network::Estimate;
use std::num::NonZeroUsize;

/// Findings about a point.
#[derive(Clone, Debug)]
pub struct Found {
    /// Position of the point in the sweep.
    pub point: usize,
    /// Size of its run.
    pub estimate: Option<Estimate>,
    /// Odd values in it.
    pub warnings: Vec<String>,
    /// Length of its arrivals, see [`run_length`](crate::scenario::run_length).
    pub run_length: Option<RunLength>,
    /// True if its `[report]` table is another than that of the scenario.
    pub reports: bool,
}

/// Findings about the points that were read.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Number of combinations of a variant and values, whatever the seed.
    pub places: usize,
    /// In the order of the sweep: of each combination that was read, the first seed.
    pub found: Vec<Found>,
}

impl Scenario {
    /// Reads its points, and refuses what their runs would refuse. Points that differ in their seeds alone are read once.
    ///
    /// Of more than `most` combinations, those are read in which every value of every swept key and every variant occurs with the first
    /// values of all others, and as many more as fit, evenly spread over the sweep. The error is that of the first point that has one.
    #[allow(
        clippy::disallowed_methods,
        reason = "nothing is run, and the findings do not depend on the number of threads"
    )]
    pub fn survey(&self, most: usize) -> Result<Survey, LabError> {
        self.check_scales()?;
        let seeds = self.plan.seeds.count().max(1);
        let places = if self.setup.is_some() { self.plan.count() / seeds } else { 0 };
        let chosen = self.chosen(places, most);
        let report = self.report_json();
        let threads =
            std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(chosen.len().max(1));
        // Each thread takes every n-th, so that all are near the first error when one of them meets it.
        let read = |first: usize| {
            let mut found = Vec::with_capacity(chosen.len() / threads + 1);
            for &place in chosen.iter().skip(first).step_by(threads) {
                let point = place * seeds;
                match self.look_at(point, &report) {
                    Ok(one) => found.push(one),
                    Err(error) => return (found, Some((point, error))),
                }
            }
            (found, None)
        };
        let parts: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|first| scope.spawn(move || read(first))).collect();
            let mut parts = vec![read(0)];
            parts.extend(
                others
                    .into_iter()
                    .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            );
            parts
        });
        let mut found = Vec::with_capacity(chosen.len());
        let mut failed: Option<(usize, LabError)> = None;
        for (part, error) in parts {
            found.extend(part);
            failed = match (failed, error) {
                (Some(a), Some(b)) => Some(if a.0 < b.0 { a } else { b }),
                (a, b) => a.or(b),
            };
        }
        if let Some((_, error)) = failed {
            return Err(error);
        }
        found.sort_by_key(|one| one.point);
        Ok(Survey { places, found })
    }

    /// Positions of the combinations to read, ascending.
    fn chosen(&self, places: usize, most: usize) -> Vec<usize> {
        if places <= most {
            return (0..places).collect();
        }
        let (mut stride, mut chosen) = (1, vec![0]);
        // The last key changes fastest.
        let counts = self.plan.sizes().into_iter().rev();
        for count in counts.chain([self.plan.variants.len().max(1)]) {
            chosen.extend((1..count).map(|value| value * stride));
            stride *= count;
        }
        let more = most.saturating_sub(chosen.len());
        // In 128 bits, because a million times a million does not fit into 32.
        chosen.extend((0..more).map(|n| (n as u128 * places as u128 / more as u128) as usize));
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    fn look_at(&self, point: usize, report: &serde_json::Value) -> Result<Found, LabError> {
        let overrides = self.points_in(point..point + 1).pop().map(|one| one.overrides).unwrap_or_default();
        let one = self.request.load_point(self, &overrides)?;
        check_scenario(&one, None)?;
        let reports = one.report_json() != *report;
        let Some(setup) = &one.setup else {
            return Ok(Found { point, estimate: None, warnings: Vec::new(), run_length: None, reports });
        };
        let (estimate, warnings) = (Some(setup.check_memory()?), setup.warnings());
        Ok(Found { point, estimate, warnings, run_length: setup.run_length(), reports })
    }
}
