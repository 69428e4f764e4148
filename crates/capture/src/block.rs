//! The frame of every pcapng block: a type, its length before and behind, and options. Little-endian.

pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE_DESCRIPTION: u32 = 1;
pub(crate) const ENHANCED_PACKET: u32 = 6;

/// Position of a block's length.
const LENGTH: std::ops::Range<usize> = 4..8;

/// The block being made; its memory is used again for the next one.
#[derive(Default)]
pub(crate) struct Block(Vec<u8>);

impl Block {
    pub(crate) fn begin_block(&mut self, kind: u32) {
        self.0.clear();
        self.put_u32(kind);
        // The length, which `finish_block` knows.
        self.put_u32(0);
    }

    pub(crate) fn put_u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn put_u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn put_u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    /// Bytes, and zeros to the next multiple of four.
    pub(crate) fn put_padded(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        // Options and packet data are padded to 32 bits, while their stated lengths are not
        // (draft-ietf-opsawg-pcapng).
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// An option; what does not fit into one, which holds 64 KiB, is cut off.
    pub(crate) fn put_option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.put_u16(code);
        self.put_u16(length);
        self.put_padded(&value[..usize::from(length)]);
    }

    pub(crate) fn end_of_options(&mut self) {
        self.put_u32(0);
    }

    /// The whole block.
    pub(crate) fn finish_block(&mut self) -> &[u8] {
        // Its own last field included.
        let length = self.0.len() as u32 + 4;
        self.put_u32(length);
        self.0[LENGTH].copy_from_slice(&length.to_le_bytes());
        &self.0
    }
}
