//! Clients that call servers: in a closed loop, in which the next call waits for the reply, or in an open one, in which calls
//! begin at random times whatever became of those before.

use super::draw::{Ground, duration};
use super::job::JobInfo;
use super::keys::{START, Takes, key, needed};
use super::reading::{Resolved, check_reachable, element, host_set, hosts_json, object, start};
use super::sizes::{self, Amount};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::text::{Problem, Reader, ScenarioError};
use crate::workload::random::Purpose;
use headway_network::{Cause, GraphStep, Node, Until};
use headway_units::Time;
use serde_json::{Value as Json, json};

/// Clients that call servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    clients: Vec<u32>,
    servers: Vec<u32>,
    request: Amount,
    reply: Amount,
    calls: u64,
    outstanding: u64,
    fan_out: u32,
    think: Time,
    exponential: bool,
    service: Time,
    start: Time,
    stagger: Time,
    /// Mean time between the calls of a loop, and how they spread; a closed loop without one.
    every: Option<(Time, Spread)>,
    /// No call of an open loop begins from then on.
    until: Option<Time>,
    call_deadline: Option<Time>,
}

/// How times between calls spread around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spread {
    Even,
    Poisson,
    /// The standard deviation of the logarithm.
    LogNormal(f64),
}

const ARRIVALS: [&str; 3] = ["poisson", "lognormal", "even"];
/// The standard deviation of the logarithm of lognormal gaps, unless it is given: bursts, with a mean twice the median or so.
const SIGMA: f64 = 1.0;
/// Most that it may be: gaps of many orders of magnitude.
const MOST_SIGMA: f64 = 4.0;

impl Spread {
    fn draw(self, mean: Time, stream: &mut crate::workload::random::Stream) -> Time {
        match self {
            Spread::Even => mean,
            Spread::Poisson => stream.exponential(mean.0 as f64),
            Spread::LogNormal(sigma) => stream.lognormal(mean.0 as f64, sigma),
        }
    }
}

const THINKING: [&str; 2] = ["fixed", "exponential"];

impl Declared for Rpc {
    const INFO: PatternInfo = PatternInfo {
        name: "rpc",
        summary: "clients that call servers, in a closed loop, where the next call waits for the reply, or in an open one (`every`)",
        keys: &[
            needed("clients", Takes::Hosts, "hosts that call; a count means the first hosts"),
            needed(
                "servers",
                Takes::Hosts,
                "hosts that answer, chosen at random for each call; a count means the hosts after the last client",
            ),
            needed(
                "request",
                Takes::BytesOrSizes,
                "size of a request, or the distribution that it is drawn from",
            ),
            needed(
                "reply",
                Takes::BytesOrSizes,
                "size of a reply, or the distribution that it is drawn from",
            ),
            sizes::INTERPOLATION,
            sizes::SIZE_UNIT,
            needed("calls", Takes::Count, "that a client makes in each of its loops"),
            key("outstanding", Takes::Count, "1", "loops of a client: calls that it has open at a time"),
            key(
                "fan_out",
                Takes::Count,
                "1",
                "servers that each call goes to; it is over when all have replied",
            ),
            key("think", Takes::Duration, "`\"0 s\"`", "from a reply to the next call of a loop"),
            key(
                "think_time",
                Takes::Word(&["fixed", "exponential"]),
                "`fixed`",
                "true if `think` is always the same, false if it is a mean",
            ),
            key("service", Takes::Duration, "`\"0 s\"`", "from a request to its reply, at the server"),
            START,
            key(
                "stagger",
                Takes::Duration,
                "`\"0 s\"`",
                "each loop begins later than `start` by a random time below this",
            ),
            key(
                "every",
                Takes::Duration,
                "none: a closed loop",
                "mean time between the calls of a loop, which then wait for no reply: an open loop, without `think`",
            ),
            key(
                "arrivals",
                Takes::Word(&ARRIVALS),
                "`poisson`",
                "of an open loop: how times between calls spread around `every`; `lognormal` brings bursts",
            ),
            key(
                "sigma",
                Takes::Number,
                "1",
                "of `lognormal`: the standard deviation of the logarithm of these times",
            ),
            key(
                "until",
                Takes::Time,
                "none",
                "of an open loop: no call begins from then on, however many `calls` are left",
            ),
            key(
                "call_deadline",
                Takes::Duration,
                "none",
                "how long a call may take, from its first request to its last reply: `missed` in `rounds` counts by it",
            ),
        ],
        counts: &["calls", "outstanding", "fan_out", "clients"],
    };

