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
    match run_command(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("headway-perf: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

fn run_command(arguments: Arguments) -> Result<(), PerfError> {
    stop::install_handlers()?;
    match arguments.command {
        Command::Serve(args) => serve::run_server(&args),
        Command::Bulk(args) => {
            args.check_sizes()?;
            let report = bulk::run_bulk(&args, &*connect_carrier(&args.peer)?)?;
            report::print_report(&report, args.peer.json)
        }
        Command::Latency(args) => {
            let report = latency::run_latency(&args, &*connect_carrier(&args.peer)?)?;
            report::print_report(&report, args.peer.json)
        }
        Command::Doctor(args) => report::print_report(&doctor::run_doctor(&args)?, args.json),
    }
}

fn connect_carrier(peer: &PeerArgs) -> Result<Box<dyn Carrier>, PerfError> {
    let address = peer.peer_address()?;
    Ok(if peer.tcp {
        Box::new(Tcp::connect_peer(address, peer.peer_timeout())?)
    } else {
        Box::new(Headway::new(address, peer)?)
    })
}
