//! Calls of gRPC at a given rate during incasts, over Headway or over tonic's own HTTP/2 and TCP.
//!
//! ```sh
//! load serve ADDRESS NETWORK headway|tcp                      # on one host; NETWORK such as 10.0.0.0/24 may call
//! load call ADDRESS NETWORK headway|tcp SECONDS [PER_SECOND]  # on another
//! ```
//!
//! With a rate, calls of 100 bytes begin at random times, and every 20 ms eight calls at once ask for replies of 64 kB, each
//! over a way of its own. A latency counts from the time at which its call was to begin. Without a rate, 32 tasks call one
//! call after the other during the same incasts: that many calls a second are the capacity. It prints one line of JSON.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures real time")]
#![allow(clippy::print_stdout, reason = "it is a program")]

use greeter::greeter_client::GreeterClient;
use greeter::greeter_server::{Greeter, GreeterServer};
use hdrhistogram::Histogram;
use headway_host::{Admission, Config};
use messages::helloworld::{HelloReply, HelloRequest};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};
use tonic::codegen::{Body, Bytes, StdError};
use tonic::{Request, Response, Status};

#[path = "../tests/it/messages.rs"]
#[allow(dead_code, reason = "those of the tests")]
mod messages;
#[allow(missing_docs, unreachable_pub, dead_code, clippy::all, reason = "it is generated")]
#[rustfmt::skip]
#[path = "../tests/it/generated/helloworld.generated"]
mod greeter;

type Failure = Box<dyn Error + Send + Sync>;

/// Bytes of a small call, and of a reply in an incast.
const SMALL: usize = 100;
const LARGE: usize = 64 << 10;
/// Replies that come at once, and how often.
const FAN_IN: usize = 8;
const BETWEEN: Duration = Duration::from_millis(20);
/// Tasks that call one call after the other.
const CALLERS: usize = 32;
const USAGE: &str =
    "load serve ADDRESS NETWORK headway|tcp, or load call ADDRESS NETWORK headway|tcp SECONDS [PER_SECOND]";

struct AsAsked;

#[tonic::async_trait]
impl Greeter for AsAsked {
    /// A reply as long as the request says.
    async fn say_hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let name = request.into_inner().name;
        // The number is padded with spaces, so that every request has the same length.
        let length = name.trim_start().parse().map_err(|_| Status::invalid_argument("no length"))?;
        Ok(Response::new(HelloReply { message: "x".repeat(length) }))
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run_load().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::from(1)
        }
    }
}

async fn run_load() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address, network, "headway"] => {
            let server = headway_tonic::Server::builder().config(endpoint_config(network)?);
            println!("serving");
            Ok(server.add_service(GreeterServer::new(AsAsked)).serve(address.parse()?).await?)
        }
        ["serve", address, _, "tcp"] => {
            println!("serving");
            let mut server = tonic::transport::Server::builder();
            Ok(server.add_service(GreeterServer::new(AsAsked)).serve(address.parse()?).await?)
        }
        ["call", address, network, "headway", seconds, ref rate @ ..] => {
            let mut ways = Vec::new();
            // One for the small calls, and one for each reply of an incast: over TCP they are connections,
            // which do not wait for each other.
            for _ in 0..=FAN_IN {
                ways.push(GreeterClient::new(headway_tonic::Channel::connect_with(
                    address,
                    endpoint_config(network)?,
                )?));
            }
            measure_load(ways, seconds.parse()?, rate.first().map(|rate| rate.parse()).transpose()?).await
        }
        ["call", address, _, "tcp", seconds, ref rate @ ..] => {
            let mut ways = Vec::new();
            for _ in 0..=FAN_IN {
                ways.push(GreeterClient::new(
                    tonic::transport::Endpoint::new(format!("http://{address}"))?.connect().await?,
                ));
            }
            measure_load(ways, seconds.parse()?, rate.first().map(|rate| rate.parse()).transpose()?).await
        }
        _ => Err(USAGE.into()),
    }
}

fn endpoint_config(network: &str) -> Result<Config, Failure> {
    Ok(Config { admission: Admission::Prefixes(vec![network.parse()?]), ..Config::default() })
}

/// A request of 100 bytes that asks for a reply of this length.
fn sized_request(length: usize) -> HelloRequest {
    HelloRequest { name: format!("{length:>SMALL$}") }
}

