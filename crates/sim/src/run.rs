//! From a specification to an outcome.

use crate::check::check_flow;
use crate::conductor::{Conductor, Trial, Watch};
use crate::crew::with_crew;
use crate::mixed::{self, Machine, Mixed};
use headway_network::Network;
use headway_network::{FlowSpec, Outcome, Progress, RunError, Tap, Witness};
use headway_network::{RunSpec, TransportSpec};
use headway_transport::endpoint::HostContext;
use headway_transport::registry;
use std::sync::Arc;

/// Makes machines of transports that are in no registry.
pub trait Maker {
    /// True if it makes the machines of the transport called `name`.
    fn knows(&self, name: &str) -> bool;
    /// A fresh machine for one host of a run; of a transport that it knows.
    fn endpoint(&self, spec: &RunSpec, transport: &TransportSpec, context: HostContext) -> Machine;
}

/// Limits and observers of a run. None of them changes the outcome, except for machines that are passed in.
pub struct Around<'a> {
    /// Threads that share the run; 1 by default. Fewer are used where the network cannot be divided so often.
    pub threads: usize,
    /// Bytes for what grows while a run lasts, its packets in flight and its samples. A run that has none left ends
    /// there, as one that was interrupted, and its warnings say why. No limit by default.
    pub room: u64,
    /// Is shown every packet as it starts on a link.
    pub tap: Option<&'a mut dyn Tap>,
    /// Makes the machines of transports that it knows, in place of the registry.
    pub maker: Option<&'a dyn Maker>,
    /// Counts the events of each of `threads` shards in each window. They then take turns on one thread.
    pub trial: Option<&'a mut dyn Trial>,
}

impl Default for Around<'_> {
    fn default() -> Self {
        Around { threads: 1, room: u64::MAX, tap: None, maker: None, trial: None }
    }
}

/// Runs a specification to its end. `progress` is called now and then; `false` stops the run, and the
/// outcome holds the events until then.
pub fn run(spec: &RunSpec, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Outcome, RunError> {
    run_within(spec, Around::default(), progress)
}

/// As [`run`], and shows every packet to `tap` as it starts on a link. The outcome is the same.
pub fn run_tapped(
    spec: &RunSpec,
    tap: &mut dyn Tap,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, RunError> {
    run_within(spec, Around { tap: Some(tap), ..Around::default() }, progress)
}

/// As [`run`], with all that may be around a run.
pub fn run_within<'a>(
    spec: &'a RunSpec,
    around: Around<'a>,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, RunError> {
    let Around { threads, room, tap, maker, trial } = around;
    watched(spec, Watch { progress, tap, witness: None, source: None, room, threads, trial }, maker)
}

/// Lets threads wait for each other so many times, for measuring the cost of a barrier.
pub fn meet(threads: usize, times: u64) {
    with_crew(threads, &|_| {}, |crew| (0..times).for_each(|_| crew.together()));
}

/// As [`run`], and shows every event to `witness` before it is handled; when that has seen enough, the run ends there.
pub fn run_witnessed<'a>(
    spec: &'a RunSpec,
    witness: &'a mut dyn Witness,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, RunError> {
    let watch = Watch { witness: Some(witness), ..alone(progress, u64::MAX) };
    watched(spec, watch, None)
}

/// A run of one thread with the progress function as its only observer.
pub(crate) fn alone<'w>(progress: &'w mut dyn FnMut(&Progress) -> bool, room: u64) -> Watch<'w> {
    Watch { progress, tap: None, witness: None, source: None, room, threads: 1, trial: None }
}

fn watched<'a>(
    spec: &'a RunSpec,
    mut watch: Watch<'a>,
    maker: Option<&'a dyn Maker>,
) -> Result<Outcome, RunError> {
    let network = Arc::new(Network::build(&spec.topology, &spec.fabric)?);
    check_flows(spec, &network)?;
    // From here on flows name interfaces in place of hosts.
    let spec = &*network.address(spec);
    let mut run = prepare(spec, Arc::clone(&network), &watch, maker)?;
    let completed = run.run(&mut watch);
    Ok(run.finish(!completed))
}

/// Refuses what [`run`] refuses before its first event, and runs nothing. `maker` makes the machines of transports that it
/// knows, in place of the registry.
pub fn check(spec: &RunSpec, maker: Option<&dyn Maker>) -> Result<(), RunError> {
    let network = Arc::new(Network::build(&spec.topology, &spec.fabric)?);
    check_flows(spec, &network)?;
    let spec = &*network.address(spec);
    prepare(spec, Arc::clone(&network), &alone(&mut |_| true, u64::MAX), maker).map(drop)
}

