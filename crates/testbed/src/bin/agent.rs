//! `headway-agent`: one host of a testbed. It runs in a network namespace of its own, sends the scenario's
//! flows of its host at their times, and reports what arrives.

#![allow(clippy::disallowed_methods, reason = "a program has arguments, threads and an exit status")]
#![allow(clippy::print_stdout, reason = "answers go to standard output")]

use clap::Parser;
use headway_host::{Admission, Config, Endpoint, Limits, Progress, SendHandle, SendOptions, Step};
use headway_network::FlowSpec;
use headway_switch::Clock;
use headway_testbed::diary::Diary;
use headway_testbed::messages::{Answer, Command, HostReport, listen, say};
use headway_testbed::{Job, JobArgs, cpu_seconds, payload, run_first};
use headway_transport::Path;
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::net::{SocketAddr, SocketAddrV4};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// UDP port of every host.
const PORT: u16 = headway_packet::UDP_PORT;
/// What a real host adds to the longest round trip: waking up, twice on each side.
const HOST_DELAY: Time = Time::ms(2);

/// One host of a testbed; takes commands from standard input.
#[derive(Parser)]
#[command(name = "headway-agent", version)]
struct Arguments {
    #[command(flatten)]
    job: JobArgs,
    /// Which host of the scenario
    #[arg(long)]
    host: u32,
    /// Longest IPv4 packet in bytes
    #[arg(long)]
    mtu: u16,
    /// Reading of the monotonic clock, in nanoseconds, that is time zero
    #[arg(long)]
    origin_ns: u64,
    /// Take commands from standard input, as always
    #[arg(long)]
    managed: bool,
}

fn main() -> ExitCode {
    let (arguments, orders) = (Arguments::parse(), listen());
    match Agent::new(arguments).and_then(|agent| agent.serve(&orders)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&Answer::Failed { why });
            ExitCode::from(2)
        }
    }
}

/// Longest wait before orders are looked at again.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

fn expect(orders: &Receiver<Command>, wanted: Command) -> Result<(), String> {
    match orders.recv() {
        Ok(order) if order == wanted => Ok(()),
        Ok(order) => Err(format!("it was told to {order:?} where {wanted:?} comes next")),
        Err(_) => Err("its orders ended".into()),
    }
}

struct Agent {
    job: Job,
    host: u32,
    clock: Clock,
    mtu: u16,
    seen: Arc<Mutex<Diary>>,
}

impl Agent {
    fn new(arguments: Arguments) -> Result<Agent, String> {
        let sizes = headway_testbed::scenario::sizes(arguments.mtu);
        let job = Job::load(&arguments.job, sizes).map_err(|e| e.to_string())?;
        let seen = Diary::new(Time::ZERO, None);
        Ok(Agent {
            job,
            host: arguments.host,
            clock: Clock::from_origin(arguments.origin_ns),
            mtu: arguments.mtu,
            seen: Arc::new(Mutex::new(seen)),
        })
    }

    fn address(&self, host: u32) -> SocketAddrV4 {
        SocketAddrV4::new(self.job.addresses.of(host), PORT)
    }

    /// Obeys until told to finish.
    fn serve(self, orders: &Receiver<Command>) -> Result<(), String> {
        let payloads = self.payloads();
        expect(orders, Command::Open)?;
        run_first(5);
        let endpoint = Endpoint::bind(self.address(self.host), self.config()).map_err(|e| e.to_string())?;
        say(&Answer::Ready);
        expect(orders, Command::Connect)?;
        self.connect(&endpoint)?;
        say(&Answer::Ready);
        let Ok(Command::Start { at_ns }) = orders.recv() else { return Ok(()) };
        let start = Time::ns(at_ns);
        let every = self.job.slow.sample.as_ref().map(|s| s.every);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Diary::new(start, every);
        let over = AtomicBool::new(false);
        let failed = std::thread::scope(|scope| {
            scope.spawn(|| self.take_in(&endpoint, start, &over));
            let failed = self.send_all(&endpoint, orders, start, payloads);
            over.store(true, Ordering::Relaxed);
            failed
        });
        say(&Answer::Host(self.report(&endpoint, failed)));
        Ok(())
    }

