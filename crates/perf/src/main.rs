//! `headway-perf`: bulk throughput and request latency between two hosts, over `headway-host` or, as control,
//! over kernel TCP with the same messages. One side runs `serve`, the other `bulk` or `latency`.
//!
//! Exit status: 0, or 2 for a command line that cannot be, or 1 when the peer did not answer or the operating
//! system objected. Ctrl-C ends a measurement early, and the results until then are printed; a second one ends at once.

#![allow(
    clippy::disallowed_methods,
    reason = "a program has arguments, sockets, threads, real time and files"
)]

mod args;
mod bulk;
mod carrier;
mod doctor;
mod error;
mod headway;
mod latency;
mod report;
mod serve;
mod stop;
mod tcp;

use args::{Arguments, Command, PeerArgs};
use carrier::Carrier;
use clap::Parser;
use error::PerfError;
use headway::Headway;
use std::process::ExitCode;
use tcp::Tcp;

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("headway-perf: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

fn run(arguments: Arguments) -> Result<(), PerfError> {
    stop::install()?;
    match arguments.command {
        Command::Serve(args) => serve::run(&args),
        Command::Bulk(args) => {
            args.check()?;
            let report = bulk::run(&args, &*connect(&args.peer)?)?;
            report::print(&report, args.peer.json)
        }
        Command::Latency(args) => {
            let report = latency::run(&args, &*connect(&args.peer)?)?;
            report::print(&report, args.peer.json)
        }
        Command::Doctor(args) => report::print(&doctor::run(&args)?, args.json),
    }
}

fn connect(peer: &PeerArgs) -> Result<Box<dyn Carrier>, PerfError> {
    let address = peer.address()?;
    Ok(if peer.tcp {
        Box::new(Tcp::connect(address, peer.timeout())?)
    } else {
        Box::new(Headway::new(address, peer)?)
    })
}
