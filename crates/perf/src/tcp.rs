//! The same messages as frames on kernel TCP: the control of every measurement.

use crate::carrier::{Carrier, Stream};
use crate::error::PerfError;
use bytes::Bytes;
use headway_host::Pace;
use headway_perf::protocol::{Answer, Order};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A connection that carries frames.
pub(crate) type Frames = headway_perf::frames::Frames<TcpStream, TcpStream>;

/// Both directions of a connection.
pub(crate) fn connection_frames(stream: TcpStream) -> io::Result<Frames> {
    // Small requests would wait for the acknowledgement of the previous one otherwise.
    stream.set_nodelay(true)?;
    Ok(Frames::new(stream.try_clone()?, stream))
}

/// A connection for requests, and where others go.
pub(crate) struct Tcp {
    calls: Mutex<Frames>,
    peer: SocketAddr,
    timeout: Duration,
}

impl Tcp {
    pub(crate) fn connect_peer(peer: SocketAddr, timeout: Duration) -> Result<Tcp, PerfError> {
        let calls = Mutex::new(open_connection(peer, timeout)?);
        Ok(Tcp { calls, peer, timeout })
    }
}

fn open_connection(peer: SocketAddr, timeout: Duration) -> Result<Frames, PerfError> {
    let connect = || {
        let stream = TcpStream::connect_timeout(&peer, timeout)?;
        // A peer that is silent must not block the measurement for ever.
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        connection_frames(stream)
    };
    connect().map_err(|error| PerfError::tcp_error(peer, error))
}

/// A message, and the one that answers it.
fn exchange_message(frames: &mut Frames, message: &[u8]) -> io::Result<Bytes> {
    frames.write_message(message)?;
    frames.read_message()?.map(Bytes::copy_from_slice).ok_or(io::ErrorKind::UnexpectedEof.into())
}

impl Carrier for Tcp {
    fn carrier_name(&self) -> &'static str {
        "tcp"
    }

    /// Empty where the kernel does not tell.
    fn transport_name(&self) -> String {
        let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        name.map(|name| name.trim().into()).unwrap_or_default()
    }

    fn sender_pace(&self) -> Option<&Pace> {
        None
    }

    fn base_rtt_us(&self) -> Option<f64> {
        None
    }

    fn peer_name(&self) -> String {
        self.peer.to_string()
    }

    fn call_server(&self, request: Bytes) -> Result<Bytes, PerfError> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        exchange_message(&mut calls, &request).map_err(|error| PerfError::tcp_error(self.peer, error))
    }

    fn open_stream(&self) -> Result<Box<dyn Stream + '_>, PerfError> {
        let frames = open_connection(self.peer, self.timeout)?;
        Ok(Box::new(Row { frames, peer: self.peer }))
    }

    fn own_counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

/// A connection of its own.
struct Row {
    frames: Frames,
    peer: SocketAddr,
}

impl Stream for Row {
    fn send_message(&mut self, message: Bytes) -> Result<(), PerfError> {
        self.frames.write_message(&message).map_err(|error| PerfError::tcp_error(self.peer, error))
    }

    /// The server answers in order: the answer to a last request comes after everything was taken.
    fn finish_stream(&mut self) -> Result<(), PerfError> {
        let last = exchange_message(&mut self.frames, &Order::Echo { reply: 1, run: 0 }.to_message(0));
        let last = last.map_err(|error| PerfError::tcp_error(self.peer, error))?;
        let understood = Answer::from_message(&last) == Some(Answer::Echo);
        if understood { Ok(()) } else { Err(PerfError::Language(self.peer.to_string())) }
    }
}
