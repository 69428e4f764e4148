//! Frames into a pcapng file, as they come. draft-ietf-opsawg-pcapng

use crate::frame::Frame;
use crate::order::InOrder;
use headway_units::{Rate, Time};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// The `if_tsresol` of nanoseconds: the library writes times in nanoseconds, whatever an interface declares.
const NANOSECONDS: u8 = 9;

const PS_PER_NS: u64 = 1000;

/// Where frames are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the link, such as `s0->s1`.
    pub name: String,
    /// Its speed.
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
    /// The pcapng library refused a block.
    #[error("{0}")]
    Format(String),
}

impl From<PcapError> for CaptureError {
    fn from(error: PcapError) -> CaptureError {
        match error {
            PcapError::IoError(error) => CaptureError::Io(error),
            PcapError::InvalidInterfaceId(number) => CaptureError::NoInterface(number),
            other => CaptureError::Format(other.to_string()),
        }
    }
}

/// A pcapng file in the making: a section, its interfaces, then packets in order of time.
///
/// Every packet is handed to `W` as a whole block in one call, so that what a buffered file holds at any moment
/// can be read. Call [`CaptureWriter::finish`] at the end: it writes what waits for its turn.
pub struct CaptureWriter<W: Write> {
    to: W,
    /// Makes blocks; its buffer holds the one being made.
    blocks: PcapNgWriter<Vec<u8>>,
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
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Owned(application.into()))],
            ..SectionHeaderBlock::default()
        };
        let mut blocks = PcapNgWriter::with_section_header(Vec::new(), section)?;
        for interface in interfaces {
            blocks.write_pcapng_block(description(interface))?;
        }
        let (interfaces, order) = (interfaces.len() as u32, InOrder::new(window));
        let mut writer = CaptureWriter { to, blocks, interfaces, order };
        writer.pass_on()?;
        // A reader that follows the file sees the interfaces before the first packet.
        writer.to.flush()?;
        Ok(writer)
    }

    /// Takes a frame that started at `at`; in the file, times are cut to nanoseconds.
    pub fn write(&mut self, interface: u32, at: Time, frame: Frame) -> Result<(), CaptureError> {
        if interface >= self.interfaces {
            return Err(CaptureError::NoInterface(interface));
        }
        self.order.push(at, (interface, frame));
        while let Some((at, (interface, frame))) = self.order.ready() {
            self.put(interface, at, &frame)?;
        }
        Ok(())
    }

    /// Writes what is left, and flushes.
    pub fn finish(mut self) -> Result<W, CaptureError> {
        while let Some((at, (interface, frame))) = self.order.rest() {
            self.put(interface, at, &frame)?;
        }
        self.to.flush()?;
        Ok(self.to)
    }

    fn put(&mut self, interface: u32, at: Time, frame: &Frame) -> Result<(), CaptureError> {
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(at.0 / PS_PER_NS),
            original_len: frame.original_len,
            data: Cow::Borrowed(&frame.data),
            options: Vec::new(),
        };
        self.blocks.write_pcapng_block(block)?;
        self.pass_on()
    }

    /// Hands the block that was made to where it goes.
    fn pass_on(&mut self) -> Result<(), CaptureError> {
        let made = self.blocks.get_mut();
        let written = self.to.write_all(made);
        made.clear();
        Ok(written?)
    }
}

fn description(interface: &Interface) -> InterfaceDescriptionBlock<'_> {
    InterfaceDescriptionBlock {
        linktype: DataLink::ETHERNET,
        // No limit: the headers are all there is, and how long they are is in every packet.
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(&interface.name)),
            InterfaceDescriptionOption::IfSpeed(interface.rate.bps()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    }
}
