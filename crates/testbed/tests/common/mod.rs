//! Two arms for one test body.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]
#![allow(clippy::disallowed_methods, reason = "the testbed's arm is made of processes and files")]

use headway_network::{FlowState, LinkRecord, Outcome};
use headway_packet::Sizes;
use headway_switch::IoChoice;
use headway_testbed::{Job, JobArgs, Programs, Settings, TestbedError, namespaces, run_testbed, slowdown};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// MTU of the testbed's interfaces.
pub const MTU: u16 = 1500;

/// One arm's result, in the scenario's own units.
pub struct Run {
    /// Name of the arm.
    pub arm: &'static str,
    pub outcome: Outcome,
    pub sizes: Sizes,
    /// Flows with other bytes than were sent.
    pub corrupted: usize,
}

impl Run {
    /// Data packets of a message.
    pub fn message_packets(&self, bytes: u64) -> u64 {
        self.sizes.packets_of(bytes)
    }

    /// Number of flows that are done.
    pub fn done_count(&self) -> usize {
        self.outcome.flows.iter().filter(|f| f.state == FlowState::Done).count()
    }
}

/// A link's record.
pub fn find_link<'a>(run: &'a Run, name: &str) -> &'a LinkRecord {
    run.outcome.links.iter().find(|l| l.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

/// The machine has one testbed: runs in real time take turns.
pub fn testbed_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the prerequisites of a testbed that this machine lacks, without the advice that follows.
pub fn note_absent(what: &str) {
    let first = what.trim_start_matches("the testbed needs ");
    headway_testing::absent(&format!("testbed: {}", first.split(':').next().unwrap_or_default()));
}

/// True if this machine can run a testbed; otherwise notes the reason.
pub fn testbed_available() -> bool {
    match namespaces::check_prerequisites() {
        Ok(()) => true,
        Err(TestbedError::Missing(what)) => {
            note_absent(&what);
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// The programs that cargo built for this test.
pub fn built_programs() -> Programs {
    Programs::find_within(Path::new(env!("CARGO_BIN_EXE_headway-agent")).parent().expect("a directory"))
        .expect("cargo builds them for tests of this package")
}

/// A scenario in a file, for as long as the value lives.
pub fn scenario_file(text: &str) -> (tempfile::NamedTempFile, JobArgs) {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    let args = JobArgs { scenario: file.path().into(), ..JobArgs::default() };
    (file, args)
}

/// Runs a scenario in the simulator and, where that is possible, on the testbed.
pub fn run_arms(text: &str) -> Vec<Run> {
    let (_file, args) = scenario_file(text);
    let sizes = headway_testbed::scenario::packet_sizes(MTU, false);
    let job = Job::load_job(&args, sizes).expect("a good scenario");
    let mut outcome = headway_sim::run(&job.slow, &mut |_| true).expect("it runs");
    // The simulator runs the slowed network as well, so that both results are converted by the same code.
    slowdown::speed_up(&mut outcome, job.factor);
    let mut runs = vec![Run { arm: "simulator", outcome, sizes, corrupted: 0 }];
    if testbed_available() {
        // After the simulation, which needs no turn.
        let _turn = testbed_turn();
        let settings = Settings {
            programs: built_programs(),
            mtu: MTU.into(),
            sizes,
            capture: None,
            io: IoChoice::Auto,
        };
        let measured = run_testbed(&args, &settings, &mut |_| true).expect("it runs");
        let corrupted = measured.notes.corrupted.len();
        runs.push(Run { arm: "testbed", outcome: measured.outcome, sizes, corrupted });
    }
    runs
}

/// Violations of the counters of ports: a port dropped, returned or queued all that it received, no more than that left
/// it, no queue was longer than any can be, and packets that arrived at ports of switches had left other ports.
pub fn broken_identities(outcome: &Outcome) -> Vec<String> {
    let mut found: Vec<String> = outcome.links.iter().flat_map(broken_at).collect();
    let sum = |of: &dyn Fn(&LinkRecord) -> u64| outcome.links.iter().map(of).sum::<u64>();
    // Faults act on packets that have left their port: a copy arrives as well, and a dropped packet does not.
    let left = sum(&|l| l.counters.dequeued + l.faults.duplicated - l.faults.dropped());
    let arrived = sum(&|l| if l.from_switch { l.counters.received } else { 0 });
    if arrived > left {
        found.push(format!("{arrived} packets arrived at ports of {left} that left others"));
    }
    found
}

/// Most packets that the switch could hold at a port.
const MOST_PACKETS: u32 = 1 << 20;

fn broken_at(link: &LinkRecord) -> Vec<String> {
    let (c, name) = (&link.counters, &link.name);
    let mut found = Vec::new();
    let left = c.drops() + c.returned + c.enqueued;
    if c.received != left {
        found.push(format!("{name}: {} received, {left} dropped, returned or enqueued", c.received));
    }
    if c.dequeued > c.enqueued {
        found.push(format!("{name}: {} dequeued of {} enqueued", c.dequeued, c.enqueued));
    }
    if c.queue_max_packets > MOST_PACKETS {
        found.push(format!("{name}: a queue of {} packets", c.queue_max_packets));
    }
    found
}