    /// Flows of this host in order of start, and what they carry.
    fn payloads(&self) -> Vec<(u32, Vec<u8>)> {
        let flows = &self.job.slow.flows;
        let own = (0..flows.len() as u32).filter(|&f| flows[f as usize].src == self.host);
        let mut own: Vec<u32> = own.collect();
        own.sort_by_key(|&f| (flows[f as usize].start, f));
        let seed = self.job.slow.seed;
        own.into_iter().map(|f| (f, payload::generate(seed, f, flows[f as usize].bytes))).collect()
    }

    fn config(&self) -> Config {
        let job = &self.job;
        let network = job.network.clone();
        let (host, addresses) = (self.host, job.addresses);
        let transport = &job.slow.transports[0];
        let path = move |peer: u32| {
            let path = network.path(host, peer);
            Path { max_rtt: path.max_rtt + HOST_DELAY, ..path }
        };
        let peer = self.peers().first().copied().unwrap_or(host);
        let (sizes, largest) =
            (job.network.sizes(), job.slow.flows.iter().map(|f| f.bytes).max().unwrap_or(0));
        debug_assert_eq!(headway_host::sizes(self.mtu, &self.admission()), *sizes);
        let total = job.slow.flows.iter().map(|f| f.bytes + (1 << 20)).sum::<u64>().max(1 << 30);
        Config {
            transport: transport.name.clone(),
            params: transport.params.clone(),
            discipline: Some(job.slow.fabric.discipline.clone()),
            discipline_params: job.slow.fabric.params.clone(),
            nic: Some(job.network.links()[host as usize].spec.rate),
            mtu: self.mtu,
            path: path(peer),
            path_to: Some(Arc::new(move |peer: SocketAddrV4| {
                addresses.host(*peer.ip()).filter(|h| *h != host).map(&path)
            })),
            admission: self.admission(),
            limits: Limits {
                total_bytes: total,
                peer_bytes: total,
                message_bytes: largest.max(1),
                ..Limits::default()
            },
            origin_ns: Some(self.clock.origin_ns()),
            observer: Some(self.observer()),
            ..Config::default()
        }
    }

    fn admission(&self) -> Admission {
        headway_testbed::scenario::admission()
    }

