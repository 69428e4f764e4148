//! The sockets of an endpoint, one for each of its addresses.

use crate::batch::{Batch, Envelope};
use crate::config::{Admission, Config};
use crate::core::Transmit;
use crate::error::{AddressError, Refusal};
use crate::process;
use crate::udp::Socket;
use headway_packet::paths::MOST_ADDRESSES;
use headway_units::Time;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

/// A socket, and what is to leave from it.
pub(crate) struct Port {
    pub(crate) socket: Socket,
    pub(crate) sending: Batch,
}

/// Addresses and marks of a datagram that leaves.
pub(crate) fn envelope_of(transmit: &Transmit) -> Envelope {
    let &Transmit { to: address, tos, length, answer, .. } = transmit;
    Envelope { address, tos, length, truncated: false, answer }
}

/// Settings of the sockets of an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct SocketManner {
    rows: bool,
    spin: Time,
    loopback_only: bool,
}

impl SocketManner {
    pub(crate) fn new(rows: bool, config: &Config) -> SocketManner {
        SocketManner { rows, spin: config.spin, loopback_only: config.admission == Admission::Loopback }
    }

    /// A socket at another address of an endpoint that is bound to `home`. Port 0 stands for the endpoint's, where it is free.
    pub(crate) fn bind_address(&self, address: SocketAddr, home: SocketAddr) -> Result<Socket, AddressError> {
        if self.loopback_only && !address.ip().is_loopback() {
            return Err(AddressError::NotLoopback(address));
        }
        if address.is_ipv4() != home.is_ipv4() {
            return Err(AddressError::OtherFamily(address));
        }
        let same_port = SocketAddr::new(address.ip(), home.port());
        // The same port first: one rule of a firewall then covers all addresses of an endpoint.
        let wanted = if address.port() == 0 { [same_port, address] } else { [address, address] };
        let bind = |address| Socket::bind_socket(address, self.rows, self.spin);
        let made = wanted[1..].iter().fold(bind(wanted[0]), |made, &other| made.or_else(|_| bind(other)));
        made.map_err(|error| AddressError::Kernel { address, why: Refusal::from_error(&error) })
    }
}

/// The descriptors of an endpoint's sockets, which a process that is forked closes without taking a lock.
#[derive(Debug)]
pub(crate) struct Descriptors([AtomicI32; MOST_ADDRESSES + 1]);

impl Default for Descriptors {
    fn default() -> Self {
        Descriptors([const { AtomicI32::new(-1) }; MOST_ADDRESSES + 1])
    }
}

impl Descriptors {
    /// The socket at a place, or none.
    pub(crate) fn set_socket(&self, place: usize, socket: Option<&Socket>) {
        if let Some(known) = self.0.get(place) {
            known.store(socket.map_or(-1, Socket::raw_descriptor), SeqCst);
        }
    }

    /// Closes this process's copies.
    pub(crate) fn close_copies(&self) {
        for known in &self.0 {
            // Taken out by the swap, so that two threads of a child do not close the number twice.
            let descriptor = known.swap(-1, SeqCst);
            if descriptor >= 0 {
                process::close_descriptor(descriptor);
            }
        }
    }
}
