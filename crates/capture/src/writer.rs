//! Frames into a pcapng file, as they come. draft-ietf-opsawg-pcapng

use crate::block::{Block, ENHANCED_PACKET, INTERFACE_DESCRIPTION, SECTION_HEADER};
use crate::frame::Frame;
use crate::order::InOrder;
use headway_units::{Rate, Time};
use std::io::{self, Write};

/// The `if_tsresol` of nanoseconds.
const NANOSECONDS: u8 = 9;
/// Number from which a reader recognises the order of bytes.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The length of a section that is still being written.
const UNKNOWN_LENGTH: u64 = u64::MAX;
/// Link type of Ethernet, `LINKTYPE_ETHERNET`.
const ETHERNET: u16 = 1;
/// Options of a section and of an interface.
const USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;

const PS_PER_NS: u64 = 1000;

/// A link on which frames are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the link, such as `s0->s1`.
    pub name: String,
    /// Speed of the link.
    pub rate: Rate,
}

/// Why a capture cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file or pipe behind it refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A frame on an interface that was not declared.
    #[error("no interface has number {0}")]
    NoInterface(u32),
}

/// Writes a pcapng file: a section, its interfaces, then packets in order of time.
///
/// Every packet is handed to `W` as a whole block in one call, so that the content of a buffered file at any moment
/// can be read. Call [`CaptureWriter::finish_file`] at the end: it writes the packets that wait for their turn.
pub struct CaptureWriter<W: Write> {
    to: W,
    block: Block,
    interfaces: u32,
    order: InOrder<(u32, Frame)>,
}

impl<W: Write> CaptureWriter<W> {
    /// Begins a file with `interfaces`, numbered from 0. `application` says what writes it. Packets may be
    /// handed in up to `window` later than others that happened after them; 0 if they come in order.
    pub fn new(
        to: W,
        application: &str,
        interfaces: &[Interface],
        window: Time,
    ) -> Result<CaptureWriter<W>, CaptureError> {
        let (count, order) = (interfaces.len() as u32, InOrder::new(window));
        let mut writer = CaptureWriter { to, block: Block::default(), interfaces: count, order };
        writer.write_section(application)?;
        for interface in interfaces {
            writer.write_interface(interface)?;
        }
        // A reader that follows the file sees the interfaces before the first packet.
        writer.to.flush()?;
        Ok(writer)
    }

    /// Takes a frame that started at `at`; in the file, times are cut to nanoseconds.
    pub fn write_frame(&mut self, interface: u32, at: Time, frame: Frame) -> Result<(), CaptureError> {
        if interface >= self.interfaces {
            return Err(CaptureError::NoInterface(interface));
        }
        self.order.push(at, (interface, frame));
        while let Some((at, (interface, frame))) = self.order.pop_ready() {
            self.put_frame(interface, at, &frame)?;
        }
        Ok(())
    }

    /// Writes the rest, and flushes.
    pub fn finish_file(mut self) -> Result<W, CaptureError> {
        while let Some((at, (interface, frame))) = self.order.pop_rest() {
            self.put_frame(interface, at, &frame)?;
        }
        self.to.flush()?;
        Ok(self.to)
    }

    fn write_section(&mut self, application: &str) -> io::Result<()> {
        self.block.begin_block(SECTION_HEADER);
        self.block.put_u32(BYTE_ORDER);
        // Version 1.0.
        self.block.put_u16(1);
        self.block.put_u16(0);
        // The file may be a pipe, into which nothing can be written back.
        self.block.put_u64(UNKNOWN_LENGTH);
        self.block.put_option(USER_APPLICATION, application.as_bytes());
        self.block.end_of_options();
        self.to.write_all(self.block.finish_block())
    }

    fn write_interface(&mut self, interface: &Interface) -> io::Result<()> {
        self.block.begin_block(INTERFACE_DESCRIPTION);
        self.block.put_u16(ETHERNET);
        // Reserved.
        self.block.put_u16(0);
        // No limit: the headers are all there is, and how long they are is in every packet.
        self.block.put_u32(0);
        self.block.put_option(IF_NAME, interface.name.as_bytes());
        self.block.put_option(IF_SPEED, &interface.rate.bps().to_le_bytes());
        self.block.put_option(IF_TSRESOL, &[NANOSECONDS]);
        self.block.end_of_options();
        self.to.write_all(self.block.finish_block())
    }

    fn put_frame(&mut self, interface: u32, at: Time, frame: &Frame) -> io::Result<()> {
        let nanoseconds = at.0 / PS_PER_NS;
        self.block.begin_block(ENHANCED_PACKET);
        self.block.put_u32(interface);
        // The upper half first, whatever the order of bytes within each.
        self.block.put_u32((nanoseconds >> 32) as u32);
        self.block.put_u32(nanoseconds as u32);
        self.block.put_u32(frame.data.len() as u32);
        self.block.put_u32(frame.original_len);
        self.block.put_padded(&frame.data);
        self.to.write_all(self.block.finish_block())
    }
}
