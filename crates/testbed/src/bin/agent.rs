//! `headway-agent`: one host of a testbed. It runs in a network namespace of its own, sends the scenario's
//! flows of its host at their times, and reports arrivals.

#![allow(clippy::disallowed_methods, reason = "a program has arguments, threads and an exit status")]
#![allow(clippy::print_stdout, reason = "answers go to standard output")]

use clap::Parser;
use headway_host::{
    Admission, Config, Endpoint, Limits, Measured, MessageEvent, MessageEventKind, RoundTrip, SendHandle,
    SendOptions, SinkOf,
};
use headway_network::FlowSpec;
use headway_switch::Clock;
use headway_testbed::flow_log::FlowLog;
use headway_testbed::kernel::{KernelHost, Plan, Received, Running, Sent};
use headway_testbed::messages::{
    Answer, ControlCommand, HostReport, MachineReport, pack_gauge, print_answer, read_commands,
};
use headway_testbed::payload::{Inspection, Inspector, Payload};
use headway_testbed::{Job, JobArgs, cpu_seconds, run_first};
use headway_transport::{InitialWindow, Path};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// UDP port of every host's first transport; the second has the next one, and so on.
const PORT: u16 = headway_packet::UDP_PORT;
/// Memory of a flow that is under way: its bytes are made and compared as they pass.
const FLOW_MEMORY: u64 = 1 << 16;
/// Time that a real host adds to the longest round trip: waking up, twice on each side.
const HOST_DELAY: Time = Time::ms(2);

/// One host of a testbed; takes commands from standard input.
#[derive(Parser)]
#[command(name = "headway-agent", version)]
struct Arguments {
    #[command(flatten)]
    job: JobArgs,
    /// Number of the host in the scenario
    #[arg(long)]
    host: u32,
    /// Longest IPv4 packet in bytes
    #[arg(long)]
    mtu: u16,
    /// Reading of the monotonic clock, in nanoseconds, that is time zero
    #[arg(long)]
    origin_ns: u64,
    /// More addresses of this host, with commas between them, for more paths to hosts that have several
    #[arg(long, value_delimiter = ',', value_name = "ADDRESS:PORT")]
    addresses: Vec<SocketAddr>,
    /// Take commands from standard input; the agent always does
    #[arg(long)]
    managed: bool,
}

fn main() -> ExitCode {
    let (arguments, orders) = (Arguments::parse(), read_commands());
    match Agent::new(arguments).and_then(|agent| agent.serve_orders(&orders)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            print_answer(&Answer::Failed { why });
            ExitCode::from(2)
        }
    }
}

/// Longest wait before the next check for orders.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

fn expect_order(orders: &Receiver<ControlCommand>, wanted: ControlCommand) -> Result<(), String> {
    match orders.recv() {
        Ok(order) if order == wanted => Ok(()),
        Ok(order) => Err(format!("it was told to {order:?} where {wanted:?} comes next")),
        Err(_) => Err("its orders ended".into()),
    }
}

/// Interval between checks of the kernel's connections, if nothing is sampled.
const KERNEL_SAMPLES: Time = Time::ms(10);
/// Shortest time between them: each is a system call a connection.
const MOST_OFTEN: Time = Time::ms(1);

/// A host's endpoints, by number of their transport in the scenario.
type Endpoints = BTreeMap<u8, Endpoint>;

struct Agent {
    job: Job,
    host: u32,
    clock: Clock,
    mtu: u16,
    addresses: Vec<SocketAddr>,
    sealed: bool,
    seen: Arc<Mutex<FlowLog>>,
    /// Flows that come here, and the checks of their bytes, by sender and number of the message.
    inspections: Arc<FxHashMap<(SocketAddr, u32), (u32, Inspection)>>,
    /// Flows from here, by receiver and number of the message.
    leaving: Arc<FxHashMap<(SocketAddr, u32), u32>>,
    connections: Arc<Connections>,
}

/// Flows whose connections others go over, and those of them over which data has arrived.
#[derive(Default)]
struct Connections {
    carriers: BTreeSet<u32>,
    open: Mutex<BTreeSet<u32>>,
}

