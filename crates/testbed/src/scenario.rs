//! The same scenario in every process of a testbed: each resolves it for itself, and finds the same flows.

use crate::TestbedError;
use crate::slowdown::{factor_for, slow_down};
use headway_host::{Admission, PreSharedKey};
use headway_lab::traffic::Kernel;
use headway_lab::{Request, Resolved, Scenario, ScenarioError};
use headway_network::{FabricSpec, FlowSpec, Forwarding, Network, RunSpec, Until};
use headway_packet::Sizes;
use headway_switch::Addresses;
use headway_units::Rate;
use ipnet::Ipv4Net;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

/// Rate of the fastest link, unless a slowdown is given: ordinary hosts keep up with it anywhere.
pub const USUAL_RATE: Rate = match Rate::new(100_000_000) {
    Some(rate) => rate,
    None => panic!("a positive rate"),
};
/// Most hosts of a testbed: each is a process.
pub const MOST_HOSTS: u32 = 64;

/// Scenario and slowdown: the arguments of every program of the testbed.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct JobArgs {
    /// The scenario's file
    pub scenario: PathBuf,
    /// Override a key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Apply the scenario's [scale.NAME] table
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Divide rates and multiply times by this [default: so that the fastest link runs at 100 Mb/s]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub slowdown: Option<u64>,
    /// Hosts share a key: their packets are sealed, which makes them longer
    #[arg(long)]
    pub sealed: bool,
    /// Transports take the base round trips that the topology has, as in the simulator, instead of measured ones
    #[arg(long)]
    pub ideal_round_trips: bool,
}

impl JobArgs {
    /// These options as arguments of a command line.
    pub fn to_arguments(&self) -> Vec<String> {
        let mut list = vec![self.scenario.display().to_string()];
        // With `=`, because a value may begin with a dash.
        list.extend(self.sets.iter().map(|set| format!("--set={set}")));
        list.extend(self.scale.iter().map(|scale| format!("--scale={scale}")));
        list.extend(self.slowdown.iter().map(|n| format!("--slowdown={n}")));
        list.extend(self.sealed.then(|| "--sealed".to_string()));
        list.extend(self.ideal_round_trips.then(|| "--ideal-round-trips".to_string()));
        list
    }
}

/// A scenario, resolved and slowed down.
pub struct Job {
    /// The scenario as it was read.
    pub scenario: Scenario,
    /// The scenario with its flows, in its own units of time; sizes of packets are those of real ones.
    pub resolved: Resolved,
    /// The run as it happens here: slower, with the sizes of real packets.
    pub slow: RunSpec,
    /// Factor by which times are longer than in the scenario.
    pub factor: u64,
    /// The slowed network.
    pub network: Arc<Network>,
    /// The network with packets as long as handshakes, in both directions.
    pub handshakes: Arc<Network>,
    /// Its hosts' addresses.
    pub addresses: Addresses,
    /// Stack by number of the transport: the kernel's TCP where it sends the flows.
    pub stacks: Vec<Option<Kernel>>,
    /// True if hosts take the topology's base round trips instead of measuring them.
    pub ideal_round_trips: bool,
}

impl Job {
    /// Reads, checks and resolves; `sizes` are those of the packets on these wires, without room for telemetry.
    pub fn load_job(args: &JobArgs, sizes: Sizes) -> Result<Job, TestbedError> {
        let request = Request::file(&args.scenario, &args.sets, args.scale.as_deref())?;
        let scenario = request.load()?;
        let mut resolved = scenario.setup()?.resolve(scenario.seed)?;
        let usual = factor_for(resolved.spec.topology.fastest(), USUAL_RATE);
        let factor = args.slowdown.unwrap_or(usual);
        let stacks = scenario.setup()?.stacks();
        let of_kernel = |number: usize| stacks.get(number).is_some_and(Option::is_some);
        let sizes = with_telemetry(sizes, &resolved.spec, of_kernel);
        let slow = slow_down(&resolved.spec, factor, sizes, of_kernel);
        // Results are of these packets, not of those that the scenario asks for.
        resolved.spec.fabric.sizes = sizes;
        let network = Arc::new(build_network(&slow)?);
        // The same network with packets as long as handshakes: what hosts measure is compared with its round
        // trips.
        let mut small = slow.clone();
        let wire = headway_host::handshake_wire();
        // Only the whole length counts here; a payload or a header of 0 is not allowed.
        small.fabric.sizes = Sizes { payload: wire - 1, header: 1, framing: 0, control: wire };
        let handshakes = Arc::new(build_network(&small)?);
        let addresses = Addresses::new(network.hosts());
        let ideal_round_trips = args.ideal_round_trips;
        Ok(Job {
            scenario,
            resolved,
            slow,
            factor,
            network,
            handshakes,
            addresses,
            stacks,
            ideal_round_trips,
        })
    }

