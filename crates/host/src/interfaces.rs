//! Addresses of an endpoint that follow the interfaces of its host.
//!
//! The kernel tells a netlink socket when an address or an interface comes or goes. What it says is a reason to look, and nothing
//! more: the addresses are asked for again each time, so that a message that was lost or misread does no harm.
#![allow(clippy::disallowed_methods, reason = "asks the kernel, in a thread of its own")]

use crate::completion::Completion;
use crate::request::Request;
use crate::shared::Shared;
use nix::ifaddrs::getifaddrs;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Groups of messages: interfaces, IPv4 addresses, and IPv6 addresses. linux/rtnetlink.h: RTMGRP_*
const GROUPS: u32 = 0x1 | 0x10 | 0x100;
/// Notices within this time are one change.
const SETTLES: Duration = Duration::from_millis(20);

/// A thread that adds addresses of an endpoint when their interfaces have them, and removes them when they do not.
pub(crate) struct Follower {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Follows these addresses, which the endpoint has now as far as they are there.
    pub(crate) fn start_following(shared: Arc<Shared>, addresses: Vec<SocketAddr>) -> io::Result<Follower> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // Protocol 0 of netlink is NETLINK_ROUTE.
        let told = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&told, &SocketAddrNetlink::new(0, GROUPS))?;
        let stop = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let until = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("headway-addresses".into());
        let thread = thread.spawn(move || follow_addresses(&shared, &told, &until, &addresses))?;
        Ok(Follower { stop, thread: Some(thread) })
    }

    /// In a process that was forked, where there is no such thread.
    pub(crate) fn let_go(&mut self) {
        std::mem::forget(self.thread.take());
        // The number may be another file's by now; it must not be closed when the last reference goes.
        std::mem::forget(Arc::clone(&self.stop));
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
            let _ = thread.join();
        }
    }
}

fn follow_addresses(shared: &Shared, told: &OwnedFd, stop: &OwnedFd, addresses: &[SocketAddr]) {
    let mut bound: BTreeSet<SocketAddr> = addresses.iter().copied().collect();
    loop {
        let mut fds = [PollFd::new(told, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        let _ = poll(&mut fds, None);
        let [changed, ends] = fds.map(|fd| !fd.revents().is_empty());
        if ends {
            return;
        }
        if changed {
            // An interface that comes up has several notices: for itself, for its addresses, and for routes.
            std::thread::sleep(SETTLES);
            // Whatever was said, and however much of it was lost.
            while recv(told, &mut [0u8; 8192][..], RecvFlags::DONTWAIT).is_ok_and(|(bytes, _)| bytes > 0) {}
            let there = present_addresses();
            for &address in addresses {
                let (is, was) = (there.contains(&address.ip()), bound.contains(&address));
                if is == was {
                    continue;
                }
                let completion = Completion::new();
                let answer = completion.clone();
                shared.submit_request(
                    match is {
                        true => Request::AddAddress(address, answer),
                        false => Request::RemoveAddress(address, answer),
                    },
                    false,
                );
                // Waited for, so that the next change is compared with what the endpoint really has.
                let outcome = completion.wait_result(None);
                // The thread that drives sleeps at the old set of sockets.
                shared.sockets_changed();
                match outcome {
                    Some(Ok(_)) if is => _ = bound.insert(address),
                    Some(Ok(_)) => _ = bound.remove(&address),
                    // The last one stays; one that cannot be bound yet is tried with the next change.
                    Some(Err(_)) | None => {}
                }
            }
        }
    }
}

/// The addresses that interfaces have.
fn present_addresses() -> BTreeSet<IpAddr> {
    let all = getifaddrs().into_iter().flatten();
    all.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::from(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
    })
    .collect()
}
