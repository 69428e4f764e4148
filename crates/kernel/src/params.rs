//! Parameters of the congestion controls.

use headway_params::ParamKind;
use headway_transport::tcp::control::d2tcp::Expired;
pub use headway_transport::tcp::control::vegas::VegasParams;
use headway_units::Time;

headway_params::params! {
    /// Parameters of all that answer marks.
    pub struct ShareParams {
        /// Weight of the newest window in the share of marked packets: 1, 1/2, 1/4 ... 1/1024.
        g: f64 = 0.0625, ParamKind::Float { min: 0.0009765625, max: 1.0 };
        /// Share of marked packets assumed at first.
        alpha_init: f64 = 1.0, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Packets of window that remain after a cut for marks.
        min_window: u64 = 2, ParamKind::Int { min: 1, max: 1000 };
        /// True if a connection begins in slow start.
        slow_start: bool = true, ParamKind::Bool;
    }
}

headway_params::choice! {
    /// Quantity that a weight follows: those of the lab, except for the data left to send, which the kernel does not know.
    pub enum Weighting {
        /// Data sent so far.
        Las = "las",
        /// Nothing, w = w_max = 1, which is DCTCP.
        Ps = "ps",
        /// Nothing, one given weight.
        Fixed = "fixed",
    }
}

headway_params::params! {
    /// Parameters of L2DCT's weights.
    pub struct WeightParams {
        /// Quantity that the weight follows: data sent (las), nothing (ps), or `weight`.
        weights: Weighting = Weighting::Las, ParamKind::Choice(Weighting::WORDS);
        /// Largest weight of a connection.
        w_max: f64 = 2.5, ParamKind::Float { min: 0.001, max: 100.0 };
        /// Smallest weight of a connection.
        w_min: f64 = 0.125, ParamKind::Float { min: 0.001, max: 100.0 };
        /// Bytes acknowledged up to which the weight is the largest.
        young: u64 = 200_000, ParamKind::Bytes { min: 0, max: 1 << 59 };
        /// Bytes acknowledged from which on the weight is the smallest.
        old: u64 = 1_000_000, ParamKind::Bytes { min: 1, max: 1 << 59 };
        /// The weight under `weights=fixed`.
        weight: f64 = 1.0, ParamKind::Float { min: 0.001, max: 100.0 };
        /// Packets added a round trip under `weights=fixed`; 0 = weight / w_max.
        increase: f64 = 0.0, ParamKind::Float { min: 0.0, max: 100.0 };
    }
}

headway_params::params! {
    /// Parameters of D2TCP's deadlines.
    pub struct DeadlineParams {
        /// Time from the start of a connection to its deadline; 0 s = no deadline, which is DCTCP.
        deadline: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Bytes that a connection sends; 0 = unknown, and what the application has written counts.
        bytes: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// Smallest urgency d, to the nearest 1/8.
        d_min: f64 = 0.5, ParamKind::Float { min: 0.125, max: 1.0 };
        /// Largest urgency d, to the nearest 1/8.
        d_max: f64 = 2.0, ParamKind::Float { min: 1.0, max: 2.5 };
        /// Urgency of a connection whose deadline has passed.
        on_expired: Expired = Expired::Neutral, ParamKind::Choice(Expired::WORDS);
    }
}

headway_params::joined_params! {
    /// Parameters of L2DCT.
    pub struct L2dctParams {
        /// Parameters of DCTCP.
        share: ShareParams,
        /// Parameters of its weights.
        weights: WeightParams,
    }
}

headway_params::joined_params! {
    /// Parameters of D2TCP.
    pub struct D2tcpParams {
        /// Parameters of DCTCP.
        share: ShareParams,
        /// Parameters of its deadlines.
        deadlines: DeadlineParams,
    }
}
