//! Parameters of the connection machine, the two fidelity presets, and how a controller's join them.

use headway_params::{ParamError, ParamKind, ParamSpec, ParamValue, Params, rebase_preset};
use headway_units::Time;

headway_params::choice! {
    /// Published experiments that the defaults stand for.
    pub enum Preset {
        /// ns-2 as in the experiments of L2DCT: no handshake, an acknowledgement for every packet.
        PaperNs2 = "paper-ns2",
        /// Linux 4.19 as in the experiments of ProactMP.
        Linux419 = "linux-4.19",
        /// Transports of user space in datacenters, as in csg-htsim's runs of Swift: time-outs from 100 us on.
        Datacenter = "datacenter",
    }
}

headway_params::choice! {
    /// Way in which losses are found and repaired.
    pub enum Recovery {
        /// Losses are found by selective acknowledgements. RFC 6675
        Sack = "sack",
        /// Duplicate acknowledgements are counted, and one hole is repaired a round trip. RFC 6582
        NewReno = "newreno",
    }
}

headway_params::choice! {
    /// Quantity that the smallest time-out is applied to.
    pub enum RtoFloor {
        /// The whole time-out. RFC 6298 §2
        Total = "total",
        /// The term of the variance, so that the time-out is at least a round trip more.
        Variance = "variance",
    }
}

headway_params::choice! {
    /// Way in which a window is brought down.
    pub enum Reduction {
        /// Down to its new value at once.
        Immediate = "immediate",
        /// Down in proportion to the delivered packets, over a round trip. RFC 6937
        Proportional = "prr",
        /// The same as Linux 4.19 has it: one packet leaves at once, and below its goal the window grows only when a
        /// packet sent again has arrived.
        Linux419 = "prr-linux-4.19",
    }
}

headway_params::choice! {
    /// Packets that a partial acknowledgement sends while losses found by selective acknowledgements are repaired.
    pub enum PartialAck {
        /// As many as there is room for. RFC 6675 §5
        Room = "room",
        /// One packet whatever the window says, unless the first one missing has been sent again already: one that is lost, or
        /// one never sent, or else the first one missing. As NewReno has it (RFC 6582 §3.2 step 3), and ns-3.
        Resend = "resend",
    }
}

headway_params::params! {
    /// Parameters of the connection machine, with the values of `paper-ns2`.
    pub struct ConnectionParams {
        /// Values of all parameters that are not given: those of L2DCT's experiments, Linux 4.19's, or those of user space in datacenters.
        preset: Preset = Preset::PaperNs2, ParamKind::Choice(Preset::WORDS);
        /// Packets sent before anything is heard. linux-4.19: 10, datacenter: 15
        initial_window: u64 = 2, ParamKind::Int { min: 1, max: 100_000 };
        /// True if a message begins with a SYN and its answer, a round trip. linux-4.19: true
        handshake: bool = false, ParamKind::Bool;
        /// True if the estimator starts with the unloaded round trip. linux-4.19: false
        prime_rtt: bool = true, ParamKind::Bool;
        /// Smallest retransmission time-out. linux-4.19: 200 ms, datacenter: 100 us
        // L2DCT §III: RTO_min of 10 ms. Linux's `TCP_RTO_MIN` is 200 ms.
        min_rto: Time = Time::ms(10), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Time-out before the first round trip is measured. linux-4.19: 1 s, datacenter: 100 us
        initial_rto: Time = Time::ms(10), ParamKind::Time { min: Time::ns(1), max: Time::DAY };
        /// Quantity that `min_rto` is applied to. linux-4.19: variance
        rto_floor: RtoFloor = RtoFloor::Total, ParamKind::Choice(RtoFloor::WORDS);
        /// Packets in order that one acknowledgement answers. linux-4.19: 2
        ack_every: u64 = 1, ParamKind::Int { min: 1, max: 64 };
        /// Longest time for which an acknowledgement is put off.
        // The smallest delay in Linux, `TCP_DELACK_MIN`.
        ack_delay: Time = Time::ms(40), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Packets at the beginning of a message that are each acknowledged at once. linux-4.19: 16
        // Linux's `TCP_MAX_QUICKACKS` is 16.
        quick_acks: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Packets of window that remain after a cut for marks, as DCTCP in Linux and RFC 5681 have it.
        min_window: u64 = 2, ParamKind::Int { min: 1, max: 1000 };
        /// Way in which a window is brought down. linux-4.19: prr-linux-4.19
        reduction: Reduction = Reduction::Immediate, ParamKind::Choice(Reduction::WORDS);
        /// Way in which losses are found and repaired.
        recovery: Recovery = Recovery::Sack, ParamKind::Choice(Recovery::WORDS);
        /// Packets that a partial acknowledgement sends under `sack`: as many as there is room for, or one packet in any case, as in ns-3.
        partial_ack: PartialAck = PartialAck::Room, ParamKind::Choice(PartialAck::WORDS);
        /// Packets that a receiver takes beyond the first one missing; 0 = without limit.
        receive_window: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// True if a message begins in slow start. L2DCT's paper can be read both ways: compare at equal values.
        slow_start: bool = true, ParamKind::Bool;
    }
}

