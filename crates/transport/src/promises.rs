//! Properties that the test suite asserts of each transport. Drivers use none of them: they go by [`crate::Transport`].

use crate::endpoint::{Path, Transport};
use headway_units::Time;

/// Promises of a transport about a message that is alone on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Longest delay of a message's completion for the loss of any one packet.
    pub repair: Time,
    /// Time that finding the rate of an empty path costs, beyond twice the ideal and two largest round trips.
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

/// Bound on packets that leave for the first time, of a sender that hears acknowledgements instead of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// Its first window, which acknowledgements move on.
    #[default]
    FirstWindow,
    /// Its first window, but a message that begins as one of several may come to have the window of one alone:
    /// [`Promised::WIDEST_WINDOW`].
    WidestWindow,
    /// Its first window until it hears anything, and its rate from then on.
    Rate,
}

/// Expectations of a transport that differ from those of most.
pub trait Promised: Transport {
    /// True if grants name the packets that they permit; otherwise the sender chooses.
    const GRANTS_NAME: bool = true;
    /// True if messages have packets that leave without any permission.
    const FIRST_WINDOW: bool = true;
    /// Data packets at most that the loss of any one packet costs.
    const COPIES: u64 = 1;
    /// True if messages have subflows: data packets name theirs in `remaining`, and their number in it in `token`;
    /// acknowledgements are in two sequence spaces ([`headway_packet::Packet::put_subflow`]).
    const SUBFLOWS: bool = false;
    /// Unit of its permissions, if they are counted in bytes.
    const BYTES: ByteBooks = ByteBooks::None;
    /// Bound on packets that nothing permits, where windows do not grow as in slow start.
    const BOUND: Bound = Bound::FirstWindow;
    /// The widest first window over a path: thousandths of a bandwidth-delay product, and packets at least.
    const WIDEST_WINDOW: (u32, u32) = (1000, 0);

    /// Promises for a message of `packets` packets.
    fn make_promises(params: &Self::Params, path: &Path, packets: u64) -> Promises {
        // Named nevertheless: transports that override this go by them.
        let _ = (params, packets);
        // Most senders repeat after three largest round trips of silence, and the repetition takes one more.
        Promises { repair: path.max_rtt * 4, ramp: Time::ZERO }
    }
}
