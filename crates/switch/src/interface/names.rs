//! Interfaces of this network namespace, by name.

#![allow(unsafe_code, reason = "the standard library knows no interfaces")]
#![allow(clippy::disallowed_methods, reason = "an interface's driver is asked through a socket, whichever")]

use super::InterfaceError;
use std::ffi::CString;

/// The number of an interface.
pub(super) fn index_of(name: &str) -> Result<i32, InterfaceError> {
    let not_there = || InterfaceError::NotThere { name: name.into(), known: interfaces() };
    let text = CString::new(name).map_err(|_| not_there())?;
    // SAFETY: a C string that outlives the call.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(not_there()),
        index => Ok(index as i32),
    }
}

/// Names of this namespace's interfaces, for messages.
fn interfaces() -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the list is ended by an entry of index 0 with a null name, each name before it is a C string,
    // and the list is freed once, after the last use of the names.
    unsafe {
        let list = libc::if_nameindex();
        let mut entry = list;
        while !entry.is_null() && (*entry).if_index != 0 {
            names.push(std::ffi::CStr::from_ptr((*entry).if_name).to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        if !list.is_null() {
            libc::if_freenameindex(list);
        }
    }
    names
}

/// Number of receive queues of an interface; `None` where its driver lacks the command for queues, and so has one queue.
#[cfg(feature = "af-xdp")]
pub(super) fn receive_queues(name: &str) -> std::io::Result<Option<u32>> {
    // `struct ethtool_channels`: four limits, then receive, transmit, other and combined queues.
    const GET_CHANNELS: u32 = 0x3c;
    let answer = ask_driver::<9>(name, GET_CHANNELS)?;
    Ok(answer.map(|[_, _, _, _, _, receive, _, _, combined]| receive + combined))
}

/// True if an interface is one end of a veth pair.
#[cfg(feature = "af-xdp")]
pub(super) fn is_veth(name: &str) -> std::io::Result<bool> {
    // `struct ethtool_drvinfo`: its first text is the driver's name.
    const GET_DRIVER: u32 = 0x3;
    let answer = ask_driver::<49>(name, GET_DRIVER)?;
    Ok(answer.is_some_and(|words| words[1].to_ne_bytes() == *b"veth" && words[2].to_ne_bytes()[0] == 0))
}

/// Answer of an interface's driver to a command of `ethtool` whose structure has `WORDS` words; `None` where it
/// does not know the command.
#[cfg(feature = "af-xdp")]
fn ask_driver<const WORDS: usize>(name: &str, command: u32) -> std::io::Result<Option<[u32; WORDS]>> {
    use std::io;
    use std::os::fd::AsRawFd;

    let any = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    let mut structure = [0; WORDS];
    structure[0] = command;
    // SAFETY: all-zero is a valid value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_data = (&raw mut structure).cast();
    // The last byte stays zero.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the request holds a name that ends in zero and a pointer to the structure of its command, which is as
    // long as the kernel has it; both outlive the call.
    let result = unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if result == 0 {
        return Ok(Some(structure));
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        error => Err(error),
    }
}
