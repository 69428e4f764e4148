//! AMRT's model of a flow whose share of a link drops and is refilled.
//!
//! Source: AMRT, IEEE TNSM 2022, §V, equations 2 to 10. Rates are packets per round trip, times are round
//! trips: the equations add rates to times (eq. 6), which only balances in these units. A flow sends at the
//! full rate C until T_R and at R afterwards; a transport that never refills ends at T_1, AMRT at T_2 after
//! a linear ramp that ends at t'. Differences from the paper:
//!
//! * Equation 8 needs T_2 >= t'. A flow that ends within the ramp ends where the ramp has sent its bytes;
//!   equation 8 as printed would put it too early. The two agree at T_2 = t'.
//! * Equation 5's ceiling makes the earliest later than the latest when R is under one packet per round
//!   trip. It is evaluated as printed.

use super::gain::{self, Drawn, Gain};
use super::{Arguments, Declared, Function, Info, Model, ModelError, Picture, Value, check};
use crate::text::{Reader, ScenarioError};
use serde_json::{Map, Value as Json};

/// The model's times and gains. "Earliest" and "latest" are the bounds of the time to refill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Completion time at full rate throughout, T_i = S / C.
    pub t_i: f64,
    /// Completion time without refill, eq. 4.
    pub t_1: f64,
    /// End of the ramp, eq. 5.
    pub t_min: f64,
    /// End of the ramp, eq. 6.
    pub t_max: f64,
    /// AMRT's completion time with the earliest refill, eq. 8.
    pub t_2_earliest: f64,
    /// AMRT's completion time with the latest refill, eq. 8.
    pub t_2_latest: f64,
    /// Gain of utilisation, eq. 9.
    pub u_gain_earliest: f64,
    /// Gain of utilisation, eq. 9.
    pub u_gain_latest: f64,
    /// Gain of completion time, eq. 10.
    pub fct_gain_earliest: f64,
    /// Gain of completion time, eq. 10.
    pub fct_gain_latest: f64,
}

/// Shortest time to fill `vacant` of `capacity` places a round trip, when they are evenly spread.
// AMRT §V eq. 2
pub fn fill_min(capacity: u32, vacant: u32) -> Option<u32> {
    let sent = capacity.checked_sub(vacant).filter(|n| *n > 0)?;
    Some(vacant.div_ceil(sent))
}

/// Longest time, when the vacant places are contiguous: one a round trip.
// AMRT §V eq. 3
pub fn fill_max(vacant: u32) -> u32 {
    vacant
}

/// Evaluates equations 4 to 10 for a flow of `size` packets on a link of `capacity` packets per round trip
/// of which the flow keeps the share `kept` after `t_r` round trips.
pub fn gains(capacity: f64, kept: f64, size: f64, t_r: f64) -> Result<Gains, ModelError> {
    let ideal = size / capacity;
    check("the capacity", "more than 0", capacity, capacity > 0.0 && capacity.is_finite())?;
    check("R/C", "more than 0 and less than 1", kept, kept > 0.0 && kept < 1.0)?;
    check("the flow's size", "more than 0", size, size > 0.0 && size.is_finite())?;
    check("T_R", "at least 0 and before the flow's end at full rate", t_r, t_r >= 0.0 && t_r < ideal)?;
    let rate = kept * capacity;
    // AMRT §V eq. 4
    let t_1 = (size - capacity * t_r) / rate + t_r;
    // AMRT §V eq. 5; (C - R) / R = C/R - 1, which is whole where the paper's examples are.
    // A little less, since floating point may put a whole number slightly above itself.
    let t_min = libm::ceil(1.0 / kept - 1.0 - 1e-9) + t_r;
    // AMRT §V eq. 6
    let t_max = capacity - rate + t_r;
    let (t_2_earliest, t_2_latest) =
        (completion(capacity, rate, size, t_r, t_min), completion(capacity, rate, size, t_r, t_max));
    // AMRT §V eq. 10
    let fct_gain = |t_2: f64| (t_1 - ideal) / (t_2 - ideal);
    Ok(Gains {
        t_i: ideal,
        t_1,
        t_min,
        t_max,
        t_2_earliest,
        t_2_latest,
        // AMRT §V eq. 9
        u_gain_earliest: t_1 / t_2_earliest,
        u_gain_latest: t_1 / t_2_latest,
        fct_gain_earliest: fct_gain(t_2_earliest),
        fct_gain_latest: fct_gain(t_2_latest),
    })
}

