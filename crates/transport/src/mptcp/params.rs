//! Parameters: those of the subflows, which are TCP's, and those of the paths.

use crate::subflows::PathManager;
use crate::tcp::params::{ByPreset, TcpParams};
use headway_packet::MOST_SUBFLOWS;
use headway_params::{ParamError, ParamKind, ParamSpec, ParamValue, Params};

headway_params::choice! {
    /// Rule that chooses the subflow of the next packet, among those whose windows have room.
    pub enum Scheduler {
        /// The one with the smallest smoothed round trip.
        MinRtt = "min-rtt",
        /// Each in turn.
        RoundRobin = "round-robin",
    }
}

headway_params::params! {
    /// Parameters of the message above its subflows.
    pub struct MultipathParams {
        /// Subflows of a message, the first included.
        subflows: u64 = 2, ParamKind::Int { min: 1, max: MOST_SUBFLOWS as u64 };
        /// Paths that the subflows take. `ndiffports`: other ports, where two may meet; `full-mesh`: different paths.
        path_manager: PathManager = PathManager::Ndiffports, ParamKind::Choice(PathManager::WORDS);
        /// Rule that chooses the subflow of the next packet, among those whose windows have room.
        scheduler: Scheduler = Scheduler::MinRtt, ParamKind::Choice(Scheduler::WORDS);
        /// True if a subflow that the receive window keeps from sending repeats the packet that it waits for, and halves the window of the slow subflow that has it.
        opportunistic: bool = true, ParamKind::Bool;
    }
}

/// The parameters of the paths and those of the subflows, as one list.
#[derive(Clone, Debug, PartialEq)]
pub struct MptcpParams<P> {
    /// Parameters of the paths.
    pub multipath: MultipathParams,
    /// Parameters of each subflow.
    pub tcp: TcpParams<P>,
}

impl<P: ByPreset> Default for MptcpParams<P> {
    fn default() -> Self {
        MptcpParams { multipath: MultipathParams::default(), tcp: TcpParams::default() }
    }
}

impl<P: ByPreset> Params for MptcpParams<P> {
    fn specs() -> Vec<ParamSpec> {
        [MultipathParams::specs(), TcpParams::<P>::specs()].concat()
    }

    fn values(&self) -> Vec<ParamValue> {
        [self.multipath.values(), self.tcp.values()].concat()
    }

    fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError> {
        match self.multipath.set(name, value.clone()) {
            Err(ParamError::Unknown(_)) => self.tcp.set(name, value),
            other => other,
        }
    }
}