impl Connections {
    fn from_flows(flows: &[FlowSpec]) -> Connections {
        Connections { carriers: flows.iter().filter_map(|f| f.connection).collect(), open: Mutex::default() }
    }

    fn is_opened(&self, flow: u32) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(flow)
    }

    fn is_open(&self, flow: u32) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).contains(&flow)
    }

    /// Data of a flow has arrived here: the first of one that carries others is news to its sender.
    fn note_delivered(&self, flow: u32) {
        if self.carriers.contains(&flow) && self.is_opened(flow) {
            print_answer(&Answer::Opened { flow });
        }
    }
}

impl Agent {
    fn new(arguments: Arguments) -> Result<Agent, String> {
        let sizes = headway_testbed::scenario::packet_sizes(arguments.mtu, arguments.job.sealed);
        let job = Job::load_job(&arguments.job, sizes).map_err(|e| e.to_string())?;
        let seen = FlowLog::new(Time::ZERO, None);
        let mut agent = Agent {
            job,
            host: arguments.host,
            clock: Clock::from_origin(arguments.origin_ns),
            mtu: arguments.mtu,
            addresses: arguments.addresses,
            sealed: arguments.job.sealed,
            seen: Arc::new(Mutex::new(seen)),
            inspections: Arc::default(),
            leaving: Arc::default(),
            connections: Arc::default(),
        };
        agent.connections = Arc::new(Connections::from_flows(&agent.job.slow.flows));
        let (seed, piece) = (agent.job.slow.seed, agent.job.network.sizes().payload);
        let inspect = |flow| Inspection::new(Inspector::new(Payload::for_flow(seed, flow), piece));
        let here = agent.host;
        agent.leaving = Arc::new(agent.flows_by_message(|f| (f.src == here).then_some(f.dst)));
        let incoming = agent.flows_by_message(|f| (f.dst == here).then_some(f.src)).into_iter();
        agent.inspections = Arc::new(incoming.map(|(name, flow)| (name, (flow, inspect(flow)))).collect());
        Ok(agent)
    }

    fn host_address(&self, host: u32, transport: u8) -> SocketAddr {
        SocketAddr::new(self.job.addresses.of(host).into(), PORT + u16::from(transport))
    }

    /// Headway's own flows.
    fn own_flows(&self) -> impl Iterator<Item = (u32, &FlowSpec)> {
        (0..).zip(&self.job.slow.flows).filter(|(_, f)| self.job.kernel_of(f).is_none())
    }

    /// Carries out commands until the one to finish.
    fn serve_orders(self, orders: &Receiver<ControlCommand>) -> Result<(), String> {
        let own = self.outgoing_flows();
        // The namespaces and their interfaces are made while this program starts, so nothing may be bound
        // before.
        expect_order(orders, ControlCommand::Open)?;
        run_first(5);
        let endpoints = self.bind_endpoints()?;
        let kernel = KernelHost::open_host(Plan::for_host(&self.job, self.host))?;
        print_answer(&Answer::Ready);
        // Every host has bound its sockets by then, so that no first contact is lost.
        expect_order(orders, ControlCommand::Connect)?;
        self.connect_peers(&endpoints)?;
        print_answer(&Answer::Ready);
        let Ok(ControlCommand::Start { at_ns }) = orders.recv() else { return Ok(()) };
        let start = Time::ns(at_ns);
        let every = self.job.slow.sample.as_ref().map(|s| s.every);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = FlowLog::new(start, every);
        // The machines have measured the first contacts, which are not part of the run.
        let before = endpoints.values().map(|e| e.measured()).collect();
        let cpu_before = cpu_seconds();
        let over = Arc::new(AtomicBool::new(false));
        let running = Running {
            clock: self.clock,
            start,
            every: every.unwrap_or(KERNEL_SAMPLES).max(MOST_OFTEN),
            seen: self.seen.clone(),
            over: over.clone(),
        };
        let (failed, received, sent) = std::thread::scope(|scope| {
            for endpoint in endpoints.values() {
                scope.spawn(|| self.take_in(endpoint, start, &over));
            }
            let received = kernel.as_ref().map(|k| scope.spawn(|| k.receive_flows(&running, &print_answer)));
            let sent = kernel.as_ref().map(|k| scope.spawn(|| k.send_flows(&running)));
            let failed = self.send_all(&endpoints, orders, start, own);
            // The threads are joined after this, which orders all that they wrote.
            over.store(true, Ordering::Relaxed);
            (failed, received.map(|thread| thread.join()), sent.map(|thread| thread.join()))
        });
        let broken = |_| "a thread of the kernel's connections broke off".to_string();
        let received = received.transpose().map_err(broken)?.unwrap_or_default();
        let sent = sent.transpose().map_err(broken)?.unwrap_or_default();
        let mut report = self.host_report(&endpoints, before, failed);
        report.cpu_s -= cpu_before;
        add_kernels(&mut report, received, sent);
        print_answer(&Answer::Host(Box::new(report)));
        Ok(())
    }