    /// Checks that its traffic can be run on one machine; a switch on its own does not call this.
    pub fn check_traffic(&self) -> Result<(), TestbedError> {
        let hosts = self.network.hosts();
        if hosts > MOST_HOSTS {
            let text =
                format!("{hosts} hosts are more than the {MOST_HOSTS} that the testbed runs on one machine");
            return Err(TestbedError::Unsuitable(text));
        }
        let own = || self.slow.transports.iter().zip(&self.stacks).filter(|(_, kernel)| kernel.is_none());
        let apart = own().find(|(transport, _)| {
            // One size of packets holds for the whole run, so it would be too long for the others.
            own().any(|(other, _)| telemetry_bytes(&other.name) < telemetry_bytes(&transport.name))
        });
        if let Some((transport, _)) = apart {
            return Err(TestbedError::Unsuitable(format!(
                "only the simulator has packets of several lengths: those of transport `{}` have room for telemetry, and others have not",
                transport.name
            )));
        }
        let fabric = &self.slow.fabric;
        let only_simulated = [
            (
                fabric.forwarding == Forwarding::CutThrough,
                "`forwarding = \"cut-through\"`: the software switch stores and forwards",
            ),
            (
                fabric.memory.is_some(),
                "`[fabric.memory]`: ports of the software switch do not share their memory",
            ),
            (fabric.pfc.is_some(), "`[fabric.pfc]`: the software switch does not stop links, and drops"),
            (fabric.host_queue.is_some(), "`[hosts] queue`: real hosts have their own"),
            (
                self.slow.flows.iter().any(|flow| flow.stop.is_some()),
                "`stop` of a flow: real hosts send whole messages",
            ),
            (
                self.slow.graph.is_some(),
                "flows that wait for others: real hosts begin flows at their start\n  help: `headway run` runs this scenario; \
                 here, choose traffic whose flows begin by the clock, as `flows`, `file`, `incast`, `permutation` or `poisson`",
            ),
            (self.slow.until == Until::Known, "`until = \"known\"`: the testbed waits for receivers"),
        ];
        if let Some((_, what)) = only_simulated.iter().find(|(asked, _)| *asked) {
            return Err(TestbedError::Unsuitable(format!("only the simulator has {what}")));
        }
        if self.slow.flows.is_empty() {
            return Err(TestbedError::Unsuitable("the scenario starts no flow".into()));
        }
        Ok(())
    }

    /// The kernel's TCP, where it sends this flow.
    pub fn kernel_of(&self, flow: &FlowSpec) -> Option<Kernel> {
        self.stacks.get(usize::from(flow.transport)).copied().flatten()
    }

    /// The kernel's TCP as flows from and to a host have it.
    pub fn kernels_at(&self, host: u32) -> impl Iterator<Item = Kernel> {
        let here = move |f: &&FlowSpec| f.src == host || f.dst == host;
        self.slow.flows.iter().filter(here).filter_map(|f| self.kernel_of(f))
    }

    /// The kernel's TCP as connections have it that a host opens.
    pub fn kernels_from(&self, host: u32) -> Vec<Kernel> {
        self.slow.flows.iter().filter(|f| f.src == host).filter_map(|f| self.kernel_of(f)).collect()
    }

    /// Hosts that send or receive something; the others need no process.
    pub fn active_hosts(&self) -> Vec<u32> {
        let mut hosts: Vec<u32> = self.slow.flows.iter().flat_map(|f| [f.src, f.dst]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }
}

/// Bytes of telemetry in the packets of a transport, as the simulator counts them.
fn telemetry_bytes(transport: &str) -> u16 {
    headway_transport::registry::capabilities(transport).map_or(0, |declared| declared.telemetry)
}

/// Sizes of the packets of a run, with room for what ports write into those of its transports.
fn with_telemetry(sizes: Sizes, spec: &RunSpec, of_kernel: impl Fn(usize) -> bool) -> Sizes {
    let own = spec.transports.iter().enumerate().filter(|(number, _)| !of_kernel(*number));
    match own.map(|(_, transport)| telemetry_bytes(&transport.name)).max() {
        None | Some(0) => sizes,
        Some(telemetry) => headway_host::stamped_sizes(sizes, telemetry),
    }
}

fn build_network(spec: &RunSpec) -> Result<Network, TestbedError> {
    let fabric: &FabricSpec = &spec.fabric;
    let refuse = |text: String| {
        TestbedError::Scenario(ScenarioError::nowhere(headway_lab::Problem::Contradiction(text)))
    };
    let network = Network::build(&spec.topology, fabric).map_err(|error| refuse(error.to_string()))?;
    if !network.owners().are_alike() {
        return Err(refuse(
            "a host of the testbed has one interface, and hosts of this topology have several".into(),
        ));
    }
    Ok(network)
}

/// The key that hosts share where they seal their packets. It is public: the namespaces keep others out.
const KEY: &[u8; 32] = b"hosts of one testbed share this.";

/// Admission rule of a testbed's host: it accepts the others.
pub fn hosts_admission(sealed: bool) -> Admission {
    if sealed {
        return Admission::PreSharedKey(PreSharedKey(*KEY));
    }
    // The network of `Addresses`.
    let network = Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8);
    Admission::Prefixes(vec![network.into()])
}

/// Sizes of the packets that a testbed's hosts send over interfaces of this MTU.
pub fn packet_sizes(mtu: u16, sealed: bool) -> Sizes {
    headway_host::sizes(mtu, &hosts_admission(sealed))
}