    /// Hosts that this host has flows with, either way.
    fn peers(&self) -> Vec<u32> {
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

    /// Writes down what the endpoint's thread says of flows that come here.
    fn observer(&self) -> Arc<dyn Fn(&Progress) + Send + Sync> {
        let (seen, flows) = (self.seen.clone(), self.incoming());
        Arc::new(move |progress: &Progress| {
            let Some(&flow) = flows.get(&(progress.peer, progress.message)) else { return };
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            match progress.what {
                Step::Delivered { bytes } => seen.delivered(progress.at, flow, bytes),
                Step::Completed { .. } => seen.completed(flow),
                _ => {}
            }
        })
    }

    /// Flow by sender and number of the message; number 0 of each pair of hosts is their first contact.
    fn incoming(&self) -> FxHashMap<(SocketAddrV4, u32), u32> {
        let flows = &self.job.slow.flows;
        let mut order: Vec<u32> = (0..flows.len() as u32).collect();
        order.sort_by_key(|&f| (flows[f as usize].start, f));
        let mut next = FxHashMap::default();
        let mut table = FxHashMap::default();
        for flow in order.into_iter().filter(|&f| flows[f as usize].dst == self.host) {
            let sender = flows[flow as usize].src;
            let number = next.entry(sender).or_insert(0);
            *number += 1;
            table.insert((self.address(sender), *number), flow);
        }
        table
    }

    /// Sends a byte to every host that flows go to, so that the handshake is over when they start.
    fn connect(&self, endpoint: &Endpoint) -> Result<(), String> {
        let flows = self.job.slow.flows.iter().filter(|f| f.src == self.host);
        let mut peers: Vec<u32> = flows.map(|f| f.dst).collect();
        peers.sort_unstable();
        peers.dedup();
        for peer in peers {
            endpoint
                .send(SocketAddr::V4(self.address(peer)), vec![0])
                .map_err(|e| format!("no contact with h{peer}: {e}"))?;
        }
        Ok(())
    }

    /// Sends every flow at its time, then waits for the order to finish; flows that failed, and why.
    fn send_all(
        &self,
        endpoint: &Endpoint,
        orders: &Receiver<Command>,
        start: Time,
        payloads: Vec<(u32, Vec<u8>)>,
    ) -> Vec<(u32, String)> {
        let mut waiting = payloads.into_iter().peekable();
        let mut handles: Vec<(u32, SendHandle)> = Vec::new();
        let mut failed = Vec::new();
        loop {
            let now = self.clock.now();
            while let Some((flow, bytes)) = waiting.next_if(|(f, _)| start + self.flow(*f).start <= now) {
                match self.send(endpoint, flow, bytes) {
                    Ok(handle) => handles.push((flow, handle)),
                    Err(error) => failed.push((flow, error.to_string())),
                }
            }
            let next = waiting.peek().map(|(f, _)| (start + self.flow(*f).start).saturating_sub(now));
            let wait = next.map_or(LONGEST_WAIT, |t| Duration::from_nanos(t.0 / 1000).min(LONGEST_WAIT));
            match orders.recv_timeout(wait) {
                Ok(Command::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                _ => {}
            }
        }
        failed.extend(handles.iter().filter_map(|(flow, handle)| match handle.try_wait() {
            Some(Err(error)) => Some((*flow, error.to_string())),
            _ => None,
        }));
        failed
    }

    fn flow(&self, number: u32) -> &FlowSpec {
        &self.job.slow.flows[number as usize]
    }

    fn send(
        &self,
        endpoint: &Endpoint,
        number: u32,
        bytes: Vec<u8>,
    ) -> Result<SendHandle, headway_host::SendError> {
        let flow = self.flow(number);
        let options = SendOptions {
            opening: flow.opening,
            class: flow.class,
            responsive: flow.responsive,
            entropy: Some(self.job.network.entropy(self.job.slow.seed, number, flow)),
        };
        endpoint.send_with(SocketAddr::V4(self.address(flow.dst)), bytes, options)
    }

    /// Takes messages in until it is over, and says which flow each was and whether its bytes are right.
    fn take_in(&self, endpoint: &Endpoint, start: Time, over: &AtomicBool) {
        let flows = self.incoming();
        while !over.load(Ordering::Relaxed) {
            let Ok(message) = endpoint.recv_timeout(LONGEST_WAIT) else { continue };
            let SocketAddr::V4(peer) = message.peer else { continue };
            let Some(&flow) = flows.get(&(peer, message.message)) else { continue };
            let at_ns = message.at.saturating_sub(start).0 / 1000;
            let intact = payload::is_intact(self.job.slow.seed, flow, self.flow(flow).bytes, &message.bytes);
            say(&Answer::Done { flow, at_ns, intact });
        }
    }

    fn report(&self, endpoint: &Endpoint, failed: Vec<(u32, String)>) -> HostReport {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = seen.report(self.clock.now());
        report.failed = failed;
        report.dropped = endpoint.stats().iter().filter_map(dropped).collect();
        report.cpu_s = cpu_seconds();
        report
    }
}

/// A counter of datagrams that were lost at an endpoint, with its reason in words; `None` for any other.
fn dropped((name, count): (&'static str, u64)) -> Option<(String, u64)> {
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
        let counted = |name| dropped((name, 3));
        assert_eq!(counted("dropped_old_epoch"), Some(("old epoch".into(), 3)));
        assert_eq!(counted("send_errors"), Some(("refused by the kernel".into(), 3)));
        for name in ["datagrams_sent", "marks_received", "messages_failed", "answers_withheld"] {
            assert_eq!(counted(name), None, "{name}");
        }
        let stats = headway_host::Stats::default();
        assert!(stats.iter().filter_map(dropped).count() > 10, "the names are those of the counters");
    }
}