    /// Flows of this host in order of start.
    fn outgoing_flows(&self) -> Vec<u32> {
        let mut own: Vec<u32> =
            self.own_flows().filter(|(_, f)| f.src == self.host).map(|(n, _)| n).collect();
        // The receiver numbers messages in this order, too.
        own.sort_by_key(|&f| (self.flow_spec(f).start, f));
        own
    }

    /// An endpoint for every transport that this host has flows of.
    fn bind_endpoints(&self) -> Result<Endpoints, String> {
        let here = |f: &FlowSpec| f.src == self.host || f.dst == self.host;
        let mut numbers: Vec<u8> =
            self.own_flows().filter(|(_, f)| here(f)).map(|(_, f)| f.transport).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let bound = |number| {
            let endpoint = Endpoint::bind(self.host_address(self.host, number), self.endpoint_config(number));
            endpoint.map(|e| (number, e)).map_err(|e| e.to_string())
        };
        numbers.into_iter().map(bound).collect()
    }

    fn endpoint_config(&self, number: u8) -> Config {
        let job = &self.job;
        let network = job.network.clone();
        let (host, addresses) = (self.host, job.addresses);
        let transport = &job.slow.transports[usize::from(number)];
        let path = move |peer: u32| {
            let path = network.path(host, peer);
            Path { max_rtt: path.max_rtt + HOST_DELAY, ..path }
        };
        let small = job.handshakes.clone();
        let handshake = move |peer: u32| small.path(host, peer).base_rtt;
        // The default path is needed although `path_to` knows all peers: some parameters of machines follow
        // from it.
        let peer = self.peer_hosts().first().copied().unwrap_or(host);
        let largest = job.slow.flows.iter().map(|f| f.bytes).max().unwrap_or(0);
        // No flow may be refused for memory, which the simulator has without end.
        let total = (job.slow.flows.len() as u64 * FLOW_MEMORY).max(1 << 30);
        let config = Config {
            transport: transport.name.clone(),
            params: transport.params.clone(),
            discipline: Some(job.slow.fabric.discipline.clone()),
            discipline_params: job.slow.fabric.params.clone(),
            // The slowed rate of the scenario's link, and not what the kernel says of a virtual interface.
            nic: Some(job.network.links()[host as usize].spec.rate),
            mtu: self.mtu,
            path: path(peer),
            round_trip: if job.ideal_round_trips { RoundTrip::Given } else { RoundTrip::Measured },
            path_to: Some(Arc::new(move |peer: SocketAddr| {
                addresses.host(peer.ip()).filter(|h| *h != host).map(&path)
            })),
            handshake_to: Some(Arc::new(move |peer: SocketAddr| {
                addresses.host(peer.ip()).filter(|h| *h != host).map(&handshake)
            })),
            // Flows are as in the simulator, which starts each at its own time.
            turns: false,
            admission: self.hosts_admission(),
            limits: Limits {
                total_bytes: total,
                peer_bytes: total,
                // `connect_peers` sends a byte.
                message_bytes: largest.max(1),
                ..Limits::default()
            },
            origin_ns: Some(self.clock.origin_ns()),
            observer: Some(self.message_observer()),
            // The testbed's switch does it at each of its ports.
            telemetry: true,
            addresses: self.addresses.clone(),
            sinks: Some(self.payload_sinks()),
            ..Config::default()
        };
        // Simulator and hosts cut flows into the same packets; without that no comparison holds.
        debug_assert_eq!(config.sizes(), *job.network.sizes());
        config
    }

