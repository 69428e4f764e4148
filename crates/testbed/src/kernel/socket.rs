//! Sockets of the kernel's TCP with a congestion control of their own.

#![allow(clippy::disallowed_methods, reason = "real sockets, and settings that are files")]

use headway_lab::traffic::Kernel;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};

/// Connections that may wait to be taken.
const BACKLOG: i32 = 4096;

/// Sets a value of this process' network namespace.
pub(super) fn set_system(name: &str, value: &str) -> Result<(), String> {
    let path = format!("/proc/sys/{name}");
    std::fs::write(&path, value).map_err(|e| format!("writing {value} to {path}: {e}"))
}

/// Lets this process have as many files open as it may: each connection is one.
pub(super) fn raise_files() -> Result<(), String> {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    raised.map_err(|e| format!("raising the limit of open files: {e}"))
}

/// True if a socket can have this control; asking loads its module, where the kernel has one.
pub(super) fn has_control(name: &str) -> bool {
    let set = |socket: Socket| socket.set_tcp_congestion(name.as_bytes());
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).and_then(set).is_ok()
}

/// A non-blocking socket that has its control before the handshake, so that both ends agree on ECN.
fn new(at: SocketAddrV4, kernel: Kernel) -> io::Result<Socket> {
    let protocol = if kernel.mptcp { Protocol::MPTCP } else { Protocol::TCP };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol))?;
    // Before the bind and the handshake: DCTCP's requests for ECN are in the first packet.
    socket.set_tcp_congestion(kernel.congestion.as_bytes())?;
    // Flows to different receivers may have one source port.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::from(SocketAddr::V4(at)))?;
    Ok(socket)
}

/// Listens for connections whose control is `kernel`'s.
pub(super) fn listen_at(at: SocketAddrV4, kernel: Kernel) -> Result<TcpListener, String> {
    let socket = new(at, kernel).and_then(|socket| socket.listen(BACKLOG).map(|()| socket));
    socket
        .map(Into::into)
        .map_err(|e| format!("a socket with the control `{}` at {at}: {e}", kernel.congestion))
}

/// Begins to connect.
pub(super) fn begin_connect(from: SocketAddrV4, to: SocketAddrV4, kernel: Kernel) -> io::Result<TcpStream> {
    let socket = new(from, kernel)?;
    match socket.connect(&SockAddr::from(SocketAddr::V4(to))) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}
