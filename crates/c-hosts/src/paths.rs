//! The functions for several addresses of one endpoint. As in [`crate::border`], no panic crosses the border.

#![allow(unsafe_code, reason = "pointers from C are all that this file is about")]

use crate::border::{bad_argument, catch_panic, hw_address, hw_endpoint, place_behind, value_behind};
use crate::status::hw_status;
use headway_host::{PathInfo, PathState};

/// Of an `hw_path`: its other end has not answered yet.
pub const HW_PATH_PROVING: u32 = 0;
/// Of an `hw_path`: its other end answers; that it carries the longest packets has not been seen yet.
pub const HW_PATH_SIZING: u32 = 1;
/// Of an `hw_path`: it carries packets.
pub const HW_PATH_OPEN: u32 = 2;
/// Of an `hw_path`: it does not carry packets of full length, and takes none.
pub const HW_PATH_NARROW: u32 = 3;
/// Of an `hw_path`: no answer has come for as long as the setting `path_timeout` says.
pub const HW_PATH_DEAD: u32 = 4;

/// What is known of a path to a peer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct hw_path {
    /// The peer, by the address at which it was met.
    pub peer: hw_address,
    /// The two ends of the path.
    pub local: hw_address,
    /// The end at the peer.
    pub remote: hw_address,
    /// `HW_PATH_OPEN` and its like.
    pub state: u32,
    /// Bytes of the longest IP packet that is known to arrive, 0 before the first answer.
    pub mtu: u32,
    /// Smoothed round trip in nanoseconds, 0 before the first answer.
    pub round_trip_ns: u64,
    /// Bytes of packets that left there, and that came from there.
    pub bytes_sent: u64,
    /// Bytes of packets that came from there.
    pub bytes_received: u64,
    /// Times it was given up.
    pub deaths: u64,
}

impl hw_path {
    fn from_info(path: &PathInfo) -> hw_path {
        let state = match path.state {
            PathState::Proving => HW_PATH_PROVING,
            PathState::Sizing => HW_PATH_SIZING,
            PathState::Open => HW_PATH_OPEN,
            PathState::Narrow => HW_PATH_NARROW,
            PathState::Dead => HW_PATH_DEAD,
        };
        let [peer, local, remote] = [path.peer, path.local, path.remote].map(hw_address::from_socket);
        hw_path {
            peer,
            local,
            remote,
            state,
            mtu: path.mtu.into(),
            round_trip_ns: path.round_trip.map_or(0, |time| time.0 / 1000),
            bytes_sent: path.counts.bytes_sent,
            bytes_received: path.counts.bytes_received,
            deaths: path.counts.deaths,
        }
    }
}

/// Gives an endpoint another address of this host, for more paths to all peers; port 0 = the endpoint's, where it is free. Writes
/// where it is bound. What the setting `addresses` says is the same from the start.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `address` is null, or to an address; `bound` is null, or where one may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_add_address(
    endpoint: *const hw_endpoint,
    address: *const hw_address,
    bound: *mut hw_address,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, address, bound) = unsafe {
            (
                value_behind(endpoint, "the endpoint")?,
                value_behind(address, "the address")?,
                place_behind(bound, "the address")?,
            )
        };
        bound.put_value(hw_address::from_socket(endpoint.own_endpoint()?.add_address(address.to_socket()?)?));
        Ok(())
    })
}

/// An address is gone for good: paths from there end, and peers are told.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `address` is null, or to an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_remove_address(
    endpoint: *const hw_endpoint,
    address: *const hw_address,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, address) =
            unsafe { (value_behind(endpoint, "the endpoint")?, value_behind(address, "the address")?) };
        endpoint.own_endpoint()?.remove_address(address.to_socket()?)?;
        Ok(())
    })
}

/// What is known of the paths to all peers, where one end has several addresses. Writes as many as there is room for, and into
/// `count` how many there are.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `room` paths may be written at `paths`, which may be null with a `room` of 0; `count` is
/// null, or where a number may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_paths(
    endpoint: *const hw_endpoint,
    paths: *mut hw_path,
    room: usize,
    count: *mut usize,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, count) =
            unsafe { (value_behind(endpoint, "the endpoint")?, place_behind(count, "the number")?) };
        if room > 0 && paths.is_null() {
            return Err(bad_argument("the place for the paths is a null pointer"));
        }
        let known = endpoint.own_endpoint()?.paths();
        // The number of all, so that a program with too little room can tell.
        count.put_value(known.len());
        for (number, path) in known.iter().take(room).enumerate() {
            // SAFETY: there is room for so many paths.
            unsafe { paths.add(number).write(hw_path::from_info(path)) };
        }
        Ok(())
    })
}
