//! RPO's closed-form gain over a transport that never refills (ICNP 2021 §V, equations 1 to 6).
//!
//! N flows share a link of C packets per round trip fairly. At T_c the rate falls to R; RPO doubles what it
//! sends each round trip until the link is full again at T_f, the other stays at R. Times are in round trips,
//! rates in packets per round trip, sizes in packets. Deliberate differences from the paper:
//!
//! * Equation 3 needs the flow to last until T_f. A flow that ends within the doubling ends where the rounds
//!   so far have sent its bytes; the two agree at T_f.

use super::gain::{self, Drawn, Gain};
use super::{Arguments, Declared, Function, Info, Model, ModelError, Picture, Value, check};
use crate::text::{Reader, ScenarioError};
use serde_json::{Map, Value as Json};

/// The model's times and gains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Completion time at full rate throughout, T_i = N S / C.
    pub t_i: f64,
    /// Time at which the link is full again, eq. 1.
    pub t_f: f64,
    /// RPO's completion time, eq. 3.
    pub t_1: f64,
    /// Completion time of a transport that stays at R, eq. 4.
    pub t_2: f64,
    /// Gain of utilisation, eq. 5.
    pub u_gain: f64,
    /// Gain of completion time, eq. 6.
    pub fct_gain: f64,
}

/// Evaluates equations 1 to 6 for `flows` flows of `size` packets each on a link of `capacity` packets per
/// round trip, of which the share `kept` is left to them from `t_c` on.
pub fn gains(capacity: f64, kept: f64, size: f64, flows: f64, t_c: f64) -> Result<Gains, ModelError> {
    check("the capacity", "more than 0", capacity, capacity > 0.0 && capacity.is_finite())?;
    check("R/C", "more than 0 and less than 1", kept, kept > 0.0 && kept < 1.0)?;
    check("the flow's size", "more than 0", size, size > 0.0 && size.is_finite())?;
    check("the number of flows", "at least 1", flows, flows >= 1.0 && flows.is_finite())?;
    let all = size * flows;
    let t_i = all / capacity;
    check("T_c", "at least 0 and before the flow's end at full rate", t_c, t_c >= 0.0 && t_c < t_i)?;
    let rate = kept * capacity;
    // RPO §V eq. 1; the ratio is whole, and no more, where C is a power of two times R.
    let doublings = libm::ceil(libm::log2(1.0 / kept) - 1e-9);
    let after_drop = all - capacity * t_c;
    // RPO §V eq. 3
    let t_1 = t_c + refilled(capacity, rate, after_drop, doublings);
    // RPO §V eq. 4
    let t_2 = after_drop / rate + t_c;
    Ok(Gains {
        t_i,
        t_f: doublings + t_c,
        t_1,
        t_2,
        // RPO §V eq. 5
        u_gain: t_2 / t_1,
        // RPO §V eq. 6
        fct_gain: (t_2 - t_i) / (t_1 - t_i),
    })
}

/// Round trips to send `packets` at R, 2 R, 4 R and so on for `doublings` rounds, and at C from then on.
// RPO §V eq. 2
fn refilled(capacity: f64, rate: f64, packets: f64, doublings: f64) -> f64 {
    let in_ramp = rate * (libm::exp2(doublings) - 1.0);
    if in_ramp <= packets {
        return doublings + (packets - in_ramp) / capacity;
    }
    // Whole rounds first, then a part of the next one.
    let rounds = libm::floor(libm::log2(packets / rate + 1.0));
    let sent = rate * (libm::exp2(rounds) - 1.0);
    rounds + (packets - sent) / (rate * libm::exp2(rounds))
}

/// RPO's gain over a transport that never refills.
#[derive(Clone, Debug, PartialEq)]
pub struct RpoGain(Gain);

const DRAWN: Drawn = Drawn {
    title: "RPO's model: gain over a transport that does not refill",
    caption: "Equations 1 to 6, one flow, C = {c} packets per RTT. U gain: T_2/T_1 with T_c = 0. FCT gain: \
        (T_2 - T_i)/(T_1 - T_i) with R/C = {fixed}.",
    u_gains: &["U gain"],
    fct_gains: &["FCT gain"],
    loss: "T_c / T_i",
    gains: |c, r_over_c, size, t_c| {
        let g = gains(c, r_over_c, size, 1.0, t_c)?;
        Ok(vec![g.u_gain, g.fct_gain])
    },
};

impl Declared for RpoGain {
    const INFO: Info = Info {
        name: "rpo-gain",
        summary: "RPO's gain over a transport that never refills a link",
        paper: "RPO, ICNP 2021, §V",
        keys: gain::KEYS,
        example: gain::EXAMPLE,
        functions: &[Function {
            name: "rpo_model",
            doc: "RPO's closed-form model of one flow (§V, equations 1 to 6): packets per RTT, R/C, packets, RTTs.",
            arguments: &["key", "c", "r_over_c", "size", "t_c"],
            call: answer,
        }],
    };