/// T_2: `capacity` until `t_r`, a linear ramp from `rate` back to `capacity` until `t_end`, then `capacity`.
// AMRT §V eq. 7, 8
fn completion(capacity: f64, rate: f64, size: f64, t_r: f64, t_end: f64) -> f64 {
    let ramp = t_end - t_r;
    let after_drop = size - capacity * t_r;
    let in_ramp = (rate + capacity) * ramp / 2.0;
    if in_ramp <= after_drop {
        return (after_drop - in_ramp) / capacity + t_end;
    }
    // The ramp's bytes after x round trips, R x + (C - R) x^2 / (2 ramp), solved for x.
    let slope = (capacity - rate) / ramp;
    t_r + (libm::sqrt(rate * rate + 2.0 * slope * after_drop) - rate) / slope
}

/// AMRT's gain over a transport that never refills.
#[derive(Clone, Debug, PartialEq)]
pub struct AmrtGain(Gain);

const DRAWN: Drawn = Drawn {
    title: "AMRT's model: gain over a transport that does not refill",
    caption: "Equations 2 to 10, C = {c} packets per RTT. U gain: T_1/T_2 with T_R = 0. FCT gain: (T_1 - T_i)/(T_2 - T_i) \
        with R/C = {fixed}; it is large because AMRT loses under one RTT.",
    u_gains: &["U gain, earliest convergence", "U gain, latest convergence"],
    fct_gains: &["FCT gain, earliest convergence", "FCT gain, latest convergence"],
    loss: "T_R / T_i",
    gains: |c, r_over_c, size, t_r| {
        let g = gains(c, r_over_c, size, t_r)?;
        Ok(vec![g.u_gain_earliest, g.u_gain_latest, g.fct_gain_earliest, g.fct_gain_latest])
    },
};

impl Declared for AmrtGain {
    const INFO: Info = Info {
        name: "amrt-gain",
        summary: "AMRT's gain over a transport that never refills a link",
        paper: "AMRT, TNSM 2022, §V",
        keys: gain::KEYS,
        example: gain::EXAMPLE,
        functions: &[Function {
            name: "model",
            doc: "AMRT's closed-form model (§V, equations 2 to 10): packets per RTT, R/C, packets, RTTs.",
            arguments: &["key", "c", "r_over_c", "size", "t_r"],
            call: answer,
        }],
    };

    fn read(table: &Reader<'_>) -> Result<AmrtGain, ScenarioError> {
        Gain::read(table).map(AmrtGain)
    }
}

impl Model for AmrtGain {
    fn table(&self) -> Map<String, Json> {
        self.0.table()
    }

    fn draw(&self) -> Result<Picture, ModelError> {
        self.0.draw(&DRAWN)
    }
}

