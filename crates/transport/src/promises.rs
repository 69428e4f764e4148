//! What a transport's test suite holds it to. No driver asks for any of it: drivers go by [`crate::Transport`].

use crate::endpoint::{Path, Transport};
use headway_units::Time;

/// What a transport promises of one message alone on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Longest delay of a message's completion for the loss of any one packet.
    pub repair: Time,
    /// What finding the rate of an empty path costs, beyond twice the ideal and two largest round trips.
    pub ramp: Time,
}

/// Permissions that are counted in bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteBooks {
    /// They are not.
    #[default]
    None,
    /// Acknowledgements say in `remaining` how many packets have arrived, and no more than the first window is under way: it is
    /// the widest.
    Window,
    /// Pulls say in `message_bytes` how many bytes are permitted in all beyond the first window. The packet that takes the last
    /// of them may take more than there are.
    Pulls,
}

/// What bounds the packets that leave for the first time, of a sender that hears acknowledgements instead of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// Its first window, which acknowledgements move on.
    #[default]
    FirstWindow,
    /// The same, but a message that begins as one of several may come to have the window of one alone:
    /// [`Promised::WIDEST_WINDOW`].
    WidestWindow,
    /// Its first window until it hears anything, and its rate from then on.
    Rate,
}

/// What may be expected of a transport, where it is not what most do.
pub trait Promised: Transport {
    /// Whether grants name the packets that they permit; otherwise the sender chooses.
    const GRANTS_NAME: bool = true;
    /// Whether messages have packets that leave without any permission.
    const FIRST_WINDOW: bool = true;
    /// Data packets at most that the loss of any one packet costs.
    const COPIES: u64 = 1;
    /// Whether messages have subflows: data packets say theirs in `remaining`, and their number in it in `token`;
    /// acknowledgements are in two sequence spaces ([`headway_packet::Packet::put_subflow`]).
    const SUBFLOWS: bool = false;
    /// How its permissions are counted, if in bytes.
    const BYTES: ByteBooks = ByteBooks::None;
    /// What bounds packets that nothing permits, where windows do not grow as in slow start.
    const BOUND: Bound = Bound::FirstWindow;
    /// The widest first window over a path: thousandths of a bandwidth-delay product, and packets at least.
    const WIDEST_WINDOW: (u32, u32) = (1000, 0);

    /// What it promises of a message of `packets` packets.
    fn promises(params: &Self::Params, path: &Path, packets: u64) -> Promises {
        let _ = (params, packets);
        Promises { repair: path.max_rtt * 4, ramp: Time::ZERO }
    }
}