    const FORM: &'static str = "one client with one loop: calls (t(request) + service + t(reply)) + (calls - 1) think; with `fan_out` k, servers that are \
        equally far, and requests and replies of one packet, (k-1) max(s(request), s(reply)) more in each call, and up to 2 (k-1) a, as others are acknowledged \
        meanwhile";

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        _: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let topology = context.topology;
        let hosts = topology.hosts;
        let clients_item = table.need("clients")?;
        let clients = host_set(&clients_item, topology, |n| (n <= hosts).then(|| (0..n).collect()))?;
        let servers_item = table.need("servers")?;
        let after = clients.iter().max().map_or(0, |last| last + 1);
        let room = |n: u32| {
            (u64::from(after) + u64::from(n) <= u64::from(hosts)).then(|| (after..after + n).collect())
        };
        let servers: Vec<u32> = host_set(&servers_item, topology, room)?;
        for (hosts, item) in [(&clients, &clients_item), (&servers, &servers_item)] {
            for (index, &host) in hosts.iter().enumerate() {
                check_reachable(element(item, index), topology, clients[0], host)?;
            }
        }
        // A client that is also a server does not call itself.
        let fewest = servers.len() - usize::from(clients.iter().any(|client| servers.contains(client)));
        if fewest == 0 {
            let text = "a client has no other host to call".into();
            return Err(servers_item.fail(Problem::Contradiction(text)));
        }
        let fan_out = table.get("fan_out").map_or(Ok(1), |item| item.int(1, fewest as u64))? as u32;
        let (request, request_json) = Amount::read(table, &table.need("request")?, context)?;
        let (reply, reply_json) = Amount::read(table, &table.need("reply")?, context)?;
        let calls = table.need("calls")?.int(1, u64::from(u32::MAX))?;
        let outstanding = table.get("outstanding").map_or(Ok(1), |item| item.int(1, 1_000_000))?;
        let think = table.get("think").map_or(Ok(Time::ZERO), |item| item.time())?;
        let exponential = table.get("think_time").map_or(Ok(0), |item| item.choice(&THINKING))?;
        let service = table.get("service").map_or(Ok(Time::ZERO), |item| item.time())?;
        let start = start(table)?;
        let stagger = table.get("stagger").map_or(Ok(Time::ZERO), |item| item.time())?;
        let (every, until) = open_loop(table, start)?;
        let call_deadline = table.get("call_deadline").map(|item| item.period()).transpose()?;
        let word = |spread: Spread| match spread {
            Spread::Poisson => ARRIVALS[0],
            Spread::LogNormal(_) => ARRIVALS[1],
            Spread::Even => ARRIVALS[2],
        };
        let sigma = every.and_then(|(_, spread)| match spread {
            Spread::LogNormal(sigma) => Some(sigma),
            _ => None,
        });
        let resolved = json!({ "clients": hosts_json(&clients), "servers": hosts_json(&servers), "request": request_json,
            "reply": reply_json, "calls": calls, "outstanding": outstanding, "fan_out": fan_out,
            "think": think.to_string(), "think_time": THINKING[exponential], "service": service.to_string(),
            "start": start.to_string(), "stagger": stagger.to_string(), "every": every.map(|(mean, _)| mean.to_string()),
            "arrivals": every.map(|(_, spread)| word(spread)), "sigma": sigma, "until": until.map(|until| until.to_string()),
            "call_deadline": call_deadline.map(|within| within.to_string()) });
        let exponential = exponential == 1;
        let pattern = Rpc {
            clients,
            servers,
            request,
            reply,
            calls,
            outstanding,
            fan_out,
            think,
            exponential,
            service,
            start,
            stagger,
            every,
            until,
            call_deadline,
        };
        Ok((pattern, object(resolved)))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let clients = ground.dice.between(1, (ground.hosts - 1).min(6));
        let servers = ground.dice.between(1, (ground.hosts - clients).min(6));
        let fan_out = ground.dice.between(1, servers);
        let calls = ground.dice.between(1, 5);
        let each = ground.packets / (clients * fan_out * calls * 2);
        let mut entry = json!({ "clients": clients, "servers": servers, "fan_out": fan_out, "calls": calls,
            "request": ground.bytes(each), "reply": ground.bytes(each), "start": ground.start() });
        if ground.dice.percent(40) {
            entry["outstanding"] = ground.dice.between(1, 3).into();
        }
        if ground.dice.percent(40) {
            let most = ground.round_trip + ground.slot;
            entry["stagger"] = duration(ground.dice.below(most));
        }
        if ground.dice.percent(30) {
            entry["call_deadline"] = duration(1 + ground.dice.below(8 * ground.round_trip));
        }
        if ground.dice.percent(40) {
            let most = ground.round_trip + ground.slot;
            entry["every"] = duration(1 + ground.dice.below(most));
            let arrivals = ARRIVALS[ground.dice.below(3) as usize];
            entry["arrivals"] = arrivals.into();
            if arrivals == ARRIVALS[1] {
                entry["sigma"] = (0.25 * ground.dice.between(1, 6) as f64).into();
            }
            if arrivals == ARRIVALS[2] && ground.dice.percent(60) {
                // Late enough for all calls.
                entry["until"] = duration(ground.latest() + (calls + 3) * most);
            }
        } else if ground.dice.percent(40) {
            let most = ground.round_trip + ground.slot;
            entry["think"] = duration(ground.dice.below(most));
            entry["think_time"] = THINKING[ground.dice.below(2) as usize].into();
        }
        if ground.dice.percent(40) {
            let most = ground.round_trip + ground.slot;
            entry["service"] = duration(ground.dice.below(most));
        }
        entry
    }
}

