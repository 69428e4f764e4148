//! Capture of the switch, in a pcapng file: every frame as it starts on a link of the topology, by the link's name.
//!
//! A thread of its own writes the file, so that a slow disk holds up no frame. Times count from the origin of
//! the testbed's clock, on the slowed network; rates are those of the slowed links.

#![allow(clippy::disallowed_methods, reason = "this is where captures of real packets are written")]

use headway_capture::{CaptureError, CaptureWriter, Frame, Interface};
use headway_network::Network;
use headway_switch::FrameTap;
use headway_units::Time;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes of a frame that are kept: all headers, a whole handshake, and the beginning of a payload.
pub const SNAP: usize = 256;
/// Frames that may wait to be written; further ones are missed, and counted.
const WAITING: usize = 1 << 16;

type Started = (u32, Time, Frame);

/// A capture under way.
pub struct Recording {
    path: PathBuf,
    state: Arc<State>,
    writer: JoinHandle<Result<u64, CaptureError>>,
}

#[derive(Default)]
struct State {
    missed: AtomicU64,
    failed: AtomicBool,
}

/// Reason why a capture is missing or incomplete.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the capture {path}: {reason}", path = path.display())]
pub struct RecordingError {
    path: PathBuf,
    reason: String,
}

/// The switch's end of a [`Recording`]; the file ends when it is dropped.
pub struct FrameRecorder {
    state: Arc<State>,
    to: SyncSender<Started>,
}

impl Recording {
    /// Begins the file, with every link of the network as an interface.
    pub fn start_recording(
        path: &Path,
        network: &Network,
    ) -> Result<(Recording, FrameRecorder), RecordingError> {
        let names = network.link_names();
        let interfaces: Vec<Interface> = names
            .into_iter()
            .zip(network.links())
            .map(|(name, link)| Interface { name, rate: link.spec.rate })
            .collect();
        let application = concat!("headway-switch ", env!("CARGO_PKG_VERSION"));
        let file = File::create(path).map_err(|e| unwritable_file(path, &e))?;
        let writer = CaptureWriter::new(BufWriter::new(file), application, &interfaces, Time::ZERO)
            .map_err(|e| unwritable_file(path, &e))?;
        // Bounded: a disk that falls behind would otherwise fill the memory with frames.
        let (to, from) = sync_channel(WAITING);
        let state = Arc::new(State::default());
        let own = state.clone();
        let writer = std::thread::spawn(move || {
            let written = write_frames(writer, &from);
            // Before the thread ends: `run` looks at this, and joins the thread only at the end.
            own.failed.store(written.is_err(), Ordering::Relaxed);
            written
        });
        Ok((Recording { path: path.into(), state: state.clone(), writer }, FrameRecorder { state, to }))
    }

    /// True if the file could not be written on: the run had better stop.
    pub fn has_failed(&self) -> bool {
        self.state.failed.load(Ordering::Relaxed)
    }

    /// Waits until everything is in the file, which ends when its [`FrameRecorder`] is dropped; frames written, and
    /// frames missed.
    pub fn finish_recording(self) -> Result<[u64; 2], RecordingError> {
        match self.writer.join() {
            Ok(Ok(written)) => Ok([written, self.state.missed.load(Ordering::Relaxed)]),
            Ok(Err(error)) => Err(unwritable_file(&self.path, &error)),
            Err(_) => Err(unwritable_file(&self.path, &"its thread ended")),
        }
    }
}

impl FrameTap for FrameRecorder {
    fn started(&mut self, link: u32, start: Time, frame: &[u8]) {
        let kept = frame[..frame.len().min(SNAP)].to_vec();
        let frame = Frame { data: kept, original_len: frame.len() as u32 };
        // Waiting for the disk would hold up the frames that the switch has to send.
        if self.to.try_send((link, start, frame)).is_err() {
            self.state.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write_frames(
    mut writer: CaptureWriter<BufWriter<File>>,
    from: &Receiver<Started>,
) -> Result<u64, CaptureError> {
    let mut written = 0;
    for (link, start, frame) in from {
        writer.write_frame(link, start, frame)?;
        written += 1;
    }
    writer.finish_file()?;
    Ok(written)
}

fn unwritable_file(path: &Path, error: &dyn std::fmt::Display) -> RecordingError {
    RecordingError { path: path.into(), reason: error.to_string() }
}
