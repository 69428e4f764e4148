//! The receiving side, which compares every byte as it arrives, in order.

#![allow(clippy::disallowed_methods, reason = "real sockets")]

use super::plan::{Plan, Planned};
use super::{LONGEST_WAIT, PIECE, Running, TURN};
use crate::messages::Answer;
use crate::payload::Payload;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Results of flows to this host that are not simply done.
#[derive(Debug, Default)]
pub struct Received {
    /// Flows of which other bytes came than were sent.
    pub corrupted: Vec<u32>,
    /// Flows that were broken off, and how.
    pub failed: Vec<(u32, String)>,
    /// Connections that no flow has.
    pub strangers: u64,
}

struct Incoming {
    planned: Planned,
    socket: TcpStream,
    offset: u64,
    right: bool,
}

/// State of a connection after a turn of reading.
enum Turn {
    Open,
    Complete,
    Broken(String),
}

pub(super) struct Receiving<'a> {
    plan: &'a Plan,
    running: &'a Running,
    say: &'a (dyn Fn(&Answer) + Sync),
    open: Vec<Incoming>,
    buffer: Vec<u8>,
    received: Received,
}

impl<'a> Receiving<'a> {
    pub(super) fn new(plan: &'a Plan, running: &'a Running, say: &'a (dyn Fn(&Answer) + Sync)) -> Self {
        Receiving {
            plan,
            running,
            say,
            open: Vec::new(),
            buffer: vec![0; PIECE],
            received: Received::default(),
        }
    }

    pub(super) fn run_receiver(mut self, listeners: &[TcpListener]) -> Received {
        while !self.running.over.load(Ordering::Relaxed) {
            let sockets = listeners.iter().map(AsFd::as_fd).chain(self.open.iter().map(|c| c.socket.as_fd()));
            let mut polled: Vec<PollFd<'_>> = sockets.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            // An interrupted wait finds nothing ready, and is repeated.
            let _ = ppoll(&mut polled, Some(TimeSpec::from_duration(LONGEST_WAIT)), None);
            let ready: Vec<bool> = polled.iter().map(|p| p.any().unwrap_or(false)).collect();
            let (at_listeners, at_flows) = ready.split_at(listeners.len());
            // Before connections are accepted, which would shift the places that `ready` speaks of.
            self.read_from(at_flows);
            listeners
                .iter()
                .zip(at_listeners)
                .filter(|(_, ready)| **ready)
                .for_each(|(l, _)| self.accept_connections(l));
        }
        self.received
    }

    fn accept_connections(&mut self, listener: &TcpListener) {
        while let Ok((socket, from)) = listener.accept() {
            let ends = match (from, socket.local_addr()) {
                (SocketAddr::V4(from), Ok(SocketAddr::V4(to))) => Some((from, to)),
                _ => None,
            };
            let planned = ends.and_then(|ends| self.plan.incoming.get(&ends)).copied();
            match planned.filter(|_| socket.set_nonblocking(true).is_ok()) {
                Some(planned) => self.open.push(Incoming { planned, socket, offset: 0, right: true }),
                None => self.received.strangers += 1,
            }
        }
    }

    /// Reads from connections that have something; those that are over are closed.
    fn read_from(&mut self, ready: &[bool]) {
        let mut kept = Vec::with_capacity(self.open.len());
        for (number, mut incoming) in std::mem::take(&mut self.open).into_iter().enumerate() {
            let turn = match ready.get(number) {
                Some(true) => self.receive_turn(&mut incoming),
                _ => Turn::Open,
            };
            match turn {
                Turn::Open => kept.push(incoming),
                Turn::Complete => {}
                Turn::Broken(why) => self.received.failed.push((incoming.planned.flow, why)),
            }
        }
        self.open = kept;
    }

    fn receive_turn(&mut self, incoming: &mut Incoming) -> Turn {
        for _ in 0..TURN {
            let got = match incoming.socket.read(&mut self.buffer) {
                // The receiver closes first, so an end of the stream here always comes too early.
                Ok(0) => return Turn::Broken(format!("its sender closed after {} bytes", incoming.offset)),
                Ok(got) => got,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Turn::Open,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Turn::Broken(format!("receiving: {error}")),
            };
            if self.inspect_bytes(incoming, got) {
                return Turn::Complete;
            }
        }
        Turn::Open
    }

    /// Looks at so many bytes; returns true if the flow is complete.
    fn inspect_bytes(&mut self, incoming: &mut Incoming, got: usize) -> bool {
        let (now, planned) = (self.running.clock.now(), incoming.planned);
        let payload = Payload::for_flow(self.plan.seed, planned.flow);
        // Bytes beyond the flow's length have no right value to compare with.
        let within = incoming.offset + got as u64 <= planned.bytes;
        let right = within && payload.is_at(incoming.offset, &self.buffer[..got]);
        // Each flow is reported once, with its first wrong byte.
        if incoming.right && !right {
            incoming.right = false;
            self.received.corrupted.push(planned.flow);
        }
        incoming.offset += got as u64;
        let complete = incoming.offset >= planned.bytes;
        let mut seen = self.running.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.note_delivered(now, planned.flow, got as u32);
        if complete {
            seen.note_completed(planned.flow);
            // `say` writes to a pipe, which may block; the log must not be locked meanwhile.
            drop(seen);
            let at_ns = now.saturating_sub(self.running.start).0 / 1000;
            (self.say)(&Answer::Done { flow: planned.flow, at_ns, intact: incoming.right });
        }
        complete
    }
}
