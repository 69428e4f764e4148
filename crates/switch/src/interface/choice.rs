//! Choice of the packet I/O of a switch's interfaces, with its reason.

use super::{AfPacket, FrameIo, InterfaceError};
use std::fmt;

/// Choice of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoChoice {
    /// AF_XDP where every interface has it, AF_PACKET otherwise.
    #[default]
    Auto,
    /// This kind, or an error.
    Only(IoKind),
}

impl IoChoice {
    /// The words for them.
    pub const WORDS: [&str; 3] = ["auto", IoKind::AfPacket.word(), IoKind::AfXdp.word()];
    const ALL: [IoChoice; 3] =
        [IoChoice::Auto, IoChoice::Only(IoKind::AfPacket), IoChoice::Only(IoKind::AfXdp)];

    /// The choice of a word.
    pub fn of(word: &str) -> Option<IoChoice> {
        IoChoice::ALL.into_iter().find(|choice| choice.word() == word)
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            IoChoice::Auto => "auto",
            IoChoice::Only(kind) => kind.word(),
        }
    }
}

/// A kind of packet I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// Packet sockets (AF_PACKET).
    AfPacket,
    /// Rings that are shared with the kernel.
    AfXdp,
}

impl IoKind {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            IoKind::AfPacket => "af-packet",
            IoKind::AfXdp => "af-xdp",
        }
    }
}

impl fmt::Display for IoKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IoKind::AfPacket => "AF_PACKET",
            IoKind::AfXdp => "AF_XDP",
        })
    }
}

/// Interfaces that are open.
pub struct Opened {
    /// Interfaces in the order of their names.
    pub interfaces: Vec<Box<dyn FrameIo>>,
    /// Kind of all of them.
    pub kind: IoKind,
    /// Why, in a clause.
    pub why: String,
}

/// AF_XDP sockets keep about 10 MB of frames for each interface: for more of them they are only taken when asked for.
const MOST_BY_THEMSELVES: usize = 24;

/// Opens interfaces of this network namespace, all of one kind, for frames of at most `longest` bytes.
pub fn open(choice: IoChoice, names: &[&str], longest: usize) -> Result<Opened, InterfaceError> {
    let asked = |interfaces, kind| Opened { interfaces, kind, why: "it was asked for".into() };
    match choice {
        IoChoice::Only(IoKind::AfPacket) => Ok(asked(packet_sockets(names)?, IoKind::AfPacket)),
        IoChoice::Only(IoKind::AfXdp) => Ok(asked(rings(names, longest)?.0, IoKind::AfXdp)),
        IoChoice::Auto if names.len() > MOST_BY_THEMSELVES => Ok(Opened {
            interfaces: packet_sockets(names)?,
            kind: IoKind::AfPacket,
            why: format!("AF_XDP sockets of {} interfaces take about {} MB", names.len(), 10 * names.len()),
        }),
        IoChoice::Auto => match rings(names, longest) {
            Ok((interfaces, why)) => Ok(Opened { interfaces, kind: IoKind::AfXdp, why }),
            // An obstacle to one kind may be one to the other, too: then that is the error.
            Err(error) => Ok(Opened {
                interfaces: packet_sockets(names)?,
                kind: IoKind::AfPacket,
                why: error.to_string(),
            }),
        },
    }
}

fn packet_sockets(names: &[&str]) -> Result<Vec<Box<dyn FrameIo>>, InterfaceError> {
    names.iter().map(|name| Ok(Box::new(AfPacket::open(name)?) as Box<dyn FrameIo>)).collect()
}

/// All of them, and a clause that says how their frames come in.
#[cfg(feature = "af-xdp")]
fn rings(names: &[&str], longest: usize) -> Result<(Vec<Box<dyn FrameIo>>, String), InterfaceError> {
    let mut interfaces: Vec<Box<dyn FrameIo>> = Vec::with_capacity(names.len());
    let mut native = 0;
    for name in names {
        let interface = super::AfXdp::open(name, longest)?;
        native += usize::from(interface.is_native());
        interfaces.push(Box::new(interface));
    }
    let why = match native {
        0 => "every interface has it".to_string(),
        some => format!("every interface has it, and the drivers of {some} of {} take part", names.len()),
    };
    Ok((interfaces, why))
}

#[cfg(not(feature = "af-xdp"))]
fn rings(names: &[&str], _: usize) -> Result<(Vec<Box<dyn FrameIo>>, String), InterfaceError> {
    let name = names.first().copied().unwrap_or_default().into();
    let why = "this program is built without the feature `af-xdp`".into();
    Err(InterfaceError::NoAfXdp { name, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_choices_answer_each_other() {
        assert!(IoChoice::ALL.into_iter().all(|choice| IoChoice::of(choice.word()) == Some(choice)));
        assert_eq!(IoChoice::WORDS, IoChoice::ALL.map(IoChoice::word));
        assert_eq!(IoChoice::of("xdp"), None);
    }
}
