//! The run itself: processes, namespaces, a common clock, and the results.

#![allow(clippy::disallowed_methods, reason = "the testbed lives in real time")]

use crate::child::{ChildEvent, ChildEvents, ChildProcess};
use crate::messages::{Answer, ControlCommand};
use crate::outcome::{Heard, Notes, assemble_outcome};
use crate::{Job, JobArgs, TestbedError, kernel, namespaces};
use headway_network::{Outcome, Progress};
use headway_packet::Sizes;
use headway_switch::{Clock, IoChoice};
use headway_units::Time;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time that children may take to get ready, in addition to the round trips that they need for it.
const READY: Duration = Duration::from_secs(20);
/// Round trips in which two hosts meet and measure how long one takes, and as many again for losses.
const MEETING: u32 = 24;
/// Time between the command to start and the start, so that every host has received it.
const LEAD: Time = Time::ms(200);
/// Time after a run's end for the last reports.
const REPORTS: Duration = Duration::from_secs(30);
/// Interval between calls of the progress function.
const PROGRESS: Duration = Duration::from_millis(100);

/// Paths of the testbed's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// Path of the program `headway-switch`.
    pub switch: PathBuf,
    /// Path of the program `headway-agent`.
    pub agent: PathBuf,
}

impl Programs {
    /// Both in one directory; says which is missing.
    pub fn find_within(directory: &std::path::Path) -> Result<Programs, TestbedError> {
        let find = |name: &str| {
            let path = directory.join(name);
            if path.is_file() {
                return Ok(path);
            }
            Err(TestbedError::Missing(format!("the program {} (`make install` builds it)", path.display())))
        };
        Ok(Programs { switch: find("headway-switch")?, agent: find("headway-agent")? })
    }
}

/// Settings of a testbed run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Paths of the programs of switch and hosts.
    pub programs: Programs,
    /// Longest IPv4 packet on these wires, in bytes.
    pub mtu: u32,
    /// Sizes of the packets that hosts send with this MTU.
    pub sizes: Sizes,
    /// Pcapng file for every frame that the switch sees.
    pub capture: Option<PathBuf>,
    /// Packet I/O of the switch.
    pub io: IoChoice,
}

/// Results of a testbed run.
pub struct Measured {
    /// Outcome as from the simulator, in the scenario's own units.
    pub outcome: Outcome,
    /// Notes that have no place in the simulator's results.
    pub notes: Notes,
    /// The job that was run.
    pub job: Job,
}

