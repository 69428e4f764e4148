//! Messages on a stream of bytes: each behind its length.

use crate::protocol::LARGEST;
use std::io::{self, BufReader, IoSlice, Read, Write};

/// Both directions of a connection.
pub struct Frames<R, W> {
    reader: BufReader<R>,
    writer: W,
    body: Vec<u8>,
}

impl<R: Read, W: Write> Frames<R, W> {
    /// Reads from one and writes to the other.
    pub fn new(reader: R, writer: W) -> Frames<R, W> {
        Frames { reader: BufReader::new(reader), writer, body: Vec::new() }
    }

    /// The next message; `None` at the end of the connection. Memory is taken for bytes that arrive, not for those that
    /// are announced.
    pub fn read_message(&mut self) -> io::Result<Option<&[u8]>> {
        let mut length = [0; 4];
        match self.reader.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let length = u32::from_be_bytes(length);
        // No message is so long: the bytes are of another protocol.
        if length > 2 * LARGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.body.clear();
        // Grows with what arrives: a length of 64 MB that somebody claims takes no memory.
        let read = (&mut self.reader).take(length.into()).read_to_end(&mut self.body)?;
        if read < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(&self.body))
    }

    /// Writes a message.
    pub fn write_message(&mut self, message: &[u8]) -> io::Result<()> {
        let length = (message.len() as u32).to_be_bytes();
        // One system call for both parts, since small segments are sent at once (`TCP_NODELAY`).
        let written = self.writer.write_vectored(&[IoSlice::new(&length), IoSlice::new(message)])?;
        // The kernel may take a part only.
        if written < length.len() {
            self.writer.write_all(&length[written..])?;
        }
        self.writer.write_all(&message[written.saturating_sub(length.len())..])
    }
}