/// Refuses flows that cannot be.
pub(crate) fn check_flows(spec: &RunSpec, network: &Network) -> Result<(), RunError> {
    for (flow, one) in spec.flows.iter().enumerate() {
        let listed = check_flow(spec.transports.len(), network, one)
            .and_then(|()| check_listed(spec, flow as u32, one));
        listed.map_err(|reason| RunError::Flow { flow, reason })?;
    }
    Ok(())
}

/// Makes the machines of a run, and all else that it needs. Flows name interfaces ([`Network::address`]).
pub(crate) fn prepare<'a>(
    spec: &'a RunSpec,
    network: Arc<Network>,
    watch: &Watch<'_>,
    maker: Option<&dyn Maker>,
) -> Result<Conductor<'a>, RunError> {
    let maker_of = |transport: &TransportSpec| maker.filter(|maker| maker.knows(&transport.name));
    match &spec.transports[..] {
        [] => Err(RunError::Empty("transport")),
        // A mixture passes every call on, which a run of one transport need not pay for.
        [only] => {
            let machines = (0..network.interfaces())
                .map(|host| machine(spec, only, network.host_context(host, spec.seed), maker_of(only)));
            let machines = machines.collect::<Result<Vec<_>, _>>()?;
            Ok(Conductor::new(spec, network, machines, watch)?)
        }
        many => mixture(spec, network, many, watch, &maker_of),
    }
}

/// Why a flow of the specification cannot be among the others.
fn check_listed(spec: &RunSpec, number: u32, flow: &FlowSpec) -> Result<(), String> {
    let waits = || spec.graph.as_ref().is_some_and(|graph| graph.waits(number) > 0);
    Err(if flow.stop.is_some() && waits() {
        "a flow that waits for others has no stop: it may begin later".into()
    } else if flow.connection.is_some_and(|carrier| !carries(spec, carrier, flow)) {
        "the flow whose connection it names is not there, or between other hosts".into()
    } else {
        return Ok(());
    })
}

/// True if a flow can use the connection of another: between the same hosts, and of the same transport.
fn carries(spec: &RunSpec, carrier: u32, flow: &FlowSpec) -> bool {
    // Either end may send on a connection.
    spec.flows.get(carrier as usize).is_some_and(|c| {
        c.transport == flow.transport && [(c.src, c.dst), (c.dst, c.src)].contains(&(flow.src, flow.dst))
    })
}

/// The machine of a transport at one host: of its maker, or of the registry.
fn machine(
    spec: &RunSpec,
    transport: &TransportSpec,
    context: HostContext,
    maker: Option<&dyn Maker>,
) -> Result<Machine, RunError> {
    if let Some(maker) = maker {
        return Ok(maker.endpoint(spec, transport, context));
    }
    let made = registry::make_machine(&transport.name, transport.params_at(context.host.0), context);
    let made = made.ok_or_else(|| RunError::UnknownTransport(transport.name.clone()))?;
    made.map_err(|source| RunError::Param { transport: transport.name.clone(), source })
}

/// Several transports in one run: every host has a machine of each transport that its flows are of.
fn mixture<'a, 'm>(
    spec: &'a RunSpec,
    network: Arc<Network>,
    transports: &[TransportSpec],
    watch: &Watch<'_>,
    maker_of: &dyn Fn(&TransportSpec) -> Option<&'m dyn Maker>,
) -> Result<Conductor<'a>, RunError> {
    let of_flow: Arc<[u8]> = spec.flows.iter().map(|flow| flow.transport).collect();
    let part = |number: u8, host: usize| {
        let transport = &transports[usize::from(number)];
        let context = network.host_context(host as u32, spec.seed);
        Ok((number, machine(spec, transport, context, maker_of(transport))?))
    };
    let hosts =
        mixed::transports_of(spec, network.interfaces()).into_iter().enumerate().map(|(host, numbers)| {
            let parts =
                numbers.into_iter().map(|number| part(number, host)).collect::<Result<_, RunError>>()?;
            Ok(Box::new(Mixed::new(parts, Arc::clone(&of_flow))) as Machine)
        });
    let hosts = hosts.collect::<Result<Vec<_>, RunError>>()?;
    Ok(Conductor::new(spec, network, hosts, watch)?)
}