impl ConnectionParams {
    /// First packet that a receiver does not take from a sender that has heard nothing.
    pub(crate) fn initial_edge(&self) -> u32 {
        if self.receive_window == 0 { u32::MAX } else { self.receive_window as u32 }
    }
}

/// Parameters whose defaults depend on the preset.
pub trait ByPreset: Params {
    /// The preset that stands where a scenario does not say.
    const USUAL: Preset = Preset::PaperNs2;
    /// The values of a preset.
    fn from_preset(preset: Preset) -> Self;
}

impl ByPreset for ConnectionParams {
    fn from_preset(preset: Preset) -> Self {
        match preset {
            Preset::PaperNs2 => ConnectionParams::default(),
            Preset::Linux419 => ConnectionParams {
                preset,
                initial_window: 10,
                handshake: true,
                prime_rtt: false,
                min_rto: Time::ms(200),
                initial_rto: Time::ms(1000),
                rto_floor: RtoFloor::Variance,
                ack_every: 2,
                quick_acks: 16,
                reduction: Reduction::Linux419,
                ..ConnectionParams::default()
            },
            Preset::Datacenter => ConnectionParams {
                preset,
                initial_window: 15,
                min_rto: Time::us(100),
                initial_rto: Time::us(100),
                ..ConnectionParams::default()
            },
        }
    }
}

/// The machine's parameters and those of a controller, as one list.
///
/// Setting `preset` gives all others the values of that preset, but for those that differ from the one
/// before: other settings of a scenario stand, in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpParams<P> {
    /// Parameters of the machine.
    pub connection: ConnectionParams,
    /// Parameters of the controller.
    pub control: P,
}

impl<P: ByPreset> ByPreset for TcpParams<P> {
    const USUAL: Preset = P::USUAL;
    fn from_preset(preset: Preset) -> Self {
        TcpParams { connection: ConnectionParams::from_preset(preset), control: P::from_preset(preset) }
    }
}

impl<P: ByPreset> Default for TcpParams<P> {
    fn default() -> Self {
        TcpParams::from_preset(P::USUAL)
    }
}

impl<P: ByPreset> TcpParams<P> {
    /// Takes the values of the preset that is set now, but for what differs from those of the one `before`.
    fn follow_preset(&mut self, before: Preset) -> Result<(), ParamError> {
        *self = rebase_preset(
            self,
            &Self::from_preset(before),
            Self::from_preset(self.connection.preset),
            &["preset"],
        )?;
        Ok(())
    }
}

impl<P: ByPreset> Params for TcpParams<P> {
    fn specs() -> Vec<ParamSpec> {
        // A controller's usual preset changes defaults of the machine as well: they are taken from the joined default.
        let declared = [ConnectionParams::specs(), P::specs()].concat();
        let usual = Self::default().values();
        // Zipped by position with `values`, which joins the two lists in the same order.
        declared.into_iter().zip(usual).map(|(spec, default)| ParamSpec { default, ..spec }).collect()
    }

    fn values(&self) -> Vec<ParamValue> {
        [self.connection.values(), self.control.values()].concat()
    }

    fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError> {
        // Read before the value is set: the parameters that differ from the old preset's stay.
        let before = self.connection.preset;
        match self.connection.set(name, value.clone()) {
            Ok(()) if name == "preset" => self.follow_preset(before),
            // The machine's names come first: a controller cannot hide one of them.
            Err(ParamError::Unknown(_)) => self.control.set(name, value),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::control::dctcp::DctcpParams;

    #[test]
    fn a_preset_sets_what_is_not_said() {
        let mut params = TcpParams::<DctcpParams>::default();
        assert_eq!(
            params,
            TcpParams::from_preset(Preset::PaperNs2),
            "declared defaults are those of paper-ns2"
        );
        let linux = ParamValue::Choice(Preset::Linux419.word().into());
        assert_eq!(params.set("preset", linux), Ok(()));
        assert_eq!(params, TcpParams::from_preset(Preset::Linux419));
        assert_eq!((params.connection.initial_window, params.connection.min_rto), (10, Time::ms(200)));
        assert_eq!(params.set("initial_window", ParamValue::Int(3)), Ok(()));
        assert_eq!(params.set("g", ParamValue::Float(0.5)), Ok(()));
        assert_eq!((params.connection.initial_window, params.control.g), (3, 0.5));
        let paper = ParamValue::Choice(Preset::PaperNs2.word().into());
        assert_eq!(params.set("preset", paper), Ok(()));
        assert_eq!((params.connection.initial_window, params.control.g), (3, 0.5), "what was said stands");
        assert_eq!((params.connection.min_rto, params.connection.handshake), (Time::ms(10), false));
        assert_eq!(params.set("window", ParamValue::Int(3)), Err(ParamError::Unknown("window".into())));
    }
}
