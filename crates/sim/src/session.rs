//! A run that can rest, and takes flows from a source while it goes on.

use crate::conductor::{Conductor, Rest, Watch};
use crate::run::{alone, check_flows, prepare};
use headway_network::{FlowSpec, Network, Outcome, Progress, RunError, RunSpec, Source};
use headway_units::Time;
use self_cell::self_cell;
use std::borrow::Cow;
use std::sync::Arc;

/// `None` once it is finished.
type Held<'a> = Option<Conductor<'a>>;

self_cell!(
    struct Cell {
        owner: Box<RunSpec>,
        #[not_covariant]
        dependent: Held,
    }
);

/// A run in progress. It has one thread, and one transport, which all flows have in common that a source gives.
pub struct Session {
    cell: Cell,
    /// Flows of its specification, by hosts.
    listed: Vec<FlowSpec>,
    network: Arc<Network>,
    room: u64,
    cut: bool,
}

impl Session {
    /// A run at its start. Its specification may have flows of its own. `room` is for what grows while it lasts, its packets
    /// in flight, its samples and the flows that are given: a run that has none left can go no further.
    pub fn new(spec: RunSpec, room: u64) -> Result<Session, RunError> {
        // A mixture looks up the transport of a flow in the specification, where flows that are given later are
        // missing.
        if spec.transports.len() > 1 {
            return Err(RunError::SeveralTransports(spec.transports.len()));
        }
        let network = Arc::new(Network::build(&spec.topology, &spec.fabric)?);
        check_flows(&spec, &network)?;
        let addressed = match network.address(&spec) {
            Cow::Owned(addressed) => Some(addressed),
            Cow::Borrowed(_) => None,
        };
        // Kept for `finish`, since `address` puts interfaces in the place of hosts.
        let listed = addressed.as_ref().map_or(Vec::new(), |_| spec.flows.clone());
        let spec = addressed.unwrap_or(spec);
        let cell = Cell::try_new(Box::new(spec), |spec| {
            let (mut nothing, network) = (|_: &Progress| true, Arc::clone(&network));
            prepare(spec, network, &alone(&mut nothing, room), None).map(Some)
        })?;
        Ok(Session { cell, listed, network, room, cut: false })
    }

    /// Network that it runs on.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Goes on: until all events until a time have happened, that time included, or without one until all flows and
    /// timers are over. Returns the reason why it rests. `progress` is called now and then, and returns true to go on.
    ///
    /// # Errors
    /// A flow that the source gave cannot be. It and the later requests of the source are lost.
    pub fn go(
        &mut self,
        source: &mut dyn Source,
        until: Option<Time>,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Rest, RunError> {
        let room = self.room;
        let rest = self.cell.with_dependent_mut(|_, run| {
            let watch = &mut Watch { source: Some(source), ..alone(progress, room) };
            run.as_mut().map_or(Ok(Rest::Cut), |run| run.go(watch, until))
        })?;
        self.cut |= rest == Rest::Cut;
        Ok(rest)
    }

    /// Progress of the run, and the digest of its events so far.
    pub fn progress(&self) -> (Progress, u64) {
        self.cell.with_dependent(|_, run| run.as_ref().map_or((Progress::OVER, 0), |run| run.progress()))
    }

    /// Its specification with all flows that were given, and their outcome.
    pub fn finish(mut self) -> (RunSpec, Outcome) {
        let cut = self.cut;
        let finished =
            self.cell.with_dependent_mut(|_, run| run.take().map(|run| run.finish_with_given(cut)));
        let mut spec = *self.cell.into_owner();
        // Only this method takes the run.
        let (given, outcome) = finished.unwrap_or_else(|| unreachable!("a session has a run"));
        if !self.network.owners().are_alike() {
            spec.flows = self.listed;
        }
        let host = |interface| self.network.owners().host_of(interface);
        spec.flows.extend(given.into_iter().map(|flow| FlowSpec {
            src: host(flow.src),
            dst: host(flow.dst),
            ..flow
        }));
        (spec, outcome)
    }
}
