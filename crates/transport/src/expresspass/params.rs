//! Parameters of ExpressPass, and the three sets of values for them that were published.

use crate::aeolus::AeolusParams;
use headway_params::ParamKind;
use headway_units::Time;
use std::ops::Deref;

headway_params::choice! {
    /// Published values that the parameters have if a scenario does not set them.
    pub enum Preset {
        /// The fat-tree script of the authors' simulator.
        Released = "released",
        /// That simulator's defaults, without a script.
        Ns2Defaults = "ns2-defaults",
        /// The values in the paper's text.
        Paper = "paper",
    }
}

headway_params::choice! {
    /// Rule by which a receiver changes its rate of credits.
    pub enum Feedback {
        /// The released code's: the loss aimed at falls to nothing at full rate, and a rate that loses too much
        /// falls to what got through.
        Adaptive = "adaptive",
        /// The paper's: the loss aimed at is constant, and exceeded at full rate.
        Constant = "constant",
    }
}

headway_params::choice! {
    /// Source of the jitter of gaps and of the sizes of credits.
    pub enum JitterFrom {
        /// The numbers of hosts, message and credit: the same in every run.
        Numbers = "numbers",
        /// These and the seed of the run.
        Seed = "seed",
    }
}

headway_params::choice! {
    /// Packets that a sender sends again when its receiver misses some.
    pub enum Recovery {
        /// The missing packets alone.
        Selective = "selective",
        /// That, and all after it.
        GoBackN = "go-back-n",
    }
}

headway_params::choice! {
    /// Time at which a credit is used for a packet of the first window of which nothing is known, with nothing else to send.
    pub enum Unheard {
        /// Once its acknowledgement is overdue: a largest round trip after the probe.
        Overdue = "overdue",
        /// As soon as there is nothing else to send.
        AtOnce = "at-once",
    }
}

headway_params::params! {
    /// The values of all parameters.
    pub struct Values {
        /// Values of all parameters that are not given: released (the fat-tree script of the authors' simulator), ns2-defaults, paper.
        preset: Preset = Preset::Released, ParamKind::Choice(Preset::WORDS);
        /// Rate at which credits start, as a share of the highest. ExpressPass §3.2
        alpha: f64 = 0.5, ParamKind::Float { min: 0.0001, max: 1.0 };
        /// Weight of the highest rate in an increase, at first. ns2-defaults, paper: 0.5. ExpressPass §3.2
        w_init: f64 = 0.0625, ParamKind::Float { min: 0.0001, max: 1.0 };
        /// The same, at least. ExpressPass §3.2
        w_min: f64 = 0.01, ParamKind::Float { min: 0.0001, max: 1.0 };
        /// The same, at most. ExpressPass §3.2
        w_max: f64 = 0.5, ParamKind::Float { min: 0.0001, max: 1.0 };
        /// Rule by which a receiver changes its rate. paper: constant
        feedback: Feedback = Feedback::Adaptive, ParamKind::Choice(Feedback::WORDS);
        /// Share of credits that may be lost; where feedback is adaptive, at a rate near 0. paper: 0.1. ExpressPass §3.2
        target_loss: f64 = 0.125, ParamKind::Float { min: 0.0, max: 0.9 };
        /// Messages of fewer packets start at a rate that is less in proportion; 0 = none. paper: 0
        adaptive_start: u64 = 40, ParamKind::Int { min: 0, max: 1_000_000 };
        /// A sender stops credits early that got this many times as many in the last round trip as it needs; 0 = never. paper: 0
        early_stop: u64 = 1, ParamKind::Int { min: 0, max: 1000 };
        /// Packets that are sent again after a loss.
        recovery: Recovery = Recovery::Selective, ParamKind::Choice(Recovery::WORDS);
        /// Greatest deviation of the gap between two credits from its mean, as a share of it. ExpressPass §3.1
        jitter: f64 = 0.1, ParamKind::Float { min: 0.0, max: 0.9 };
        /// Source of this jitter and of the sizes of credits: with `seed`, runs of other seeds differ in them. Hosts on real packets run without a seed.
        jitter_from: JitterFrom = JitterFrom::Numbers, ParamKind::Choice(JitterFrom::WORDS);
        /// Bytes by which a credit may be shorter than a control packet. ns2-defaults, paper: 0
        credit_shorter: u64 = 8, ParamKind::Bytes { min: 0, max: 60 };
        /// Bytes by which a credit may be longer. ns2-defaults: 0. ExpressPass §3.1
        credit_longer: u64 = 8, ParamKind::Bytes { min: 0, max: 1000 };
        /// Credits that wait at a host's own link at most, as at a switch port. ns2-defaults: 10
        credit_queue: u64 = 8, ParamKind::Int { min: 1, max: 1_000_000 };
        /// Credits that may leave a host back to back. ns2-defaults: 10
        credit_burst: u64 = 2, ParamKind::Int { min: 1, max: 1_000_000 };
        /// Time after which requests and negative acknowledgements are repeated; a largest round trip, where that is more. ns2-defaults: 100 ms
        retry: Time = Time::us(100), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Time after which a stop is repeated, while no round trip is measured; a base round trip, where that is more. Later it is two round trips.
        linger: Time = Time::ms(2), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
    }
}

