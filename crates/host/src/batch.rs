//! Datagrams on their way between the core and the kernel, several at a time.

use std::net::SocketAddr;

/// Datagrams moved by one system call at most: two of the longest rows of full Ethernet packets.
pub(crate) const BATCH: usize = 88;
/// Rows received by one system call at most. The room for more would not stay in a processor's cache.
const ROWS: usize = 8;

/// Bytes that the kernel cuts up, or puts together, at most: an IP packet, with some room for headers.
const LARGEST_ROW: usize = 65_000;
/// Datagrams that it cuts them into at most, in all kernels that can.
const LONGEST_ROW: usize = 64;

/// Datagrams that are joined at most where they are not alike.
const JOINED: usize = 4;

/// Facts about a datagram apart from its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    /// Address that it came from, or goes to.
    pub(crate) address: SocketAddr,
    /// Type-of-service byte of the IP header.
    pub(crate) tos: u8,
    /// Length in bytes.
    pub(crate) length: usize,
    /// True if bytes beyond the buffer were cut off.
    pub(crate) truncated: bool,
    /// For a datagram to be sent: true if its type-of-service byte only contains its class.
    pub(crate) answer: bool,
}

/// Room for a batch of datagrams, and the properties of each.
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    /// Bytes of a place; a datagram to be sent has one to itself.
    pub(crate) place: usize,
    /// Bytes of the longest datagram.
    longest: usize,
    /// Start of each datagram, in order.
    pub(crate) datagrams: Vec<(usize, Envelope)>,
    /// Number of them that have been sent.
    pub(crate) gone: usize,
    /// True if the last call filled every place.
    pub(crate) full: bool,
}

impl Batch {
    /// Room for [`BATCH`] datagrams of at most `longest` bytes.
    pub(crate) fn new(longest: usize) -> Batch {
        Batch::with_places(BATCH, longest, longest)
    }

    /// An empty batch to receive into, where the kernel may put datagrams together.
    pub(crate) fn for_rows(longest: usize) -> Batch {
        Batch::with_places(ROWS, 1 << 16, longest)
    }

    fn with_places(places: usize, place: usize, longest: usize) -> Batch {
        // Zeroed pages are not touched until they are used, so short datagrams take less than this.
        let (bytes, datagrams) = (vec![0; places * place], Vec::with_capacity(BATCH));
        Batch { bytes, place, longest, datagrams, gone: 0, full: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// True if there is no room for another datagram; for received ones, true if there may be more.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Takes every datagram that is there.
    pub(crate) fn take_datagrams(&mut self, mut each: impl FnMut(Envelope, &mut [u8])) {
        for (start, envelope) in self.datagrams.drain(..) {
            each(envelope, &mut self.bytes[start..start + envelope.length]);
        }
    }

    /// Room for one more datagram; [`Batch::push`] keeps it.
    pub(crate) fn next_room(&mut self) -> &mut [u8] {
        let start = self.datagrams.len() * self.place;
        &mut self.bytes[start..start + self.place]
    }

    /// Keeps the datagram that was written to [`Batch::next_room`].
    pub(crate) fn push(&mut self, envelope: Envelope) {
        debug_assert!(!self.is_full() && envelope.length <= self.place);
        self.datagrams.push((self.datagrams.len() * self.place, envelope));
        self.full = self.datagrams.len() == BATCH;
    }

    /// Notes what arrived at `place`: one datagram, or a row of them with `segment` bytes each.
    pub(crate) fn note_arrival(&mut self, place: usize, bytes: usize, segment: usize, known: Envelope) {
        let (start, mut at) = (place * self.place, 0);
        loop {
            let whole = segment.min(bytes - at);
            let length = whole.min(self.longest);
            let truncated = known.truncated || whole > self.longest;
            self.datagrams.push((start + at, Envelope { length, truncated, ..known }));
            at += whole;
            if at >= bytes {
                return;
            }
        }
    }

    /// Lets a few short datagrams to one peer travel as a row, and so wake it once: the longest first, and the others with
    /// its type-of-service byte, which are answers.
    pub(crate) fn join_rows(&mut self) {
        let waiting = &mut self.datagrams[self.gone..];
        let Some((_, first)) = waiting.first() else { return };
        let address = first.address;
        let whole: usize = waiting.iter().map(|(_, envelope)| envelope.length).sum();
        let fits = (2..=JOINED).contains(&waiting.len()) && whole <= self.longest;
        let same = waiting.iter().all(|(_, envelope)| envelope.address == address);
        // Beyond a few short ones the receiver is busy anyway, and a row saves it no wake-up.
        if !(fits && same) {
            return;
        }
        // Among datagrams of the same length, one with data comes first.
        waiting.sort_by_key(|(_, envelope)| (std::cmp::Reverse(envelope.length), envelope.answer));
        // The kernel writes one type-of-service byte for a whole row. Answers may take over that of the data: a
        // mark on them means nothing.
        if waiting[1..].iter().all(|(_, envelope)| envelope.answer) {
            let tos = waiting[0].1.tos;
            waiting.iter_mut().for_each(|(_, envelope)| envelope.tos = tos);
        }
    }

    /// Datagrams that have not left.
    pub(crate) fn waiting_datagrams(&self) -> &[(usize, Envelope)] {
        &self.datagrams[self.gone..]
    }

    /// Removes the first `count` datagrams.
    pub(crate) fn drop_front(&mut self, count: usize) {
        self.gone += count;
        if self.gone >= self.datagrams.len() {
            self.datagrams.clear();
            (self.gone, self.full) = (0, false);
        }
    }
}

/// Number of datagrams at the front that are equal in all but their bytes; only the last may be shorter.
pub(crate) fn row_length(waiting: &[(usize, Envelope)]) -> usize {
    let Some((_, first)) = waiting.first() else { return 0 };
    // `max(1)`: a datagram of no bytes would divide by 0.
    let most = (LARGEST_ROW / first.length.max(1)).clamp(1, LONGEST_ROW);
    // Segment offload has one length for a row, and the last may be shorter but not empty.
    let alike = |e: &Envelope| e.address == first.address && e.tos == first.tos && e.length > 0;
    let rest = waiting[1..].iter().take(most - 1).take_while(|(_, e)| alike(e));
    let same = 1 + rest.clone().take_while(|(_, e)| e.length == first.length).count();
    let shorter = rest.clone().nth(same - 1).is_some_and(|(_, e)| e.length < first.length);
    same + usize::from(shorter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_equal_in_all_but_their_bytes() {
        let address = SocketAddr::from(([127, 0, 0, 1], 7));
        let envelope = |tos, length| (0, Envelope { address, tos, length, truncated: false, answer: false });
        let rows = |given: &[(u8, usize)]| {
            row_length(&given.iter().map(|&(tos, length)| envelope(tos, length)).collect::<Vec<_>>())
        };
        assert_eq!(rows(&[(1, 50)]), 1);
        assert_eq!(rows(&[(1, 50), (1, 50), (1, 50)]), 3);
        assert_eq!(rows(&[(1, 50), (1, 50), (1, 40), (1, 40)]), 3);
        assert_eq!(rows(&[(1, 50), (1, 60)]), 1);
        assert_eq!(rows(&[(1, 50), (2, 50)]), 1);
        assert_eq!(rows(&[(1, 0), (1, 0)]), 1);
        // Seven are 63,000 bytes, eight would be more than an IP packet.
        assert_eq!(rows(&[(1, 9000); 10]), 7);
        assert_eq!(rows(&[(1, 10); 100]), 64);
    }
}
