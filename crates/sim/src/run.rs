//! From a specification to an outcome.

use crate::conductor::{Conductor, Trial, Watch};
use crate::crew::with_crew;
use crate::mixed::{self, Machine, Mixed};
use headway_network::Network;
use headway_network::{FlowSpec, Outcome, Progress, RunError, Tap, Witness};
use headway_network::{RunSpec, TransportSpec};
use headway_params::Params;
use headway_transport::endpoint::{Endpoint, HostContext, Transport};
use headway_transport::registry::{self, TransportVisitor};
use std::sync::Arc;

/// What a run may take, and who looks on. None of it changes the outcome.
pub struct Around<'a> {
    /// Threads that share the run; 1 by default. Fewer are used where the network cannot be divided so often.
    pub threads: usize,
    /// Bytes for what grows while a run lasts, its packets in flight and its samples. A run that has none left ends
    /// there, as one that was interrupted, and its warnings say why. No limit by default.
    pub room: u64,
    /// Is shown every packet as it starts on a link.
    pub tap: Option<&'a mut dyn Tap>,
    /// Counts what each of `threads` shards does in each window. They then take turns on one thread.
    pub trial: Option<&'a mut dyn Trial>,
}

impl Default for Around<'_> {
    fn default() -> Self {
        Around { threads: 1, room: u64::MAX, tap: None, trial: None }
    }
}

/// Runs a specification to its end. `progress` is called now and then; `false` stops the run, and the
/// outcome holds what happened until then.
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
    let Around { threads, room, tap, trial } = around;
    watched(spec, Watch { progress, tap, witness: None, room, threads, trial })
}

/// Lets threads wait for each other so many times, for whoever wants to know how long that takes.
pub fn meet(threads: usize, times: u64) {
    with_crew(threads, &|_| {}, |crew| (0..times).for_each(|_| crew.together()));
}

/// As [`run`], and shows every event to `witness` before it is handled; when that has seen enough, the run ends there.
pub fn run_witnessed<'a>(
    spec: &'a RunSpec,
    witness: &'a mut dyn Witness,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, RunError> {
    let (tap, trial) = (None, None);
    watched(spec, Watch { progress, tap, witness: Some(witness), room: u64::MAX, threads: 1, trial })
}

fn watched<'a>(spec: &'a RunSpec, watch: Watch<'a>) -> Result<Outcome, RunError> {
    let network = Arc::new(Network::build(&spec.topology, &spec.fabric)?);
    check_flows(spec, &network)?;
    match &spec.transports[..] {
        [] => Err(RunError::Empty("transport")),
        [only] => {
            let job = Single { spec, network, transport: only, watch };
            visit(&only.name, job)?
        }
        many => mixture(spec, network, many, watch),
    }
}

fn visit<V: TransportVisitor>(name: &str, visitor: V) -> Result<V::Output, RunError> {
    registry::visit(name, visitor).ok_or_else(|| RunError::UnknownTransport(name.into()))
}

fn check_flows(spec: &RunSpec, network: &Network) -> Result<(), RunError> {
    let mut wrong = spec.flows.iter().enumerate().filter_map(|(i, f)| {
        let reason = if f.src >= network.hosts() || f.dst >= network.hosts() {
            format!("host {} is not there; the network has {} hosts", f.src.max(f.dst), network.hosts())
        } else if f.src == f.dst {
            format!("host {} sends to itself", f.src)
        } else if !network.reachable(f.src, f.dst) || !network.reachable(f.dst, f.src) {
            format!("host {} cannot be reached from host {}", f.dst, f.src)
        } else if usize::from(f.transport) >= spec.transports.len() {
            format!("transport number {} is not there", f.transport)
        } else if network.sizes().packets(f.bytes) > u64::from(u32::MAX) {
            format!("{} bytes are more than 2^32 packets", f.bytes)
        } else if f.stop.is_some() && spec.graph.as_ref().is_some_and(|graph| graph.waits(i as u32) > 0) {
            "a flow that waits for others has no stop: it may begin later".into()
        } else if f.connection.is_some_and(|carrier| !carries(spec, carrier, f)) {
            "the flow whose connection it names is not there, or between other hosts".into()
        } else {
            return None;
        };
        Some(RunError::Flow { flow: i, reason })
    });
    wrong.next().map_or(Ok(()), Err)
}