impl Values {
    /// These values for a message that opens as one of so many fair sharers.
    pub(super) fn shared_by(&self, sharers: u32) -> Values {
        match sharers {
            0 | 1 => self.clone(),
            // A sharer begins at its share, however short its message is.
            n => Values { alpha: 1.0 / f64::from(n), adaptive_start: 0, ..self.clone() },
        }
    }

    /// The values of a preset.
    pub fn for_preset(preset: Preset) -> Values {
        let released = Values { preset, ..Values::default() };
        match preset {
            Preset::Released => released,
            Preset::Ns2Defaults => Values {
                w_init: 0.5,
                credit_shorter: 0,
                credit_longer: 0,
                credit_queue: 10,
                credit_burst: 10,
                retry: Time::ms(100),
                ..released
            },
            Preset::Paper => Values {
                w_init: 0.5,
                feedback: Feedback::Constant,
                target_loss: 0.1,
                adaptive_start: 0,
                early_stop: 0,
                credit_shorter: 0,
                ..released
            },
        }
    }
}

headway_params::preset_params! {
    /// Parameters of ExpressPass.
    pub struct ExpressPassParams(pub Values);
}

impl Deref for ExpressPassParams {
    type Target = Values;

    fn deref(&self) -> &Values {
        &self.0
    }
}

headway_params::params! {
    /// Parameters that the first window adds.
    pub struct BurstParams {
        /// Time at which a credit is used for a packet of the first window of which nothing is known, if nothing else is to be sent. Aeolus §4
        unheard: Unheard = Unheard::Overdue, ParamKind::Choice(Unheard::WORDS);
    }
}

headway_params::joined_params! {
    /// Parameters of ExpressPass with Aeolus, as one list.
    pub struct ExpressPassAeolusParams {
        /// Parameters of ExpressPass itself.
        expresspass: ExpressPassParams,
        /// Parameters of Aeolus.
        aeolus: AeolusParams,
        /// Parameters of the combination of both.
        burst: BurstParams,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_params::{ParamValue, Params};

    #[test]
    fn a_preset_sets_what_is_not_said() {
        let mut params = ExpressPassParams::default();
        assert_eq!(
            params.0,
            Values::for_preset(Preset::Released),
            "declared defaults are those of the release"
        );
        let word = |preset: Preset| ParamValue::Choice(preset.word().into());
        assert_eq!(params.set("alpha", ParamValue::Float(0.0625)), Ok(()));
        assert_eq!(params.set("preset", word(Preset::Paper)), Ok(()));
        assert_eq!(params.0, Values { alpha: 0.0625, ..Values::for_preset(Preset::Paper) });
        assert_eq!(params.set("preset", word(Preset::Ns2Defaults)), Ok(()));
        assert_eq!(params.0, Values { alpha: 0.0625, ..Values::for_preset(Preset::Ns2Defaults) });
        assert!(params.set("rate", ParamValue::Int(1)).is_err());
    }
}
