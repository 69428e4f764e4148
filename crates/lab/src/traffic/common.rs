//! Keys of entries of every kind: a class, deadlines, a first window, a transport.

use super::Context;
use super::keys::{Key, Takes, key};
use super::stack::{Kernel, Transports};
use crate::text::{Origin, Problem, Reader, ScenarioError, Share};
use crate::workload::random::Stream;
use headway_network::{FlowSpec, TransportSpec};
use headway_transport::InitialWindow;
use headway_units::Time;

/// The keys that every kind has in addition to its own.
pub const COMMON: &[Key] = &[
    key(
        "class",
        Takes::Whole,
        "0",
        "application class; a lower one comes first with transports that order messages by it (`ndp`)",
    ),
    key("deadline", Takes::Duration, "none", "from a flow's start"),
    key(
        "mean_deadline",
        Takes::Duration,
        "none",
        "instead of `deadline`: drawn for each flow from an exponential distribution",
    ),
    key(
        "least_deadline",
        Takes::Duration,
        "`\"0 s\"`",
        "smallest that is drawn; `mean_deadline` is the mean with it",
    ),
    key(
        "jitter",
        Takes::Duration,
        "`\"0 s\"`",
        "each flow starts later by a random time below this, and its deadline with it",
    ),
    key(
        "share",
        Takes::Fraction,
        "1",
        "Each flow starts as if it were one of this many flows that share the path; see above",
    ),
    key("clump", Takes::Count, "`[start] clump`", "packets back to back before a pause, see above"),
    key(
        "stop",
        Takes::Time,
        "none",
        "the time at which flows are over at both ends, whatever has arrived; no flow starts from then on",
    ),
    key("transport", Takes::Transport, "`[transport]`", "for mixtures"),
    key(
        "stack",
        Takes::Word(&["headway", "kernel"]),
        "`headway`",
        "`kernel`: on real packets the operating system's TCP sends these flows, see below",
    ),
    key(
        "congestion",
        Takes::WordOrTable(&["reno", "cubic", "bbr", "dctcp", "d2tcp", "l2dct", "vegas"]),
        "with `stack`",
        "the kernel's congestion control, with `stack = \"kernel\"`; settings are those of `headway kernel load`",
    ),
    key("mptcp", Takes::Bool, "false", "true if connections are multipath TCP, with `stack = \"kernel\"`"),
    key(
        "ecn",
        Takes::Bool,
        "false",
        "true if connections ask for marks though their control does not, with `stack = \"kernel\"`",
    ),
    key(
        "initial_window",
        Takes::Count,
        "the kernel's",
        "packets of the first window, with `stack = \"kernel\"`",
    ),
];

/// Common settings of every kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// Class of the application.
    pub class: u16,
    /// Deadline from a flow's start.
    pub deadline: Option<Time>,
    /// Instead of it, one drawn for each flow.
    pub deadlines: Option<Deadlines>,
    /// Each start is later by a random time below this.
    pub jitter: Time,
    /// Each flow starts as one of this many.
    pub share: Share,
    /// Time at which flows are over.
    pub stop: Option<Time>,
    /// Packets back to back before a pause.
    pub clump: u32,
    /// Index into the run's transports.
    pub transport: u8,
    /// The kernel's TCP, where it sends the flows on real packets.
    pub kernel: Option<Kernel>,
    line_rate: bool,
}

impl Common {
    /// The first window of the `index`-th flow of an entry.
    fn initial_window(&self, index: usize) -> InitialWindow {
        self.initial_window_of(self.share, self.clump, None, index)
    }

    pub(super) fn initial_window_of(
        &self,
        share: Share,
        clump: u32,
        slot: Option<u32>,
        index: usize,
    ) -> InitialWindow {
        if self.line_rate || share == Share::ALL {
            return InitialWindow::default();
        }
        let Share { of: share, fewer } = share;
        let slot = slot.unwrap_or((index % share as usize) as u32);
        InitialWindow { share, fewer, burst: clump, phase: slot, ..InitialWindow::default() }
    }

