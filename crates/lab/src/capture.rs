//! Captures of a run: their links, and their file.

use crate::text::{LabError, Problem, ScenarioError, names};
use headway_capture::{CaptureError, CaptureWriter, Frame, Interface};
use headway_network::{Network, RunSpec, Tap};
use headway_packet::Packet;
use headway_units::Time;
use std::cell::Cell;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A request to write the packets of a run to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The pcapng file to write.
    pub file: PathBuf,
    /// Names of links, as `s0->s1`; all links if there is none.
    pub links: Vec<String>,
}

/// Writes what starts on the chosen links, each of which is an interface of the file.
///
/// After an error nothing more is written; [`Recorder::failed`] then says that the run had better stop, and
/// [`Recorder::finish`] why.
pub struct Recorder<'a> {
    path: &'a Path,
    /// Interface number by link number.
    interface: Vec<Option<u32>>,
    framing: u16,
    writer: CaptureWriter<BufWriter<File>>,
    error: Option<CaptureError>,
    failed: &'a Cell<bool>,
}

impl<'a> Recorder<'a> {
    /// Begins the file. Says which link there is not, or that the file cannot be written. `failed` is set when
    /// the run had better stop.
    pub fn start(
        wish: &'a Capture,
        spec: &RunSpec,
        failed: &'a Cell<bool>,
    ) -> Result<Recorder<'a>, LabError> {
        let network =
            Network::build(&spec.topology, &spec.fabric).map_err(headway_network::RunError::from)?;
        // Checked before the file is made, so that a wrong name leaves none behind.
        let names = network.link_names();
        let chosen = choose(&names, &wish.links)?;
        let mut interface = vec![None; names.len()];
        let mut interfaces = Vec::with_capacity(chosen.len());
        for (number, &link) in chosen.iter().enumerate() {
            interface[link] = Some(number as u32);
            let it = &network.links()[link];
            interfaces.push(Interface { name: names[link].clone(), rate: it.spec.rate });
        }
        let file = create(&wish.file).map_err(|e| unwritable(&wish.file, &e.into()))?;
        let application = format!("headway {}", crate::scenario::VERSION);
        // A tap is shown packets in order of time.
        let writer = CaptureWriter::new(file, &application, &interfaces, Time::ZERO)
            .map_err(|e| unwritable(&wish.file, &e))?;
        let framing = network.sizes().framing;
        Ok(Recorder { path: &wish.file, interface, framing, writer, error: None, failed })
    }

    /// Ends the file.
    pub fn finish(self) -> Result<(), LabError> {
        let ended = match self.error {
            Some(error) => Err(error),
            None => self.writer.finish_file().map(drop),
        };
        ended.map_err(|e| unwritable(self.path, &e))
    }
}

impl Tap for Recorder<'_> {
    fn started(&mut self, link: u32, start: Time, packet: &Packet) {
        let Some(interface) = self.interface[link as usize] else { return };
        if self.error.is_some() {
            return;
        }
        // The run cannot be stopped from here: its progress function looks at `failed`.
        if let Err(error) =
            self.writer.write_frame(interface, start, Frame::from_packet(packet, self.framing))
        {
            self.error = Some(error);
            self.failed.set(true);
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "this is where captures are written")]
fn create(path: &Path) -> std::io::Result<BufWriter<File>> {
    File::create(path).map(BufWriter::new)
}

fn unwritable(path: &Path, error: &CaptureError) -> LabError {
    let kind = match error {
        CaptureError::Io(error) => Some(error.kind()),
        _ => None,
    };
    LabError::Capture { path: path.to_path_buf(), reason: error.to_string(), kind }
}

/// Positions of the wanted names, in the order wanted; of all names, if none is wanted.
fn choose(known: &[String], wanted: &[String]) -> Result<Vec<usize>, ScenarioError> {
    let mut chosen = Vec::new();
    for name in wanted {
        let Some(link) = known.iter().position(|n| n == name) else {
            let problem = Problem::NoSuchName { what: "link to capture", name: name.clone() };
            let help = names::name_suggestion(name, known.iter().map(String::as_str));
            return Err(ScenarioError::nowhere(problem).maybe_help(help));
        };
        if !chosen.contains(&link) {
            chosen.push(link);
        }
    }
    Ok(if wanted.is_empty() { (0..known.len()).collect() } else { chosen })
}
