//! Payload of flows: bytes that depend on the run's seed and the flow, so that a receiver knows every one. They are
//! made and compared piece by piece: a flow takes no memory, however long it is.

use headway_host::{Sink, Source};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of the stream that one draw gives.
const DRAW: u64 = 8;

/// The bytes of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    seed: u64,
    flow: u32,
}

impl Payload {
    /// The payload of flow number `flow` in a run with this seed.
    pub fn for_flow(seed: u64, flow: u32) -> Payload {
        Payload { seed, flow }
    }

    /// The stream, from the draw that holds the byte at `offset` on.
    fn stream_from(self, offset: u64) -> Pcg64Mcg {
        // The generator sets the lowest bit of its state: two flows must not differ in that bit alone.
        let mut stream = Pcg64Mcg::new((u128::from(self.seed) << 64) ^ (u128::from(self.flow) << 1) ^ 1);
        // The generator can skip draws in logarithmic time, so any part of a long flow costs the same.
        stream.advance((offset / DRAW).into());
        stream
    }

    /// True if bytes are those from `offset` on.
    pub fn is_at(self, offset: u64, bytes: &[u8]) -> bool {
        let mut expected = [0; 4096];
        let pieces = bytes.chunks(expected.len()).enumerate();
        pieces.fold(true, |good, (number, piece)| {
            let expected = &mut expected[..piece.len()];
            self.read(offset + (number * 4096) as u64, expected);
            good && expected == piece
        })
    }
}

impl Source for Payload {
    fn read(&self, offset: u64, to: &mut [u8]) {
        let mut stream = self.stream_from(offset);
        let skip = (offset % DRAW) as usize;
        let (front, rest) = to.split_at_mut(if skip == 0 { 0 } else { to.len().min(DRAW as usize - skip) });
        if !front.is_empty() {
            let draw = stream.next_u64().to_le_bytes();
            front.copy_from_slice(&draw[skip..skip + front.len()]);
        }
        stream.fill_bytes(rest);
    }
}

/// The whole of a short flow.
pub fn generate_payload(seed: u64, flow: u32, bytes: u64) -> Vec<u8> {
    let mut payload = vec![0; bytes as usize];
    Payload::for_flow(seed, flow).read(0, &mut payload);
    payload
}

/// True if bytes are those of a flow: every one of them, and no more.
pub fn is_intact(seed: u64, flow: u32, bytes: u64, received: &[u8]) -> bool {
    received.len() as u64 == bytes && Payload::for_flow(seed, flow).is_at(0, received)
}

/// Looks at the bytes of a flow as they arrive: each must be right, and come once. Remembers a bit for each piece that
/// arrived.
#[derive(Debug)]
pub struct Inspector {
    payload: Payload,
    /// Bytes of a piece; only the last may be shorter.
    piece: u64,
    seen: Vec<u64>,
    bytes: u64,
    wrong: bool,
}

impl Inspector {
    /// Nothing has arrived of this flow, whose packets carry `piece` bytes.
    pub fn new(payload: Payload, piece: u16) -> Inspector {
        Inspector { payload, piece: u64::from(piece).max(1), seen: Vec::new(), bytes: 0, wrong: false }
    }

    /// True if exactly these many bytes have arrived, each right and once.
    pub fn is_intact(&self, bytes: u64) -> bool {
        !self.wrong && self.bytes == bytes
    }

    /// Bytes that arrived.
    pub fn arrived_bytes(&self) -> u64 {
        self.bytes
    }

    /// True if nothing wrong, or twice, has arrived so far.
    pub fn is_right_so_far(&self) -> bool {
        !self.wrong
    }

    fn inspect_bytes(&mut self, offset: u64, bytes: &[u8]) {
        let number = offset / self.piece;
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let again = self.seen[word] & bit != 0;
        let crooked = !offset.is_multiple_of(self.piece) || bytes.len() as u64 > self.piece;
        self.seen[word] |= bit;
        // Counted even if they are wrong: the run is not intact either way, and the length is a fact of its
        // own.
        self.bytes += bytes.len() as u64;
        self.wrong |= again || crooked || !self.payload.is_at(offset, bytes);
    }
}

/// An [`Inspector`] that an endpoint's thread feeds and another reads.
#[derive(Clone, Debug)]
pub struct Inspection(Arc<Mutex<Inspector>>);

impl Inspection {
    /// Inspection by an inspector that has seen nothing.
    pub fn new(inspector: Inspector) -> Inspection {
        Inspection(Arc::new(Mutex::new(inspector)))
    }

    /// Asks the inspector a question, under its lock.
    pub fn with_inspector<T>(&self, question: impl FnOnce(&Inspector) -> T) -> T {
        question(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sink for Inspection {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).inspect_bytes(offset, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_byte_is_seen_and_flows_differ() {
        let mut bytes = generate_payload(7, 3, 10_001);
        assert!(is_intact(7, 3, 10_001, &bytes));
        assert!(!is_intact(7, 4, 10_001, &bytes));
        assert!(!is_intact(7, 3, 10_002, &bytes));
        bytes[9_999] ^= 1;
        assert!(!is_intact(7, 3, 10_001, &bytes));
    }

    #[test]
    fn any_piece_is_that_of_the_whole() {
        let whole = generate_payload(9, 1, 20_000);
        for (offset, length) in
            [(0, 1), (1, 1), (3, 2), (7, 9), (8, 8), (1388, 1388), (4164, 1500), (19_999, 1)]
        {
            let mut piece = vec![0; length];
            Payload::for_flow(9, 1).read(offset, &mut piece);
            assert_eq!(piece, whole[offset as usize..offset as usize + length], "{length} from {offset}");
        }
        // Beyond 32 bits in bytes and in draws.
        let far = 1_000_000_000_000;
        let mut piece = [0; 3000];
        Payload::for_flow(9, 1).read(far, &mut piece);
        assert!(
            Payload::for_flow(9, 1).is_at(far + 1388, &piece[1388..])
                && !Payload::for_flow(9, 1).is_at(far, &piece[1..])
        );
    }

    #[test]
    fn an_inspector_sees_what_is_wrong_missing_or_twice() {
        let whole = generate_payload(1, 2, 250);
        let after = |offers: &[(u64, &[u8])]| {
            let mut inspector = Inspector::new(Payload::for_flow(1, 2), 100);
            offers.iter().for_each(|(offset, bytes)| inspector.inspect_bytes(*offset, bytes));
            inspector.is_intact(250)
        };
        let (a, b, c) = (&whole[..100], &whole[100..200], &whole[200..]);
        assert!(after(&[(100, b), (200, c), (0, a)]), "in any order");
        assert!(!after(&[(0, a), (200, c)]), "one is missing");
        assert!(!after(&[(0, a), (0, a), (200, c)]), "one is missing, another came twice");
        assert!(!after(&[(0, a), (100, a), (200, c)]), "the wrong bytes");
        assert!(!after(&[(0, a), (101, b), (200, c)]), "at the wrong place");
    }
}
