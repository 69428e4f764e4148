//! A virtual-time network for transports, and the promises every transport has to keep on it.
//!
//! [`network::Mesh`] joins a few hosts, one machine each, by links that lose, repeat, delay and
//! reorder packets as a [`plan::Plan`] says. [`ledger::Ledger`] watches every packet and every event
//! and raises a [`ledger::Violation`] at the first broken promise. [`check_seeds`] runs plans made from
//! seeds; a failing one is shrunk and printed with its last steps. [`check_plans`] with [`run_machine`] does so
//! for a machine that is in no registry.
//!
//! Nothing here knows a protocol, but for the rule in [`ledger`] that says what counts as permission.

pub mod ledger;
pub mod mutant;
pub mod network;
pub mod plan;

use headway_packet::Sizes;
use headway_params::{ParamSpec, Params};
use headway_transport::promises::{Promised, Promises};
use headway_transport::registry::{self, PromisedVisitor};
use headway_transport::{Endpoint, HostContext};
use headway_units::Time;
use ledger::{Expected, Violation};
use mutant::{Fault, Mutant};
use network::{Mesh, Outcome};
use plan::Plan;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::Cell;
use std::fmt;
use std::ops::Range;

/// Largest number of steps by which a failing plan is shrunk.
const SHRINKS: u32 = 3000;

/// Reads the declarations of a transport that the network needs.
struct Declared;

impl PromisedVisitor for Declared {
    type Output = (Expected, &'static str, Vec<ParamSpec>);

    fn visit_promised_transport<T: Promised>(self) -> Self::Output {
        (Expected::of_transport::<T>(), T::INFO.discipline, T::Params::specs())
    }
}

/// The network of a plan, with machines of the transport called `name` that have a fault; `None` if the name is
/// unknown. The machines are behind pointers, so that the network is compiled once and not for every transport.
pub fn build_mesh<'a>(
    name: &str,
    plan: &'a Plan,
    fault: Fault,
    trace: bool,
) -> Option<Mesh<'a, Mutant<Box<dyn Endpoint>>>> {
    let (expected, discipline, specs) = registry::visit_promised(name, Declared)?;
    let set: Vec<_> = plan::chosen_values(&specs, &plan.parameters)
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .collect();
    let make = |context: HostContext| {
        let machine: Box<dyn Endpoint> = registry::make_machine(name, &set, context)
            .expect("a registered transport")
            .expect("a value in the declared range");
        Mutant::new(machine, fault)
    };
    // Every discipline that trims is called so.
    let mut mesh = Mesh::new(plan, discipline.starts_with("trimming"), trace, &make);
    mesh.ledger.expect_behaviour(expected);
    Some(mesh)
}

/// Promises of a transport for a plan's first message, with the parameters of the plan.
pub fn plan_promises(name: &str, plan: &Plan) -> Promises {
    struct Ask<'a>(&'a Plan);
    impl PromisedVisitor for Ask<'_> {
        type Output = Promises;
        fn visit_promised_transport<T: Promised>(self) -> Promises {
            let params = plan::chosen_parameters::<T::Params>(&self.0.parameters);
            T::make_promises(
                &params,
                &self.0.common_path(),
                Sizes::default().packets_of(self.0.messages[0].bytes),
            )
        }
    }
    registry::visit_promised(name, Ask(plan)).expect("a registered transport")
}

/// Data packets that the transport called `name` may spend on the loss of any one packet.
pub fn repair_copies(name: &str) -> u64 {
    struct Ask;
    impl PromisedVisitor for Ask {
        type Output = u64;
        fn visit_promised_transport<T: Promised>(self) -> u64 {
            T::COPIES
        }
    }
    registry::visit_promised(name, Ask).expect("a registered transport")
}

/// Runs `plan` on the transport called `name` and returns its outcome.
pub fn run_plan(name: &str, plan: &Plan, fault: Fault) -> Result<Outcome, Violation> {
    build_mesh(name, plan, fault, false).expect("a registered transport").run_plan()
}

/// A broken promise, with the smallest plan that breaks it.
#[derive(Debug)]
pub struct Failure {
    /// Name of the transport.
    pub transport: String,
    /// The seed that found it.
    pub seed: u64,
    /// The promise that the smallest plan breaks.
    pub violation: Option<Violation>,
    /// The shrunk plan.
    pub plan: Plan,
    /// The panic or violation, in words.
    pub reason: String,
    fault: Fault,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.transport, self.reason)?;
        writeln!(f, "smallest plan: {:#?}", self.plan)?;
        if self.violation.is_some()
            && let Some(mut mesh) = build_mesh(&self.transport, &self.plan, self.fault, true)
        {
            // Its violation is printed above.
            let _ = mesh.run_plan();
            let trace = mesh.into_trace();
            writeln!(f, "last of {} steps:", trace.len())?;
            last_steps(&trace).iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        write!(f, "seed {}", self.seed)
    }
}

