//! TCP of the operating system between the testbed's hosts: a connection for each flow of an entry with
//! `stack = "kernel"`, through the same switch as everything else.
//!
//! A flow is known by its connection's ports, so that every byte on it is the flow's own. The receiver compares each byte,
//! says when the last one has come, and closes; the sender reads `TCP_INFO` while it sends and once it is closed.

mod available;
mod info;
mod plan;
mod receive;
mod send;
mod socket;

pub use available::check_kernel;
pub use plan::{Plan, first_window};
pub use receive::Received;
pub use send::Sent;

use crate::flow_log::FlowLog;
use crate::messages::Answer;
use headway_switch::Clock;
use headway_units::Time;
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longest wait before the next check for orders.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// Bytes that are made, sent, received and compared in one piece.
const PIECE: usize = 1 << 16;
/// Pieces of a connection before others have their turn.
const TURN: usize = 8;

/// The kernel's part of a host, ready to begin.
pub struct KernelHost {
    plan: Plan,
    listeners: Vec<TcpListener>,
}

/// State that both directions share.
#[derive(Clone)]
pub struct Running {
    /// The testbed's clock.
    pub clock: Clock,
    /// Time zero of the scenario.
    pub start: Time,
    /// Interval between two reads of `TCP_INFO`.
    pub every: Time,
    /// Log of arrivals.
    pub seen: Arc<Mutex<FlowLog>>,
    /// Set when the run is over.
    pub over: Arc<AtomicBool>,
}

impl KernelHost {
    /// Makes the namespace ready and listens; `None` for a host without such flows.
    pub fn open_host(plan: Plan) -> Result<Option<KernelHost>, String> {
        if plan.is_empty() {
            return Ok(None);
        }
        socket::raise_files()?;
        plan.namespace_settings().iter().try_for_each(|(name, value)| socket::set_system(name, value))?;
        // After the settings of the namespace: a socket takes some of them over when it is made.
        let listeners = plan.listen_addresses().map(|(at, kernel)| socket::listen_at(at, kernel));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        Ok(Some(KernelHost { plan, listeners }))
    }

    /// Takes connections in until the run is over; flows with wrong bytes, and flows that were broken off.
    pub fn receive_flows(&self, running: &Running, say: &(dyn Fn(&Answer) + Sync)) -> Received {
        receive::Receiving::new(&self.plan, running, say).run_receiver(&self.listeners)
    }

    /// Sends every flow of this host at its time, until the run is over.
    pub fn send_flows(&self, running: &Running) -> Sent {
        send::Sending::new(&self.plan, running).run_sender()
    }
}