impl Rpc {
    /// Calls of all loops.
    fn all_calls(&self) -> f64 {
        let calls = self.calls as f64;
        let each = match (self.every, self.until) {
            (Some((mean, spread)), Some(until)) => {
                let fit = until.saturating_sub(self.start).0 as f64 / mean.0.max(1) as f64;
                match spread {
                    Spread::Even => libm::floor(fit).min(calls),
                    // No more than this, but for one case in millions.
                    Spread::Poisson => (fit + 6.0 * libm::sqrt(fit) + 16.0).min(calls),
                    // Most gaps are far shorter than the mean.
                    Spread::LogNormal(_) => calls,
                }
            }
            _ => calls,
        };
        each * self.outstanding as f64 * self.clients.len() as f64
    }

    fn pick(&self, client: u32, stream: &mut crate::workload::random::Stream) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::with_capacity(self.fan_out as usize);
        while chosen.len() < self.fan_out as usize {
            let server = self.servers[stream.below(self.servers.len() as u64) as usize];
            if server != client && !chosen.contains(&server) {
                chosen.push(server);
            }
        }
        chosen
    }
}

/// Mean time between calls and its distribution, of clients that do not wait for their last call.
type Every = Option<(Time, Spread)>;

/// Arrivals of an open loop, and the latest start of a call.
fn open_loop(table: &Reader<'_>, start: Time) -> Result<(Every, Option<Time>), ScenarioError> {
    let Some(item) = table.get("every") else {
        for key in ["arrivals", "sigma", "until"] {
            if let Some(item) = table.get(key) {
                let text = format!("`{key}` is of an open loop, and without `every` the loop is closed");
                return Err(item.fail(Problem::Contradiction(text)));
            }
        }
        return Ok((None, None));
    };
    let mean = item.period()?;
    for key in ["think", "think_time"] {
        if let Some(item) = table.get(key) {
            let text = format!("`{key}` is of a closed loop, and with `every` calls wait for no reply");
            return Err(item.fail(Problem::Contradiction(text)));
        }
    }
    let chosen = table.get("arrivals").map_or(Ok(0), |item| item.choice(&ARRIVALS))?;
    let sigma_item = table.get("sigma");
    if let Some(item) = sigma_item.as_ref().filter(|_| chosen != 1) {
        return Err(item.fail(Problem::Contradiction("`sigma` is of `arrivals = \"lognormal\"`".into())));
    }
    let sigma = match &sigma_item {
        None => SIGMA,
        Some(item) => match item.number()? {
            sigma if sigma > 0.0 && sigma <= MOST_SIGMA => sigma,
            sigma => return Err(item.range(format!("above 0, at most {MOST_SIGMA}"), sigma)),
        },
    };
    let spread = [Spread::Poisson, Spread::LogNormal(sigma), Spread::Even][chosen];
    let until = match table.get("until") {
        None => None,
        Some(item) => {
            let until = item.time()?;
            if until <= start {
                return Err(item.range(format!("later than its start, {start}"), until));
            }
            Some(until)
        }
    };
    Ok((Some((mean, spread)), until))
}

/// Generators of what a run of calls draws.
struct Dice {
    sizes: crate::workload::random::Stream,
    pairs: crate::workload::random::Stream,
    pauses: crate::workload::random::Stream,
}

