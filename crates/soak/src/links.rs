//! Extremes of each link over a whole run with faults: its rate, its delay, and how often it goes down.

use headway_network::{BuildError, Network, RunSpec};
use headway_network::{Changes, Link, PathSelector, Step};
use headway_units::{Rate, Time};

/// Extremes of one link over the run.
#[derive(Clone, Copy, Debug)]
pub struct Extremes {
    /// Its highest rate.
    pub rate: Rate,
    /// Its lowest rate.
    pub lowest: Rate,
    /// The shortest time from a last bit's departure to where it can leave again, or is delivered.
    pub delay: Time,
    /// True if it ever has another rate than the one as written.
    pub retuned: bool,
    /// Number of times that it goes down. The packet on it then counts whole, and only a part of it was sent.
    pub downs: u64,
    /// True if it goes down for ever.
    pub dead: bool,
}

/// Extremes of every link, by number.
pub fn extremes(network: &Network, spec: &RunSpec) -> Result<Vec<Extremes>, BuildError> {
    let all = network.links().iter();
    let mut all: Vec<Extremes> = all
        .map(|link| {
            let rate = link.spec.rate;
            Extremes {
                rate,
                lowest: rate,
                delay: network.hop_delay(link),
                retuned: false,
                downs: 0,
                dead: false,
            }
        })
        .collect();
    let Some(changes) = Changes::new(&spec.faults, network, &PathSelector::new(network, spec.seed))? else {
        return Ok(all);
    };
    let (rates, delays) = (changes.highest_rates(), changes.least_delays());
    for (link, (rate, delay)) in all.iter_mut().zip(rates.into_iter().zip(delays)) {
        (link.rate, link.delay) = (rate, delay);
    }
    for (link, step) in changes.instants().iter().flat_map(|instant| &instant.steps) {
        let link = &mut all[*link as usize];
        match step {
            Step::Rate(rate) => {
                link.retuned = true;
                link.lowest = if rate.bps() < link.lowest.bps() { *rate } else { link.lowest };
            }
            // Steps are in order of time, so the last one decides whether it stays down.
            Step::Down => (link.downs, link.dead) = (link.downs + 1, true),
            Step::Up => link.dead = false,
            Step::Delay(_) => {}
        }
    }
    Ok(all)
}

/// True if a fault makes any link faster or nearer than it is written: paths that were alike no longer are.
pub fn differ(network: &Network, extremes: &[Extremes]) -> bool {
    let nearer = |(link, most): (&Link, &Extremes)| most.delay < network.hop_delay(link);
    extremes.iter().any(|link| link.retuned) || network.links().iter().zip(extremes).any(nearer)
}