/// Runs a scenario. `progress` is called ten times a second; `false` stops the run, and the outcome holds
/// what happened until then. Whatever happens, no process and no namespace stays behind.
pub fn run_testbed(
    args: &JobArgs,
    settings: &Settings,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Measured, TestbedError> {
    let job = Job::load_job(args, settings.sizes)?;
    job.check_traffic()?;
    kernel::check_kernel(&job)?;
    namespaces::check_prerequisites()?;
    // The factor is passed on explicitly, so that no child comes to another one.
    let args =
        JobArgs { slowdown: Some(job.factor), scenario: absolute_path(&args.scenario)?, ..args.clone() };
    let mut stage = Stage::set_up(&job, &args, settings)?;
    let heard = stage.play_scenario(&job, progress)?;
    let (outcome, notes) = assemble_outcome(&job, heard)?;
    Ok(Measured { outcome, notes, job })
}

fn absolute_path(path: &std::path::Path) -> Result<PathBuf, TestbedError> {
    std::path::absolute(path)
        .map_err(|source| TestbedError::Io { step: format!("finding {}", path.display()), source })
}

/// All processes of a run: the switch, then a host each.
struct Stage {
    children: Vec<ChildProcess>,
    /// The hosts behind the switch.
    hosts: Vec<u32>,
    events: ChildEvents,
    clock: Clock,
    /// Hosts whose kernels send faster than their links, and why.
    unshaped: Vec<(u32, String)>,
}

/// Longest time until all hosts have met: a slowed-down round trip may take seconds.
fn time_to_meet(job: &Job) -> Duration {
    let trips = job.slow.flows.iter().map(|flow| job.network.path(flow.src, flow.dst).base_rtt);
    READY + Duration::from_nanos(trips.max().unwrap_or(Time::ZERO).0 / 1000).saturating_mul(MEETING)
}

impl Stage {
    /// Starts everybody and joins their namespaces.
    fn set_up(job: &Job, args: &JobArgs, settings: &Settings) -> Result<Stage, TestbedError> {
        let clock = Clock::start();
        let (sender, events) = ChildEvents::new();
        let hosts = job.active_hosts();
        let origin = format!("--origin-ns={}", clock.origin_ns());
        let mtu = format!("--mtu={}", settings.mtu);
        let mut arguments = args.to_arguments();
        arguments.extend([origin, mtu, "--managed".to_string()]);
        let ports = hosts.iter().map(|h| format!("--port=h{h}={}", namespaces::switch_interface(*h)));
        let capture = settings.capture.iter().map(|path| format!("--capture={}", path.display()));
        let io = std::iter::once(format!("--io={}", settings.io.word()));
        let for_switch: Vec<String> =
            arguments.iter().cloned().chain(ports).chain(capture).chain(io).collect();
        let programs = &settings.programs;
        let mut children =
            vec![ChildProcess::spawn_child("switch".into(), &programs.switch, &for_switch, 0, &sender)?];
        for (i, host) in hosts.iter().enumerate() {
            let mut own = arguments.clone();
            own.push(format!("--host={host}"));
            children.push(ChildProcess::spawn_child(
                format!("host h{host}"),
                &programs.agent,
                &own,
                i + 1,
                &sender,
            )?);
        }
        let pids: Vec<(u32, u32)> = hosts.iter().zip(&children[1..]).map(|(h, c)| (*h, c.pid())).collect();
        // Made before anything can fail: dropped children are killed, and their namespaces go with them.
        let mut stage = Stage { children, hosts, events, clock, unshaped: Vec::new() };
        if let Err(error) =
            namespaces::join_hosts(stage.children[0].pid(), &pids, &job.addresses, settings.mtu)
        {
            // A child that could not start takes its namespace with it: its own words say more.
            return Err(stage.early_end().unwrap_or(error));
        }
        // Before sockets are bound: a first window belongs to a route, and connections take it over when they
        // open.
        stage.prepare_kernels(job, &pids, settings.mtu)?;
        for (order, limit) in [(ControlCommand::Open, READY), (ControlCommand::Connect, time_to_meet(job))] {
            stage.tell_all(order);
            stage.events.all_ready(&mut stage.children, limit)?;
        }
        Ok(stage)
    }

    /// Slows kernels that send by TCP of their own down to the rates of their links, and gives those of multipath TCP a
    /// second address.
    fn prepare_kernels(&mut self, job: &Job, pids: &[(u32, u32)], mtu: u32) -> Result<(), TestbedError> {
        for &(host, pid) in pids {
            let stacks: Vec<_> = job.kernels_at(host).collect();
            if stacks.is_empty() {
                continue;
            }
            if stacks.iter().any(|kernel| kernel.mptcp) {
                namespaces::add_path(pid, host, &self.hosts, &job.addresses)?;
            }
            if let Ok(Some(packets)) = kernel::first_window(&job.kernels_from(host)) {
                namespaces::set_first_window(pid, job.addresses.of(host), packets)?;
            }
            let rate = job.network.links()[host as usize].spec.rate;
            if let Err(why) = namespaces::shape_rate(pid, rate, mtu) {
                // Not an error: the run is still right, with queues at the switch in place of the host, and
                // says so.
                self.unshaped.push((host, why));
            }
        }
        Ok(())
    }

    fn early_end(&mut self) -> Option<TestbedError> {
        let (number, said) = self.events.next_event(Instant::now() + Duration::from_millis(200))?;
        let child = &mut self.children[number];
        let why = match said {
            ChildEvent::Answer(Answer::Failed { why }) => why,
            ChildEvent::Ended(complaint) => child.end_clause(&complaint),
            ChildEvent::Answer(_) => return None,
        };
        Some(child.failed_error(why))
    }

    fn tell_all(&mut self, order: ControlCommand) {
        self.children.iter_mut().for_each(|child| child.send_command(order));
    }

    /// Starts the scenario, waits for its end, and gathers the reports.
    fn play_scenario(
        &mut self,
        job: &Job,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Heard, TestbedError> {
        let start = self.clock.now() + LEAD;
        self.tell_all(ControlCommand::Start { at_ns: start.0 / 1000 });
        let unshaped = std::mem::take(&mut self.unshaped);
        let mut heard = Heard { start, unshaped, ..Heard::default() };
        let wanted = job.slow.flows.iter().filter(|f| f.responsive).count();
        let end = start.saturating_add(job.slow.stop);
        let mut asked = Instant::now();
        while heard.done.len() < wanted && self.clock.now() < end {
            let left = Duration::from_nanos((end.saturating_sub(self.clock.now()).0 / 1000).max(1));
            if let Some((number, said)) = self.events.next_event(Instant::now() + left.min(PROGRESS)) {
                self.note_event(job, number, said, &mut heard)?;
            }
            if asked.elapsed() >= PROGRESS {
                asked = Instant::now();
                if !progress(&self.current_progress(job, start, &heard)) {
                    heard.interrupted = true;
                    break;
                }
            }
        }
        // Counted once more after the loop, which may end by time with the last flow just done.
        heard.whole = heard.done.len() == wanted;
        heard.lasted = match heard.whole {
            // The last flow's own finish time, however late this process heard of it.
            true => heard.done.values().map(|(at, _)| *at).max().unwrap_or(Time::ZERO),
            false => self.clock.now().saturating_sub(start).min(job.slow.stop),
        };
        self.tell_all(ControlCommand::Finish);
        self.collect_reports(job, &mut heard)?;
        Ok(heard)
    }

    fn current_progress(&self, job: &Job, start: Time, heard: &Heard) -> Progress {
        Progress {
            now: self.clock.now().saturating_sub(start) / job.factor,
            stop: job.slow.stop / job.factor,
            events: 0,
            flows_done: heard.done.len() as u64,
            flows_total: job.slow.flows.len() as u64,
            ..Progress::OVER
        }
    }

    fn note_event(
        &mut self,
        job: &Job,
        number: usize,
        said: ChildEvent,
        heard: &mut Heard,
    ) -> Result<(), TestbedError> {
        let child = &mut self.children[number];
        match said {
            ChildEvent::Answer(Answer::Done { flow, at_ns, intact }) => {
                heard.done.insert(flow, (Time::ns(at_ns), intact));
            }
            ChildEvent::Answer(Answer::Opened { flow }) => self.pass_on(job, flow),
            ChildEvent::Answer(Answer::Host(report)) => heard.hosts.push(*report),
            ChildEvent::Answer(Answer::Switch(report)) => heard.switch = Some(*report),
            ChildEvent::Answer(Answer::Ready) => {}
            ChildEvent::Answer(Answer::Failed { why }) => return Err(child.failed_error(why)),
            ChildEvent::Ended(complaint) => {
                let why = child.end_clause(&complaint);
                return Err(child.failed_error(why));
            }
        }
        Ok(())
    }

    /// Tells a flow's sender that its connection is open; its receiver knows.
    fn pass_on(&mut self, job: &Job, flow: u32) {
        let sender = job.slow.flows.get(flow as usize).map(|f| f.src);
        let place = self.hosts.iter().position(|host| Some(*host) == sender);
        // Child 0 is the switch.
        if let Some(child) = place.and_then(|place| self.children.get_mut(place + 1)) {
            child.send_command(ControlCommand::Opened { flow });
        }
    }

    /// Waits for every child's last words.
    fn collect_reports(&mut self, job: &Job, heard: &mut Heard) -> Result<(), TestbedError> {
        let deadline = Instant::now() + REPORTS;
        let mut waiting = vec![true; self.children.len()];
        while let Some(silent) = waiting.iter().position(|w| *w) {
            let Some((number, said)) = self.events.next_event(deadline) else {
                let why = format!("it did not report within {} s", REPORTS.as_secs());
                return Err(self.children[silent].failed_error(why));
            };
            match said {
                ChildEvent::Answer(Answer::Host(_) | Answer::Switch(_)) => waiting[number] = false,
                // Having reported, a child ends.
                ChildEvent::Ended(_) if !waiting[number] => continue,
                _ => {}
            }
            self.note_event(job, number, said, heard)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn hosts_that_are_far_apart_have_time_to_meet() {
        let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
        let text = "[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"1 Mbps\"\ndelay = \"50 ms\"\n\
            [transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"permutation\"\nbytes = 1000\n";
        file.write_all(text.as_bytes()).expect("written");
        let time = |slowdown| {
            let args =
                JobArgs { scenario: file.path().into(), slowdown: Some(slowdown), ..JobArgs::default() };
            time_to_meet(
                &Job::load_job(&args, crate::scenario::packet_sizes(1500, false)).expect("a good scenario"),
            )
        };
        // 200 ms of links, and the time of a packet.
        assert!(time(1) > READY + Duration::from_millis(4800) && time(1) < READY + Duration::from_secs(6));
        assert!(time(100) > READY + Duration::from_secs(480));
    }
}
