//! Parameters of the RoCE machine, the two fidelity presets, and how a controller's join them.

use crate::endpoint::{HostContext, Path, Traffic};
use headway_params::{ParamError, ParamKind, ParamSpec, ParamValue, Params, rebase_preset};
use headway_units::Time;

headway_params::choice! {
    /// Published numbers that the defaults stand for.
    pub enum Preset {
        /// Those of HPCC's simulator, or of the simulator that descends from it.
        HpccSim = "hpcc-sim",
        /// Those of the controller's paper.
        Paper = "paper",
    }
}

headway_params::choice! {
    /// Way in which losses are repaired.
    pub enum Recovery {
        /// The receiver drops packets behind a gap, and the sender goes back to it.
        GoBackN = "go-back-n",
        /// The receiver keeps it, and the sender repeats missing packets. IRN §3
        Selective = "selective-repeat",
    }
}

headway_params::params! {
    /// Parameters of the RoCE machine.
    pub struct MachineParams {
        /// Values of all parameters that are not given: those of HPCC's simulator, or of the controller's paper.
        preset: Preset = Preset::HpccSim, ParamKind::Choice(Preset::WORDS);
        /// Way in which losses are repaired.
        recovery: Recovery = Recovery::GoBackN, ParamKind::Choice(Recovery::WORDS);
        /// Round trip of an empty path, that of the longest one; windows and utilisation are computed with it. 0 = the network's, as far as it is known. HPCC §3.2
        base_rtt: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Time without any answer after which packets under way are taken for lost; 0 = three base round trips of the path, or its largest one if that is longer. IRN §3.1
        rto: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// The same with selective repeat while no more than `few` packets are under way, `rto` at most; 0 = four base round trips of the path. IRN §3.1
        rto_low: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Packets under way up to which `rto_low` stands. IRN §3.1
        few: u64 = 3, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Bytes of payload between the first packet that is missing and the last one sent, with selective repeat; 0 = a bandwidth-delay product. IRN §3.2
        cap: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// Time between two negative acknowledgements of the same packet, with go-back-N.
        nack_interval: Time = Time::us(500), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
    }
}

/// Base round trips of the path in the shortest time-out, and in the one while few packets are under way. IRN §3.1
const ROUND_TRIPS: (u64, u64) = (3, 4);

impl MachineParams {
    /// The base round trip of a path that windows are computed with.
    pub(super) fn base_rtt(&self, path: &Path) -> Time {
        let set = if self.base_rtt > Time::ZERO { self.base_rtt } else { path.base_rtt };
        set.max(Time(1))
    }

    /// The time-out over a path, and the one while few packets are under way.
    pub(super) fn path_timeouts(&self, path: &Path) -> (Time, Time) {
        let (least, low) =
            (path.base_rtt.saturating_mul(ROUND_TRIPS.0), path.base_rtt.saturating_mul(ROUND_TRIPS.1));
        let high = if self.rto > Time::ZERO { self.rto } else { least.max(path.max_rtt) };
        // A time-out of less than an empty round trip would expire before any answer.
        let high = high.max(path.base_rtt);
        let low = if self.rto_low > Time::ZERO { self.rto_low } else { low };
        (high, low.clamp(path.base_rtt, high))
    }

    /// Bytes of payload between the first missing packet and the last one sent at most; no bound with go-back-N.
    pub(super) fn flight_cap(&self, context: &HostContext, base_rtt: Time) -> u64 {
        match (self.recovery, self.cap) {
            (Recovery::GoBackN, _) => u64::MAX,
            (Recovery::Selective, 0) => context.nic.bytes_in(base_rtt),
            (Recovery::Selective, set) => set,
        }
    }
}

/// Parameters whose defaults depend on the preset.
pub trait ByPreset: Params {
    /// The values of a preset.
    fn from_preset(preset: Preset) -> Self;
}

/// The machine's parameters and those of a controller, as one list.
///
/// Setting `preset` gives all others the values of that preset, but for those that differ from the one
/// before: other settings of a scenario stand, in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct RoceParams<P> {
    /// Parameters of the machine.
    pub machine: MachineParams,
    /// Parameters of the controller.
    pub control: P,
}

impl<P: ByPreset> RoceParams<P> {
    /// The values of a preset.
    pub fn with_preset(preset: Preset) -> Self {
        RoceParams {
            machine: MachineParams { preset, ..MachineParams::default() },
            control: P::from_preset(preset),
        }
    }

    /// The longest path has the round trip that the whole network is configured with.
    pub(super) fn tune_base_rtt(&mut self, traffic: &Traffic) {
        if self.machine.base_rtt == Time::ZERO {
            self.machine.base_rtt = traffic.path.base_rtt;
        }
    }
}

impl<P: ByPreset> Default for RoceParams<P> {
    fn default() -> Self {
        RoceParams::with_preset(MachineParams::default().preset)
    }
}

impl<P: ByPreset> Params for RoceParams<P> {
    fn specs() -> Vec<ParamSpec> {
        let declared = [MachineParams::specs(), P::specs()].concat();
        let usual = Self::default().values();
        // Zipped by position with `values`, which joins the two lists in the same order.
        declared.into_iter().zip(usual).map(|(spec, default)| ParamSpec { default, ..spec }).collect()
    }

    fn values(&self) -> Vec<ParamValue> {
        [self.machine.values(), self.control.values()].concat()
    }

    fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError> {
        let before = self.machine.preset;
        match self.machine.set(name, value.clone()) {
            Ok(()) if name == "preset" => {
                *self = rebase_preset(
                    self,
                    &Self::with_preset(before),
                    Self::with_preset(self.machine.preset),
                    &["preset"],
                )?;
                Ok(())
            }
            Err(ParamError::Unknown(_)) => self.control.set(name, value),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roce::control::dcqcn::DcqcnParams;

    #[test]
    fn a_preset_sets_what_is_not_said() {
        let mut params = RoceParams::<DcqcnParams>::default();
        assert_eq!((params.control.alpha_period, params.control.byte_counter), (Time::us(1), 0));
        assert_eq!(params.set("increase_period", ParamValue::Time(Time::us(900))), Ok(()));
        assert_eq!(params.set("preset", ParamValue::Choice("paper".into())), Ok(()));
        assert_eq!((params.control.alpha_period, params.control.byte_counter), (Time::us(55), 10_000_000));
        assert_eq!(params.control.increase_period, Time::us(900), "what was said stands");
        assert_eq!(params.set("preset", ParamValue::Choice("hpcc-sim".into())), Ok(()));
        assert_eq!(
            (params.control.alpha_period, params.control.increase_period),
            (Time::us(1), Time::us(900))
        );
    }
}