/// One call; its latency since `from`.
async fn timed_call<T>(mut way: GreeterClient<T>, length: usize, from: Instant) -> Result<Duration, Status>
where
    T: tonic::client::GrpcService<tonic::body::Body, Error: Into<StdError>>,
    T::ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let reply = way.say_hello(sized_request(length)).await?.into_inner();
    if reply.message.len() == length { Ok(from.elapsed()) } else { Err(Status::internal("another length")) }
}

async fn measure_load<T>(ways: Vec<GreeterClient<T>>, seconds: f64, rate: Option<f64>) -> Result<(), Failure>
where
    T: tonic::client::GrpcService<tonic::body::Body, Error: Into<StdError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    T::ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    for way in &ways {
        for length in [SMALL, LARGE] {
            // Connects, meets the peer and measures the path before the time counts.
            timed_call(way.clone(), length, Instant::now()).await?;
        }
    }
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds);
    let (told, mut small) = unbounded_channel();
    let (told_large, mut large) = unbounded_channel();
    let incasts = tokio::spawn(run_incasts(ways[1..].to_vec(), begin, end, told_large));
    let finished = Arc::new(AtomicU64::new(0));
    match rate {
        Some(rate) => at_rate(&ways[0], rate, (begin, end), &told).await,
        None => {
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| {
                    tokio::spawn(one_after_another(ways[0].clone(), end, told.clone(), Arc::clone(&finished)))
                })
                .collect();
            for caller in callers {
                caller.await?;
            }
        }
    }
    // The receiver ends when the last sender is gone: this one, and those of the calls under way.
    drop(told);
    incasts.await?;
    let (small, large) = (collect_latencies(&mut small).await?, collect_latencies(&mut large).await?);
    let us = |of: &Histogram<u64>, share| of.value_at_quantile(share) as f64 / 1e3;
    println!(
        "{{\"calls\": {}, \"per_second\": {:.1}, \"p50\": {:.1}, \"p99\": {:.1}, \"p99.9\": {:.1}, \"incast_p50\": {:.1}, \"incast_p99\": {:.1}}}",
        small.len(),
        finished.load(Ordering::Relaxed) as f64 / seconds,
        us(&small, 0.5),
        us(&small, 0.99),
        us(&small, 0.999),
        us(&large, 0.5),
        us(&large, 0.99),
    );
    Ok(())
}

type Told = UnboundedSender<Result<Duration, Status>>;

async fn at_rate<T>(way: &GreeterClient<T>, rate: f64, (begin, end): (Instant, Instant), told: &Told)
where
    T: tonic::client::GrpcService<tonic::body::Body, Error: Into<StdError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    T::ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let (mut at, mut state) = (begin, 1_u64);
    while at < end {
        sleep_until(at).await;
        // All that are due by now: the timer of tasks counts milliseconds.
        while at <= Instant::now() && at < end {
            let (way, told) = (way.clone(), told.clone());
            tokio::spawn(async move { told.send(timed_call(way, SMALL, at).await) });
            // Exponential gaps, so that calls arrive as those of many independent callers would.
            at += Duration::from_secs_f64(-uniform_draw(&mut state).ln() / rate);
        }
    }
}

/// A number above 0, up to 1, of a generator that is the same for every run (xorshift).
fn uniform_draw(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    ((*state >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

async fn one_after_another<T>(way: GreeterClient<T>, end: Instant, told: Told, finished: Arc<AtomicU64>)
where
    T: tonic::client::GrpcService<tonic::body::Body, Error: Into<StdError>> + Clone,
    T::ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    while Instant::now() < end {
        let outcome = timed_call(way.clone(), SMALL, Instant::now()).await;
        finished.fetch_add(1, Ordering::Relaxed);
        let _ = told.send(outcome);
    }
}

async fn run_incasts<T>(ways: Vec<GreeterClient<T>>, begin: Instant, end: Instant, told: Told)
where
    T: tonic::client::GrpcService<tonic::body::Body, Error: Into<StdError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    T::ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let mut at = begin;
    while at < end {
        sleep_until(at).await;
        for way in &ways {
            let (way, told) = (way.clone(), told.clone());
            tokio::spawn(async move { told.send(timed_call(way, LARGE, at).await) });
        }
        at += BETWEEN;
    }
}

async fn collect_latencies(
    told: &mut tokio::sync::mpsc::UnboundedReceiver<Result<Duration, Status>>,
) -> Result<Histogram<u64>, Failure> {
    let mut found = Histogram::new_with_bounds(1, 3_600_000_000_000, 3)?;
    while let Some(outcome) = told.recv().await {
        found.saturating_record(outcome?.as_nanos() as u64);
    }
    Ok(found)
}