fn answer(arguments: &Arguments<'_>) -> Result<Value, ModelError> {
    let number = |at| arguments.number(at);
    let g = gains(number(1)?, number(2)?, number(3)?, number(4)?)?;
    arguments.pick(&[
        ("t_i", g.t_i),
        ("t_1", g.t_1),
        ("t_min", g.t_min),
        ("t_max", g.t_max),
        ("t_2_earliest", g.t_2_earliest),
        ("t_2_latest", g.t_2_latest),
        ("u_gain_earliest", g.u_gain_earliest),
        ("u_gain_latest", g.u_gain_latest),
        ("fct_gain_earliest", g.fct_gain_earliest),
        ("fct_gain_latest", g.fct_gain_latest),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Gb/s and 100 us in packets of 1500 B.
    const C: f64 = 1e9 * 100e-6 / 8.0 / 1500.0;
    const MEGABYTE: f64 = 1e6 / 1500.0;

    #[track_caller]
    fn close(found: f64, printed: f64, digits: i32) {
        // Half a unit of the last printed digit, and a little for the binary form of that.
        let half = 0.5 * libm::pow(10.0, f64::from(-digits)) * 1.001;
        assert!((found - printed).abs() <= half, "{found} is not {printed}");
    }

    #[test]
    fn gaps_fill_as_in_the_example_of_six_places() {
        assert_eq!(fill_min(6, 4), Some(2));
        assert_eq!(fill_max(4), 4);
        assert_eq!(fill_min(6, 6), None, "nothing is sent, so nothing is marked");
    }

    #[test]
    fn times_of_a_megabyte_at_half_rate() {
        let g = gains(C, 0.5, MEGABYTE, 0.0).expect("within the model");
        close(g.t_1, 160.0, 9);
        close(g.t_i, 80.0, 9);
        assert_eq!(g.t_min, 1.0);
        close(g.t_max, 4.17, 2);
        close(g.t_2_earliest, 80.25, 2);
        close(g.t_2_latest, 81.04, 2);
        let quarter = gains(C, 0.25, MEGABYTE, 0.0).expect("within the model");
        assert_eq!(quarter.t_min, 3.0);
        close(quarter.t_max, 6.25, 2);
        // Equation 7: the bytes sent before T_R, in the ramp and after it are the whole flow.
        let sent = (C + C / 2.0) * g.t_min / 2.0 + C * (g.t_2_earliest - g.t_min);
        close(sent, MEGABYTE, 9);
    }

    #[test]
    fn utilisation_gains_of_the_worked_values() {
        for (kept, earliest, latest) in [(0.25, 3.945, 3.886), (0.5, 1.994, 1.974), (0.8, 1.248, 1.247)] {
            let g = gains(C, kept, MEGABYTE, 0.0).expect("within the model");
            close(g.u_gain_earliest, earliest, 3);
            close(g.u_gain_latest, latest, 3);
        }
        // Under one packet per round trip the earliest is the later one.
        let g = gains(C, 0.1, MEGABYTE, 0.0).expect("within the model");
        close(g.u_gain_earliest, 9.52, 2);
        close(g.u_gain_latest, 9.60, 2);
        assert!(g.t_min > g.t_max);
        let small = gains(C, 0.5, MEGABYTE / 10.0, 0.0).expect("within the model");
        close(small.u_gain_earliest, 1.939, 3);
        close(small.u_gain_latest, 1.770, 3);
        let large = gains(C, 0.5, MEGABYTE * 10.0, 0.0).expect("within the model");
        close(large.u_gain_earliest, 1.999, 3);
        close(large.u_gain_latest, 1.997, 3);
    }

    #[test]
    fn completion_gains_of_the_worked_values() {
        for (share, earliest, latest) in
            [(0.0, 320.0, 76.8), (0.25, 240.0, 57.6), (0.5, 160.0, 38.4), (0.75, 80.0, 19.2)]
        {
            let g = gains(C, 0.5, MEGABYTE, share * 80.0).expect("within the model");
            close(g.fct_gain_earliest, earliest, 6);
            close(g.fct_gain_latest, latest, 6);
        }
    }

    #[test]
    fn a_flow_that_ends_within_the_ramp_ends_between_the_two_rates() {
        let g = gains(C, 0.5, MEGABYTE / 10.0, 7.5).expect("within the model");
        assert!(g.t_max > g.t_2_latest, "it ends before the ramp does");
        assert!(g.t_i < g.t_2_latest && g.t_2_latest < g.t_1, "{g:?}");
        // The two formulas meet where the flow ends with the ramp.
        let ramp_end = 4.0;
        let size = (C + C / 2.0) * ramp_end / 2.0;
        close(completion(C, C / 2.0, size, 0.0, ramp_end), ramp_end, 9);
        close(completion(C, C / 2.0, size * (1.0 - 1e-12), 0.0, ramp_end), ramp_end, 9);
    }

    #[test]
    fn what_the_model_does_not_cover_is_refused() {
        assert!(gains(C, 1.0, 10.0, 0.0).is_err());
        assert!(gains(C, 0.0, 10.0, 0.0).is_err());
        assert!(gains(0.0, 0.5, 10.0, 0.0).is_err());
        assert!(gains(C, 0.5, 10.0, f64::NAN).is_err());
        assert!(gains(C, 0.5, 10.0, 5.0).is_err());
    }
}
