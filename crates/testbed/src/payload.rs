//! What flows carry: bytes that depend on the run's seed and the flow, so that a receiver knows every one.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// The bytes of a flow.
pub fn generate(seed: u64, flow: u32, bytes: u64) -> Vec<u8> {
    let mut stream = stream(seed, flow);
    let mut payload = vec![0; bytes as usize];
    stream.fill_bytes(&mut payload);
    payload
}

/// Whether bytes are those of a flow: every one of them, and no more.
pub fn is_intact(seed: u64, flow: u32, bytes: u64, received: &[u8]) -> bool {
    if received.len() as u64 != bytes {
        return false;
    }
    let mut stream = stream(seed, flow);
    let mut expected = [0; 4096];
    received.chunks(expected.len()).all(|chunk| {
        stream.fill_bytes(&mut expected[..chunk.len()]);
        expected[..chunk.len()] == *chunk
    })
}

fn stream(seed: u64, flow: u32) -> Pcg64Mcg {
    Pcg64Mcg::new((u128::from(seed) << 64) ^ (u128::from(flow) << 1) ^ 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_byte_is_seen_and_flows_differ() {
        let mut bytes = generate(7, 3, 10_001);
        assert!(is_intact(7, 3, 10_001, &bytes));
        assert!(!is_intact(7, 4, 10_001, &bytes));
        assert!(!is_intact(7, 3, 10_002, &bytes));
        bytes[9_999] ^= 1;
        assert!(!is_intact(7, 3, 10_001, &bytes));
    }
}