    fn hosts_admission(&self) -> Admission {
        headway_testbed::scenario::hosts_admission(self.sealed)
    }

    /// Hosts that this host has flows with, either way.
    fn peer_hosts(&self) -> Vec<u32> {
        let of = |f: &FlowSpec| match self.host {
            host if f.src == host => Some(f.dst),
            host if f.dst == host => Some(f.src),
            _ => None,
        };
        let mut peers: Vec<u32> = self.job.slow.flows.iter().filter_map(of).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// Checks the bytes of flows to this host as they arrive.
    fn payload_sinks(&self) -> SinkOf {
        let inspections = self.inspections.clone();
        Arc::new(move |peer, message, _| {
            // The first contact has no entry, and is received like any message.
            let inspection = inspections.get(&(peer, message))?;
            Some(Box::new(inspection.1.clone()))
        })
    }

    /// Logs the events of messages to this host and from it.
    fn message_observer(&self) -> Arc<dyn Fn(&MessageEvent) + Send + Sync> {
        let (seen, flows) = (self.seen.clone(), self.inspections.clone());
        let (connections, leaving) = (self.connections.clone(), self.leaving.clone());
        Arc::new(move |progress: &MessageEvent| {
            let name = (progress.peer, progress.message);
            if let MessageEventKind::Repeated { bytes } = progress.what {
                let flow = leaving.get(&name);
                let log = |flow: &u32| {
                    seen.lock().unwrap_or_else(PoisonError::into_inner).note_repeated(*flow, bytes)
                };
                return flow.map_or((), log);
            }
            // Left out early: one of these comes for each packet that is sent, and none of them is logged.
            if matches!(progress.what, MessageEventKind::Sent { .. }) {
                return;
            }
            let Some(&(flow, _)) = flows.get(&name) else { return };
            if matches!(progress.what, MessageEventKind::Delivered { .. }) {
                connections.note_delivered(flow);
            }
            // After `connections.delivered`, which may write to standard output: no other thread waits for the log
            // meanwhile.
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            match progress.what {
                MessageEventKind::Delivered { bytes } => seen.note_delivered(progress.at, flow, bytes),
                MessageEventKind::Completed { .. } => seen.note_completed(flow),
                MessageEventKind::Marked => seen.note_marked(flow),
                _ => {}
            }
        })
    }

    /// Flows of which `other` says the host at their other end, by its address and the number of the message; number 0
    /// of each pair of endpoints is their first contact.
    fn flows_by_message(
        &self,
        other: impl Fn(&FlowSpec) -> Option<u32>,
    ) -> FxHashMap<(SocketAddr, u32), u32> {
        let with_peer = |(number, f): (u32, &FlowSpec)| {
            Some((f.start, number, self.host_address(other(f)?, f.transport)))
        };
        let mut order: Vec<(Time, u32, SocketAddr)> = self.own_flows().filter_map(with_peer).collect();
        // Messages have numbers in the order in which `send_all` sends them.
        order.sort_unstable_by_key(|(start, number, _)| (*start, *number));
        let mut next = FxHashMap::default();
        let mut table = FxHashMap::default();
        for (_, number, peer) in order {
            let message = next.entry(peer).or_insert(0);
            // Numbers of flows begin at 1, because 0 was the first contact.
            *message += 1;
            table.insert((peer, *message), number);
        }
        table
    }

    /// Sends a byte to every endpoint that flows go to, so that the handshake is over when they start.
    fn connect_peers(&self, endpoints: &Endpoints) -> Result<(), String> {
        let flows = self.own_flows().filter(|(_, f)| f.src == self.host);
        let mut peers: Vec<(u8, u32)> = flows.map(|(_, f)| (f.transport, f.dst)).collect();
        peers.sort_unstable();
        peers.dedup();
        for (transport, peer) in peers {
            endpoints[&transport]
                .send(self.host_address(peer, transport), vec![0])
                .map_err(|e| format!("no contact with h{peer}: {e}"))?;
        }
        Ok(())
    }

    /// Sends every flow at its time, then waits for the order to finish; flows that failed, and why; and how many began
    /// without the connection that they name.
    fn send_all(
        &self,
        endpoints: &Endpoints,
        orders: &Receiver<ControlCommand>,
        start: Time,
        own: Vec<u32>,
    ) -> (Vec<(u32, String)>, u64) {
        let mut unconnected = 0;
        let mut waiting = own.into_iter().peekable();
        let mut handles: Vec<(u32, SendHandle)> = Vec::new();
        let mut failed = Vec::new();
        loop {
            let now = self.clock.now();
            while let Some(flow) = waiting.next_if(|f| start + self.flow_spec(*f).start <= now) {
                unconnected += u64::from(self.lacks_connection(flow));
                match self.send_flow(&endpoints[&self.flow_spec(flow).transport], flow) {
                    Ok(handle) => handles.push((flow, handle)),
                    Err(error) => failed.push((flow, error.to_string())),
                }
            }
            let next = waiting.peek().map(|f| (start + self.flow_spec(*f).start).saturating_sub(now));
            // Rounded down, so that a flow is never late by the rounding; an early look costs one more turn.
            let wait = next.map_or(LONGEST_WAIT, |t| Duration::from_nanos(t.0 / 1000).min(LONGEST_WAIT));
            match orders.recv_timeout(wait) {
                Ok(ControlCommand::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(ControlCommand::Opened { flow }) => drop(self.connections.is_opened(flow)),
                _ => {}
            }
        }
        failed.extend(handles.iter().filter_map(|(flow, handle)| match handle.try_wait() {
            // A flow without an outcome is still under way: the run was stopped, which is not its failure.
            Some(Err(error)) => Some((*flow, error.to_string())),
            _ => None,
        }));
        (failed, unconnected)
    }

    /// True if the connection that a flow names is not open, so that it opens one of its own.
    fn lacks_connection(&self, number: u32) -> bool {
        self.flow_spec(number).connection.is_some_and(|carrier| !self.connections.is_open(carrier))
    }

    fn flow_spec(&self, number: u32) -> &FlowSpec {
        &self.job.slow.flows[number as usize]
    }

    fn send_flow(&self, endpoint: &Endpoint, number: u32) -> Result<SendHandle, headway_host::SendError> {
        let flow = self.flow_spec(number);
        // A flow over a connection that is not open yet opens one of its own, as in the simulator.
        let connected = flow.connection.is_some() && !self.lacks_connection(number);
        let options = SendOptions {
            initial_window: InitialWindow { connected, ..flow.begins() },
            class: flow.class,
            responsive: flow.responsive,
            entropy: Some(self.job.network.entropy(self.job.slow.seed, number, flow)),
        };
        let payload = Arc::new(Payload::for_flow(self.job.slow.seed, number));
        let peer = self.host_address(flow.dst, flow.transport);
        endpoint.send_stream(peer, flow.bytes, payload, options)
    }

    /// Takes messages in until it is over, and says which flow each was and whether its bytes are right.
    fn take_in(&self, endpoint: &Endpoint, start: Time, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let Ok(message) = endpoint.recv_timeout(LONGEST_WAIT) else { continue };
            let sent = (message.peer, message.message);
            let Some((flow, inspection)) = self.inspections.get(&sent) else { continue };
            // The time of the last byte's arrival, however late this thread takes the message.
            let at_ns = message.at.saturating_sub(start).0 / 1000;
            let intact = inspection.with_inspector(|i| i.is_intact(self.flow_spec(*flow).bytes));
            print_answer(&Answer::Done { flow: *flow, at_ns, intact });
        }
    }

    /// Base round trips to the hosts that flows of this host go to or come from.
    fn base_round_trips(&self, endpoints: &Endpoints) -> Vec<(u32, u64, u64)> {
        let of = endpoints.values().filter_map(Endpoint::measured).flat_map(|m| m.base_round_trips);
        let known = of.filter_map(|(peer, time)| Some((self.job.addresses.host(peer.ip())?, time)));
        let ideal = |peer| self.job.network.path(self.host, peer).base_rtt;
        known.map(|(peer, time)| (peer, ideal(peer).0 / 1000, time.0 / 1000)).collect()
    }

    fn host_report(
        &self,
        endpoints: &Endpoints,
        before: Vec<Option<Measured>>,
        (failed, unconnected): (Vec<(u32, String)>, u64),
    ) -> HostReport {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = seen.host_report(self.clock.now());
        // The log is not needed below, where the endpoints are asked and their threads may want it.
        drop(seen);
        (report.failed, report.unconnected) = (failed, unconnected);
        report.base_round_trips = self.base_round_trips(endpoints);
        let machines = endpoints.iter().zip(before);
        let machines =
            machines.filter_map(|((number, e), before)| Some((*number, measured_since(e, before)?)));
        report.machines = machines.map(machine_report).collect();
        report.dropped = endpoints
            .values()
            .flat_map(|e| e.stats().iter().filter_map(dropped_reason).collect::<Vec<_>>())
            .collect();
        let wrong = self.inspections.values().filter(|(_, i)| !i.with_inspector(Inspector::is_right_so_far));
        report.corrupted = wrong.map(|(flow, _)| *flow).collect();
        report.cpu_s = cpu_seconds();
        report
    }
}

/// Adds the results of the kernel's flows.
fn add_kernels(report: &mut HostReport, received: Received, sent: Sent) {
    report.corrupted.extend(received.corrupted);
    report.failed.extend(received.failed.into_iter().chain(sent.failed));
    report.retransmitted.extend(sent.retransmitted);
    report.marks.extend(sent.marks);
    report.machines.extend(sent.machines);
    report.dropped.push(("TCP connections of no flow".into(), received.strangers));
}

fn machine_report((transport, measured): (u8, Measured)) -> MachineReport {
    let gauges = measured.gauges.iter().map(pack_gauge).collect();
    MachineReport { transport, gauges, round_trips: measured.round_trips.as_ref().map(Into::into) }
}

/// Measurements of an endpoint's machine since `before`.
fn measured_since(endpoint: &Endpoint, before: Option<Measured>) -> Option<Measured> {
    let (mut now, before) = (endpoint.measured()?, before?);
    // One machine reports its gauges in the same order each time.
    for (gauge, then) in now.gauges.iter_mut().zip(&before.gauges) {
        *gauge = gauge.since(now.at, then, before.at);
    }
    now.round_trips = now.round_trips.zip(before.round_trips).map(|(all, first)| all.since(&first));
    Some(now)
}

/// A counter of datagrams that were lost at an endpoint, with its reason in words; `None` for any other.
fn dropped_reason((name, count): (&'static str, u64)) -> Option<(String, u64)> {
    let why = match name {
        "send_errors" => "refused by the kernel",
        _ => name.strip_prefix("dropped_")?,
    };
    Some((why.replace('_', " "), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counters_of_lost_datagrams_are_reported_as_drops() {
        let counted = |name| dropped_reason((name, 3));
        assert_eq!(counted("dropped_old_epoch"), Some(("old epoch".into(), 3)));
        assert_eq!(counted("send_errors"), Some(("refused by the kernel".into(), 3)));
        for name in ["datagrams_sent", "marks_received", "messages_failed", "answers_withheld"] {
            assert_eq!(counted(name), None, "{name}");
        }
        let stats = headway_host::Stats::default();
        assert!(stats.iter().filter_map(dropped_reason).count() > 10, "the names are those of the counters");
    }
}
