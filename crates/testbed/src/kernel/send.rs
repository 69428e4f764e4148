//! The sending side: a connection a flow, opened when the flow starts, and what `TCP_INFO` says of it.

#![allow(clippy::disallowed_methods, reason = "real sockets")]

use super::info::Info;
use super::plan::{Plan, Planned};
use super::{LONGEST_WAIT, PIECE, Running, TURN, socket};
use crate::messages::MachineReport;
use crate::payload::Payload;
use headway_gauges::{Level, RoundTrips};
use headway_host::Source;
use headway_lab::traffic::kernel_gauges;
use headway_units::Time;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The kernel's results for flows from this host.
#[derive(Debug, Default)]
pub struct Sent {
    /// Bytes sent again, by flow.
    pub retransmitted: Vec<(u32, u64)>,
    /// Packets that arrived marked, by flow.
    pub marks: Vec<(u32, u32)>,
    /// Flows whose connections failed, and why.
    pub failed: Vec<(u32, String)>,
    /// Measurements for each transport.
    pub machines: Vec<MachineReport>,
}

struct Outgoing {
    planned: Planned,
    socket: TcpStream,
    connected: bool,
    offset: u64,
    info: Info,
}

/// Measurements over all connections of one transport.
#[derive(Default)]
struct Measured {
    trips: RoundTrips,
    window: Level,
    connections: u64,
    with_ecn: u64,
    retransmitted_packets: u64,
    least_us: Option<u32>,
}

/// State of a connection after a turn.
enum Turn {
    Open,
    Closed,
    Failed(String),
}

pub(super) struct Sending<'a> {
    plan: &'a Plan,
    running: &'a Running,
    next: usize,
    open: Vec<Outgoing>,
    buffer: Vec<u8>,
    measured: BTreeMap<u8, Measured>,
    sent: Sent,
}

impl<'a> Sending<'a> {
    pub(super) fn new(plan: &'a Plan, running: &'a Running) -> Self {
        let (measured, sent) = (BTreeMap::new(), Sent::default());
        Sending { plan, running, next: 0, open: Vec::new(), buffer: vec![0; PIECE], measured, sent }
    }

    pub(super) fn run_sender(mut self) -> Sent {
        let mut sample_at = self.running.start + self.running.every;
        while !self.running.over.load(Ordering::Relaxed) {
            let now = self.running.clock.now();
            self.start_due(now);
            if now >= sample_at {
                self.take_samples(now);
                sample_at = now.max(sample_at + self.running.every);
            }
            let ready = self.wait_ready(sample_at);
            self.send_ready(&ready);
        }
        // Connections that were still open when the run ended have counts as well.
        for mut outgoing in std::mem::take(&mut self.open) {
            self.close_connection(&mut outgoing);
        }
        self.into_report()
    }

    /// Opens the connections of flows whose time has come.
    fn start_due(&mut self, now: Time) {
        while let Some(planned) = self.plan.outgoing.get(self.next).copied() {
            if self.running.start + planned.start > now {
                return;
            }
            self.next += 1;
            match socket::begin_connect(planned.from, planned.to, planned.kernel) {
                Ok(socket) => {
                    let info = Info::default();
                    self.open.push(Outgoing { planned, socket, connected: false, offset: 0, info });
                }
                Err(error) => self.sent.failed.push((planned.flow, format!("connecting: {error}"))),
            }
        }
    }

    /// Waits until a connection has room or news, a flow starts, or a sample is due.
    fn wait_ready(&self, sample_at: Time) -> Vec<bool> {
        let wish = |o: &Outgoing| match o.connected && o.offset == o.planned.bytes {
            true => PollFlags::POLLIN,
            // A connection that has sent everything is always writable, and would keep the thread from
            // sleeping.
            false => PollFlags::POLLIN | PollFlags::POLLOUT,
        };
        let mut polled: Vec<PollFd<'_>> =
            self.open.iter().map(|o| PollFd::new(o.socket.as_fd(), wish(o))).collect();
        let start = self.plan.outgoing.get(self.next).map(|p| self.running.start + p.start);
        // Without connections there is nothing to sample, and no reason to wake up for it.
        let sample = (!self.open.is_empty()).then_some(sample_at);
        let due = [start, sample].into_iter().flatten().min();
        let now = self.running.clock.now();
        let wait = due.map_or(LONGEST_WAIT, |at| {
            Duration::from_nanos(at.saturating_sub(now).0 / 1000).min(LONGEST_WAIT)
        });
        // An interrupted wait finds nothing ready, and is repeated.
        let _ = ppoll(&mut polled, Some(TimeSpec::from_duration(wait)), None);
        polled.iter().map(|p| p.any().unwrap_or(false)).collect()
    }

