//! `headway-perf serve`: answers measurements until it is stopped.

use crate::args::ServeArgs;
use crate::error::PerfError;
use crate::headway::{endpoint_limits, say_refused};
use crate::stop;
use crate::tcp::connection_frames;
use headway_host::{Admission, Config, Endpoint, Pace, RecvError, Refused};
use headway_perf::service::Service;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Interval between checks for a request to stop.
const LOOK: Duration = Duration::from_millis(100);
/// TCP connections at a time.
const MOST_CONNECTIONS: usize = 256;
/// Tries to find a port that is free both for UDP and TCP, when any will do.
const TRIES: usize = 20;

/// Serves until Ctrl-C.
pub(crate) fn run_server(args: &ServeArgs) -> Result<(), PerfError> {
    let admission = args.peers_admission()?;
    let (endpoint, listener) = bind_sockets(args, &admission)?;
    let service = Arc::new(Service::default());
    announce_server(args, &endpoint)?;
    if let Some(listener) = listener {
        let service = Arc::clone(&service);
        // Never joined: it ends with the process, as `accept` cannot be interrupted.
        std::thread::spawn(move || accept_connections(&listener, &admission, &service));
    }
    let mut refused = Refused::default();
    while !stop::stop_asked() {
        match endpoint.recv_timeout(LOOK) {
            Ok(message) => {
                if let Some(answer) = service.handle_order(&message.bytes)
                    && message.wants_reply()
                {
                    // A client that is gone, or a full memory, is the client's time-out.
                    let _ = message.reply(answer);
                }
            }
            Err(RecvError::TimedOut) => say_refused(&endpoint, &mut refused),
            Err(RecvError::Closed | RecvError::Forked(_)) => {
                return Err(PerfError::io_error("receiving")(io::ErrorKind::BrokenPipe.into()));
            }
        }
    }
    for (name, count) in endpoint.stats().iter().filter(|(_, count)| *count > 0) {
        eprintln!("{name} {count}");
    }
    Ok(())
}

fn bind_sockets(
    args: &ServeArgs,
    admission: &Admission,
) -> Result<(Endpoint, Option<TcpListener>), PerfError> {
    // The endpoint's port is chosen for UDP; for TCP it may be in use.
    let mut tries = if args.bind.port() == 0 { TRIES } else { 1 };
    loop {
        let pace = args.transport.user_pace().unwrap_or_else(|| Pace::at(args.bind.ip()));
        let config =
            Config { limits: endpoint_limits(), ..args.transport.endpoint_config(admission.clone(), &pace)? };
        let endpoint = Endpoint::bind(args.bind, config)?;
        if !args.tcp {
            return Ok((endpoint, None));
        }
        tries -= 1;
        match TcpListener::bind(endpoint.local_addr()) {
            Ok(listener) => return Ok((endpoint, Some(listener))),
            // The endpoint of this try is dropped, and the next one gets another port.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {}
            Err(source) => return Err(PerfError::Io { what: "listening for TCP", source }),
        }
    }
}

fn announce_server(args: &ServeArgs, endpoint: &Endpoint) -> Result<(), PerfError> {
    let also = if args.tcp { " and tcp" } else { "" };
    let mut out = io::stdout().lock();
    let pace = args.transport.user_pace().unwrap_or_else(|| Pace::at(args.bind.ip()));
    writeln!(out, "serving {}{also}, {pace}, on {}", args.transport.transport_name(), endpoint.local_addr())
        .and_then(|()| out.flush())
        .map_err(PerfError::io_error("writing"))
}

/// Gives every connection a thread.
fn accept_connections(listener: &TcpListener, admission: &Admission, service: &Arc<Service>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors, for example: that passes.
            std::thread::sleep(LOOK);
            continue;
        };
        // Dropped without an answer, which closes the connection.
        if !may_connect(&stream, admission) || open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            continue;
        }
        let (service, open) = (Arc::clone(service), Arc::clone(&open));
        // Before the thread starts, so that a burst of connections cannot pass the limit.
        open.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || {
            // A connection that breaks is the client's to report.
            let _ = serve_connection(stream, &service);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn may_connect(stream: &TcpStream, admission: &Admission) -> bool {
    // An IPv4 client of an IPv6 socket has a mapped address.
    stream.peer_addr().is_ok_and(|peer| admission.admits(peer.ip().to_canonical()))
}

fn serve_connection(stream: TcpStream, service: &Service) -> io::Result<()> {
    let mut frames = connection_frames(stream)?;
    while let Some(message) = frames.read_message()? {
        if let Some(answer) = service.handle_order(message) {
            frames.write_message(&answer)?;
        }
    }
    Ok(())
}