    /// A flow with everything that is common to its entry.
    pub(super) fn flow(&self, src: u32, dst: u32, bytes: u64, start: Time, index: usize) -> FlowSpec {
        FlowSpec {
            src,
            dst,
            bytes,
            start,
            class: self.class,
            deadline: self.deadline.map(|d| start.saturating_add(d)),
            initial_window: self.initial_window(index),
            responsive: true,
            transport: self.transport,
            path: None,
            connection: None,
            stop: self.stop,
        }
    }
}

/// Deadlines at random: exponential above the smallest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlines {
    /// Mean, the smallest included.
    pub mean: Time,
    /// Smallest deadline that is drawn.
    pub least: Time,
}

impl Deadlines {
    pub(super) fn draw(&self, stream: &mut Stream) -> Time {
        self.least.saturating_add(stream.exponential((self.mean - self.least).0 as f64))
    }
}

/// Reads the keys that an entry of any kind may have. Its transport is its own, or the scenario's.
pub(super) fn read(table: &Reader<'_>, context: &Context<'_>) -> Result<Common, ScenarioError> {
    let (kernel, machine) = Kernel::read(table, context.routing)?.unzip();
    let chosen = match (table.get("transport"), machine.as_ref().or(context.own)) {
        (Some(item), own) => {
            let asked = crate::fabric::transport(&item, context.foreign)?;
            // A bare name means the scenario's own transport, parameters included, when it is that one.
            own.filter(|o| o.name == asked.name && asked.params.is_empty()).cloned().unwrap_or(asked)
        }
        (None, Some(own)) => own.clone(),
        (None, None) => {
            let problem = Problem::MissingKey { key: "transport".into(), table: table.name() };
            let error = ScenarioError::new(problem, table.at());
            return Err(error.help("name one for all in [transport], or one for each [[traffic]]"));
        }
    };
    let transport = number(&mut context.transports.borrow_mut(), chosen, kernel, table.at())?;
    let deadlines = read_deadlines(table)?;
    Ok(Common {
        deadlines,
        jitter: table.get("jitter").map_or(Ok(Time::ZERO), |i| i.time())?,
        class: table.get("class").map_or(Ok(0), |i| i.int(0, u64::from(u16::MAX)))? as u16,
        deadline: table.get("deadline").map(|i| i.period()).transpose()?,
        share: table.get("share").map_or(Ok(Share::ALL), |i| Share::read(&i))?,
        stop: table.get("stop").map(|i| i.period()).transpose()?,
        clump: table.get("clump").map_or(Ok(context.start.clump), |i| i.count())?,
        transport,
        kernel,
        line_rate: context.start.line_rate,
    })
}

/// The number of a transport in results.
pub(super) fn number(
    transports: &mut Transports,
    spec: TransportSpec,
    kernel: Option<Kernel>,
    at: &Origin,
) -> Result<u8, ScenarioError> {
    u8::try_from(transports.number(spec, kernel))
        .map_err(|_| ScenarioError::new(Problem::Contradiction("more than 256 transports".into()), at))
}

/// `mean_deadline` and `least_deadline`, which stand instead of `deadline`.
fn read_deadlines(table: &Reader<'_>) -> Result<Option<Deadlines>, ScenarioError> {
    let Some(item) = table.get("mean_deadline") else { return Ok(None) };
    let (mean, least_item) = (item.period()?, table.get("least_deadline"));
    let least = least_item.as_ref().map_or(Ok(Time::ZERO), |i| i.time())?;
    if let Some(item) = least_item.filter(|_| least >= mean) {
        return Err(item.range(format!("shorter than the mean, {mean}"), least));
    }
    if let Some(item) = table.get("deadline") {
        let text = "`deadline` and `mean_deadline` both say when flows are due".to_string();
        return Err(item.fail(Problem::Contradiction(text)).help("keep one of them"));
    }
    Ok(Some(Deadlines { mean, least }))
}