/// Whether a flow goes over a connection between the same hosts as another, of the same transport.
fn carries(spec: &RunSpec, carrier: u32, flow: &FlowSpec) -> bool {
    spec.flows.get(carrier as usize).is_some_and(|c| {
        c.transport == flow.transport && [(c.src, c.dst), (c.dst, c.src)].contains(&(flow.src, flow.dst))
    })
}

/// All hosts run one transport: the engine is compiled for it.
struct Single<'a> {
    spec: &'a RunSpec,
    network: Arc<Network>,
    transport: &'a TransportSpec,
    watch: Watch<'a>,
}

impl TransportVisitor for Single<'_> {
    type Output = Result<Outcome, RunError>;

    fn visit<T: Transport>(self) -> Self::Output {
        let params = parameters::<T>(self.transport)?;
        let context = |host| self.network.host_context(host, self.spec.seed);
        let endpoints = (0..self.network.hosts()).map(|host| T::endpoint(&params, context(host)));
        let endpoints = endpoints.collect();
        drive(self.spec, self.network, endpoints, self.watch, |only: &T::Endpoint| {
            vec![(0, only as &dyn Endpoint)]
        })
    }
}

fn drive<'a, E: Endpoint + Send>(
    spec: &'a RunSpec,
    network: Arc<Network>,
    endpoints: Vec<E>,
    mut watch: Watch<'a>,
    machines: impl Fn(&E) -> Vec<(u8, &dyn Endpoint)>,
) -> Result<Outcome, RunError> {
    let mut conductor = Conductor::new(spec, network, endpoints, &watch)?;
    let completed = conductor.run(&mut watch);
    Ok(conductor.finish(!completed, machines))
}

/// Parameters of a transport, with what the specification sets.
pub fn parameters<T: Transport>(spec: &TransportSpec) -> Result<T::Params, RunError> {
    let mut params = T::Params::default();
    for (name, value) in &spec.params {
        let fail = |source| RunError::Param { transport: spec.name.clone(), source };
        params.set(name, value.clone()).map_err(fail)?;
    }
    Ok(params)
}

/// Makes one host's machine of a transport behind a pointer.
struct Boxed<'a> {
    transport: &'a TransportSpec,
    context: HostContext,
}

impl TransportVisitor for Boxed<'_> {
    type Output = Result<Machine, RunError>;

    fn visit<T: Transport>(self) -> Self::Output {
        Ok(Box::new(T::endpoint(&parameters::<T>(self.transport)?, self.context)))
    }
}

/// Several transports in one run: every host has a machine of each transport that its flows are of.
fn mixture<'a>(
    spec: &'a RunSpec,
    network: Arc<Network>,
    transports: &[TransportSpec],
    watch: Watch<'a>,
) -> Result<Outcome, RunError> {
    let of_flow: Arc<[u8]> = spec.flows.iter().map(|flow| flow.transport).collect();
    let machine = |number: u8, host: usize| {
        let transport = &transports[usize::from(number)];
        let made = Boxed { transport, context: network.host_context(host as u32, spec.seed) };
        visit(&transport.name, made)?.map(|machine| (number, machine))
    };
    let hosts = mixed::transports_of(spec, network.hosts()).into_iter().enumerate().map(|(host, numbers)| {
        let machines = numbers.into_iter().map(|number| machine(number, host)).collect::<Result<_, _>>()?;
        Ok(Mixed::new(machines, Arc::clone(&of_flow)))
    });
    let hosts = hosts.collect::<Result<Vec<_>, RunError>>()?;
    drive(spec, network, hosts, watch, |host: &Mixed| host.each().collect())
}