    fn send_ready(&mut self, ready: &[bool]) {
        let mut kept = Vec::with_capacity(self.open.len());
        for (number, mut outgoing) in std::mem::take(&mut self.open).into_iter().enumerate() {
            let turn = match ready.get(number) {
                Some(true) => self.send_turn(&mut outgoing),
                _ => Turn::Open,
            };
            match turn {
                Turn::Open => kept.push(outgoing),
                Turn::Closed => self.close_connection(&mut outgoing),
                Turn::Failed(why) => {
                    self.sent.failed.push((outgoing.planned.flow, why));
                    self.close_connection(&mut outgoing);
                }
            }
        }
        self.open = kept;
    }

    /// Sends as much as there is room for. The receiver closes when it has everything.
    fn send_turn(&mut self, outgoing: &mut Outgoing) -> Turn {
        if !outgoing.connected {
            // A connection that is ready for writing may be open or refused; only this tells.
            match outgoing.socket.take_error() {
                Ok(None) => outgoing.connected = true,
                Ok(Some(error)) | Err(error) => return Turn::Failed(format!("connecting: {error}")),
            }
        }
        let payload = Payload::for_flow(self.plan.seed, outgoing.planned.flow);
        for _ in 0..TURN {
            let left = outgoing.planned.bytes - outgoing.offset;
            if left == 0 {
                return is_over(outgoing);
            }
            let piece = &mut self.buffer[..left.min(PIECE as u64) as usize];
            payload.read(outgoing.offset, piece);
            match outgoing.socket.write(piece) {
                Ok(sent) => outgoing.offset += sent as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Turn::Open,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Turn::Failed(format!("sending: {error}")),
            }
        }
        Turn::Open
    }

    fn take_samples(&mut self, now: Time) {
        let mut windows: BTreeMap<u8, u64> = BTreeMap::new();
        for outgoing in self.open.iter_mut().filter(|o| o.connected) {
            let Some(info) = Info::from_socket(outgoing.socket.as_fd(), outgoing.planned.kernel.mptcp) else {
                continue;
            };
            // Subflows of multipath TCP come and go, and their counts with them.
            outgoing.info = info.after_earlier(&outgoing.info);
            let measured = self.measured.entry(outgoing.planned.transport).or_default();
            outgoing.info.rtts_us.iter().for_each(|us| measured.trips.note(Time::us((*us).into())));
            let window = windows.entry(outgoing.planned.transport).or_default();
            // The largest of a transport's connections, as the machine of the simulator reports its window.
            *window = (*window).max(outgoing.info.window_packets);
        }
        let since = now.saturating_sub(self.running.start);
        for (transport, packets) in windows {
            self.measured.entry(transport).or_default().window.set(since, packets);
        }
    }

    /// The last look at a connection.
    fn close_connection(&mut self, outgoing: &mut Outgoing) {
        let planned = outgoing.planned;
        if let Some(info) = Info::from_socket(outgoing.socket.as_fd(), planned.kernel.mptcp) {
            outgoing.info = info.after_earlier(&outgoing.info);
        }
        let (info, measured) = (&outgoing.info, self.measured.entry(planned.transport).or_default());
        info.rtts_us.iter().for_each(|us| measured.trips.note(Time::us((*us).into())));
        measured.connections += 1;
        measured.with_ecn += u64::from(info.ecn);
        measured.retransmitted_packets += info.retransmitted_packets;
        measured.least_us = [measured.least_us, info.min_rtt_us].into_iter().flatten().min();
        self.sent.retransmitted.push((planned.flow, info.retransmitted_bytes));
        self.sent.marks.push((planned.flow, u32::try_from(info.marked_packets).unwrap_or(u32::MAX)));
    }

    fn into_report(mut self) -> Sent {
        let since = self.running.clock.now().saturating_sub(self.running.start);
        for (transport, measured) in &self.measured {
            let mut gauges = vec![
                measured.window.gauge(&kernel_gauges::WINDOW, since),
                kernel_gauges::CONNECTIONS.count(measured.connections),
                kernel_gauges::WITH_ECN.count(measured.with_ecn),
                kernel_gauges::RETRANSMITTED.count(measured.retransmitted_packets),
            ];
            let least = measured.least_us.map(|us| u64::from(us) * 1000);
            gauges.extend(least.map(|ns| kernel_gauges::LEAST_ROUND_TRIP.count(ns)));
            self.sent.machines.push(MachineReport {
                transport: *transport,
                gauges: gauges.iter().map(crate::messages::pack_gauge).collect(),
                round_trips: Some((&measured.trips).into()),
            });
        }
        self.sent
    }
}

/// State of a connection over which everything was sent: closed, still open, or failed.
fn is_over(outgoing: &mut Outgoing) -> Turn {
    match outgoing.socket.read(&mut [0; 1]) {
        Ok(0) => Turn::Closed,
        Ok(_) => Turn::Failed("its receiver answered with data".into()),
        // The receiver has not closed yet.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Turn::Open,
        Err(error) => Turn::Failed(format!("closing: {error}")),
    }
}
