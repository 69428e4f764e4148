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
pub(crate) fn frames(stream: TcpStream) -> io::Result<Frames> {
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
    pub(crate) fn connect(peer: SocketAddr, timeout: Duration) -> Result<Tcp, PerfError> {
        let calls = Mutex::new(connection(peer, timeout)?);
        Ok(Tcp { calls, peer, timeout })
    }
}

fn connection(peer: SocketAddr, timeout: Duration) -> Result<Frames, PerfError> {
    let connect = || {
        let stream = TcpStream::connect_timeout(&peer, timeout)?;
        // A peer that is silent must not block the measurement for ever.
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        frames(stream)
    };
    connect().map_err(|error| PerfError::tcp(peer, error))
}

/// A message, and the one that answers it.
fn exchange(frames: &mut Frames, message: &[u8]) -> io::Result<Bytes> {
    frames.write(message)?;
    frames.read()?.map(Bytes::copy_from_slice).ok_or(io::ErrorKind::UnexpectedEof.into())
}

impl Carrier for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    /// Empty where the kernel does not tell.
    fn transport(&self) -> String {
        let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        name.map(|name| name.trim().into()).unwrap_or_default()
    }

    fn pace(&self) -> Option<&Pace> {
        None
    }

    fn base_rtt_us(&self) -> Option<f64> {
        None
    }

    fn peer(&self) -> String {
        self.peer.to_string()
    }

    fn call(&self, request: Bytes) -> Result<Bytes, PerfError> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        exchange(&mut calls, &request).map_err(|error| PerfError::tcp(self.peer, error))
    }

    fn stream(&self) -> Result<Box<dyn Stream + '_>, PerfError> {
        let frames = connection(self.peer, self.timeout)?;
        Ok(Box::new(Row { frames, peer: self.peer }))
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

/// A connection of its own.
struct Row {
    frames: Frames,
    peer: SocketAddr,
}

impl Stream for Row {
    fn send(&mut self, message: Bytes) -> Result<(), PerfError> {
        self.frames.write(&message).map_err(|error| PerfError::tcp(self.peer, error))
    }

    /// The server answers in order: the answer to a last request comes after everything was taken.
    fn finish(&mut self) -> Result<(), PerfError> {
        let last = exchange(&mut self.frames, &Order::Echo { reply: 1, run: 0 }.message(0));
        let last = last.map_err(|error| PerfError::tcp(self.peer, error))?;
        let understood = Answer::parse(&last) == Some(Answer::Echo);
        if understood { Ok(()) } else { Err(PerfError::Language(self.peer.to_string())) }
    }
}