/// Runs one plan of `strategy` for each seed and returns the first failure, shrunk.
pub fn check_seeds<S: Strategy<Value = Plan>>(
    name: &str,
    fault: Fault,
    strategy: &S,
    seeds: Range<u64>,
    accept: impl Fn(&Plan, &Outcome) -> Result<(), String>,
) -> Result<u64, Box<Failure>> {
    let found = check_plans(strategy, seeds, SHRINKS, |plan| run_plan(name, plan, fault), accept);
    found.map_err(|broken| {
        let Shrunk { seed, plan, reason } = *broken;
        // A machine that panics does so again here: only its plan and message are reported.
        let again = std::panic::catch_unwind(|| run_plan(name, &plan, fault));
        let violation = again.ok().and_then(Result::err);
        Box::new(Failure { transport: name.to_string(), seed, violation, plan, reason, fault })
    })
}

/// The smallest plan that a machine fails on.
#[derive(Debug)]
pub struct Shrunk {
    /// The seed that found it.
    pub seed: u64,
    /// The plan, shrunk.
    pub plan: Plan,
    /// Reason of the failure, in words.
    pub reason: String,
}

/// Runs one plan of `strategy` for each seed by `run`, and returns the number of data packets that were sent, or the
/// first failure, made smaller at most `shrinks` times.
pub fn check_plans<S: Strategy<Value = Plan>>(
    strategy: &S,
    seeds: Range<u64>,
    shrinks: u32,
    run: impl Fn(&Plan) -> Result<Outcome, Violation>,
    accept: impl Fn(&Plan, &Outcome) -> Result<(), String>,
) -> Result<u64, Box<Shrunk>> {
    let mut packets = 0;
    for seed in seeds {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        // Seeds that failed are listed by the test itself, which replays them for one transport.
        let config = Config { failure_persistence: None, max_shrink_iters: shrinks, ..Config::default() };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, rng);
        // No strategy here rejects anything.
        let Ok(tree) = strategy.new_tree(&mut runner) else { continue };
        // `run_one` takes a `Fn`, which changes nothing that it has borrowed.
        let moved = Cell::new(0);
        let result = runner.run_one(tree, |plan| {
            let outcome = run(&plan).map_err(|v| TestCaseError::fail(v.to_string()))?;
            moved.set(outcome.data_packets);
            accept(&plan, &outcome).map_err(TestCaseError::fail)
        });
        packets += moved.get();
        if let Err(TestError::Fail(reason, plan)) = result {
            return Err(Box::new(Shrunk { seed, plan, reason: reason.message().to_string() }));
        }
    }
    Ok(packets)
}

/// Checks how a message crosses a network without faults: nothing is sent twice, and it takes no longer than twice the
/// ideal, two largest round trips and `ramp`, for finding the rate of the path.
pub fn check_efficiency(plan: &Plan, outcome: &Outcome, ramp: Time) -> Result<(), String> {
    let packets = plan.total_packets();
    if outcome.data_packets != packets || outcome.repeated > 0 {
        return Err(format!("{} packets sent for {packets}", outcome.data_packets));
    }
    // Plans without faults open a single message.
    let ideal = ledger::ideal_time(plan, plan.messages[0].bytes);
    let limit = (ideal * 2 + plan.common_path().max_rtt * 2).saturating_add(ramp);
    if outcome.completed > limit {
        return Err(format!("complete at {}, later than {limit}", outcome.completed));
    }
    Ok(())
}

/// The last steps of a run, in words.
pub fn last_steps(trace: &[String]) -> &[String] {
    &trace[trace.len().saturating_sub(STEPS_SHOWN)..]
}

/// Steps of a failed run that are shown.
const STEPS_SHOWN: usize = 60;

/// Runs `plan` on machines that `make` makes, for switches that trim if `trims`, and returns its outcome, and the
/// steps taken if they are wanted.
pub fn run_machine<E: Endpoint>(
    plan: &Plan,
    expected: Expected,
    trims: bool,
    trace: bool,
    make: &dyn Fn(HostContext) -> E,
) -> (Result<Outcome, Violation>, Vec<String>) {
    let mut mesh = Mesh::new(plan, trims, trace, make);
    mesh.ledger.expect_behaviour(expected);
    let outcome = mesh.run_plan();
    (outcome, mesh.into_trace())
}

/// The transports to run: those that `HEADWAY_TRANSPORTS=name,name` lists, or every registered one.
///
/// # Panics
///
/// If it lists a transport that is not registered.
#[allow(clippy::disallowed_methods, reason = "how a developer asks for some of the transports")]
pub fn selected_transports() -> Vec<&'static str> {
    let Ok(listed) = std::env::var("HEADWAY_TRANSPORTS") else { return registry::NAMES.to_vec() };
    let known = |name: &str| registry::NAMES.iter().find(|known| **known == name).copied();
    let of =
        |name| known(name).unwrap_or_else(|| panic!("HEADWAY_TRANSPORTS: there is no transport `{name}`"));
    listed.split(',').map(of).collect()
}

/// The transport and seed to replay, from `HEADWAY_REPLAY=name:seed`.
#[allow(clippy::disallowed_methods, reason = "how a developer asks for a replay")]
pub fn selected_replay() -> Option<(String, u64)> {
    let text = std::env::var("HEADWAY_REPLAY").ok()?;
    Some(parse_replay(&text).unwrap_or_else(|| panic!("HEADWAY_REPLAY: `{text}` is not `name:seed`")))
}

/// A transport and a seed, from `name:seed`.
pub fn parse_replay(text: &str) -> Option<(String, u64)> {
    let (name, seed) = text.split_once(':')?;
    Some((name.to_string(), seed.parse().ok()?))
}