impl Rpc {
    /// Makes the messages of one call, of which the requests begin at `begin`, or when the step is over; answers the replies.
    fn call(
        &self,
        making: &mut Making<'_>,
        dice: &mut Dice,
        client: u32,
        (begin, after): (Time, Option<u32>),
        index: &mut usize,
    ) -> Vec<u32> {
        let common = making.common;
        let mut replies = Vec::new();
        for server in self.pick(client, &mut dice.pairs) {
            let bytes = self.request.draw(&mut dice.sizes);
            let request = making.push(common.flow(client, server, bytes, begin, *index));
            if let Some(step) = after {
                making.wait(Node::Flow(request), Cause::Step(step));
            }
            let bytes = self.reply.draw(&mut dice.sizes);
            let mut spec = common.flow(server, client, bytes, Time::ZERO, *index);
            spec.connection = Some(request);
            let reply = making.push(spec);
            let received = Cause::Flow(request, Until::Received);
            if self.service > Time::ZERO {
                let step = making.step(
                    GraphStep { host: Some(server), takes: self.service, ..GraphStep::default() },
                    None,
                );
                making.wait(Node::Step(step), received);
                making.wait(Node::Flow(reply), Cause::Step(step));
            } else {
                making.wait(Node::Flow(reply), received);
            }
            replies.push(reply);
            *index += 1;
        }
        replies
    }
}

impl Pattern for Rpc {
    fn generate(&self, making: &mut Making<'_>) {
        let mut dice = Dice {
            sizes: making.stream(Purpose::Sizes),
            pairs: making.stream(Purpose::Pairs),
            pauses: making.stream(Purpose::Gaps),
        };
        let mut late = making.stream(Purpose::Stagger);
        let (mut round, mut index) = (0, 0);
        for &client in &self.clients {
            for _ in 0..self.outstanding {
                let mut begin = self.start;
                if self.stagger > Time::ZERO {
                    begin = begin.saturating_add(Time(late.below(self.stagger.0)));
                }
                let mut thought: Option<u32> = None;
                for call in 0..self.calls {
                    if let Some((mean, spread)) = self.every {
                        begin = begin.saturating_add(spread.draw(mean, &mut dice.pauses));
                        if self.until.is_some_and(|until| begin >= until) {
                            break;
                        }
                    }
                    making.round = Some(round);
                    round += 1;
                    let first = if thought.is_none() { begin } else { Time::ZERO };
                    let replies = self.call(making, &mut dice, client, (first, thought), &mut index);
                    if self.every.is_none() && call + 1 < self.calls {
                        let takes = match self.exponential {
                            true => dice.pauses.exponential(self.think.0 as f64),
                            false => self.think,
                        };
                        let step = making
                            .step(GraphStep { host: Some(client), takes, ..GraphStep::default() }, None);
                        let reply = |reply: &u32| Cause::Flow(*reply, Until::Received);
                        replies.iter().for_each(|one| making.wait(Node::Step(step), reply(one)));
                        thought = Some(step);
                    }
                }
            }
        }
        making.round = None;
    }

    fn has_fixed_times(&self) -> bool {
        self.every.is_none_or(|(_, spread)| spread == Spread::Even)
    }

    fn horizon(&self, hosts: u32) -> (Time, u64) {
        let first = self.start.saturating_add(self.stagger);
        if let Some((mean, _)) = self.every {
            let last = first.saturating_add(mean.saturating_mul(self.calls));
            let last = self.until.map_or(last, |until| until.min(last));
            return (last.saturating_add(self.service), self.expected_bytes(hosts));
        }
        let resting = self.think.saturating_add(self.service).saturating_mul(self.calls);
        (first.saturating_add(resting), self.expected_bytes(hosts))
    }

    fn expected_flows(&self, _: u32) -> f64 {
        2.0 * self.all_calls() * f64::from(self.fan_out)
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        let one = self.request.mean().saturating_add(self.reply.mean()) as f64;
        (one * self.all_calls() * f64::from(self.fan_out)) as u64
    }

    fn expected_edges(&self, _: u32) -> f64 {
        let each = if self.service > Time::ZERO { 5.0 } else { 3.0 };
        self.all_calls() * (each * f64::from(self.fan_out) + 1.0)
    }

    fn receivers(&self, _: u32) -> u64 {
        (self.clients.len() + self.servers.len()) as u64
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn job(&self) -> Option<JobInfo> {
        Some(JobInfo {
            ranks: self.clients.len() as u32,
            iterations: self.calls,
            collective: None,
            algorithm: None,
            owns_rounds: true,
            within: self.call_deadline,
        })
    }
}