    fn read(table: &Reader<'_>) -> Result<RpoGain, ScenarioError> {
        Gain::read(table).map(RpoGain)
    }
}

impl Model for RpoGain {
    fn table(&self) -> Map<String, Json> {
        self.0.table()
    }

    fn draw(&self) -> Result<Picture, ModelError> {
        self.0.draw(&DRAWN)
    }
}

fn answer(arguments: &Arguments<'_>) -> Result<Value, ModelError> {
    let number = |at| arguments.number(at);
    let g = gains(number(1)?, number(2)?, number(3)?, 1.0, number(4)?)?;
    arguments.pick(&[
        ("t_i", g.t_i),
        ("t_f", g.t_f),
        ("t_1", g.t_1),
        ("t_2", g.t_2),
        ("u_gain", g.u_gain),
        ("fct_gain", g.fct_gain),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gb/s and 50 us in packets of 1500 B.
    const C: f64 = 1e10 * 50e-6 / 8.0 / 1500.0;
    const MEGABYTE: f64 = 1e6 / 1500.0;

    #[track_caller]
    fn close(found: f64, printed: f64, digits: i32) {
        let half = 0.5 * libm::pow(10.0, f64::from(-digits)) * 1.001;
        assert!((found - printed).abs() <= half, "{found} is not {printed}");
    }

    #[test]
    fn times_of_a_megabyte_at_twenty_packets_a_round_trip() {
        let g = gains(C, 20.0 / C, MEGABYTE, 1.0, 0.0).expect("within the model");
        assert_eq!(g.t_f, 2.0);
        close(g.t_1, 16.56, 2);
        close(g.t_1 * 50e-6, 0.828e-3, 6);
        close(g.t_2, 33.33, 2);
        // Equation 2: the ramp and the full rounds after it are the whole flow.
        close(20.0 * 3.0 + C * (g.t_1 - g.t_f), MEGABYTE, 9);
    }

    #[test]
    fn utilisation_gains_of_the_worked_values() {
        for (kept, gain) in [(0.1, 8.65), (0.25, 3.71), (0.8, 1.235)] {
            close(gains(C, kept, MEGABYTE, 1.0, 0.0).expect("within the model").u_gain, gain, 2);
        }
        for (size, gain) in [(0.1, 1.524), (1.0, 1.939), (10.0, 1.994)] {
            close(gains(C, 0.5, size * MEGABYTE, 1.0, 0.0).expect("within the model").u_gain, gain, 3);
        }
    }

    #[test]
    fn completion_gains_of_the_worked_values() {
        for (share, gain) in [(0.0, 30.95), (0.25, 23.21), (0.5, 15.48), (0.75, 7.74)] {
            let g = gains(C, 20.0 / C, MEGABYTE, 1.0, share * MEGABYTE / C).expect("within the model");
            close(g.fct_gain, gain, 2);
        }
        close(gains(C, 0.5, MEGABYTE / 10.0, 1.0, 0.0).expect("within the model").fct_gain, 3.2, 6);
    }

    #[test]
    fn flows_that_share_are_one_flow_of_their_sum() {
        let one = gains(C, 0.5, 4.0 * MEGABYTE, 1.0, 3.0).expect("within the model");
        let four = gains(C, 0.5, MEGABYTE, 4.0, 3.0).expect("within the model");
        assert_eq!(one, four);
    }

    #[test]
    fn a_flow_that_ends_within_the_doubling_ends_between_the_two_rates() {
        // R = C / 8 sends 1, 2 and 4 eighths in three rounds.
        let end = |packets: f64| refilled(80.0, 10.0, packets, 3.0);
        close(end(10.0), 1.0, 9);
        close(end(20.0), 1.5, 9);
        close(end(70.0), 3.0, 9);
        close(end(70.0 - 1e-9), 3.0, 6);
        close(end(150.0), 4.0, 9);
        let g = gains(80.0, 0.125, 20.0, 1.0, 0.0).expect("within the model");
        assert!(g.t_i < g.t_1 && g.t_1 < g.t_2, "{g:?}");
    }

    #[test]
    fn what_the_model_does_not_cover_is_refused() {
        assert!(gains(C, 1.0, 10.0, 1.0, 0.0).is_err());
        assert!(gains(C, 0.0, 10.0, 1.0, 0.0).is_err());
        assert!(gains(0.0, 0.5, 10.0, 1.0, 0.0).is_err());
        assert!(gains(C, 0.5, 10.0, 0.0, 0.0).is_err());
        assert!(gains(C, 0.5, 10.0, 1.0, f64::NAN).is_err());
        assert!(gains(C, 0.5, 10.0, 1.0, 5.0).is_err());
    }
}
