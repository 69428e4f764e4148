//! A run that takes messages of another program while it goes on.

use super::{Clock, Options, explain, write_results};
use crate::results::RunOutput;
use crate::results::manifest::RunInfo;
use crate::results::write;
use crate::scenario::{Resolved, Scenario};
use crate::text::{LabError, Problem, ScenarioError};
use crate::traffic::Later;
use headway_network::{FlowSpec, Network, ProbeChoice, Progress, RunError, Source};
use headway_sim::{Rest, Session, check_flow};
use headway_units::Time;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::time::Duration;

/// A scenario under way, whose `[[traffic]]` entry of `kind = "external"` has the common properties of messages.
pub struct Live {
    scenario: Scenario,
    resolved: Resolved,
    session: Session,
    entry: usize,
    memory_bytes: u64,
    wall: Duration,
}

/// Injector of messages: it makes flows of them while the run goes on.
pub struct Desk {
    later: Later,
    network: Arc<Network>,
    transports: usize,
    flows: usize,
}

impl Desk {
    /// A message from one host to another, handed over at this time, and the number that its flow will have.
    pub fn message(
        &mut self,
        now: Time,
        src: u32,
        dst: u32,
        bytes: u64,
    ) -> Result<(u32, FlowSpec), RunError> {
        let flow = self.later.message(now, src, dst, bytes);
        let refuse = |reason: String| RunError::Flow { flow: self.flows, reason };
        if bytes == 0 {
            return Err(refuse("a message has at least one byte".into()));
        }
        check_flow(self.transports, &self.network, &flow).map_err(refuse)?;
        self.flows += 1;
        Ok(((self.flows - 1) as u32, flow))
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.network.hosts()
    }
}

impl Live {
    /// Begins a run.
    pub fn new(scenario: Scenario) -> Result<(Live, Desk), LabError> {
        let setup = scenario.setup()?;
        let wrong = |text: String, at| LabError::from(ScenarioError::new(Problem::Contradiction(text), at));
        let mut entries = setup.traffic.iter().enumerate();
        let Some((entry, found)) = entries.find(|(_, entry)| entry.pattern.is_external()) else {
            let text = "no [[traffic]] entry is of kind = \"external\": nothing says what messages of another program have in common";
            let error = ScenarioError::nowhere(Problem::Contradiction(text.into()));
            return Err(error.help("write one: [[traffic]] with kind = \"external\"").into());
        };
        if setup.transports.len() > 1 {
            let text = format!(
                "messages of another program need a run of one transport, and this one has {}",
                setup.transports.len()
            );
            return Err(wrong(text, &found.at));
        }
        if let Some(sample) = setup.sample.as_ref().filter(|s| s.probes != ProbeChoice::None) {
            let text =
                "flows of another program are not probed: [sample] with `probes` has to do without them";
            return Err(wrong(text.into(), &sample.every_at));
        }
        let later = Later::new(found, entry, scenario.seed);
        let (memory_bytes, room) = (setup.check_memory()?.memory_bytes, setup.room()?);
        let resolved = setup.resolve(scenario.seed)?;
        let session =
            Session::new(resolved.spec.clone(), room).map_err(|e| explain(e, &scenario, &resolved))?;
        let desk = Desk {
            later,
            network: Arc::clone(session.network()),
            transports: resolved.spec.transports.len(),
            flows: resolved.spec.flows.len(),
        };
        let live = Live { scenario, resolved, session, entry, memory_bytes, wall: Duration::ZERO };
        Ok((live, desk))
    }

    /// Goes on, as [`Session::go`] does.
    pub fn go(
        &mut self,
        source: &mut dyn Source,
        until: Option<Time>,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Rest, LabError> {
        let clock = Clock::start();
        let rest = self.session.go(source, until, progress);
        self.wall += clock.elapsed();
        Ok(rest?)
    }

    /// Progress of the run, and the digest of its events so far.
    pub fn progress(&self) -> (Progress, u64) {
        self.session.progress()
    }

    /// Ends the run where it is, makes its results, and writes them where the options say.
    pub fn finish(self, options: &Options<'_>) -> Result<RunOutput, LabError> {
        let Live { scenario, mut resolved, session, entry, memory_bytes, wall } = self;
        if let Some(dir) = options.out {
            write::prepare(dir.path)?;
        }
        let (spec, outcome) = session.finish();
        let taken: FxHashSet<String> = resolved.names.iter().cloned().collect();
        for number in resolved.spec.flows.len()..spec.flows.len() {
            let name = number.to_string();
            // Another flow may already have this number as its name.
            resolved.names.push(if taken.contains(&name) { format!("#{name}") } else { name });
            resolved.entries.push(entry);
            resolved.rounds.push(None);
        }
        resolved.spec = spec;
        let commit = options.commit.clone();
        let around = RunInfo { wall, commit, memory_bytes, warnings: Vec::new(), testbed: None };
        write_results(&scenario, &resolved, &outcome, around, options)
    }
}
